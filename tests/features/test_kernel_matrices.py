"""Kernels of rows, texts and graphs: their values by brute force, and what is refused."""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

import fenchel
from fenchel import MismatchKernel, SpectrumKernel, SubsequenceKernel, WeisfeilerLehman
from fenchel.features.choosing import KernelSettings

TEXTS = ["GATTACA", "ATTAC", "CAT", "GAGAGATA", "TTTT", "", "AC"]
GRAPHS = [
    ([(0, 1), (1, 2)], ["a", "b", "a"]),
    ([(2, 0), (1, 2)], ["b", "a", "a"]),  # the same but for its nodes' numbers... and labels
    ([(0, 1), (1, 2), (2, 0)], ["a", "b", "a"]),
    ([], [1, 2]),
]


def matrix(kernel, X, **settings):
    return KernelSettings(kernel, **settings).gram(X)[0].block(slice(None))


def rows(n=30, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("kernel", "peer"),
    [
        ("rbf", lambda X: rbf_kernel(X, gamma=0.3)),
        ("laplacian", lambda X: laplacian_kernel(X, gamma=0.3)),
        ("poly", lambda X: polynomial_kernel(X, gamma=0.3, degree=2, coef0=0.5)),
        ("linear", lambda X: X @ X.T),
    ],
)
def test_named_kernels_are_scikit_learns_within_their_doubt(kernel, peer, make):
    X = rows()
    gram, _ = KernelSettings(kernel, gamma=0.3, degree=2, coef0=0.5).gram(make(X))
    off = np.abs(gram.block(slice(None)) - peer(X))
    assert np.max(off) <= 2 * gram.doubt + 1e-15
    assert gram.diagonal == pytest.approx(np.diag(peer(X)), rel=1e-13)
    assert gram.block([3, 5], [1]) == pytest.approx(peer(X)[np.ix_([3, 5], [1])], rel=1e-13)


def test_gamma_scale_and_auto_are_those_of_svc():
    X = rows()
    fitted = KernelSettings("rbf", "scale").fitted(X)
    assert fitted.gamma == pytest.approx(1 / (5 * X.var()))
    of_sparse = KernelSettings("rbf", "scale").fitted(sparse.csr_array(X))
    assert of_sparse.gamma == pytest.approx(fitted.gamma)
    assert KernelSettings("rbf", "auto").fitted(X).gamma == pytest.approx(1 / 5)


def shared(parts):
    """The matrix of products of counts, normalised."""
    K = np.array([[sum(a[p] * b[p] for p in a) for b in parts] for a in parts], dtype=float)
    size = np.sqrt(np.where(np.diag(K) > 0, np.diag(K), 1.0))
    return K / np.outer(size, size)


def test_the_spectrum_kernel_counts_shared_runs():
    parts = [Counter(t[i : i + 2] for i in range(len(t) - 1)) for t in TEXTS]
    assert matrix(SpectrumKernel(k=2), TEXTS) == pytest.approx(shared(parts), abs=1e-14)


def test_the_mismatch_kernel_counts_runs_that_nearly_agree():
    def parts(text):
        every = ["".join(each) for each in itertools.product("ACGT", repeat=3)]
        runs = [text[i : i + 3] for i in range(len(text) - 2)]
        near = lambda a, b: sum(x != y for x, y in zip(a, b, strict=True)) <= 1  # noqa: E731
        return Counter(each for each in every for run in runs if near(each, run))

    kernel = MismatchKernel(k=3, m=1)
    assert matrix(kernel, TEXTS) == pytest.approx(shared(list(map(parts, TEXTS))), abs=1e-14)


def test_the_subsequence_kernel_weighs_what_its_subsequences_span():
    k, decay = 2, 0.4

    def parts(text):
        found = Counter()
        for places in itertools.combinations(range(len(text)), k):
            found["".join(text[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
        return found

    kernel = SubsequenceKernel(k=k, decay=decay)
    assert matrix(kernel, TEXTS) == pytest.approx(shared(list(map(parts, TEXTS))), abs=1e-14)


def test_the_graph_kernel_sees_patterns_and_not_numbers_of_nodes():
    K = matrix(WeisfeilerLehman(depth=2), [*GRAPHS, ([(1, 0), (2, 1)], ["a", "b", "a"])])
    assert K[0, 4] == pytest.approx(1.0)  # the same graph
    assert K[0, 1] < 1 and K[0, 2] < 1 and K[0, 3] == 0
    depth0 = matrix(WeisfeilerLehman(depth=0), GRAPHS)
    assert depth0[:3, :3] == pytest.approx(np.ones((3, 3)))  # the same labels, however joined


@pytest.mark.parametrize(
    ("kernel", "X"),
    [(SpectrumKernel(), TEXTS), (MismatchKernel(), TEXTS), (SubsequenceKernel(), TEXTS)],
)
def test_new_texts_have_the_kernel_of_all_texts_together(kernel, X):
    _, fitted = KernelSettings(kernel).gram(X[:4])
    new = fitted.kernel.block(fitted.new(X), fitted.points)
    assert new == pytest.approx(matrix(kernel, X)[:, :4], abs=1e-14)


@pytest.mark.parametrize(
    ("kernel", "X", "why"),
    [
        ("sigmoid", rows(), "not positive semidefinite"),
        ("rbff", rows(), "kernel must be one of"),
        ("precomputed", rows(), "square matrix"),
        ("precomputed", [[1.0, 0.5], [0.2, 1.0]], "not symmetric"),
        ("precomputed", [[1.0, 2.0], [2.0, 1.0]], "not positive semidefinite"),
        ("precomputed", [[1.0, np.nan], [np.nan, 1.0]], "nan or inf"),
        (lambda A, B: -A @ B.T, rows(), "not positive semidefinite"),
        (lambda A, B: np.zeros(3), rows(), "for each pair"),
        ("spectrum", "a text", "give \\[text\\]"),
        ("spectrum", ["a", 3], r"X\[1\] is 3"),
        ("weisfeiler_lehman", [([(0, 2)], ["a", "b"])], "node without a label"),
        ("weisfeiler_lehman", [3], "pairs \\(edges, labels\\)"),
    ],
)
def test_what_is_no_kernel_is_refused_with_the_reason(kernel, X, why):
    with pytest.raises(fenchel.FenchelError, match=why):
        KernelSettings(kernel).gram(X)


def test_settings_are_checked():
    for bad in ({"gamma": 0.0}, {"gamma": "wide"}, {"cache_size": 0}):
        with pytest.raises(fenchel.InvalidData):
            KernelSettings("rbf", **bad).check()
    for make in (
        lambda: MismatchKernel(k=2, m=3),
        lambda: SubsequenceKernel(decay=0.0),
        lambda: MismatchKernel(k=12, m=6),
        lambda: WeisfeilerLehman(depth=-1),
    ):
        with pytest.raises(fenchel.InvalidData):
            make()
