"""The squared error of several targets, and hinges whose costs are factors."""

import numpy as np
import pytest
from inputs import Idle
from scipy.linalg import solve_sylvester
from sklearn.datasets import load_iris, load_linnerud
from sklearn.preprocessing import scale

import fenchel
from fenchel import InvalidData, losses

EXERCISES, BODY = (scale(part) for part in load_linnerud(return_X_y=True))
M = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
SINGULAR = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 3.0]])
IRIS, SPECIES = load_iris(return_X_y=True)
COSTS = [[0.0, 1.0, 3.0], [0.5, 0.0, 1.0], [1.5, 0.5, 0.0]]


def squared(y=BODY, **options):
    return fenchel.problem(EXERCISES, y, loss="multivariate_squared", strength=0.1, **options)


@pytest.mark.parametrize("matrix", [None, M, SINGULAR], ids=["identity", "definite", "singular"])
@pytest.mark.parametrize(
    ("solver", "intercept"), [("lbfgs", False), ("bmrm", False), ("bmrm", True), ("ls-bmrm", True)]
)
def test_the_minimum_is_that_of_a_sylvester_equation(matrix, intercept, solver):
    """strength W + C W M = X'Y M / n, of centred data where there are intercepts."""
    y = BODY + 3.0
    X, Y = EXERCISES, y - y.mean(axis=0) if intercept else y
    K = np.eye(3) if matrix is None else matrix
    C, n = X.T @ X / len(X), len(X)
    W = solve_sylvester(C, 0.1 * np.linalg.pinv(K), X.T @ Y @ K @ np.linalg.pinv(K) / n)
    W = W @ K @ np.linalg.pinv(K)
    r = X @ W - Y
    least = 0.05 * np.sum(W**2) + 0.5 * np.sum((r @ K) * r) / n
    problem = squared(y, M=matrix, intercept=intercept)
    result = fenchel.minimize(problem, solver, gap=1e-6).raise_for_status()
    assert fenchel.verify(result, problem).gap <= 1.1e-6
    assert result.lower_bound * (1 - 1e-9) <= least <= result.objective * (1 + 1e-9)
    assert result.w == pytest.approx(W.T, abs=2e-2)


def test_no_coupling_is_one_regression_for_each_target():
    together = fenchel.minimize(squared(intercept=True), gap=1e-9)
    for k, y in enumerate(BODY.T):
        alone = fenchel.problem(EXERCISES, y, loss="squared_error", strength=0.1, intercept=True)
        assert together.w[k] == pytest.approx(fenchel.minimize(alone, gap=1e-10).w, abs=1e-3)


def test_sparse_weights_and_sample_weights():
    s = np.linspace(0.0, 2.0, len(BODY))
    problem = squared(M=M, regularizer="l1", sample_weight=s)
    results = [fenchel.minimize(problem, solver, gap=1e-6) for solver in ("auto", "bmrm")]
    assert results[0].solver == "owlqn" and not results[0].w.all()
    assert results[0].objective == pytest.approx(results[1].objective, rel=2e-6)
    for result in results:
        fenchel.verify(result.raise_for_status(), problem)


def test_targets_may_be_of_any_real_type_and_layout():
    whole = np.round(10 * BODY)
    expected = fenchel.minimize(squared(whole), gap=1e-9).w
    frame = pytest.importorskip("pandas").DataFrame(whole)
    for y in (
        whole.tolist(),
        whole.astype(np.float32),
        whole.astype(int),
        np.asfortranarray(whole),
    ):
        assert np.array_equal(fenchel.minimize(squared(y), gap=1e-9).w, expected)
    assert np.array_equal(fenchel.minimize(squared(frame), gap=1e-9).w, expected)


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ([[1.0, 2.0]], "square matrix; got shape (1, 2)"),
        ([[1.0, 2.0], [0.0, 1.0]], "symmetric; M[0, 1] is 2.0"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive semidefinite; it has the eigenvalue -"),
        ([[np.nan]], "nan or inf"),
        ([["a"]], "matrix of numbers"),
        (np.eye(2), "M has shape (2, 2), but y has 3 columns"),
        (np.empty((0, 0)), "square matrix"),
    ],
)
def test_matrices_that_make_no_sense_are_refused(matrix, said):
    with pytest.raises(InvalidData) as error:
        squared(M=matrix, engine=Idle())
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (None, "y is missing"),
        (BODY[:, 0], "two dimensions, rows and targets; got shape (20,)"),
        (BODY[:5], "X has 20 rows but y has 5"),
        (np.where(BODY == BODY[3, 1], np.nan, BODY), "y[3, 1] is nan"),
        (1e200 * BODY, "y[0, 0] is"),
        ([["a", "b"]] * 20, "not numbers"),
        ([[1.0], [2.0, 3.0]], "rectangular"),
        (np.empty((20, 0)), "two dimensions"),
        (BODY.astype(complex), "not numbers on a line"),
    ],
)
def test_targets_that_make_no_sense_are_refused(y, said):
    with pytest.raises(InvalidData) as error:
        squared(y, engine=Idle())
    assert said in str(error.value)


