"""Splitting and merging sentences, with the work on them.

The work on the old sentences is migrated: new rows on the new sentences name the old rows and keep their times; the old rows
are withdrawn but kept. A row that is no longer active, but was active when its coder first saw others' labels, is migrated as
well, because it is her blind reading. Suggestions of machines stay with the old sentence.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar
from uuid import UUID, uuid5

from transcripts.accounts.models import User
from transcripts.audit_trail.trail import RowChange, row_changed, row_made
from transcripts.codebook.models import CodeFamily
from transcripts.coding.actions.links import carry_links, move_ends
from transcripts.coding.models import Blinding, Coding, Decision, Level, Memo, Reveal, Unblinding
from transcripts.coding.values import CHOICE_FIELDS
from transcripts.corpus import actions as corpus_actions
from transcripts.corpus.changes import Migrated
from transcripts.corpus.models import BoundaryEdit, Sentence
from transcripts.corpus.pure.boundaries import BoundaryEditRefused, Extent, merge_quotes, share_quote
from transcripts.rounds.models import Assignment
from transcripts.studies.models import Study

Row = TypeVar("Row", Coding, Decision, Memo, Reveal)
Work = Coding | Decision | Memo
BETWEEN_NOTES = " / "

# Rows of one person on retired sentences, in the order of the text, and the row that replaces them.
Step = tuple[Sequence[Work], Work]


def split_sentence(*, study: Study, sentence: Sentence, at: int, by: User, idempotency_key: UUID) -> BoundaryEdit:
    """Split a sentence before the code point ``at`` of its turn's text, with everybody's work on it.

    A coding with a quote goes to the pieces that contain its words; a coding without a quote, decisions and reveals go to both
    pieces; a memo and codes of the turn or interview go to the first. Raises ``BoundaryEditRefused`` or ``SentenceRetired``.
    """
    return corpus_actions.split_sentence(
        study=study, sentence=sentence, at=at, by=by, idempotency_key=idempotency_key, migrate=_migrate_to_pieces
    )


def merge_sentences(
    *, study: Study, first: Sentence, by: User, idempotency_key: UUID, second_id: int | None = None
) -> BoundaryEdit:
    """Merge a sentence with the next of its turn, with everybody's work on them.

    A coding of one becomes a coding of the whole that quotes it; one person's codings with the same code on both become
    one. A decision is kept where both were decided. Raises ``BoundaryEditRefused`` or ``SentenceRetired``.
    """
    return corpus_actions.merge_sentences(
        study=study,
        first=first,
        by=by,
        idempotency_key=idempotency_key,
        second_id=second_id,
        migrate=_migrate_to_whole,
    )


def _check_open(edit: BoundaryEdit) -> None:
    """Refuse boundary edits in an interview that is completed or in a locked round."""
    given = Assignment.objects.filter(interview=edit.turn.interview_id, withdrawn_at__isnull=True)
    locked = given.filter(round__locked_at__isnull=False).select_related("round").first()
    if locked is not None:
        raise BoundaryEditRefused(
            f"Round {locked.round.number}, in which this interview was coded, is locked, so its sentences cannot be split "
            "or merged. Unlock the round first."
        )
    completed = given.filter(completed_at__isnull=False).select_related("round").first()
    if completed is not None:
        raise BoundaryEditRefused(
            f"This interview is completed in round {completed.round.number}, so its sentences cannot be split or merged. "
            "Return it to its coder first."
        )


def _migrate_to_pieces(edit: BoundaryEdit) -> Migrated:
    """Migrate the work on a sentence to its two pieces; returns the ids of the old and new rows for the audit event."""
    _check_open(edit)
    [old] = edit.retired.all()
    pieces = list(edit.made.order_by("start"))
    work = codings, decisions, memos, reveals = _read_work(edit, [old])
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
    return _store(edit, work, steps, new_reveals)


def _migrate_to_whole(edit: BoundaryEdit) -> Migrated:
    """Migrate the work on two sentences to the merged one; returns the ids of the old and new rows for the audit event."""
    _check_open(edit)
    old = list(edit.retired.order_by("start"))
    [whole] = edit.made.all()
    work = codings, decisions, memos, old_reveals = _read_work(edit, old)
    merger = _Merger(old, whole)
    steps = [*merger.merge_codings(codings), *merger.merge_decisions(decisions), *merger.merge_memos(memos)]
    reveals: dict[int, Reveal] = {}
    for reveal in sorted(old_reveals, key=lambda reveal: reveal.revealed_at):
        reveals.setdefault(reveal.coder_id, _copy_reveal(reveal, whole))
    details, rows = _store(edit, work, steps, list(reveals.values()))
    # A code with different values on the two sentences keeps the values of the first; the event counts these cases.
    if merger.put_differently:
        details["put_differently"] = merger.put_differently
    return details, rows


# Codings, decisions, memos and reveals.
_Work = tuple[list[Coding], list[Decision], list[Memo], list[Reveal]]


def _read_work(edit: BoundaryEdit, old: Sequence[Sentence]) -> _Work:
    """The active rows, and those that were active when their coder first saw others' labels. Five queries."""
    reveals = list(Reveal.objects.filter(sentence__in=old))
    seen: dict[int, datetime.datetime] = dict(
        Unblinding.objects.filter(interview=edit.turn.interview_id).values_list("user_id", "unblinded_at")
    )
    for reveal in reveals:
        seen[reveal.coder_id] = min(reveal.revealed_at, seen.get(reveal.coder_id, reveal.revealed_at))

    def is_migrated(row: Coding | Decision) -> bool:
        if row.withdrawn_at is None:
            return True
        return row.blinding == Blinding.BLIND and row.coder_id in seen and row.withdrawn_at > seen[row.coder_id]

    codings = Coding.objects.filter(sentence__in=old).select_related("code__family", "code__version", "sentence")
    decisions = Decision.objects.filter(sentence__in=old).select_related("sentence")
    memos = Memo.objects.active().filter(sentence__in=old, subject=Memo.Subject.SENTENCE)
    return (
        [coding for coding in codings.order_by("sentence__start", "pk") if is_migrated(coding)],
        [decision for decision in decisions.order_by("sentence__start", "pk") if is_migrated(decision)],
        list(memos.select_related("sentence").order_by("sentence__start", "pk")),
        reveals,
    )


