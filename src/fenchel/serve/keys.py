"""The keys behind masks: who takes part, and the secret that each pair of owners shares.

Every owner has a key of its own (X25519) and a file with the public keys of all, its own among
them, which the owners hand each other without the solver: who can choose the keys can take the
masks off.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from pathlib import Path

from fenchel.engines import masks
from fenchel.engines.messages import MOST_OWNERS
from fenchel.errors import InvalidData, Setting
from fenchel.risks.base import Array
from fenchel.serve.guard import Refused

_BLOCK = re.compile(rb"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)


@dataclass(frozen=True)
class Roster:
    """All owners who answer together: a digest of their public keys, and our secrets with them."""

    digest: str
    mine: int  # our place in the order of public keys
    secrets: tuple[bytes, ...]  # b"" with ourselves

    def context(self, together: tuple[str, ...], kind: str, w: bytes) -> bytes:
        """What all who answer must agree on for masks to cancel."""
        parts = (self.digest, *together, kind)
        return hashlib.sha256(" ".join(parts).encode() + b"\n" + w).digest()

    def masked(self, numbers: Array, context: bytes) -> bytes:
        """The numbers under our masks; Refused where they are too large for them."""
        if not bool((abs(numbers) < masks.largest(len(self.secrets))).all()):
            raise Refused(403, "the sums there are too large to be masked")
        return masks.masked(numbers, self.mine, self.secrets, context)


def roster(key: str, everyone: str) -> Roster:
    """The roster of a private key in PEM and of a file with the public keys of all owners."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.x25519 import (
            X25519PrivateKey,
            X25519PublicKey,
        )
    except ImportError as error:
        raise ImportError("masks need cryptography: pip install 'fenchel[serve]'") from error
    unusable = (ValueError, TypeError, UnsupportedAlgorithm)
    content, blocks = _read("mask_key", key), _BLOCK.findall(_read("mask_peers", everyone))
    try:
        private = serialization.load_pem_private_key(content, None)
    except unusable as error:
        raise InvalidData(Setting("mask_key"), f": {key} holds no private key: {error}") from error
    try:
        public = [serialization.load_pem_public_key(block) for block in blocks]
    except unusable as error:
        raise InvalidData(Setting("mask_peers"), f": {everyone}: {error}") from error
    peers = {each.public_bytes_raw(): each for each in public if isinstance(each, X25519PublicKey)}
    if not isinstance(private, X25519PrivateKey) or len(peers) < len(public):
        raise InvalidData(
            f"{key} and {everyone} must hold X25519 keys, a different one for each owner: "
            "openssl genpkey -algorithm X25519"
        )
    own = private.public_key().public_bytes_raw()
    if own not in peers or not 2 <= len(peers) <= MOST_OWNERS:
        raise InvalidData(
            f"{everyone} must hold the public keys of all owners, that of {key} among them, from "
            f"2 to {MOST_OWNERS}; it has {len(peers)}"
        )
    order = sorted(peers)
    digest = hashlib.sha256(b"".join(order)).hexdigest()
    shared = [b"" if each == own else private.exchange(peers[each]) for each in order]
    return Roster(digest, order.index(own), tuple(_derived(each, digest) for each in shared))


def _derived(shared: bytes, digest: str) -> bytes:
    """A key of its own for this use and these owners."""
    if not shared:
        return b""
    return hmac.digest(shared, b"fenchel masks " + digest.encode(), "sha256")


def _read(name: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidData(Setting(name), f": {path} cannot be read: {error.strerror}") from error
