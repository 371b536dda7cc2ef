"""What people do at the desk. Every act may be sent twice: ``client_id`` names it, and it is stored once."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding import queries
from transcripts.coding.models import Coding, Decision, Enactment, Layer, Level, Memo, Reveal
from transcripts.coding.queries import Standing, StandingCoding
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.projects.models import Project

CODEABLE_CHANNELS = frozenset({Turn.Channel.UTTERANCE.value, Turn.Channel.REASONING.value})
LONGEST_NOTE = 1_000
LONGEST_MEMO = 20_000

Row = TypeVar("Row", Coding, Decision, Memo)


class CodingError(Exception):
    """A sentence for the person who asked."""


class WrongPlace(CodingError):
    """The sentence, code or row is not one of this study, or cannot be coded."""


class WrongInput(CodingError):
    """What was typed or chosen does not fit the code; ``field`` says where to put the message."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


class NotDecided(CodingError):
    """Suggestions are shown after a person's own decision, never before."""


class NotYours(CodingError):
    """People change their own work only."""


class UsedForAnother(CodingError):
    """A client id came back with different content."""


@transaction.atomic
def add_coding(
    *,
    project: Project,
    sentence: Sentence,
    code: Code,
    by: User,
    client_id: UUID,
    level: str = Level.SEMANTIC,
    enactment: str = "",
    note: str = "",
) -> Coding:
    """Put ``code`` on ``sentence`` (on the turn's first sentence, for a code of turns), and return the standing row.

    The same code put the same way is left as it stands; put another way, or in another codebook version, the new row
    supersedes the old. A "none applies" gives way. Raises ``WrongPlace``, ``WrongInput`` or ``UsedForAnother``.
    """
    note = " ".join(note.split())
    _check_place(project, sentence)
    _check_code(project, code)
    _check_choices(code.family, level=level, enactment=enactment, note=note)
    if code.family.unit == CodeFamily.Unit.TURN:
        sentence = queries.find_first_of_turn(sentence)
    if (stored := _find_stored(Coding, by, client_id)) is not None:
        return _check_same(stored, sentence_id=sentence.pk, code_id=code.pk)
    standing = queries.read_standing(sentence.pk, by.pk)
    before = next((coding for coding in standing.codings if coding.identifier == code.identifier), None)
    if before and before.code_id == code.pk and before.choices == (level, enactment, note):
        return Coding.objects.get(pk=before.pk)
    coding = Coding(
        sentence=sentence,
        code=code,
        coder=by,
        layer=_layer(standing),
        level=level,
        enactment=enactment,
        note=note,
        client_id=client_id,
        created_at=timezone.now(),
    )
    return _store_coding(coding, before=before, standing=standing, project=project)


@transaction.atomic
def withdraw_coding(*, project: Project, coding: Coding, by: User) -> None:
    """Take a coding off; its row stays. With the last one goes the word that nothing more is to be coded here.

    A coding that was taken off before is left as it is. Raises ``WrongPlace`` or ``NotYours``.
    """
    _check_place(project, coding.sentence)
    if coding.coder_id != by.pk:
        raise NotYours("This coding is another person's. People take off their own codings only.")
    standing = queries.read_standing(coding.sentence_id, by.pk)
    if not _withdraw(coding):
        return
    standing.codings = [other for other in standing.codings if other.pk != coding.pk]
    reopened = None
    if standing.decision_id and not standing.none_applies and not standing.has_sentence_codes:
        reopened = _reopen_decision(standing.decision_id)
    trail.record(
        "coding.withdrawn",
        target=coding,
        by=by,
        stream=trail.project_stream(project.pk),
        details={
            "sentence": coding.sentence_id,
            "code": coding.code_id,
            "layer": coding.layer,
            "after_suggestions": standing.revealed,
            **({"reopened": reopened} if reopened else {}),
        },
    )


@transaction.atomic
def decide_sentence(*, project: Project, sentence: Sentence, by: User, client_id: UUID) -> Decision:
    """Store that ``by`` has read the sentence and has nothing more to code here: none applies when no code stands.

    A decision that stands is left as it is. Raises ``WrongPlace`` or ``UsedForAnother``.
    """
    _check_place(project, sentence)
    if (stored := _find_stored(Decision, by, client_id)) is not None:
        return _check_same(stored, sentence_id=sentence.pk)
    standing = queries.read_standing(sentence.pk, by.pk)
    if standing.decision_id:
        return Decision.objects.get(pk=standing.decision_id)
    decision = Decision(
        sentence=sentence,
        coder=by,
        layer=_layer(standing),
        none_applies=not standing.has_sentence_codes,
        client_id=client_id,
        created_at=timezone.now(),
    )
    try:
        with transaction.atomic():
            decision.save(force_insert=True)
    except IntegrityError:
        return _find_winner(decision, sentence=sentence, coder=by)
    trail.record(
        "coding.decided",
        target=decision,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"sentence": sentence.pk, "none_applies": decision.none_applies, "layer": decision.layer},
    )
    return decision