def _find_pieces(coding: Coding, pieces: Sequence[Sentence]) -> list[tuple[Sentence, Extent | None]]:
    """The pieces to which a coding is migrated, and its quotes there."""
    if not _is_of_sentence(coding):
        return [(pieces[0], None)]
    if coding.quote_start is None or coding.quote_end is None:
        return [(piece, None) for piece in pieces]
    shares = [(piece, share_quote(Extent(coding.quote_start, coding.quote_end), piece.extent)) for piece in pieces]
    # A quote of only the white space in between belongs to neither piece, so the coding goes to both.
    return [(piece, share) for piece, share in shares if share] or [(piece, None) for piece in pieces]


class _Merger:
    """Merges each person's rows on two sentences into one."""

    def __init__(self, old: Sequence[Sentence], whole: Sentence) -> None:
        self.old = {sentence.pk: sentence for sentence in old}
        self.whole = whole
        self.gap = Extent(old[0].end, old[1].start)
        self.put_differently = 0

    def merge_codings(self, codings: Iterable[Coding]) -> Iterable[Step]:
        groups: dict[object, list[Coding]] = defaultdict(list)
        for coding in codings:
            same = (coding.coder_id, coding.code.identifier, coding.blinding)
            # Withdrawn codings are history, and are kept apart.
            groups[same if coding.withdrawn_at is None else coding.pk].append(coding)
        for group in groups.values():
            yield group, self._merge_coding(group)

    def _merge_coding(self, group: Sequence[Coding]) -> Coding:
        first = group[0]
        quote = merge_quotes([self._quote(coding) for coding in group], self.gap) if _is_of_sentence(first) else None
        merged = _copy_coding(first, self.whole, quote)
        if len(group) == 1:
            return merged
        self.put_differently += any(
            getattr(each, name) != getattr(first, name) for each in group for name in (*CHOICE_FIELDS, "attributes")
        )
        # The older version of the code, so that a pending re-review is not lost.
        merged.code = min((coding.code for coding in group), key=lambda code: code.version.number)
        merged.level = Level.LATENT if any(each.level == Level.LATENT for each in group) else first.level
        for name in (*CHOICE_FIELDS.keys() - {"level"}, "range_id"):
            setattr(
                merged, name, next((value for each in group if (value := getattr(each, name))), getattr(first, name))
            )
        merged.attributes = {key: answer for each in reversed(group) for key, answer in each.attributes.items()}
        merged.note = _combine_lines(each.note for each in group)
        merged.reason = _combine_lines(each.reason for each in group)
        merged.created_at = max(each.created_at for each in group)
        return merged

    def _quote(self, coding: Coding) -> Extent:
        if coding.quote_start is None or coding.quote_end is None:
            return self.old[coding.sentence_id].extent
        return Extent(coding.quote_start, coding.quote_end)

    def merge_decisions(self, decisions: Iterable[Decision]) -> Iterable[Step]:
        """A decision if both sentences are decided; a withdrawn one if both were decided when others' labels were first seen."""
        rows: dict[int, list[Decision]] = defaultdict(list)
        for decision in decisions:
            rows[decision.coder_id].append(decision)
        for own in rows.values():
            active = [decision for decision in own if decision.withdrawn_at is None]
            yield from self._merge_pair(active)
            history = {decision.sentence_id: decision for decision in own if decision.withdrawn_at is not None}
            if history:
                blind = {decision.sentence_id: decision for decision in active if decision.blinding == Blinding.BLIND}
                yield from self._merge_pair([*{**blind, **history}.values()])

    def _merge_pair(self, pair: Sequence[Decision]) -> Iterable[Step]:
        if len(pair) < len(self.old):
            return
        ended = [each.withdrawn_at for each in pair if each.withdrawn_at is not None]
        named = next((each for each in pair if each.withdrawn_at is not None), pair[0])
        merged = _copy(
            named,
            self.whole,
            none_applies=all(each.none_applies for each in pair),
            blinding=Blinding.ASSISTED if any(each.blinding == Blinding.ASSISTED for each in pair) else Blinding.BLIND,
            created_at=max(each.created_at for each in pair),
            withdrawn_at=min(ended, default=None),
        )
        if merged.withdrawn_at is None or merged.withdrawn_at >= merged.created_at:
            yield pair, merged

    def merge_memos(self, memos: Iterable[Memo]) -> Iterable[Step]:
        rows: dict[int, list[Memo]] = defaultdict(list)
        for memo in memos:
            rows[memo.author_id].append(memo)
        for own in rows.values():
            merged = _copy(
                own[0],
                self.whole,
                text="\n\n".join(memo.text for memo in own),
                revision=max(memo.revision for memo in own) + 1,
                created_at=max(memo.created_at for memo in own),
            )
            yield own, merged


