# ruff: noqa: F403  (only readers of types see the star imports)
"""Losses: what is minimised on each row, or on all of them at once.

Its names are imported when they are first used, so that the command line can read the table of
losses without waiting for NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fenchel.losses.table import TABLE

if TYPE_CHECKING:
    from fenchel.losses.base import *
    from fenchel.losses.chains import *
    from fenchel.losses.hierarchy import *
    from fenchel.losses.labeling import *
    from fenchel.losses.log_link import *
    from fenchel.losses.margin import *
    from fenchel.losses.multiclass import *
    from fenchel.losses.multilabel import *
    from fenchel.losses.multioutput import *
    from fenchel.losses.multivariate import *
    from fenchel.losses.nu import *
    from fenchel.losses.ordinal import *
    from fenchel.losses.ranking import *
    from fenchel.losses.registry import *
    from fenchel.losses.reranking import *
    from fenchel.losses.residual import *
    from fenchel.losses.taxonomy import *
    from fenchel.losses.vector import *

_BESIDE_THE_TABLE = {
    "base": ("Conjugable", "Labels", "Loss", "Pieces", "ScalarLoss"),
    "chains": ("ChainLoss",),
    "labeling": ("SmoothedFBeta",),
    "multivariate": ("MultivariateLoss", "Sample", "Tangent"),
    "nu": ("NuLoss",),
    "registry": ("LOSSES", "named"),
    "taxonomy": ("Taxonomy",),
    "vector": ("ConjugableVector", "VectorLoss"),
}
_MODULES = {row.kind: row.module for row in TABLE} | {
    name: f"{__name__}.{module}" for module, names in _BESIDE_THE_TABLE.items() for name in names
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
