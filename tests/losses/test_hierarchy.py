"""Taxonomies in all their forms, the losses of their leaves, and the classifier on top of them."""

import numpy as np
import pytest
from catalogue import ancestry, class_costs, class_scores
from hypothesis import given
from hypothesis import strategies as st
from inputs import Idle
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

import fenchel
from fenchel import InvalidData, losses
from fenchel.losses import Taxonomy
from fenchel.losses.binding import bound
from fenchel.losses.taxonomy import taxonomy_of

NESTED = {"animal": {"pet": ["dog", "cat"], "emu": None}, "plant": ["fern"]}
NODES = ("animal", "pet", "dog", "cat", "emu", "plant", "fern")
PARENTS = (-1, 0, 1, 1, 0, -1, 5)
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = StandardScaler().fit_transform(IRIS)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
KINDS = {"later": ["versicolor", "virginica"], "setosa": None}
BOTH = pytest.mark.parametrize("loss", ["hierarchical_hinge", "hierarchical_softmax"])


@st.composite
def trees(draw):
    """A taxonomy of up to nine nodes, numbered, parents first."""
    n = draw(st.integers(2, 9))
    parents = [draw(st.integers(-1, k - 1)) for k in range(n)]
    if len(set(range(n)) - set(parents)) < 2:
        parents.append(-1)
    return Taxonomy(tuple(range(len(parents))), tuple(parents))


# ---- forms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given_as",
    [
        NESTED,
        {"animal": {"pet": {"dog": {}, "cat": {}}, "emu": {}}, "plant": {"fern": {}}},
        {k: "life" if p < 0 else NODES[p] for k, p in zip(NODES, PARENTS, strict=True)},
        {"life": None}
        | {k: "life" if p < 0 else NODES[p] for k, p in zip(NODES, PARENTS, strict=True)},
        [
            ("animal", "pet", "dog"),
            ("animal", "pet", "cat"),
            ("animal", "emu"),
            ["plant", "fern"],
        ],
        Taxonomy(NODES, PARENTS),
    ],
    ids=["lists", "dicts", "parents", "root", "paths", "taxonomy"],
)
def test_a_taxonomy_is_the_same_in_every_form(given_as):
    tree = taxonomy_of(given_as)
    assert (tree.nodes, tree.parents) == (NODES, PARENTS)
    assert tree.classes.tolist() == ["cat", "dog", "emu", "fern"]
    assert tree.distances.tolist() == [[0, 2, 3, 5], [2, 0, 3, 5], [3, 3, 0, 4], [5, 5, 4, 0]]


def test_an_array_of_parents_numbers_its_nodes():
    for parents in ([4, 4, 3, -1, 3], np.array([4, 4, 3, -1, 3], dtype=np.int32)):
        tree = taxonomy_of(parents)
        assert (tree.nodes, tree.parents) == ((2, 4, 0, 1), (-1, -1, 1, 1))
        assert tree.classes.tolist() == [0, 1, 2]


def looped():
    tree = {"a": {}}
    tree["a"]["b"] = tree
    return tree


