"""What tells one risk from another: a checkpoint goes on only with the data it was made of."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable

import numpy as np

from fenchel.engines import Engine


def digest_of(engine: Engine, task: Callable[..., bytes], *known: object) -> bytes:
    """A digest of all that is known of a risk, and of every shard by what `task` says of it."""
    with np.printoptions(threshold=sys.maxsize):  # a matrix of costs, in full
        settings = " ".join(map(repr, known))
    digest = hashlib.blake2b(settings.encode(), digest_size=16)
    for part in engine.map(task):
        digest.update(part)
    return digest.digest()
