"""freMTPL2, claims by exposure: from the CSV file to coefficients, beside glum and scikit-learn.

Everything between the file and the coefficients counts: reading, coding the columns of text,
standardising those of numbers, and the fit; imports do not. All fit the same problem, a Poisson
regression with L2 of strength 1e-4. fenchel certifies its gap; peers run at their defaults and at
the loosest tolerance of a ladder at which their coefficients are as near to the certified lower
bound. CPU seconds (of all threads), medians; ratio = peer / fenchel, so that more than 1 says
fenchel is faster.

    pip install glum pandas && python benchmarks/fremtpl2.py
"""

from __future__ import annotations

import lzma
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from glum import GeneralizedLinearRegressor
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import PoissonRegressor
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fenchel
from fenchel.data.raw_tables import Read, Wanted, read_table
from fenchel.features import encoding

SOURCE = Path(os.environ["FENCHEL_DATA"]) / "freMTPL2" / "freMTPL2freq.csv.xz"
NUMBERS = ["VehPower", "VehAge", "DrivAge", "BonusMalus", "Density"]
TEXT = ["Area", "VehBrand", "VehGas", "Region"]
STRENGTH = 1e-4
GAPS = (1e-4, 1e-6)
TOLERANCES = 10.0 ** -np.arange(2, 9.5, 0.5)
REPEATS = 5


def read(path: Path) -> Read:
    wanted = Wanted(target="ClaimNb", offset="Exposure", ignore=["IDpol"])
    return read_table([path], wanted)


def coded(table: Read) -> Any:
    columns = table.cells.features
    return encoding.encoded(encoding.fitted(columns, "median", scale=True), columns)


def ours(path: Path, gap: float) -> tuple[Any, Any]:
    table = read(path)
    X = coded(table)
    model = fenchel.PoissonRegressor(alpha=STRENGTH, tol=gap)
    model.fit(X, table.cells.y, offset=np.log(table.cells.offset))
    return model.coef_, model.intercept_


def frame(path: Path) -> pd.DataFrame:
    """The table as its users read it fastest, numbers standardised and text as categories."""
    table = pd.read_csv(path, engine="pyarrow", dtype=dict.fromkeys(TEXT, "category"))
    table[NUMBERS] = StandardScaler().fit_transform(table[NUMBERS])
    return table


def with_glum(path: Path, tol: float) -> tuple[Any, Any]:
    table = frame(path)
    model = GeneralizedLinearRegressor(
        family="poisson", alpha=STRENGTH, l1_ratio=0, gradient_tol=tol, max_iter=1000
    )
    offset = np.log(table["Exposure"].to_numpy())
    model.fit(table[NUMBERS + TEXT], table["ClaimNb"].to_numpy(), offset=offset)
    return model.coef_, model.intercept_


def with_sklearn(solver: str) -> Callable[[Path, float], tuple[Any, Any]]:
    def run(path: Path, tol: float) -> tuple[Any, Any]:
        table = pd.read_csv(path, engine="pyarrow")
        columns = ColumnTransformer(
            [("numbers", StandardScaler(), NUMBERS), ("text", OneHotEncoder(), TEXT)]
        )
        X = columns.fit_transform(table)
        exposure = table["Exposure"].to_numpy()
        strength = STRENGTH * len(exposure) / exposure.sum()  # of a mean by exposure
        model = PoissonRegressor(alpha=strength, solver=solver, tol=tol, max_iter=1000)
        model.fit(X, table["ClaimNb"].to_numpy() / exposure, sample_weight=exposure)
        return model.coef_, model.intercept_

    return run


PEERS = {
    "glum": with_glum,
    "scikit-learn newton-cholesky": with_sklearn("newton-cholesky"),
    "scikit-learn lbfgs": with_sklearn("lbfgs"),
}


def cpu_seconds(work: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        done = work()
        times.append(time.process_time() - start)
    return statistics.median(times), done


def objective(table: Read, X: Any, coef: Any, intercept: Any) -> float:
    """J by its formula, without the part that is the same for all."""
    z = X @ np.ravel(coef) + float(np.ravel(intercept)[0]) + np.log(table.cells.offset)
    y = table.cells.y
    risk = np.mean(np.exp(z) - y * z)
    return float(risk + STRENGTH * 0.5 * np.sum(np.square(coef)))


def first_within(
    peer: Callable[[Path, float], tuple[Any, Any]], path: Path, bound: float, judge: Any
) -> Iterator[tuple[float, float, float]]:
    """(tolerance, seconds, distance) of the loosest tolerance that comes near enough."""
    for tol in TOLERANCES:
        found = peer(path, float(tol))
        value = judge(*found)
        if value <= bound:
            yield float(tol), cpu_seconds(lambda tol=tol: peer(path, float(tol)))[0], value
            return


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "freMTPL2freq.csv"
        path.write_bytes(lzma.open(SOURCE).read())
        table = read(path)
        X = coded(table)
        best = fenchel.PoissonRegressor(alpha=STRENGTH, tol=1e-10)
        best.fit(X, table.cells.y, offset=np.log(table.cells.offset))
        least = objective(table, X, best.coef_, best.intercept_)
        scale = best.result_.objective  # J with the constants of the loss, which gaps refer to

        def judge(coef: Any, intercept: Any) -> float:
            return (objective(table, X, coef, intercept) - least) / scale

        parts = {
            "read": cpu_seconds(lambda: read(path))[0],
            "code": cpu_seconds(lambda: coded(table))[0],
        }
        print(", ".join(f"{name} {seconds:.2f} s" for name, seconds in parts.items()))
        for gap in GAPS:
            seconds, found = cpu_seconds(lambda gap=gap: ours(path, gap))
            print(f"gap {gap:g}: fenchel {seconds:.2f} s, distance {judge(*found):.1e}")
            for name, peer in PEERS.items():
                for tol, theirs, value in first_within(peer, path, gap, judge):
                    print(
                        f"  {name} (tol {tol:.1e}) {theirs:.2f} s, distance {value:.1e}, "
                        f"ratio {theirs / seconds:.2f}"
                    )
                sys.stdout.flush()


if __name__ == "__main__":
    main()
