"""Changes after an import: whether interviews count, their details, and the boundaries of sentences.

Texts never change; every correction keeps the old value in the history. Nothing is deleted. An interview that does not count
has an empty ``study`` and keeps its ``owning_study``: see ``models.Interview``. Undoing an import removes its interviews from
the study.

In a boundary edit, sentences are locked, retired and replaced. Only actions call the functions that write these rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import models, transaction
from django.db.models import Count, F
from django.utils import timezone
from django.utils.text import capfirst

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.trail import RowChange
from transcripts.corpus import queries
from transcripts.corpus.models import (
    SAYS_EXCLUDED,
    BoundaryEdit,
    ImportedFile,
    Interview,
    InterviewChange,
    Sentence,
    Standing,
    Turn,
)
from transcripts.corpus.pure.boundaries import BoundaryEditRefused, Extent
from transcripts.corpus.pure.segmenting import TOOL_KINDS, hash_quote
from transcripts.corpus.storing import count_grown
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.forms import check_seen
from transcripts.ui.typed_text import check_reason

AT_A_TIME = 500
# Plans, which say what is to be done with a text and are not work on it.
PLANS = {"rounds.assignment", "annotators.turnarm"}
PATHS: dict[type[models.Model], str] = {Interview: "", Turn: "__interview", Sentence: "__turn__interview"}
# The fields that can be corrected, by the names that people see.
FIELDS = {
    field.name: capfirst(field.verbose_name)
    for field in Interview._meta.fields
    if field.name in {"title", "model_label", "period", "tier", "inclusion", "inclusion_reason"}
}
# Those that are sealed in a masked interview.
SEALED = ("title", "model_label", "period", "tier")
PROMPT_KIND = "prompt_kind"


def archive_interviews(*, study: Study, interviews: Iterable[Interview], reason: str, by: User) -> int:
    """Remove interviews from every list and figure of the study until somebody restores them. Returns how many.

    Archived ones stay as they are. Raises ``Refused``.
    """
    needed = "Give a reason, such as “wrong file” or “the participant withdrew”. The reason is kept."
    reason = check_reason(reason, needed=needed)
    return _move(study, interviews, to=Standing.ARCHIVED, reason=reason, by=by, action="corpus.interviews.archived")


def restore_interviews(*, study: Study, interviews: Iterable[Interview], by: User, reason: str = "") -> int:
    """Let archived interviews count again, or be excluded if their field says so. Returns how many.

    Raises ``Refused``.
    """
    found = list(interviews)
    if any(interview.standing == Standing.EXCLUDED for interview in found):
        raise Refused("An excluded interview counts again only when its field Inclusion is changed. Edit its details.")
    reason = check_reason(reason)
    return _move(study, found, to=Standing.COUNTED, reason=reason, by=by, action="corpus.interviews.restored")


def says_excluded(inclusion: str) -> bool:
    """Whether the field ``inclusion`` says that the interview is not to be analysed."""
    return inclusion.strip().casefold() in SAYS_EXCLUDED


@transaction.atomic
def _move(study: Study, interviews: Iterable[Interview], *, to: Standing, reason: str, by: User, action: str) -> int:
    wanted = sorted({interview.pk for interview in interviews})
    if not wanted:
        raise Refused("Choose at least one interview.")
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    held = [
        row for first in range(0, len(wanted), AT_A_TIME) for row in _lock(study, wanted[first : first + AT_A_TIME])
    ]
    if len(held) != len(wanted):
        raise Refused("One of these interviews is not part of this study; nothing was changed.")
    moved = [row for row in held if to != Standing.COUNTED or row.standing == Standing.ARCHIVED]
    moved = store_standings(moved, to=to, reason=reason, by=by)
    if moved:
        trail.record(
            action,
            target=study,
            by=by,
            details={"interviews": [row.pk for row in moved], **({"reason": reason} if reason else {})},
        )
    return len(moved)


def _lock(study: Study, keys: Sequence[int]) -> list[Interview]:
    rows = Interview.objects.kept().filter(owning_study=study, pk__in=keys).order_by("pk")
    return list(rows.select_for_update(no_key=True).only("pk", "owning_study", "study", "standing", "inclusion"))


def store_standings(interviews: Sequence[Interview], *, to: Standing, reason: str, by: User) -> list[Interview]:
    """Set the standing of locked interviews, with a history row for each; returns those that changed. Part of an action.

    An interview that would count becomes excluded if its field says so.
    """
    now = timezone.now()
    changes, moved = [], []
    for row in interviews:
        new = Standing.EXCLUDED if to == Standing.COUNTED and says_excluded(row.inclusion) else to
        if row.standing == new:
            continue
        changes.append(
            InterviewChange(
                interview=row, field="standing", old=row.standing, new=new, reason=reason, changed_at=now, changed_by=by
            )
        )
        row.standing, row.study_id = new, row.owning_study_id if new == Standing.COUNTED else None
        moved.append(row)
    # An update of some thousand rows for each standing: one that has a case for each row takes ten times as long.
    for standing in {row.standing for row in moved}:
        keys = [row.pk for row in moved if row.standing == standing]
        study = F("owning_study") if standing == Standing.COUNTED else None
        for first in range(0, len(keys), AT_A_TIME):
            rows = Interview.objects.filter(pk__in=keys[first : first + AT_A_TIME])
            rows.update(standing=standing, study=study)
    InterviewChange.objects.bulk_create(changes, batch_size=AT_A_TIME)
    return moved


class Work(NamedTuple):
    """The number of records of a person, or of machines (""), on an interview."""

    person: str
    interview: str
    records: int


class UndoRefused(Refused):
    """Somebody has worked with the interviews; ``work`` says who and where, but not what."""

    def __init__(self, work: list[Work]) -> None:
        self.work = work
        super().__init__(
            "The import cannot be undone, because its interviews already contain work. Archive them instead."
        )


def count_work(file: ImportedFile) -> list[Work]:
    """The number of records about the interviews of a file, their turns and sentences, by person and interview: labels, memos,
    quotes, suggestions and the records of any other room, withdrawn or not. No label is named."""
    found: Counter[tuple[str, int]] = Counter()
    for model, path in _list_references():
        owner = next((each.name for each in model._meta.fields if each.related_model is User), None)
        rows = model._base_manager.filter(**{f"{path}__imported_file": file}).order_by()  # noqa: SLF001
        columns = [f"{path}__pk", *([f"{owner}__username"] if owner else [])]
        for interview, *person, count in rows.values_list(*columns).annotate(count=Count("pk")):
            found[person[0] or "" if person else "", interview] += count
    titles = dict(file.interviews.values_list("pk", "title"))
    return [Work(person, titles[interview], count) for (person, interview), count in sorted(found.items())]


def _list_references() -> Iterator[tuple[type[models.Model], str]]:
    """Every model that refers to texts, once, with the path to the interview."""
    seen: set[Any] = {BoundaryEdit}
    yield BoundaryEdit, "turn__interview"
    for of, path in PATHS.items():
        for relation in of._meta.related_objects:
            model: Any = relation.related_model
            is_own = model._meta.app_label == Interview._meta.app_label
            if is_own or model in seen or relation.many_to_many or model._meta.label_lower in PLANS:
                continue
            seen.add(model)
            yield model, f"{relation.field.name}{path}"


@transaction.atomic
def undo_import(*, file: ImportedFile, by: User) -> int:
    """Undo the import of a file: its interviews are in no list and no archive, and the file can be imported again.

    The rows stay, for the history. Returns how many interviews there were. Raises ``UndoRefused``.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=file.study_id)
    if grown := count_grown(file):
        raise Refused(
            f"The import cannot be undone, because it added turns to {grown:,} interviews that already existed. Archive what it "
            "should not have added."
        )
    stored = ImportedFile.objects.filter(pk=file.pk, state=ImportedFile.State.STORED)
    if not stored.update(state=ImportedFile.State.UNDONE):
        raise Refused("This import has already been undone.")
    rows = Interview.objects.filter(imported_file=file, owning_study=study).order_by("pk")
    interviews = list(rows.only("pk", "owning_study", "study", "standing", "inclusion"))
    store_standings(interviews, to=Standing.UNDONE, reason="", by=by)
    if work := count_work(file):
        raise UndoRefused(work)
    trail.record(
        "corpus.import.undone",
        target=file,
        by=by,
        details={"sha256": file.sha256, "interviews": [row.pk for row in interviews]},
    )
    return len(interviews)


