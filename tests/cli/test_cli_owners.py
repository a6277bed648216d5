"""`fenchel owner` and `fenchel train --engine owners:...`, with real processes on loopback."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")

from commands import HANGS, rows
from credentials import authority, issued

import fenchel
from fenchel.data.svmlight_writing import write_svmlight
from fenchel.engines.urls import read_urls

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.xdist_group("owners"),  # who take a while to start
]

X, Z = rows(600)
Y = np.sign(Z)
TRAIN = ("train", "--engine", "owners:owners.txt", "-o", "model", "--loss", "logistic")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two parts of the rows, all of them, and certificates."""
    folder = tmp_path_factory.mktemp("owners")
    named = np.where(Y > 0, 7.0, 3.0)
    for name, part in (("0", slice(0, 250)), ("1", slice(250, 600)), ("all", slice(0, 600))):
        write_svmlight(folder / f"{name}.svm", X[part], named[part])
    ours = authority(folder, "ca")
    issued(folder, "owner", ours)
    issued(folder, "us", ours)
    return folder


@pytest.fixture(scope="module")
def owners(folder):
    """The URLs of both parts' owners, and of one of all rows who wants certificates."""
    theirs = ("--certificate", "owner.pem", "--key", "owner.key", "--authority", "ca.pem")
    running, logs = [], [folder / f"{name}.log" for name in ("0", "1", "all")]
    for log, flags in zip(logs, ((), (), theirs), strict=True):
        command = ("owner", f"{log.stem}.svm", "--loss", "logistic", "--port", "0", *flags)
        with open(log, "w") as file:
            fenchel_command = [sys.executable, "-m", "fenchel", *command]
            running.append(subprocess.Popen(fenchel_command, stderr=file, cwd=folder))
    try:
        *parts, whole = map(url_of, running, logs)
        yield parts, whole
        for each in running:
            each.send_signal(signal.SIGTERM)
        assert [each.wait(timeout=HANGS) for each in running] == [143, 143, 143]
    finally:
        for each in running:
            each.kill()


def url_of(owner, log):
    """Where an owner listens: on a port that the system chose, as the log says."""
    while not (said := re.search(r"running on (https?://127\.0\.0\.1:\d+)", log.read_text())):
        assert owner.poll() is None, log.read_text()
        time.sleep(0.05)
    return said[1]


def list_owners(*urls):
    Path("owners.txt").write_text("# who has rows\n\n" + "\n".join(f"{url}  # one" for url in urls))


def test_a_model_is_trained_across_owners_as_on_all_rows(run, owners, folder):
    list_owners(*owners[0])
    done = run(*TRAIN, "--gap", "5e-3", "--json", "--proof", "proof")
    assert done.code == 0, done.err
    checked = run("verify", "model", "--proof", "proof", "--engine", "owners:owners.txt", "--json")
    assert checked.code == 0 and checked.json["runs"][0]["gap"] <= 5e-3, checked.err
    bounds = {name: done.json["runs"][0][name] for name in ("lower_bound", "objective")}
    assert bounds == pytest.approx({name: checked.json["runs"][0][name] for name in bounds})
    for name in ("0.log", "1.log"):
        assert "query 1: value and gradient" in (folder / name).read_text()
    assert "ask 2 owners: 600 rows, 6 features" in done.err
    assert "classes: 3 is -1, 7 is +1" in done.err
    assert (done.json["rows"], done.json["nonzeros"]) == (600, None)
    rows = folder / "all.svm"
    assert run("train", rows, "-o", "whole", "--loss", "logistic", "--gap", "5e-3").code == 0
    model, whole = fenchel.load("model"), fenchel.load("whole")
    assert model.objective_ == pytest.approx(whole.objective_, rel=5e-3)
    assert model.coef_ == pytest.approx(whole.coef_, rel=0.3, abs=0.3)
    assert (model.index_base_, model.classes_.tolist()) == (1, [3.0, 7.0])
    predicted = [run("predict", name, rows).out.split() for name in ("model", "whole")]
    assert np.mean(np.array(predicted[0]) == np.array(predicted[1])) > 0.97


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--loss", "hinge"), "the owners serve --loss logistic; got --loss hinge"),
        (("--no-intercept",), "--intercept; got loss=Logistic() and --no-intercept"),
        (("--balanced",), "--balanced is a matter of rows"),
        (("--target", "y"), "--target is a matter of rows"),
        (("--loss", "poisson", "--exposure", "e"), "--exposure is a matter of rows"),
        (("--solver", "sdca"), "sdca cannot minimise"),
    ],
)
def test_what_owners_cannot_do_is_refused(run, owners, flags, said):
    list_owners(*owners[0])
    done = run(*TRAIN, *flags)
    assert done.code == 2 and said in done.err, done.err


