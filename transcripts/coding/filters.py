"""Filters of the desk: sentences that are undecided, whose code has changed, that have a memo or one code.

The question stays beside the answers that are shown, and where nothing fits everything stays shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from transcripts.coding.exchanges import Exchange, Row, TurnBlock
from transcripts.coding.next_sentence import Reason

CODE = "code:"
LABELS: dict[str, str] = {
    Reason.UNCODED: "Uncoded",
    Reason.CHANGED: "Changed code",
    Reason.DISAGREED: "Coders disagree",
    Reason.MEMO: "With memo",
}


@dataclass(slots=True)
class Shown:
    """What is shown of an interview. ``rows``: those that fit, ``None`` where nothing is filtered.

    ``total``: of how many; ``found`` is 0 where nothing fits, and so everything is shown.
    """

    value: str = ""
    label: str = ""
    rows: frozenset[int] | None = None
    found: int = 0
    total: int = 0

    @property
    def words(self) -> str:
        if not self.value:
            return ""
        if not self.found:
            return f"{self.label}: none of {self.total} sentences, so all are shown"
        return f"{self.label}: {self.found} of {self.total} sentence{'' if self.total == 1 else 's'}"


def list_choices(*, codes_herself: bool, may_see_differences: bool) -> list[tuple[str, str]]:
    """The filters that a person is offered, except those by code: the value in the address, and the label."""
    offers: dict[str, bool] = {Reason.UNCODED: codes_herself, Reason.DISAGREED: may_see_differences}
    return [("", "All"), *((str(reason), label) for reason, label in LABELS.items() if offers.get(reason, True))]


def apply_filter(
    exchanges: Iterable[Exchange], value: str, *, names: dict[str, str], differing: Collection[int] | None
) -> Shown:
    """Keep what fits ``value``, and mark what is out of sight; an unknown value filters nothing.

    ``names`` are the codes by identifier; ``differing`` the sentences with disagreements, ``None`` if the viewer may not see them.
    """
    exchanges = list(exchanges)
    fits = _find_rule(value, names, differing)
    label = LABELS.get(value) or names.get(value.removeprefix(CODE), "")
    if fits is None or not label:
        return Shown()
    turns = [turn for exchange in exchanges for turn in exchange.turns]
    counted = [turn for turn in turns if turn.is_answer] if value == Reason.UNCODED else turns
    total = sum(len(turn.rows) for turn in counted)
    rows = frozenset(row.id for turn in counted for row in turn.rows if fits(turn, row))
    if not rows:
        return Shown(value, label, None, 0, total)
    for exchange in exchanges:
        exchange.is_hidden = not _holds(exchange.turns, rows)
        for turn in exchange.answers:
            turn.is_hidden = not _holds([turn], rows)
    return Shown(value, label, rows, len(rows), total)


def _holds(turns: Iterable[TurnBlock], rows: Collection[int]) -> bool:
    return any(row.id in rows for turn in turns for row in turn.rows)


Rule = Callable[[TurnBlock, Row], bool]


def _find_rule(value: str, names: dict[str, str], differing: Collection[int] | None) -> Rule | None:
    if value.startswith(CODE) and value.removeprefix(CODE) in names:
        return lambda turn, row: _bears(turn, row, value.removeprefix(CODE))
    rules: dict[str, Rule] = {
        Reason.UNCODED: lambda _, row: not (row.marks and row.marks.counts_as_decided),
        Reason.CHANGED: lambda _, row: any(chip.is_changed for chip in row.marks.chips) if row.marks else False,
        Reason.MEMO: lambda _, row: bool(row.marks and row.marks.memos),
    }
    if differing is not None:
        rules[Reason.DISAGREED] = lambda _, row: row.id in differing
    return rules.get(value)


def _bears(turn: TurnBlock, row: Row, identifier: str) -> bool:
    """Whether a code is applied to the sentence, or to its turn if it is the first of it."""
    chips = [*(row.marks.chips if row.marks else ()), *(turn.marks.chips if row is turn.rows[0] else ())]
    return any(chip.identifier == identifier for chip in chips)
