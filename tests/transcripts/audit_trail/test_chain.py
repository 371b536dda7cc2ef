"""What the chain shows, on plain values: an outsider verifies an exported trail the same way."""

import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.audit_trail.pure import Link, find_break, hash_link


def make_chain(length, stream="study:1"):
    entries = []
    previous = ""
    for sequence in range(1, length + 1):
        link = Link(
            stream=stream,
            sequence=sequence,
            at=f"2026-01-01T00:00:00.{sequence:06}+00:00",
            actor_id="7",
            actor_name="ada",
            action="coding.added",
            target=f"coding.coding:{sequence}",
            details={"code": "theme.balance", "level": "latent"},
        )
        digest = hash_link(link, previous)
        entries.append((link, previous, digest))
        previous = digest
    return entries


def rehash(entries):
    """As a forger would who knows how the chain is made."""
    forged = []
    previous = ""
    for link, *_ in entries:
        digest = hash_link(link, previous)
        forged.append((link, previous, digest))
        previous = digest
    return forged


def test_untouched_chain_fits():
    assert find_break(make_chain(20)) is None
    assert find_break([]) is None


CHANGES = {
    "stream": "study:2",
    "at": "2026-01-01T00:00:00.000006+00:00",
    "actor_id": "8",
    "actor_name": "Ada",
    "action": "coding.withdrawn",
    "target": "coding.coding:6",
    "details": {"code": "theme.balance", "level": "semantic"},
}


@pytest.mark.parametrize("field", CHANGES)
def test_change_of_any_field_is_found_where_it_was_made(field):
    chain = make_chain(9)
    link, previous, stored = chain[4]
    chain[4] = Link(**{**link._asdict(), field: CHANGES[field]}), previous, stored
    assert find_break(chain) == 5


def test_flipping_one_bit_of_a_hash_is_found():
    chain = make_chain(9)
    link, previous, stored = chain[4]
    flipped = "0" if stored[0] != "0" else "1"
    chain[4] = link, previous, flipped + stored[1:]
    assert find_break(chain) == 5


def test_deleted_event_is_found_at_the_next():
    chain = make_chain(9)
    del chain[4]
    assert find_break(chain) == 6


def test_deleted_first_event_is_found():
    assert find_break(make_chain(9)[1:]) == 2


def test_inserted_event_is_found():
    chain = make_chain(9)
    link, _, stored = chain[4]
    forged = link._replace(target="coding.coding:99")
    chain.insert(5, (forged, stored, hash_link(forged, stored)))
    assert find_break(chain) == 5


def test_swapped_events_are_found():
    chain = make_chain(9)
    chain[3], chain[4] = chain[4], chain[3]
    assert find_break(chain) == 5


def test_event_of_another_stream_is_found():
    chain = make_chain(9)
    chain[4] = make_chain(9, stream="study:2")[4]
    assert find_break(chain) == 5


def test_forged_events_that_were_hashed_anew_are_found_at_the_first_that_was_not():
    chain = make_chain(9)
    link, previous, stored = chain[2]
    forged = link._replace(actor_name="eve"), previous, stored
    assert find_break([*rehash([*chain[:2], forged]), *chain[3:]]) == 4


def test_cut_tail_still_fits_for_the_head_alone_shows_it():
    assert find_break(make_chain(9)[:5]) is None


@given(seed=st.integers(), kind=st.sampled_from(["change", "delete", "swap", "insert"]), length=st.integers(2, 12))
def test_every_kind_of_change_is_found_wherever_it_is(seed, kind, length):
    chain, place = make_chain(length), random.Random(seed).randrange(length - 1)
    if kind == "change":
        link, previous, stored = chain[place]
        chain[place] = link._replace(actor_id="0"), previous, stored
    elif kind == "delete":
        del chain[place]
    elif kind == "swap":
        chain[place], chain[place + 1] = chain[place + 1], chain[place]
    else:
        chain.insert(place, chain[place])
    assert find_break(chain) is not None


def test_hash_is_the_published_one():
    """Pinned: another form of hashing would break every trail there is."""
    link = Link("site", 1, "2026-01-01T00:00:00.000000+00:00", "1", "ada", "test.done", "x", {"b": 1, "a": "é"})
    content = '["site",1,"2026-01-01T00:00:00.000000+00:00","1","ada","test.done","x",{"a":"é","b":1}]'
    assert hash_link(link, "") == hashlib.sha256(f"auditapp.audit.1\n\n{content}".encode()).hexdigest()
    assert hash_link(link, "") == "4a4c63ddc6951c98a2df132802e3baff7e0a2dc28f65f9885c133fe9f826f6d2"
