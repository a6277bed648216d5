"""Training rows weighted by how much they look like test rows (docs/how-to/covariate-shift.md).

python examples/covariate_shift.py, with FENCHEL_DATA=... for the real data as well
"""

from __future__ import annotations

import io
import lzma
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import fenchel

Array = npt.NDArray[np.float64]
Data = tuple[Array, Array]  # X and y


def density_ratios(
    X_train: Array, X_test: Array, *, degree: int = 2, alpha: float = 1e-4
) -> tuple[Array, fenchel.Classifier]:
    """p_test(x) / p_train(x) for the rows of X_train, by telling the two sets apart.

    A logistic model of "from the test set" has the log odds f(x) = log p_test(x) / p_train(x) +
    log n_test / n_train. Degree 2 is right for two Gaussians.
    """
    X = np.concatenate([X_train, X_test])
    is_test = np.repeat([0, 1], [len(X_train), len(X_test)])
    teller = make_pipeline(
        PolynomialFeatures(degree, include_bias=False),
        StandardScaler(),
        fenchel.Classifier(loss="logistic", alpha=alpha),
    ).fit(X, is_test)
    ratios = np.exp(teller.decision_function(X_train)) * len(X_train) / len(X_test)
    return ratios / ratios.mean(), teller[-1]


def effective_size(weights: Array) -> float:
    """How many rows of equal weight would be as good as these."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def compare(train: Data, test: Data, *, degree: int = 1, alpha: float = 1e-4) -> dict[str, float]:
    """Mean squared test errors of a model without and with the weights, and their worth."""
    (X, y), (X_test, y_test) = train, test
    weights, teller = density_ratios(X, X_test, alpha=alpha)

    def error(s: Array | None) -> float:
        features = PolynomialFeatures(degree, include_bias=False)
        model = make_pipeline(features, StandardScaler(), fenchel.Regressor(alpha=1e-6))
        model.fit(X, y, regressor__sample_weight=s)
        return float(np.mean((model.predict(X_test) - y_test) ** 2))

    return {
        "plain": error(None),
        "weighted": error(weights),
        "effective share": effective_size(weights) / len(weights),
        "certified gap of the ratios": teller.gap_,
    }


def curve(n: int = 500, seed: int = 0) -> tuple[Data, Data]:
    """Shimodaira's (2000) example: y = x^3 - x + noise; x moves from N(.5, .5^2) to N(0, .3^2)."""
    rng = np.random.default_rng(seed)

    def drawn(mean: float, deviation: float) -> Data:
        x = rng.normal(mean, deviation, size=n)
        return x[:, np.newaxis], x**3 - x + 0.3 * rng.normal(size=n)

    return drawn(0.5, 0.5), drawn(0.0, 0.3)


def houses(column: int, sharpness: float, seed: int = 0) -> tuple[Data, Data]:
    """California: the training set has mostly small values of a column, the test set large ones."""
    file = Path(os.environ["FENCHEL_DATA"]) / "cal_housing" / "cal_housing.svm.xz"
    X, y = load_svmlight_file(io.BytesIO(lzma.decompress(file.read_bytes())))
    X, y = X.toarray(), y / 1e5
    z = (X[:, column] - np.median(X[:, column])) / X[:, column].std()
    trained = np.random.default_rng(seed).random(len(y)) < 1 / (1 + np.exp(sharpness * z))
    return (X[trained], y[trained]), (X[~trained], y[~trained])


def show(title: str, found: dict[str, float]) -> None:
    gain = 1 - found["weighted"] / found["plain"]
    print(
        f"{title:<34} {found['plain']:.4f} -> {found['weighted']:.4f} ({-gain:+.0%}), "
        f"effective share {found['effective share']:.2f}"
    )


def main() -> None:
    show("curve, a straight line", compare(*curve()))
    show("curve, a cubic (the truth is one)", compare(*curve(), degree=3))
    if os.environ.get("FENCHEL_DATA"):
        for name, column in (("latitude", 1), ("age", 2), ("income", 7)):
            for sharpness in (1.0, 3.0):
                title = f"houses by {name}, sharpness {sharpness:g}"
                show(title, compare(*houses(column, sharpness), alpha=1e-3))


if __name__ == "__main__":
    main()