@pytest.mark.parametrize(
    ("taxonomy", "said"),
    [
        ({"a": "b", "b": "c", "c": "a"}, "cyclic: 'a' is below 'b' is below 'c' is below 'a'"),
        ({"a": "r", "d": "r", "b": "c", "c": "b"}, "cyclic: 'b' is below 'c' is below 'b'"),
        ({"a": "a", "b": "r", "c": "r"}, "cyclic: 'a' is below 'a'"),
        ([1, 0, -1], "cyclic: 0 is below 1 is below 0"),
        ([-1, -1, 0, 0], "2 roots, 0 and 1"),
        ({"a": "r", "b": "r", "c": "s"}, "2 roots, 'r' and 's'"),
        ({"a": None, "b": None}, "2 roots, 'a' and 'b'"),
        ([1, 7, -1], "between -1, for the root, and 2"),
        ([("a", "b"), ("c", "b"), ("d",)], "'b' has two parents in the taxonomy, 'a' and 'c'"),
        ([("a", "b"), ("a",), ("c",)], "ends at 'a', which is no leaf"),
        ([("a",), ()], "is empty"),
        ([("a", "b", "a"), ("c",)], "ends at 'a', which is no leaf"),
        ([("a", "a", "b"), ("c",)], "two parents in the taxonomy, the root and 'a'"),
        (looped(), "'a' has two parents in the taxonomy, the root and 'b'"),
        ({"a": {"b": ["c"]}}, "has 1 leaf"),
        ({"a": {"b": [["c"]]}}, "cannot be one"),
        ([("a", 1), ("a", "b")], "cannot be compared"),
        ([], "has 0 leaf"),
        ({}, "has 0 leaf"),
        ("ab", "a taxonomy is a dict"),
        (3, "a taxonomy is a dict"),
        ([0.5, -1.0], "a taxonomy is a dict"),
    ],
)
def test_taxonomies_that_make_no_sense_are_refused(taxonomy, said):
    with pytest.raises(InvalidData) as error:
        losses.HierarchicalHinge(taxonomy=taxonomy)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("later", "y[2] is 'later', an inner node of the taxonomy"),
        ("virginicas", "y[2] is 'virginicas', which is no leaf of the taxonomy; did you mean"),
        ("tulip", "y[2] is 'tulip', which is no leaf of the taxonomy"),
    ],
)
def test_labels_that_are_no_leaves_are_refused_before_any_work(label, said):
    y = NAMES.astype(object)
    y[2] = label
    with pytest.raises(InvalidData) as error:
        fenchel.problem(IRIS, y, loss="hierarchical_softmax", taxonomy=KINDS, engine=Idle())
    assert said in str(error.value)
    with pytest.raises(InvalidData, match=r"which is no leaf|an inner node"):
        fenchel.HierarchicalClassifier(taxonomy=KINDS).fit(IRIS, y)


def test_costs_that_make_no_sense_are_refused():
    for cost, said in (("tree", "'distance', 'relative'"), (-1, ">= 0"), ([[0, 1]], "square")):
        with pytest.raises(InvalidData, match=said):
            losses.HierarchicalHinge(taxonomy=KINDS, cost=cost)
    with pytest.raises(InvalidData, match=r"shape \(2, 2\), but there are 3 classes"):
        fenchel.problem(IRIS, NAMES, loss="hierarchical_hinge", taxonomy=KINDS, cost=1 - np.eye(2))


# ---- losses --------------------------------------------------------------------------------------


@given(trees(), st.integers(0, 10_000), st.sampled_from(["distance", "relative"]))
def test_losses_are_those_of_an_enumeration_of_leaves(tree, seed, cost):
    """On whole numbers, so that many leaves tie; in Python and in C++."""
    rng, L = np.random.default_rng(seed), len(tree.leaf)
    Z, y = rng.integers(-2, 3, size=(6, len(tree.nodes))).astype(float), rng.integers(0, L, size=6)
    hinge, soft = losses.HierarchicalHinge(tree, cost), losses.HierarchicalSoftmax(tree)
    F = np.array([class_scores(hinge, z) for z in Z])
    Delta, right = class_costs(hinge, L), F[np.arange(6), y]
    assert np.array_equal(tree.distances, class_costs(losses.HierarchicalHinge(tree), L))
    for loss, expected in (
        (hinge, np.max(F + Delta[:, y].T, axis=1) - right),
        (soft, logsumexp(F, axis=1) - right),
    ):
        assert loss.value(Z, y) == pytest.approx(expected, rel=1e-12, abs=1e-12)
        total, A = bound(loss, y).slopes(Z)
        assert total == pytest.approx(np.sum(expected), rel=1e-12, abs=1e-12)
        assert A == pytest.approx(loss.slope(Z, y), rel=1e-12)
        for V in rng.normal(size=(5, *Z.shape)):
            tangent = expected + np.sum(A * (V - Z), axis=1)
            assert np.all(loss.value(V, y) >= tangent - 1e-12)
        fenchel_young = loss.value(Z, y) + loss.conjugate(A, y)
        assert fenchel_young == pytest.approx(np.sum(A * Z, axis=1), abs=1e-11)
        assert np.max(np.linalg.norm(A, axis=1)) <= loss.largest_slope(y) * (1 + 1e-12)


