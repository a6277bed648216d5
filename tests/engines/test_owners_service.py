"""The owner's service on a port: who is silent, slow or greedy locks nobody out."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time

import numpy as np
import pytest

pytest.importorskip("starlette")

import httpx
from attackers import Served
from credentials import authority, issued

import fenchel
from fenchel.serve.connections import Patience
from fenchel.serve.owner import owned

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

X = np.random.default_rng(0).normal(size=(200, 3))
Y = np.sign(X[:, 0])
PATIENCE = {"head": 0.4, "body": 0.4, "handshake": 0.4, "idle": 1}
HANGS = 20.0


@pytest.fixture
def service():
    """`service(connections=...)` gives a running one."""
    with contextlib.ExitStack() as stack:

        def start(files=None, **patience):
            owner = owned(X, Y, loss="logistic")
            served = Served(owner, Patience(**PATIENCE | patience), **files or {})
            stack.callback(served.stop)
            return served

        yield start


def connect(served):
    client = socket.create_connection(("127.0.0.1", served.port), timeout=HANGS)
    return contextlib.closing(client)


def dropped(client):
    """Whether the other side has closed; what it says before that is passed over."""
    with contextlib.suppress(ConnectionResetError):
        while client.recv(4096):
            pass
    return True


def shape(served):
    return httpx.get(f"{served.url}/v2/shape", trust_env=False, timeout=HANGS)


def test_silent_connections_are_dropped_and_lock_nobody_out(service):
    served = service(connections=8, each=100, head=3.0)
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connect(served)) for _ in range(30)]
        time.sleep(0.1)
        assert shape(served).status_code == 200  # at once: the oldest made room
        assert dropped(silent[0])
    brief = service()
    with connect(brief) as client:
        assert dropped(client)


def test_a_head_or_a_body_that_trickles_in_wins_no_time(service):
    served = service()
    head = b"POST /v2/evaluate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    body = head + b"content-length: 1000\r\n\r\n"
    nobody = b"POST /nowhere HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n"
    for sent in (b"GET /v2/shape HT", body, nobody):
        with connect(served) as client:
            client.sendall(sent)
            began = time.monotonic()
            with pytest.raises(OSError):  # broken pipe, or reset
                while time.monotonic() < began + HANGS:
                    client.sendall(b" ")
                    time.sleep(0.05)
            assert time.monotonic() < began + HANGS
    assert shape(served).status_code == 200


def test_a_body_that_does_not_come_is_said_so(service):
    served = service()
    with connect(served) as client:
        client.sendall(
            b"POST /v2/evaluate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
            b"content-length: 1000\r\n\r\n"
        )
        said = b""
        while part := client.recv(4096):
            said += part
    assert said.startswith(b"HTTP/1.1 408") and b"did not come within 0.4 s" in said


def test_requests_may_follow_each_other_on_one_connection(service):
    served = service()
    with httpx.Client(trust_env=False, timeout=HANGS) as client:
        for pause in (0.0, 0.6, 0.0):  # longer than for a head: nothing has begun
            time.sleep(pause)
            assert client.get(f"{served.url}/v2/shape").status_code == 200


def test_one_client_has_so_many_connections(service, tmp_path):
    ours = authority(tmp_path, "ours")
    certificate, key = issued(tmp_path, "owner", ours)
    ca = str(tmp_path / "ours.pem")
    files = {"certificate": certificate, "key": key, "authority": ca}
    served = service(files, each=2, head=5.0)
    greedy, other = (issued(tmp_path, name, ours) for name in ("greedy", "other"))

    def tls(names):
        context = ssl.create_default_context(cafile=ca)
        context.load_cert_chain(*names)
        raw = socket.create_connection(("127.0.0.1", served.port), timeout=HANGS)
        return contextlib.closing(context.wrap_socket(raw, server_hostname="127.0.0.1"))

    def answered(client):
        try:
            client.sendall(b"GET /v2/shape HTTP/1.1\r\nhost: a\r\n\r\n")
            return client.recv(100).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    with tls(greedy) as one, tls(greedy) as two, tls(greedy) as three, tls(other) as friend:
        assert [answered(each) for each in (one, two, three, friend)] == [True, True, False, True]
    with connect(served) as silent:  # without a handshake
        assert dropped(silent)


def test_a_patience_that_is_none_is_refused():
    for settings in ({"head": 0.0}, {"each": 0}, {"idle": -1}):
        with pytest.raises(fenchel.InvalidData):
            Patience(**settings)
