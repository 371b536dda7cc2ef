"""What becomes of people's work when the breaks of its sentence are corrected.

What stands on the old sentence is put on the new ones as new rows, which name the old one and keep its time; the old rows
are withdrawn and stay. What no longer stands, but stood when its coder first saw others' labels, is carried as well:
it is her blind reading. Suggestions of machines stay with the old sentence.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar
from uuid import uuid5

from transcripts.codebook.models import CodeFamily
from transcripts.coding.models import Coding, Decision, Layer, Level, Memo, Reveal, Unblinding
from transcripts.coding.values import CHOICE_FIELDS
from transcripts.corpus.models import Recut, Sentence
from transcripts.corpus.pure.recutting import Extent, share_quote, unite_quotes

Row = TypeVar("Row", Coding, Decision, Memo, Reveal)
Work = Coding | Decision | Memo
BETWEEN_NOTES = " / "


# Rows of one person on retired sentences, in the order of the text, and the row that takes their place.
Step = tuple[Sequence[Work], Work]


def carry_to_pieces(recut: Recut) -> dict[str, object]:
    """Carry what stands on a sentence to its two pieces; the numbers of the rows, for the audit event."""
    [old] = recut.retired.all()
    pieces = list(recut.made.order_by("start"))
    work = codings, decisions, memos, reveals = _read_work(recut, [old])
    steps: list[Step] = []
    coded: set[tuple[int, int]] = set()
    for coding in codings:
        for piece, quote in _find_pieces(coding, pieces):
            steps.append(([coding], _copy_coding(coding, piece, quote)))
            if _is_of_sentence(coding):
                coded.add((piece.pk, coding.coder_id))
    for decision in decisions:
        for piece in pieces:
            none_applies = decision.none_applies or (piece.pk, decision.coder_id) not in coded
            steps.append(([decision], _copy(decision, piece, none_applies=none_applies)))
    steps += [([memo], _copy(memo, pieces[0], revision=memo.revision + 1)) for memo in memos]
    new_reveals = [_copy_reveal(reveal, piece) for reveal in reveals for piece in pieces]
    return _store(recut, work, steps, new_reveals)


def carry_to_whole(recut: Recut) -> dict[str, object]:
    """Carry what stands on two sentences to the one made of them; the numbers of the rows, for the audit event."""
    old = list(recut.retired.order_by("start"))
    [whole] = recut.made.all()
    work = codings, decisions, memos, old_reveals = _read_work(recut, old)
    joiner = _Joiner(old, whole)
    steps = [*joiner.join_codings(codings), *joiner.join_decisions(decisions), *joiner.join_memos(memos)]
    reveals: dict[int, Reveal] = {}
    for reveal in sorted(old_reveals, key=lambda reveal: reveal.revealed_at):
        reveals.setdefault(reveal.coder_id, _copy_reveal(reveal, whole))
    told = _store(recut, work, steps, list(reveals.values()))
    # Two ways of putting a code that cannot both stand on one sentence: the lead is told how often one gave way.
    return {**told, "put_differently": joiner.put_differently} if joiner.put_differently else told


# The codings, decisions, memos and reveals to migrate.
_Work = tuple[list[Coding], list[Decision], list[Memo], list[Reveal]]


def _read_work(recut: Recut, old: Sequence[Sentence]) -> _Work:
    """The active rows, and those that were active when their coder first saw others' labels. Five queries."""
    reveals = list(Reveal.objects.filter(sentence__in=old))
    seen: dict[int, datetime.datetime] = dict(
        Unblinding.objects.filter(interview=recut.turn.interview_id).values_list("user_id", "unblinded_at")
    )
    for reveal in reveals:
        seen[reveal.coder_id] = min(reveal.revealed_at, seen.get(reveal.coder_id, reveal.revealed_at))

    def is_carried(row: Coding | Decision) -> bool:
        if row.withdrawn_at is None:
            return True
        return row.layer == Layer.BLIND and row.coder_id in seen and row.withdrawn_at > seen[row.coder_id]

    codings = Coding.objects.filter(sentence__in=old).select_related("code__family", "code__version", "sentence")
    decisions = Decision.objects.filter(sentence__in=old).select_related("sentence")
    memos = Memo.objects.active().filter(sentence__in=old, subject=Memo.Subject.SENTENCE)
    return (
        [coding for coding in codings.order_by("sentence__start", "pk") if is_carried(coding)],
        [decision for decision in decisions.order_by("sentence__start", "pk") if is_carried(decision)],
        list(memos.select_related("sentence").order_by("sentence__start", "pk")),
        reveals,
    )