def name_kind(turn_id: int) -> str:
    """The field with the kind of a prompt."""
    return f"kind-{turn_id}"


def read_details(interview: Interview) -> dict[str, object]:
    """Everything that ``edit_details`` replaces, by the fields of its form."""
    kinds = interview.turns.filter(role=Turn.Role.INTERVIEWER).order_by("position").values_list("pk", "prompt_kind")
    return {name: getattr(interview, name) for name in FIELDS} | {name_kind(pk): kind for pk, kind in kinds}


@transaction.atomic
def edit_details(
    *,
    study: Study,
    interview: Interview,
    values: Mapping[str, str],
    kinds: Mapping[int, str],
    reason: str,
    by: User,
    seen: Mapping[str, object] | None = None,
) -> list[InterviewChange]:
    """Correct fields of an interview (``FIELDS``) and the kinds of its interviewer's prompts, by turn.

    ``seen`` is the result of ``read_details`` when ``by`` began; raises ``ChangedMeanwhile`` if it has changed since. The value
    of ``inclusion`` can make a counted interview excluded, and an excluded one counted. Returns the changes. Raises
    ``Refused``.
    """
    held = Interview.objects.kept().select_for_update(no_key=True).filter(pk=interview.pk, owning_study=study).first()
    if held is None:
        raise Refused("This interview is not part of this study; nothing was changed.")
    check_seen(seen, read_details(held))
    new = {name: values[name].strip() for name in FIELDS if name in values}
    if held.is_masked and any(new.get(name, getattr(held, name)) != getattr(held, name) for name in SEALED):
        raise Refused("This interview is masked. Its title, model, date and tier can be corrected once it is unmasked.")
    if not new.get("title", held.title):
        raise Refused("An interview needs a title.")
    for name, value in new.items():
        limit = getattr(Interview._meta.get_field(name), "max_length", None)
        if limit is not None and len(value) > limit:
            raise Refused(f"{FIELDS[name]} has {len(value):,} characters; the limit is {limit:,}.")
    now = timezone.now()
    changes = [
        InterviewChange(field=name, old=getattr(held, name), new=value)
        for name, value in new.items()
        if getattr(held, name) != value
    ]
    asked = held.turns.filter(pk__in=list(kinds), role=Turn.Role.INTERVIEWER).order_by("position")
    changes += [
        InterviewChange(turn=turn, field=PROMPT_KIND, old=turn.prompt_kind, new=kinds[turn.pk])
        for turn in asked.only("pk", "prompt_kind", "interview")
        if turn.prompt_kind != kinds[turn.pk]
    ]
    if not changes:
        return []
    for change in changes:
        change.interview, change.reason, change.changed_at, change.changed_by = held, reason.strip(), now, by
        if change.turn is not None:
            Turn.objects.filter(pk=change.turn.pk).update(prompt_kind=change.new)
        else:
            setattr(held, change.field, change.new)
    held.save(update_fields=list(FIELDS))
    InterviewChange.objects.bulk_create(changes)
    if held.standing in (Standing.COUNTED, Standing.EXCLUDED):
        store_standings([held], to=Standing.COUNTED, reason=held.inclusion_reason, by=by)
    trail.record(
        "corpus.interview.edited",
        target=held,
        by=by,
        details={
            "fields": [change.field for change in changes if change.turn is None],
            "turns": [change.turn.pk for change in changes if change.turn is not None],
            "standing": held.standing,
        },
    )
    return changes


