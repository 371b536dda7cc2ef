"""Signed statements of how far every stream of the trail had come, to be kept where its database is not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

FORMAT = "auditapp.checkpoint.1"
Heads = Mapping[str, tuple[int, str]]
"""Of each stream the sequence number and the hash of its last event."""


class BadKey(ValueError):
    """A sentence about a key that cannot be used."""


class BadCheckpoint(ValueError):
    """A sentence about a checkpoint that cannot be believed."""


def read_private_key(data: bytes) -> Ed25519PrivateKey:
    """An Ed25519 key in PEM, as ``openssl genpkey -algorithm ed25519`` writes it. Raises ``BadKey``."""
    try:
        key = load_pem_private_key(data, password=None)
    except (ValueError, TypeError):
        raise BadKey("it is not a private key in PEM without a password.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadKey("it is not an Ed25519 key (make one with: openssl genpkey -algorithm ed25519 -out FILE).")
    return key


def read_public_key(data: bytes) -> Ed25519PublicKey:
    """The public part of such a key, as ``openssl pkey -pubout`` writes it. Raises ``BadKey``."""
    try:
        key = load_pem_public_key(data)
    except (ValueError, TypeError):
        raise BadKey("it is not a public key in PEM.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise BadKey("it is not an Ed25519 key.")
    return key


def write_checkpoint(heads: Heads, *, at: str, previous: str, key: Ed25519PrivateKey) -> str:
    """One line of JSON. ``at`` is ISO 8601 in UTC; ``previous`` the hash of the checkpoint before ("": the first)."""
    streams = {stream: list(head) for stream, head in sorted(heads.items())}
    content: dict[str, object] = {"format": FORMAT, "at": at, "previous": previous, "streams": streams}
    return json.dumps({**content, "signature": key.sign(_write_canonically(content)).hex()}, sort_keys=True) + "\n"


def read_checkpoint(text: str, key: Ed25519PublicKey) -> tuple[str, str, Heads]:
    """Time, hash of the checkpoint before, and the heads. Raises ``BadCheckpoint`` unless ``key`` belongs to its signature."""
    try:
        content: dict[str, Any] = json.loads(text)
        signature = bytes.fromhex(content.pop("signature"))
        streams = {
            str(stream): (int(sequence), str(digest)) for stream, (sequence, digest) in content["streams"].items()
        }
        at, previous, format = str(content["at"]), str(content["previous"]), content["format"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadCheckpoint("it is not a checkpoint, or it is damaged") from None
    if format != FORMAT:
        raise BadCheckpoint(f"it has the format {format!r}, not {FORMAT!r}")
    try:
        key.verify(signature, _write_canonically(content))
    except InvalidSignature:
        raise BadCheckpoint("its signature does not belong to this key, or its content was changed") from None
    return at, previous, streams


def hash_checkpoint(text: str) -> str:
    """What the next checkpoint repeats, so that one in between cannot be left out."""
    return hashlib.sha256(text.encode()).hexdigest()


def _write_canonically(content: Mapping[str, object]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
