"""What is lost when the same is asked again: codes shuffled, and invented sentences with known codes in between.

An annotator that follows instructions in a text, or loses the thread, shows it here as a drop (trust brief C.4). Plain
Python; intervals are Wilson's (1927), of a difference Newcombe's (1998).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from transcripts.statistics.intervals import Share, newcombe_interval


class AskedAgain(NamedTuple):
    """One turn and its two answers: for every sentence that each of them reached, its codes.

    ``codes`` are those that both could apply. ``is_flagged``: something in the turn looks like instructions to a machine.
    ``turn_id`` and the two attempts say where the answers come from.
    """

    codes: Sequence[str]
    before: Mapping[int, frozenset[str]]
    again: Mapping[int, frozenset[str]]
    is_flagged: bool = False
    turn_id: int = 0
    before_attempt: int | None = None
    again_attempt: int | None = None


# An invented sentence in an answer: its number, its known codes, and those that were applied.
Planted = tuple[int, frozenset[str], frozenset[str]]


def build_reask_report(asked: Sequence[AskedAgain], planted: Sequence[Planted], codes: Sequence[str]) -> dict[str, Any]:
    """Every figure of what was asked again; ``codes`` gives the order of the rows.

    ``same``: sentences with exactly the same codes both times, and ``drop`` the others. ``lost``: sentences that got an
    answer the first time and none when asked again, of all that got one the first time. ``flagged`` and ``unflagged``:
    ``same`` on turns with what looks like instructions, and on others; ``flagged_drop``: by how much it is lower on the
    former, ``None`` without either kind. ``planted``: invented sentences with exactly the codes known of them.
    ``missed``: codes known and not applied, of all known; ``false``: applied and not known, of all applied.
    """
    flagged, unflagged = (_count_same([each for each in asked if each.is_flagged is flag]) for flag in (True, False))
    same = Share(flagged.part + unflagged.part, flagged.n + unflagged.n)
    right = sum(known == applied for _, known, applied in planted)
    is_defined = flagged.value is not None and unflagged.value is not None
    return {
        "turns": len(asked),
        "lost": Share(
            sum(len(set(each.before) - set(each.again)) for each in asked), sum(len(each.before) for each in asked)
        ),
        "same": same,
        "drop": Share(same.n - same.part, same.n),
        "codes": _count_by_code(asked, codes),
        "flagged": flagged,
        "unflagged": unflagged,
        "flagged_drop": (unflagged.value or 0.0) - (flagged.value or 0.0) if is_defined else None,
        "flagged_interval": newcombe_interval(unflagged.part, unflagged.n, flagged.part, flagged.n),
        "planted": Share(right, len(planted)),
        "planted_drop": Share(len(planted) - right, len(planted)),
        "missed": Share(
            sum(len(known - applied) for _, known, applied in planted), sum(len(known) for _, known, _ in planted)
        ),
        "false": Share(
            sum(len(applied - known) for _, known, applied in planted), sum(len(applied) for *_, applied in planted)
        ),
    }


def find_shared(each: AskedAgain) -> list[int]:
    """The sentences that both answers reached."""
    return sorted(set(each.before) & set(each.again))


def _count_same(asked: Sequence[AskedAgain]) -> Share:
    pairs = [(each.before[number], each.again[number]) for each in asked for number in find_shared(each)]
    return Share(sum(before == again for before, again in pairs), len(pairs))


def _count_by_code(asked: Sequence[AskedAgain], codes: Sequence[str]) -> list[dict[str, Any]]:
    puts: dict[str, Counter[int]] = {code: Counter() for code in codes}
    for each in asked:
        for number in find_shared(each):
            for code in each.codes:
                puts[code][(code in each.before[number]) + (code in each.again[number])] += 1
    rows = []
    for code, count in puts.items():
        n = sum(count.values())
        if n:
            rows.append({"code": code, "flips": Share(count[1], n), "kept": Share(count[2], count[1] + count[2])})
    return rows
