"""From a fit and its data to its summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from fenchel.errors import InvalidData
from fenchel.inference.covariance import Design, Estimates, estimated, sandwich
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
    def n(self) -> float:
        """How many rows there are."""
        return float(np.sum(self.s)) if self.frequencies else float(np.count_nonzero(self.s))


def summarised(
    data: Data, family: Family, theta: Array, *, kind: str, level: float, gap: float, null: float
) -> Summary:
    """The summary of parameters theta, the intercept last; `null` is the null model's mean loss."""
    z = data.design.scores(theta) + data.offset
    slope = np.asarray(family.loss.slope(z, data.y))
    found = estimated(data.design, theta, data.s * family.information(z), data.s * slope)
    rank, n = len(found.kept), data.n
    if not n > rank:
        raise InvalidData(
            f"{n:g} rows cannot tell the errors of {rank} estimates: there must be more rows"
        )
    phi = _dispersion(data, family, z, n - rank)
    notes = _notes(data, found, phi)
    covariance = phi * found.inverse
    if kind != "model":
        powers = data.s if data.frequencies else data.s**2
        weights = data.s * family.curvature(z, data.y), powers * slope**2
        covariance = sandwich(data.design, found.kept, *weights)
        covariance *= n / (n - rank) if kind == "HC1" else 1.0
    t = family.exact and kind == "model"
    reach = float(stdtrit(n - rank, (1 + level) / 2) if t else ndtri((1 + level) / 2))
    errors = np.full(len(theta), np.nan)
    errors[found.kept] = np.sqrt(np.diag(covariance))
    statistics = found.theta / errors
    below = stdtr(n - rank, -np.abs(statistics)) if t else ndtr(-np.abs(statistics))
    log_likelihood = _log_likelihood(data, family, z, phi)
    loss = np.where(data.s > 0, family.loss.value(z, data.y), 0.0)
    whole = np.full((len(theta), len(theta)), np.nan)
    whole[np.ix_(found.kept, found.kept)] = covariance
    return Summary(
        model=family.name,
        names=list(data.names),
        coefficients=found.theta,
        standard_errors=errors,
        statistics=statistics,
        p_values=2 * below,
        confidence_intervals=np.column_stack(
            [found.theta - reach * errors, found.theta + reach * errors]
        ),
        covariance=whole,
        statistic="t" if t else "z",
        level=level,
        errors=COVARIANCES[kind],
        n_rows=n,
        degrees_of_freedom=n - rank,
        dispersion=phi,
        log_likelihood=log_likelihood,
        aic=2 * rank - 2 * log_likelihood,
        bic=float(np.log(n)) * rank - 2 * log_likelihood,
        deviance=2 * float(np.sum(data.s * loss)),
        null_deviance=2 * float(np.sum(data.s)) * null,
        gap=gap,
        notes=notes,
    )


def _dispersion(data: Data, family: Family, z: Array, left: float) -> float:
    """Pearson's statistic over the degrees of freedom that are left; 1 where it is known."""
    if not family.dispersed:
        return 1.0
    mu = family.mean(z)
    pearson = data.s * (family.response(data.y) - mu) ** 2 / family.variance(mu)
    return float(np.sum(np.where(data.s > 0, pearson, 0.0))) / left


def _notes(data: Data, found: Estimates, phi: float) -> tuple[str, ...]:
    """What a reader should know; InvalidData where the parameters do not minimise over the rows."""
    notes, distance = [], found.distance / np.sqrt(phi)
    if distance > _FAR:
        raise InvalidData(
            f"the best parameters for these rows are {distance:.2g} standard errors away from the "
            "model's: give X, y, sample_weight and offset as they were fitted, or fit with a "
            "smaller tol"
        )
    if distance > _NEAR:
        notes.append(f"the minimiser is up to {distance:.1g} standard errors away: lower tol")
    if len(found.kept) < len(found.theta):
        missing = [data.names[j] for j in np.flatnonzero(np.isnan(found.theta)).tolist()]
        notes.append(
            f"w is not unique: {', '.join(missing)} combine other columns, and the estimates of "
            "the others are those without them"
        )
    return tuple(notes)


def _log_likelihood(data: Data, family: Family, z: Array, phi: float) -> float:
    """At the estimates; of the Gaussian with the phi that makes it largest, as is usual."""
    counted = data.s > 0
    y, z, s = data.y[counted], z[counted], data.s[counted]
    if family.exact:
        phi = float(np.sum(s * (y - z) ** 2)) / data.n
    if data.frequencies:
        return float(np.sum(s * family.log_density(y, z, np.full_like(z, phi))))
    return float(np.sum(family.log_density(y, z, phi / s)))
