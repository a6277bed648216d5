"""Owners, who answer with sums over their rows and share nothing else, as a solver asks them."""

from __future__ import annotations

import functools
import os
import ssl
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from fenchel.engines import masks
from fenchel.engines.messages import (
    VERSION,
    Answer,
    Array,
    Kind,
    Opened,
    Opening,
    Query,
    Refusal,
    Shape,
    packed,
    unpacked,
)
from fenchel.engines.sums import total
from fenchel.errors import HostLost, Incompatible, InvalidData
from fenchel.settings import positive

if TYPE_CHECKING:
    import httpx

T = TypeVar("T", bound=msgspec.Struct)

_TRIES = 3  # for an owner who cannot be reached
_PAUSE = 0.5  # seconds before the next
_MODEL = "all owners must serve the same model"
# What owners must agree on, the plainest first, and what to do if they do not.
_SAME = {
    "version": "all owners must have the same version of fenchel",
    "loss": _MODEL,
    "options": _MODEL,
    "intercept": _MODEL,
    "n_features": "if a file lacks the last features, serve it with --n-features",
    "feature_names": "all owners must have the same columns, in the same order",
    "index_base": "if a file lacks the index 0 or counts otherwise, serve it with --index-base",
    "classes": "all owners must call the two classes the same",
    "exact": "all owners must add noise, or none",
    "roster": "all owners must have masks for the same owners, or none",
}


class Withheld(Incompatible):
    """An owner does not answer at this w; elsewhere it may."""


class Spent(Withheld):
    """An owner answers no more, wherever it is asked."""


class SessionOver(Incompatible):
    """An owner has forgotten the session."""


_REFUSALS: dict[int, type[Incompatible]] = {403: Withheld, 410: SessionOver, 429: Spent}


class Sums(NamedTuple):
    """The sums over all owners' rows; the gradient is None where some have not told theirs."""

    value: float
    gradient: Array | None
    told: int  # rows of owners who told their gradient


