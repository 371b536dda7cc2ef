"""The hash chain, in plain Python: an outsider can verify an exported trail with this file alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import NamedTuple

DOMAIN = "auditapp.audit.1"
# Made once: making one takes longer than using it.
CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


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
    content = CANONICAL.encode(link)
    return hashlib.sha256(f"{DOMAIN}\n{previous_hash}\n{content}".encode()).hexdigest()


def find_break(entries: Iterable[Entry]) -> int | None:
    """Sequence number of the first event of one stream that does not fit the chain, or ``None`` when all fit.

    Entries come in order. A changed, missing, inserted or swapped event is a break; a cut tail is not visible here
    (the stored head, or a checkpoint kept elsewhere, shows it).
    """
    previous_hash, expected = "", 1
    for link, stored_previous, stored_hash in entries:
        fits = (
            link.sequence == expected
            and stored_previous == previous_hash
            and stored_hash == hash_link(link, previous_hash)
        )
        if not fits:
            return link.sequence
        previous_hash, expected = stored_hash, expected + 1
    return None
