"""Files are old or new, never half, whatever happens while they are written."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from commands import HANGS

from fenchel._system.files import destination, replacing
from fenchel.errors import InvalidData

# Children are forked, and do nothing but write files.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

OLD, NEW = b"old" * 1000, b"new" * 50_000


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(OLD)
    return path


def put(path, content=NEW):
    with replacing(path) as file:
        file.write(content)


def alone(path):
    """No temporary file was left beside it."""
    return [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_new_file_appears_whole(tmp_path):
    put(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == NEW
    assert alone(tmp_path / "model")


def test_an_old_file_is_replaced_and_never_missing(target):
    with replacing(target) as file:
        file.write(NEW)
        file.flush()
        assert target.read_bytes() == OLD
    assert target.read_bytes() == NEW
    assert alone(target)


def test_a_block_may_close_the_file_itself(target):
    with replacing(target) as file:
        file.write(NEW)
        file.close()
    assert target.read_bytes() == NEW


def test_relative_paths_and_names_at_the_limit_are_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("model", "m" * 255):
        put(name)
        assert Path(name).read_bytes() == NEW


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_any_exception_leaves_the_old_file_and_nothing_else(target, problem):
    """FAULTS #24, #25"""
    with pytest.raises(problem), replacing(target) as file:
        file.write(NEW)
        raise problem
    assert target.read_bytes() == OLD
    assert alone(target)


def test_a_failed_first_write_leaves_nothing(tmp_path):
    with pytest.raises(ValueError), replacing(tmp_path / "model"):
        raise ValueError
    assert not list(tmp_path.iterdir())


# A child is killed, or fails, before each step in turn. It is forked, so that steps are cheap.


def in_child(task):
    """How a forked child ended: its exit status, or minus the signal."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            task()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill_at(step, path):
    """Writes in chunks, and is killed just before the step-th call of a C function."""
    calls = 0

    def watch(frame, event, argument):
        nonlocal calls
        calls += event == "c_call"
        if calls == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(watch)
    with replacing(path) as file:
        for start in range(0, len(NEW), len(NEW) // 10):
            file.write(NEW[start : start + len(NEW) // 10])
            file.flush()
    sys.setprofile(None)


@pytest.mark.slow
def test_a_process_killed_at_any_step_leaves_the_old_file_or_the_new_one(target):
    """FAULTS #24"""
    seen, step = [], 0
    while True:
        step += 1
        ended = in_child(lambda step=step: kill_at(step, target))
        content = target.read_bytes()
        assert content in (OLD, NEW)
        seen.append(content == NEW)
        if ended == 0:
            break
        assert ended == -signal.SIGKILL
        target.write_bytes(OLD)
    assert step > 40  # opening, ten writes, two syncs, the renaming
    assert seen[0] is False and seen[-1] is True and sorted(seen) == seen
    assert seen.count(True) > 2  # it was also killed after the renaming


def limited(n_bytes, path):
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
    try:
        put(path)
    except OSError as error:
        assert str(path) in str(error) and "untouched" in str(error)
        raise SystemExit from None
    os._exit(7)


@pytest.mark.parametrize("n_bytes", [0, 1, 4096, 8192, len(NEW) - 1])
def test_a_full_disk_leaves_the_old_file_and_says_so(target, n_bytes):
    """FAULTS #25"""
    assert in_child(lambda: limited(n_bytes, target)) == 1
    assert target.read_bytes() == OLD
    assert alone(target)


def test_enough_room_is_enough(target):
    assert in_child(lambda: limited(len(NEW), target)) == 7
    assert target.read_bytes() == NEW


FULL_DISK = """
import sys
from fenchel._system.files import replacing
def put(content):
    with replacing(sys.argv[1]) as file:
        file.write(content)
put(b"old")
try: put(bytes(1 << 20))
except OSError as error: print(error)
print(open(sys.argv[1]).read())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_truly_full_disk_leaves_the_old_file(tmp_path):
    """FAULTS #25"""
    mount = f"mount -t tmpfs -o size=64k none {tmp_path} || exit 77"
    run = f"{mount}; '{sys.executable}' -c \"$0\" {tmp_path}/model; ls -A {tmp_path}"
    ours = subprocess.run(  # in a name space of its own, which takes the mount with it
        ["unshare", "--mount", "sh", "-c", run, FULL_DISK], capture_output=True, text=True
    )
    if ours.returncode in (1, 77):
        pytest.skip("this machine does not let us mount a file system")
    error, *rest = ours.stdout.splitlines()
    assert "No space left on device while writing" in error
    assert rest == ["old", "model"]


