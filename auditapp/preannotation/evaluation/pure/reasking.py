"""What is lost when the same is asked again: codes shuffled, and invented sentences with known codes in between.

An annotator that follows instructions in a text, or loses the thread, shows it here as a drop (trust brief C.4). Plain
Python; intervals are Wilson's (1927), of a difference Newcombe's (1998).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from auditapp.preannotation.evaluation.pure.checking import Flips
from transcripts.agreement.pure.shares import Interval, Share, newcombe_interval


class AskedAgain(NamedTuple):
    """One turn and its two answers: for every sentence that each of them reached, its codes.

    ``codes`` are those that both could put. ``is_flagged``: something in the turn looks like instructions to a machine.
    ``turn_id`` and the two attempts say where the answers come from.
    """

    codes: Sequence[str]
    before: Mapping[int, frozenset[str]]
    again: Mapping[int, frozenset[str]]
    is_flagged: bool = False
    turn_id: int = 0
    before_attempt: int | None = None
    again_attempt: int | None = None


class Planted(NamedTuple):
    """An invented sentence as it came back: the codes known of it, and those that were put."""

    number: int
    known: frozenset[str]
    put: frozenset[str]


class ReaskReport(NamedTuple):
    """``same``: sentences that carry exactly the same codes both times; ``planted``: invented ones that carry theirs.

    ``lost``: sentences that got an answer the first time and none when asked again, of all that got one the first time.
    ``missed`` and ``false`` count codes of invented sentences: known and not put, of all known; put and not known, of all
    put.
    """

    turns: int
    lost: Share
    same: Share
    codes: list[Flips]
    flagged: Share
    unflagged: Share
    planted: Share
    missed: Share
    false: Share

    @property
    def drop(self) -> Share:
        """The sentences that carry other codes when asked again."""
        return Share(self.same.n - self.same.part, self.same.n)

    @property
    def planted_drop(self) -> Share:
        """The invented sentences that do not carry exactly the codes known of them."""
        return Share(self.planted.n - self.planted.part, self.planted.n)

    @property
    def flagged_drop(self) -> float | None:
        """By how much agreement is lower on turns with what looks like instructions; without either kind ``None``."""
        if self.flagged.value is None or self.unflagged.value is None:
            return None
        return self.unflagged.value - self.flagged.value

    @property
    def flagged_interval(self) -> Interval | None:
        """The 95 % interval of that difference."""
        return newcombe_interval(self.unflagged.part, self.unflagged.n, self.flagged.part, self.flagged.n)


def build_reask_report(asked: Sequence[AskedAgain], planted: Sequence[Planted], codes: Sequence[str]) -> ReaskReport:
    """Every figure of what was asked again; ``codes`` gives the order of the rows."""
    by_flag = {flag: _count_same([each for each in asked if each.is_flagged is flag]) for flag in (True, False)}
    known = sum(len(each.known) for each in planted)
    put = sum(len(each.put) for each in planted)
    first = sum(len(each.before) for each in asked)
    return ReaskReport(
        turns=len(asked),
        lost=Share(sum(len(set(each.before) - set(each.again)) for each in asked), first),
        same=Share(by_flag[True].part + by_flag[False].part, by_flag[True].n + by_flag[False].n),
        codes=_count_by_code(asked, codes),
        flagged=by_flag[True],
        unflagged=by_flag[False],
        planted=Share(sum(each.known == each.put for each in planted), len(planted)),
        missed=Share(sum(len(each.known - each.put) for each in planted), known),
        false=Share(sum(len(each.put - each.known) for each in planted), put),
    )


def find_shared(each: AskedAgain) -> list[int]:
    """The sentences that both answers reached."""
    return sorted(set(each.before) & set(each.again))


def _count_same(asked: Sequence[AskedAgain]) -> Share:
    pairs = [(each.before[number], each.again[number]) for each in asked for number in find_shared(each)]
    return Share(sum(before == again for before, again in pairs), len(pairs))


def _count_by_code(asked: Sequence[AskedAgain], codes: Sequence[str]) -> list[Flips]:
    puts: dict[str, Counter[int]] = {code: Counter() for code in codes}
    for each in asked:
        for number in find_shared(each):
            for code in each.codes:
                puts[code][(code in each.before[number]) + (code in each.again[number])] += 1
    rows = []
    for code, count in puts.items():
        n = sum(count.values())
        if n:
            rows.append(Flips(code, Share(count[1], n), Share(count[2], count[1] + count[2])))
    return rows
