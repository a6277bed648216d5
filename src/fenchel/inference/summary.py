"""A table of estimates with what is known of their errors, and how well the model fits."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Summary:
    """Estimates, their standard errors, tests and intervals, and the fit as a whole.

    The arrays have an entry for each of `names`; it is nan for a column that is a combination of
    others, and the estimates of these are then those of a model without it.
    """

    model: str
    names: list[str]
    coefficients: Array
    standard_errors: Array
    statistics: Array  # coefficients over standard errors
    p_values: Array  # of the hypothesis that a coefficient is 0
    confidence_intervals: Array  # of shape (n_names, 2)
    covariance: Array  # of the estimates
    statistic: str  # "t" or "z": the distribution that tests and intervals are by
    level: float  # of the intervals
    errors: str  # where the standard errors come from
    n_rows: float  # that count, or the sum of frequencies
    degrees_of_freedom: float  # n_rows less the number of estimates
    dispersion: float
    log_likelihood: float
    aic: float
    bic: float
    deviance: float
    null_deviance: float  # of an intercept alone
    gap: float  # that was certified of the fit
    notes: tuple[str, ...] = ()

    def to_frame(self) -> Any:
        """The table of estimates as a pandas DataFrame."""
        import pandas as pd  # for this alone

        return pd.DataFrame(
            dict(zip(self._heads()[1:], self._columns(), strict=True)),
            index=pd.Index(self.names, name="name"),
        )

    def _heads(self) -> list[str]:
        tail = (1 - self.level) / 2
        ends = [f"{100 * q:g}%" for q in (tail, 1 - tail)]
        return ["", "estimate", "std error", self.statistic, f"P>|{self.statistic}|", *ends]

    def _columns(self) -> list[Array]:
        low, high = self.confidence_intervals.T
        parts = (self.coefficients, self.standard_errors, self.statistics, self.p_values, low, high)
        return list(parts)

    def _cells(self) -> list[list[str]]:
        """The table as text, its heads first."""
        forms = (".5g", ".4g", ".3f", ".4f", ".5g", ".5g")
        columns = [
            ["-" if np.isnan(x) else format(x, form) for x in column]
            for column, form in zip(self._columns(), forms, strict=True)
        ]
        return [self._heads(), *map(list, zip(self.names, *columns, strict=True))]

    def _facts(self) -> list[str]:
        rest = f"{self.degrees_of_freedom:g}"
        estimates = int(np.sum(~np.isnan(self.coefficients)))
        return [
            f"{self.n_rows:g} rows, {estimates} estimates, {rest} degrees of freedom left; "
            f"{self.errors}",
            f"deviance {self.deviance:.6g}, of an intercept alone {self.null_deviance:.6g}; "
            f"dispersion {self.dispersion:.5g}",
            f"log-likelihood {self.log_likelihood:.6g}, AIC {self.aic:.6g}, BIC {self.bic:.6g}; "
            f"certified gap {self.gap:.1e}",
            *self.notes,
        ]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if k == 0 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        rule = "-" * max(map(len, lines))
        return "\n".join([self.model, rule, *lines, rule, *self._facts()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        heads, *rows = self._cells()
        top = "".join(f"<th>{html.escape(head)}</th>" for head in heads)
        body = "".join(
            f"<tr><th>{html.escape(row[0])}</th>"
            + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
            + "</tr>"
            for row in rows
        )
        facts = "".join(f"<br>{html.escape(fact)}" for fact in self._facts())
        return (
            f"<table><caption>{html.escape(self.model)}</caption><thead><tr>{top}</tr></thead>"
            f"<tbody>{body}</tbody></table><small>{facts.removeprefix('<br>')}</small>"
        )