@given(trees(), st.integers(0, 10_000))
def test_the_conjugate_is_infinite_where_inner_nodes_are_not_sums(tree, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(tree.leaf), size=1)
    inner = sorted(set(tree.parents) - {-1})
    for loss in (losses.HierarchicalHinge(tree), losses.HierarchicalSoftmax(tree)):
        alpha = loss.slope(rng.normal(size=(1, len(tree.nodes))), y)
        assert np.isfinite(loss.conjugate(alpha, y)).all()
        for k in inner:
            off = alpha.copy()
            off[0, k] += 1e-6
            assert np.isinf(loss.conjugate(off, y)).all()
            assert loss.feasible(off, y) == pytest.approx(alpha, abs=1e-15)


def test_a_node_above_the_right_leaf_keeps_the_digits_of_a_tiny_slope():
    tree = Taxonomy(("top", "a", "b", "c"), (-1, 0, 0, -1))
    Z, y, loss = np.array([[60.0, 0.0, 0.0, 0.0]]), np.array([0]), losses.HierarchicalSoftmax(tree)
    for slope in (loss.slope(Z, y), bound(loss, y).slopes(Z)[1]):
        assert slope[0, 0] == pytest.approx(-np.exp(-60) / 2, rel=1e-12)  # not -0.5 + 0.5
        assert slope[0, 3] == pytest.approx(np.exp(-60) / 2, rel=1e-12)


@given(trees())
def test_the_smoothness_bounds_the_curvature(tree):
    """The Hessian P'(diag p - pp')P, at its worst with all probability on two far leaves."""
    loss = losses.HierarchicalSoftmax(tree)
    i, j = np.unravel_index(int(np.argmax(tree.distances)), tree.distances.shape)
    u = tree.paths[i] - tree.paths[j]
    p = np.zeros(len(tree.leaf))
    p[[i, j]] = 0.5
    H = tree.paths.T @ (np.diag(p) - np.outer(p, p)) @ tree.paths
    assert u @ H @ u / (u @ u) == pytest.approx(loss.smoothness)
    assert np.linalg.norm(H, ord=2) <= loss.smoothness * (1 + 1e-12)


@BOTH
def test_a_flat_taxonomy_is_a_multiclass_loss(loss):
    flat = fenchel.problem(IRIS, NAMES, loss=loss, strength=0.01, **_unit(loss))
    plain = {"hierarchical_hinge": "multiclass_hinge", "hierarchical_softmax": "softmax"}[loss]
    other = fenchel.problem(IRIS, NAMES, loss=plain, strength=0.01)
    # Kernels of several scores take no taxonomies: these solvers see the same scores and slopes.
    solver = "lbfgs" if plain == "softmax" else "ls-bmrm"
    results = [fenchel.minimize(problem, solver, gap=1e-7) for problem in (flat, other)]
    assert results[0].w == pytest.approx(results[1].w, rel=1e-9)
    assert results[0].lower_bound == pytest.approx(results[1].lower_bound, rel=1e-12)


def _unit(loss):
    return {"cost": "relative"} if loss == "hierarchical_hinge" else {}


def test_a_cost_function_sees_the_leaves():
    problem = fenchel.problem(
        IRIS,
        NAMES,
        loss="hierarchical_hinge",
        taxonomy=KINDS,
        cost=lambda z, y: float(z != y) * (len(z) + (z < y)),
    )
    assert problem.risk.loss.cost.tolist() == [[0, 7, 7], [10, 0, 11], [9, 9, 0]]


@BOTH
@pytest.mark.parametrize("solver", ["bmrm", "ls-bmrm", "auto"])
@pytest.mark.parametrize("regularizer", ["l2", "l1"])
def test_every_solver_certifies_a_hierarchy(loss, solver, regularizer):
    options = {"strength": 1e-2, "taxonomy": KINDS, "regularizer": regularizer}
    problem = fenchel.problem(IRIS, NAMES, loss=loss, intercept=True, **options)
    result = fenchel.minimize(problem, solver, gap=1e-4).raise_for_status()
    assert fenchel.verify(result, problem).gap <= 1.01e-4
    assert result.w.shape == (4, 4) and problem.risk.classes.tolist()[0] == "later"
    tree = problem.risk.loss.tree
    paths = [ancestry(tree, leaf) for leaf in range(3)]
    nodes = IRIS @ result.w.T + result.intercept
    F = np.stack([nodes[:, path].sum(axis=1) for path in paths], axis=1)
    assert np.mean(tree.classes[F.argmax(axis=1)] == NAMES) > 0.85