# How a room above migrates the work on retired sentences; the details it returns go into the audit event.
Migrated = tuple[dict[str, object], list[RowChange]]
Migrate = Callable[[BoundaryEdit], Migrated]


class SentenceRetired(BoundaryEditRefused):
    """A boundary edit has retired the sentence in the meantime."""


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
    """Lock a sentence that is about to be retired: a coding made at this moment is either already stored or refused."""
    found = Sentence.objects.select_for_update().filter(pk=pk, retired_by__isnull=True).first()
    if found is None:
        raise SentenceRetired(queries.explain_retired(pk))
    return found


def read_suffixes(turn_id: int, position: int) -> set[str]:
    """The suffixes of the current pieces of one imported sentence."""
    current = Sentence.objects.current().filter(turn_id=turn_id, position=position)
    return set(current.values_list("suffix", flat=True))


def find_merged(old: Sentence, second_start: int) -> list[Sentence]:
    """Copies of the two sentences that were merged into ``old``, if it is split again where they met; otherwise nothing.

    So undoing a merge restores their numbers and kinds, and leaves out the gap between them, as before.
    """
    merges = BoundaryEdit.objects.filter(
        turn_id=old.turn_id, kind=BoundaryEdit.Kind.MERGE, made__start=old.start, made__end=old.end
    )
    for edit in merges.order_by("-pk").prefetch_related("retired"):
        above, below = sorted(edit.retired.all(), key=lambda sentence: sentence.extent)
        if below.start == second_start:
            return _copy_if_free(old.turn_id, [above, below])
    return []


def find_whole(turn_id: int, extent: Extent) -> list[Sentence]:
    """A copy of the sentence that had exactly this extent before it was split, if any: undoing a split restores it."""
    before = Sentence.objects.filter(turn_id=turn_id, **extent._asdict(), retired_by__isnull=False)
    return _copy_if_free(turn_id, list(before.order_by("-pk")[:1]))


def _copy_if_free(turn_id: int, earlier: Sequence[Sentence]) -> list[Sentence]:
    """Unstored copies of earlier sentences; none if one of their numbers has been taken since."""
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
