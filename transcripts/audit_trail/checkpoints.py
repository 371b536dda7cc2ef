"""Checkpoints of the trail: signed records of the last event in every stream, to be stored apart from its database.

One command writes them into a folder, and another compares them with the database.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from django.utils import timezone

from transcripts.audit_trail.models import AuditEvent, AuditHead
from transcripts.audit_trail.trail import format_time

FORMAT = "auditapp.checkpoint.1"
Heads = Mapping[str, tuple[int, str]]
"""For each stream, the sequence number and the hash of its last event."""


class BadKey(ValueError):
    """A key cannot be used; the message says why."""


class BadCheckpoint(ValueError):
    """A checkpoint is not valid; the message says why."""


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
    """A checkpoint as one line of JSON. ``at`` is ISO 8601 in UTC; ``previous`` the hash of the one before ("" for the first)."""
    streams = {stream: list(head) for stream, head in sorted(heads.items())}
    content: dict[str, object] = {"format": FORMAT, "at": at, "previous": previous, "streams": streams}
    return json.dumps({**content, "signature": key.sign(_write_canonically(content)).hex()}, sort_keys=True) + "\n"


def read_checkpoint(text: str, key: Ed25519PublicKey) -> tuple[str, str, Heads]:
    """Read the time, the hash of the checkpoint before, and the heads. Raises ``BadCheckpoint`` unless its signature fits
    ``key``."""
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
    """The hash that the next checkpoint contains, so that none in between can be removed unnoticed."""
    return hashlib.sha256(text.encode()).hexdigest()


def _write_canonically(content: Mapping[str, object]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


NAME = "checkpoint-{:06d}.json"
PATTERN = "checkpoint-*.json"


def add_checkpoint(folder: Path, key: Ed25519PrivateKey) -> Path:
    """Write the next checkpoint to ``folder``, completely or not at all. Raises ``OSError``."""
    before = list_checkpoints(folder)
    previous = hash_checkpoint(before[-1].read_text(encoding="utf-8")) if before else ""
    heads = {head.stream: (head.sequence, head.hash) for head in AuditHead.objects.filter(sequence__gt=0)}
    text = write_checkpoint(heads, at=format_time(timezone.now()), previous=previous, key=key)
    path = folder / NAME.format(_read_number(before[-1]) + 1 if before else 1)
    part = path.with_suffix(".part")
    with part.open("x", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    # Unlike a rename, this fails where another process was faster.
    os.link(part, path)
    part.unlink()
    return path


def compare_with_checkpoints(folder: Path, key: Ed25519PublicKey) -> Iterator[str]:
    """The contradictions between the trail in the database and the checkpoints, as sentences; empty if all agree."""
    previous, number = "", 0
    for path in list_checkpoints(folder):
        text = path.read_text(encoding="utf-8")
        number += 1
        if _read_number(path) != number:
            yield f"{NAME.format(number)} is missing."
            number = _read_number(path)
        try:
            at, named, heads = read_checkpoint(text, key)
        except BadCheckpoint as problem:
            yield f"{path.name}: {problem}."
            previous = hash_checkpoint(text)
            continue
        if named != previous:
            yield f"{path.name} does not follow from the checkpoint before it."
        previous = hash_checkpoint(text)
        yield from _compare(path.name, at, heads)


def list_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in ``folder``, oldest first."""
    return sorted(folder.glob(PATTERN), key=_read_number)


def _read_number(path: Path) -> int:
    digits = path.stem.removeprefix("checkpoint-")
    return int(digits) if digits.isdecimal() else 0


def _compare(name: str, at: str, heads: Heads) -> Iterator[str]:
    found = {
        (stream, sequence): digest
        for stream, sequence, digest in AuditEvent.objects.filter(
            stream__in=list(heads), sequence__in={sequence for sequence, _ in heads.values()}
        ).values_list("stream", "sequence", "hash")
    }
    for stream, (sequence, digest) in heads.items():
        stored = found.get((stream, sequence))
        if stored is None:
            yield f"{name} of {at} includes event {sequence} of {stream}, which is no longer there."
        elif stored != digest:
            yield f"{name} of {at} has another hash for event {sequence} of {stream}: events up to it were rewritten."
