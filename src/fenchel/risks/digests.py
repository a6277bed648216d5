"""What tells one risk from another: a checkpoint goes on only with the data it was made of."""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
from collections.abc import Callable

import numpy as np

from fenchel.engines import Engine
from fenchel.errors import InvalidData
from fenchel.losses import Loss
from fenchel.settings import user_written


def digest_of(engine: Engine, task: Callable[..., bytes], *known: object) -> bytes:
    """A digest of all that is known of a risk, and of every shard by what `task` says of it."""
    with np.printoptions(threshold=sys.maxsize):  # a matrix of costs, in full
        settings = " ".join(map(repr, known))
    digest = hashlib.blake2b(settings.encode(), digest_size=16)
    digest.update(b"".join(held(each) for each in known if isinstance(each, Loss)))
    for part in engine.map(task):
        digest.update(part)
    return digest.digest()


def held(thing: object) -> bytes:
    """A digest of all that a user's loss or regulariser holds; nothing for the library's own.

    The arguments of the library's constructors tell all about their instances; what a user's keep
    of theirs, and under which names, is not known.
    """
    if not user_written(thing):
        return b""
    kind = type(thing)
    state = {
        name: value
        for name, value in vars(thing).items()
        if not isinstance(getattr(kind, name, None), functools.cached_property)
    }
    text = f"{kind.__module__}.{kind.__qualname__}".encode()
    return hashlib.blake2b(text + pickled(kind.__name__, state), digest_size=16).digest()


def pickled(holder: str, part: object) -> bytes:
    """What a user's object holds, as bytes."""
    try:
        return pickle.dumps(part)
    except Exception as error:  # whatever the objects' own methods raise
        raise InvalidData(
            f"what {holder} holds must be such that pickle can write it, as a checkpoint tells one "
            f"problem from another by that: {error}"
        ) from error
