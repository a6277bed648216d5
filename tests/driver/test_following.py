"""Paths and classes that a solver follows by itself, and that are proved together."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import sparse

import fenchel
from fenchel.engines import Threads
from fenchel.following import at_once, claimed
from fenchel.proving import proved_together
from fenchel.result import Certificate
from fenchel.verification import recompute, recompute_all
from fenchel.witness import Witness

STRENGTHS = np.geomspace(0.3, 1e-5, 9)
CASES = {
    "hinge": ("polish", {}),
    "absolute_error": ("polish", {"regularizer": "elastic_net"}),
    "quantile": ("polish", {"regularizer": "l1", "quantile": 0.8}),
    "logistic": ("newton", {}),
    "squared_hinge": ("newton", {}),
    "poisson": ("newton", {}),
    "squared_error": ("column-descent", {"regularizer": "l1"}),
}


def pose(loss, *, intercept=True, weighted=False, form=np.asarray, n=80, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * [1, 1, 3, 0.1, 1, 1]
    z = X[:, 0] - X[:, 1] + rng.normal(size=n)
    labels = {"poisson": np.floor(np.exp(z / 2)), "logistic": z > 0.5}
    y = labels.get(loss, z > 0.5 if "hinge" in loss else z)
    if weighted:
        options |= {"sample_weight": rng.uniform(0.5, 2, size=n), "offset": rng.normal(size=n)}
    return fenchel.problem(form(X), y, loss=loss, intercept=intercept, **options)


def at(problem, strengths):
    return [dataclasses.replace(problem, strength=float(each)) for each in strengths]


every_case = pytest.mark.parametrize("loss", CASES)


@every_case
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "origin"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_every_strength_is_proved_and_verifies(loss, intercept, form):
    solver, options = CASES[loss]
    problem = pose(loss, intercept=intercept, weighted=True, form=form, **options)
    path = fenchel.path(problem, STRENGTHS, solver)
    assert path.converged and max(path.gaps) <= 1e-4
    for result, each in zip(path, at(problem, STRENGTHS), strict=True):
        assert result.certificate.source == "witness" and result.solver == solver
        fenchel.verify(result, each)
        fenchel.verify(result, each, rigorous=True)
        tight = fenchel.minimize(each, solver, gap=1e-7)
        assert result.lower_bound <= tight.objective * (1 + 1e-12)
        assert result.objective >= tight.lower_bound * (1 - 1e-12)


@every_case
def test_together_they_prove_what_they_prove_one_by_one(loss):
    solver, options = CASES[loss]
    problem = pose(loss, weighted=True, **options)
    claims, problems = claimed(problem, STRENGTHS.tolist(), solver, 1e-4), at(problem, STRENGTHS)
    for claim, each, proof in zip(claims, problems, recompute_all(claims, problems), strict=True):
        alone = recompute(claim, each)
        assert proof.objective == pytest.approx(alone.objective, rel=1e-12)
        assert proof.lower_bound == pytest.approx(alone.lower_bound, rel=1e-9)


@every_case
def test_nothing_is_believed_that_the_evidence_does_not_prove(loss):
    solver, options = CASES[loss]
    problem = pose(loss, **options)
    claims, problems = claimed(problem, STRENGTHS.tolist(), solver, 1e-4), at(problem, STRENGTHS)
    boast = [
        dataclasses.replace(each, certificate=Certificate(each.objective, each.objective))
        for each in claims
    ]
    for result, each in zip(proved_together(boast, problems, 1e-4), problems, strict=True):
        fenchel.verify(result, each)  # which claims no more than it proves
    none = [
        dataclasses.replace(each, witness=Witness(alpha=0 * each.witness.alpha)) for each in boast
    ]
    for result in proved_together(none, problems, 1e-4):
        assert result is None or result.gap <= 1e-4
    far = [
        dataclasses.replace(each, witness=Witness(alpha=each.witness.alpha + 1e6)) for each in boast
    ]
    assert proved_together(far, problems, 1e-9) == [None] * len(problems)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_path_has_the_same_bits_whatever_the_number_of_threads(loss):
    paths = [fenchel.path(pose(loss, engine=Threads(n)), STRENGTHS) for n in (1, 2)]
    assert np.array_equal(*(path.coefficients for path in paths))
    assert np.array_equal(*(path.lower_bounds for path in paths))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_classes_one_against_the_rest_are_fitted_at_once_and_each_is_proved(loss):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 4))
    y = np.argmax(X[:, :3] + rng.normal(size=(90, 3)), axis=1)
    model = fenchel.Classifier(loss=loss, alpha=1e-3).fit(X, y)
    problems = list(model._posed(X, y).problems)
    assert len(model.result_) == 3 and model.status_ == "converged"
    for problem, result in zip(problems, model.result_, strict=True):
        fenchel.verify(result, problem)
        assert len(result.history) == 1
    watched = fenchel.Classifier(loss=loss, alpha=1e-3, callback=lambda record: False).fit(X, y)
    assert watched.objective_ == pytest.approx(model.objective_, rel=2e-4)


SEVERAL = {
    "multiclass_hinge": fenchel.losses.MulticlassHinge(),
    "costs": fenchel.losses.MulticlassHinge(cost=[[0, 2, 1], [1, 0, 3], [0.5, 1, 0]]),
    "multilabel_hinge": fenchel.losses.MultilabelHinge(),
}


def pose_several(loss, *, intercept=True, form=np.asarray, weighted=False, n=80):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 5))
    y = np.argmax(X[:, :3] + rng.normal(size=(n, 3)), axis=1)
    if "label" in loss:
        y = [(k, 3) if x > 1 else (k,) for k, x in zip(y, X[:, 3], strict=True)]
    options = {"sample_weight": rng.uniform(0.5, 2, size=n)} if weighted else {}
    settings = {"loss": SEVERAL[loss], "strength": 1e-2, "intercept": intercept}
    return fenchel.problem(form(X), y, **settings, **options)


@pytest.mark.parametrize("loss", SEVERAL)
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "origin"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_a_small_hinge_of_several_scores_is_claimed_and_proved(loss, intercept, form, weighted):
    problem = pose_several(loss, intercept=intercept, form=form, weighted=weighted)
    ((_, known),) = at_once([problem], "polish", 1e-4)
    assert known.converged and known.certificate.source == "witness" and known.gap <= 1e-4
    fenchel.verify(known, problem)
    assert np.mean(known.intercept) == pytest.approx(0, abs=1e-12)
    tight = fenchel.minimize(problem, "polish", gap=1e-8)
    assert known.lower_bound <= tight.objective * (1 + 1e-12)
    assert known.objective >= tight.lower_bound * (1 - 1e-12)
    assert fenchel.path(problem, [1e-2], "polish").converged


def test_of_several_scores_nothing_is_believed_either():
    problem = pose_several("multiclass_hinge")
    (claim,) = claimed(problem, [1e-2], "polish", 1e-4)
    boast = dataclasses.replace(claim, certificate=Certificate(claim.objective, claim.objective))
    for alpha in (0 * claim.witness.alpha, claim.witness.alpha + 1e6):
        false = dataclasses.replace(boast, witness=Witness(alpha=alpha))
        assert proved_together([false], [problem], 1e-4) == [None]
    assert proved_together([dataclasses.replace(boast, witness=None)], [problem], 1e-4) == [None]
    (known,) = proved_together([boast], [problem], 1e-4)
    assert known.lower_bound < boast.lower_bound


def test_large_hinges_of_several_scores_are_left_to_the_driver(monkeypatch):
    problem = pose_several("multiclass_hinge")
    monkeypatch.setattr(fenchel.risks.views.block_run, "_FEW", problem.risk.n_numbers)
    assert [known for _, known in at_once([problem], "polish", 1e-4)] == [None]
    assert claimed(problem, [1e-2, 1e-3], "polish", 1e-4) is None


def test_what_no_kernel_follows_is_left_to_the_driver():
    problem = pose("hinge", regularizer=fenchel.regularizers.L2(weights=[0, 1, 1, 1, 1, 1]))
    assert [known for _, known in at_once([problem], "polish", 1e-4)] == [None]
    assert claimed(problem, [0.1], "ls-bmrm", 1e-4) is None
    assert fenchel.path(problem, [0.1, 0.01], "polish").converged


def test_ctrl_c_leaves_the_strengths_that_are_done(monkeypatch):
    from fenchel.solvers.polish import Polish

    follow = Polish.follow

    def interrupted(self, problem, strengths):
        for k, found in enumerate(follow(self, problem, strengths)):
            if k == 3:
                raise KeyboardInterrupt
            yield found

    monkeypatch.setattr(Polish, "follow", interrupted)
    path = fenchel.path(pose("hinge"), STRENGTHS, "polish")
    assert len(path) == 3 and path.converged
