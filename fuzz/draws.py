"""Random small problems, each made of its seed alone: what the campaign minimises.

Half of the problems are mild, the other half wild: columns from 1e-8 to 1e8, means far from 0,
labels of any scale, weights over eight decades, strengths from 1e-13 to 1e3. Both have what breaks
ties and divisions: equal rows and columns, empty ones, n = 1, n < d, classes that can be separated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from known import KNOWN, known
from rows import labelled, losses_options, matrix

import fenchel
from fenchel.data import shards
from fenchel.errors import FenchelError
from fenchel.losses import LOSSES, ChainLoss, MultivariateLoss, ScalarLoss
from fenchel.losses.table import TABLE, Labels, Row
from fenchel.regularizers import Boxed, Regularizer
from fenchel.solvers import SOLVERS, Solver

Rng = np.random.Generator

# Settings other than the defaults that some runs of a solver have.
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "bmrm": ({"step": 1.0}, {"max_cuts": 12}),
    "lbfgs": ({"memory": 2},),
    "owlqn": ({"memory": 2},),
    "pegasos": ({"batch": 3},),
    "sdca": ({"seed": 3, "at_once": True},),
    "agm-inf": ({"form": "dual"}, {"prox": "own"}, {"form": "homotopy"}),
    "agm-1": ({"form": "dual"}, {"prox": "columns"}),
    "pdhg": ({"prox": "columns"}, {"prox": "own"}, {"prox": "whitened"}),
}

# Solvers that take most of a campaign's time to come close to a minimum, and their iterations.
SLOW_ONES = dict.fromkeys(("gd", "subgd", "pegasos", "fista", "proximal-gradient"), 40)
SLOW_ONES |= dict.fromkeys(("agm-inf", "agm-1", "excessive-gap", "kt-split"), 80)


@dataclass
class Draw:
    """A problem, how it is to be solved, and what it was drawn from."""

    seed: int
    loss: str
    regularizer: str
    X: Any
    y: Any
    given: dict[str, Any]  # to fenchel.problem, with the names above as instances
    limits: dict[str, Any]  # to fenchel.minimize
    variants: dict[str, dict[str, Any]]  # settings of solvers
    numbers_per_shard: int  # few, so that even few rows are several shards

    def problem(self) -> fenchel.Problem:
        """The problem as a user poses it."""
        usual = shards.NUMBERS_PER_SHARD
        shards.NUMBERS_PER_SHARD = self.numbers_per_shard
        try:
            return fenchel.problem(self.X, self.y, **self.given)
        finally:
            shards.NUMBERS_PER_SHARD = usual

    def solvers(self) -> dict[str, str | Solver]:
        """All solvers by name, some with other settings than their defaults."""
        made: dict[str, str | Solver] = {"auto": "auto"}
        for name, kind in SOLVERS.items():
            made[name] = kind(**self.variants.get(name, {}))
        return made

    def limits_of(self, name: str) -> dict[str, Any]:
        """The limits of a solver's run."""
        most = self.limits["max_iterations"]
        return self.limits | {"max_iterations": min(most, SLOW_ONES.get(name, most))}


def draw(seed: int) -> Draw:
    """The problem of a seed; a negative one is that of a known problem."""
    if seed < 0:
        return _known(-seed)
    rng = np.random.default_rng(seed)
    wild = bool(rng.random() < 0.5)
    row = TABLE[rng.integers(len(TABLE))]
    n, d = _size(rng, row), int(rng.integers(1, 11)) if rng.random() < 0.8 else 1
    X = matrix(rng, n, d, wild)
    options = losses_options(rng, row)
    y, groups = labelled(rng, row, X, options, wild)
    loss = LOSSES[row.name](**options)
    name, penalty = _regularizer(rng, d, wild)
    given: dict[str, Any] = {
        "loss": loss,
        "regularizer": penalty,
        "strength": _strength(rng, wild),
        "intercept": bool(rng.random() < (0.5 if loss.intercept else 0.02)),
        "engine": "serial" if rng.random() < 0.95 else "threads",
    }
    extras = {
        "sample_weight": _weights(rng, row, n, groups, wild),
        "offset": _offset(rng, row, n, wild),
        "groups": groups,
    }
    given.update({key: value for key, value in extras.items() if value is not None})
    iterations = int(rng.choice([3, 30, 100, 500], p=[0.1, 0.4, 0.4, 0.1]))
    limits = {"gap": float(10.0 ** rng.uniform(-10, -1)), "max_iterations": iterations}
    chosen = {
        name: others[rng.integers(len(others))]
        for name, others in VARIANTS.items()
        if rng.random() < 0.3
    }
    stored = _stored(rng, X)
    numbers = 8 if rng.random() < 0.1 else shards.NUMBERS_PER_SHARD
    return Draw(seed, row.name, name, stored, y, given, limits, chosen, numbers)


def _known(k: int) -> Draw:
    """The k-th of the known problems, counted from 1."""
    name = list(KNOWN)[k - 1]
    given = known(name)
    X, y, gap = (given.pop(key) for key in ("X", "y", "gap"))
    loss = next(row.name for row in TABLE if type(given["loss"]) is LOSSES[row.name])
    penalty = type(given["regularizer"]).__name__
    limits = {"gap": gap, "max_iterations": 200}
    return Draw(-k, loss, penalty, X, y, given, limits, {}, shards.NUMBERS_PER_SHARD)


