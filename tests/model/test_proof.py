"""Proof files, and the checker that knows nothing of fenchel: what is true passes, all else not."""

from __future__ import annotations

import importlib.util
import operator
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from commands import HANGS, rows, svmlight
from forged import forge, taken_apart
from scipy import sparse

import fenchel
from fenchel.data.svmlight_writing import write_svmlight
from fenchel.losses import LOSSES
from fenchel.losses.table import TABLE, Labels
from fenchel.model.proof import proof_of, read_proof

CHECKER = Path(__file__).parents[2] / "tools" / "check_proof.py"
SPEC = importlib.util.spec_from_file_location("check_proof", CHECKER)
checker = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(checker)

PENALTIES = {"l2": {}, "l1": {}, "elastic_net": {"l1_ratio": 0.3}}


def three(z):
    return np.digitize(z, [-0.5, 0.5])


def labelled(loss, z):
    kinds = {
        Labels.BINARY: np.sign,
        Labels.CLASSES: three,
        Labels.COUNT: lambda z: np.abs(z.round()),
        Labels.POSITIVE: np.exp,
    }
    return kinds.get(LOSSES[loss].labels, np.asarray)(z)


def judged(proof, data, capsys=None):
    """The checker's exit code and what it printed."""
    with np.errstate(all="ignore"):
        try:
            code = int(checker.main(str(proof), str(data)))
        except NotImplementedError as error:
            return 2, str(error)
        except Exception as error:  # as the program itself does
            return 1, str(error)
    return code, "" if capsys is None else capsys.readouterr().out


def alone(*arguments):
    """The checker as its users run it, in an empty Python."""
    command = [sys.executable, "-I", str(CHECKER), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)


def proved(loss, penalty="l2", *, intercept=True, **given):
    """A problem, its result, and both in the files d.npz and p."""
    X, z = rows(60, 4)
    y, options = labelled(loss, z), PENALTIES[penalty]
    intercept = intercept and LOSSES[loss].intercept
    problem = fenchel.problem(
        X, y, loss=loss, regularizer=penalty, strength=0.02, intercept=intercept, **given, **options
    )
    result = fenchel.minimize(problem, gap=1e-6, max_iterations=3000)
    fenchel.save_proof(result, problem, "p")
    np.savez("d.npz", X=X, y=y)
    return problem, result


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_checker_is_short_and_needs_nothing_but_numpy():
    svmlight("d.svm")
    X, y = fenchel.read_svmlight("d.svm")
    problem = fenchel.problem(X, y, loss="logistic", strength=1e-2, intercept=True)
    fenchel.save_proof(fenchel.minimize(problem, gap=1e-6), problem, "p")
    assert len(CHECKER.read_text().splitlines()) <= 200
    code = (
        f"import runpy, sys; sys.argv = ['', 'p', 'd.svm']\n"
        f"try: runpy.run_path({str(CHECKER)!r}, run_name='__main__')\n"
        "except SystemExit as done: assert done.code == 0, done\n"
        "print([m for m in ('fenchel', 'scipy', 'sklearn', 'msgspec') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]" and ": yes" in done.stdout


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", checker.LOSSES)
def test_what_was_proved_is_confirmed(loss, penalty, capsys):
    for intercept in (True, False):
        _, result = proved(loss, penalty, intercept=intercept)
        code, said = judged("p", "d.npz", capsys)
        assert code == 0, said
        low, high = (float(side) for side in said.split("yes - ")[1].split(" <= min J <= "))
        assert low <= result.objective * (1 + 1e-9) and high >= result.lower_bound
        assert low >= result.lower_bound * (1 - 1e-9) - 1e-12
        assert high == pytest.approx(result.objective, rel=1e-9, abs=1e-12)


def test_the_checker_covers_every_scalar_loss_with_a_formula_for_its_conjugate():
    plain = {Labels.BINARY, Labels.REAL, Labels.COUNT, Labels.POSITIVE, Labels.NONE}
    known = {row.name for row in TABLE if row.labels in plain}
    scalar = {name for name in known if LOSSES[name]().has_conjugate}
    assert scalar - set(checker.LOSSES) == {"tweedie"}


@pytest.mark.parametrize(
    ("flags", "y"),
    [
        (("--loss", "hinge", "--regularizer", "l1"), np.sign),
        (("--loss", "squared_hinge", "--balanced"), lambda z: 3.0 + (z > 1)),
        (("--loss", "hinge", "--no-intercept"), three),
        (("--loss", "softmax"), three),
        (("--loss", "quantile", "--quantile", "0.2"), np.asarray),
    ],
)
def test_what_the_command_line_writes_is_confirmed(run, flags, y):
    svmlight("d.svm", y)
    done = run("train", "d.svm", "-o", "m", "--proof", "p", "--strength", "0.01", *flags)
    assert done.code == 0, done.err
    code, said = judged("p", "d.svm")
    assert code == 0, said
    assert run("verify", "m", "d.svm", "--proof", "p").code == 0


@pytest.mark.parametrize("suffix", ["svm.gz", "svm.bz2", "svm.xz", "npz"])
def test_data_are_read_as_fenchel_reads_them(suffix):
    X, z = rows(50, 5)
    X[np.abs(X) < 0.5] = 0.0
    problem = fenchel.problem(sparse.csr_array(X), np.sign(z), loss="hinge", strength=0.1)
    fenchel.save_proof(fenchel.minimize(problem), problem, "p")
    if suffix == "npz":
        S = sparse.csr_array(X)
        np.savez("d.npz", format=b"csr", shape=S.shape, y=np.sign(z),
                 data=S.data, indices=S.indices, indptr=S.indptr)  # fmt: skip
    else:
        write_svmlight(f"d.{suffix}", sparse.csr_array(X), np.sign(z))
    code, said = judged("p", f"d.{suffix}")
    assert code == 0, said


def test_weights_offsets_and_named_classes_are_part_of_the_statement():
    X, z = rows(60, 4)
    s, y = np.linspace(0, 2, 60), np.where(z > 0, "yes", "no")
    penalty = fenchel.regularizers.L2(weights=[1, 2, 0.5, 1])
    problem = fenchel.problem(
        X, y, loss="logistic", regularizer=penalty, sample_weight=s, intercept=True, strength=0.02
    )
    fenchel.save_proof(fenchel.minimize(problem, gap=1e-8), problem, "p")
    np.savez("d.npz", X=X, y=y)
    assert judged("p", "d.npz")[0] == 0
    counts, offset = np.abs(z.round()), np.linspace(-1, 1, 60)
    problem = fenchel.problem(X, counts, loss="poisson", offset=offset, strength=0.1)
    fenchel.save_proof(fenchel.minimize(problem, gap=1e-8), problem, "p")
    np.savez("d.npz", X=X, y=counts)
    assert judged("p", "d.npz")[0] == 0


def altered(change):
    """The proof p with its statement or arrays changed, all digests right again."""
    header, arrays = taken_apart(Path("p").read_bytes())
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header["statement"], arrays)
    Path("forged").write_bytes(forge(header, arrays, kind="proof"))
    return judged("forged", "d.npz")


