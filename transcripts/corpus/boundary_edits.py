"""Boundary edits as rows: sentences are locked, retired and replaced. Only actions call what writes here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from django.db.models import F
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail.trail import RowChange
from transcripts.corpus import queries
from transcripts.corpus.models import BoundaryEdit, Interview, Sentence, Turn
from transcripts.corpus.pure.boundaries import BoundaryEditRefused, Extent
from transcripts.corpus.pure.segmenting import TOOL_KINDS, hash_quote
from transcripts.studies.models import Study

# How a room above migrates the work on retired sentences; the details it returns go into the audit event.
Migrated = tuple[dict[str, object], list[RowChange]]
Migrate = Callable[[BoundaryEdit], Migrated]


class SentenceRetired(BoundaryEditRefused):
    """The sentence was retired by a boundary edit in the meantime."""


def extent_of(sentence: Sentence) -> Extent:
    return Extent(sentence.start, sentence.end)


def lock_turn(study: Study, sentence: Sentence) -> Turn:
    """The turn of ``sentence``, locked, so that one person at a time edits its boundaries."""
    turn = Turn.objects.select_for_update().get(pk=sentence.turn_id)
    if not Interview.objects.filter(pk=turn.interview_id, study=study).exists():
        raise BoundaryEditRefused("This sentence is not part of this study.")
    if turn.channel in TOOL_KINDS:
        raise BoundaryEditRefused("Tool traffic is not divided into sentences, so there is nothing to split or merge.")
    return turn


def find_boundary_edit(idempotency_key: UUID, turn: Turn, kind: str, by: User) -> BoundaryEdit | None:
    """The boundary edit that an earlier copy of the same request made, if any."""
    stored = BoundaryEdit.objects.filter(idempotency_key=idempotency_key).first()
    if stored is not None and (stored.turn_id, stored.kind, stored.edited_by_id) != (turn.pk, kind, by.pk):
        raise BoundaryEditRefused(
            "This request has the same idempotency key as an earlier request. Reload the page and try again."
        )
    return stored


def lock_current(pk: int) -> Sentence:
    """A sentence about to be retired, locked: a coding made at this moment is already stored, or is refused."""
    found = Sentence.objects.select_for_update().filter(pk=pk, retired_by__isnull=True).first()
    if found is None:
        raise SentenceRetired(queries.explain_retired(pk))
    return found


def read_suffixes(turn_id: int, position: int) -> set[str]:
    """The suffixes of the current pieces of what was one sentence at import."""
    current = Sentence.objects.current().filter(turn_id=turn_id, position=position)
    return set(current.values_list("suffix", flat=True))


def find_merged(old: Sentence, second_start: int) -> list[Sentence]:
    """Copies of the two sentences that were merged into ``old``, if it is split again where they met; else nothing.

    So undoing a merge restores their numbers and kinds, and leaves out what was between them, as before.
    """
    merges = BoundaryEdit.objects.filter(
        turn_id=old.turn_id, kind=BoundaryEdit.Kind.MERGE, made__start=old.start, made__end=old.end
    )
    for edit in merges.order_by("-pk").prefetch_related("retired"):
        above, below = sorted(edit.retired.all(), key=extent_of)
        if below.start == second_start:
            return _copy_if_free(old.turn_id, [above, below])
    return []


def find_whole(turn_id: int, extent: Extent) -> list[Sentence]:
    """A copy of the sentence that had exactly this extent before it was split, if any: undoing a split restores it."""
    before = Sentence.objects.filter(turn_id=turn_id, **extent._asdict(), retired_by__isnull=False)
    return _copy_if_free(turn_id, list(before.order_by("-pk")[:1]))


def _copy_if_free(turn_id: int, earlier: Sequence[Sentence]) -> list[Sentence]:
    """Copies of earlier sentences, not yet stored; none if a number of theirs is taken by now."""
    if any(sentence.suffix in read_suffixes(turn_id, sentence.position) for sentence in earlier):
        return []
    return [
        Sentence(start=each.start, end=each.end, position=each.position, suffix=each.suffix, kind=each.kind)
        for each in earlier
    ]


def retire(sentences: Sequence[Sentence], *, turn: Turn, kind: str, by: User, idempotency_key: UUID) -> BoundaryEdit:
    """Start a boundary edit, which retires these sentences."""
    edit = BoundaryEdit.objects.create(
        turn=turn, kind=kind, idempotency_key=idempotency_key, edited_at=timezone.now(), edited_by=by
    )
    Sentence.objects.filter(pk__in=[sentence.pk for sentence in sentences]).update(retired_by=edit)
    return edit


def make_sentence(edit: BoundaryEdit, sentence: Sentence) -> None:
    """Store a sentence that replaces those the edit retired."""
    sentence.turn = edit.turn
    sentence.text_hash = hash_quote(edit.turn.text[sentence.start : sentence.end])
    sentence.made_by = edit
    sentence.save(force_insert=True)


def change_sentence_count(edit: BoundaryEdit, *, by: int) -> None:
    """Keep the interview's count of current sentences right."""
    Interview.objects.filter(pk=edit.turn.interview_id).update(sentence_count=F("sentence_count") + by)
