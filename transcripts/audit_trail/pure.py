"""The hash chain, in plain Python: an outsider can verify an exported trail with this file alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

DOMAIN = "auditapp.audit.1"
# Made once: making one takes longer than using it.
CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
# As CANONICAL writes a text.
write_text = json.encoder.encode_basestring


class Link(NamedTuple):
    """The hashed content of an event. ``at`` is ISO 8601 in UTC with microseconds."""

    stream: str
    sequence: int
    at: str
    actor_id: str
    actor_name: str
    action: str
    target: str
    details: object


Entry = tuple[Link, str, str]
"""An event as stored: its content, the hash of the event before it, and its own."""


def hash_link(link: Link, previous_hash: str) -> str:
    """SHA-256 over domain, previous hash and the canonical JSON of the event (sorted keys, no spaces)."""
    return hash_written(link, CANONICAL.encode(link.details), previous_hash)


def hash_written(link: Link, details: str, previous_hash: str) -> str:
    """``hash_link`` where ``details`` are written as canonical JSON already; those of ``link`` are not looked at.

    Safe for text that a database hands out: the other values are written here and end where a JSON text ends, so no other
    event has the same content.
    """
    stream, sequence, at, actor_id, actor_name, action, target, _ = link
    words = ",".join(map(write_text, (at, actor_id, actor_name, action, target)))
    content = f"[{write_text(stream)},{sequence},{words},{details}]"
    return hashlib.sha256(f"{DOMAIN}\n{previous_hash}\n{content}".encode()).hexdigest()


def fits(link: Link, stored_hash: str, previous_hash: str) -> bool:
    """Whether an event has the hash that is stored with it. Details that are text are JSON, canonical or not."""
    if not isinstance(link.details, str):
        return hash_link(link, previous_hash) == stored_hash
    if hash_written(link, link.details, previous_hash) == stored_hash:
        return True
    try:
        details = json.loads(link.details)
    except ValueError:
        return False
    return hash_link(link._replace(details=details), previous_hash) == stored_hash


def find_break(entries: Iterable[Entry]) -> int | None:
    """Sequence number of the first event of one stream that does not fit the chain, or ``None`` when all fit.

    Entries come in order. A changed, missing, inserted or swapped event is a break; a cut tail is not visible here
    (the stored head, or a checkpoint kept elsewhere, shows it).
    """
    previous_hash, expected = "", 1
    for link, stored_previous, stored_hash in entries:
        if not (
            link.sequence == expected and stored_previous == previous_hash and fits(link, stored_hash, previous_hash)
        ):
            return link.sequence
        previous_hash, expected = stored_hash, expected + 1
    return None


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