def test_ctrl_c_while_writing_leaves_no_temporary_file(target):
    """FAULTS #24"""
    loop = "while True:\n file.write(bytes(1000)); file.flush(); print(flush=True)"
    code = "from fenchel._system.files import replacing\n"
    code += f"with replacing({str(target)!r}) as file:\n {loop}"
    code = code.replace("\n file.write", "\n  file.write")
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    for _ in range(3):
        child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=HANGS)
    assert b"KeyboardInterrupt" in errors
    assert target.read_bytes() == OLD
    assert alone(target)


# 26: what may be written to.


def test_a_symbolic_link_stays_and_what_it_points_to_is_replaced(target):
    """FAULTS #26"""
    (target.parent / "folder").mkdir()
    first, second = target.parent / "first", target.parent / "folder" / "second"
    first.symlink_to("folder/second")
    second.symlink_to("../model")
    put(first)
    assert first.is_symlink() and second.is_symlink() and not target.is_symlink()
    assert target.read_bytes() == NEW


def test_a_link_to_a_missing_file_creates_it(tmp_path):
    """FAULTS #26"""
    (tmp_path / "link").symlink_to("model")
    put(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "model").read_bytes() == NEW


def test_links_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        put(tmp_path / "a")


def refused(path, *said):
    before = os.lstat(path)
    with pytest.raises(InvalidData) as error, replacing(path):
        pytest.fail("the block was entered")
    for phrase in (str(path), *said):
        assert phrase in str(error.value)
    after = os.lstat(path)
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)


def test_folders_pipes_and_sockets_are_refused_and_stay(tmp_path):
    """FAULTS #26"""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(tmp_path):
        listener.bind("socket")
    refused(tmp_path / "folder", "a folder")
    refused(tmp_path / "pipe", "a named pipe")
    refused(tmp_path / "socket", "a socket")


def test_devices_are_refused_and_stay(tmp_path):
    """FAULTS #26"""
    (tmp_path / "link").symlink_to("/dev/null")
    refused(Path("/dev/null"), "a device", "regular file")
    refused(tmp_path / "link", "a device")


@pytest.mark.skipif(os.geteuid() != 0, reason="making a device node needs root")
def test_a_device_node_of_our_own_is_refused_and_stays(tmp_path):
    """FAULTS #26"""
    os.mknod(tmp_path / "node", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    refused(tmp_path / "node", "a device")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="folder to write to does not exist"):
        put(tmp_path / "absent" / "model")


def as_nobody(task):
    """In a child without root's powers."""

    def demoted():
        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            task()
        except PermissionError as error:
            assert "write-protected" in str(error)
            os._exit(13)

    return in_child(demoted)


def test_a_write_protected_folder_or_file_is_refused():
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folder is closed to others
        path = Path(folder, "model")
        path.write_bytes(OLD)
        path.chmod(0o666)
        os.chmod(folder, 0o555)
        assert as_nobody(lambda: put(path)) == 13
        os.chmod(folder, 0o777)
        assert as_nobody(lambda: put(path, OLD)) == 0
        path.chmod(0o444)
        assert as_nobody(lambda: put(path)) == 13
        assert path.read_bytes() == OLD


def test_the_mode_of_an_old_file_is_kept(target):
    """FAULTS #26"""
    for mode in (0o600, 0o640, 0o666, 0o755):
        target.chmod(mode)
        put(target)
        assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_gets_the_mode_the_user_asked_for(tmp_path, mask):
    """FAULTS #26"""
    before = os.umask(mask)
    try:
        put(tmp_path / "model")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o666 & ~mask


def test_a_destination_is_checked_without_being_touched(target):
    before = target.stat()
    assert destination(target) == target
    assert target.stat() == before
    assert alone(target)
    with pytest.raises(InvalidData, match="a folder"):
        destination(target.parent)
