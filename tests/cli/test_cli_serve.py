"""`fenchel serve MODEL`: the application by itself, and a real server on loopback."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette")

import httpx
from commands import HANGS, Command, rows, svmlight

import fenchel
from fenchel.cli.models import load
from fenchel.serve.predictions import Bounds, application

X, Z = rows()
NAMES = list("abcdef")
FRAME = pd.DataFrame(X, columns=NAMES)
CLASSES = np.where(Z > 0, "up", "down")


class Client:
    """Asks an application without a network."""

    def __init__(self, app: Any):
        self.app = app

    def get(self, path: str) -> httpx.Response:
        return asyncio.run(self.request("GET", path))

    def post(self, path: str, **given: Any) -> httpx.Response:
        return asyncio.run(self.request("POST", path, **given))

    async def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://model") as client:
            return await client.request(method, path, **given)


def client(model: Any, loss: str = "", **bounds: Any) -> Client:
    return Client(application(model, loss, Bounds(**bounds)))


def ask(service: Client, body: Any) -> Any:
    return service.post("/v1/predict", json=body)


@pytest.fixture(scope="module")
def named() -> Any:
    return fenchel.Classifier(loss="logistic").fit(FRAME, CLASSES)


def test_rows_are_answered_as_python_would(named: Any) -> None:
    service, rows_ = client(named, "logistic"), FRAME.iloc[:5]
    found = ask(service, {"rows": rows_.to_numpy().tolist(), "scores": True}).json()
    assert found["predictions"] == named.predict(rows_).tolist()
    assert found["classes"] == ["down", "up"]
    np.testing.assert_allclose(found["probabilities"], named.predict_proba(rows_), rtol=1e-12)
    np.testing.assert_allclose(found["scores"], named.decision_function(rows_), rtol=1e-12)
    turned = [dict(reversed(row.items())) for row in rows_.to_dict("records")]
    again = ask(service, {"rows": turned, "probabilities": False}).json()
    assert again["predictions"] == found["predictions"]
    assert again["probabilities"] is None and again["scores"] is None
    assert ask(service, {"rows": []}).json()["predictions"] == []


def test_rows_without_names_may_be_sparse() -> None:
    model = fenchel.Regressor(loss="huber").fit(X, Z)
    service = client(model)
    expected = model.predict([[0, 2.5, 0, 0, 0, 1], [0] * 6]).tolist()
    assert ask(service, {"rows": [{"1": 2.5, "5": 1}, {}]}).json()["predictions"] == expected
    model.index_base_ = 1
    service = client(model)
    assert ask(service, {"rows": [{"2": 2.5, "6": 1}, {}]}).json()["predictions"] == expected
    for key in ("0", "7", "x", "02", "-1", "9" * 40):
        said = ask(service, {"rows": [{key: 1.0}]})
        assert said.status_code == 422 and "those from 1 to 6" in said.json()["error"]


def test_sets_targets_and_offsets_are_answered() -> None:
    sets = [["b", "a"] if z > 0 else ["c"] for z in Z]
    model = fenchel.MultilabelClassifier(alpha=0.01).fit(X, sets)
    found = ask(client(model), {"rows": X[:4].tolist()}).json()
    flags = model.predict(X[:4])
    assert found["predictions"] == [
        [c for c, f in zip("abc", row, strict=True) if f] for row in flags
    ]
    several = fenchel.MultivariateRegressor().fit(X, np.stack([Z, -Z], axis=1))
    found = ask(client(several), {"rows": X[:4].tolist()}).json()
    assert found["predictions"] == several.predict(X[:4]).tolist()
    counts = fenchel.PoissonRegressor().fit(X, np.exp(Z).round())
    body = {"rows": X[:2].tolist(), "offset": [0.0, 1.0]}
    expected = counts.predict(X[:2], offset=np.array([0.0, 1.0])).tolist()
    assert ask(client(counts), body).json()["predictions"] == expected
    assert ask(client(counts), {**body, "offset": [1.0]}).status_code == 422
    assert ask(client(several), body).status_code == 422


def test_rows_of_tables_have_text_and_gaps(run: Command) -> None:
    Path("data.csv").write_text(
        "size,kind,day,y\n"
        + "".join(
            f"{k % 7},{'abc'[k % 3]},2024-01-{k % 28 + 1:02},{k % 3 > 0:d}\n" for k in range(60)
        )
        + ",a,2024-02-01,1\n"
    )
    run("train", "data.csv", "-o", "m", "--loss", "logistic", "--dates", "day")
    service = client(load(Path("m")), "logistic")
    lines = [line.split(",") for line in Path("data.csv").read_text().splitlines()[1:]]
    rows_ = [
        {"size": float(s) if s else None, "kind": kind, "day": day} for s, kind, day, _ in lines
    ]
    found = ask(service, {"rows": rows_}).json()
    expected = run("predict", "m", "data.csv", "--json").json
    assert found["predictions"] == expected["predictions"]
    np.testing.assert_allclose(found["probabilities"], expected["probabilities"])
    about = service.get("/v1/model").json()
    assert about["columns"] == {"size": "number", "kind": "text", "day": "date"}
    for change, said in (
        ({"day": "soon"}, "row 0: column 'day' is to hold a date"),
        ({"size": "big"}, "column 'size' has 'big' in row 0"),
    ):
        answer = ask(service, {"rows": [rows_[0] | change]})
        assert answer.status_code == 422 and said in answer.json()["error"]
    answer = ask(service, {"rows": [{"size": 1, "kind": "a"}]})
    assert answer.status_code == 422 and "row 0 lacks column 'day'" in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"", 400, "cannot be understood"),
        (b"{", 400, "cannot be understood"),
        (b"\xff\xfe", 400, "cannot be understood"),
        (b"[]", 400, "cannot be understood"),
        (b'{"row": []}', 400, "cannot be understood"),
        (b'{"rows": [["a"]]}', 400, "$.rows[0][0]"),
        (b'{"rows": [[NaN]]}', 400, "cannot be understood"),
        (b'{"rows": [[1, 2]]}', 422, "row 0 has 2 numbers; the model takes 6"),
        (b'{"rows": [[1, 2, 3, 4, 5, 6], {}]}', 422, "row 1 is of another kind"),
        (b'{"rows": [{"a": 1}]}', 422, "row 0 lacks column 'b'"),
        (b'{"rows": [{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}]}', 422, "a column 'g'"),
        (b'{"rows": [[1e999, 2, 3, 4, 5, 6]]}', 400, "out of range"),
        (b'{"rows": [[], [], []]}', 413, "at most 2 at a time"),
        (b'{"rows": [[' + b"1," * 500 + b"1]]}", 413, "more than 500 bytes"),
    ],
)
def test_bad_bodies_are_refused_with_what_is_wrong(
    named: Any, body: bytes, status: int, said: str
) -> None:
    service = client(named, max_rows=2, max_bytes=500)
    headers = {"content-type": "application/json"}
    found = service.post("/v1/predict", content=body, headers=headers)
    assert found.status_code == status and said in found.json()["error"]


def test_other_requests_are_refused_in_json_too(named: Any) -> None:
    service = client(named)
    found = service.post("/v1/predict", content=b"{}", headers={"content-type": "text/plain"})
    assert found.status_code == 415 and found.json()["error"]
    assert service.get("/nothing").status_code == 404
    assert service.get("/v1/predict").status_code == 405
    assert "405" not in service.get("/v1/predict").json()["error"]
    hinge = fenchel.Classifier().fit(X, CLASSES)
    found = ask(client(hinge), {"rows": X[:1].tolist(), "probabilities": True})
    assert found.status_code == 422 and "no probabilities" in found.json()["error"]


def test_the_service_says_what_it_is(named: Any) -> None:
    service = client(named, "logistic", max_rows=7)
    assert service.get("/health").json() == {"status": "ok", "version": fenchel.__version__}
    about = service.get("/v1/model").json()
    assert about["estimator"] == "Classifier" and about["loss"] == "logistic"
    assert about["feature_names"] == NAMES and about["classes"] == ["down", "up"]
    assert about["probabilities"] is True and about["max_rows"] == 7
    assert 0 <= about["gap"] <= 1e-4
    schema = service.get("/openapi.json").json()
    assert schema["openapi"].startswith("3.1")
    assert {"/health", "/v1/model", "/v1/predict"} == set(schema["paths"])
    assert set(schema["components"]["schemas"]) >= {
        "PredictRows",
        "Predictions",
        "Refusal",
        "ModelFacts",
    }


def test_what_takes_too_long_is_given_up() -> None:
    class Slow(fenchel.Classifier):
        def predict(self, X: Any) -> Any:
            time.sleep(0.5)
            return super().predict(X)

    service = client(Slow().fit(X, CLASSES), seconds=0.05)
    found = ask(service, {"rows": X[:1].tolist()})
    assert found.status_code == 503 and "send fewer rows" in found.json()["error"]


# A real server.


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    folder = tmp_path_factory.mktemp("serve")
    fenchel.save(fenchel.Classifier(loss="logistic").fit(X, CLASSES), folder / "m")
    command = [sys.executable, "-m", "fenchel", "serve", "m", "--port", "0", "--json"]
    running = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    line = running.stdout.readline()
    assert line, running.communicate()[1]
    try:
        yield running, json.loads(line)
    finally:
        running.kill()
        running.communicate()


def test_a_server_answers_on_loopback_and_ends_when_asked(server: Any) -> None:
    running, said = server
    assert said["host"] == "127.0.0.1" and said["url"].endswith(str(said["port"]))
    assert httpx.get(f"{said['url']}/health").json()["status"] == "ok"
    model = fenchel.Classifier(loss="logistic").fit(X, CLASSES)
    answers: list[Any] = []

    def one(k: int) -> None:
        found = httpx.post(f"{said['url']}/v1/predict", json={"rows": X[k : k + 3].tolist()})
        answers.append((k, found.json()["predictions"]))

    threads = [threading.Thread(target=one, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 6
    for k, found in answers:
        assert found == model.predict(X[k : k + 3]).tolist()
    with socket.create_connection(("127.0.0.1", said["port"])) as raw:
        raw.sendall(b"nonsense\r\n\r\n")
        assert b"400" in raw.recv(100)
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=HANGS)
    assert running.returncode == 143 and out == ""
    assert "Traceback" not in err and "serve m at http://127.0.0.1:" in err


def test_what_cannot_be_served_is_refused(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m")
    for flags, said in {
        ("none",): "there is no file none",
        ("m", "--max-rows", "0"): "--max-rows must be",
        ("m", "--timeout", "0"): "--timeout must be",
        ("m", "--certificate", "no.pem", "--key", "no.pem"): "there is no file no.pem",
        ("m", "--certificate", "m"): "certificate and key belong together",
    }.items():
        done = run("serve", *flags, "--port", 0)
        assert done.code in (2, 3) and said in done.err


def test_rows_are_served_by_owner_and_the_old_name_says_so(run: Command) -> None:
    data = svmlight("data.svm")
    done = run("serve", data, "--loss", "nu_novelty", "--nu", 0.3)
    assert "served by fenchel owner" in done.err and "cannot be served" in done.err
    done = run("owner", data, "--loss", "nu_novelty", "--nu", 0.3)
    assert "warning" not in done.err and "cannot be served" in done.err
    done = run("owner", data, "--loss", "novelty", "--rho", -1)
    assert done.code == 2 and "--rho" in done.err
    assert "POST" in run("serve", "--help").out
    assert Path("data.svm").exists()