@transaction.atomic
def reopen_sentence(*, project: Project, decision: Decision, by: User) -> None:
    """Take back "nothing more here". Codings stay. Raises ``WrongPlace`` or ``NotYours``."""
    _check_place(project, decision.sentence)
    if decision.coder_id != by.pk:
        raise NotYours("This decision is another person's. People take back their own decisions only.")
    if not _withdraw(decision):
        return
    trail.record(
        "coding.reopened",
        target=decision,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"sentence": decision.sentence_id, "none_applies": decision.none_applies},
    )


@transaction.atomic
def write_memo(
    *, project: Project, interview: Interview, sentence: Sentence | None, text: str, by: User, client_id: UUID
) -> Memo:
    """Write the one memo ``by`` keeps on a sentence, or on the interview; an empty text takes it away.

    The earlier text stays as a superseded row. Raises ``WrongPlace``, ``WrongInput`` or ``UsedForAnother``.
    """
    text = text.replace("\r\n", "\n").strip()
    _check_text(text, field="text", longest=LONGEST_MEMO)
    if interview.project_id != project.pk or (sentence and sentence.turn.interview_id != interview.pk):
        raise WrongPlace("This memo belongs to a sentence or interview that is not part of this study.")
    if (stored := _find_stored(Memo, by, client_id)) is not None:
        return _check_same(stored, interview_id=interview.pk, sentence_id=sentence.pk if sentence else None)
    before = (
        Memo.objects.select_for_update()
        .filter(interview=interview, sentence=sentence, author=by, withdrawn_at__isnull=True)
        .first()
    )
    if before is not None and before.text == text:
        return before
    now = timezone.now()
    memo = Memo(
        project=project,
        subject=Memo.Subject.SENTENCE if sentence else Memo.Subject.INTERVIEW,
        interview=interview,
        sentence=sentence,
        author=by,
        text=text,
        client_id=client_id,
        created_at=now,
        withdrawn_at=None if text else now,
    )
    return _store_memo(memo, before=before)


@transaction.atomic
def reveal_suggestions(*, project: Project, sentence: Sentence, by: User) -> Reveal:
    """Store when ``by`` first sees the machines' suggestions for a sentence; what she codes there later is "assisted".

    Raises ``NotDecided`` before her own decision. Once seen stays seen: a decision taken back later changes nothing.
    """
    _check_place(project, sentence)
    standing = queries.read_standing(sentence.pk, by.pk)
    if standing.revealed:
        return Reveal.objects.get(sentence=sentence, coder=by)
    if not standing.decision_id:
        raise NotDecided("Decide about this sentence first (Enter at the desk); then its suggestions can be opened.")
    reveal, created = Reveal.objects.get_or_create(
        sentence=sentence, coder=by, defaults={"revealed_at": timezone.now()}
    )
    if created:
        trail.record(
            "coding.suggestions.revealed",
            target=reveal,
            by=by,
            stream=trail.project_stream(project.pk),
            details={"sentence": sentence.pk, "decision": standing.decision_id},
        )
    return reveal


def _store_coding(coding: Coding, *, before: StandingCoding | None, standing: Standing, project: Project) -> Coding:
    """Insert ``coding``; withdraw what it supersedes and a "none applies" it contradicts."""
    try:
        with transaction.atomic():
            if before is not None:
                Coding.objects.filter(pk=before.pk, withdrawn_at__isnull=True).update(withdrawn_at=coding.created_at)
            coding.save(force_insert=True)
    except IntegrityError:
        return _find_winner(coding, sentence=coding.sentence, code=coding.code, coder=coding.coder)
    details: dict[str, object] = {
        "sentence": coding.sentence_id,
        "code": coding.code_id,
        "level": coding.level,
        "enactment": coding.enactment,
        "layer": coding.layer,
    }
    if before is not None:
        Coding.objects.filter(pk=before.pk, superseded_by__isnull=True).update(superseded_by=coding)
        details["replaces"] = before.pk
        details["before"] = {"code": before.code_id, "level": before.level, "enactment": before.enactment}
    if standing.decision_id and standing.none_applies and coding.code.family.unit == CodeFamily.Unit.SENTENCE:
        details["reopened"] = _reopen_decision(standing.decision_id)
    trail.record(
        "coding.changed" if before else "coding.added",
        target=coding,
        by=coding.coder,
        stream=trail.project_stream(project.pk),
        details=details,
    )
    return coding


