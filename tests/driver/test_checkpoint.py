"""Runs that are interrupted and go on: the same steps to the last bit, from files that are safe."""

import functools
import math
import os
import pickle
import resource
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from catalogue import REGULARIZERS, SOLVERS, data_for, ids, problem_for
from commands import HANGS

import fenchel
from fenchel import losses
from fenchel.checkpoint import Checkpoint, due
from fenchel.engines import Threads
from fenchel.errors import InvalidData
from fenchel.losses import ScalarLoss
from fenchel.regularizers import L2, Regularizer
from fenchel.result import Status
from fenchel.solvers import SDCA

TIGHT = 1e-9
MOST = 120


def same_run(one, other):
    """Equal to the last bit, clocks and counts of passes apart."""
    assert np.array_equal(one.w, other.w)
    assert one.intercept == other.intercept
    assert one.certificate == other.certificate
    assert [record[:4] for record in one.history] == [record[:4] for record in other.history]
    assert one.status is other.status


def in_pieces(problem, solver, path, *, every, **options):
    """Stopped by the callback again and again, each time later than the last."""
    for stop in range(every, 100 * every, every):
        result = fenchel.minimize(
            problem,
            solver,
            checkpoint=path,
            callback=lambda record, stop=stop: record.iteration == stop,
            **options,
        )
        if result.status is not Status.INTERRUPTED:
            return result
    raise AssertionError("the run does not end")


def cases():
    """Every solver with every regulariser it can do: by turns one loss and the other, where it can
    do both, and by turns without an intercept and with one.
    """
    kinked, smooth = losses.Hinge(), losses.Logistic()
    for j, regularizer in enumerate(REGULARIZERS):
        for k, solver in enumerate(SOLVERS):
            turn = (kinked, smooth) if (j + k) % 2 else (smooth, kinked)
            able = (each for each in turn if not solver.obstacle(problem_for(each, regularizer)))
            if (loss := next(able, None)) is not None:
                yield loss, regularizer, solver, (j // 2 + k) % 2 == 1


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "regularizer", "solver", "intercept"), list(cases()), ids=ids)
def test_a_run_in_pieces_takes_the_same_steps(loss, solver, regularizer, intercept, tmp_path):
    """FAULTS #23, within one process."""
    problem = problem_for(loss, regularizer, intercept=intercept, n=60, strength=1e-3)
    most = 40 if isinstance(solver, SDCA) else MOST  # the later ones make hundreds of passes each
    options = {"gap": TIGHT, "max_iterations": most}
    whole = fenchel.minimize(problem, solver, checkpoint=tmp_path / "whole", **options)
    pieces = in_pieces(problem, solver, tmp_path / "pieces", every=23, **options)
    same_run(whole, pieces)
    if pieces.lower_bound > 0:
        fenchel.verify(pieces, problem)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("solver", ["bmrm", "lbfgs", "bmrm-noqp"])
def test_neither_does_the_shape_of_the_data_matter(solver, wide, tmp_path):
    problem = problem_for(losses.Logistic(), n=40, d=90 if wide else 5, strength=1e-4)
    options = {"gap": TIGHT, "max_iterations": MOST}
    whole = fenchel.minimize(problem, solver, checkpoint=tmp_path / "whole", **options)
    same_run(whole, in_pieces(problem, solver, tmp_path / "pieces", every=30, **options))


def test_keeping_the_state_costs_few_iterations(tmp_path):
    problem = problem_for(losses.Hinge(), n=300, d=20, strength=1e-4)
    alone = fenchel.minimize(problem, "bmrm", gap=1e-6)
    kept = fenchel.minimize(problem, "bmrm", gap=1e-6, checkpoint=tmp_path / "file")
    assert kept.iterations <= 1.1 * alone.iterations
    assert kept.passes <= 1.15 * alone.passes


