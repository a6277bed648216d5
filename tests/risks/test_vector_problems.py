"""Problems of several classes: labels, intercepts, certificates, and agreement with others."""

import dataclasses
import warnings

import numpy as np
import pytest
from catalogue import N_FEATURES, VECTOR_LOSSES, ids, n_scores, vector_problem_for
from inputs import Idle
from scipy import sparse
from scipy.optimize import minimize as scipy_minimize
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import fenchel
from fenchel import InvalidCertificate, InvalidData, losses
from fenchel.data.rows import DenseRows, SparseRows, WithOnes
from fenchel.engines import Serial, Threads
from fenchel.losses.scalar_rows import twin
from fenchel.regularizers import L2, ElasticNet
from fenchel.solvers.ls_bmrm import LineSearchBMRM
from fenchel.solvers.sublbfgs import SubLBFGS

EVERY = pytest.mark.parametrize("loss", VECTOR_LOSSES, ids=ids)
WITH_INTERCEPT = pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
X = np.random.default_rng(0).normal(size=(6, 2))
COLOURS = ["red", "blue", "red", "green", "blue", "red"]


def iris():
    return load_iris(return_X_y=True)


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def refused(y, *said, loss="multiclass_hinge", X=X, kind=InvalidData, **options):
    with pytest.raises(kind) as error:
        fenchel.problem(X, y, loss=loss, engine=Idle(), **options)
    for phrase in said:
        assert phrase in str(error.value)


# ---- the risk ------------------------------------------------------------------------------------


@EVERY
def test_the_risk_is_the_mean_of_the_formula(loss):
    problem = vector_problem_for(loss, weighted=True)
    risk, (shard,) = problem.risk, problem.risk.engine.shards
    K = n_scores(loss)
    W = np.random.default_rng(1).normal(size=(N_FEATURES, K))
    rows = shard.rows.matrix()
    Z = rows @ W
    point, share = risk.at(W.ravel()), shard.s / np.sum(shard.s)
    assert point.value == pytest.approx(share @ risk.loss.value(Z, shard.y), rel=1e-13)
    A = share[:, None] * risk.loss.slope(Z, shard.y)
    assert np.allclose(point.duals.reshape(-1, K), A, atol=1e-15)
    assert np.allclose(point.subgradient, (rows.T @ A).ravel(), atol=1e-14)
    w, b = risk.presented(point.w, point.intercept)
    assert np.array_equal(w, W.T) and w.shape == risk.shape
    assert np.array_equal(b, np.zeros(K))


@EVERY
def test_two_passes_an_evaluation_and_two_an_iteration(loss):
    risk = vector_problem_for(loss).risk
    point = risk.at(np.zeros(risk.n_parameters))
    assert risk.passes == 2
    new = point.towards(np.ones(risk.n_parameters)).at(0.5)
    assert new.subgradient is not None and risk.passes == 4


