"""Which keys a code may have at the desk; those the desk keeps are listed with the rules of codebook files."""

from __future__ import annotations

from transcripts.formats.codebook_rules import RESERVED_KEYS, SINGLE_KEYS

# Signs with which the desk repeats, finds, goes to other interviews and shows its keys.
RESERVED = RESERVED_KEYS | frozenset("./[]?")


def find_key_problem(key: str) -> str:
    """What is wrong with a key, as a sentence; empty for a good one and for none."""
    if not key or key in SINGLE_KEYS:
        return ""
    free = f"A code may have one of {' '.join(sorted(SINGLE_KEYS))}, or none."
    return f"The desk uses the key {key} itself. {free}" if key in RESERVED else f"{key[:20]!r} is no key. {free}"
