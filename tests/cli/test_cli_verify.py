"""`fenchel verify`: what is true is confirmed, from the files alone, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import rows, svmlight

import fenchel
from fenchel.data.svmlight_writing import write_svmlight
from fenchel.model.proof import proof_of, read_proof


def three(z):
    return np.digitize(z, [-0.5, 0.5])


@pytest.mark.parametrize(
    ("flags", "y"),
    [
        (("--loss", "hinge"), np.sign),
        (("--loss", "logistic", "--balanced"), np.sign),
        (("--loss", "nu_hinge"), np.sign),
        (("--loss", "roc", "--strength", "1e-2"), np.sign),
        (("--loss", "hinge"), three),
        (("--loss", "softmax"), three),
        (("--loss", "ordinal", "--strength", "1e-2"), three),
        (("--loss", "squared_error", "--regularizer", "l1"), np.asarray),
        (("--loss", "poisson", "--strength", "1e-2"), lambda z: np.abs(z.round())),
        (("--loss", "novelty"), np.sign),
    ],
)
def test_what_train_proved_is_confirmed(run, flags, y):
    svmlight("d.svm", y)
    done = run("train", "d.svm", "-o", "m", "--proof", "p", "--json", *flags)
    assert done.code == 0, done.err
    checked = run("verify", "m", "d.svm", "--proof", "p", "--json")
    assert checked.code == 0, checked.err
    assert len(checked.json["runs"]) == len(done.json["runs"])
    for ours, theirs in zip(checked.json["runs"], done.json["runs"], strict=True):
        assert ours["label"] == theirs["label"] and ours["source"] == "witness"
        assert ours["objective"] == pytest.approx(theirs["objective"], rel=1e-8)
        assert ours["lower_bound"] >= theirs["lower_bound"] - 1e-8 * abs(theirs["objective"])
    shown = run("verify", "m", "d.svm", "--proof", "p")
    assert shown.out.count("verified, gap") == len(done.json["runs"])


def test_bounds_are_proved_in_exact_arithmetic_where_that_is_possible(run):
    svmlight("d.svm", np.sign)
    assert run("train", "d.svm", "-o", "m", "--proof", "p", "--loss", "logistic").code == 0
    done = run("verify", "m", "d.svm", "--proof", "p", "--rigorous")
    assert done.code == 0 and "from the witness, in exact arithmetic" in done.out
    flags = "--loss", "roc", "--strength", "1e-2"
    assert run("train", "d.svm", "-o", "m", "--proof", "p", *flags).code == 0
    refused = run("verify", "m", "d.svm", "--proof", "p", "--rigorous")
    assert refused.code != 0 and "no mean over rows" in refused.err


def test_rankings_are_verified_with_their_queries(run):
    X, z = rows(120)
    write_svmlight("d.svm", X, (z > 0).astype(float), np.repeat(np.arange(12), 10))
    assert run("train", "d.svm", "-o", "m", "--proof", "p", "--loss", "rank_hinge").code == 0
    assert run("verify", "m", "d.svm", "--proof", "p").code == 0


def test_nothing_else_is_confirmed(run):
    svmlight("d.svm")
    svmlight("other.svm", seed=1)
    svmlight("three.svm", three)
    assert run("train", "d.svm", "-o", "m", "--proof", "p").code == 0
    model = fenchel.load("m")
    model.result_ = replace(model.result_, certificate=fenchel.Certificate(1.0, model.objective_))
    fenchel.save(model, "boasting")
    model = fenchel.load("m")
    model.coef_ = model.coef_ + 0.1
    fenchel.save(model, "moved")
    proof_of([replace(model.result_, witness=fenchel.Witness())]).write("nothing")
    Path("cut").write_bytes(Path("p").read_bytes()[:-8])
    for arguments, code, said in (
        (("boasting", "d.svm", "--proof", "p"), 3, "but the result claims 1.0"),
        (("moved", "d.svm", "--proof", "p"), 3, "the objective at w is"),
        (("m", "other.svm", "--proof", "p"), 3, "it is the result of other data"),
        (("m", "three.svm", "--proof", "p"), 3, "do not belong together"),
        (("m", "d.svm", "--proof", "nothing"), 3, "the witness proves min J >= 0.0, but"),
        (("m", "d.svm", "--proof", "cut"), 3, "cannot use cut"),
        (("m", "d.svm", "--proof", "m"), 3, "it holds a model, not a proof"),
        (("m", "d.svm", "--proof", "none"), 2, "there is no file none"),
        (("m", "--proof", "p"), 2, "no DATA"),
        (("m", "d.svm", "--proof", "p", "--engine", "dask"), 2, "owners:FILE only"),
    ):
        done = run("verify", *arguments)
        assert done.code == code and said in done.err, (arguments, done.err)


def test_proofs_come_back_as_they_were(tmp_path):
    X, z = rows()
    result = fenchel.minimize(fenchel.problem(X, z, loss="huber", strength=1e-2))
    proof_of([result, replace(result, witness=None)]).write(tmp_path / "p")
    first, second = read_proof(tmp_path / "p")
    assert second is None and len(first.tangencies) == len(result.witness.tangencies)
    for ours, theirs in zip(first.tangencies, result.witness.tangencies, strict=True):
        assert np.array_equal(ours.w, theirs.w)