def test_a_zero_matrix_asks_for_nothing():
    result = fenchel.minimize(squared(M=np.zeros((3, 3))), gap=1e-9)
    assert result.objective == 0 and not result.w.any()


def test_one_cost_makes_both_rescalings_one_hinge():
    Z, y = np.random.default_rng(0).normal(size=(50, 4)), np.arange(50) % 4
    slack = losses.MulticlassHinge(cost=2.5, rescaling="slack")
    assert slack.value(Z, y) == pytest.approx(2.5 * losses.MulticlassHinge().value(Z, y))
    assert slack.slope(Z, y) == pytest.approx(2.5 * losses.MulticlassHinge().slope(Z, y))


@pytest.mark.parametrize("intercept", [False, True])
def test_rescaled_slacks_are_certified_and_charge_by_cost(intercept):
    problem = fenchel.problem(
        IRIS,
        SPECIES,
        loss="multiclass_hinge",
        cost=COSTS,
        rescaling="slack",
        strength=1e-2,
        intercept=intercept,
    )
    for solver in ("bmrm", "ls-bmrm"):
        result = fenchel.minimize(problem, solver, gap=1e-4).raise_for_status()
        assert fenchel.verify(result, problem).gap <= 1.01e-4


def test_the_classifier_takes_the_rescaling():
    model = fenchel.Classifier(
        loss="multiclass_hinge", cost=COSTS, rescaling="slack", alpha=1e-2, fit_intercept=False
    ).fit(IRIS, SPECIES)
    assert model._loss().rescaling == "slack"
    other = fenchel.Classifier(
        loss="multiclass_hinge", cost=COSTS, alpha=1e-2, fit_intercept=False
    ).fit(IRIS, SPECIES)
    assert not np.allclose(model.coef_, other.coef_, atol=1e-2)


def test_a_cost_function_keeps_the_rescaling():
    loss = losses.MulticlassHinge(cost=lambda z, y: abs(z - y), rescaling="slack")
    sized = loss.for_classes(np.arange(3))
    assert sized.rescaling == "slack" and sized.cost.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    with pytest.raises(InvalidData, match="'margin' or 'slack'; got 'both'"):
        losses.MulticlassHinge(rescaling="both")


def test_a_matrix_of_low_rank_leaves_no_direction_in_which_the_loss_falls_for_ever():
    """Rounded, its smallest eigenvalue is negative: taken as it stands, J would have no minimum."""
    directions = np.linalg.qr(np.random.default_rng(11).normal(size=(3, 3)))[0]
    M = directions[:, :1] @ directions[:, :1].T * 3 + directions[:, 1:2] @ directions[:, 1:2].T
    loss = losses.MultivariateSquared(M)
    far = 1e12 * directions[:, 2:].T
    assert loss.factor.shape == (3, 2)
    assert loss.value(far, np.zeros((1, 3))) >= 0
    residuals = np.random.default_rng(12).normal(size=(5, 3))
    expected = np.sum((residuals @ loss.factor) ** 2, axis=1) / 2
    assert loss.value(residuals, np.zeros((5, 3))) == pytest.approx(expected, rel=1e-12)
