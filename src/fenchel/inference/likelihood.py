"""From a fit and its data to its summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from fenchel.errors import InvalidData
from fenchel.inference.covariance import Design, estimated, sandwich
from fenchel.inference.families import Family
from fenchel.inference.summary import Summary

Array = npt.NDArray[np.float64]

_FAR = 0.1  # standard errors: a minimiser so far away is that of other rows, or not found yet
_NEAR = 1e-3  # one so close makes no difference

COVARIANCES = {
    "model": "standard errors of the model",
    "HC0": "robust standard errors (sandwich, HC0)",
    "HC1": "robust standard errors (sandwich, HC1)",
}


@dataclass(frozen=True)
class Data:
    """Rows with their labels y, weights s > 0 or 0, and offsets."""

    design: Design
    y: Array
    s: Array
    offset: Array
    names: Sequence[str]
    frequencies: bool  # s says how often a row was seen, not how precise it is

    @property
    def squared_weights(self) -> Array:
        """What the squares of rows' slopes are weighed by in a sandwich."""
        return self.s if self.frequencies else self.s**2

    @property
    def n(self) -> float:
        """How many rows there are."""
        return float(np.sum(self.s)) if self.frequencies else float(np.count_nonzero(self.s))


@dataclass(frozen=True)
class Fitted:
    """Estimates, nan where there are none, with their covariance; and how well they fit."""

    model: str
    names: Sequence[str]
    theta: Array
    covariance: Array  # of those that are not nan
    exact: bool  # estimates have t distributions
    dispersion: float
    log_likelihood: float
    deviance: float
    null_deviance: float
    notes: tuple[str, ...]


class Asked(NamedTuple):
    """What kind of errors, the level of intervals; and the gap that the fit has."""

    kind: str
    level: float
    gap: float


def summarised(data: Data, family: Family, theta: Array, asked: Asked, null: float) -> Summary:
    """The summary of parameters theta, the intercept last; `null` is the null model's mean loss."""
    z = data.design.scores(theta) + data.offset
    slope = np.asarray(family.loss.slope(z, data.y))
    found = estimated(data.design, theta, data.s * family.information(z), data.s * slope)
    left = degrees_left(data, len(found.kept))
    phi = _dispersion(data, family, z, left)
    notes = check_distance(found.distance / np.sqrt(phi))
    covariance = phi * found.inverse
    kind = asked.kind
    if kind != "model":
        weights = data.s * family.curvature(z, data.y), data.squared_weights * slope**2
        covariance = sandwich(data.design, found.kept, *weights)
        covariance *= data.n / left if kind == "HC1" else 1.0
    loss = np.where(data.s > 0, family.loss.value(z, data.y), 0.0)
    fitted = Fitted(
        model=family.name,
        names=data.names,
        theta=found.theta,
        covariance=covariance,
        exact=family.exact and kind == "model",
        dispersion=phi,
        log_likelihood=_log_likelihood(data, family, z, phi),
        deviance=2 * float(np.sum(data.s * loss)),
        null_deviance=2 * float(np.sum(data.s)) * null,
        notes=(*notes, *dependent(data.names, found.theta)),
    )
    return tabled(fitted, data.n, asked)


def tabled(fitted: Fitted, n: float, asked: Asked) -> Summary:
    """Tests and intervals of estimates, of n rows."""
    kind, level, gap = asked
    theta, kept = fitted.theta, np.flatnonzero(~np.isnan(fitted.theta))
    rank, t = len(kept), fitted.exact
    reach = float(stdtrit(n - rank, (1 + level) / 2) if t else ndtri((1 + level) / 2))
    errors = np.full(len(theta), np.nan)
    errors[kept] = np.sqrt(np.diag(fitted.covariance))
    statistics = theta / errors
    below = stdtr(n - rank, -np.abs(statistics)) if t else ndtr(-np.abs(statistics))
    whole = np.full((len(theta), len(theta)), np.nan)
    whole[np.ix_(kept, kept)] = fitted.covariance
    return Summary(
        model=fitted.model,
        names=list(fitted.names),
        coefficients=theta,
        standard_errors=errors,
        statistics=statistics,
        p_values=2 * below,
        confidence_intervals=np.column_stack([theta - reach * errors, theta + reach * errors]),
        covariance=whole,
        statistic="t" if t else "z",
        level=level,
        errors=COVARIANCES[kind],
        n_rows=n,
        degrees_of_freedom=n - rank,
        dispersion=fitted.dispersion,
        log_likelihood=fitted.log_likelihood,
        aic=2 * rank - 2 * fitted.log_likelihood,
        bic=float(np.log(n)) * rank - 2 * fitted.log_likelihood,
        deviance=fitted.deviance,
        null_deviance=fitted.null_deviance,
        gap=gap,
        notes=fitted.notes,
    )


def degrees_left(data: Data, rank: int) -> float:
    """How many rows there are more than estimates."""
    if not data.n > rank:
        raise InvalidData(
            f"{data.n:g} rows cannot tell the errors of {rank} estimates: there must be more rows"
        )
    return data.n - rank


def _dispersion(data: Data, family: Family, z: Array, left: float) -> float:
    """Pearson's statistic over the degrees of freedom that are left; 1 where it is known."""
    if not family.dispersed:
        return 1.0
    mu = family.mean(z)
    pearson = data.s * (family.response(data.y) - mu) ** 2 / family.variance(mu)
    return float(np.sum(np.where(data.s > 0, pearson, 0.0))) / left


def check_distance(distance: float) -> tuple[str, ...]:
    """InvalidData where the parameters do not minimise over the rows; a note if not quite."""
    if distance > _FAR:
        raise InvalidData(
            f"the best parameters for these rows are {distance:.2g} standard errors away from the "
            "model's: give X, y, sample_weight and offset as they were fitted, or fit with a "
            "smaller tol"
        )
    if distance > _NEAR:
        return (f"the minimiser is up to {distance:.1g} standard errors away: lower tol",)
    return ()


def dependent(names: Sequence[str], theta: Array) -> tuple[str, ...]:
    """A note on columns that have no estimates of their own."""
    missing = [names[j] for j in np.flatnonzero(np.isnan(theta)).tolist()]
    if not missing:
        return ()
    return (
        f"w is not unique: {', '.join(missing)} combine other columns, and the estimates of the "
        "others are those without them",
    )


def _log_likelihood(data: Data, family: Family, z: Array, phi: float) -> float:
    """At the estimates; of the Gaussian with the phi that makes it largest, as is usual."""
    counted = data.s > 0
    y, z, s = data.y[counted], z[counted], data.s[counted]
    if family.exact:
        phi = float(np.sum(s * (y - z) ** 2)) / data.n
    if data.frequencies:
        return float(np.sum(s * family.log_density(y, z, np.full_like(z, phi))))
    return float(np.sum(family.log_density(y, z, phi / s)))