class Owners:
    """The owners at some URLs, in whose order sums are added.

    `certificate`, `key` and `authority` are files: what proves who we are, and whom we believe to
    be an owner, by default what the system believes. An owner has `deadline` seconds for an answer.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        certificate: str | None = None,
        key: str | None = None,
        authority: str | None = None,
        deadline: float = 300.0,
    ):
        if isinstance(urls, str) or not urls or len(set(urls)) < len(urls):
            raise InvalidData(f"owners need a list of different URLs; got {urls!r}")
        self.urls = tuple(urls)
        self.deadline = positive("deadline", deadline)
        self.rounds = 0
        self._sessions: dict[str, str] = {}  # of each owner
        self._numbers: dict[str, int] = {}  # of its last round
        try:
            import httpx
        except ImportError as error:
            raise ImportError("httpx is missing: pip install 'fenchel[serve]'") from error
        trusted = _trusted(certificate, key, authority)
        self._client = httpx.Client(verify=trusted, timeout=self.deadline, trust_env=False)
        weakref.finalize(self, self._client.close)  # or its sockets would stay open
        self._pool = ThreadPoolExecutor(len(self.urls), thread_name_prefix="fenchel-owners")

    @functools.cached_property
    def shapes(self) -> list[Shape]:
        """What the owners tell of their data, which must fit together."""
        shapes: list[Shape] = self._all(self._get)
        first = shapes[0]
        for url, shape in zip(self.urls, shapes, strict=True):
            for name, remedy in _SAME.items():
                here, there = getattr(shape, name), getattr(first, name)
                if here != there:
                    raise Incompatible(
                        f"{url} has {name}={here!r:.100}, but {self.urls[0]} has {there!r:.100}: "
                        f"{remedy}"
                    )
        if first.version != VERSION:
            raise Incompatible(f"the owners speak version {first.version}; this one is {VERSION}")
        if first.roster is not None and first.n_owners != len(shapes):
            raise Incompatible(
                f"the owners' masks cancel in the sum of all {first.n_owners}; {len(shapes)} are "
                "asked: give the URLs of all of them"
            )
        return shapes

    @property
    def masked(self) -> bool:
        """Whether only the sum over all owners can be read."""
        return self.shapes[0].roster is not None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of all owners, and features."""
        return sum(shape.n_rows for shape in self.shapes), self.shapes[0].n_features

    def evaluate(self, w: Array, kind: Kind = "gradient") -> Sums:
        """The sum of all rows' losses at w, and a subgradient if it was told; see `Kind`.

        Raises `Withheld` where an owner refuses this w.
        """
        self.rounds += 1
        shapes = self.shapes  # before the pool is busy, as it takes the pool to ask for them
        answers: list[Answer] = self._all(lambda url: self._ask(url, kind, w))
        for url, shape, answer in zip(self.urls, shapes, answers, strict=True):
            if answer.n_rows != shape.n_rows:
                raise InvalidData(
                    f"{url} has {answer.n_rows} rows in round {self.rounds}, not {shape.n_rows}"
                )
        told = [answer.gradient for answer in answers]
        rows = sum(
            shape.n_rows for shape, each in zip(self.shapes, told, strict=True) if each is not None
        )
        (value,) = self._added("value", [answer.value for answer in answers], 1)
        if None in told:
            return Sums(float(value), None, rows)
        parts = [each for each in told if each is not None]
        return Sums(float(value), self._added("gradient", parts, len(w)), rows)

    def _added(self, name: str, parts: list[bytes], n: int) -> Array:
        """The sum of what the owners sent, from under their masks if there are any."""
        numbers: list[Any] = []
        for url, part in zip(self.urls, parts, strict=True):
            try:
                numbers.append((masks.unpacked if self.masked else unpacked)(name, part, n))
            except InvalidData as error:
                raise InvalidData(f"{url} in round {self.rounds}: {error}") from error
        if self.masked:
            return masks.floats(masks.added(numbers))
        added: Array = total(numbers)
        return added.copy()

    def _all(self, ask: Callable[[str], Any]) -> list[Any]:
        return list(self._pool.map(ask, self.urls))

    def _get(self, url: str) -> Shape:
        return _decoded(url, self._answered(url, "GET", "shape", lambda: None), Shape)

    def _open(self, url: str) -> str:
        """A session's name, of an owner that has opened one for us."""
        body = msgspec.json.encode(Opening(tuple(shape.nonce for shape in self.shapes)))
        opened = _decoded(url, self._answered(url, "POST", "session", lambda: body), Opened)
        return opened.session

    def _ask(self, url: str, kind: Kind, w: Array) -> Answer:
        number = 0

        def body() -> bytes:
            nonlocal number
            # An owner answers a round once: a second try is another.
            number = self._numbers[url] = self._numbers.get(url, 0) + 1
            if url not in self._sessions:
                self._sessions[url] = self._open(url)
            return msgspec.json.encode(Query(self._sessions[url], number, kind, packed(w)))

        try:
            response = self._answered(url, "POST", "evaluate", body)
        except SessionOver:  # as ours was not used for long
            del self._sessions[url]
            response = self._answered(url, "POST", "evaluate", body)
        answer = _decoded(url, response, Answer)
        if answer.round != number:
            raise InvalidData(f"{url} answered for round {answer.round}, which was not asked")
        return answer

    def _answered(
        self, url: str, method: str, path: str, body: Callable[[], bytes | None]
    ) -> httpx.Response:
        import httpx

        headers = {"content-type": "application/json"}
        for attempt in range(_TRIES):
            try:
                where = f"{url.rstrip('/')}/v2/{path}"
                response = self._client.request(method, where, content=body(), headers=headers)
                break
            except (httpx.TransportError, OSError) as error:
                if attempt + 1 == _TRIES or "certificate" in str(error).lower():
                    raise HostLost(
                        f"the owner at {url} cannot be reached: {error}{_remedy(url, str(error))}"
                    ) from error
                time.sleep(_PAUSE)
        if response.status_code != 200:
            kind = _REFUSALS.get(response.status_code, Incompatible)
            raise kind(f"the owner at {url} refuses: {_reason(response)}")
        return response


def _trusted(certificate: str | None, key: str | None, authority: str | None) -> ssl.SSLContext:
    """Whom we believe, and how we show who we are; files that are no such thing are named."""
    if (certificate is None) is not (key is None):
        raise InvalidData("certificate and key belong together: give both, or neither")
    files = {"authority": authority, "certificate": certificate, "key": key}
    for name, path in files.items():
        if path is not None and not os.path.isfile(path):
            raise InvalidData(f"{name}: there is no file {path}")
    try:
        context = ssl.create_default_context(cafile=authority)
    except ssl.SSLError as error:
        raise InvalidData(f"authority: {authority} holds no certificate in PEM: {error}") from error
    try:
        if certificate is not None:
            context.load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise InvalidData(
            f"{certificate} and {key} are no certificate and its key, in PEM: {error}"
        ) from error
    return context


def _remedy(url: str, error: str) -> str:
    """What to do about the faults of TLS."""
    if "CERTIFICATE_VERIFY_FAILED" in error:
        return "; is its certificate one of the authority that was given?"
    if not url.startswith("https:"):
        return "; does it want https?" if "disconnected" in error else ""
    if "WRONG_VERSION_NUMBER" in error:
        return "; does it serve http, without certificates?"
    if "refused" in error:
        return ""
    return "; does it want certificate and key of a client that its authority knows?"


def _reason(response: httpx.Response) -> str:
    try:
        return msgspec.json.decode(response.content, type=Refusal).error
    except msgspec.MsgspecError:
        return f"status {response.status_code}"


def _decoded(url: str, response: httpx.Response, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(response.content, type=kind)
    except msgspec.MsgspecError as error:
        raise InvalidData(f"{url} does not answer as an owner does: {error}") from error
