"""Offsets of rows on the command line: a column of a table, which the model remembers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from commands import Command, svmlight
from pyarrow import parquet

import fenchel


def watched(n: int = 150, seed: int = 0) -> dict[str, np.ndarray]:
    """Counts of rows that were watched for some hours."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n)).round(3)
    hours = rng.uniform(0.2, 20.0, size=n).round(3)
    claims = rng.poisson(hours * np.exp(0.5 * a - 0.3 * b - 1)).astype(float)
    return {"a": a, "b": b, "hours": hours, "log_hours": np.log(hours), "y": claims}


def write(name: str, columns: dict[str, np.ndarray]) -> Path:
    content = pa.table(columns)
    if name.endswith(".parquet"):
        parquet.write_table(content, name)
    else:
        lines = [",".join(columns), *(",".join(map(repr, row)) for row in _rows(columns))]
        Path(name).write_text("\n".join(lines) + "\n")
    return Path(name)


def _rows(columns: dict[str, np.ndarray]) -> list[tuple[float, ...]]:
    return list(zip(*(values.tolist() for values in columns.values()), strict=True))


def only(columns: dict[str, np.ndarray], *names: str) -> dict[str, np.ndarray]:
    return {name: columns[name] for name in names}


def goes_on(record: fenchel.Record) -> None:
    """Watches a fit, as the command line does: its steps are then taken one at a time."""


def expected(columns: dict[str, np.ndarray], **settings: float) -> fenchel.PoissonRegressor:
    X, y = np.column_stack([columns["a"], columns["b"]]), columns["y"]
    model = fenchel.PoissonRegressor(callback=goes_on, **settings)
    return model.fit(X, y, offset=columns["log_hours"])


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize(("flag", "column"), [("--offset", "log_hours"), ("--exposure", "hours")])
def test_a_column_of_offsets_is_no_feature_and_goes_with_the_model(
    run: Command, name, flag, column
):
    columns = watched()
    write(name, only(columns, "a", column, "b", "y"))
    done = run("train", name, "-o", "m", "--loss", "poisson", flag, column)
    assert done.code == 0, done.err
    model, ours = fenchel.load("m"), expected(columns)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_allclose(model.coef_, ours.coef_, rtol=1e-12)
    new = watched(40, seed=1)
    write(f"new{name}", only(new, column, "b", "a"))  # in another order, and without a target
    predicted = run("predict", "m", f"new{name}")
    assert predicted.code == 0, predicted.err
    X = np.column_stack([new["a"], new["b"]])
    np.testing.assert_allclose(
        [float(line) for line in predicted.out.split()],
        ours.predict(X, offset=new["log_hours"]),
        rtol=1e-12,
    )


def test_it_is_used_to_evaluate_and_to_verify(run: Command):
    columns = watched()
    write("t.csv", only(columns, "a", "b", "hours", "y"))
    flags = ("--loss", "poisson", "--exposure", "hours", "--proof", "p")
    assert run("train", "t.csv", "-o", "m", *flags).code == 0
    found = run("evaluate", "m", "t.csv", "--json").json["metrics"]
    X = np.column_stack([columns["a"], columns["b"]])
    means = expected(columns).predict(X, offset=columns["log_hours"])
    error = np.abs(means - columns["y"]).mean()
    assert found["mean_absolute_error"] == pytest.approx(error, rel=1e-12)
    checked = run("verify", "m", "t.csv", "--proof", "p", "--json")
    assert checked.code == 0, checked.err
    assert checked.json["runs"][0]["gap"] <= 1e-4
    shown = run("inspect", "m")
    assert "2 features with names, and exposures in 'hours'" in shown.out


@pytest.mark.parametrize("loss", ["gamma", "tweedie"])
def test_other_losses_with_a_log_link_take_it(run: Command, loss):
    columns = watched()
    columns["y"] = columns["y"] + 0.5
    write("t.csv", only(columns, "a", "b", "log_hours", "y"))
    done = run("train", "t.csv", "-o", "m", "--loss", loss, "--offset", "log_hours")
    assert done.code == 0, done.err
    kind = {"gamma": fenchel.GammaRegressor, "tweedie": fenchel.TweedieRegressor}[loss]
    X = np.column_stack([columns["a"], columns["b"]])
    ours = kind(callback=goes_on).fit(X, columns["y"], offset=columns["log_hours"])
    np.testing.assert_allclose(fenchel.load("m").coef_, ours.coef_, rtol=1e-12)


