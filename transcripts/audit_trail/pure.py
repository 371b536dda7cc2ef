"""The hash chain, in plain Python, so that anybody can verify an exported trail with this file alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import NamedTuple

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
"""A stored event: its content, the hash of the previous event, and its own hash."""


def hash_link(link: Link, previous_hash: str) -> str:
    """SHA-256 over domain, previous hash and the canonical JSON of the event (sorted keys, no spaces)."""
    return hash_written(link, CANONICAL.encode(link.details), previous_hash)


def hash_written(link: Link, details: str, previous_hash: str) -> str:
    """``hash_link`` for ``details`` that are already canonical JSON; those of ``link`` are ignored.

    This is safe for text from a database: the other values are written here and end where a JSON text ends, so no other event
    can have the same content.
    """
    stream, sequence, at, actor_id, actor_name, action, target, _ = link
    words = ",".join(map(write_text, (at, actor_id, actor_name, action, target)))
    content = f"[{write_text(stream)},{sequence},{words},{details}]"
    return hashlib.sha256(f"{DOMAIN}\n{previous_hash}\n{content}".encode()).hexdigest()


def fits(link: Link, stored_hash: str, previous_hash: str) -> bool:
    """Whether an event matches its stored hash. Details that are text are JSON, canonical or not."""
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
    """The sequence number of the first event in one stream that does not fit the chain, or ``None`` if all fit.

    Entries must be in order. A changed, missing, inserted or swapped event is a break; a removed end is not detected here (the
    stored head, or a checkpoint stored elsewhere, shows it).
    """
    previous_hash, expected = "", 1
    for link, stored_previous, stored_hash in entries:
        if not (
            link.sequence == expected and stored_previous == previous_hash and fits(link, stored_hash, previous_hash)
        ):
            return link.sequence
        previous_hash, expected = stored_hash, expected + 1
    return None
