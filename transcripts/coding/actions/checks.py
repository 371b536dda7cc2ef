"""Rules for acts at the desk, and storing each row once: a replay finds the row, and a constraint decides races."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail.trail import RowChange, row_changed, row_made
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding import queries
from transcripts.coding.models import MAX_NOTE_LENGTH, Blinding, Coding, Decision, Level, Link, Memo
from transcripts.coding.queries import ActiveLabels, find_closed_turns
from transcripts.coding.values import CHOICE_FIELDS, CodingValues
from transcripts.corpus.models import Sentence, Turn
from transcripts.corpus.pure.boundaries import Extent
from transcripts.corpus.queries import explain_retired, hold_sentence
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.models import Study
from transcripts.ui.typed_text import check_reason, check_text

# Results of tools can be shown and cited, but not coded.
CODEABLE_CHANNELS = frozenset(
    {Turn.Channel.UTTERANCE.value, Turn.Channel.REASONING.value, Turn.Channel.TOOL_CALL.value}
)
# Django makes the list of values of an enumeration each time.
CHOICES = {name: tuple(field.choices.values) for name, field in CHOICE_FIELDS.items()}
OTHER_TURNS = {
    Turn.Role.MODEL.value: "the model's",
    Turn.Role.INTERVIEWER.value: "the interviewer's",
    Turn.Role.SYSTEM.value: "a system instruction",
    Turn.Role.TOOL.value: "a tool's",
}
Row = TypeVar("Row", Coding, Decision, Link, Memo)
Replaced = TypeVar("Replaced", Coding, Memo)
Stored = TypeVar("Stored", bound=models.Model)


class WrongPlace(Refused):
    """The sentence, code or row is not in this study, or cannot be coded."""


class OncePerAnswer(Refused):
    """The person has applied the code to another sentence of this answer, and the codebook allows only one."""


class NotDecided(Refused):
    """Suggestions are shown after a person's own decision, never before."""


class NotYours(Refused):
    """People can change only their own work."""


class NotOpen(Refused):
    """The round is locked, the work is completed, or the interview is assigned to somebody else."""


class UsedForAnother(Refused):
    """An idempotency key was used again with different content."""


def check_place(study: Study, sentence: Sentence) -> None:
    """Check that the sentence is in this study and can be coded. Raises ``WrongPlace``."""
    if sentence.turn.interview.study_id != study.pk:
        raise WrongPlace("This sentence is not part of this study.")
    if sentence.turn.channel not in CODEABLE_CHANNELS:
        raise WrongPlace("This is a tool result, which is shown but not coded.")


def check_readable(turns: Collection[Turn], by: User, *, field: str) -> None:
    """Check that ``by`` has opened all reasoning among these turns. Raises ``WrongInput``."""
    reasoning = [turn.pk for turn in turns if turn.channel == Turn.Channel.REASONING]
    if reasoning and find_closed_turns(Turn.objects.filter(pk__in=reasoning), by.pk):
        raise WrongInput(
            "This is a model's reasoning that you have not opened. Open it at the desk first; the opening is recorded.",
            field=field,
        )


def hold_place(sentence: Sentence) -> None:
    """Lock the sentence, so that nobody splits or merges it before this is stored. Raises ``WrongPlace`` if it is retired."""
    if not hold_sentence(sentence.pk):
        raise WrongPlace(explain_retired(sentence.pk) or "This sentence is not part of this study.")


def check_open(active: ActiveLabels) -> None:
    """Check that the person may code this interview now. Raises ``NotOpen``."""
    if active.closure.sentence:
        raise NotOpen(active.closure.sentence)


def check_code(study: Study, code: Code) -> None:
    """Check that the code belongs to this study, is published, and is not a category. Raises ``WrongPlace``."""
    if code.version.study_id != study.pk:
        raise WrongPlace("This code is not part of this study's codebook.")
    if code.version.status != CodebookVersion.Status.PUBLISHED:
        raise WrongPlace(
            f"{code.name} belongs to version {code.version.number}, a draft. Codes can be used once it is published."
        )
    if code.is_category:
        raise WrongPlace(f"{code.name} is a category, which groups codes. Apply one of the codes under it.")


