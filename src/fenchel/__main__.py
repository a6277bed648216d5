"""`fenchel` and `python -m fenchel`: the command line, or how to get it."""

from __future__ import annotations

import sys

_NEEDED = {"typer", "rich"}
_USAGE = 2  # the exit code of all that is not installed, see cli/exits.py


def main() -> None:
    """Runs the command line, which is an extra of the library."""
    try:
        from fenchel.cli import main as run
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        print(
            f'error: the command line needs {error.name}: pip install "fenchel[cli]", or '
            '"fenchel[cli,tables]" to read CSV and Parquet',
            file=sys.stderr,
        )
        sys.exit(_USAGE)
    run()


if __name__ == "__main__":
    main()