@pytest.mark.parametrize("K", [2, 3, 4, 6, 26, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_products_with_several_outputs_are_those_of_numpy(K, dtype, index):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(50, 30)).astype(dtype)
    dense[rng.uniform(size=dense.shape) < 0.6] = 0.0
    dense[7] = 0.0
    csr = sparse.csr_array(dense)
    csr.indices, start = csr.indices.astype(index), csr.indptr.astype(np.int64)
    W, A = rng.normal(size=(30, K)), rng.normal(size=(50, K))
    A[::3] = np.where(np.arange(K) < 2, A[::3], 0.0)  # a hinge's slopes
    A[::4] = 0.0
    kinds = [
        SparseRows(start, csr.indices, csr.data, 30),
        DenseRows(dense),
        DenseRows(np.asfortranarray(dense)),
        DenseRows(np.ascontiguousarray(np.repeat(dense, 2, axis=0))[::2]),
    ]
    for rows in kinds:
        assert np.allclose(rows.scores(W), dense.astype(float) @ W, rtol=1e-13, atol=1e-13)
        assert np.allclose(rows.adjoint(A), dense.T.astype(float) @ A, rtol=1e-13, atol=1e-13)
        some = rows.take(np.array([3, 7, 20]))
        assert np.allclose(some.scores(W), dense[[3, 7, 20]].astype(float) @ W, atol=1e-13)
        none = rows.take(np.empty(0, dtype=np.intp))
        for w, a in ((W, np.empty((0, K))), (W[:, 0].copy(), np.empty(0))):
            assert none.scores(w).shape == a.shape and np.array_equal(none.adjoint(a), 0 * w)
        ones = np.column_stack([dense.astype(float), np.ones(50)])
        more, w = WithOnes(rows), rng.normal(size=31)
        V = rng.normal(size=(31, K))
        assert np.allclose(more.scores(V), ones @ V, atol=1e-12)
        assert np.allclose(more.adjoint(A), ones.T @ A, atol=1e-12)
        assert np.allclose(more.take(np.arange(4)).scores(V), ones[:4] @ V, atol=1e-12)
        assert np.allclose(more.squares(None), np.sum(ones**2, axis=0))
        native, y = twin(losses.Logistic()), np.ones(50)
        value, g, z = more.evaluate(native, y, None, w)
        assert np.allclose(z, ones @ w) and value == pytest.approx(np.sum(np.logaddexp(0, -z)))
        assert np.allclose(g, ones.T @ losses.Logistic().slope(z, y))


@pytest.mark.parametrize("loss", [x for x in VECTOR_LOSSES if not x.differentiable], ids=ids)
def test_the_support_at_zero_is_the_steepest_subgradient(loss):
    """At w = 0 every row is tied; the supremum is the one-sided derivative of R."""
    problem = vector_problem_for(loss, n=40, weighted=True)
    rng, zero = np.random.default_rng(0), np.zeros(problem.risk.n_parameters)
    for w in (zero, rng.normal(size=len(zero))):
        point = problem.risk.at(w)
        for _ in range(5):
            p = rng.normal(size=len(zero))
            g, ray = point.steepest(p).subgradient, point.towards(p)
            assert g @ p == pytest.approx(ray.slope(0.0).slope, rel=1e-9)
            v = rng.normal(size=len(zero))
            assert problem.risk.at(v).value >= point.value + g @ (v - w) - 1e-9


# ---- solvers and certificates --------------------------------------------------------------------


@EVERY
@WITH_INTERCEPT
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_solvers_certify_the_same_minimum(loss, intercept, weighted):
    problem = vector_problem_for(loss, intercept=intercept, weighted=weighted, n=40)
    least = fenchel.minimize(problem, LineSearchBMRM(), gap=1e-8).raise_for_status()
    for solver, gap in (("bmrm", 1e-6), (LineSearchBMRM(), 1e-6), (SubLBFGS(), 1e-4)):
        if intercept and isinstance(solver, SubLBFGS):
            continue
        result = fenchel.minimize(problem, solver, gap=gap).raise_for_status()
        certificate = fenchel.verify(result, problem)
        assert certificate.source == "witness" and certificate.gap <= 1.1 * gap
        K = n_scores(loss)
        assert result.w.shape == (K, N_FEATURES) and result.intercept.shape == (K,)
        assert least.lower_bound <= result.objective * (1 + 1e-12)
        assert result.lower_bound <= least.objective * (1 + 1e-12)
        assert least.objective <= result.objective * (1 + 1e-8)
    assert intercept == bool(np.any(least.intercept))


@pytest.mark.parametrize("loss", [losses.MulticlassHinge(), losses.Softmax()], ids=ids)
@pytest.mark.parametrize(
    "regularizer",
    ["l1", "elastic_net", L2([0.5, 1, 2, 3]), L2([1, 0, 2, 0.7]), ElasticNet(0.2, [1, 0, 2, 1])],
    ids=ids,
)
def test_every_regulariser_applies_to_every_class(loss, regularizer):
    problem = vector_problem_for(loss, regularizer, intercept=True, n=40, strength=0.05)
    result = fenchel.minimize(problem, "bmrm", gap=1e-7).raise_for_status()
    fenchel.verify(result, problem)
    (shard,) = problem.risk.engine.shards

    def J(flat):
        W = flat.reshape(-1, 3)
        each = fenchel.regularizers.named(regularizer, {})
        penalty = sum(each.value(column) for column in W[:N_FEATURES].T)
        Z = shard.rows.matrix() @ W[:N_FEATURES] + W[N_FEATURES]
        return 0.05 * penalty + np.mean(loss.value(Z, shard.y))

    flat = np.vstack([result.w.T, result.intercept]).ravel()
    assert J(flat) == pytest.approx(result.objective, rel=1e-12)
    nearby = scipy_minimize(J, flat, method="Powell", options={"maxiter": 3})
    assert nearby.fun >= result.lower_bound - 1e-12


def test_more_columns_than_rows_keep_dual_variables():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 40)), np.arange(12) % 3
    for loss in ("multiclass_hinge", "softmax"):
        problem = fenchel.problem(X, y, loss=loss, strength=0.01)
        assert problem.risk.n_duals == 36 < problem.risk.n_parameters == 120
        result = fenchel.minimize(problem, "bmrm", gap=1e-6).raise_for_status()
        assert result.witness.alpha.shape == (36,) and not result.witness.tangencies
        fenchel.verify(result, problem)


