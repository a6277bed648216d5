"""Tables with text, gaps and dates on the command line, from the raw file to predictions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import Command

import fenchel

POISSON = "--loss poisson --target claims --exposure exposure --ignore policy --scale".split()


def claims(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Policies with numbers, text, dates and gaps."""
    rng = np.random.default_rng(seed)
    exposure = rng.uniform(0.1, 1, n).round(3)
    age = rng.integers(18, 80, n).astype(float)
    area = rng.choice(list("ABCD"), n)
    return pd.DataFrame(
        {
            "policy": [f"P{i}" for i in range(n)],
            "claims": rng.poisson(exposure * np.exp(0.02 * age - 1 + (area == "A"))),
            "exposure": exposure,
            "age": np.where(rng.random(n) < 0.05, np.nan, age),
            "area": np.where(rng.random(n) < 0.05, None, area),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )


def write(table: pd.DataFrame, name: str) -> str:
    if name.endswith(".parquet"):
        table.to_parquet(name)
    else:
        table.to_csv(name, index=False)
    return name


def numbers(text: str) -> np.ndarray:
    return np.array(text.split(), dtype=float)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_a_raw_table_goes_from_train_to_predictions(run: Command, name: str):
    write(claims(), name)
    flags = [*POISSON, "--dates", "since", "--proof", "p"]
    done = run("train", name, "-o", "m", *flags)
    assert done.code == 0, done.err
    assert "target: 'claims'" in done.err
    assert "columns: 2 of numbers, 1 of text with 4 levels; 6 features" in done.err
    assert "missing values were filled: 'age' in" in done.err
    raw = write(claims(50, seed=1).drop(columns=["claims", "policy"]), f"new.{name}")
    predicted = run("predict", "m", raw)
    assert predicted.code == 0, predicted.err
    assert run("evaluate", "m", name).code == 0
    assert "verified" in run("verify", "m", name, "--proof", "p").out
    # The same in Python, from a frame.
    pipeline, new = fenchel.load("m"), claims(50, seed=1)
    new["since"] = (new["since"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    means = np.exp(np.log(new["exposure"])) * pipeline.predict(new.replace({None: np.nan}))
    np.testing.assert_allclose(numbers(predicted.out), means, rtol=1e-12)


def test_formats_and_orders_of_columns_make_no_difference(run: Command):
    table = claims().drop(columns="since")
    write(table, "t.csv")
    write(table[table.columns[::-1]], "t.parquet")
    for name in ("t.csv", "t.parquet"):
        assert run("train", name, "-o", f"m.{name}", *POISSON).code == 0
    found = [run("predict", f"m.{a}", b).out for a in ("t.csv", "t.parquet") for b in (a, "t.csv")]
    for other in found[1:]:
        np.testing.assert_allclose(numbers(found[0]), numbers(other), rtol=1e-3)


def test_a_guess_of_the_target_is_said_and_the_target_remembered(run: Command):
    Path("wine.csv").write_text("acid,alcohol,quality\n" + "1,2,3\n2,5,4\n3,1,5\n" * 5)
    done = run("train", "wine.csv", "-o", "m", "--loss", "squared_error")
    assert "the target is a guess: 'quality', the last column. Name it with --target" in done.err
    found = run("evaluate", "m", "wine.csv", "--json")
    assert found.json["metrics"]["r2"] > 0.9
    # Another order, in which the last column is a feature.
    Path("other.csv").write_text("quality,acid,alcohol\n3,1,2\n4,2,5\n5,3,1\n")
    assert run("evaluate", "m", "other.csv", "--json").json["metrics"]["r2"] > 0.9
    assert "DATA has no targets" in run("evaluate", "m", _without("quality")).err
    assert "target 'quality'" in run("inspect", "m").out


def _without(name: str) -> str:
    pd.read_csv("other.csv").drop(columns=name).to_csv("less.csv", index=False)
    return "less.csv"


def test_unknown_levels_are_counted_and_count_as_none(run: Command):
    Path("t.csv").write_text("a,y\n" + "u,1\nv,2\n" * 5)
    run("train", "t.csv", "-o", "m", "--loss", "squared_error")
    Path("new.csv").write_text("a\nu\nw\nq\n\n")
    done = run("predict", "m", "new.csv")
    assert "column 'a': 2 rows with levels that the model does not know ('q', 'w')" in done.err
    model = fenchel.load("m")
    assert numbers(done.out)[1:] == pytest.approx(float(model[-1].intercept_))


@pytest.mark.parametrize("missing", ["median", "most_frequent", "indicator"])
def test_what_was_filled_in_training_is_filled_in_prediction(run: Command, missing: str):
    Path("t.csv").write_text("a,b,y\n" + "1,u,1\n,v,2\n4,,3\n4,u,1\n9,u,4\n" * 4)
    done = run("train", "t.csv", "-o", "m", "--loss", "squared_error", "--missing", missing)
    assert done.code == 0, done.err
    Path("new.csv").write_text("a,b\n,\n4,u\n")
    both = numbers(run("predict", "m", "new.csv").out)
    assert (both[0] == both[1]) == (missing != "indicator")


def test_refused_gaps_are_refused_in_prediction_too(run: Command):
    Path("t.csv").write_text("a,b,y\n1,u,1\n2,v,2\n3,u,4\n")
    assert (
        run("train", "t.csv", "-o", "m", "--loss", "squared_error", "--missing", "refuse").code == 0
    )
    Path("new.csv").write_text("a,b\n1,u\n,v\n")
    assert "new.csv:3: column 'a' has 1 missing value" in run("predict", "m", "new.csv").err


def test_weights_are_rows_that_come_so_often(run: Command):
    rows = ["1,u,1,2", "2,v,3,1", "3,u,2,3", "5,v,9,1"]
    Path("t.csv").write_text("\n".join(["a,b,y,w", *rows]) + "\n")
    Path("often.csv").write_text(
        "\n".join(["a,b,y", *(r.rsplit(",", 1)[0] for r in rows for _ in range(int(r[-1])))]) + "\n"
    )
    fit = ["--loss", "squared_error", "--gap", "1e-10"]
    assert run("train", "t.csv", "-o", "m", *fit, "--weight", "w", "--proof", "p").code == 0
    assert run("train", "often.csv", "-o", "n", *fit).code == 0
    both = [numbers(run("predict", model, "t.csv").out) for model in "mn"]
    np.testing.assert_allclose(both[0], both[1], rtol=1e-4)
    assert "verified" in run("verify", "m", "t.csv", "--proof", "p").out


def test_groups_may_be_any_column(run: Command):
    table = "a,query,y\n" + "".join(f"{i},q{i // 4},{i % 3}\n" for i in range(24))
    Path("t.csv").write_text(table)
    Path("qid.csv").write_text(
        table.replace("query", "qid").replace("q", "").replace("id", "qid", 1)
    )
    assert run("train", "t.csv", "-o", "m", "--loss", "ndcg", "--group", "query").code == 0
    assert run("evaluate", "m", "t.csv").code == 0
    refused = run("train", "t.csv", "-o", "m", "--loss", "squared_error", "--group", "query")
    assert "--group is for the queries of --loss" in refused.err


def test_folds_keep_groups_together(run: Command):
    rng = np.random.default_rng(0)
    lines = [
        f"{x:.3f},{c},g{i // 10},{x + (c == 'u'):.3f}"
        for i, (x, c) in enumerate(
            zip(rng.normal(size=60), rng.choice(["u", "v"], 60), strict=True)
        )
    ]
    Path("t.csv").write_text("\n".join(["a,b,g,y", *lines]) + "\n")
    flags = "--loss squared_error --strengths 1e-1,1e-2 --cv 3 --group g -o m".split()
    assert run("path", "t.csv", *flags).code == 0
    assert run("evaluate", "m", "t.csv").code == 0
    assert "too much" in run("path", "t.csv", *flags, "--cv", "7").err


def test_a_path_is_scored_on_another_raw_table(run: Command):
    write(claims(), "t.csv")
    write(claims(100, seed=1), "v.csv")
    flags = [*POISSON, "--dates", "since", "--strengths", "1e-1,1e-3", "--validation", "v.csv"]
    done = run("path", "t.csv", *flags, "-o", "m", "--json")
    assert done.code == 0, done.err
    assert run("predict", "m", "v.csv").code == 0


def test_inspect_names_columns_and_levels(run: Command):
    write(claims(), "t.csv")
    run("train", "t.csv", "-o", "m", *POISSON, "--ignore", "since")
    said = run("inspect", "m").out
    assert "table with target 'claims'" in said and "exposures in 'exposure'" in said
    assert "numbers: age" in said and "area: 4 levels: A, B, C, D" in said and "area_A" in said
    found = run("inspect", "m", "--json").json
    assert found["levels"] == {"area": ["A", "B", "C", "D"]}
    assert found["table"]["target"] == "claims"


def test_a_table_without_names_is_known_by_its_places(run: Command):
    Path("t.csv").write_text("1,tcp,0,no\n2,udp,3,yes\n3,tcp,1,no\n5,udp,2,yes\n")
    assert run("train", "t.csv", "-o", "m").code == 0
    Path("new.csv").write_text("1,tcp,0\n2,udp,3\n")
    assert run("predict", "m", "new.csv").out.split() == ["no", "yes"]
    assert run("evaluate", "m", "t.csv").code == 0
    Path("less.csv").write_text("1,tcp\n2,udp\n")
    assert "it has 2 columns, and there are no names" in run("predict", "m", "less.csv").err


def test_a_column_of_the_model_that_is_not_there_is_named(run: Command):
    Path("t.csv").write_text("a,b,y\n1,u,1\n2,v,2\n3,u,4\n")
    run("train", "t.csv", "-o", "m", "--loss", "squared_error")
    Path("new.csv").write_text("a,B\n1,u\n")
    done = run("predict", "m", "new.csv")
    assert "new.csv: no column 'b', which the model was trained on" in done.err
    Path("new.csv").write_text("a,b\nx,u\n1,v\n")
    assert "new.csv:2: column 'a' has 'x' in row 0: no number" in run("predict", "m", "new.csv").err
    Path("new.svm").write_text("1 1:1\n")
    assert "new.svm is no table" in run("predict", "m", "new.svm").err


def test_options_of_tables_are_for_tables(run: Command):
    Path("t.svm").write_text("1 1:1\n-1 1:2\n")
    assert "--scale is for tables" in run("train", "t.svm", "-o", "m", "--scale").err
    write(claims().drop(columns="since"), "t.parquet")
    done = run("train", "t.parquet", "-o", "m", "--stream", "--missing", "median")
    assert "which --stream leaves in the file" in done.err


def test_settings_may_stand_in_a_file(run: Command):
    write(claims(), "t.csv")
    Path("c.toml").write_text(
        'loss = "poisson"\ntarget = "claims"\nexposure = "exposure"\nscale = true\n'
        'ignore = ["policy", "since"]\n'
    )
    assert run("train", "t.csv", "-o", "m", "--config", "c.toml").code == 0
    wrong = run("train", "t.csv", "-o", "m", "--config", "c.toml", "--missing", "mean")
    assert "unknown missing 'mean'" in wrong.err


def test_a_run_that_was_limited_goes_on_from_the_raw_table(run: Command):
    write(claims(), "t.csv")
    flags = [*POISSON, "--ignore", "since", "--gap", "1e-9", "--solver", "bmrm"]
    assert run("train", "t.csv", "-o", "m", *flags, "--max-iterations", "20").code == 4
    done = run("resume", "m.checkpoint", "--max-iterations", "1000")
    assert done.code == 0, done.err
    run("train", "t.csv", "-o", "n", *flags)
    assert run("predict", "m", "t.csv").out == run("predict", "n", "t.csv").out


def test_the_report_of_training_is_json(run: Command):
    write(claims(), "t.csv")
    done = run("train", "t.csv", "-o", "m", *POISSON, "--ignore", "since", "--json")
    found = json.loads(done.out)
    assert found["features"] == 5 and found["settings"]["target"] == "claims"


def test_a_transformer_of_other_columns_than_the_table_s_is_refused(run: Command):
    Path("t.csv").write_text("a,b,y\n1,u,1\n2,v,2\n3,u,4\n")
    Path("u.csv").write_text("c,b,y\n1,u,1\n2,v,2\n3,u,4\n")
    run("train", "t.csv", "-o", "m", "--loss", "squared_error")
    run("train", "u.csv", "-o", "n", "--loss", "squared_error")
    forged = fenchel.load("m")
    fenchel.save(forged, "forged", table=fenchel.load("n")[-1].table_)
    assert "not one of the columns of its table" in run("predict", "forged", "u.csv").err
