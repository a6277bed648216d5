"""Owners who answer with sums: models as from all rows, and what they refuse."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("starlette")

import httpx
import msgspec
import schemathesis
from attackers import Served, Together
from catalogue import data_for
from credentials import authority, issued
from hypothesis import HealthCheck, settings
from sklearn.base import clone

import fenchel
from fenchel import losses
from fenchel.engines.messages import Answer, Query, packed
from fenchel.engines.owners import Owners
from fenchel.errors import HostLost
from fenchel.result import Status
from fenchel.serve.app import application
from fenchel.serve.guard import Limits, Refused
from fenchel.serve.owner import owned
from fenchel.serve.server import Address
from fenchel.serve.sessions import Sessions
from fenchel.witness import Tangency, Witness

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

X, Y = data_for(losses.Logistic(), n=6000)


class InProcess:
    """A client of an application, without a socket."""

    def __init__(self, app):
        self.transport = httpx.ASGITransport(app)

    def request(self, *args, **settings):
        async def send():
            async with httpx.AsyncClient(
                transport=self.transport, base_url="http://127.0.0.1"
            ) as client:
                return await client.request(*args, **settings)

        return asyncio.run(send())

    def get(self, path):
        return self.request("GET", path)

    def post(self, path, **settings):
        return self.request("POST", path, **settings)


@pytest.fixture
def served():
    """`served(owner, ...)` gives a URL."""
    running = []

    def start(owner, **files):
        running.append(Served(owner, **files))
        return running[-1].url

    yield start
    for each in running:
        each.stop()


def part(rows, loss="logistic", **options):
    limits = Limits(**{"min_rows": 10} | options.pop("limits", {}))
    return owned(X[rows], Y[rows], loss=loss, strength=1e-2, limits=limits, **options)


GAP = 5e-3
THIRDS = [slice(0, 1500), slice(1500, 3500), slice(3500, 6000)]


@pytest.mark.parametrize(
    ("solver", "loss", "regularizer", "intercept"),
    [
        ("lbfgs", "logistic", "l2", False),
        ("auto", "logistic", "l2", True),
        ("bmrm", "hinge", "l2", False),
        ("owlqn", "logistic", "l1", False),
        ("auto", "squared_hinge", "elastic_net", True),
    ],
)
def test_owners_train_the_model_of_all_rows(served, solver, loss, regularizer, intercept):
    urls = [served(part(rows, loss, intercept=intercept)) for rows in THIRDS]
    settings = {
        "loss": loss,
        "regularizer": regularizer,
        "strength": 1e-2,
        "intercept": intercept,
    }
    problem = fenchel.problem(engine=Owners(urls), **settings)
    result = fenchel.minimize(problem, solver, gap=GAP)
    whole = fenchel.minimize(fenchel.problem(X, Y, **settings), gap=GAP)
    assert result.converged and problem.risk.n_rows == 6000
    assert result.lower_bound <= whole.objective and whole.lower_bound <= result.objective
    assert result.objective == pytest.approx(whole.objective, rel=2 * GAP)
    assert result.w.shape == whole.w.shape
    again = fenchel.problem(engine=Owners(urls), **settings)
    certificate = fenchel.verify(result, again)
    assert certificate.source == "witness" and certificate.gap <= GAP
    assert certificate.lower_bound == pytest.approx(result.lower_bound, rel=1e-9)
    assert certificate.upper_bound == pytest.approx(result.objective, rel=1e-12)


def test_owners_do_not_confirm_what_was_forged(served):
    urls = [served(part(rows, intercept=True)) for rows in THIRDS]
    problem = fenchel.problem(engine=Owners(urls), loss="logistic", strength=1e-2, intercept=True)
    result = fenchel.minimize(problem, gap=1e-3)
    bounds, witness = result.certificate, result.witness
    first = witness.tangencies[0]
    moved = [first._replace(w=first.w + 1.0), *witness.tangencies[1:]]
    for changes, said in (
        ({"certificate": replace(bounds, lower_bound=bounds.upper_bound)}, "the witness proves"),
        ({"certificate": replace(bounds, upper_bound=0.9 * bounds.upper_bound)}, "objective at w"),
        ({"intercept": result.intercept + 1}, "objective at w"),
        ({"w": result.w[:-1]}, "finite numbers"),
        ({"witness": replace(witness, tangencies=moved)}, "unpenalised|proves"),
        ({"witness": replace(witness, weights=2 * np.array(witness.weights))}, "add up"),
        ({"witness": replace(witness, alpha=np.zeros(300))}, "nothing else"),
        ({"witness": Witness([Tangency(np.zeros(3))], [1.0])}, "another problem"),
    ):
        with pytest.raises(fenchel.InvalidCertificate, match=said):
            fenchel.verify(replace(result, **changes), problem)
    bare = fenchel.verify(replace(result, witness=None), problem)
    assert bare.source.startswith("tangent") and 0 <= bare.lower_bound <= bounds.upper_bound


def test_a_checkpoint_goes_on_with_owners(served, tmp_path):
    urls = [served(part(rows)) for rows in THIRDS]

    def run(iterations):
        problem = fenchel.problem(engine=Owners(urls), loss="logistic", strength=1e-2)
        return fenchel.minimize(
            problem, "bmrm", gap=1e-9, max_iterations=iterations, checkpoint=tmp_path / "run"
        )

    run(8)
    assert len(run(16).history) == 16


def test_certificates_are_needed_on_both_sides(served, tmp_path):
    ours, theirs = authority(tmp_path, "ours"), authority(tmp_path, "theirs")
    host, key = issued(tmp_path, "owner", ours)
    ca = str(tmp_path / "ours.pem")
    url = served(part(slice(0, 100)), certificate=host, key=key, authority=ca)
    good, wrong = issued(tmp_path, "solver", ours), issued(tmp_path, "stranger", theirs)

    def shapes(files, believed):
        certificate, key = files or (None, None)
        return Owners([url], certificate=certificate, key=key, authority=believed).shapes

    assert shapes(good, ca)[0].n_rows == 100
    for files, believed in (
        (None, ca),  # no certificate
        (wrong, ca),  # of another authority
        (good, str(tmp_path / "theirs.pem")),  # an owner whom we do not believe
    ):
        with pytest.raises(HostLost, match="cannot be reached"):
            shapes(files, believed)
    with pytest.raises(HostLost):
        Owners([url.replace("https", "http")]).shapes  # noqa: B018


def test_nobody_listens_beyond_loopback_without_certificates():
    assert Address().host == "127.0.0.1"
    with pytest.raises(fenchel.Incompatible, match="certificate"):
        Address(host="0.0.0.0")
    with pytest.raises(fenchel.Incompatible, match="all three"):
        Address(certificate="a.pem")


SESSION = "0" * 32  # stands for one that `asked` opens


def query(w=None, number=1, **changes):
    w = np.zeros(4) if w is None else w
    fields = {"session": SESSION, "round": number, "kind": "gradient", "w": packed(w)} | changes
    return msgspec.json.encode(fields)


def opened(client):
    response = client.post("/v2/session", json={"together": []})
    return response.json()["session"]


def asked(client, body, kind="application/json", session=None):
    name = (opened(client) if session is None else session).encode()
    body = body.replace(SESSION.encode(), name)
    return client.post("/v2/evaluate", content=body, headers={"content-type": kind})


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (query(np.zeros(5)), 422, "32 bytes"),
        (query(np.array([0.0, np.nan, 0.0, 0.0])), 422, "nan"),
        (query(np.full(4, np.inf)), 422, "nan or inf"),
        (query(np.full(4, 1e9)), 403, "nothing is told at this point"),
        (query(np.full(4, 1e200)), 403, "nothing is told at this point"),
        (query(session="1" * 32), 410, "open another"),
        (query(kind="rows"), 400, "understood"),
        (query(number=0), 400, "understood"),
        (query(session="me"), 400, "understood"),
        (query(more=1), 400, "understood"),
        (query().replace(b"AAAA", b"?"), 400, "understood"),
        (b"\x80\x04", 400, "understood"),
        (b"[" * 2000, 400, "understood"),
        (b" " * 40_000, 413, "bytes"),
    ],
)
def test_what_an_owner_refuses_is_said_and_logged(body, status, said, caplog):
    client = InProcess(application(part(slice(0, 100))))
    with caplog.at_level(logging.INFO, "fenchel.serve"):
        response = asked(client, body)
    assert response.status_code == status and said in response.json()["error"]
    if status in (403, 422):
        assert "refused" in caplog.text


def test_a_round_is_answered_once_for_as_long_as_the_service_runs(caplog):
    client = InProcess(application(part(slice(0, 100))))
    first = opened(client)
    with caplog.at_level(logging.INFO, "fenchel.serve"):
        assert asked(client, query(number=2), session=first).status_code == 200
        assert asked(client, query(number=2), session=first).status_code == 409  # replayed
        assert asked(client, query(number=1), session=first).status_code == 409
        assert asked(client, query(number=3), session=first).status_code == 200
        assert asked(client, query()).status_code == 200  # another session
        for _ in range(70):  # which come and go
            opened(client)
        assert asked(client, query(number=3), session=first).status_code == 410
        assert asked(client, query(number=4), session=first).status_code == 410
    assert caplog.text.count("value and gradient") == 3 and caplog.text.count("refused") == 4


def test_sessions_belong_to_clients_and_end():
    sessions = Sessions(idle=1000.0)
    mine = sessions.open("me", ())
    with pytest.raises(Refused, match="no such session"):
        sessions.enter(mine, "you", 1)
    for k in range(3000):
        sessions.open(f"you {k}", ())
    assert len(sessions._table) == 1024  # and no more
    with pytest.raises(Refused, match="open another"):
        sessions.enter(mine, "me", 1)
    sessions.idle = 0.0
    late = sessions.open("me", ())
    time.sleep(0.001)
    with pytest.raises(Refused, match="open another"):
        sessions.enter(late, "me", 1)


def test_a_session_that_is_over_is_opened_again(served):
    owner = part(slice(0, 100))
    problem = fenchel.problem(engine=Owners([served(owner)]), loss="logistic")
    before = problem.risk.at(np.zeros(4)).value
    owner.sessions = Sessions()
    assert problem.risk.at(np.zeros(4)).value == before


def test_queries_are_counted_and_few_rows_are_not_summed():
    client = InProcess(application(part(slice(0, 100), limits={"max_queries": 2})))
    statuses = [asked(client, query(number=k)).status_code for k in (1, 2, 3)]
    assert statuses == [200, 200, 429]
    with pytest.raises(fenchel.InvalidData, match="30 rows, fewer than the 50"):
        part(slice(0, 30), limits={"min_rows": 50})


def test_an_answer_is_the_sum_over_the_rows():
    client, w = InProcess(application(part(slice(0, 100)))), np.array([0.3, -0.2, 0.1, 0.5])
    answer = msgspec.json.decode(asked(client, query(w)).content, type=Answer)
    z = X[:100] @ w
    value = np.sum(np.logaddexp(0, -Y[:100] * z))
    assert np.frombuffer(answer.value) == pytest.approx([value])
    slopes = -Y[:100] / (1 + np.exp(Y[:100] * z))
    assert np.frombuffer(answer.gradient) == pytest.approx(X[:100].T @ slopes)
    assert answer.n_rows == 100


def test_only_what_is_described_is_answered():
    client = InProcess(application(part(slice(0, 100))))
    assert client.get("/v2/shape").json()["n_rows"] == 100
    assert client.get("/v2/rows").status_code == 404
    assert client.get("/v2/evaluate").status_code == 405
    assert asked(client, query(), "text/plain").status_code == 415


@pytest.mark.filterwarnings("ignore:the run may end early")
@pytest.mark.parametrize("solver", ["lbfgs", "bmrm", "ls-bmrm", "newton-cg", "owlqn", "auto"])
@pytest.mark.parametrize("loss", ["poisson", "logistic", "hinge", "squared_error"])
def test_honest_solvers_finish(solver, loss):
    labels = np.random.default_rng(0).poisson(np.exp(0.5 * X[:, 0])) if loss == "poisson" else Y
    parts = [
        owned(X[rows], labels[rows], loss=loss, strength=1e-2, limits=Limits()) for rows in THIRDS
    ]
    settings = {"loss": loss, "strength": 1e-2}
    if solver == "owlqn":
        settings["regularizer"] = "l1"
    problem = fenchel.problem(engine=Together(parts), **settings)
    try:
        result = fenchel.minimize(problem, solver, gap=3e-2)
    except fenchel.Incompatible:
        assert solver in ("newton-cg", "owlqn", "lbfgs")  # of rows at hand; of smooth losses
        return
    exact = fenchel.minimize(fenchel.problem(X, labels, **settings), gap=1e-6)
    assert result.converged or (solver, loss) == ("ls-bmrm", "poisson")  # which tries too much
    assert result.lower_bound <= exact.objective and exact.lower_bound <= result.objective


def test_a_run_whose_owners_answer_no_more_ends_with_what_it_has():
    limits = Limits(max_queries=12)
    parts = [owned(X[rows], Y[rows], loss="hinge", limits=limits) for rows in THIRDS]
    problem = fenchel.problem(engine=Together(parts), loss="hinge", strength=1e-3)
    with pytest.warns(fenchel.FenchelWarning, match="all 12 queries were asked"):
        result = fenchel.minimize(problem, "bmrm", gap=1e-6)
    exact = fenchel.minimize(fenchel.problem(X, Y, loss="hinge", strength=1e-3), gap=1e-6)
    assert result.status is Status.STALLED and 0 < result.lower_bound <= exact.objective
    assert exact.lower_bound <= result.objective < 1.0
    assert [each.n_queries for each in parts] == [12, 12, 12]


def test_owners_of_different_rows_descend_together():
    # The mean of all lies between theirs: what lowers the sum raises J of one of them.
    ones, noise = np.column_stack([np.ones(6000), X]), np.random.default_rng(0).normal(size=3000)
    parts = [
        owned(ones[rows], mean + noise, loss="squared_error")
        for rows, mean in ((slice(0, 3000), 3.0), (slice(3000, 6000), -1.0))
    ]
    problem = fenchel.problem(engine=Together(parts), loss="squared_error", strength=1e-3)
    assert fenchel.minimize(problem, "lbfgs", gap=1e-4).converged
    assert parts[1]._clients["us"].climbs > parts[0]._clients["us"].climbs


def test_a_loss_that_is_no_sum_of_rows_is_refused(served):
    with pytest.raises(fenchel.InvalidData, match=r"nu_novelty.* cannot be served"):
        owned(X, loss="nu_novelty", nu=0.3)
    url = served(owned(X, loss="novelty"))
    with pytest.raises(fenchel.Incompatible, match="the owners serve loss=Novelty"):
        fenchel.NoveltyDetector(nu=0.3).fit(Owners([url]))


def test_owners_must_serve_the_same_model(served):
    one, other = served(part(slice(0, 100))), served(part(slice(100, 300), "hinge"))
    with pytest.raises(fenchel.Incompatible, match="the same model"):
        fenchel.problem(engine=Owners([one, other]), loss="logistic")
    with pytest.raises(fenchel.Incompatible, match=r"serve loss=Logistic\(\)"):
        fenchel.problem(engine=Owners([one]), loss="hinge")
    with pytest.raises(fenchel.Incompatible, match="leave them out"):
        fenchel.problem(X, Y, engine=Owners([one]), loss="logistic")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rows": X[:, :3]}, "n_features=3, but .* has 4: .* serve it with --n-features"),
        ({"labels": Y + 1}, r"classes=\(0.0, 2.0\), but .* call the two classes the same"),
        ({"labels": np.where(Y > 0, "b", "a")}, "call the two classes the same"),
        ({"feature_names": "abdc"}, "the same columns, in the same order"),
        ({"index_base": 0}, "serve it with --index-base"),
        ({"intercept": True}, "the same model"),
    ],
)
def test_owners_whose_columns_or_classes_differ_are_refused(served, changed, said):
    about = {"feature_names": "abcd", "index_base": 1, "loss": "logistic"}
    other = {"rows": X, "labels": Y} | about | changed
    urls = [
        served(owned(X, Y, **about)),
        served(owned(other.pop("rows"), other.pop("labels"), **other)),
    ]
    with pytest.raises(fenchel.Incompatible, match=said) as refused:
        Owners(urls).shapes  # noqa: B018
    assert all(url in str(refused.value) for url in urls)


@pytest.mark.parametrize(
    ("estimator", "loss", "labels"),
    [
        (fenchel.Classifier(loss="logistic", alpha=1e-2), "logistic", np.where(Y > 0, "yes", "no")),
        (fenchel.Regressor(alpha=1e-2, fit_intercept=False), "squared_error", X[:, 0] + 1),
        (fenchel.QuantileRegressor(quantile=0.25, alpha=1e-2), "quantile", X[:, 0] + X[::-1, 1]),
        (fenchel.NoveltyDetector(alpha=1e-2), "novelty", None),
    ],
)
def test_estimators_fit_rows_of_owners(served, estimator, loss, labels):
    options = {"quantile": 0.25} if loss == "quantile" else {}
    has_intercept = getattr(estimator, "fit_intercept", False)
    urls = [
        served(
            owned(
                X[rows],
                None if labels is None else labels[rows],
                loss=loss,
                intercept=has_intercept,
                feature_names="abcd",
                **options,
            )
        )
        for rows in THIRDS[1:]
    ]
    kept = slice(1500, 6000)
    whole = clone(estimator).fit(X[kept], None if labels is None else labels[kept])
    across = clone(estimator).set_params(tol=5e-3).fit(Owners(urls))
    assert across.status_ == "converged"
    assert across.objective_ == pytest.approx(whole.objective_, rel=6e-3, abs=1e-4)
    assert across.feature_names_in_.tolist() == list("abcd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.mean(across.predict(X) == whole.predict(X)) > 0.97 or loss in (
            "squared_error",
            "quantile",
        )
    with pytest.raises(fenchel.Incompatible, match="leave them out"):
        clone(estimator).fit(Owners(urls), sample_weight=np.ones(4500))


def test_no_rows_of_owners_are_left_out(served):
    owners = Owners([served(part(slice(0, 100)))])
    with pytest.raises(fenchel.Incompatible, match="leaves rows out"):
        fenchel.ClassifierCV(loss="logistic").fit(owners)


def test_owners_may_be_asked_at_once(served):
    owners = Owners([served(part(slice(0, 100)))])
    assert owners.evaluate(np.zeros(4)).value == pytest.approx(100 * np.log(2))


def test_an_owner_who_is_gone_is_named(served, monkeypatch):
    monkeypatch.setattr("fenchel.engines.owners._PAUSE", 0.01)
    with pytest.raises(HostLost, match=r"127\.0\.0\.1:1 cannot be reached"):
        fenchel.problem(engine=Owners(["http://127.0.0.1:1"]), loss="logistic")


def test_an_owner_whose_answer_is_no_answer_is_not_believed(served):
    owner = part(slice(0, 100))
    problem = fenchel.problem(engine=Owners([served(owner)]), loss="logistic")
    honest = owner.answer
    for changes, said in (
        ({"n_rows": 99}, "99 rows in round"),
        ({"round": 99}, "not asked"),
        ({"gradient": packed(np.full(4, np.nan))}, "nan or inf"),
        ({"gradient": packed(np.zeros(3))}, "32 bytes"),
        ({"value": packed(np.full(1, np.inf))}, "nan or inf"),
    ):
        owner.answer = lambda *query, c=changes: msgspec.structs.replace(honest(*query), **c)
        with pytest.raises(fenchel.InvalidData, match=said):
            problem.risk.at(np.zeros(4))


def test_an_answer_that_was_lost_is_asked_for_again(served, monkeypatch):
    monkeypatch.setattr("fenchel.engines.owners._PAUSE", 0.01)
    owners = Owners([served(part(slice(0, 100)))])
    problem = fenchel.problem(engine=owners, loss="logistic")
    send, failures = owners._client.request, iter([True, True, False])

    def losing(*args, **settings):
        response = send(*args, **settings)
        if next(failures, False):
            raise httpx.ReadError("lost")
        return response

    monkeypatch.setattr(owners._client, "request", losing)
    assert problem.risk.at(np.zeros(4)).value == pytest.approx(np.log(2))


def test_connections_are_closed_when_nobody_refers_to_the_owners(served):
    owners = Owners([served(part(slice(0, 100)))])
    assert owners.shape == (100, 4)
    client = owners._client
    del owners
    gc.collect()
    assert client.is_closed


schema = schemathesis.openapi.from_asgi(
    "/openapi.json", application(part(slice(0, 100), limits={"max_queries": 1000}))
)


@pytest.mark.slow
@schema.parametrize()
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_service_does_what_its_description_says(case):
    # A vector of the right length may still hold nan, which is refused.
    case.call_and_validate(excluded_checks=[schemathesis.checks.positive_data_acceptance])


def test_queries_decode_to_what_was_encoded():
    w = np.random.default_rng(0).normal(size=7)
    decoded = msgspec.json.decode(
        msgspec.json.encode(Query("a" * 32, 5, "value", packed(w))), type=Query
    )
    assert np.array_equal(np.frombuffer(decoded.w), w)
