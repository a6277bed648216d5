"""Training across owners, who answer with sums over their rows and share nothing else.

The risk of all rows is R(w) = (1/n) sum over owners of their sums. A solver sees it as any other
risk, but there are no scores: a ray costs a query of every owner for each step that is tried.
"""

from __future__ import annotations

import functools
import hashlib
import secrets
import ssl
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from fenchel import losses
from fenchel.bends import Slope
from fenchel.engines.sums import total
from fenchel.errors import HostLost, Incompatible, InvalidData
from fenchel.losses import Conjugable, ScalarLoss
from fenchel.naming import positive
from fenchel.opaque import OpaqueRisk
from fenchel.protocols import Array, Point
from fenchel.serve.messages import VERSION, Answer, Query, Refusal, Shape, packed, unpacked
from fenchel.witness import Tangency, Witness

if TYPE_CHECKING:
    import httpx

T = TypeVar("T", bound=msgspec.Struct)

_TRIES = 3  # for an owner who cannot be reached
_PAUSE = 0.5  # seconds before the next
_MORE = 1 << 20  # bytes of an answer beside its vector


class Owners:
    """The owners at some URLs, in whose order sums are added.

    `certificate`, `key` and `authority` are files: what proves who we are, and whom we believe to
    be an owner. An owner has `deadline` seconds for an answer.
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
        self.session, self.rounds = secrets.token_hex(16), 0
        verify: Any = True
        if authority is not None:
            verify = ssl.create_default_context(cafile=authority)
            if certificate is not None:
                verify.load_cert_chain(certificate, key)
        try:
            import httpx
        except ImportError as error:
            raise ImportError("httpx is missing: pip install 'fenchel[serve]'") from error
        self._client = httpx.Client(verify=verify, timeout=self.deadline, trust_env=False)
        self._pool = ThreadPoolExecutor(len(self.urls), thread_name_prefix="fenchel-owners")

    @functools.cached_property
    def shapes(self) -> list[Shape]:
        """What the owners tell of their data, which must fit together."""
        shapes = self._all(lambda url: self._get(url))
        first = shapes[0]
        for url, shape in zip(self.urls, shapes, strict=True):
            for name in ("version", "n_columns", "loss", "options", "intercept"):
                if getattr(shape, name) != getattr(first, name):
                    raise Incompatible(
                        f"{url} has {name} {getattr(shape, name)!r}, but {self.urls[0]} "
                        f"{getattr(first, name)!r}: all owners must serve the same model"
                    )
        if first.version != VERSION:
            raise Incompatible(f"the owners speak version {first.version}; this one is {VERSION}")
        return shapes

    def evaluate(self, w: Array) -> tuple[float, Array]:
        """The sum of all rows' losses at w, and a subgradient."""
        self.rounds += 1
        answers = self._all(lambda url: self._ask(url, w))
        values, parts = [], []
        for url, shape, (value, part, n_rows) in zip(self.urls, self.shapes, answers, strict=True):
            if n_rows != shape.n_rows:
                raise InvalidData(
                    f"{url} has {n_rows} rows in round {self.rounds}, not {shape.n_rows}"
                )
            values.append(value)
            parts.append(part)
        gradient = total(parts)
        return float(total(values)), gradient.copy() if gradient is parts[0] else gradient

    def _all(self, ask: Callable[[str], Any]) -> list[Any]:
        return list(self._pool.map(ask, self.urls))

    def _get(self, url: str) -> Shape:
        return _decoded(url, self._answered(url, "GET", "shape", lambda: None), Shape)

    def _ask(self, url: str, w: Array) -> tuple[float, Array, int]:
        asked = 0

        def body() -> bytes:
            nonlocal asked
            asked += 1
            # An owner answers a round once: a second try is another.
            number = _TRIES * self.rounds + asked
            return msgspec.json.encode(Query(self.session, number, packed(w)))

        answer = _decoded(url, self._answered(url, "POST", "evaluate", body), Answer)
        if answer.round != _TRIES * self.rounds + asked:
            raise InvalidData(f"{url} answered for round {answer.round}, which was not asked")
        try:
            return answer.value, unpacked("subgradient", answer.subgradient, len(w)), answer.n_rows
        except InvalidData as error:
            raise InvalidData(f"{url} in round {self.rounds}: {error}") from error

    def _answered(
        self, url: str, method: str, path: str, body: Callable[[], bytes | None]
    ) -> httpx.Response:
        import httpx

        kind = {"content-type": "application/json"}
        for attempt in range(_TRIES):
            try:
                where = f"{url.rstrip('/')}/v1/{path}"
                response = self._client.request(method, where, content=body(), headers=kind)
                break
            except (httpx.TransportError, OSError) as error:
                if attempt + 1 == _TRIES or "certificate" in str(error).lower():
                    raise HostLost(f"the owner at {url} cannot be reached: {error}") from error
                time.sleep(_PAUSE)
        if response.status_code != 200:
            raise Incompatible(f"the owner at {url} refuses: {_reason(response)}")
        return response


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