def test_another_number_of_threads_goes_on_alike(tmp_path):
    X, y = data_for(losses.Hinge(), n=4000, d=80)
    one, two = (fenchel.problem(X, y, strength=1e-4, engine=Threads(n)) for n in (1, 2))
    whole = fenchel.minimize(one, "bmrm", gap=TIGHT, max_iterations=80, checkpoint=tmp_path / "a")
    fenchel.minimize(one, "bmrm", gap=TIGHT, max_iterations=50, checkpoint=tmp_path / "b")
    same_run(
        whole,
        fenchel.minimize(two, "bmrm", gap=TIGHT, max_iterations=80, checkpoint=tmp_path / "b"),
    )


def test_states_are_taken_at_fixed_iterations():
    assert [k for k in range(1, 140) if due(k)] == [8, 16, 32, 64, 96, 128]


def test_a_finished_run_is_returned_without_work(tmp_path):
    problem = problem_for(losses.Hinge(), n=60)
    done = fenchel.minimize(problem, "bmrm", gap=1e-6, checkpoint=tmp_path / "file")
    passes = problem.risk.passes
    again = fenchel.minimize(problem, "bmrm", gap=1e-6, checkpoint=tmp_path / "file")
    same_run(done, again)
    assert problem.risk.passes == passes
    fenchel.verify(again, problem)


def test_a_finished_run_goes_on_to_a_smaller_gap(tmp_path):
    problem = problem_for(losses.Hinge(), n=60, strength=1e-3)
    rough = fenchel.minimize(problem, "bmrm", gap=1e-2, checkpoint=tmp_path / "file")
    fine = fenchel.minimize(problem, "bmrm", gap=1e-8, checkpoint=tmp_path / "file")
    assert fine.converged and fine.gap <= 1e-8
    assert list(fine.history[: rough.iterations]) == list(rough.history)
    assert fine.seconds >= rough.history[-1].seconds and fine.passes > rough.passes


def test_a_time_limit_holds_for_each_call(tmp_path, clock):
    problem = problem_for(losses.Hinge(), n=60, strength=1e-3)
    options = {"gap": TIGHT, "max_seconds": 20, "checkpoint": tmp_path / "file"}
    first = fenchel.minimize(problem, "bmrm", **options)
    second = fenchel.minimize(problem, "bmrm", **options)
    assert first.status is second.status is Status.TIME_LIMIT
    # The clock is looked at twice an iteration; 8: the last state kept.
    assert (first.iterations, second.iterations) == (10, 8 + 10)


def test_ctrl_c_leaves_a_checkpoint(tmp_path):
    problem = problem_for(losses.Hinge(), n=60, strength=1e-3)

    def interrupt(record):
        if record.iteration == 40:
            raise KeyboardInterrupt

    path = tmp_path / "file"
    stopped = fenchel.minimize(problem, "bmrm", gap=TIGHT, checkpoint=path, callback=interrupt)
    assert stopped.status is Status.INTERRUPTED
    whole = fenchel.minimize(problem, "bmrm", gap=TIGHT, checkpoint=tmp_path / "whole")
    same_run(whole, fenchel.minimize(problem, "bmrm", gap=TIGHT, checkpoint=path))


def test_an_error_in_the_callback_leaves_a_checkpoint_too(tmp_path):
    problem = problem_for(losses.Hinge(), n=60, strength=1e-3)

    def fail(record):
        if record.iteration == 40:
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        fenchel.minimize(problem, "bmrm", gap=TIGHT, checkpoint=tmp_path / "file", callback=fail)
    assert fenchel.minimize(problem, "bmrm", gap=TIGHT, checkpoint=tmp_path / "file").converged


# Processes that end.

_CHILD = """
    import signal, sys, time
    import numpy as np
    import fenchel, fenchel.checkpoint
    fenchel.checkpoint._SECONDS = 0.0  # every state is written
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 30))
    y = np.sign(X[:, 0] + rng.standard_normal(500))
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    def watch(record):
        print(record.iteration, flush=True)
        time.sleep(0.004)
        while record.iteration >= 200 and not stop:  # it does not end by itself
            time.sleep(0.004)
        return bool(stop)
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-4, engine="serial")
    callback = watch if sys.argv[2] == "slowly" else None
    result = fenchel.minimize(
        problem, "bmrm", gap=1e-8, checkpoint=sys.argv[1], callback=callback
    )
    print(result.w.tobytes().hex(), result.lower_bound.hex(), result.iterations)
"""