@pytest.mark.parametrize("scored", [("--cv", "3"), ("--validation", "t.csv")])
def test_a_path_uses_it_to_fit_and_to_score(run: Command, scored):
    columns = watched()
    write("t.csv", only(columns, "a", "b", "log_hours", "y"))
    flags = ("--loss", "poisson", "--strengths", "1,1e-3", *scored)
    done = run("path", "t.csv", "-o", "m", "--offset", "log_hours", "--json", *flags)
    assert done.code == 0, done.err
    np.testing.assert_allclose(
        fenchel.load("m").coef_, expected(columns, alpha=1e-3).coef_, atol=0.02
    )
    assert fenchel.load("m").offset_column_ == "log_hours"
    write("without.csv", only(columns, "a", "b", "y"))
    blind = run(
        "path", "without.csv", "--json", *(f.replace("t.csv", "without.csv") for f in flags)
    )
    best = [max(each["score"] for each in got.json["points"]) for got in (done, blind)]
    assert best[0] > best[1] + 0.2


def test_rows_that_stay_in_their_file_have_it_too(run: Command):
    columns = watched()
    write("t.parquet", only(columns, "a", "b", "log_hours", "y"))
    flags = ("--loss", "poisson", "--offset", "log_hours")
    assert run("train", "t.parquet", "-o", "m", *flags).code == 0
    assert run("train", "t.parquet", "-o", "s", "--stream", *flags).code == 0
    # By two solvers, each to its gap of 1e-4.
    np.testing.assert_allclose(fenchel.load("s").coef_, fenchel.load("m").coef_, rtol=2e-3)


def test_a_file_without_names_has_columns_by_number(run: Command):
    columns = watched()
    write("t.csv", only(columns, "a", "b", "log_hours", "y"))
    lines = Path("t.csv").read_text().splitlines()[1:]
    Path("bare.csv").write_text("\n".join(lines) + "\n")
    assert run("train", "bare.csv", "-o", "m", "--loss", "poisson", "--offset", "2").code == 0
    np.testing.assert_allclose(fenchel.load("m").coef_, expected(columns).coef_, rtol=1e-12)
    assert run("predict", "m", "bare.csv").code == 0


def test_what_is_wrong_with_it_is_said(run: Command):
    columns = watched(20)
    write("t.csv", only(columns, "a", "b", "hours", "y"))
    train = ("train", "t.csv", "-o", "m", "--loss", "poisson")

    def refused(*arguments: str) -> str:
        done = run(*arguments)
        assert done.code in (2, 3), done.err
        return done.err

    assert "t.csv: no column 'hour' of offsets: did you mean 'hours'?" in refused(
        *train, "--offset", "hour"
    )
    assert "give --offset or --exposure, not both" in refused(
        *train, "--offset", "hours", "--exposure", "hours"
    )
    assert "'y' cannot be both offset and the target" in refused(
        *train, "--offset", "y", "--target", "y"
    )
    assert "--offset does not go with --loss hinge: it is for the log links of poisson" in refused(
        "train", "t.csv", "-o", "m", "--offset", "hours"
    )
    svmlight("d.svm", lambda z: np.abs(z.round()))
    assert "d.svm: offsets are a column of a table, 'hours'" in refused(
        "train", "d.svm", "-o", "m", "--loss", "poisson", "--offset", "hours"
    )
    columns["hours"][3] = 0.0
    write("zero.csv", only(columns, "a", "b", "hours", "y"))
    said = refused("train", "zero.csv", "-o", "m", "--loss", "poisson", "--exposure", "hours")
    assert "zero.csv:5: column 'hours' holds exposures, which must be > 0; in row 3 it is 0" in said
    for value in ("nan", "inf"):
        text = Path("zero.csv").read_text().replace(",0.0,", f",{value},", 1)
        Path("bad.csv").write_text(text)
        said = refused("train", "bad.csv", "-o", "m", "--loss", "poisson", "--offset", "hours")
        assert "bad.csv:5" in said and "row 3" in said and "hours" in said


def test_a_table_without_the_column_is_refused_by_name(run: Command):
    columns = watched(30)
    write("t.csv", only(columns, "a", "b", "hours", "y"))
    write("new.csv", only(columns, "a", "b", "y"))
    flags = ("--loss", "poisson", "--exposure", "hours", "--proof", "p")
    assert run("train", "t.csv", "-o", "m", *flags).code == 0
    for command in (("predict",), ("evaluate",), ("verify", "--proof", "p")):
        done = run(command[0], "m", "new.csv", *command[1:])
        assert done.code == 3
        assert "new.csv: no column 'hours' of offsets: it has 'a', 'b', 'y'" in done.err