def _store_memo(memo: Memo, *, before: Memo | None) -> Memo:
    """Insert ``memo`` in the place of the one it supersedes."""
    try:
        with transaction.atomic():
            if before is not None:
                _withdraw(before)
            memo.save(force_insert=True)
    except IntegrityError:
        return _find_winner(memo, interview=memo.interview, sentence=memo.sentence, author=memo.author)
    if before is not None:
        Memo.objects.filter(pk=before.pk, superseded_by__isnull=True).update(superseded_by=memo)
    trail.record(
        "coding.memo.written",
        target=memo,
        by=memo.author,
        stream=trail.project_stream(memo.project_id),
        details={
            "interview": memo.interview_id,
            "sentence": memo.sentence_id,
            "characters": len(memo.text),
            **({"replaces": before.pk} if before else {}),
        },
    )
    return memo


def _check_place(project: Project, sentence: Sentence) -> None:
    if sentence.turn.interview.project_id != project.pk:
        raise WrongPlace("This sentence is not part of this study.")
    if sentence.turn.channel not in CODEABLE_CHANNELS:
        raise WrongPlace("This sentence belongs to tool traffic, which is shown but not coded.")


def _check_code(project: Project, code: Code) -> None:
    if code.version.project_id != project.pk:
        raise WrongPlace("This code is not part of this study's codebook.")
    if code.version.status != CodebookVersion.Status.PUBLISHED:
        raise WrongPlace(
            f"{code.name} belongs to version {code.version.number}, a draft. Codes can be used once it is published."
        )


def _check_choices(family: CodeFamily, *, level: str, enactment: str, note: str) -> None:
    if level not in Level.values:
        raise WrongInput(f"There is no level {level!r}: choose {' or '.join(Level.values)}.", field="level")
    if enactment and enactment not in Enactment.values:
        raise WrongInput(
            f"There is no enactment {enactment!r}: choose {', '.join(Enactment.values)}.", field="enactment"
        )
    if level == Level.LATENT and not family.carries_level:
        raise WrongInput(f"{family.name} carry no level: they are put plainly.", field="level")
    if enactment and not family.carries_enactment:
        raise WrongInput(f"{family.name} are neither enacted nor described: leave that out.", field="enactment")
    if level == Level.LATENT and not note:
        raise WrongInput("A latent coding needs one line that says how you read the sentence.", field="note")
    _check_text(note, field="note", longest=LONGEST_NOTE)


def _check_text(text: str, *, field: str, longest: int) -> None:
    if len(text) > longest:
        raise WrongInput(f"This has {len(text):,} characters, and at most {longest:,} fit.", field=field)
    if "\x00" in text or (not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)):
        raise WrongInput("This holds a character that no text has (null or half of a pair). Remove it.", field=field)


def _layer(standing: Standing) -> Layer:
    return Layer.ASSISTED if standing.revealed else Layer.BLIND


def _withdraw(row: Coding | Decision | Memo) -> bool:
    """Withdraw a row; ``False`` when it was withdrawn before."""
    row.withdrawn_at = max(timezone.now(), row.created_at)
    standing = type(row).objects.filter(pk=row.pk, withdrawn_at__isnull=True)
    return bool(standing.update(withdrawn_at=row.withdrawn_at))


def _reopen_decision(pk: int) -> int:
    """Withdraw a decision as part of another act, whose audit event names it."""
    Decision.objects.filter(pk=pk, withdrawn_at__isnull=True).update(withdrawn_at=timezone.now())
    return pk


def _find_stored(model: type[Row], by: User, client_id: UUID) -> Row | None:
    """The row an earlier sending of this act stored."""
    pk = queries.find_stored(model, by.pk, client_id)
    return None if pk is None else model.objects.get(pk=pk)


def _check_same(stored: Row, **expected: int | None) -> Row:
    if any(getattr(stored, name) != value for name, value in expected.items()):
        raise UsedForAnother("This request carries the number of an earlier one. Reload the page and try again.")
    return stored


def _find_winner(row: Row, **place: object) -> Row:
    """The row that stands where another request was quicker; the constraints leave room for one."""
    rows = type(row).objects.filter(**place)
    winner = rows.filter(client_id=row.client_id).first() or rows.filter(withdrawn_at__isnull=True).first()
    if winner is None:
        raise UsedForAnother("Two requests changed this place at the same moment. Reload the page and try again.")
    return winner