def _find_pieces(coding: Coding, pieces: Sequence[Sentence]) -> list[tuple[Sentence, Extent | None]]:
    """On which pieces a coding goes on, and what it quotes there."""
    if not _is_of_sentence(coding):
        return [(pieces[0], None)]
    if coding.quote_start is None or coding.quote_end is None:
        return [(piece, None) for piece in pieces]
    shares = [(piece, share_quote(Extent(coding.quote_start, coding.quote_end), _extent(piece))) for piece in pieces]
    # A quote of nothing but the white space in between belongs to neither piece: the coding goes to both.
    return [(piece, share) for piece, share in shares if share] or [(piece, None) for piece in pieces]


class _Joiner:
    """Makes one row of what one person put on two sentences."""

    def __init__(self, old: Sequence[Sentence], whole: Sentence) -> None:
        self.old = {sentence.pk: sentence for sentence in old}
        self.whole = whole
        self.gap = Extent(old[0].end, old[1].start)
        self.put_differently = 0

    def join_codings(self, codings: Iterable[Coding]) -> Iterable[Step]:
        groups: dict[object, list[Coding]] = defaultdict(list)
        for coding in codings:
            same = (coding.coder_id, coding.code.identifier, coding.layer)
            # What was taken off is history, and stays apart.
            groups[same if coding.withdrawn_at is None else coding.pk].append(coding)
        for group in groups.values():
            yield group, self._join_coding(group)

    def _join_coding(self, group: Sequence[Coding]) -> Coding:
        first = group[0]
        quote = unite_quotes([self._quote(coding) for coding in group], self.gap) if _is_of_sentence(first) else None
        joined = _copy_coding(first, self.whole, quote)
        if len(group) == 1:
            return joined
        self.put_differently += any(
            getattr(each, name) != getattr(first, name) for each in group for name in (*CHOICE_FIELDS, "attributes")
        )
        # The older meaning, so that a badge that asks to look again is not lost.
        joined.code = min((coding.code for coding in group), key=lambda code: code.version.number)
        joined.level = Level.LATENT if any(each.level == Level.LATENT for each in group) else first.level
        for name in (*CHOICE_FIELDS.keys() - {"level"}, "range_id"):
            setattr(
                joined, name, next((value for each in group if (value := getattr(each, name))), getattr(first, name))
            )
        joined.attributes = {key: answer for each in reversed(group) for key, answer in each.attributes.items()}
        joined.note = _join_words(each.note for each in group)
        joined.reason = _join_words(each.reason for each in group)
        joined.created_at = max(each.created_at for each in group)
        return joined

    def _quote(self, coding: Coding) -> Extent:
        if coding.quote_start is None or coding.quote_end is None:
            return _extent(self.old[coding.sentence_id])
        return Extent(coding.quote_start, coding.quote_end)

    def join_decisions(self, decisions: Iterable[Decision]) -> Iterable[Step]:
        """A decision where both sentences are decided; one that was taken back where both were when others' were seen."""
        rows: dict[int, list[Decision]] = defaultdict(list)
        for decision in decisions:
            rows[decision.coder_id].append(decision)
        for own in rows.values():
            standing = [decision for decision in own if decision.withdrawn_at is None]
            yield from self._join_pair(standing)
            history = {decision.sentence_id: decision for decision in own if decision.withdrawn_at is not None}
            if history:
                blind = {decision.sentence_id: decision for decision in standing if decision.layer == Layer.BLIND}
                yield from self._join_pair([*{**blind, **history}.values()])

    def _join_pair(self, pair: Sequence[Decision]) -> Iterable[Step]:
        if len(pair) < len(self.old):
            return
        ended = [each.withdrawn_at for each in pair if each.withdrawn_at is not None]
        named = next((each for each in pair if each.withdrawn_at is not None), pair[0])
        joined = _copy(
            named,
            self.whole,
            none_applies=all(each.none_applies for each in pair),
            layer=Layer.ASSISTED if any(each.layer == Layer.ASSISTED for each in pair) else Layer.BLIND,
            created_at=max(each.created_at for each in pair),
            withdrawn_at=min(ended, default=None),
        )
        if joined.withdrawn_at is None or joined.withdrawn_at >= joined.created_at:
            yield pair, joined

    def join_memos(self, memos: Iterable[Memo]) -> Iterable[Step]:
        rows: dict[int, list[Memo]] = defaultdict(list)
        for memo in memos:
            rows[memo.author_id].append(memo)
        for own in rows.values():
            joined = _copy(
                own[0],
                self.whole,
                text="\n\n".join(memo.text for memo in own),
                revision=max(memo.revision for memo in own) + 1,
                created_at=max(memo.created_at for memo in own),
            )
            yield own, joined


