"""Small good data, ways to damage them, and what must hold of whatever fenchel does with them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

import fenchel
from fenchel.engines import Serial

X = np.random.default_rng(0).normal(size=(8, 3))
X[np.abs(X) < 0.3] = 0.0
Y = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
REGRESSION = ["squared_error", "absolute_error", "quantile", "huber", "epsilon_insensitive"]
COMPRESSED = [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array]
COMPRESSED_OR_BLOCKS = [*COMPRESSED, sparse.bsr_matrix, sparse.bsr_array]


class Idle(Serial):
    """An engine that must not be asked to work."""

    def map(self, task, *args):
        raise AssertionError("work was started before the input had been checked")


def state(thing):
    """Everything of a caller's object that fenchel could change, caches and flags included."""
    if isinstance(thing, np.ndarray):
        memory = thing.__array_interface__["data"]
        return memory, thing.tobytes(), str(thing.flags), thing.dtype, thing.shape, thing.strides
    if sparse.issparse(thing):
        return {name: state(value) for name, value in vars(thing).items()}
    if isinstance(thing, tuple):
        return tuple(state(part) for part in thing)
    return type(thing), repr(thing)


def refused(*said, kind=fenchel.InvalidData, X=X, y=Y, **setting):
    """The message, which holds every phrase of `said`; no work was done, nothing was modified."""
    before = state(X), state(y), {name: state(value) for name, value in setting.items()}
    with pytest.raises(fenchel.FenchelError) as error:
        fenchel.problem(X, y, **{"engine": Idle()} | setting)
    assert before == (state(X), state(y), {name: state(value) for name, value in setting.items()})
    assert type(error.value) is kind
    for phrase in said:
        assert phrase in str(error.value)
    return str(error.value)


def minimum(X=X, y=Y, **setting):
    """The verified result at a small gap; nothing of the caller's is modified."""
    before = state(X), state(y), {name: state(value) for name, value in setting.items()}
    problem = fenchel.problem(X, y, **{"strength": 1e-2} | setting)
    result = fenchel.minimize(problem, gap=1e-8).raise_for_status()
    fenchel.verify(result, problem)
    assert before == (state(X), state(y), {name: state(value) for name, value in setting.items()})
    return result


def same_minimum(X, y=Y, **setting):
    expected = minimum(**setting)
    assert minimum(X, y, **setting).objective == pytest.approx(expected.objective, rel=1e-7)


def the_rows(X, y=Y, **setting):
    (shard,) = fenchel.problem(X, y, **setting).risk.engine.shards
    return shard.rows


def broken(kind, **parts):
    """A sparse matrix of X with some of its arrays replaced behind SciPy's back."""
    matrix = kind(X)
    for name, change in parts.items():
        values = np.array(getattr(matrix, name))
        setattr(matrix, name, change(values))
    return matrix


def put(position, value):
    def change(values):
        values[position] = value
        return values

    return change


def survives(X, y, **setting):
    """A FenchelError, or a finite result that `verify` confirms; no warning but our own.

    An objective below the round-off of its own scores (they are of order 1) cannot be recomputed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", fenchel.FenchelWarning)
        try:
            problem = fenchel.problem(X, y, **setting)
            result = fenchel.minimize(problem, max_iterations=20)
        except fenchel.FenchelError:
            return
        assert np.isfinite(result.w).all() and np.isfinite(result.intercept).all()
        if result.status is not fenchel.Status.NONFINITE:
            assert result.lower_bound <= result.objective + 1e-15
            assert result.objective < np.inf
            if result.objective > 1e-10 or result.lower_bound == 0:
                fenchel.verify(result, problem)
