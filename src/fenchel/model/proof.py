"""What proves the bounds of a model, in a file beside it: the witnesses of its minimisations.

A witness may be as large as the data, so a model file does not hold it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

import fenchel
from fenchel._system import container
from fenchel._system.container import Path, take
from fenchel.errors import InvalidData
from fenchel.result import Result
from fenchel.witness import Witness, packed, unpacked

_KIND = "proof"


class _ProofHeader(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    version: Annotated[str, Meta(max_length=64)]  # of the library that wrote it
    runs: Annotated[int, Meta(ge=1, le=1 << 24)]


def write_proof(results: Sequence[Result], path: Path) -> None:
    """Writes the witnesses of some results, or replaces the file, in one step."""
    witnesses = [result.witness or Witness() for result in results]
    proved = np.array([result.witness is not None for result in results], dtype=np.int64)
    header = _ProofHeader(fenchel.__version__, len(results))
    container.write(path, _KIND, header, {"proved": proved, **packed("witness", witnesses)})


def read_proof(path: Path) -> list[Witness | None]:
    """The witnesses in a file, None where there was none; they prove what `verify` says."""
    header, arrays = container.read(path, _KIND, _ProofHeader)
    with container.naming(path):
        proved = take(arrays, "proved", np.int64, (header.runs,))
        try:
            witnesses = unpacked("witness", arrays)
        except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
            raise InvalidData(f"its arrays do not belong together: {error!r}") from error
        if len(witnesses) != header.runs:
            raise InvalidData(f"it has {len(witnesses)} witnesses for {header.runs} runs")
        pairs = zip(witnesses, proved.tolist(), strict=True)
        return [witness if there else None for witness, there in pairs]