class OwnersPoint:
    """The risk at one w."""

    intercept = 0.0

    def __init__(self, risk: OwnersRisk, w: Array, value: float, subgradient: Array):
        self.risk, self.w, self.value, self.subgradient = risk, w, value, subgradient

    @property
    def constant(self) -> float:
        """b with R(v) >= <a, v> + b for all v; -inf where noise leaves nothing certain."""
        return -np.inf if self.risk.noisy else self.value - float(self.subgradient @ self.w)

    def shrunk(self, scale: float) -> float:
        """The constant of the scaled cut, as R >= 0."""
        if scale == 1:
            return self.constant
        return scale * self.constant if self.risk.nonnegative else -np.inf

    @property
    def sizes(self) -> tuple[float, float]:
        """Rows times slopes; and R with the product it is reduced by."""
        product = float(np.linalg.norm(self.subgradient) * np.linalg.norm(self.w))
        return self.risk.length * self._slope, abs(self.value) + product

    @property
    def _slope(self) -> float:
        """A bound of the mean slope, as of a linear risk."""
        loss = self.risk.loss
        smooth = np.sqrt(2 * loss.smoothness * self.value) if loss.nonnegative else np.inf
        steepest = loss.steepest(np.ones(1)) if isinstance(loss, Conjugable) else np.inf
        slope = min(steepest, float(smooth))
        return slope if slope < np.inf else 1 + abs(self.value)

    @property
    def witness(self) -> Witness:
        """The place of tangency."""
        return Witness([Tangency(self.w)], [1.0])

    @property
    def alpha(self) -> Array:
        """Rows' dual variables stay with their owners."""
        raise Incompatible("the dual variables of rows stay with their owners")

    def steepest(self, p: Array) -> OwnersPoint:
        """Itself: of its subgradients one is known."""
        return self

    def towards(self, p: Array) -> OwnersRay:
        """The ray w + eta p."""
        return OwnersRay(self, p)


class OwnersRay:
    """eta -> R(w + eta p), each step a query."""

    def __init__(self, origin: OwnersPoint, p: Array):
        self.origin, self.p = origin, p
        self._last = (0.0, origin)

    def at(self, eta: float) -> OwnersPoint:
        """The point w + eta p."""
        if eta != self._last[0]:
            self._last = eta, self.origin.risk.at(self.origin.w + eta * self.p)
        return self._last[1]

    def along(self, eta: float) -> tuple[float, float]:
        """(R(w + eta p), a slope)."""
        point = self.at(eta)
        return point.value, float(point.subgradient @ self.p)

    def slope(self, eta: float) -> Slope:
        """Never asked for: the risk is not `piecewise`."""
        raise Incompatible("owners do not tell where their risk bends")

    def kinks(self, low: float, high: float) -> Array:
        """Never asked for: the risk is not `piecewise`."""
        raise Incompatible("owners do not tell where their risk bends")


class OwnersRisk(OpaqueRisk):
    """The mean loss over the rows of all owners."""

    classes: npt.NDArray[Any] | None = None

    def __init__(self, owners: Owners):
        shapes = owners.shapes
        self.owners, first = owners, shapes[0]
        loss = losses.named(first.loss, dict(first.options))
        if not isinstance(loss, ScalarLoss):
            raise Incompatible(f"owners serve losses of one score a row; {first.loss} is none")
        self.loss = loss
        self.n_offsets = int(first.intercept)
        self.n_parameters = first.n_columns
        self.n_rows = self.n_duals = sum(shape.n_rows for shape in shapes)
        self.n_numbers = self.n_rows * self.n_parameters  # at most
        self.noisy = any(shape.noise > 0 for shape in shapes)
        squares = sum(shape.n_rows * shape.length**2 for shape in shapes)
        self.length = float(np.sqrt(squares / self.n_rows))
        self.nonnegative, self.differentiable = loss.nonnegative, loss.differentiable
        self.knows_kinks = loss.differentiable
        self.passes = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of features."""
        return (self.n_parameters - self.n_offsets,)

    def presented(self, w: Array, intercept: float) -> tuple[Array, float | Array]:
        """(w, intercept): the last parameter, if there is one."""
        return (w[:-1], float(w[-1])) if self.n_offsets else (w, 0.0)

    def flattened(self, w: Array, intercept: float | Array) -> Array:
        """The parameters."""
        return np.append(w, np.tile(intercept, self.n_offsets))

    def at(self, w: Array, near: Point | None = None) -> OwnersPoint:
        """The risk at w: a query of every owner."""
        self.passes += 2
        w = np.array(w, dtype=np.float64)
        value, subgradient = self.owners.evaluate(w)
        return OwnersPoint(self, w, value / self.n_rows, subgradient / self.n_rows)

    def curvature(self) -> Array:
        """The mean square of a column, the same for all: no owner tells more."""
        each = min(self.loss.smoothness, 1.0) * self.length**2 / self.n_parameters
        return np.full(self.n_parameters, each)

    def sampled(self, w: Array, intercept: float, rows: npt.NDArray[np.intp]) -> Array:
        """A subgradient, for all rows only."""
        if len(rows) < self.n_rows:
            raise Incompatible("owners answer for all their rows: leave out batch=")
        return self.at(w).subgradient

    def fingerprint(self) -> bytes:
        """A digest of what the owners say of their data."""
        text = msgspec.json.encode(self.owners.shapes)
        return hashlib.blake2b(text, digest_size=16).digest()
