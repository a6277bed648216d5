"""Anything at all, by Hypothesis: refused with an error of ours, or fitted and certified."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from inputs import COMPRESSED, COMPRESSED_OR_BLOCKS, X, Y, survives

import fenchel
from fenchel.losses import (
    LOSSES,
    ChainLoss,
    Labels,
    MultivariateLoss,
    NuLoss,
    ScalarLoss,
    VectorLoss,
)
from fenchel.regularizers import REGULARIZERS

pytestmark = pytest.mark.slow

TAME = st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-3)
ODD = st.sampled_from(
    [np.nan, np.inf, -np.inf, 1e150, 10**400, None, "a", "1.5", b"x", 1j, True, (), {}, 2**63]
)
ANY_SHAPE = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
MATRIX = arrays.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5)
NESTED = st.recursive(TAME | ODD, lambda inner: st.lists(inner, max_size=4), max_leaves=12)
GARBAGE = st.one_of(
    NESTED,
    arrays.arrays(arrays.scalar_dtypes(), ANY_SHAPE),
    arrays.arrays(object, ANY_SHAPE, elements=TAME | ODD),
)
SETTINGS = st.fixed_dictionaries(
    {
        "loss": st.sampled_from(list(LOSSES)),
        "regularizer": st.sampled_from(list(REGULARIZERS)),
        "strength": st.sampled_from([1e-3, 1e-1, 1.0]),
        "intercept": st.booleans(),
    }
)


@given(GARBAGE, GARBAGE, SETTINGS)
def test_garbage_is_refused_or_fitted(X, y, setting):
    survives(X, y, **setting)


@given(st.data(), SETTINGS)
def test_garbage_beside_good_data_is_refused_or_fitted(data, setting):
    y, weights, w0 = (data.draw(st.none() | GARBAGE) for _ in range(3))
    survives(X, y, sample_weight=weights, **setting)
    try:
        fenchel.minimize(fenchel.problem(X, Y), w0=w0, max_iterations=3)
    except fenchel.FenchelError:
        pass


@given(st.data(), SETTINGS)
def test_good_data_of_any_kind_are_fitted(data, setting):
    values = data.draw(arrays.arrays(np.float64, MATRIX, elements=TAME))
    n = len(values)
    y = np.arange(n) % 2 + data.draw(st.sampled_from([0.0, 1.0]))
    weights = data.draw(st.none() | arrays.arrays(np.float64, n, elements=st.floats(0, 10)))
    kind = data.draw(st.sampled_from([np.asfortranarray, np.float32, *COMPRESSED]))
    survives(kind(values), y, sample_weight=weights, **setting)


@given(st.data(), SETTINGS)
def broken_structures(data, setting):
    kind = data.draw(st.sampled_from(COMPRESSED_OR_BLOCKS))
    matrix = kind(X)
    edge = st.sampled_from([-(2**31), -1, 0, 1, 3, 7, 8, 24, 25, 2**31 - 1])
    for name in data.draw(st.sets(st.sampled_from(["indices", "indptr", "data"]))):
        values = np.array(getattr(matrix, name))
        k = data.draw(st.integers(0, len(values) - 1))
        if name == "data" or data.draw(st.booleans()):
            setattr(matrix, name, values[:k])
        else:
            values[k] = data.draw(edge)
            setattr(matrix, name, values)
    survives(matrix, Y, **setting)


def test_broken_sparse_structure_never_reaches_a_kernel():
    """In a process of its own: what is not refused reads or writes out of bounds."""
    done = subprocess.run(
        [sys.executable, "-c", "import conftest, test_garbage as t; t.broken_structures()"],
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))},  # finds conftest
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr or f"killed by signal {-done.returncode}"


def size(lowest, highest):
    """A positive number of any size."""
    return st.floats(lowest, highest).map(lambda exponent: 10.0**exponent)


@given(st.data(), SETTINGS)
def test_numbers_of_any_size_are_refused_or_fitted(data, setting):
    """X, y and strength are of any size, each on a scale of its own."""
    values = data.draw(arrays.arrays(np.float64, MATRIX, elements=TAME))
    y = np.arange(len(values)) % 3 - 1.0
    if LOSSES[setting["loss"]].labels is Labels.COUNT:
        y = np.abs(y)
    if LOSSES[setting["loss"]].labels is Labels.POSITIVE:
        y = np.abs(y) + 0.5
    if LOSSES[setting["loss"]].labels is Labels.BINARY:
        y = np.sign(y - 0.5)
    scale, target, strength = (data.draw(size(*s)) for s in ((-300, 99), (-300, 99), (-300, 300)))
    survives(scale * values, target * y, **setting | {"strength": strength})


@given(st.data(), SETTINGS)
def test_columns_of_any_size_are_refused_or_fitted(data, setting):
    values = data.draw(arrays.arrays(np.float64, MATRIX, elements=TAME))
    # Beyond 1e4 the round-off of the scores can exceed what `verify` allows for its own.
    scales = data.draw(arrays.arrays(np.float64, values.shape[1], elements=size(-12, 4)))
    survives(scales * values, np.arange(len(values)) % 2, **setting)


SCALAR = [name for name, kind in LOSSES.items() if issubclass(kind, ScalarLoss)]
VECTOR = [name for name, kind in LOSSES.items() if issubclass(kind, VectorLoss)]
JOINT = [name for name, kind in LOSSES.items() if issubclass(kind, MultivariateLoss)]
CHAINS = [name for name, kind in LOSSES.items() if issubclass(kind, ChainLoss)]
NU = [name for name, kind in LOSSES.items() if issubclass(kind, NuLoss)]


def draw_problem(rng, names):
    """Small data, targets and strength within some orders of magnitude of 1."""
    n, d = rng.integers(1, 6, size=2)
    values = rng.normal(size=(n, d)) * 10 ** rng.uniform(-6, 6)
    y = 10 ** rng.uniform(-3, 3) * (np.arange(n) % 3 - 1)
    loss = str(rng.choice(names))
    y = {
        Labels.COUNT: np.abs(y),
        Labels.POSITIVE: np.abs(y) + 0.5,
        Labels.BINARY: np.arange(n) % 2,
    }.get(LOSSES[loss].labels, y)
    if LOSSES[loss].labels is Labels.SETS:
        y = rng.integers(0, 2, size=(n, rng.integers(2, 5)))
    if LOSSES[loss].labels is Labels.VECTORS:
        y = np.column_stack([y, -2 * y])
    setting = {"loss": loss, "regularizer": str(rng.choice(list(REGULARIZERS)))}
    setting |= {"strength": 10 ** rng.uniform(-9, 3), "intercept": rng.random() < 0.5}
    if loss in JOINT:
        setting["intercept"] &= LOSSES[loss].intercept
        setting |= {"k": int(rng.integers(1, n + 1))} if loss.endswith("at_k") else {}
        setting |= {"groups": np.arange(n) // 3} if LOSSES[loss].grouped else {}
    return values, y, setting


@pytest.mark.parametrize(
    "names",
    [SCALAR, VECTOR, JOINT, NU, CHAINS],
    ids=["scalar", "vector", "joint", "nu", "chains"],
)
def test_small_problems_are_certified(names):
    """Unlike Hypothesis, which prefers round numbers, this meets scores on the edge of a kink."""
    rng, failures = np.random.default_rng(0), []
    for _ in range(200):
        values, y, setting = draw_problem(rng, names)
        try:
            survives(values, y, **setting)
        except Exception as error:
            failures.append(f"{error!r} for X={values.tolist()}, y={y.tolist()}, {setting}")
    assert not failures, "\n".join([f"{len(failures)} of 400:", *failures])