def _copy(row: Row, sentence: Sentence, **changes: object) -> Row:
    """A row like ``row`` for another sentence, not yet stored; every field it has or will have is copied."""
    fields = {field.attname for field in row._meta.concrete_fields} - {"id", "superseded_by_id"}
    copied = type(row)(**{name: getattr(row, name) for name in fields})
    for name, value in {**changes, "sentence": sentence}.items():
        setattr(copied, name, value)
    if not isinstance(copied, Reveal):
        copied.client_id = uuid5(copied.client_id, str(sentence.pk))
    return copied


def _copy_coding(coding: Coding, sentence: Sentence, quote: Extent | None) -> Coding:
    """The coding on another sentence; a quote of the whole sentence is none."""
    start, end = (None, None) if quote is None or quote == _extent(sentence) else quote
    return _copy(coding, sentence, quote_start=start, quote_end=end, carried_from=coding, code=coding.code)


def _copy_reveal(reveal: Reveal, sentence: Sentence) -> Reveal:
    return _copy(reveal, sentence)


def _store(recut: Recut, work: _Work, steps: Sequence[Step], reveals: Sequence[Reveal]) -> dict[str, object]:
    """Withdraw what stood, insert what is carried, and link the two where one takes the place of one."""
    numbers: dict[str, list[int]] = defaultdict(list)
    reason = "The sentence was split." if recut.kind == Recut.Kind.SPLIT else "The sentence was joined with another."
    codings, decisions, memos, _ = work
    migrated: list[Work] = [*codings, *decisions, *memos]
    for old in migrated:
        if old.withdrawn_at is None:
            changes = {} if isinstance(old, Memo) else {"withdrawal_reason": reason}
            ended = max(recut.cut_at, old.created_at)
            type(old).objects.filter(pk=old.pk).update(withdrawn_at=ended, **changes)
            numbers[f"{old._meta.model_name}s_withdrawn"].append(old.pk)
    made: list[Work | Reveal] = [*(new for _, new in steps), *reveals]
    for new in made:
        new.save(force_insert=True)
        numbers[f"{new._meta.model_name}s_made"].append(new.pk)
    went_to: dict[Work, list[Work]] = defaultdict(list)
    for old_rows, new in steps:
        went_to[old_rows[0]].append(new)
    for source, targets in went_to.items():
        if len(targets) == 1 and source.withdrawn_at is None and not isinstance(source, Decision):
            type(source).objects.filter(pk=source.pk).update(superseded_by=targets[0])
    return dict(numbers)


def _is_of_sentence(coding: Coding) -> bool:
    return coding.code.family.unit == CodeFamily.Unit.SENTENCE


def _extent(sentence: Sentence) -> Extent:
    return Extent(sentence.start, sentence.end)


def _join_words(lines: Iterable[str]) -> str:
    """Different lines as one."""
    return BETWEEN_NOTES.join(dict.fromkeys(filter(None, lines)))