def child(path, pace):
    code = textwrap.dedent(_CHILD)
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path), pace], stdout=subprocess.PIPE, text=True
    )


def last_line(process):
    out, _ = process.communicate(timeout=HANGS)
    assert process.returncode == 0
    return out.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_was_stopped_goes_on(blow, tmp_path):
    """FAULTS #23 and #24: the same last bits, however the process ended."""
    whole = last_line(child(tmp_path / "whole", "fast"))
    path = tmp_path / "pieces"
    for iteration in (20, 70, 110):
        process = child(path, "slowly")
        for line in process.stdout:
            if int(line.split()[0]) >= iteration:
                break
        process.send_signal(blow)
        process.communicate(timeout=HANGS)
        assert process.returncode == (-blow if blow is signal.SIGKILL else 0)
        assert [p.name for p in tmp_path.glob("pieces*")] == ["pieces"]
    assert last_line(child(path, "fast")) == whole


# What the file may hold.


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "file"
    problem = problem_for(losses.Hinge(), n=60, strength=1e-3)
    fenchel.minimize(problem, "bmrm", gap=TIGHT, max_iterations=40, checkpoint=path)
    return problem, path


@pytest.mark.parametrize(
    "change",
    [
        {"strength": 2e-3},
        {"seed": 1},
        {"n": 61},
        {"intercept": True},
        {"weighted": True},
        {"regularizer": "elastic_net"},
        {"loss": losses.Logistic()},
    ],
    ids=str,
)
def test_another_problem_is_refused(saved, change):
    _, path = saved
    before = path.read_bytes()
    settings = {"loss": losses.Hinge(), "n": 60, "strength": 1e-3, **change}
    with pytest.raises(InvalidData, match=r"belongs to another problem.*remove it"):
        fenchel.minimize(problem_for(**settings), "bmrm", checkpoint=path)
    assert path.read_bytes() == before


def test_weights_of_the_regularizer_are_part_of_the_problem(tmp_path):
    uneven = np.ones(2000)  # longer than NumPy prints
    one = problem_for(losses.Hinge(), L2(weights=uneven.copy()), n=20, d=2000)
    fenchel.minimize(one, "bmrm", checkpoint=tmp_path / "file")
    uneven[1000] = 2.0
    other = problem_for(losses.Hinge(), L2(weights=uneven.copy()), n=20, d=2000)
    with pytest.raises(InvalidData, match="another problem"):
        fenchel.minimize(other, "bmrm", checkpoint=tmp_path / "file")


class Scaled(ScalarLoss):
    """k/2 (z - y)^2, k being kept under a name of its own."""

    nonnegative = differentiable = True

    def __init__(self, k):
        self._k = k

    def value(self, z, y):
        return self._k * (z - y) ** 2 / 2

    def slope(self, z, y):
        return self._k * (z - y)


class Steep(Regularizer):
    """k/2 ||w||^2, likewise; it remembers something, too."""

    smooth = True

    def __init__(self, k):
        self._k = k

    @functools.cached_property
    def root(self):
        return math.sqrt(self._k)

    def value(self, w):
        return float(w @ w) * self.root**2 / 2

    def subgradient(self, w):
        return self._k * w

    def prox(self, v, step):
        return v / (1 + step * self._k)


def users_problems():
    X, y = data_for(losses.SquaredError(), n=30)

    def with_loss(k):
        return fenchel.problem(X, y, loss=Scaled(k), strength=0.1)

    def with_regularizer(k):
        return fenchel.problem(X, y, loss="squared_error", regularizer=Steep(k), strength=0.1)

    def with_bounds(k):
        steep = Steep(k)
        steep.separable = True
        return fenchel.problem(X, y, loss="squared_error", regularizer=steep, upper=9.0)

    return with_loss, with_regularizer, with_bounds


