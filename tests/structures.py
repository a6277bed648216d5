"""Small problems of structured outputs in several shards, to be posed on any engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fenchel
from fenchel import losses
from fenchel.data import sequences, shards

RNG = np.random.default_rng(3)
TOKENS = RNG.normal(size=(300, 5)) * (RNG.random((300, 5)) < 0.7)
SEQUENCES = np.repeat(np.arange(300), RNG.integers(1, 7, 300))[:300]
TAGS = RNG.integers(0, 3, 300)
LISTS = np.repeat(np.arange(100), RNG.integers(2, 6, 100))
CANDIDATES = RNG.normal(size=(len(LISTS), 4))
GOLD = np.zeros(len(LISTS))
GOLD[np.flatnonzero(np.diff(LISTS, prepend=-1))] = 1.0


class CrammerSinger(fenchel.Oracle):
    """The multiclass hinge loss, as a user writes it."""

    n_parameters = 15

    def argmax(self, w: Any, x: Any, y: Any) -> tuple[Any, float]:
        worst = np.argmax(w.reshape(3, 5) @ x + (np.arange(3) != y))
        a = np.zeros((3, 5))
        a[worst] += x
        a[y] -= x
        return a.ravel(), float(worst != y)


CASES = {
    "crf": ("lbfgs", losses.CRF(), TOKENS, TAGS, SEQUENCES),
    "m3n": ("bmrm", losses.M3N(), TOKENS, TAGS, SEQUENCES),
    "soft_m3n": ("lbfgs", losses.SoftM3N(), TOKENS, TAGS, SEQUENCES),
    "oracle": ("bmrm", CrammerSinger(), TOKENS, TAGS, None),
    "rerank_likelihood": ("lbfgs", losses.RerankLikelihood(), CANDIDATES, GOLD, LISTS),
    "rerank_margin": ("bmrm", losses.RerankMargin(), CANDIDATES, GOLD, LISTS),
}


def fitted(name: str, engine: Any) -> tuple[Any, fenchel.Result]:
    """The problem, in small shards, and the result of a few iterations."""
    solver, loss, X, y, groups = CASES[name]
    with pytest.MonkeyPatch.context() as patch:
        for module in (shards, sequences):
            patch.setattr(module, "NUMBERS_PER_SHARD", 40)
        problem = fenchel.problem(X, y, loss=loss, groups=groups, strength=0.02, engine=engine)
    assert problem.risk.engine.n_shards > 3
    return problem, fenchel.minimize(problem, solver, gap=1e-5, max_iterations=10)
