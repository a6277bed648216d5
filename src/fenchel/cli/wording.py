"""The library's errors and warnings with its settings under the names of their flags."""

from __future__ import annotations

import functools

import typer

from fenchel.errors import Setting, Spoken


def in_flags(said: BaseException | str) -> str:
    """The message; what users named themselves stays as it is."""
    return said.worded(_flag) if isinstance(said, Spoken) else str(said)


def _flag(setting: Setting) -> str:
    """What to type for a setting; those that have no flag go by their names."""
    on, off = _flags().get(setting.name, ("", ""))
    if not on or setting.value is None:
        return on or str(setting)
    if isinstance(setting.value, bool):
        return on if setting.value else off
    return f"{on} {setting.value}"


@functools.cache
def _flags() -> dict[str, tuple[str, str]]:
    """The flag of each option of a command, and the one that turns it off, if it has one."""
    from fenchel.cli import app  # which needs this module

    group = typer.main.get_group(app)
    options = (option for each in group.commands.values() for option in each.params)
    return {
        option.name: (_long(option.opts), _long(option.secondary_opts))
        for option in options
        if option.param_type_name == "option"
    }


def _long(names: list[str]) -> str:
    return max(names, key=len, default="")