def describe(drawn: Draw) -> str:
    """One line: what is minimised."""
    X, given = drawn.X, drawn.given
    kind = "dense" if isinstance(X, np.ndarray) else "sparse"
    parts = [f"{given['loss']!r}", f"{given['regularizer']!r}", f"strength={given['strength']!r}"]
    parts += [f"{X.shape[0]}x{X.shape[1]} {kind} {X.dtype}", f"gap={drawn.limits['gap']:.1e}"]
    parts += [key for key in ("sample_weight", "offset", "groups") if key in given]
    parts += ["intercept"] if given["intercept"] else []
    parts += [] if drawn.numbers_per_shard > 8 else ["in shards"]
    return " ".join(" ".join(part.split()) for part in parts)


def _size(rng: Rng, row: Row) -> int:
    """How many rows: mostly few, as ties and degenerate duals are found there."""
    most = 16 if row.labels is Labels.TAGS else 41
    return int(rng.integers(1, 10)) if rng.random() < 0.5 else int(rng.integers(1, most))


def _strength(rng: Rng, wild: bool) -> float:
    if rng.random() < 0.02:
        return 0.0
    return float(10.0 ** (rng.uniform(-13, 3) if wild else rng.uniform(-6, 0)))


def _stored(rng: Rng, X: Any) -> Any:
    """The rows in one of the layouts and types that users have."""
    from scipy import sparse

    X = X.astype(np.float32) if rng.random() < 0.25 else X
    layout = rng.random()
    if layout < 0.35:
        return sparse.csr_array(X)
    return np.asfortranarray(X) if layout < 0.45 else X


def _regularizer(rng: Rng, d: int, wild: bool) -> tuple[str, Regularizer]:
    """One of all regularisers, with weights, bounds and options of its own."""
    from fenchel import regularizers as all_of

    names = ["l2", "l1", "elastic_net", *all_of.REGULARIZERS, "boxed"]
    name = names[rng.integers(len(names))]
    weights = None
    if rng.random() < 0.25:
        weights = 10.0 ** rng.uniform(-3, 3, size=d) if wild else rng.uniform(0.3, 3, size=d)
        weights[rng.random(d) < 0.2] = 0.0
    ratio = float(rng.choice([1e-3, 0.15, 0.5, 0.9]))
    made: dict[str, Any] = {
        "l2": lambda: all_of.L2(weights),
        "l1": lambda: all_of.L1(weights),
        "elastic_net": lambda: all_of.ElasticNet(ratio, weights),
        "elastic_net_ball": lambda: all_of.ElasticNetBall(float(10 ** rng.uniform(-3, 3)), ratio),
        "entropy": lambda: all_of.Entropy(float(rng.choice([1.0, 0.6, 1.2 / d]))),
        "squared_p_norm": lambda: all_of.SquaredPNorm(float(rng.choice([1.05, 1.5, 2.0]))),
        "group_l1": lambda: all_of.GroupL1(np.arange(d) % int(rng.integers(1, d + 1))),
        "quadratic": lambda: all_of.Quadratic(_form(rng, d)),
    }
    if name != "boxed":
        return name, made[name]()
    inner = made[str(rng.choice(["l2", "l1", "elastic_net"]))]()
    low = float(rng.choice([-np.inf, -1.0, 0.0]))
    return name, Boxed(inner, low, float(rng.choice([np.inf, 0.0, 0.5, 2.0])))


def _form(rng: Rng, d: int) -> Any:
    """A matrix Q; one that is singular is made of whole numbers, so that it is not indefinite."""
    if rng.random() < 0.8:
        A = rng.normal(size=(d, d))
        return A @ A.T + 0.1 * np.eye(d)
    A = rng.integers(-2, 3, size=(d, max(1, d - 1))).astype(float)
    return A @ A.T


def _weights(rng: Rng, row: Row, n: int, groups: Any, wild: bool) -> Any:
    """None, or weights of which some are 0; one for each list where the loss is of lists."""
    kind = LOSSES[row.name]
    if issubclass(kind, MultivariateLoss) and not kind.weighted and rng.random() < 0.98:
        return None
    if rng.random() < 0.6:
        return None
    s = 10.0 ** rng.uniform(-4, 4, size=n) if wild else rng.uniform(0.2, 3.0, size=n)
    s[rng.random(n) < 0.15] = 0.0
    by_list = groups is not None and (issubclass(kind, ChainLoss) or row.name.startswith("rerank"))
    return s[np.searchsorted(groups, groups)] if by_list else s


def _offset(rng: Rng, row: Row, n: int, wild: bool) -> Any:
    if not issubclass(LOSSES[row.name], ScalarLoss) or rng.random() < 0.85:
        return None
    return rng.normal(size=n) * (10.0 ** rng.uniform(-3, 3) if wild else 1.0)


def posed(drawn: Draw) -> fenchel.Problem | FenchelError:
    """The problem, or why it was refused."""
    try:
        return drawn.problem()
    except FenchelError as error:
        return error
