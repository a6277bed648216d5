"""Kernels by low rank, and text by its k-mers: the bounds they claim, the machines they make."""

import doctest
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_circles, make_moons
from sklearn.gaussian_process.kernels import Matern
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import fenchel
from fenchel import Classifier, IncompleteCholesky, Spectrum
from fenchel.features import cholesky, spectrum

KERNELS = {
    "rbf": lambda A, B=None: rbf_kernel(A, B, gamma=0.3),
    "polynomial": lambda A, B=None: polynomial_kernel(A, B, gamma=0.3, degree=2, coef0=0.5),
    "linear": linear_kernel,
    "written": lambda A, B=None: Matern(nu=1.5)(A, B),
}
EVERY = pytest.mark.parametrize("name", KERNELS)
PIVOTS = pytest.mark.parametrize("pivots", ["random", "greedy"])


def features_of(name, **settings):
    kernel = KERNELS[name] if name == "written" else name
    return IncompleteCholesky(kernel, gamma=0.3, degree=2, coef0=0.5, **settings)


def rows(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@parametrize_with_checks(
    [
        IncompleteCholesky(),
        IncompleteCholesky(pivots="greedy", rank=3),
        IncompleteCholesky("polynomial", degree=2),
        IncompleteCholesky("linear"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("module", [cholesky, spectrum], ids=lambda m: m.__name__)
def test_the_examples_in_the_docstrings_are_true(module):
    failed, tried = doctest.testmod(module)
    assert tried >= 5 and failed == 0


# The factorisation.


@EVERY
@PIVOTS
@pytest.mark.parametrize("rank", [1, 5, 20])
def test_the_rest_is_positive_semidefinite_with_the_trace_it_claims(name, pivots, rank):
    X = rows()
    model = features_of(name, rank=rank, pivots=pivots, tol=0.0)
    Phi = model.fit_transform(X)
    E = KERNELS[name](X) - Phi @ Phi.T
    assert model.residual_ == pytest.approx(np.trace(E), abs=1e-10)
    assert np.linalg.eigvalsh(E).min() >= -1e-10
    assert np.abs(E).max() <= model.residual_ + 1e-10
    assert np.linalg.norm(E[model.landmark_indices_]) <= 1e-10  # nothing is left of a landmark
    assert model.rank_ == Phi.shape[1] <= rank


@EVERY
@PIVOTS
def test_it_stops_as_soon_as_the_tolerance_is_met(name, pivots):
    X = rows()
    trace = np.trace(KERNELS[name](X))
    model = features_of(name, tol=0.05, rank=60, pivots=pivots).fit(X)
    assert model.residual_ <= 0.05 * trace
    short = features_of(name, tol=0.05, rank=model.rank_ - 1, pivots=pivots).fit(X)
    assert short.residual_ > 0.05 * trace


def test_the_rank_of_k_is_found():
    X = rows(30, 3)
    assert IncompleteCholesky("linear", rank=30, tol=0.0).fit(X).rank_ == 3
    assert IncompleteCholesky(rank=90, tol=0.0, gamma=5.0).fit(np.repeat(X, 3, axis=0)).rank_ == 30


@EVERY
def test_new_rows_are_projected_on_the_landmarks(name):
    X, new = rows(), rows(25, seed=1)
    model = features_of(name, rank=12).fit(X)
    landmarks = X[model.landmark_indices_]
    K = KERNELS[name]
    wanted = K(new, landmarks) @ np.linalg.pinv(K(landmarks)) @ K(landmarks, X)
    np.testing.assert_allclose(model.transform(new) @ model.transform(X).T, wanted, atol=1e-8)
    np.testing.assert_allclose(model.transform(X), model.fit_transform(X), atol=1e-10)


@pytest.mark.parametrize("name", ["rbf", "polynomial", "linear"])
def test_sparse_rows_give_the_same_features(name):
    X = np.where(rows() > 0.5, rows(), 0.0)
    dense, thin = features_of(name, rank=8), features_of(name, rank=8)
    Phi = dense.fit_transform(X)
    np.testing.assert_allclose(thin.fit_transform(sparse.csr_array(X)), Phi, atol=1e-12)
    assert sparse.issparse(thin.landmarks_)
    np.testing.assert_allclose(thin.transform(sparse.csc_array(X)), Phi, atol=1e-10)


def test_random_pivots_are_better_than_uniform_ones_where_rows_cluster():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(500, 2)) * 0.01, 3 * rng.normal(size=(40, 2))])
    settings = {"gamma": 1.0, "random_state": 0}
    ours = IncompleteCholesky(rank=30, **settings).fit(X).residual_
    theirs = len(X) - np.sum(Nystroem(n_components=30, **settings).fit_transform(X) ** 2)
    assert ours < 0.7 * theirs


def test_the_same_seed_gives_the_same_bits_after_pickling():
    X = rows()
    model = IncompleteCholesky(rank=10).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(IncompleteCholesky(rank=10).fit(X).factor_, model.factor_)
    assert model.get_feature_names_out()[-1] == "incompletecholesky9"


# Kernel machines.


def test_a_gaussian_kernel_bends_the_line():
    X, y = make_circles(200, noise=0.1, factor=0.4, random_state=0)
    machine = make_pipeline(IncompleteCholesky(gamma=1.0, rank=40), Classifier(alpha=1e-3))
    assert machine.fit(X, y).score(X, y) > 0.97
    assert Classifier(alpha=1e-3).fit(X, y).score(X, y) < 0.7


def test_at_full_rank_it_is_the_support_vector_machine():
    X, y = make_moons(80, noise=0.2, random_state=0)
    new, C = rows(50, 2, seed=3), 2.0
    theirs = SVC(kernel="rbf", gamma=2.0, C=C, tol=1e-8).fit(X, y)
    ours = make_pipeline(
        IncompleteCholesky(gamma=2.0, rank=80, tol=0.0),
        Classifier(alpha=1 / (C * len(y)), tol=1e-8),
    ).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(new), theirs.decision_function(new), atol=1e-3
    )


