"""Linear chains: sums and maxima over labellings, the losses, and their certificates."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from catalogue import CHAIN_LOSSES, ids
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import logsumexp

import fenchel
from fenchel import losses
from fenchel.data.rows import SparseRows
from fenchel.data.sequences import Sequences, all_pairs, observed_pairs
from fenchel.losses import chain_formulas
from fenchel.risks.views.sampling import Sampling
from fenchel.witness import Witness

EVERY = pytest.mark.parametrize("loss", CHAIN_LOSSES, ids=ids)
L = 3


def problem_of(loss, *, seed=0, n=24, d=4, scale=1.0, **options):
    """Random tokens in sequences of 1 to 6, with a sparse X."""
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    groups = np.repeat(np.arange(n), rng.integers(1, 7, n))[:n]
    y = rng.integers(0, L, n)
    y[:L] = np.arange(L)
    options.setdefault("strength", 0.1)
    return fenchel.problem(X, y, loss=loss, groups=groups, **options)


def labellings(n, n_labels=L):
    return np.array(list(itertools.product(range(n_labels), repeat=n)))


def scores_of(Z, T, paths):
    t = np.arange(len(Z))
    return Z[t, paths].sum(axis=1) + T[paths[:, :-1], paths[:, 1:]].sum(axis=1)


def enumerated(loss, Z, T, y):
    """The loss of one sequence, over all labellings."""
    paths = labellings(len(Z), Z.shape[1])
    right = scores_of(Z, T, y[np.newaxis])[0]
    margins = scores_of(Z, T, paths) - right
    if isinstance(loss, losses.CRF):
        return logsumexp(margins)
    cost = loss.costs(Z.shape[1])[paths, y].sum(axis=1)
    if isinstance(loss, losses.SoftM3N):
        return loss.temperature * logsumexp((margins + cost) / loss.temperature)
    return np.max(cost * (1 + margins)) if loss.rescaling == "slack" else np.max(cost + margins)


def one_hot_shard(Z, n_labels):
    """A sequence whose token t has the feature t alone: its weights are the scores."""
    n, pairs = len(Z), all_pairs(len(Z), n_labels)
    X = sparse.eye_array(n, format="csr")
    rows = SparseRows(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, n)
    starts = np.array([0, n])
    y = np.zeros(n, dtype=np.int64)
    return Sequences(rows, y, None, starts, pairs, pairs.places(rows.column))


numbers = st.floats(-3, 3) | st.floats(-1e4, 1e4)
sizes = st.tuples(st.integers(1, 5), st.integers(2, 4))


@st.composite
def chains(draw):
    n, k = draw(sizes)
    Z, T = (draw(st.lists(numbers, min_size=m, max_size=m)) for m in (n * k, k * k))
    return np.array(Z).reshape(n, k), np.array(T).reshape(k, k)


def same(found, exact, scale):
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-11 * (1 + scale))


@settings(max_examples=200)
@given(chains())
def test_sums_are_those_over_all_labellings(chain):
    (Z, T), scale = chain, max(np.abs(chain[0]).max(), np.abs(chain[1]).max())
    n, k = Z.shape
    paths = labellings(n, k)
    s = scores_of(Z, T, paths)
    p = np.exp(s - logsumexp(s))
    exact = np.array([[p[paths[:, t] == label].sum() for label in range(k)] for t in range(n)])
    shard, w = one_hot_shard(Z, k), np.concatenate([Z.ravel(), T.ravel()])
    out = np.empty((n, k))
    shard.chains.marginals(w, out)
    same(out, exact, scale)
    g, y = np.zeros(len(w)), paths[len(paths) // 2]
    value = shard.chains.log_loss(y, None, None, 1.0, None, w, g)
    same(value, logsumexp(s) - s[len(paths) // 2], n * scale)
    pair = np.zeros((k, k))
    for path, chance in zip(paths, p, strict=True):
        np.add.at(pair, (path[:-1], path[1:]), chance)
    np.add.at(pair, (y[:-1], y[1:]), -1.0)
    same(g, np.concatenate([(exact - np.eye(k)[y]).ravel(), pair.ravel()]), scale)
    formula = chain_formulas.expected(Z, T, np.array([0, n]), np.ones(n))
    same(formula.total[0], logsumexp(s), n * scale)
    same(formula.labels, exact, scale)


@settings(max_examples=200)
@given(chains(), st.integers(1, 4))
def test_the_best_labellings_are_the_best_of_all(chain, k_best):
    Z, T = chain
    n, k = Z.shape
    s = np.sort(scores_of(Z, T, labellings(n, k)))[::-1]
    found, labels = np.empty((1, k_best)), np.zeros((k_best, n), dtype=np.int64)
    w = np.concatenate([Z.ravel(), T.ravel()])
    one_hot_shard(Z, k).chains.best(w, None, found, labels)
    expected = np.append(s, [-np.inf] * k_best)[:k_best]
    np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-8)
    there = labels[np.isfinite(found[0])]
    assert len(np.unique(there, axis=0)) == len(there)
    np.testing.assert_allclose(scores_of(Z, T, there), found[0][: len(there)], rtol=1e-9, atol=1e-8)
    value, best = chain_formulas.best(Z, T, np.array([0, n]))
    assert value[0] == pytest.approx(s[0], rel=1e-9, abs=1e-8)
    assert scores_of(Z, T, best[np.newaxis])[0] == pytest.approx(s[0], rel=1e-9, abs=1e-8)


@st.composite
def chains_with_ties(draw):
    """Small whole numbers, of which many sums are equal, and transitions that are forbidden."""
    n, k, rng = draw(st.integers(1, 5)), draw(st.integers(2, 9)), draw(st.randoms())
    Z, T = ([rng.randint(-1, 1) for _ in range(m)] for m in (n * k, k * k))
    extra = [-np.inf if rng.random() < 0.3 else 0.0 for _ in range(k * k)]
    return np.reshape(Z, (n, k)), np.array([*Z, *T], float), np.reshape(extra, (k, k))


@settings(max_examples=200)
@given(chains_with_ties(), st.booleans())
def test_the_best_labelling_is_the_first_of_several(chain, forbidding):
    Z, w, extra = chain
    n, k = Z.shape
    (one, labels), (several, ranked) = (
        (np.empty((1, m)), np.zeros((m, n), dtype=np.int64)) for m in (1, 3)
    )
    kernel = one_hot_shard(Z, k).chains
    for scores, found in ((one, labels), (several, ranked)):
        kernel.best(w, extra if forbidding else None, scores, found)
    assert one[0, 0] == several[0, 0]
    if np.isfinite(one[0, 0]):  # else all labellings are forbidden
        assert labels[0].tolist() == ranked[0].tolist()


@EVERY
@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 30.0]))
def test_the_loss_is_that_over_all_labellings(loss, seed, scale):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    Z, T, y = (
        scale * rng.normal(size=(n, L)),
        scale * rng.normal(size=(L, L)),
        rng.integers(0, L, n),
    )
    assert loss.value(Z, y, transitions=T)[0] == pytest.approx(enumerated(loss, Z, T, y), abs=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"y": [0, L, 0]}, "from 0 to 2"),
        ({"y": [0, -1, 0]}, "from 0 to 2"),
        ({"y": [0, 0.5, 0]}, "from 0 to 2"),
        ({"y": [0, 1]}, "shape"),
        ({"transitions": np.zeros((L, L + 1))}, r"transitions have shape \(3, 4\)"),
        ({"transitions": np.zeros((1, 1))}, r"transitions have shape \(1, 1\)"),
        ({"starts": [0, 2]}, "from 0 to 3"),
        ({"starts": [1, 3]}, "from 0 to 3"),
        ({"starts": [0, 2, 2, 3]}, "from 0 to 3"),
        ({"starts": [0, 2, 1, 3]}, "from 0 to 3"),
        ({"starts": [0, 1.5, 3]}, "whole numbers"),
        ({"starts": [[0, 3]]}, "from 0 to 3"),
    ],
)
def test_formulas_refuse_what_is_out_of_range(given, words):
    for method in (losses.CRF().value, losses.CRF().slope):
        with pytest.raises(fenchel.InvalidData, match=words):
            method(np.zeros((3, L)), **{"y": [0, 1, 2], **given})


@EVERY
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5, 9, 33])
def test_the_kernel_is_the_formula(loss, n_labels):
    if isinstance(getattr(loss, "cost", None), np.ndarray) and n_labels != L:
        loss = type(loss)(
            **{**loss.settings(), "cost": np.abs(np.subtract.outer(*[np.arange(n_labels)] * 2)) / 2}
        )
    rng = np.random.default_rng(n_labels)
    n, d = 40, 60
    X = sparse.random_array((n, d), density=0.2, rng=rng, format="csr")
    y = rng.integers(0, n_labels, n)
    y[:n_labels] = np.arange(n_labels)
    groups = np.repeat(np.arange(n), rng.integers(1, 9, n))[:n]
    problem = fenchel.problem(X, y, loss=loss, groups=groups, engine="serial")
    risk, starts = problem.risk, np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1, [n]])
    w = rng.normal(size=risk.n_parameters)
    point, W, T = risk.at(w), risk.pairs.states(w).toarray(), risk.pairs.transitions(w)
    exact = loss.tangent(X @ W, T, y, starts)
    assert point.value == pytest.approx(np.mean(exact.value), rel=1e-12)
    slopes = risk.pairs.gathered(X.T @ exact.tokens, exact.transitions) / (len(starts) - 1)
    np.testing.assert_allclose(point.subgradient, slopes, atol=1e-12)


@EVERY
def test_the_subgradient_supports_the_risk(loss):
    risk, rng = problem_of(loss).risk, np.random.default_rng(3)
    for scale in (0.0, 0.3, 3.0):
        point = risk.at(scale * rng.normal(size=risk.n_parameters))
        for _ in range(30):
            v = point.w + rng.normal(size=len(point.w)) * 10 ** rng.uniform(-3, 1)
            assert risk.at(v).value >= point.subgradient @ v + point.constant - 1e-10


@EVERY
def test_where_it_is_smooth_the_gradient_is_that_of_differences(loss):
    if not loss.differentiable:
        return
    risk, rng = problem_of(loss).risk, np.random.default_rng(4)
    point = risk.at(rng.normal(size=risk.n_parameters))
    for p in rng.normal(size=(5, risk.n_parameters)):
        ahead, behind = risk.at(point.w + 1e-6 * p).value, risk.at(point.w - 1e-6 * p).value
        assert (ahead - behind) / 2e-6 == pytest.approx(point.subgradient @ p, rel=1e-6, abs=1e-8)


@EVERY
def test_scores_of_ten_thousand_stay_finite(loss):
    risk, rng = problem_of(loss, scale=100.0).risk, np.random.default_rng(5)
    point = risk.at(100 * rng.normal(size=risk.n_parameters))
    assert np.isfinite(point.value) and np.isfinite(point.subgradient).all()
    assert point.value > 100


def test_the_soft_margin_lies_above_the_margin_and_comes_close_to_it():
    hard = problem_of(losses.M3N(pairs="all")).risk
    w = np.random.default_rng(6).normal(size=hard.n_parameters)
    value = hard.at(w).value
    for temperature in (1.0, 0.1, 0.01):
        soft = problem_of(losses.SoftM3N(temperature=temperature, pairs="all")).risk.at(w).value
        assert value - 1e-12 <= soft <= value + temperature * 6 * np.log(L)


@EVERY
@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
def test_minima_are_certified_and_verified(loss, regularizer):
    problem = problem_of(loss, regularizer=regularizer, engine="serial")
    bmrm = fenchel.minimize(problem, "bmrm", gap=1e-4).raise_for_status()
    auto = fenchel.minimize(problem, gap=1e-5).raise_for_status()
    for result in (bmrm, auto):
        certificate = fenchel.verify(result, problem)
        assert certificate.source == "witness"
        assert certificate.gap <= 1.01e-4
    assert auto.lower_bound <= bmrm.objective
    assert bmrm.lower_bound <= auto.objective


@pytest.mark.parametrize("regularizer", ["l2", "elastic_net"])
@pytest.mark.parametrize("solver", ["agm-inf", "agm-1", "fista", "proximal-gradient"])
@pytest.mark.parametrize("loss", [losses.CRF(), losses.SoftM3N(temperature=0.5)], ids=ids)
def test_accelerated_methods_take_smooth_chains(loss, solver, regularizer, tmp_path):
    problem = problem_of(loss, regularizer=regularizer, engine="serial")
    other = fenchel.minimize(problem, gap=1e-6).raise_for_status()
    result = fenchel.minimize(problem, solver, gap=1e-4, checkpoint=tmp_path / "a")
    assert fenchel.verify(result.raise_for_status(), problem).gap <= 1.01e-4
    assert result.lower_bound <= other.objective and other.lower_bound <= result.objective
    fenchel.minimize(problem, solver, gap=1e-4, checkpoint=tmp_path / "b", max_iterations=3)
    resumed = fenchel.minimize(problem, solver, gap=1e-4, checkpoint=tmp_path / "b")
    assert (resumed.objective, resumed.lower_bound) == (result.objective, result.lower_bound)


@EVERY
def test_no_subgradient_is_longer_than_the_risk_says(loss):
    """Of one sequence, in which every label may be wrong."""
    n = 30
    X, y = sparse.csr_array(np.tile([1.0, 2.0, 0.0, 0.0], (n, 1))), np.arange(n) % L
    problem = fenchel.problem(X, y, loss=loss, groups=np.zeros(n), strength=0.1)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3):
        point = problem.risk.at(scale * rng.normal(size=problem.risk.n_parameters))
        assert np.linalg.norm(point.subgradient) <= point.sizes[0]
        again = problem.risk.at(point.w)  # looking changed nothing
        assert again.value == point.value and np.array_equal(again.subgradient, point.subgradient)


@EVERY
def test_a_claim_without_proof_is_refused(loss):
    problem = problem_of(loss)
    result = fenchel.minimize(problem, "bmrm", gap=1e-3)
    high = replace(result.certificate, lower_bound=result.objective * (1 - 1e-6))
    with pytest.raises(fenchel.InvalidCertificate, match="proves"):
        fenchel.verify(replace(result, certificate=high), problem)
    twice = Witness(result.witness.tangencies, [2 * weight for weight in result.witness.weights])
    with pytest.raises(fenchel.InvalidCertificate, match="add up"):
        fenchel.verify(replace(result, witness=twice), problem)
    assert "no witness" in fenchel.verify(replace(result, witness=None), problem).source


@EVERY
def test_threads_give_the_same_bits(loss):
    if isinstance(getattr(loss, "cost", None), np.ndarray):
        return
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(3000, 5)), rng.permutation(np.arange(3000) % 30)
    serial, threads = (
        fenchel.problem(X, y, loss=loss, groups=np.arange(3000) // 7, engine=engine).risk
        for engine in ("serial", "threads")
    )
    assert serial.engine.n_shards > 1
    w = rng.normal(size=serial.n_parameters)
    assert serial.at(w).value == threads.at(w).value
    assert np.array_equal(serial.at(w).subgradient, threads.at(w).subgradient)


def test_shards_add_up_to_the_whole():
    risk = problem_of(losses.CRF(), n=400, seed=2).risk
    w = np.random.default_rng(1).normal(size=risk.n_parameters)
    halves = [
        Sampling(risk).subgradient(w, 0.0, rows)
        for rows in np.array_split(np.arange(risk.n_rows), 2)
    ]
    sizes = [len(rows) for rows in np.array_split(np.arange(risk.n_rows), 2)]
    mean = np.average(halves, axis=0, weights=sizes)
    np.testing.assert_allclose(mean, risk.at(w).subgradient, atol=1e-13)


@EVERY
def test_a_weight_counts_a_sequence_so_often(loss, monkeypatch):
    rng = np.random.default_rng(3)
    n, each = 24, np.repeat([2.0, 0.0, 1.0, 3.0], 6)
    X, y = rng.normal(size=(n, 4)), np.tile(np.arange(L), 8)
    groups = np.repeat(np.arange(8), 3)
    again = np.repeat(np.arange(8), each[::3].astype(int))  # sequences, some of them twice
    rows = (3 * again[:, np.newaxis] + np.arange(3)).ravel()
    weighted = fenchel.problem(X, y, groups=groups, sample_weight=each, loss=loss)
    repeated = fenchel.problem(X[rows], y[rows], groups=np.arange(len(rows)) // 3, loss=loss)
    monkeypatch.setattr("fenchel.data.sequences.NUMBERS_PER_SHARD", 1)
    parted = fenchel.problem(X, y, groups=groups, sample_weight=each, loss=loss)
    assert len(parted.risk.engine.shards) > 1
    for scale in (1.0, 1e3):  # beyond it sums are taken of logarithms
        w = scale * rng.normal(size=weighted.risk.n_parameters)
        for problem in (weighted, parted):
            at, exact = problem.risk.at(w), repeated.risk.at(w)
            assert at.value == pytest.approx(exact.value)
            np.testing.assert_allclose(at.subgradient, exact.subgradient, atol=1e-12)
    np.testing.assert_allclose(weighted.risk.curvature(), repeated.risk.curvature())
    assert weighted.risk.length == pytest.approx(repeated.risk.length)
    sampled = Sampling(weighted.risk).subgradient(w, 0.0, np.arange(8))
    np.testing.assert_allclose(sampled, weighted.risk.at(w).subgradient, atol=1e-12)
    result = fenchel.minimize(parted, gap=1e-4)
    assert fenchel.verify(result, parted).gap <= 1.01e-4


def test_observed_pairs_are_those_that_occur():
    X = sparse.csr_array(np.array([[1.0, 0, 0], [0, 2.0, 0], [0, 1.0, 1.0]]))
    rows = SparseRows(X.indptr.astype(np.int64), X.indices, X.data, 3)
    pairs = observed_pairs(rows, np.array([1, 0, 1]), np.array([0, 2, 3]), 2)
    assert pairs.states(np.ones(len(pairs.label))).toarray().tolist() == [[0, 1], [1, 1], [0, 1]]
    assert pairs.transitions(np.ones(len(pairs.label))).tolist() == [[0, 0], [1, 0]]


def test_all_pairs_can_only_do_better():
    observed, every = (
        fenchel.minimize(problem_of(losses.CRF(pairs=pairs), n=12, d=9), gap=1e-6).objective
        for pairs in ("observed", "all")
    )
    assert every < observed * (1 - 1e-4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "crf", "sample_weight": [1, 1, 1, 2, 2, 3]}, "row 5 .* group, number 1"),
        ({"loss": "m3n", "cost": np.ones((3, 3)) - np.eye(3)}, "2 labels"),
        ({"loss": "m3n", "cost": 2.0, "rescaling": "slack"}, "number of wrong labels"),
        ({"loss": "m3n", "rescaling": "both"}, "margin"),
        ({"loss": "soft_m3n", "temperature": 0.0}, "temperature"),
        ({"loss": "crf", "pairs": "some"}, "observed"),
        (
            {"loss": "crf", "intercept": True},
            "CRF has no intercept, though a feature may be 1",
        ),
        ({"loss": "crf", "groups": [0, 1, 0, 1, 2, 2]}, "comes back"),
        ({"loss": "crf", "groups": None}, "give groups=, with the sequence of each row"),
    ],
)
def test_what_makes_no_sense_is_refused(options, words):
    options.setdefault("groups", [0, 0, 0, 1, 1, 1])
    with pytest.raises(fenchel.FenchelError, match=words):
        fenchel.problem(np.eye(6), [0, 1, 0, 1, 0, 1], **options)


def test_a_sequence_too_long_for_slack_is_refused_with_the_memory_it_needs(monkeypatch):
    def posed(**options):
        y = np.arange(1000) % 2
        return fenchel.problem(np.ones((1000, 1)), y, loss="m3n", groups=np.zeros(1000), **options)

    monkeypatch.setattr("fenchel._system.memory.available", lambda: 15 * 10**6)
    posed(rescaling="margin")
    with pytest.raises(MemoryError, match=r"1000 tokens needs about 0.016 GB .*='margin'"):
        posed(rescaling="slack")
    monkeypatch.setattr("fenchel._system.memory.available", lambda: 17 * 10**6)
    posed(rescaling="slack")