@pytest.mark.parametrize("solver", ["bmrm", LineSearchBMRM()], ids=ids)
def test_results_do_not_depend_on_threads(solver):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 60)), rng.integers(0, 4, size=6000)
    results = []
    for engine in (Serial(), Threads(2), Threads(3)):
        problem = fenchel.problem(X, y, loss="multiclass_hinge", engine=engine)
        assert problem.risk.engine.n_shards > 1
        results.append(fenchel.minimize(problem, solver, max_iterations=8))
    for result in results[1:]:
        assert np.array_equal(result.w, results[0].w)
        assert result.lower_bound == results[0].lower_bound


@EVERY
@WITH_INTERCEPT
def test_an_interrupted_run_goes_on_from_its_checkpoint(loss, intercept, tmp_path):
    problem = vector_problem_for(loss, intercept=intercept, n=40)
    settings = {"gap": 1e-9, "max_iterations": 30}
    whole = fenchel.minimize(problem, "bmrm", checkpoint=tmp_path / "whole", **settings)
    for stop in (9, 20):
        fenchel.minimize(
            problem,
            "bmrm",
            checkpoint=tmp_path / "parts",
            callback=lambda record, stop=stop: record.iteration >= stop,
            **settings,
        )
    parts = fenchel.minimize(problem, "bmrm", checkpoint=tmp_path / "parts", **settings)
    assert np.array_equal(parts.w, whole.w) and parts.lower_bound == whole.lower_bound
    assert np.array_equal(parts.intercept, whole.intercept)
    fenchel.verify(parts, problem)


def test_the_fingerprint_knows_costs_classes_and_the_intercept():
    costs = np.ones((40, 40)) - np.eye(40)
    other = costs.copy()
    other[20, 21] = 2.0  # in the middle, which NumPy does not print
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40)
    prints = [
        fenchel.problem(X, labels, loss="multiclass_hinge", **options).risk.fingerprint()
        for labels, options in [
            (y, {}),
            (y, {"cost": costs}),
            (y, {"cost": other}),
            (y, {"intercept": True}),
            (y + 1, {}),
        ]
    ]
    assert len(set(prints)) == len(prints)


def test_a_witness_that_was_tampered_with_is_refused():
    problem = vector_problem_for(losses.MultilabelHinge(cost=1 - np.eye(3)))
    result = fenchel.minimize(problem, "bmrm", gap=1e-6)
    assert not problem.risk.facts.has_duals and result.witness.alpha is None
    fenchel.verify(result, problem)
    first = problem.risk.at(np.zeros(problem.risk.n_parameters)).witness  # most rows are tied
    assert len(first.tangencies[0].ties.rows) > 10
    claim = fenchel.Certificate(-np.inf, result.objective)
    result = dataclasses.replace(result, witness=first, certificate=claim)
    assert np.isfinite(fenchel.verify(result, problem).lower_bound)
    first.tangencies[0].ties.slopes[0] = [1.0, 1.0, -2.0]
    with pytest.raises(InvalidCertificate, match="a slope that its loss does not have"):
        fenchel.verify(result, problem)


def test_duals_outside_the_domain_are_refused():
    rng = np.random.default_rng(0)
    problem = fenchel.problem(
        rng.normal(size=(12, 40)), np.arange(12) % 3, loss="softmax", strength=0.1
    )
    result = fenchel.minimize(problem, "bmrm")
    result.witness.alpha[0] += 0.1
    with pytest.raises(InvalidCertificate, match="outside the conjugate's domain"):
        fenchel.verify(result, problem)


def test_a_loss_of_ones_own_needs_value_and_slope_only():
    class Squared(losses.VectorLoss):
        labels = losses.Labels.CLASSES
        nonnegative = True
        differentiable = True
        smoothness = 1.0

        def value(self, Z, y):
            return 0.5 * np.sum((Z - np.eye(Z.shape[1])[y]) ** 2, axis=1)

        def slope(self, Z, y):
            return Z - np.eye(Z.shape[1])[y]

    X, y = iris()
    problem = fenchel.problem(X, y, loss=Squared(), strength=0.1)
    result = fenchel.minimize(problem, gap=1e-8).raise_for_status()
    assert result.solver == "lbfgs"
    fenchel.verify(result, problem)
    W = np.linalg.solve(X.T @ X / 150 + 0.1 * np.eye(4), X.T @ np.eye(3)[y] / 150)
    assert np.allclose(result.w, W.T, atol=1e-4)