@pytest.mark.parametrize("rank", [5, 20])
def test_the_objective_of_the_full_machine_lies_within_the_bounds_of_the_docs(rank):
    X, y = make_moons(80, noise=0.2, random_state=0)
    strength = 0.01

    def fitted(rank):
        features = IncompleteCholesky(gamma=2.0, rank=rank, tol=0.0)
        return features, Classifier(alpha=strength, tol=1e-7).fit(features.fit_transform(X), y)

    full, (features, low) = fitted(80)[1], fitted(rank)
    slack = features.residual_ / len(y) / (2 * strength)  # the hinge has slopes of at most 1
    assert full.lower_bound_ <= low.objective_
    assert low.lower_bound_ - slack <= full.objective_


# Text.

TEXT = st.lists(st.text(alphabet="ab c", max_size=12), min_size=2, max_size=6)


@given(TEXT, st.integers(1, 3))
def test_products_are_the_k_mers_shared(texts, k):
    texts = ["abab", *texts]
    Phi = Spectrum(k, normalize=False).fit_transform(texts)
    kmers = [[t[i : i + k] for i in range(len(t) - k + 1)] for t in texts]
    shared = [[sum(a == b for a in left for b in right) for right in kmers] for left in kmers]
    np.testing.assert_array_equal((Phi @ Phi.T).toarray(), shared)


def test_a_text_is_normalised_by_k_mers_that_were_never_seen():
    model = Spectrum(k=1).fit(["ab"])
    Phi = model.transform(["ab", "ax", "xyz", ""]).toarray()
    np.testing.assert_allclose(Phi, np.array([[1, 1], [1, 0], [0, 0], [0, 0]]) / np.sqrt(2))
    assert list(model.get_feature_names_out()) == ["a", "b"]


LOW_RANK = [
    IncompleteCholesky("linear", rank=20),
    Nystroem(kernel="linear", n_components=20, random_state=0),
]


@pytest.mark.parametrize("low_rank", LOW_RANK, ids=lambda model: type(model).__name__)
def test_text_goes_through_low_rank_features_into_a_classifier(low_rank):
    rng = np.random.default_rng(0)

    def word(letters):
        return "".join(rng.choice(list(letters), size=30))

    texts = [word("aacgt") for _ in range(40)] + [word("acggt") for _ in range(40)]
    y = np.repeat(["a", "g"], 40)
    model = make_pipeline(Spectrum(k=3), low_rank, Classifier(loss="logistic", alpha=1e-3))
    assert model.fit(texts, y).score(texts, y) > 0.9
    assert model[:-1].transform(texts).shape == (80, 20)


# Bad input.


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rank": 0}, "rank must be a whole number >= 1"),
        ({"tol": 1.0}, "tol must be >= 0 and < 1"),
        ({"gamma": 0.0}, "gamma must be > 0"),
        ({"kernel": "polynomial", "coef0": -1.0}, "coef0 must be >= 0"),
        ({"kernel": "polynomial", "degree": 1.5}, "degree must be a whole number"),
        ({"pivots": "first"}, "pivots must be 'random' or 'greedy'"),
        ({"kernel": lambda A, B: -(A @ B.T)}, "not positive semidefinite"),
        ({"kernel": lambda A, B: 1 - A @ B.T}, "not positive semidefinite"),
        ({"kernel": lambda A, B: A @ A.T}, "of 60 and 1 rows it gave shape"),
        ({"kernel": lambda A, B: A @ B.T / 0.0}, "nan or inf"),
    ],
)
@pytest.mark.filterwarnings("ignore:(divide|invalid):RuntimeWarning")
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(fenchel.InvalidData, match=words.replace("(", r"\(")):
        IncompleteCholesky(**settings).fit(rows())


def test_bad_kernels_and_texts_are_refused():
    with pytest.raises(fenchel.Incompatible, match="'polynomial', 'linear' or a function"):
        IncompleteCholesky("spectrum").fit(rows())
    with pytest.raises(fenchel.InvalidData, match="trace 0"):
        IncompleteCholesky("linear").fit(np.zeros((3, 2)))
    with pytest.raises(fenchel.InvalidData, match="give \\[text\\]"):
        Spectrum().fit("banana")
    with pytest.raises(fenchel.InvalidData, match=r"X\[1\] is 3 of type int"):
        Spectrum().fit(["banana", 3])
    with pytest.raises(fenchel.InvalidData, match="lower k"):
        Spectrum(k=9).fit(["banana"])
    with pytest.raises(fenchel.InvalidData, match="k must be a whole number"):
        Spectrum(k=0).fit(["banana"])
