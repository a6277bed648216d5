"""The summary of a softmax model of K >= 3 classes, against the first of them.

Softmax does not change when all scores of a row move together, so that only differences of the
classes' parameters are estimates: those of each class but the first, less those of the first. With
p the probabilities of a row, the information is a matrix of blocks sum_i s_i p_j (1[j=k] - p_k) a_i
a_i' for classes j and k, and the slopes are p_j - 1[y=j].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import softmax, xlogy

from fenchel.inference.covariance import inverse
from fenchel.inference.likelihood import (
    Asked,
    Data,
    Fitted,
    check_distance,
    degrees_left,
    dependent,
    tabled,
)
from fenchel.inference.summary import Summary
from fenchel.verification.dependence import combinations, independent

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


def summarised_classes(
    data: Data,
    codes: npt.NDArray[np.intp],
    theta: Array,
    classes: Sequence[str],
    asked: Asked,
) -> Summary:
    """The summary of parameters theta, a line for each class and the intercept last in it."""
    theta = theta[1:] - theta[0]
    Z = np.column_stack([np.zeros(len(codes)), *(data.design.scores(each) for each in theta)])
    p, right = softmax(Z, axis=1), np.eye(len(classes))[codes]
    found, kept = _independent(data, theta)
    left = degrees_left(data, len(kept) * len(theta))

    def bend(j: int, k: int) -> Array:
        rest = np.sum(np.delete(p, j, axis=1), axis=1) if j == k else -p[:, k]
        return np.asarray(data.s * p[:, j] * rest)

    def spread(j: int, k: int) -> Array:
        return np.asarray(data.squared_weights * (p - right)[:, j] * (p - right)[:, k])

    covariance = inverse(_blocks(data, kept, len(classes), bend))
    slopes = (data.s[:, np.newaxis] * (p - right))[:, 1:].T
    g = np.concatenate([data.design.adjoint(a)[kept] for a in slopes])
    notes = check_distance(math.sqrt(max(float(g @ covariance @ g), 0.0)))
    if asked.kind != "model":
        covariance = covariance @ _blocks(data, kept, len(classes), spread) @ covariance
        covariance *= data.n / left if asked.kind == "HC1" else 1.0
    likelihood = float(
        np.sum(data.s * np.log(np.where(data.s > 0, np.sum(p * right, axis=1), 1.0)))
    )
    total = np.array([np.sum(data.s[codes == k]) for k in range(len(classes))])
    null = -2 * float(np.sum(xlogy(total, total / np.sum(total))))
    fitted = Fitted(
        model=f"multinomial logistic regression (softmax), classes against {classes[0]}",
        names=[f"{label}: {name}" for label in classes[1:] for name in data.names],
        theta=found.ravel(),
        covariance=np.asarray(covariance),
        exact=False,
        dispersion=1.0,
        log_likelihood=likelihood,
        deviance=-2 * likelihood,
        null_deviance=null,
        notes=(*notes, *dependent(data.names, found[0])),
    )
    return tabled(fitted, data.n, asked)


def _independent(data: Data, theta: Array) -> tuple[Array, Indices]:
    """The parameters without columns that depend on others, which are nan; and those kept."""
    H = data.design.gram(data.s)
    H = H if data.design.intercept else np.pad(H, (0, 1))
    kept, rest = independent(H, data.design.intercept)
    found = np.full_like(theta, np.nan)
    found[:, kept] = theta[:, kept]
    if len(rest):
        found[:, kept] += theta[:, rest] @ combinations(H, kept, rest).T
    return found, kept


def _blocks(data: Data, kept: Indices, K: int, weight: Callable[[int, int], Array]) -> Array:
    """The matrix of a block for each two classes but the first."""
    part = np.ix_(kept, kept)
    blocks = [[data.design.gram(weight(j, k))[part] for k in range(1, K)] for j in range(1, K)]
    return np.block(blocks)
