"""Checkpoints of the trail in a folder: written by one command, compared with the database by another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.utils import timezone

from transcripts.audit_trail.models import AuditEvent, AuditHead
from transcripts.audit_trail.pure.checkpoints import (
    BadCheckpoint,
    Heads,
    hash_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from transcripts.audit_trail.rows import format_time

NAME = "checkpoint-{:06d}.json"
PATTERN = "checkpoint-*.json"


def add_checkpoint(folder: Path, key: Ed25519PrivateKey) -> Path:
    """Write the next checkpoint into ``folder``: the whole file or none. Raises ``OSError``."""
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
    """What speaks against the trail in the database or against the checkpoints, a sentence each; nothing where all agree."""
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
            yield f"{name} of {at} knows event {sequence} of {stream}, which is no longer there."
        elif stored != digest:
            yield f"{name} of {at} has another hash for event {sequence} of {stream}: events up to it were rewritten."