def test_any_dual_variables_prove_what_is_true(capsys):
    """Fenchel's inequality needs no optimum: the bound only gets worse, never false."""
    _, result = proved("hinge")
    rng = np.random.default_rng(0)

    def shaken(statement, arrays):
        y = np.sign(rows(60, 4)[1])
        arrays["alpha"] = (-y * rng.uniform(0, 1, 60) / 60)[np.newaxis]

    for _ in range(5):
        code = altered(shaken)[0]
        said = capsys.readouterr().out
        low = float(said.split("NO - ")[1].split(" <= ")[0])
        assert code == 1 and 0 <= low < result.lower_bound


def claiming(**factors):
    def change(statement, arrays):
        claim = statement["claims"][0]
        claim.update({name: claim[name] * factor for name, factor in factors.items()})

    return change


def putting(name, place, value):
    return lambda statement, arrays: arrays[name].__setitem__(place, value)


def stating(**values):
    return lambda statement, arrays: statement.update(values)


FORGERIES = {
    "a bound that was raised": (claiming(lower_bound=1 + 1e-8), ""),
    "an objective that was lowered": (claiming(objective=1 - 1e-9), ""),
    "a dual variable out of its domain": (putting("alpha", (0, 3), 0.5), "outside the domain"),
    "dual variables of another sum": (
        lambda s, a: np.clip(a["alpha"], -1, 1e-3, out=a["alpha"]),
        "",
    ),
    "no dual variables": (putting("alpha", ..., 0.0), ""),
    "nan": (putting("alpha", (0, 0), np.nan), "not finite"),
    "another w": (lambda s, a: a["w"].__iadd__(1e-6), ""),
    "another strength": (stating(strength=0.021), ""),
    "a negative strength": (stating(strength=-1.0), "sizes"),
    "another loss": (stating(loss="squared_hinge"), ""),
    "no intercept": (stating(intercept=False), "its arrays"),
    "another positive class": (lambda s, a: s["claims"][0].update(positive=0), "data of the proof"),
    "another matrix": (stating(columns=5), "data of the proof"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_forged_proofs_are_refused(what, capsys):
    proved("hinge")
    change, why = FORGERIES[what]
    code, said = altered(change)
    assert code == 1 and why in said
    assert why or "NO" in capsys.readouterr().out


def test_other_data_are_refused():
    proved("hinge")
    content = dict(np.load("d.npz"))
    for name, place, value in (("X", (7, 2), 9.0), ("y", 7, -content["y"][7])):
        changed = content[name].copy()
        changed[place] = value
        np.savez("d.npz", **{**content, name: changed})
        code, said = judged("p", "d.npz")
        assert code == 1 and "does not hold the data" in said


def test_what_is_not_covered_says_so(run):
    svmlight("d.svm")
    for flags in (("--loss", "roc"), ("--regularizer", "squared_p_norm"), ("--lower", "0")):
        assert (
            run("train", "d.svm", "-o", "m", "--proof", "p", "--strength", "0.1", *flags).code == 0
        )
        assert judged("p", "d.svm")[0] == 2
        assert run("verify", "m", "d.svm", "--proof", "p").code == 0
    assert alone("p", "d.svm").returncode == 2
    assert run("train", "d.svm", "-o", "m", "--proof", "p").code == 0
    Path("cut").write_bytes(Path("p").read_bytes()[:-100])
    for proof, data in (("cut", "d.svm"), ("m", "d.svm"), ("d.svm", "d.svm"), ("p", "none")):
        assert judged(proof, data)[0] == 1, proof


def test_only_true_claims_are_stated():
    problem, result = proved("hinge")
    certificate = fenchel.Certificate(result.objective * 0.999999999, result.objective)
    liar = replace(result, certificate=certificate, witness=fenchel.Witness())
    with pytest.raises(fenchel.InvalidCertificate, match="but the result claims"):
        fenchel.save_proof(liar, problem, "p")
    roc = fenchel.problem(*rows(), loss="rank_hinge", groups=np.zeros(200, dtype=int))
    with pytest.raises(fenchel.InvalidData, match="cannot be stated"):
        fenchel.save_proof(fenchel.minimize(roc), roc, "p")


def test_a_proof_of_an_earlier_version_is_read():
    """It held the witnesses alone, and no statement."""
    _, result = proved("huber")
    proof = proof_of([result, replace(result, witness=None)])
    header = {"version": "0.0.9", "runs": 2}
    Path("old").write_bytes(forge(header, proof.arrays, kind="proof"))
    first, second = read_proof("old")
    assert second is None and len(first.tangencies) == len(result.witness.tangencies)
    assert judged("old", "d.npz")[0] == 2


EXACT = {  # the domain of a and l*(a, y), in rational arithmetic
    "hinge": (lambda a, y: 0 <= -y * a <= 1, lambda a, y: y * a),
    "squared_hinge": (lambda a, y: -y * a >= 0, lambda a, y: y * a + a * a / 2),
    "absolute_error": (lambda a, y: -1 <= a <= 1, lambda a, y: a * y),
    "squared_error": (lambda a, y: True, lambda a, y: a * y + a * a / 2),
}


@pytest.mark.parametrize("loss", EXACT)
def test_what_is_said_to_be_proved_holds_in_rational_arithmetic(loss, monkeypatch, capsys):
    kept = {}
    on_grid = checker.on_grid
    monkeypatch.setattr(checker, "on_grid", lambda *args: kept.setdefault("a", on_grid(*args)))
    rng = np.random.default_rng(0)
    for scale in 10.0 ** np.arange(-4, 7, 2):
        kept.clear()
        X = rng.standard_normal((9, 3)) * scale ** np.arange(3) + 1
        y, s = rng.permutation([-1.0, 1.0] * 4 + [1.0]), 10.0 ** rng.uniform(-4, 4, 9)
        strength = 10.0 ** rng.uniform(-6, 0)
        problem = fenchel.problem(
            X, y, loss=loss, strength=strength, intercept=True, sample_weight=s
        )
        fenchel.save_proof(
            fenchel.minimize(problem, "bmrm", gap=1e-9, max_iterations=30), problem, "p"
        )
        np.savez("d.npz", X=X, y=y)
        judged("p", "d.npz")
        low = Fraction(float(capsys.readouterr().out.split(" - ")[1].split(" <= ")[0]))
        alpha = [Fraction(each) for each in kept["a"][:, 0].tolist()]
        total, labels = sum(map(Fraction, s.tolist())), [int(label) for label in y]
        p = [Fraction(each) / total for each in s.tolist()]
        inside, conjugate = EXACT[loss]
        a = [each / share for each, share in zip(alpha, p, strict=True)]
        assert sum(alpha) == 0 and all(map(inside, a, labels))
        g = [
            sum(x * v for x, v in zip(map(Fraction, column), alpha, strict=True)) for column in X.T
        ]
        bound = -sum(map(operator.mul, p, map(conjugate, a, labels)))
        bound -= sum(each * each for each in g) / (2 * Fraction(strength))
        assert low <= max(bound, 0)