def check_side(code: Code, turn: Turn) -> None:
    """Check that the code is for this turn. Raises ``WrongPlace``."""
    family = code.family
    if fits_side(family, turn.role):
        return
    side = "the interviewer's" if family.applies_to == CodeFamily.AppliesTo.INTERVIEWER else "the model's"
    raise WrongPlace(
        f"{code.name} is for {side} turns, and this is {OTHER_TURNS[turn.role]}. Apply it to a turn of that kind, or choose "
        "another code."
    )


def fits_side(family: CodeFamily, role: str) -> bool:
    """Whether codes of the family are for turns of this role; codes of whole interviews are for all turns."""
    return family.applies_to in {CodeFamily.AppliesTo.ANY, role} or family.unit == CodeFamily.Unit.INTERVIEW


def check_restorable(coding: Coding, place: Sentence, by: User) -> None:
    """Check that the person restores her own coding, on the same words. Raises ``NotYours`` or ``WrongPlace``."""
    if coding.coder_id != by.pk:
        raise NotYours("This coding belongs to another person. You can restore only your own codings.")
    was = coding.sentence
    # Boundary edits may have made other sentences of the same words.
    if place.turn_id != was.turn_id or place.start >= was.end or place.end <= was.start:
        raise WrongPlace(
            f"This coding was removed from sentence {was.label}, and undo restores it only there. To code another sentence, "
            "apply the code to it."
        )


def check_values(code: Code, sentence: Sentence, values: CodingValues) -> None:
    """Check that the values fit the code and the sentence. Raises ``WrongInput``."""
    family = code.family
    for name, field in CHOICE_FIELDS.items():
        value = getattr(values, name)
        if value not in CHOICES[name] and (value or not field.empty_label):
            raise WrongInput(f"There is no {name} {value!r}. Choose {_list_words(CHOICES[name])}.", field=name)
    if values.level == Level.LATENT and not family.carries_level:
        raise WrongInput(f"Codes of {family.name} have no level. Leave it at semantic.", field="level")
    if values.enactment and not family.carries_enactment:
        raise WrongInput(f"Codes of {family.name} have no enactment. Leave it out.", field="enactment")
    if values.level == Level.LATENT and not values.note:
        raise WrongInput("A latent coding needs your interpretation of the sentence in one line.", field="note")
    check_text(values.note, field="note", max_length=MAX_NOTE_LENGTH)
    if values.quote is not None and family.unit != CodeFamily.Unit.SENTENCE:
        raise WrongInput(
            f"Codes of {family.name} apply to the whole {family.unit} and have no quote.", field="quote_start"
        )
    check_quote(sentence, values.quote, field="quote_start")
    for key, answer in values.attributes.items():
        check_answer(code, key, answer)


def check_complete(code: Code, enactment: str, answers: Mapping[str, str]) -> None:
    """Check that a coding with ``code`` has everything that the codebook requires. Raises ``WrongInput``."""
    if code.family.carries_enactment and not enactment:
        choices = _list_words(CHOICE_FIELDS["enactment"].choices.values)
        raise WrongInput(f"{code.name} needs its enactment. Choose {choices}.", field="enactment")
    for question in code.attributes:
        if question.get("required") and not answers.get(question["key"]):
            offered = f"Choose {_list_words(question['choices'])}." if question["choices"] else "Answer in one line."
            raise WrongInput(
                f"{code.name} needs an answer to “{question['label']}” ({question['key']}). {offered}",
                field="attributes",
            )


def is_complete(code: Code, enactment: str, answers: Mapping[str, str]) -> bool:
    """Whether a coding with ``code`` has everything that the codebook requires."""
    try:
        check_complete(code, enactment, answers)
    except WrongInput:
        return False
    return True


