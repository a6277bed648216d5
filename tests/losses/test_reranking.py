"""Lists of candidates: the losses, and Reranker."""

import gc

import numpy as np
import pytest
from scipy.special import logsumexp

import fenchel
from fenchel import losses
from fenchel.risks.multivariate import MultivariatePoint

RNG = np.random.default_rng(0)
LISTS = np.repeat(np.arange(30), RNG.integers(1, 6, 30))
X = RNG.normal(size=(len(LISTS), 4))
GOOD = X @ [1.0, -1.0, 0.5, 0.0] + 0.2 * RNG.normal(size=len(X))
Y = np.array([float(g == GOOD[LISTS == i].max()) for g, i in zip(GOOD, LISTS, strict=True)])


def test_the_likelihood_is_that_of_the_gold_candidate():
    z = RNG.normal(size=len(X))
    each = [logsumexp(z[LISTS == i]) - z[(LISTS == i) & (Y > 0)].mean() for i in range(30)]
    found = losses.RerankLikelihood().value(z, Y, groups=LISTS)
    assert found == pytest.approx(np.mean(each))
    assert np.isfinite(losses.RerankLikelihood().value(1e4 * z, Y, groups=LISTS))


def test_slopes_of_a_list_cancel_to_the_last_digit_of_the_smallest():
    """A cut whose slopes did not would follow a shift of all scores, and be false by its size."""
    z, y = np.array([700.0, 665.0, 664.0, 3.0, 40.0]), np.array([1.0, 0.0, 0.0, 1.0, 1.0])
    problem = fenchel.problem(
        np.eye(5), y, loss="rerank_likelihood", strength=1.0, groups=np.array([0, 0, 0, 1, 1])
    )
    slopes = problem.risk.at(z).subgradient
    for mine in (slopes[:3], slopes[3:]):
        assert abs(np.sum(mine)) <= 1e-15 * np.max(np.abs(mine))
    others = np.exp(z[1:3] - 700.0)
    np.testing.assert_allclose(slopes[:3], 0.5 * np.r_[-np.sum(others), others], rtol=1e-12)


def test_the_margin_is_that_of_the_worst_candidate():
    z, quality = RNG.normal(size=len(X)), RNG.integers(0, 4, len(X)) + 0.5
    each = []
    for i in range(30):
        mine, q = z[LISTS == i], quality[LISTS == i]
        each.append(np.max(q.max() - q + mine) - mine[q == q.max()].mean())
    assert losses.RerankMargin().value(z, quality, groups=LISTS) == pytest.approx(np.mean(each))


@pytest.mark.parametrize("loss", [losses.RerankLikelihood(), losses.RerankMargin()])
def test_slopes_support_the_loss_and_shifts_change_nothing(loss):
    for scale in (0.1, 3.0, 1e4):
        z = scale * RNG.normal(size=len(X))
        value, g = loss.value(z, Y, groups=LISTS), loss.slope(z, Y, groups=LISTS)
        assert value >= 0
        assert loss.value(z + 7.0, Y, groups=LISTS) == pytest.approx(value, rel=1e-9)
        for _ in range(20):
            v = z + scale * RNG.normal(size=len(X)) * 10 ** RNG.uniform(-3, 1)
            assert loss.value(v, Y, groups=LISTS) >= value + g @ (v - z) - 1e-12 * scale * len(X)


@pytest.mark.parametrize("loss", [losses.RerankLikelihood(), losses.RerankMargin()])
@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
def test_minima_are_certified_and_verified(loss, regularizer):
    problem = fenchel.problem(
        X.round(), Y, loss=loss, groups=LISTS, regularizer=regularizer, strength=0.02
    )
    bmrm, auto = (fenchel.minimize(problem, solver, gap=1e-5) for solver in ("bmrm", "auto"))
    for result in (bmrm, auto):
        assert fenchel.verify(result, problem).gap <= 1.01e-5
    assert auto.lower_bound <= bmrm.objective and bmrm.lower_bound <= auto.objective


@pytest.mark.parametrize("loss", ["rerank_likelihood", "rerank_margin"])
def test_a_weight_counts_a_list_so_often(loss, monkeypatch):
    each = RNG.integers(0, 3, 30)
    rows = np.concatenate([np.tile(np.flatnonzero(LISTS == i), each[i]) for i in range(30)])
    lists = np.repeat(np.arange(each.sum()), np.repeat(np.bincount(LISTS), each))
    repeated = fenchel.problem(X[rows], Y[rows], loss=loss, groups=lists)
    monkeypatch.setattr("fenchel.data.shards.NUMBERS_PER_SHARD", 64)
    weighted = fenchel.problem(
        X, Y, loss=loss, groups=LISTS, sample_weight=each[LISTS].astype(float)
    )
    assert len(weighted.risk.engine.shards) > 1
    for w in RNG.normal(size=(3, 4)):
        at, exact = weighted.risk.at(w), repeated.risk.at(w)
        assert at.value == pytest.approx(exact.value)
        np.testing.assert_allclose(at.subgradient, exact.subgradient, atol=1e-12)
    result = fenchel.minimize(weighted, gap=1e-4)
    assert fenchel.verify(result, weighted).gap <= 1.01e-4