def test_an_interrupted_run_goes_on_with_the_same_owners_elsewhere(run, owners):
    list_owners(*owners[0])
    settings = ("--solver", "bmrm", "--gap", "1e-12")
    assert run(*TRAIN, *settings, "--max-iterations", "16").code == 4
    elsewhere = [url.replace("127.0.0.1", "localhost") for url in owners[0]]
    Path("moved.txt").write_text("\n".join(elsewhere))
    moved = ("--max-iterations", "20", "--engine", "owners:moved.txt")
    more = run("resume", "model.checkpoint", *moved)
    assert more.code == 4 and fenchel.load("model").n_iter_ == 20, more.err
    refused = run("resume", "model.checkpoint", "--engine", "serial")
    assert refused.code == 2 and "does not go on across owners" in refused.err


def test_certificates_are_files_that_flags_name(run, owners, folder):
    list_owners(owners[1])
    us, key, ca = folder / "us.pem", folder / "us.key", folder / "ca.pem"
    mine = ("--certificate", us, "--key", key)
    assert run(*TRAIN, *mine, "--authority", ca).code == 0
    for flags, code, said in (
        (("--authority", ca), 5, "does it want certificate and key"),
        (mine, 5, "is its certificate one of the authority"),
        (("--certificate", "none.pem", "--key", key), 2, "--certificate: there is no file"),
        (("--certificate", us), 3, "certificate and key belong together"),
        (("--certificate", us, "--key", us), 3, "no certificate and its key"),
        (("--authority", key), 3, "holds no certificate"),
    ):
        done = run(*TRAIN, *flags)
        assert done.code == code and said in done.err, done.err


def test_what_cannot_be_served_is_said(run, folder):
    rows = folder / "0.svm"
    for flags, said in (
        (("--loss", "nu_novelty", "--nu", "0.3"), "cannot be served"),
        (("--mask-key", "a"), "--mask-key and --mask-peers belong together"),
        (("--mask-key", "a", "--mask-peers", "b"), "--mask-key: a cannot be read"),
        (("--crowd", "0"), "--crowd must be"),
        (("--privacy", "-1"), "must be"),
    ):
        done = run("owner", rows, "--port", "0", "--loss", "logistic", *flags)
        assert done.code in (2, 3) and said in done.err, done.err


def test_data_are_a_file_or_owners(run, monkeypatch):
    monkeypatch.setattr("fenchel.engines.owners._PAUSE", 0.01)
    write_svmlight("all.svm", X, Y)
    list_owners("http://127.0.0.1:1")
    for arguments, said in (
        (("train", "-o", "model"), "no DATA"),
        ((*TRAIN, "all.svm"), "leave out all.svm"),
        (("train", "all.svm", "-o", "model", "--key", "all.svm"), "--key is for owners"),
        (("train", "-o", "model", "--engine", "owners:none.txt"), "there is no file 'none.txt'"),
    ):
        done = run(*arguments)
        assert done.code == 2 and said in done.err, done.err
    done = run(*TRAIN)
    assert done.code == 5 and "http://127.0.0.1:1 cannot be reached" in done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no owner"),
        ("# https://a\n\n", "names no owner"),
        ("https://a\nftp://b\n", ":2: an owner's URL begins"),
        ("\nhttps:/a\n", ":2: an owner's URL begins"),
        ("https://a:port", ":1: this is no URL"),
        ("https://[a", ":1: this is no URL"),
        ("https://a?x=1", ":1: an owner's URL has no query"),
        ("https://a https://b", ":1: an owner's URL has no query and no blanks"),
        ("https://a\nhttps://b\nhttps://a", ":3: the same URL stands on line 1"),
    ],
)
def test_a_line_that_is_no_owner_is_named(tmp_path, text, said):
    (tmp_path / "owners.txt").write_text(text)
    with pytest.raises(fenchel.InvalidData, match=r"owners\.txt") as refused:
        read_urls(tmp_path / "owners.txt")
    assert said in str(refused.value)


def test_a_file_of_owners_is_read_in_order(tmp_path):
    (tmp_path / "o").write_text("  https://a:1/  # first\n\n#\nhttp://[::1]:2\r\n")
    assert read_urls(tmp_path / "o") == ["https://a:1/", "http://[::1]:2"]
    (tmp_path / "o").write_bytes(b"\xff\xfe")
    with pytest.raises(fenchel.InvalidData, match="no text"):
        read_urls(tmp_path / "o")