def test_a_start_has_the_shape_of_the_result():
    X, y = iris()
    problem = fenchel.problem(X, y, loss="softmax", strength=0.1, intercept=True)
    first = fenchel.minimize(problem, gap=1e-6)
    again = fenchel.minimize(problem, w0=first.w, max_iterations=1)
    assert np.array_equal(again.w, first.w)
    with pytest.raises(InvalidData, match="3 x 4 real numbers; got shape"):
        fenchel.minimize(problem, w0=first.w.T)


# ---- agreement with others -----------------------------------------------------------------------


@pytest.mark.parametrize("data", [iris, digits])
def test_the_multiclass_hinge_agrees_with_crammer_and_singer_of_liblinear(data):
    X, y = data()
    strength = 1e-2
    model = LinearSVC(
        multi_class="crammer_singer",
        C=1 / (strength * len(y)),
        fit_intercept=False,
        tol=1e-10,
        max_iter=2_000_000,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    problem = fenchel.problem(X, y, loss="multiclass_hinge", strength=strength)
    result = fenchel.minimize(problem, LineSearchBMRM(), gap=3e-7).raise_for_status()
    theirs = problem.objective(problem.risk.at(model.coef_.T.ravel()))
    assert result.objective == pytest.approx(theirs, rel=1e-6)
    assert result.lower_bound <= theirs


@pytest.mark.parametrize("data", [iris, digits])
@WITH_INTERCEPT
def test_softmax_agrees_with_multinomial_logistic_regression(data, intercept):
    X, y = data()
    strength = 1e-2
    model = LogisticRegression(
        C=1 / (strength * len(y)), fit_intercept=intercept, tol=1e-10, max_iter=100_000
    ).fit(X, y)
    problem = fenchel.problem(X, y, loss="softmax", strength=strength, intercept=intercept)
    result = fenchel.minimize(problem, gap=1e-6).raise_for_status()
    theirs = problem.objective(problem.risk.at(model.coef_.T.ravel()))
    assert result.objective == pytest.approx(theirs, rel=1e-6)
    assert result.lower_bound <= theirs
    assert (
        np.mean(problem.risk.classes[np.argmax(X @ result.w.T + result.intercept, axis=1)] == y)
        > 0.93
    )


@pytest.mark.parametrize("name", ["usps", "letter"])
def test_real_data_have_the_minimum_of_liblinear_and_of_multinomial_regression(real, name):
    X, y = (part[:1000] for part in real(name))
    X, strength = X.toarray() / (15.0 if name == "letter" else 1.0), 1e-1
    settings = {"C": 1 / (strength * len(y)), "fit_intercept": False, "max_iter": 10_000}
    for loss, peer in (
        ("multiclass_hinge", LinearSVC(multi_class="crammer_singer", tol=1e-4, **settings)),
        ("softmax", LogisticRegression(tol=1e-6, **settings)),
    ):
        problem = fenchel.problem(X, y, loss=loss, strength=strength)
        result = fenchel.minimize(problem, gap=3e-5).raise_for_status()
        theirs = problem.objective(problem.risk.at(peer.fit(X, y).coef_.T.ravel()))
        assert result.lower_bound <= theirs
        assert result.objective == pytest.approx(theirs, rel=1e-4)
        fenchel.verify(result, problem)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["usps", "letter"])
def test_bundle_methods_certify_the_intercepts_of_real_data(real, name):
    X, y = real(name)
    X = X.toarray() / 15.0 if name == "letter" else X.toarray()
    problem = fenchel.problem(X, y, loss="multiclass_hinge", strength=1e-2, intercept=True)
    results = [
        fenchel.minimize(problem, solver, gap=1e-3).raise_for_status()
        for solver in ("bmrm", LineSearchBMRM())
    ]
    assert results[0].objective == pytest.approx(results[1].objective, rel=1e-3)
    assert fenchel.verify(results[1], problem).gap <= 1.01e-3


# ---- labels --------------------------------------------------------------------------------------


def test_classes_are_sorted_and_recorded():
    problem = fenchel.problem(X, COLOURS, loss="softmax")
    assert problem.risk.classes.tolist() == ["blue", "green", "red"]
    assert problem.risk.engine.shards[0].y.tolist() == [2, 0, 2, 1, 0, 2]
    assert fenchel.problem(X, [3, 1, 3, 7, 1, 3], loss="softmax").risk.classes.tolist() == [1, 3, 7]
    assert fenchel.problem(X, [1, -1] * 3, loss="hinge").risk.classes is None