def test_candidates_of_a_list_have_one_weight():
    with pytest.raises(fenchel.InvalidData, match=r"row 2 .* number"):
        s = np.ones(len(X))
        s[2] = 0.5
        fenchel.Reranker().fit(X, Y, groups=np.zeros(len(X)), sample_weight=s)


@pytest.mark.slow
def test_points_are_freed_as_soon_as_they_are_left():
    """Else arrays as long as w pile up between two rounds of the garbage collector."""
    alive = []

    def count(record):
        alive.append(sum(isinstance(each, MultivariatePoint) for each in gc.get_objects()))

    problem = fenchel.problem(X, Y, loss="rerank_likelihood", groups=LISTS, strength=1e-3)
    gc.collect()
    gc.disable()
    try:
        fenchel.minimize(problem, "lbfgs", gap=1e-9, callback=count)
    finally:
        gc.enable()
    assert len(alive) > 5 and max(alive) <= 3


def test_a_list_without_gold_is_refused_with_its_number():
    y = Y.copy()
    y[LISTS == 7] = 0
    with pytest.raises(
        fenchel.InvalidData, match=f"list 7, which begins in row {np.argmax(LISTS == 7)}"
    ):
        fenchel.problem(X, y, loss="rerank_likelihood", groups=LISTS)


@pytest.mark.parametrize("loss", ["rerank_likelihood", "rerank_margin"])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_reranker_finds_the_right_candidates(loss, penalty, tmp_path):
    model = fenchel.Reranker(loss=loss, penalty=penalty, alpha=1e-3).fit(X, Y, groups=LISTS)
    assert model.gap_ <= model.tol
    assert model.score(X, Y, groups=LISTS) > 0.8
    chosen = model.choose(X, groups=LISTS)
    assert LISTS[chosen].tolist() == list(range(30))
    assert all(
        model.predict(X)[row] == model.predict(X)[LISTS == i].max() for i, row in enumerate(chosen)
    )
    fenchel.save(model, tmp_path / "m")
    assert np.array_equal(fenchel.load(tmp_path / "m").choose(X, groups=LISTS), chosen)


def test_lists_without_gold_do_not_count():
    model = fenchel.Reranker(alpha=1e-3).fit(X, Y, groups=LISTS)
    model.coef_ = np.array([1.0, 0.0, 0.0, 0.0])  # right sometimes
    y = Y.copy()
    y[LISTS >= 20] = 0
    with_gold = LISTS < 20
    expected = model.score(X[with_gold], Y[with_gold], groups=LISTS[with_gold])
    assert 0 < expected < 1 and model.score(X, y, groups=LISTS) == expected
    with pytest.raises(fenchel.InvalidData, match="no list has a gold candidate"):
        model.score(X, np.zeros(len(X)), groups=LISTS)


def test_messages_name_what_is_wrong():
    model = fenchel.Reranker(alpha=1e-3).fit(X, Y, groups=LISTS)
    with pytest.raises(fenchel.InvalidData, match=f"X has {len(X)} rows but y has 5 entries"):
        model.score(X, Y[:5], groups=LISTS)
    with pytest.raises(fenchel.InvalidData, match="Reranker compares the rows of a list"):
        model.score(X, Y)
    with pytest.raises(fenchel.InvalidData, match="row 0 is 4 long, row 3 is 2 long"):
        model.fit([*X[:3].tolist(), [1.0, 2.0]], Y[:4], groups=LISTS[:4])


def test_the_command_line_reranks(run):
    lines = [
        f"{int(y)} qid:{i + 1} " + " ".join(f"{k + 1}:{v:.6f}" for k, v in enumerate(row))
        for y, i, row in zip(Y, LISTS, X, strict=True)
    ]
    with open("lists.svm", "w") as file:
        file.write("\n".join(lines) + "\n")
    assert (
        run("train", "lists.svm", "-o", "m", "--loss", "rerank_margin", "--strength", 1e-3).code
        == 0
    )
    assert "reciprocal" in run("evaluate", "m", "lists.svm").out
