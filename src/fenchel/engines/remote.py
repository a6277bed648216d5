"""What engines share whose shards are held by other processes.

`map` only notes down what is to be done; the calls go out, all in one request to each host, when
something of their results is wanted here: a sum, or the values themselves. An iteration of a solver
is then a request or two, and a line search on a ray that was set up sends numbers, not vectors.

A host may be lost at any time, with all values that it kept. What it takes to make them anew is
known here: the calls that they came from, back to the last snapshot of all kept values. So the
shards of a lost, slow or lying host are placed once more from their source, the calls replayed, and
the same request asked again: tasks are functions, so the bits are those that were lost.
"""

from __future__ import annotations

import functools
import itertools
import logging
import operator
import time
import warnings
import weakref
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from fenchel.callers import users_line
from fenchel.data.shards import Shard
from fenchel.engines.base import Away, Elsewhere, PerShard, shares
from fenchel.engines.host import Call, Gone, Missing, Parts, Ref, Reply, Request, needed
from fenchel.engines.placement import Placed
from fenchel.engines.relays import Astray, Branch, Wait, branches, plan
from fenchel.engines.sums import combined
from fenchel.errors import FenchelWarning, HostLost, InvalidData
from fenchel.settings import positive

T = TypeVar("T")
R = TypeVar("R", bound="Remote")
log = logging.getLogger("fenchel.engines")

_TRIES = 4  # placements of the same shards in one round
_LONGEST, _LARGEST = 256, 1 << 28  # calls, and bytes of their arguments, between snapshots
_MANY = 8  # hosts from which on requests go down a tree of them
_MISSES = 3  # rounds in a row that the tree does not bring home, after which it is given up
_LOOK = 30.0  # seconds between two looks for hosts that have come since


class Held(Away[T]):
    """A value for each shard that the hosts keep."""

    def __init__(self, engine: Remote, number: int):
        super().__init__(engine)
        self.number = number
        weakref.finalize(self, engine._drop, number)