def test_names_of_classes_do_not_matter_to_the_minimum():
    codes = [2, 0, 2, 1, 0, 2]
    results = [
        fenchel.minimize(fenchel.problem(X, y, loss="multiclass_hinge", strength=0.1), gap=1e-8)
        for y in (COLOURS, codes, np.array(codes, dtype=float))
    ]
    for result in results:
        assert np.array_equal(result.w, results[0].w)


def test_sets_may_be_indicators_or_lists():
    indicator = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]])
    names = np.array(["a", "b", "c"])
    lists = [names[row == 1].tolist() for row in indicator]
    forms = [
        indicator,
        indicator.astype(bool),
        indicator.astype(float),
        sparse.csr_array(indicator),
    ]
    for y in [*forms, lists, [set(labels) for labels in lists], tuple(map(tuple, lists))]:
        problem = fenchel.problem(X, y, loss="multilabel_hinge")
        (shard,) = problem.risk.engine.shards
        assert np.array_equal(shard.y, indicator) and shard.y.dtype == np.uint8
        expected = ["a", "b", "c"] if isinstance(y, list | tuple) else [0, 1, 2]
        assert problem.risk.classes.tolist() == expected


def test_classes_that_make_no_sense_are_refused():
    refused(None, "y is missing", "classes")
    refused(["a"] * 6, "single class, 'a'")
    refused(COLOURS[:5], "X has 6 rows but y has 5")
    refused([1.0, 2.0, np.nan, 1.0, 2.0, 3.0], "y[2] = nan")
    refused([1, "a", None, 2, 3, 4], "cannot be compared")
    refused(np.ones((6, 2)), "one number or label for each row")


def test_sets_that_make_no_sense_are_refused():
    multilabel = {"loss": "multilabel_hinge"}
    good = [["a"], ["b"], [], ["a", "b"], ["a"], ["b"]]
    refused(None, "y is missing", "sets of labels", **multilabel)
    refused(np.ones((5, 3)), "X has 6 rows but y has 5", **multilabel)
    refused(good[:4], "X has 6 rows but y has 4", **multilabel)
    refused([*good[:3], "ab", *good[4:]], "y[3] is 'ab'", "['ab']", **multilabel)
    refused([*good[:5], 7], "y[5] is 7", **multilabel)
    refused([[]] * 6, "no label at all", **multilabel)
    refused([["a"]] * 6, "knows 1 label, 'a'", **multilabel)
    refused(np.ones((6, 1)), "knows 1 label, 0", **multilabel)
    bad = np.zeros((6, 3))
    bad[4, 1] = 2
    refused(bad, "y[4, 1] is", "2.0", **multilabel)
    bad[4, 1] = np.nan
    refused(bad, "y[4, 1] is", "nan", **multilabel)
    refused([[["a"]]] * 6, "collections themselves", **multilabel)
    refused(COLOURS, "y[0] is 'red'", **multilabel)


def test_softmax_has_no_intercept_for_a_class_without_weight():
    s = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    refused(COLOURS, "class 'green'", loss="softmax", intercept=True, sample_weight=s)
    fenchel.problem(X, COLOURS, loss="softmax", sample_weight=s)
    fenchel.problem(X, COLOURS, loss="multiclass_hinge", intercept=True, sample_weight=s)


def test_weights_of_the_regulariser_are_one_for_each_column():
    refused(COLOURS, "6 weights but X has 2 columns", regularizer=L2([1.0] * 6))
    penalty = L2([1.0, 2.0])
    problem = fenchel.problem(X, COLOURS, loss="softmax", regularizer=penalty, intercept=True)
    assert problem.regularizer.weights.tolist() == [1, 1, 1, 2, 2, 2]
    assert penalty.weights.tolist() == [1.0, 2.0]


def test_lbfgs_refuses_intercepts_that_are_not_profiled_out_and_says_who_can():
    class Own(losses.Softmax):
        """A subclass may have changed the formula."""

    problem = fenchel.problem(X, COLOURS, loss=Own(), intercept=True)
    with pytest.raises(fenchel.Incompatible, match=r"unpenalised coordinates.*bmrm"):
        fenchel.minimize(problem, "lbfgs")


@pytest.mark.parametrize(
    ("loss", "regularizer", "profiled"),
    [
        ("softmax", "l2", True),
        ("multiclass_hinge", "l2", False),
        ("multiclass_hinge", "l1", False),
        ("multiclass_hinge", "entropy", True),
    ],
)
def test_intercepts_of_hinges_stay_coordinates_where_the_regulariser_can_leave_some_free(
    loss, regularizer, profiled
):
    problem = fenchel.problem(X, COLOURS, loss=loss, regularizer=regularizer, intercept=True)
    assert problem.risk.facts.has_intercept == profiled
    assert problem.risk.n_offsets == (not profiled)