# ---- the classifier ------------------------------------------------------------------------------


@BOTH
def test_the_classifier_predicts_leaves_and_says_what_the_scores_are(loss):
    model = fenchel.HierarchicalClassifier(taxonomy=KINDS, loss=loss, alpha=1e-2).fit(IRIS, NAMES)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.nodes_.tolist() == ["later", "versicolor", "virginica", "setosa"]
    nodes = IRIS @ model.coef_.T + model.intercept_
    scores = np.stack([nodes[:, 3], nodes[:, 0] + nodes[:, 1], nodes[:, 0] + nodes[:, 2]], axis=1)
    assert model.decision_function(IRIS) == pytest.approx(scores)
    assert model.predict(IRIS).tolist() == model.classes_[scores.argmax(axis=1)].tolist()
    assert model.score(IRIS, NAMES) == np.mean(model.predict(IRIS) == NAMES) > 0.85
    problem = fenchel.problem(IRIS, NAMES, loss=loss, taxonomy=KINDS, strength=1e-2, intercept=True)
    fenchel.verify(model.result_, problem)
    if loss == "hierarchical_softmax":
        assert model.predict_proba(IRIS) == pytest.approx(softmax(scores, axis=1))
    else:
        assert not hasattr(model, "predict_proba")


def test_unknown_labels_are_refused_when_scoring():
    model = fenchel.HierarchicalClassifier(taxonomy=KINDS, alpha=1e-1).fit(IRIS, NAMES)
    with pytest.raises(InvalidData, match=r"y\[0\] is 'tulip', which is no leaf"):
        model.score(IRIS, np.where(NAMES == "setosa", "tulip", NAMES))
    with pytest.raises(InvalidData, match="an inner node"):
        model.score(IRIS, np.where(NAMES == "setosa", NAMES, "later"))


def test_leaves_without_rows_are_scored_but_have_no_intercept_of_a_softmax():
    tree = {"later": ["versicolor", "virginica"], "early": ["setosa", "reticulata"]}
    model = fenchel.HierarchicalClassifier(taxonomy=tree, alpha=1e-2).fit(IRIS, NAMES)
    assert model.decision_function(IRIS).shape == (150, 4)
    soft = clone(model).set_params(loss="hierarchical_softmax")
    with pytest.raises(InvalidData, match="no row of class 'reticulata'"):
        soft.fit(IRIS, NAMES)
    soft.set_params(fit_intercept=False).fit(IRIS, NAMES)
    assert soft.predict_proba(IRIS).shape == (150, 4)


def test_a_warm_start_goes_on_from_the_nodes():
    model = fenchel.HierarchicalClassifier(
        taxonomy=KINDS, alpha=1e-2, warm_start=True, fit_intercept=False
    ).fit(IRIS, NAMES)
    first = model.n_iter_
    assert model.fit(IRIS, NAMES).n_iter_ < first
    model.set_params(taxonomy=None).fit(IRIS, NAMES)  # other nodes, other start
    assert model.coef_.shape == (3, 4)


def test_every_form_of_a_taxonomy_can_be_saved(tmp_path):
    forms = [
        (KINDS, NAMES),
        ([("later", "versicolor"), ("later", "virginica"), ("setosa",)], NAMES),
        ([4, 4, 3, -1, 3], SPECIES),
        ({0: "r", 1: "in", 2: "in", "in": "r"}, SPECIES),
    ]
    for taxonomy, y in forms:
        model = fenchel.HierarchicalClassifier(taxonomy=taxonomy, alpha=1e-1).fit(IRIS, y)
        fenchel.save(model, tmp_path / "m")
        loaded = fenchel.load(tmp_path / "m")
        assert np.array_equal(loaded.decision_function(IRIS), model.decision_function(IRIS))
        assert np.array_equal(loaded.predict(IRIS), model.predict(IRIS))
        assert loaded.taxonomy == model.taxonomy_ == loaded.taxonomy_
        assert loaded.nodes_.tolist() == model.nodes_.tolist()
