"""What a person makes of a suggestion. Every answer stays on record, and so does what is taken back."""

from __future__ import annotations

import datetime
import uuid

from django.db import transaction
from django.utils import timezone

from auditapp.preannotation.actions.errors import PreannotationError
from auditapp.preannotation.actions.showings import require_shown
from auditapp.preannotation.models import Response, Showing, Suggestion
from auditapp.preannotation.queries.offers import read_present_codes
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code
from transcripts.coding.actions import CodingError, WrongInput, add_coding, decide_sentence, withdraw_coding
from transcripts.coding.models import Coding, Decision
from transcripts.coding.queries import read_standing
from transcripts.projects.models import Project

# Whoever has seen others' labels says why she codes on; keeping a suggestion says it by itself.
KEPT_REASON = "suggestion"
UNDONE_REASON = "suggestion taken back"


@transaction.atomic
def keep_suggestion(
    *,
    suggestion: Suggestion,
    project: Project,
    by: User,
    level: str = "",
    enactment: str = "",
    note: str = "",
    edited: bool = False,
    reason: str = "",
    client_id: uuid.UUID | None = None,
) -> Response:
    """Make the suggestion one's own coding, as it is or ``edited``, with the code as the codebook has it now.

    Only after it was shown to her. Where the code stands already by her own hand, keeping leaves hers as it is; a
    change of it is an edit, which asks for its reason. The enactment of a move stays open unless she says it: a default
    would decide it for her (method brief R28). Reads suggestion.sentence. Raises ``PreannotationError``.
    """
    showing = _require_open(suggestion, project, by)
    code = _find_present_code(suggestion, project)
    if edited and not reason.strip():
        raise PreannotationError("Say in one line why you keep it with changes.", field="reason")
    coding = None if edited else _find_own(suggestion, code, by)
    now = timezone.now()
    if coding is None:
        try:
            coding = add_coding(
                project=project,
                sentence=suggestion.sentence,
                code=code,
                by=by,
                client_id=client_id or uuid.uuid4(),
                level=(level or suggestion.level) if code.family.carries_level else "semantic",
                enactment=enactment if code.family.carries_enactment else "",
                note=note,
                reason=reason.strip() or KEPT_REASON,
            )
        except WrongInput as error:
            raise PreannotationError(str(error), field=error.field) from error
        except CodingError as error:
            raise PreannotationError(str(error)) from error
    verdict = Response.Verdict.EDITED if edited else Response.Verdict.KEPT
    # An answer that made its coding carries its moment, by which taking it back knows what it made.
    at = max(coding.created_at, now)
    return _respond(suggestion, project, by, showing, verdict=verdict, coding=coding, reason=reason, at=at)


@transaction.atomic
def leave_suggestion(*, suggestion: Suggestion, project: Project, by: User, reason: str = "") -> Response:
    """Say that the suggestion does not apply. Adds no coding and takes none away. Raises ``PreannotationError``."""
    showing = _require_open(suggestion, project, by)
    return _respond(suggestion, project, by, showing, verdict=Response.Verdict.LEFT, coding=None, reason=reason)


@transaction.atomic
def undo_response(*, suggestion: Suggestion, project: Project, by: User) -> Response | None:
    """Take one's answer back, and the coding that it made; ``None`` where none stands.

    What the answer had replaced is put again: her own coding of the same code, or the word that none applies. It counts
    as assisted, for she has seen the suggestion. Everything stays on record. Raises ``PreannotationError``.
    """
    showing = _require_open(suggestion, project, by)
    standing = Response.objects.filter(suggestion=suggestion, coder=by, superseded_at__isnull=True)
    response = standing.exclude(verdict=Response.Verdict.UNDONE).select_related("coding").first()
    if response is None:
        return None
    coding = response.coding
    if coding is not None and coding.withdrawn_at is None and coding.created_at == response.created_at:
        try:
            _take_back(coding, project, by)
        except CodingError as error:
            raise PreannotationError(str(error)) from error
    return _respond(suggestion, project, by, showing, verdict=Response.Verdict.UNDONE, coding=None, reason="")


def _require_open(suggestion: Suggestion, project: Project, by: User) -> Showing:
    showing = require_shown(project, suggestion.sentence, suggestion.pk, by)
    closure = read_standing(suggestion.sentence_id, by.pk).closure
    if closure.sentence:
        raise PreannotationError(closure.sentence)
    return showing


def _find_present_code(suggestion: Suggestion, project: Project) -> Code:
    code, obstacle = read_present_codes(project, {suggestion.code.identifier}).find(suggestion)
    if code is None:
        raise PreannotationError(obstacle)
    return code


def _find_own(suggestion: Suggestion, code: Code, by: User) -> Coding | None:
    """Her own coding of that code that stands on the sentence."""
    own = Coding.objects.filter(sentence=suggestion.sentence, coder=by, withdrawn_at__isnull=True)
    return own.filter(code__identifier=code.identifier).order_by("pk").last()


def _take_back(coding: Coding, project: Project, by: User) -> None:
    """Take off a coding that an answer made, and put again what stood before it."""
    former = Coding.objects.filter(superseded_by=coding).select_related("code__family", "code__version").first()
    coding = Coding.objects.select_related("sentence__turn__interview").get(pk=coding.pk)
    if former is None:
        ended = Decision.objects.filter(
            sentence=coding.sentence, coder=by, none_applies=True, withdrawn_at__gte=coding.created_at
        ).exists()
        withdraw_coding(project=project, coding=coding, by=by, reason=UNDONE_REASON)
        if ended and not read_standing(coding.sentence_id, by.pk).has_sentence_codes:
            decide_sentence(project=project, sentence=coding.sentence, by=by, client_id=uuid.uuid4())
        return
    add_coding(
        project=project,
        sentence=coding.sentence,
        code=former.code,
        by=by,
        client_id=uuid.uuid4(),
        level=former.level,
        enactment=former.enactment,
        note=former.note,
        quote=former.quote,
        grounding=former.grounding,
        prompting=former.prompting,
        attributes=former.attributes,
        range_id=former.range_id,
        reason=UNDONE_REASON,
    )


def _respond(
    suggestion: Suggestion,
    project: Project,
    by: User,
    showing: Showing,
    *,
    verdict: str,
    coding: Coding | None,
    reason: str,
    at: datetime.datetime | None = None,
) -> Response:
    now = timezone.now()
    Response.objects.filter(suggestion=suggestion, coder=by, superseded_at__isnull=True).update(superseded_at=now)
    response = Response.objects.create(
        suggestion=suggestion, coder=by, verdict=verdict, coding=coding, reason=reason.strip(), created_at=at or now
    )
    _close_when_answered(showing, by)
    trail.record(
        f"suggestion.{verdict}",
        target=suggestion,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"coding": coding.pk if coding else None, "sentence": suggestion.sentence_id, "showing": showing.pk},
    )
    return response


def _close_when_answered(showing: Showing, by: User) -> None:
    """The look ends with the answer to the last suggestion of it."""
    if showing.closed_at is None:
        standing = Response.objects.filter(suggestion__in=showing.suggestions, coder=by, superseded_at__isnull=True)
        if standing.exclude(verdict=Response.Verdict.UNDONE).count() == len(showing.suggestions):
            Showing.objects.filter(pk=showing.pk).update(closed_at=timezone.now())
