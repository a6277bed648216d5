"""Engines of other processes: the same bits as the serial one, whatever is lost on the way."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import warnings

import numpy as np
import pytest
import structures
from catalogue import data_for, ids
from fragile import Every, Fragile

import fenchel
from fenchel import losses
from fenchel.engines import PerShard, Serial, relays, remote
from fenchel.engines.host import Gone
from fenchel.engines.sums import combined, subtotals, total
from fenchel.errors import FenchelWarning, HostLost
from fenchel.risks import shardwork
from fenchel.solvers._line_search import Along, wolfe

RUNS = [
    ("agm-inf", losses.Hinge(), False),
    ("agm-1", losses.Quantile(), True),
    ("agm-inf", losses.ROC(), False),
    ("bmrm", losses.Hinge(), True),
    ("bmrm", losses.ROC(), False),
    ("lbfgs", losses.Logistic(), True),
    ("newton", losses.SquaredHinge(), True),
    ("sublbfgs", losses.SquaredHinge(), True),
    ("sublbfgs", losses.Hinge(), False),
    ("sublbfgs", losses.Quantile(), True),
    ("owlqn", losses.Logistic(), False),
    ("polish", losses.Hinge(), True),
    ("pdhg", losses.Hinge(), True),
    ("pdhg", losses.Quantile(), False),
    ("sdca", losses.Logistic(), True),
    ("ls-bmrm", losses.Softmax(), False),
    ("bmrm", losses.NDCG(), False),
]


def several_shards(monkeypatch, numbers=40):
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", numbers)


def fitted(run, engine, n=120, iterations=12):
    solver, loss, intercept = run
    iterations = 2 if solver == "sdca" else iterations  # of hundreds of rounds
    X, y = data_for(loss, n=n) if not isinstance(loss, losses.NDCG) else graded(n)
    groups = np.repeat(np.arange(n // 10), 10) if isinstance(loss, losses.NDCG) else None
    if solver == "sdca":  # elsewhere than in one memory it works on all shards at once
        solver = fenchel.solver("sdca", at_once=True)
    regularizer = "l1" if solver == "owlqn" else "l2"
    problem = fenchel.problem(
        X,
        y,
        loss=loss,
        intercept=intercept,
        regularizer=regularizer,
        strength=0.01,
        engine=engine,
        groups=groups,
    )
    assert problem.risk.engine.n_shards > 5
    result = fenchel.minimize(problem, solver, gap=1e-5, max_iterations=iterations)
    return problem, result


def graded(n):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, 4)), rng.integers(0, 4, n).astype(float)


def same(one, other):
    assert np.array_equal(one.w, other.w)
    assert np.array_equal(one.intercept, other.intercept)
    strip = [record._replace(seconds=0.0) for record in one.history]
    assert strip == [record._replace(seconds=0.0) for record in other.history]


@pytest.mark.parametrize("run", RUNS, ids=ids)
@pytest.mark.parametrize("n_hosts", [1, 2, 3])
def test_remote_engines_give_the_bits_of_the_serial_one(run, n_hosts, monkeypatch):
    several_shards(monkeypatch)
    problem, result = fitted(run, Fragile(n_hosts))
    same(fitted(run, Serial())[1], result)
    assert len(problem.risk.engine.hosts) == n_hosts
    fenchel.verify(result, problem)


def test_sublbfgs_makes_the_same_steps_though_its_dual_sweeps_do_not_mix_shards(monkeypatch):
    several_shards(monkeypatch)
    run = ("sublbfgs", losses.Hinge(), False)
    (_, one), (_, other) = (fitted(run, engine, iterations=7) for engine in (Serial(), Fragile(2)))
    assert np.array_equal(one.w, other.w)
    assert [r.objective for r in one.history] == [r.objective for r in other.history]


@pytest.mark.parametrize("run", RUNS, ids=ids)
def test_a_host_lost_every_few_rounds_changes_nothing(run, monkeypatch):
    several_shards(monkeypatch)
    monkeypatch.setattr(remote, "_LONGEST", 20)  # snapshots too
    with pytest.warns(FenchelWarning, match=r"shards \d+ to \d+ .*placed anew"):
        problem, result = fitted(run, Fragile(2, lost=Every(7)))
    assert problem.risk.engine.started > 4
    same(fitted(run, Serial())[1], result)


@pytest.mark.parametrize("run", RUNS, ids=ids)
def test_requests_that_hosts_pass_on_give_the_same_bits(run, monkeypatch):
    several_shards(monkeypatch)
    problem, result = fitted(run, Fragile(9, relays=True), n=240)
    assert len(problem.risk.engine.hosts) == 9
    same(fitted(run, Serial(), n=240)[1], result)
    fenchel.verify(result, problem)


@pytest.mark.parametrize("run", RUNS, ids=ids)
def test_a_host_lost_in_a_tree_changes_nothing(run, monkeypatch):
    several_shards(monkeypatch)
    monkeypatch.setattr(remote, "_LONGEST", 20)
    with pytest.warns(FenchelWarning, match=r"shards \d+ to \d+ .*placed anew"):
        problem, result = fitted(run, Fragile(9, lost=Every(37), relays=True), n=240)
    assert problem.risk.engine.started > 10
    same(fitted(run, Serial(), n=240)[1], result)


@pytest.mark.parametrize("n", range(1, 20))
def test_a_tree_has_every_host_once_and_is_as_deep_as_its_logarithm(n):
    hosts = [relays.Branch(k, 3 * k, 3 * k + 3) for k in range(n)]
    below = dict(relays.plan(hosts))

    def reached(branch, depth=1):
        yield branch, depth
        for each in below.get(branch.host, ()):
            yield from reached(each, depth + 1)

    heads = relays.branches(hosts)
    found = [pair for each in heads for pair in reached(each)]
    assert sorted(branch.host for branch, _ in found) == list(range(n))
    assert all(branch.first == 3 * branch.host for branch, _ in found)
    assert max(depth for _, depth in found) <= n.bit_length()
    assert len(heads) <= n.bit_length()
    spans = [each[1:] for each in reversed(heads)]
    assert spans[0][0] == 0 and spans[-1][1] == 3 * n
    assert all(one[1] == other[0] for one, other in itertools.pairwise(spans))


def test_a_driver_of_many_hosts_sends_few_vectors(monkeypatch):
    several_shards(monkeypatch)
    X, y = data_for(losses.Logistic(), n=3000, d=500)
    sent = {}
    for tree in (False, True):
        engine = fenchel.problem(X, y, loss="logistic", engine=Fragile(32, relays=tree)).risk.engine
        assert len(engine.hosts) == 32
        engine.total(engine.map(shardwork.weight))  # plants the tree
        engine.traffic.clear()
        engine.total(engine.map(_echo, np.ones(500)))
        sent[tree] = sum(min(pair) > 8 * 500 for pair in engine.traffic)
    assert sent == {False: 32, True: 6}


def _echo(shard, w):
    return w


def test_a_nan_below_in_a_tree_is_asked_for_again_and_never_added_in(monkeypatch):
    several_shards(monkeypatch)
    run = ("lbfgs", losses.Logistic(), False)
    problem, result = fitted(run, Fragile(9, lying={25}, relays=True), n=240)
    assert problem.risk.engine.started == 9  # asked directly, it did not lie again
    same(fitted(run, Serial(), n=240)[1], result)


class Unreachable(Fragile):
    """Hosts that the driver reaches, and that do not reach each other."""

    def _passed_on(self, branch, request, seconds, by_driver=False):
        if not by_driver:
            raise Gone("no route to host")
        return super()._passed_on(branch, request, seconds, by_driver)


def test_hosts_that_do_not_reach_each_other_are_asked_from_here(monkeypatch):
    several_shards(monkeypatch)
    run = ("lbfgs", losses.Logistic(), False)
    with pytest.warns(FenchelWarning, match="do not reach one another.*no route to host"):
        problem, result = fitted(run, Unreachable(9, relays=True), n=240)
    assert problem.risk.engine.started == 9
    same(fitted(run, Serial(), n=240)[1], result)


@pytest.mark.parametrize("run", RUNS, ids=ids)
@pytest.mark.parametrize("lost", [(), Every(11)], ids=["", "some lost"])
def test_hosts_that_come_while_a_fit_runs_are_used(run, lost, monkeypatch):
    several_shards(monkeypatch)
    monkeypatch.setattr(remote, "_LOOK", 0.0)
    joining = Joining(1, lost)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FenchelWarning)
        problem, result = fitted(run, joining, n=240)
    assert len(problem.risk.engine.hosts) > 5
    same(fitted(run, Serial(), n=240)[1], result)


class Joining(Fragile):
    """One host more after each of the first rounds."""

    def _n_hosts(self) -> int:
        return min(9, self.n_hosts + self.rounds)


@pytest.mark.parametrize("name", structures.CASES)
@pytest.mark.parametrize("n_hosts", [1, 2, 3])
def test_structures_give_the_same_bits_on_hosts_that_get_lost(name, n_hosts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FenchelWarning)
        problem, result = structures.fitted(name, Fragile(n_hosts, lost=Every(5)))
        fenchel.verify(result, problem)
    same(structures.fitted(name, Serial())[1], result)
    assert len(problem.risk.engine.hosts) == n_hosts < problem.risk.engine.started


def test_values_stay_with_their_shards_until_they_are_looked_at(monkeypatch):
    several_shards(monkeypatch)
    X, y = data_for(losses.Hinge(), n=100)
    engine = fenchel.problem(X, y, engine=Fragile(2)).risk.engine
    rounds = engine.rounds
    z = engine.map(shardwork.scores, np.ones(X.shape[1]))
    values, slopes = engine.map(shardwork.sums, losses.Hinge(), z, 0.0).split(2)
    assert engine.rounds == rounds
    engine.totals(values, slopes)
    assert engine.rounds == rounds + 1
    assert engine.gather(z) == pytest.approx(X @ np.ones(X.shape[1]))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Hinge()], ids=ids)
def test_trial_steps_send_numbers_and_no_vectors(loss, intercept):
    """[Yu10] section 9: once X p is there, a step costs a few scalars each way."""
    X, y = data_for(loss, n=2000, d=1000)
    problem = fenchel.problem(X, y, loss=loss, intercept=intercept, engine=Fragile(2))
    engine, point = problem.risk.engine, problem.risk.at(np.ones(1000) / 1000)
    along = Along(problem, point, -point.subgradient)
    along(1.0)
    engine.traffic.clear()
    for eta in (0.5, 0.25, 3.0):
        along(eta)
        if loss == losses.Hinge():
            along.slope(eta)
    assert len(engine.traffic) >= 3 * 2
    assert max(map(max, engine.traffic)) < 2000  # X p and p are 8,000 bytes and more
    wolfe(along, *along(0.0), 1.0)
    assert max(map(max, engine.traffic)) < 2000


@pytest.mark.parametrize(
    ("solver", "loss"), [("lbfgs", "logistic"), ("bmrm", "hinge"), ("ls-bmrm", "hinge")]
)
def test_vectors_go_to_each_host_once_an_iteration_and_come_back_once(solver, loss):
    X, y = data_for(losses.Logistic(), n=3000, d=2000)
    problem = fenchel.problem(X, y, loss=loss, strength=1e-3, engine=Fragile(2))
    engine = problem.risk.engine
    result = fenchel.minimize(problem, solver, gap=1e-9, max_iterations=6)
    sent, received = (
        sum(size > 8 * 2000 for size in each) for each in zip(*engine.traffic, strict=True)
    )
    assert len(engine.hosts) == 2
    assert 2 * result.iterations <= sent <= 2 * (result.iterations + 1)
    # Besides gradients, once the columns' squares, and the kinks of the first line search.
    assert 2 * result.iterations <= received <= 2 * (result.iterations + 2)


@pytest.mark.parametrize(
    ("name", "form", "loss", "most"),
    [
        ("agm-inf", "primal", "hinge", 2.5),
        ("agm-inf", "primal", "logistic", 2.5),
        ("agm-1", "primal", "hinge", 2.5),
        ("agm-1", "primal", "logistic", 2.5),
        ("agm-inf", "homotopy", "hinge", 3),
        ("agm-inf", "dual", "hinge", 4.5),
        ("agm-inf", "dual", "logistic", 4.5),
        ("excessive-gap", None, "hinge", 5),
        ("pdhg", None, "hinge", 2.5),
        ("pdhg", None, "logistic", 2.5),
    ],
)
def test_iterations_of_accelerated_methods_are_few_rounds(name, form, loss, most, monkeypatch):
    """More for looks at the bound, and for steps that are tried in vain."""
    several_shards(monkeypatch, 400)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.where(X @ rng.normal(size=6) + rng.normal(size=300) > 0, 1, -1)
    problem = fenchel.problem(X, y, loss=loss, strength=1e-3, engine=Fragile(2))
    marks = []
    fenchel.minimize(
        problem,
        name if form is None else fenchel.solver(name, form=form),
        gap=1e-9,
        max_iterations=150,
        callback=lambda record: marks.append(problem.risk.engine.rounds),
    )
    rounds = np.diff(marks)
    assert len(rounds) > 30
    assert np.median(rounds) <= most - 0.5 and np.mean(rounds) <= most


def test_hosts_forget_what_nobody_refers_to(monkeypatch):
    several_shards(monkeypatch)
    X, y = data_for(losses.Hinge(), n=100)
    engine = fenchel.problem(X, y, engine=Fragile(2)).risk.engine
    for _ in range(50):
        engine.gather(engine.map(shardwork.scores, np.ones(X.shape[1])))
    gc.collect()
    engine.total(engine.map(shardwork.weight))
    assert all(len(placed.host.kept) < 5 for placed in engine.hosts)


def test_an_argument_is_sent_as_it_was_when_the_task_was_given(monkeypatch):
    several_shards(monkeypatch)
    X, y = data_for(losses.Hinge(), n=100)
    engine = fenchel.problem(X, y, engine=Fragile(2)).risk.engine
    w = np.ones(X.shape[1])
    z = engine.map(shardwork.scores, w)
    w[:] = 7.0
    assert engine.gather(z) == pytest.approx(X @ np.ones(X.shape[1]))


def test_a_nan_of_one_host_is_asked_for_again_and_never_added_in(monkeypatch):
    several_shards(monkeypatch)
    run = ("lbfgs", losses.Logistic(), False)
    with pytest.warns(FenchelWarning, match="answered with nan"):
        _, result = fitted(run, Fragile(2, lying={5}))
    same(fitted(run, Serial())[1], result)


class Garbling(Fragile):
    """The fifth answer is not what was asked for."""

    def garbled(self, reply):
        raise NotImplementedError

    def _send(self, placed, request):
        wait = super()._send(placed, request)
        fifth = self.answers == 5
        return lambda seconds: self.garbled(wait(seconds)) if fifth else wait(seconds)


class Stale(Garbling):
    def garbled(self, reply):
        return dataclasses.replace(reply, round=reply.round - 1)


class Silent(Garbling):
    def garbled(self, reply):
        return dataclasses.replace(reply, sums=reply.sums[1:])


class Misshapen(Garbling):
    def garbled(self, reply):
        sums = [{span: np.ravel(x)[:1] for span, x in each.items()} for each in reply.sums]
        return dataclasses.replace(reply, sums=sums)


@pytest.mark.parametrize(("engine", "said"), [(Stale, "for round"), (Silent, "with 1 sums of 2")])
def test_an_answer_to_another_question_is_asked_for_again(engine, said, monkeypatch):
    several_shards(monkeypatch)
    run = ("lbfgs", losses.Logistic(), False)
    with pytest.warns(FenchelWarning, match=f"failed in round .* it answered {said}"):
        _, result = fitted(run, engine(2))
    same(fitted(run, Serial())[1], result)


def test_a_sum_of_another_shape_is_an_error_that_names_shards_and_round(monkeypatch):
    several_shards(monkeypatch)
    said = r"shards 0 to \d+ .* shards \d+ to \d+ .* in round \d+ with sums of shapes .* and .*"
    with pytest.raises(HostLost, match=said):
        fitted(("lbfgs", losses.Logistic(), False), Misshapen(2))


def test_every_row_counts_once_however_often_its_shard_was_placed(monkeypatch):
    several_shards(monkeypatch)
    X, y = data_for(losses.Hinge(), n=100)
    engine = fenchel.problem(X, y, engine=Fragile(3)).risk.engine
    for round_ in range(12):
        engine.lost = {engine.answers + 1 + round_ % 3}
        with pytest.warns(FenchelWarning, match="placed anew"):
            assert engine.total(engine.map(shardwork.weight)) == 100


class Undefined(losses.Logistic):
    """A loss that is nan somewhere."""

    def value(self, z, y):
        return np.where(np.abs(z) > 0.1, np.nan, super().value(z, y))


def test_a_nan_that_two_hosts_agree_on_is_the_problems_own(monkeypatch):
    several_shards(monkeypatch)
    X, y = data_for(losses.Logistic(), n=60)
    problem = fenchel.problem(X, y, loss=Undefined(), engine=Fragile(2), strength=1e-6)
    with pytest.warns(FenchelWarning, match="nan"):
        result = fenchel.minimize(problem, "lbfgs", max_iterations=20)
    assert result.status is not fenchel.Status.CONVERGED


def test_shards_that_are_lost_again_and_again_are_an_error_that_names_them(monkeypatch):
    several_shards(monkeypatch)
    with (
        pytest.warns(FenchelWarning),
        pytest.raises(HostLost, match=r"shards 0 to \d+ \(rows 0 to \d+\) were placed 4 times"),
    ):
        fitted(RUNS[0], Fragile(1, lost=range(5, 100)))


def test_data_that_changed_under_the_run_are_refused(monkeypatch):
    several_shards(monkeypatch)
    copies = []

    def changing(shard):
        copies.append(shard)
        late = len(copies) > 20
        return dataclasses.replace(shard, y=-shard.y) if late else shard

    with (
        pytest.warns(FenchelWarning),
        pytest.raises(fenchel.InvalidData, match=r"data of shard \d+ changed"),
    ):
        fitted(RUNS[0], Fragile(2, lost=range(6, 100), source=changing))


def test_an_error_of_a_task_is_raised_as_it_is_and_no_host_is_blamed(monkeypatch):
    several_shards(monkeypatch)
    X, y = data_for(losses.Hinge(), n=100)
    engine = fenchel.problem(X, y, engine=Fragile(2)).risk.engine
    with warnings.catch_warnings(), pytest.raises(ValueError, match="expected 4"):
        warnings.simplefilter("error")
        engine.gather(engine.map(shardwork.scores, np.ones(99)))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13])
def test_sums_have_the_same_bits_whoever_adds_them_up(n):
    values = list(np.random.default_rng(n).normal(size=(n, 3)) * 10.0 ** np.arange(n)[:, None])
    before = np.copy(values)
    for first in range(n):
        for middle in range(first, n):
            parts = {}
            for low, high in ((0, first), (first, middle), (middle, n)):
                parts |= subtotals(values[low:high], low, n)
            assert np.array_equal(combined(parts, n), total(values))
    assert np.array_equal(before, values)
    assert total(values) == pytest.approx(np.sum(values, axis=0))
    assert Serial().total(PerShard([0.1, 0.2, 0.3])) == (0.1 + 0.2) + 0.3
