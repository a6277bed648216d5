"""Regularisers: what keeps w small or sparse."""

from __future__ import annotations

from typing import Any

from fenchel.errors import Incompatible, Setting
from fenchel.regularizers.base import Regularizer, Weighted
from fenchel.regularizers.boxed import Boxed
from fenchel.regularizers.elastic_net import ElasticNet
from fenchel.regularizers.elastic_net_ball import ElasticNetBall
from fenchel.regularizers.entropy import Entropy
from fenchel.regularizers.group_l1 import GroupL1
from fenchel.regularizers.l1 import L1
from fenchel.regularizers.p_norm import SquaredPNorm
from fenchel.regularizers.quadratic import L2, Quadratic
from fenchel.settings import construct, instance, parameters_of

__all__ = [
    "L1",
    "L2",
    "REGULARIZERS",
    "Boxed",
    "ElasticNet",
    "ElasticNetBall",
    "Entropy",
    "GroupL1",
    "Quadratic",
    "Regularizer",
    "SquaredPNorm",
    "Weighted",
    "lacking",
    "named",
    "take_options",
]

REGULARIZERS: dict[str, type[Regularizer]] = {
    "l2": L2,
    "l1": L1,
    "elastic_net": ElasticNet,
    "elastic_net_ball": ElasticNetBall,
    "entropy": Entropy,
    "squared_p_norm": SquaredPNorm,
    "group_l1": GroupL1,
    "quadratic": Quadratic,
}


def named(regularizer: str | Regularizer, options: dict[str, Any]) -> Regularizer:
    """The regulariser of that name with its options, or the instance itself."""
    if isinstance(regularizer, Regularizer):
        return instance(regularizer, options)
    return construct("regularizer", regularizer, REGULARIZERS, options)


def take_options(regularizer: object, options: dict[str, Any]) -> dict[str, Any]:
    """Takes the regulariser's options out of `options`; refuses those of another one."""
    takes = {name: set(parameters_of(kind)) for name, kind in REGULARIZERS.items()}
    mine = takes.get(regularizer, set()) if isinstance(regularizer, str) else set()
    for name in set(options) - mine:
        able = [other for other, names in takes.items() if name in names]
        if able:
            raise Incompatible(
                Setting("regularizer"),
                f" {regularizer!r} does not take {name}; {' and '.join(able)} can",
            )
    return {name: options.pop(name) for name in list(options) if name in mine}


def lacking(regularizer: Regularizer, fact: str) -> str:
    """The words for a method or claim that a regulariser lacks, and for those that have it."""
    plain, owner = getattr(Regularizer, fact), regularizer
    is_claim = isinstance(plain, bool)
    made = getattr(Boxed, fact) is not plain  # by a box, of what its inner regulariser has
    if made and isinstance(owner, Boxed) and not owner.inner.has(fact):
        owner = owner.inner
    name = type(owner).__name__
    able = [
        each
        for each, kind in REGULARIZERS.items()
        if (getattr(kind, fact) if is_claim else getattr(kind, fact) is not plain)
    ]
    what = f"{name}.{fact}, which is {'False' if is_claim else 'not written'}"
    return f"{what} (of the library's, {', '.join(able)} have it)"
