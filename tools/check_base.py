"""What `pip install fenchel` alone must do: fit, prove, save, and name the extra for the rest.

python tools/check_base.py            in an environment that has no extra
python tools/check_base.py --hide     anywhere: what the extras bring is hidden first
"""

from __future__ import annotations

import importlib.util
import io
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path

EXTRAS = (
    "typer rich pyarrow pandas polars matplotlib altair vl_convert onnx skl2onnx dask distributed "
    "mpi4py starlette uvicorn httpx cryptography array_api_compat"
).split()


class Hidden:
    """Says of the extras' packages that they are not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def check_library(folder: Path) -> None:
    import numpy as np
    from sklearn.datasets import load_breast_cancer, load_diabetes

    import fenchel

    X, y = load_breast_cancer(return_X_y=True)
    model = fenchel.Classifier(loss="hinge", alpha=1e-3).fit(X, y)
    fenchel.save(model, folder / "model")
    assert np.array_equal(fenchel.load(folder / "model").predict(X), model.predict(X))
    problem = fenchel.problem(X, y, loss="logistic", strength=1e-3, intercept=True)
    assert fenchel.verify(fenchel.minimize(problem, gap=1e-4), problem).gap <= 1e-4
    X, y = load_diabetes(return_X_y=True)
    assert fenchel.QuantileRegressor(alpha=1e-3).fit(X, y).gap_ <= 1e-3
    from fenchel.sklearn import Lasso

    assert Lasso(alpha=0.1).fit(X, y).coef_.shape == (10,)


def check_files(folder: Path) -> None:
    import fenchel
    from fenchel.data import files

    (folder / "rows.svm").write_text("1 1:0.5\n-1 2:1.5\n")
    X, _ = fenchel.read_svmlight(folder / "rows.svm")
    assert X.shape == (2, 2)
    (folder / "rows.csv").write_text("x,y\n1,2\n3,4\n")
    refused(lambda: files.read(folder / "rows.csv"), "fenchel[tables]")
    (folder / "rows.parquet").write_bytes(b"PAR1PAR1")
    refused(lambda: files.read(folder / "rows.parquet"), "fenchel[tables]")


def check_extras() -> None:
    import numpy as np

    import fenchel

    X, y = np.eye(3), np.array([1, -1, 1])
    problem = fenchel.problem(X, y, loss="hinge", strength=0.1)
    result = fenchel.minimize(problem)
    model = fenchel.Classifier().fit(X, y)
    refused(result.plot, "fenchel[plot]")
    refused(lambda: fenchel.to_onnx(model), "fenchel[onnx]")
    refused(
        lambda: fenchel.problem(X, y, loss="hinge", strength=0.1, engine="dask"), "fenchel[dask]"
    )


def check_command() -> None:
    from fenchel.__main__ import main

    said = io.StringIO()
    try:
        with redirect_stderr(said):
            main()
    except SystemExit as left:
        assert left.code == 2, left.code
    assert 'pip install "fenchel[cli]"' in said.getvalue(), said.getvalue()


def refused(call: Callable[[], object], extra: str) -> None:
    """An error that names the extra, and no other."""
    try:
        call()
    except ImportError as error:
        assert extra in str(error), error
    else:
        raise AssertionError(f"nothing said that {extra} is missing")


def main() -> None:
    if sys.argv[1:] == ["--hide"]:
        sys.meta_path.insert(0, Hidden())  # type: ignore[arg-type]
    else:
        there = [name for name in EXTRAS if importlib.util.find_spec(name)]
        assert not there, f"installed beside the base: {there}; --hide hides them"
    with tempfile.TemporaryDirectory() as folder:
        check_library(Path(folder))
        check_files(Path(folder))
    check_extras()
    check_command()
    print("the base alone does what it must")


if __name__ == "__main__":
    main()
