"""The out-of-core store: the same models as from memory, damage found, memory bounded."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from catalogue import data_for
from commands import HANGS
from fragile import Fragile
from scipy import sparse

import fenchel
from fenchel import losses
from fenchel.data import store
from fenchel.data.dataset import Dataset
from fenchel.data.store import read_store, write_store
from fenchel.data.store_stream import svmlight_to_store
from fenchel.data.svmlight import parse_svmlight
from fenchel.data.svmlight_writing import write_svmlight


@pytest.fixture(autouse=True)
def shards(monkeypatch):
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", 200)


def dataset(n=300, qid=False, dense=False):
    X, y = data_for(losses.Logistic(), n=n)
    groups = np.repeat(np.arange(n // 15), 15) if qid else None
    return Dataset(X if dense else sparse.csr_array(X), y, groups)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(
    "engine", ["serial", "threads", Fragile(2)], ids=["serial", "threads", "hosts"]
)
@pytest.mark.parametrize(("solver", "loss"), [("bmrm", "hinge"), ("lbfgs", "logistic")])
def test_a_store_gives_the_bits_of_the_data_in_memory(tmp_path, solver, loss, engine, dense):
    data = dataset(dense=dense)
    write_store(data, tmp_path / "d.store")
    stored = read_store(tmp_path / "d.store")
    runs = []
    for X, where in ((data.X, "serial"), (stored.X, engine)):
        problem = fenchel.problem(
            X, stored.y, loss=loss, strength=1e-3, intercept=True, engine=where
        )
        assert problem.risk.engine.n_shards > 3
        runs.append(fenchel.minimize(problem, solver, gap=1e-4))
    assert np.array_equal(runs[0].w, runs[1].w) and runs[0].intercept == runs[1].intercept
    fenchel.verify(runs[1], problem)


@pytest.mark.parametrize("loss", ["hinge", "softmax", "roc", "squared_error"])
def test_auto_can_train_on_a_store(tmp_path, loss):
    data = dataset()
    write_store(data, tmp_path / "d.store")
    stored = read_store(tmp_path / "d.store")
    memory = fenchel.minimize(fenchel.problem(data.X, data.y, loss=loss, strength=1e-2))
    kept = fenchel.minimize(fenchel.problem(stored.X, stored.y, loss=loss, strength=1e-2))
    assert kept.converged and kept.objective == pytest.approx(memory.objective, rel=3e-4)


@pytest.mark.parametrize("qid", [False, True])
def test_svmlight_is_streamed_into_the_same_rows(tmp_path, qid):
    data = dataset(qid=qid)
    write_svmlight(tmp_path / "d.svm", data.X, data.y, data.qid)
    for piece in (64, 1000, 1 << 22):  # bytes read at a time
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("fenchel.data.svmlight._BLOCK", piece)
            n = svmlight_to_store(tmp_path / "d.svm", tmp_path / "d.store", numbers=100)
        stored, expected = read_store(tmp_path / "d.store"), parse_svmlight(tmp_path / "d.svm")
        assert n == 300 and stored.X.shape == expected.X.shape
        whole = sparse.vstack([part.matrix() for part in stored.X.parts])
        assert (whole != expected.X).nnz == 0
        assert np.array_equal(stored.y, expected.y)
        assert (stored.qid is None) == (not qid)
        if qid:
            assert np.array_equal(stored.qid, expected.qid)
            edges = np.cumsum([part.n_rows for part in stored.X.parts])[:-1]
            assert all(stored.qid[edge - 1] != stored.qid[edge] for edge in edges)


def test_an_index_0_that_turns_up_late_makes_all_count_from_0(tmp_path):
    lines = [f"{(-1) ** i} 1:1 3:{i}" for i in range(200)] + ["1 0:5"]
    (tmp_path / "d.svm").write_text("\n".join(lines))
    svmlight_to_store(tmp_path / "d.svm", tmp_path / "d.store", numbers=50)
    stored = read_store(tmp_path / "d.store")
    assert stored.index_base == 0 and stored.X.shape == (201, 4)
    with pytest.raises(fenchel.InvalidData, match=r"d\.svm:201:3: the index is 0"):
        svmlight_to_store(tmp_path / "d.svm", tmp_path / "d.store", index_base=1)


def test_a_fault_in_the_text_leaves_the_old_store(tmp_path):
    write_store(dataset(), tmp_path / "d.store")
    before = (tmp_path / "d.store").read_bytes()
    (tmp_path / "d.svm").write_text("1 1:1\n-1 1:x\n")
    with pytest.raises(fenchel.InvalidData, match=r"d\.svm:2:"):
        svmlight_to_store(tmp_path / "d.svm", tmp_path / "d.store")
    assert (tmp_path / "d.store").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["d.store", "d.svm"]


def test_any_damaged_byte_is_found(tmp_path):
    write_store(dataset(n=60), tmp_path / "d.store")
    sound = (tmp_path / "d.store").read_bytes()
    rng = np.random.default_rng(0)
    found = 0
    for place in rng.integers(0, len(sound), 150):
        damaged = bytearray(sound)
        damaged[place] ^= 1 << rng.integers(8)
        (tmp_path / "d.store").write_bytes(damaged)
        try:
            stored = read_store(tmp_path / "d.store")
            for part, old in zip(stored.X.parts, parts(sound, tmp_path), strict=True):
                assert (part.matrix() != old).nnz == 0  # what is between arrays may be anything
        except fenchel.InvalidData as error:
            assert "d.store" in str(error)
            found += 1
    assert found > 100


def parts(content, folder):
    (folder / "sound.store").write_bytes(content)
    return [part.matrix() for part in read_store(folder / "sound.store").X.parts]


def test_a_store_that_was_cut_off_or_is_something_else_is_refused(tmp_path):
    write_store(dataset(), tmp_path / "d.store")
    content = (tmp_path / "d.store").read_bytes()
    for cut in (0, 5, 100, len(content) // 2, len(content) - 1):
        (tmp_path / "d.store").write_bytes(content[:cut])
        with pytest.raises(fenchel.InvalidData, match=r"d\.store"):
            read_store(tmp_path / "d.store")
    newer = content[:-1] + b"\x02"
    (tmp_path / "d.store").write_bytes(newer)
    with pytest.raises(fenchel.InvalidData, match="newer fenchel"):
        read_store(tmp_path / "d.store")


def test_a_store_that_changes_under_a_run_is_refused(tmp_path):
    path = tmp_path / "d.store"
    write_store(dataset(), path)
    stored = read_store(path)
    problem = fenchel.problem(stored.X, stored.y, strength=1e-3)

    def touch(record):
        if record.iteration == 2:
            write_store(dataset(n=200), path)

    with pytest.raises(fenchel.InvalidData, match="changed while it was in use"):
        fenchel.minimize(problem, "bmrm", gap=1e-9, callback=touch)


def test_a_store_that_is_cut_short_in_use_is_refused_by_the_chunk(tmp_path):
    """Between two passes, and in the middle of one: never by a signal that ends the process."""
    path = tmp_path / "d.store"
    for when in ("between passes", "while a chunk is in use"):
        write_store(dataset(), path)
        done = in_child(
            f"""
            import os
            import fenchel
            from fenchel.data.store import read_store
            stored = read_store({str(path)!r})
            problem = fenchel.problem(stored.X, stored.y, strength=1e-3)
            first = stored.X.parts[0]
            def shorten(record=None):
                os.truncate({str(path)!r}, first.chunk[0].offset + 16)
            try:
                if {when == "between passes"}:
                    fenchel.minimize(problem, "bmrm", gap=1e-9, callback=shorten)
                with first.opened() as rows:
                    shorten()
                    print("sum", float(abs(rows.matrix()).sum()))
                first.squares(None)
            except fenchel.InvalidData as error:
                print("refused:", error)
            """
        )
        assert "refused:" in done and "chunk 0" in done
        assert ("sum" in done) == (when != "between passes")


def test_a_store_that_is_cut_short_while_it_is_read_is_refused_by_the_chunk(tmp_path, monkeypatch):
    path = tmp_path / "d.store"
    write_store(dataset(), path)
    first = read_store(path).X.parts[0]

    def shortening(file, *span):
        os.truncate(path, first.chunk[-1].offset)

    monkeypatch.setattr(store, "prefetch", shortening)
    first.after = first.chunk
    with pytest.raises(fenchel.InvalidData, match=r"cut short while it was in use.* chunk 0"):
        first.scores(np.zeros(first.n_columns))


def test_a_full_disk_under_the_store_leaves_nothing_half(tmp_path):
    write_store(dataset(n=60), tmp_path / "d.store")
    before = (tmp_path / "d.store").read_bytes()
    write_svmlight(tmp_path / "d.svm", dataset(n=600).X, dataset(n=600).y)
    done = in_child(
        f"""
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
        from fenchel.data.store_stream import svmlight_to_store
        try:
            svmlight_to_store({str(tmp_path / "d.svm")!r}, {str(tmp_path / "d.store")!r})
        except OSError as error:
            print("refused:", error)
        """
    )
    assert "refused:" in done and "untouched" in done
    assert (tmp_path / "d.store").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["d.store", "d.svm"]


def test_a_disk_that_is_really_full_is_named(tmp_path):
    """A file system of 64 kB, in a mount namespace of its own, where the system allows that."""
    write_svmlight(tmp_path / "d.svm", dataset(n=6000).X, dataset(n=6000).y)
    write_store(dataset(n=60), tmp_path / "old.store")
    (tmp_path / "disk").mkdir()
    fenchel_command = f"{sys.executable} -m fenchel convert d.svm disk/d.store"
    script = (
        "mount -t tmpfs -o size=64k none disk || exit 77; cp old.store disk/d.store; "
        f"{fenchel_command}; echo code $?; cmp old.store disk/d.store && ls -A disk"
    )
    try:
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script],
            capture_output=True,
            text=True,
            timeout=HANGS,
            cwd=tmp_path,
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"no file system of our own: {done.stderr}")
    assert done.stdout == "code 1\nd.store\n", done
    assert "disk/d.store: No space left on device while writing" in done.stderr
    assert "untouched" in done.stderr


@pytest.mark.slow
def test_data_ten_times_larger_than_the_memory_train_to_the_same_certificate(tmp_path):
    path = tmp_path / "large.store"
    large_store(path, n_rows=1000, n_numbers=225)  # a fit and its proof take some 25 numbers a row
    n_bytes = path.stat().st_size
    limit = n_bytes // 10
    script = f"""
        import resource, sys
        import fenchel, fenchel.driver, fenchel.posing, fenchel.data.store, fenchel.solvers.lbfgs
        import numpy as np
        X = np.random.default_rng(0).normal(size=(3000, 200))
        fenchel.minimize(fenchel.problem(X, np.sign(X[:, 0]), loss="logistic"), "lbfgs")
        X.T @ X  # so that BLAS has its buffers
        pages = int(open("/proc/self/statm").read().split()[0])
        if sys.argv[1:] == ["limited"]:
            most = 4096 * pages + {limit}
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        data = fenchel.data.store.read_store({str(path)!r})
        if sys.argv[1:] == ["limited"]:
            try:
                whole = [part.matrix() for part in data.X.parts]
            except MemoryError:
                whole = None
            assert whole is None, "the limit does not hold"
        problem = fenchel.problem(data.X, data.y, loss="logistic", strength=1e-3, engine="serial")
        result = fenchel.minimize(problem, "lbfgs", gap=1e-4, max_iterations=10)
        print(result.certificate.lower_bound.hex(), result.certificate.upper_bound.hex())
        """
    assert in_child(script, "limited") == in_child(script)


@pytest.mark.slow
def test_text_ten_times_larger_than_the_memory_is_streamed_to_the_same_certificate(tmp_path):
    path, (X, y) = tmp_path / "large.svm", data_for(losses.Logistic(), n=300)
    rng = np.random.default_rng(0)
    with open(path, "wb") as file:
        for _ in range(100):  # 60 MB
            rows = np.hstack([X[:100], rng.normal(size=(100, 296))])
            write_svmlight(tmp_path / "part.svm", rows, y[:100])
            file.write((tmp_path / "part.svm").read_bytes())
    (tmp_path / "small.svm").write_bytes(5 * (tmp_path / "part.svm").read_bytes())
    limit = path.stat().st_size // 10
    script = f"""
        import resource, sys
        import fenchel, fenchel.driver, fenchel.posing, fenchel.solvers.lbfgs
        import numpy as np
        from fenchel.data import svmlight
        from fenchel.data.svmlight_rows import stream_rows
        svmlight._BLOCK, svmlight._CHUNK = 1 << 18, 1 << 14  # the parser has room for the worst

        def train(path):
            data = stream_rows(path, numbers=1 << 14)
            problem = fenchel.problem(data.X, data.y, loss="logistic", engine="serial")
            return fenchel.minimize(problem, "lbfgs", gap=1e-4, max_iterations=2).certificate

        train({str(tmp_path / "small.svm")!r})
        np.eye(300) @ np.eye(300)  # so that BLAS has its buffers
        pages = int(open("/proc/self/statm").read().split()[0])
        if sys.argv[1:] == ["limited"]:
            most = 4096 * pages + {limit}
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        found = train({str(path)!r})
        print(found.lower_bound.hex(), found.upper_bound.hex())
        if sys.argv[1:] == ["limited"]:
            try:
                whole = svmlight.read_svmlight({str(path)!r})
            except MemoryError:
                whole = None
            assert whole is None, "the limit does not hold"
        """
    assert in_child(script, "limited") == in_child(script)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_threads", "solver", "loss"), [(1, "lbfgs", "logistic"), (2, "bmrm", "hinge")]
)
def test_no_more_than_a_chunk_for_each_thread_is_resident(tmp_path, n_threads, solver, loss):
    large, small, n_chunks, n_rows = tmp_path / "large.store", tmp_path / "small.store", 12, 700
    large_store(large, n_chunks, n_rows, 500)
    large_store(small, n_chunks, n_rows // 10, 500)
    script = f"""
        import fenchel
        from fenchel.data.store import read_store
        from fenchel.engines import Threads

        def memory(name):
            lines = open("/proc/self/status").read().splitlines()
            return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))

        def train(path):
            data = read_store(path)
            problem = fenchel.problem(data.X, data.y, loss={loss!r}, engine=Threads({n_threads}))
            fenchel.minimize(problem, {solver!r}, max_iterations=6)

        train({str(small)!r})  # imports, pools and buffers are the baseline
        open("/proc/self/clear_refs", "w").write("5")  # the peak starts anew
        before = memory("VmRSS")
        train({str(large)!r})
        print(memory("VmHWM") - before)
        """
    peak, chunk = int(in_child(script)), large.stat().st_size / n_chunks
    # Labels, scores and the like, w and its like; and what a proof computes of each row.
    vectors = 8 * 8 * (n_chunks * n_rows + 1000) + 8 * 64 * n_chunks * n_rows
    assert 0.5 * chunk < peak < 1.8 * chunk * n_threads + vectors


def large_store(path, n_chunks=60, n_rows=3000, n_numbers=75):
    """Synthetic rows, made chunk by chunk: 160 MB."""
    from fenchel.data.rows import SparseRows
    from fenchel.data.store import Piece, write_pieces

    def pieces():
        rng = np.random.default_rng(0)
        for _ in range(n_chunks):
            column = rng.integers(0, 1000, n_rows * n_numbers).astype(np.int32)
            value = rng.normal(size=n_rows * n_numbers)
            start = np.arange(0, n_rows * n_numbers + 1, n_numbers)
            rows = SparseRows(start, column, value, 1000)
            yield Piece(rows, np.sign(rows.scores(np.cos(np.arange(1000.0)))), None)

    write_pieces(pieces(), path, lambda: (1000, None, 1))


def in_child(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        capture_output=True,
        text=True,
        timeout=HANGS,
        env=os.environ | {"FENCHEL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_command_line_converts_trains_and_predicts(run, tmp_path):
    data = dataset()
    write_svmlight(tmp_path / "d.svm", data.X, data.y)
    done = run("convert", "d.svm", "d.store")
    assert done.code == 0 and "300 rows" in done.err and "rows a second" in done.err
    assert run("train", "d.svm", "-o", "m1", "--loss", "logistic").code == 0
    assert run("train", "d.store", "-o", "m2", "--loss", "logistic").code == 0
    assert run("predict", "m1", "d.svm").out == run("predict", "m2", "d.store").out
    assert run("evaluate", "m2", "d.store").code == 0