def _copy(row: Row, sentence: Sentence, **changes: object) -> Row:
    """A row like ``row`` for another sentence, not yet stored, with all of its fields."""
    fields = {field.attname for field in row._meta.concrete_fields} - {"id", "superseded_by_id"}
    copied = type(row)(**{name: getattr(row, name) for name in fields})
    for name, value in {**changes, "sentence": sentence}.items():
        setattr(copied, name, value)
    if not isinstance(copied, Reveal):
        copied.idempotency_key = uuid5(copied.idempotency_key, str(sentence.pk))
    return copied


def _copy_coding(coding: Coding, sentence: Sentence, quote: Extent | None) -> Coding:
    """The coding on another sentence; a quote of the whole sentence is dropped."""
    start, end = (None, None) if quote is None or quote == sentence.extent else quote
    return _copy(coding, sentence, quote_start=start, quote_end=end, migrated_from=coding, code=coding.code)


def _copy_reveal(reveal: Reveal, sentence: Sentence) -> Reveal:
    return _copy(reveal, sentence)


def _store(edit: BoundaryEdit, work: _Work, steps: Sequence[Step], reveals: Sequence[Reveal]) -> Migrated:
    """Withdraw the old rows, insert the new ones, and link a new row to the old one if it replaces exactly one."""
    numbers: dict[str, list[int]] = defaultdict(list)
    reason = (
        "The sentence was split." if edit.kind == BoundaryEdit.Kind.SPLIT else "The sentence was merged with another."
    )
    codings, decisions, memos, _ = work
    migrated: list[Work] = [*codings, *decisions, *memos]
    rows: list[RowChange] = []
    for old in migrated:
        if old.withdrawn_at is None:
            changes: dict[str, object] = {} if isinstance(old, Memo) else {"withdrawal_reason": reason}
            changes["withdrawn_at"] = max(edit.edited_at, old.created_at)
            type(old).objects.filter(pk=old.pk).update(**changes)
            rows.append(row_changed(type(old), old.pk, **changes))
            numbers[f"{old._meta.model_name}s_withdrawn"].append(old.pk)
    made: list[Work | Reveal] = [*(new for _, new in steps), *reveals]
    for new in made:
        new.save(force_insert=True)
        numbers[f"{new._meta.model_name}s_made"].append(new.pk)
    rows += [row_made(new) for _, new in steps]
    went_to: dict[Work, list[Work]] = defaultdict(list)
    for old_rows, new in steps:
        went_to[old_rows[0]].append(new)
    for source, targets in went_to.items():
        if len(targets) == 1 and source.withdrawn_at is None and not isinstance(source, Decision):
            type(source).objects.filter(pk=source.pk).update(superseded_by=targets[0])
            rows.append(row_changed(type(source), source.pk, superseded_by=targets[0].pk))
    copies = [(old.pk, new) for olds, new in steps for old in olds if isinstance(new, Coding)]
    rows += carry_links(copies, at=edit.edited_at)
    rows += move_ends([sentence.pk for sentence in edit.retired.all()], at=edit.edited_at)
    return dict(numbers), rows


def _is_of_sentence(coding: Coding) -> bool:
    return coding.code.family.unit == CodeFamily.Unit.SENTENCE


def _combine_lines(lines: Iterable[str]) -> str:
    """Join different lines into one."""
    return BETWEEN_NOTES.join(dict.fromkeys(filter(None, lines)))