def check_quote(sentence: Sentence, quote: Extent | None, *, field: str) -> None:
    """Check that a quote is within its sentence. Raises ``WrongInput``."""
    start, end = quote or (sentence.start, sentence.end)
    if quote is not None and not sentence.start <= start < end <= sentence.end:
        raise WrongInput(
            f"A quote must lie within its sentence, from {sentence.start:,} to {sentence.end:,} in the turn's text.",
            field=field,
        )


def check_answer(code: Code, key: str, answer: str) -> None:
    """Check that it answers one of the code's own questions with an available answer. Raises ``WrongInput``."""
    questions = {question["key"]: question for question in code.attributes}
    if key not in questions:
        asked = f"Its questions are {_list_words(questions, 'and')}." if questions else "It has no questions."
        raise WrongInput(f"{code.name} has no question {key!r}. {asked}", field="attributes")
    question = questions[key]
    if question["kind"] == "choice" and answer not in question["choices"]:
        raise WrongInput(
            f"{question['label']}: {answer!r} is not one of the answers. Choose {_list_words(question['choices'])}.",
            field="attributes",
        )
    check_text(answer, field="attributes", max_length=MAX_NOTE_LENGTH)


def check_once_per_answer(code: Code, sentence: Sentence, coder_id: int) -> None:
    """Check that the answer has no other coding of hers with this code; the turn is locked. Raises ``OncePerAnswer``. One
    query."""
    first = queries.find_elsewhere_in_turn(sentence, coder_id, code.identifier)
    if first is not None:
        raise OncePerAnswer(explain_once_per_answer(code.name, first.label))


def explain_once_per_answer(name: str, label: str) -> str:
    """The refusal of a second coding with a code in one answer; ``label`` is the sentence that has the first."""
    return (
        f"{name} is applied at most once per answer, and you have applied it to sentence {label} of this answer. Leave it there. "
        f"To move it, first remove it from sentence {label}, then apply it here."
    )


def check_reason_of_change(active: ActiveLabels, reason: str) -> None:
    """Check that a person who has seen others' labels, or a sealed condition, gives a reason. Raises ``WrongInput``."""
    if active.has_seen_others and not reason:
        seen = "others' labels" if active.is_revealed or active.is_opened else "the condition"
        raise WrongInput(
            f"You have seen {seen} here. Give the reason for changing your label in one line.", field="reason"
        )
    check_reason(reason)


def check_range(range_id: UUID, *, coder_id: int, interview_id: int, identifier: str) -> None:
    """Check that a range has one code of one person on sentences of one interview. Raises ``WrongInput``. Costs a query."""
    for other_coder_id, other_interview_id, other_identifier in queries.read_range(range_id):
        if other_coder_id != coder_id:
            raise WrongInput("This range belongs to another person. Send a new range id.", field="range")
        if other_interview_id != interview_id:
            raise WrongInput(
                "A range must lie within one interview, but this one has sentences of another interview. Code them separately.",
                field="range",
            )
        if other_identifier != identifier:
            raise WrongInput(
                "A range has only one code, but this one already has another. Code them separately.", field="range"
            )


def _list_words(words: Any, last: str = "or") -> str:
    *others, final = words
    return f"{', '.join(others)} {last} {final}" if others else str(final)


def find_stored(model: type[Row], by: User, idempotency_key: UUID, *, on: Sentence | None) -> Row | None:
    """The row that an earlier request with this idempotency key stored, if any. Locks the sentence. Raises ``WrongPlace``."""
    if on is None:
        pk = queries.find_stored(model, by.pk, idempotency_key)
    else:
        pk, is_current = queries.lock_sentence(model, by.pk, idempotency_key, sentence_id=on.pk)
        if pk is None and not is_current:
            raise WrongPlace(explain_retired(on.pk) or "This sentence is not part of this study.")
    return None if pk is None else model.objects.get(pk=pk)


def check_same(stored: Stored, **expected: object) -> Stored:
    """The row, if it has the same content. Raises ``UsedForAnother``."""
    if any(getattr(stored, name) != value for name, value in expected.items()):
        raise UsedForAnother(
            "This request has the same idempotency key as an earlier request. Reload the page and try again."
        )
    return stored