@pytest.mark.parametrize("made", users_problems(), ids=lambda made: made.__name__)
def test_what_a_users_loss_or_regulariser_holds_is_part_of_the_problem(made, tmp_path):
    path = tmp_path / "file"
    options = {"gap": TIGHT, "checkpoint": path}
    one = made(5.0)
    fenchel.minimize(one, max_iterations=9, **options)
    with pytest.raises(InvalidData, match="another problem"):
        fenchel.minimize(made(1.0), **options)
    for same in (one, made(5.0)):  # whatever the first has remembered meanwhile
        assert fenchel.minimize(same, max_iterations=12, **options).iterations >= 9


@pytest.mark.parametrize("made", users_problems()[:2], ids=lambda made: made.__name__)
def test_what_pickle_cannot_write_is_refused_before_work(made, tmp_path):
    problem = made(2.0)
    holder = problem.risk.loss if isinstance(problem.risk.loss, Scaled) else problem.regularizer
    holder.weigh = lambda z: z
    with pytest.raises(InvalidData, match=r"what (Scaled|Steep) holds .*pickle can write"):
        fenchel.minimize(problem, checkpoint=tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_another_solver_is_refused(saved):
    problem, path = saved
    with pytest.raises(InvalidData, match="belongs to another solver, BMRM"):
        fenchel.minimize(problem, "bmrm-noqp", checkpoint=path)


def test_a_damaged_file_is_refused_and_left_alone(saved):
    problem, path = saved
    content = path.read_bytes()
    for damaged in (content[:100], content[:-1], b"", content[:500] + b"x" + content[501:]):
        path.write_bytes(damaged)
        with pytest.raises(InvalidData, match="file"):
            fenchel.minimize(problem, "bmrm", checkpoint=path)
        assert path.read_bytes() == damaged


def test_a_pickle_is_not_a_checkpoint(saved, tmp_path):
    problem, _ = saved
    (tmp_path / "pickle").write_bytes(pickle.dumps({"w": np.zeros(4)}))
    with pytest.raises(InvalidData, match="pickle"):
        fenchel.minimize(problem, "bmrm", checkpoint=tmp_path / "pickle")


def test_a_place_that_cannot_be_written_is_refused_before_work(tmp_path):
    problem = problem_for(losses.Hinge())
    for path in (tmp_path, tmp_path / "no" / "folder", os.devnull):
        with pytest.raises((InvalidData, OSError)):
            fenchel.minimize(problem, "bmrm", checkpoint=path)
    assert problem.risk.passes == 0


def test_a_full_disk_does_not_lose_the_result(tmp_path):
    """FAULTS #25, for a checkpoint."""
    problem = problem_for(losses.Hinge(), n=60)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.warns(fenchel.FenchelWarning, match="checkpoint could not be written"):
            result = fenchel.minimize(problem, "bmrm", checkpoint=tmp_path / "file")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert result.converged and not (tmp_path / "file").exists()


def test_the_note_comes_back(tmp_path):
    checkpoint = Checkpoint(tmp_path / "file", note='{"loss": "hinge"}')
    fenchel.minimize(problem_for(losses.Hinge()), "bmrm", checkpoint=checkpoint)
    assert Checkpoint(tmp_path / "file").read_note() == '{"loss": "hinge"}'
    assert checkpoint.part("3").path == f"{tmp_path / 'file'}.3"


@pytest.mark.parametrize(("seconds", "on_the_way"), [(math.inf, False), (-1.0, True)])
def test_states_are_written_only_so_often(seconds, on_the_way, tmp_path, monkeypatch):
    monkeypatch.setattr("fenchel.checkpoint._SECONDS", seconds)
    problem, path, seen = problem_for(losses.Hinge(), n=60, strength=1e-3), tmp_path / "file", []

    def watch(record):
        seen.append(path.exists())

    fenchel.minimize(problem, "bmrm", gap=TIGHT, checkpoint=path, callback=watch)
    assert any(seen) is on_the_way
    assert path.exists()
