"""The losses of the table by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fenchel.losses.base import Loss
from fenchel.losses.table import TABLE
from fenchel.settings import construct, instance

LOSSES: dict[str, type[Loss]] = {
    row.name: getattr(import_module(row.module), row.kind) for row in TABLE
}


def named(loss: str | Loss, options: dict[str, Any]) -> Loss:
    """The loss of that name with its options, or the instance itself."""
    if isinstance(loss, Loss):
        return instance(loss, options)
    return construct("loss", loss, LOSSES, options)