class Remote(Elsewhere):
    """An engine of hosts; `deadline` is how many seconds a host may take for a round.

    After that its shards are placed elsewhere.
    """

    def __init__(self, deadline: float = 300.0):
        super().__init__()
        self.hosts: list[Placed] = []
        self.deadline = positive("deadline", deadline)
        self.rounds = 0
        self._numbers = itertools.count()
        self._live: set[int] = set()
        self._dropped: list[int] = []
        self._pending: list[Call] = []
        self._log: list[Call] = []  # what led from the snapshots to the values kept now
        self._tree: list[Branch] | None = None  # to whom requests go, if hosts pass them on
        self._misses = 0
        self._next_look = time.monotonic() + _LOOK

    # What a transport does.

    @abstractmethod
    def _n_hosts(self) -> int:
        """How many hosts there may be, or Gone."""

    @abstractmethod
    def _start(self, placed: Placed, avoided: str) -> tuple[Any, str, list[bytes]]:
        """A host for these shards: what it is called, where it is, its shards' fingerprints.

        Raises Gone if none can be had; `avoided` is where it should not be.
        """

    @abstractmethod
    def _send(self, placed: Placed, request: Request) -> Wait:
        """Sends a request; gives what waits for the reply, so many seconds, or raises Gone."""

    def _hosts_reach_each_other(self) -> bool:
        """Whether a host can pass requests on to others; `_plant` and `_relay` are there then."""
        return False

    def _plant(self, planned: Sequence[tuple[Any, list[Branch]]]) -> None:
        """Tells each of these hosts to whom it passes requests on, or raises Gone."""
        raise NotImplementedError

    def _relay(self, branch: Branch, request: Request, seconds: float) -> Wait:
        """Sends a request that is passed on, and has so many seconds; otherwise as `_send`."""
        raise NotImplementedError

    def _give_up(self, round_: int) -> None:
        """Tells hosts to wait for nobody below them in this round any more; never raises."""

    @abstractmethod
    def _stop(self, placed: Placed) -> None:
        """Lets go of a host; never raises."""

    # What all do with it.

    def place(self: R, shards: Sequence[Shard]) -> R:
        """An engine with the same settings whose hosts hold these shards."""
        placed = super().place(shards)
        try:
            placed.hosts = placed._shared()
        except Gone as error:
            raise HostLost(f"nobody tells how many hosts there are: {error}") from error
        for each in placed.hosts:
            placed._settle(each)
        return placed

    def _shared(self) -> list[Placed]:
        """All shards in runs of about equal work, one for each host that there may be."""
        edges = shares(self.shards, max(1, min(self._n_hosts(), self.n_shards)))
        return [Placed(first, last) for first, last in itertools.pairwise(edges)]

    def map(self, task: Callable[..., T], *args: Any) -> Held[T]:
        """Notes the task down; it is done when something of it is wanted."""
        number = next(self._numbers)
        self._live.add(number)
        self._pending.append(Call(number, task, tuple(map(_sent, args))))
        return Held(self, number)

    def total(self, values: PerShard[T]) -> T:
        """The sum; of values that are here, here."""
        if not isinstance(values, Held):
            return super().total(values)
        total: T = self.totals(values)[0]
        return total

    def totals(self, *values: PerShard[Any]) -> tuple[Any, ...]:
        """The sums, of which the hosts add up as much as they can."""
        numbers = tuple(each.number for each in values if isinstance(each, Held))
        if len(numbers) < len(values):
            return super().totals(*values)
        replies = self._ask(summed=numbers)
        parts = [
            functools.reduce(operator.or_, each)
            for each in zip(*(r.sums for r in replies), strict=True)
        ]
        return tuple(_own(combined(each, self.n_shards)) for each in parts)

    def collect(self, values: Held[Any]) -> list[Any]:
        """The values of all shards."""
        replies = self._ask(collected=values.number)
        return [each for reply in replies for each in reply.values]

    def close(self) -> None:
        """Lets go of shards and hosts."""
        for each in self.hosts:
            self._stop(each)
        self.hosts = []
        super().close()

    def __del__(self) -> None:
        self.close()

    def _drop(self, number: int) -> None:
        """Called when nobody refers to a value any more, by the garbage collector even."""
        self._live.discard(number)
        self._dropped.append(number)

    def _ask(self, *, summed: tuple[int, ...] = (), collected: int | None = None) -> list[Reply]:
        """Does all that is pending; the replies are in the order of the shards."""
        self.rounds += 1
        calls = needed(self._pending, self._live)
        self._pending = []
        self._log += calls  # first of all: an interrupt may come at any time
        dropped, self._dropped = self._dropped, []
        request = Request(self.rounds, calls, dropped, collected, summed)
        replies = self._replies(request)
        self._shorten()
        self._welcome()  # now that no call is pending, whose arguments may be dropped already
        for reply in replies:
            if reply.error is not None:
                raise reply.error
        self._check_shapes(request, replies)
        return replies

    def _sent(self, placed: Placed, request: Request) -> Wait | None:
        if placed.host is None:  # an interrupt came before there was one
            return None
        try:
            return self._send(placed, request.within(placed.first, placed.last))
        except Gone as error:
            log.debug("round %d: %s", request.round, error)
            return None

    def _reply(
        self,
        placed: Placed,
        request: Request,
        waiting: Wait | None,
        started: float,
    ) -> Reply:
        """A host's reply; if there is none, that of the next host with its shards."""
        doubted = False  # a nan is believed if two hosts give it
        for _ in range(_TRIES):
            trouble = "it did not take the request"
            if waiting is not None:
                try:
                    reply = waiting(max(0.0, started + self.deadline - time.monotonic()))
                    self._check(placed.first, placed.last, request, reply)
                    if doubted or not reply.has_nan:
                        return reply
                    trouble, doubted = "it answered with nan", True
                except Gone as error:
                    trouble = str(error)
            self._replace(placed, request, trouble)
            started = time.monotonic()
            waiting = self._sent(placed, self._replay(request))
        raise HostLost(
            f"{placed.named(self.shards)} were placed {_TRIES} times in round {request.round} "
            f"and lost as often, the last time in {placed.where}: {trouble}"
        )

    def _check(self, first: int, last: int, request: Request, reply: Reply) -> None:
        if isinstance(reply.error, Missing | Astray):
            raise Gone(str(reply.error))
        n_rows = sum(shard.rows.n_rows for shard in self.shards[first:last])
        if (reply.round, reply.first, reply.n_rows) != (request.round, first, n_rows):
            raise Gone(f"it answered for round {reply.round} and {reply.n_rows} rows")
        if reply.error is None and len(reply.sums) != len(request.summed):
            raise Gone(f"it answered with {len(reply.sums)} sums of {len(request.summed)}")

    def _check_shapes(self, request: Request, replies: Sequence[Reply]) -> None:
        """Refuses sums of different shapes, which NumPy might stretch to add them up."""
        for first, *others in zip(*(reply.sums for reply in replies), strict=True):
            shape = np.shape(next(iter(first.values())))
            for reply, each in zip(replies[1:], others, strict=True):
                wrong = [np.shape(value) for value in each.values() if np.shape(value) != shape]
                if wrong:
                    placed = next(host for host in self.hosts if host.first == reply.first)
                    raise HostLost(
                        f"{self.hosts[0].named(self.shards)} and {placed.named(self.shards)} "
                        f"answered in round {request.round} with sums of shapes {shape} and "
                        f"{wrong[0]}"
                    )

    def _replace(self, placed: Placed, request: Request, trouble: str) -> None:
        """Gives the shards of a host that failed to another, and says so."""
        warnings.warn(
            f"{placed.named(self.shards)} in {placed.where} failed in round {request.round}: "
            f"{trouble}; they are placed anew from their source",
            FenchelWarning,
            stacklevel=users_line(),
        )
        self._stop(placed)
        placed.replacements += 1
        self._settle(placed)

    def _settle(self, placed: Placed) -> None:
        """Places shards on a host, which must find what was there the first time."""
        self._tree = None  # which would still lead to the host before
        trouble = ""
        for _ in range(_TRIES):
            try:
                placed.host, placed.where, found = self._start(placed, placed.where)
                break
            except Gone as error:
                trouble = str(error)
        else:
            raise HostLost(f"{placed.named(self.shards)} can be placed nowhere: {trouble}")
        if placed.fingerprints and found != placed.fingerprints:
            pairs = zip(placed.fingerprints, found, strict=True)
            changed = [placed.first + k for k, (old, new) in enumerate(pairs) if old != new]
            raise InvalidData(
                f"the data of shard {changed[0]} changed while they were in use: start the run "
                "afresh, with files that stay as they are"
            )
        placed.fingerprints = found

    def _replay(self, request: Request) -> Request:
        """The request with all calls before it that its values depend on."""
        calls = needed(self._log, self._live)
        made = {call.result for call in calls}.union(*(each.snapshot for each in self.hosts))
        return replace(request, calls=calls, dropped=sorted(made - self._live))

    def _shorten(self) -> None:
        """Keeps what is needed of the log, or a snapshot in its place where that is too much."""
        if len(self._log) <= _LONGEST and sum(call.n_bytes for call in self._log) <= _LARGEST:
            return
        self._log = needed(self._log, self._live)
        n_bytes = sum(call.n_bytes for call in self._log)
        if len(self._log) <= _LONGEST // 2 and n_bytes <= _LARGEST // 2:
            return
        self._take_snapshot()

    def _welcome(self) -> None:
        """Spreads the shards anew where half as many hosts again as hold some now could do so.

        That moves them all, with the values that belong to them: a look now and then is enough.
        """
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK
        try:
            hosts, former = self._shared(), self.hosts
        except Gone as error:
            log.debug("nobody tells how many hosts there are: %s", error)
            return
        used = len({each.where for each in former})
        if 2 * len(hosts) < 3 * used:
            return
        log.info("%d hosts instead of %d hold the shards from here on", len(hosts), used)
        self._take_snapshot()
        for each in hosts:
            each.adopt(former)
        self.hosts = hosts
        for each in former:
            self._stop(each)
        for each in hosts:
            self._settle(each)

    def _take_snapshot(self) -> None:
        """Has all kept values sent here, from which lost hosts can go on; what led there can go."""
        self.rounds += 1
        dropped, self._dropped = self._dropped, []
        replies = self._replies(Request(self.rounds, (), dropped, snapshot=True))
        for each, reply in zip(self.hosts, replies, strict=True):
            each.snapshot = reply.snapshot or {}
        self._log = []

    def _replies(self, request: Request) -> list[Reply]:
        """Those of all hosts, which work at the same time, in the order of the shards."""
        if (replies := self._from_tree(request)) is not None:
            return replies
        started = time.monotonic()
        waiting = [self._sent(each, request) for each in self.hosts]
        return [
            self._reply(each, request, reply, started)
            for each, reply in zip(self.hosts, waiting, strict=True)
        ]

    def _from_tree(self, request: Request) -> list[Reply] | None:
        """Those that a tree of hosts brings up; None without one, or where it fails."""
        many = len(self.hosts) >= _MANY and all(each.host is not None for each in self.hosts)
        if request.snapshot or not many or self._misses >= _MISSES:
            return None
        if not self._hosts_reach_each_other():
            return None
        try:
            replies = self._relayed(request)
        except Gone as error:
            log.debug("round %d, by the tree: %s", request.round, error)
            self._give_up(request.round)
            self._tree, self._misses = None, self._misses + 1
            if self._misses == _MISSES:
                why = f"hosts do not reach one another, so all are asked from here: {error}"
                warnings.warn(why, FenchelWarning, stacklevel=users_line())
            return None
        self._misses = 0
        return None if any(reply.has_nan for reply in replies) else replies

    def _relayed(self, request: Request) -> list[Reply]:
        """Those of the hosts that this one sends to, each with all below it, or Gone."""
        if self._tree is None:
            hosts = [Branch(each.host, each.first, each.last) for each in self.hosts]
            self._plant(list(plan(hosts)))
            self._tree = branches(hosts)
        end = time.monotonic() + self.deadline
        waiting = [
            self._relay(each, request.within(each.first, each.last), self.deadline)
            for each in self._tree
        ]
        replies = [wait(max(0.0, end - time.monotonic())) for wait in waiting]
        for branch, reply in zip(self._tree, replies, strict=True):
            self._check(branch.first, branch.last, request, reply)
        return replies[::-1]


def _own(total: Any) -> Any:
    """A sum that the caller may change: what came from a host may be read-only."""
    return total.copy() if isinstance(total, np.ndarray) else total


def _sent(arg: Any) -> Any:
    """An argument as it is now: the caller may change its arrays before they are sent."""
    if isinstance(arg, Held):
        return Ref(arg.number)
    if isinstance(arg, PerShard):
        return Parts([_sent(value) for value in arg])
    return arg.copy() if isinstance(arg, np.ndarray) else arg
