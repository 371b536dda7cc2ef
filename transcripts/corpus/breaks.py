"""Sentence breaks as rows: what stands is held, retired and numbered anew. Only actions call what writes here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from django.db.models import F
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.corpus import queries
from transcripts.corpus.models import Interview, Recut, Sentence, Turn
from transcripts.corpus.pure.preparing import CHANNELS_WITH_SENTENCES, hash_quote
from transcripts.corpus.pure.recutting import CutRefused, Extent
from transcripts.projects.models import Project

# What a room above does with the work that stands on retired sentences; what it gives joins the audit event.
Carry = Callable[[Recut], dict[str, object]]


class SentenceRetired(CutRefused):
    """The sentence is no more: its breaks were corrected meanwhile."""


class Cutting(NamedTuple):
    """A sentence about to be made: where it lies, what it is called (14, or 14a for a piece of what was 14), its kind."""

    extent: Extent
    position: int
    suffix: str
    kind: str


def extent_of(sentence: Sentence) -> Extent:
    return Extent(sentence.start, sentence.end)


def lock_turn(project: Project, sentence: Sentence) -> Turn:
    """The turn of ``sentence``, held so that its breaks are changed by one person at a time."""
    turn = Turn.objects.select_for_update().get(pk=sentence.turn_id)
    if not Interview.objects.filter(pk=turn.interview_id, project=project).exists():
        raise CutRefused("This sentence is not part of this study.")
    if turn.channel not in CHANNELS_WITH_SENTENCES:
        raise CutRefused("Tool traffic is shown whole: it has no sentences to cut or join.")
    return turn


def find_recut(client_id: UUID, turn: Turn, kind: str, by: User) -> Recut | None:
    """What an earlier sending of the same request did, if any."""
    stored = Recut.objects.filter(client_id=client_id).first()
    if stored is not None and (stored.turn_id, stored.kind, stored.cut_by_id) != (turn.pk, kind, by.pk):
        raise CutRefused("This request carries the number of an earlier one. Reload the page and try again.")
    return stored


def lock_standing(pk: int) -> Sentence:
    """A sentence about to be retired, held: who codes it at this moment has stored it already, or is refused."""
    found = Sentence.objects.select_for_update().filter(pk=pk, retired_by__isnull=True).first()
    if found is None:
        raise SentenceRetired(queries.say_retired(pk))
    return found


def read_suffixes(turn_id: int, position: int) -> set[str]:
    """The suffixes of the standing pieces of what was one sentence at import."""
    standing = Sentence.objects.current().filter(turn_id=turn_id, position=position)
    return set(standing.values_list("suffix", flat=True))


def find_joined(old: Sentence, second_start: int) -> list[Cutting]:
    """The two sentences that were joined into ``old``, if it is cut again where they met; else nothing.

    Undoing a join so brings back their numbers and kinds, and leaves out what stood between them, as before.
    """
    joins = Recut.objects.filter(turn_id=old.turn_id, kind=Recut.Kind.JOIN, made__start=old.start, made__end=old.end)
    for recut in joins.order_by("-pk").prefetch_related("retired"):
        above, below = sorted(recut.retired.all(), key=extent_of)
        if below.start == second_start:
            return _keep_free(old.turn_id, [above, below])
    return []


def find_whole(turn_id: int, extent: Extent) -> list[Cutting]:
    """The sentence that stood over just this extent before it was split, if any: undoing a split brings it back."""
    before = Sentence.objects.filter(turn_id=turn_id, **extent._asdict(), retired_by__isnull=False)
    return _keep_free(turn_id, list(before.order_by("-pk")[:1]))


def _keep_free(turn_id: int, earlier: Sequence[Sentence]) -> list[Cutting]:
    """Earlier sentences to be made again; none when a number of theirs is taken by now."""
    if any(sentence.suffix in read_suffixes(turn_id, sentence.position) for sentence in earlier):
        return []
    return [Cutting(extent_of(each), each.position, each.suffix, each.kind) for each in earlier]


def retire(sentences: Sequence[Sentence], *, turn: Turn, kind: str, by: User, client_id: UUID) -> Recut:
    """Start a correction, by which these sentences stand no more."""
    recut = Recut.objects.create(turn=turn, kind=kind, client_id=client_id, cut_at=timezone.now(), cut_by=by)
    Sentence.objects.filter(pk__in=[sentence.pk for sentence in sentences]).update(retired_by=recut)
    return recut


def make_sentence(recut: Recut, cutting: Cutting) -> Sentence:
    """A sentence that stands in the place of those the correction retired."""
    start, end = cutting.extent
    return Sentence.objects.create(
        turn=recut.turn,
        position=cutting.position,
        suffix=cutting.suffix,
        start=start,
        end=end,
        kind=cutting.kind,
        text_hash=hash_quote(recut.turn.text[start:end]),
        made_by=recut,
    )


def count_anew(recut: Recut, *, grown: int) -> None:
    """Keep the interview's count of standing sentences right."""
    Interview.objects.filter(pk=recut.turn.interview_id).update(sentence_count=F("sentence_count") + grown)
