"""The library's errors and warnings with its settings under the names of their flags."""

from __future__ import annotations

import functools

import typer

from fenchel.errors import Setting, Spoken


def in_flags(said: BaseException | str, command: str = "train") -> str:
    """The message to who typed a command; what users named themselves stays as it is."""
    if isinstance(said, Spoken):
        return said.worded(functools.partial(_word, _flags(command)))
    return str(said)


def _word(flags: dict[str, tuple[str, str]], setting: Setting) -> str:
    """What to type for a setting; one without a flag goes by its name."""
    if setting.name not in flags:
        return str(setting)
    on, off = flags[setting.name]
    if isinstance(setting.value, bool):
        return on if setting.value else off
    return on if setting.value is None else f"{on} {setting.value}"


APPS: list[typer.Typer] = []  # the one whose flags these are, which joins it when it is made


@functools.cache
def _flags(command: str) -> dict[str, tuple[str, str]]:
    """The flag of each option of a command, and the one that turns it off, if it has one."""
    commands = typer.main.get_group(APPS[0]).commands
    options = commands[command].params if command in commands else ()
    return {
        option.name: (_long(option.opts), _long(option.secondary_opts))
        for option in options
        if option.name is not None and option.param_type_name == "option"
    }


def _long(names: list[str]) -> str:
    return max(names, key=len, default="")
