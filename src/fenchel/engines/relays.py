"""A tree of hosts: requests go down it, and sums come back up it.

Asked one by one, n hosts cost their driver n vectors out and n vectors in, in every round: with 64
of them and a million columns, a gigabyte. In a tree a host passes the request on before it does its
own part, and adds the sums of those below it to its own, in the one order that all engines keep
(sums.py): the bits stay the same. The tree is binomial, as MPI's broadcasts are: whoever has the
request gives half of the hosts that it answers for to one of them, half of the rest to another, and
so on. The driver then sends and takes about log2(n) vectors, and after as many sends all have one.

What a tree does not bring home, because a host somewhere below is lost, slow or lying, the driver
asks of every host itself: it then sees who failed. Hosts that have done the round remember what
they answered (`Host.run`), so that nothing is done twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fenchel.engines.host import Host, Reply, Request
from fenchel.engines.sums import Span, merged

_LESS = 0.9  # of its own time a host gives to those below it, so that it can still tell of them


class Branch(NamedTuple):
    """A host that answers for consecutive shards: its own, which come first, and those below it."""

    host: Any  # as the transport calls it
    first: int
    last: int  # one after its last shard


Wait = Callable[[float], Reply]  # for a reply, so many seconds
PassOn = Callable[[Branch, Request, float], Wait]  # a request, and how long it may take


class Astray(LookupError):
    """Some reply did not come up the tree."""


def branches(hosts: Sequence[Branch]) -> list[Branch]:
    """What whoever answers for these hosts gives away: the last half, half of the rest, and so on.

    Those with the most hosts come first, as their requests have the longest way to go.
    """
    return [run[0]._replace(last=run[-1].last) for run in _runs(hosts)]


def plan(hosts: Sequence[Branch]) -> Iterator[tuple[Any, list[Branch]]]:
    """To whom each host passes on what it is sent, if to anyone."""
    for run in _runs(hosts):
        if len(run) > 1:
            yield run[0].host, branches(run[1:])
            yield from plan(run[1:])


def _runs(hosts: Sequence[Branch]) -> Iterator[Sequence[Branch]]:
    while hosts:
        middle = len(hosts) // 2
        yield hosts[middle:]
        hosts = hosts[:middle]


def relayed(
    host: Host, request: Request, below: Sequence[Branch], pass_on: PassOn, seconds: float
) -> Reply:
    """The reply of a host and of all below it, to whom the request is passed on first."""
    end = time.monotonic() + seconds
    try:
        waiting = [
            pass_on(each, request.within(each.first, each.last), _LESS * seconds) for each in below
        ]
        own = host.run(request.within(host.first, host.last))
        others = [wait(max(0.0, end - time.monotonic())) for wait in reversed(waiting)]
        return joined([own, *others], host.n_shards)
    except Exception as error:  # whatever it is, the driver looks for the one who failed
        lost = Astray(f"{type(error).__name__}: {error}")
        return Reply(request.round, request.first, 0, error=lost)


def joined(replies: Sequence[Reply], n_shards: int) -> Reply:
    """One reply for consecutive hosts: values in turn, sums as far as they can be added up."""
    first, n_rows = replies[0], sum(reply.n_rows for reply in replies)
    if any(reply.round != first.round for reply in replies):
        raise Astray(f"replies of rounds {[reply.round for reply in replies]}")
    for reply in replies:
        if reply.error is not None:
            return replace(reply, first=first.first, n_rows=n_rows)
    values = [value for reply in replies for value in reply.values]
    several = zip(*(reply.sums for reply in replies), strict=True)
    sums = [_added(parts, n_shards) for parts in several]
    return Reply(first.round, first.first, n_rows, values, sums)


def _added(parts: Sequence[dict[Span, Any]], n_shards: int) -> dict[Span, Any]:
    """Sums of the same shape, which NumPy might stretch otherwise."""
    every = {span: value for each in parts for span, value in each.items()}
    shapes = {np.shape(value) for value in every.values()}
    if len(shapes) > 1:
        raise Astray(f"sums of shapes {sorted(shapes)}")
    return merged(every, n_shards)