def insert_once(row: Row) -> bool:
    """Insert a row, unless a unique constraint shows that another request was faster; returns whether it was inserted.

    This is one plain statement, because it runs for every code: an insert by the ORM inside a savepoint takes a sixth of the
    time of saving a code (perf/saves.py).
    """
    statement, fields = _build_insert(type(row))
    values = [
        prepare(value, connection) if prepare and value is not None else value
        for value, prepare in ((getattr(row, name), prepare) for name, prepare in fields)
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        found = cursor.fetchone()
    if found is not None:
        row.pk = found[0]
        row._state.adding = False  # noqa: SLF001
    return found is not None


Prepare = Callable[[object, BaseDatabaseWrapper], Any]


@cache
def _build_insert(model: type[Row]) -> tuple[str, list[tuple[str, Prepare | None]]]:
    """The statement for a model, and its attributes, some of which are stored in another form."""
    fields = [field for field in model._meta.local_concrete_fields if not field.primary_key]
    columns, places = ", ".join(str(field.column) for field in fields), ", ".join(["%s"] * len(fields))
    # Names come from the models, values go in as parameters.
    statement = f"INSERT INTO {model._meta.db_table} ({columns}) VALUES ({places}) ON CONFLICT DO NOTHING RETURNING id"  # noqa: S608
    converted = (models.DateTimeField, models.UUIDField, models.JSONField)
    return statement, [
        (field.attname, field.get_db_prep_save if isinstance(field, converted) else None) for field in fields
    ]


def replace_once(row: Replaced, before_id: int | None, **changes: object) -> list[RowChange] | None:
    """Insert a row, after ``changes`` to the one it supersedes; returns what its audit event says about them.

    ``None`` if another request was faster; the changes are undone then. A row that another request withdrew in the meantime
    stays as it is: it is not superseded, and no event may say that it was.
    """
    if before_id is None:
        return [row_made(row)] if insert_once(row) else None
    model = type(row)
    savepoint = transaction.savepoint()
    ended = model.objects.filter(pk=before_id, withdrawn_at__isnull=True).update(**changes)
    if not insert_once(row):
        transaction.savepoint_rollback(savepoint)
        return None
    transaction.savepoint_commit(savepoint)
    if not ended:
        return [row_made(row)]
    model.objects.filter(pk=before_id).update(superseded_by=row)
    return [row_made(row), row_changed(model, before_id, **changes, superseded_by=row.pk)]


def find_winner(row: Row, **place: object) -> Row:
    """The active row if another request was faster; the constraints allow only one."""
    rows = type(row).objects.filter(**place)
    winner = rows.filter(idempotency_key=row.idempotency_key).first() or rows.filter(withdrawn_at__isnull=True).first()
    if winner is None:
        raise UsedForAnother("Two requests changed the same thing at the same moment. Reload the page and try again.")
    return winner


def withdraw(row: Coding | Decision | Memo, *, reason: str = "") -> bool:
    """Withdraw a row; ``False`` if it had already been withdrawn."""
    row.withdrawn_at = max(timezone.now(), row.created_at)
    changes: dict[str, object] = {} if isinstance(row, Memo) else {"withdrawal_reason": reason}
    active = type(row).objects.filter(pk=row.pk, withdrawn_at__isnull=True)
    return bool(active.update(withdrawn_at=row.withdrawn_at, **changes))


def withdraw_decision(pk: int, *, reason: str) -> list[RowChange]:
    """Withdraw a decision as part of another act; returns what the audit event says about it, empty if it was already
    withdrawn."""
    changes = {"withdrawn_at": timezone.now(), "withdrawal_reason": reason}
    if not Decision.objects.active().filter(pk=pk).update(**changes):
        return []
    return [row_changed(Decision, pk, **changes)]


def choose_blinding(active: ActiveLabels) -> Blinding:
    """Blind or assisted, by what the person could see when she decided."""
    return Blinding.ASSISTED if active.has_seen_others else Blinding.BLIND
