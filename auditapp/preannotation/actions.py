"""What a person does with machine readings: have a corpus read, and answer suggestions."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from decimal import Decimal

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from auditapp.batches.actions import BatchError, PlannedArm, launch_batch
from auditapp.batches.models import Batch
from auditapp.llm.models import ModelVariant
from auditapp.preannotation.kind import KIND
from auditapp.preannotation.models import Annotator, Response, Suggestion
from auditapp.preannotation.prompts import PROMPT_VERSION, CodeText, write_system_prompt
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.actions import CodingError, add_coding
from transcripts.coding.models import Coding, Level, Reveal
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.projects.models import Project

# Whoever has seen others' labels says why she codes on; keeping a suggestion says it by itself.
KEPT_REASON = "suggestion"


class PreannotationError(Exception):
    """A sentence for the person who asked."""


@transaction.atomic
def ensure_annotator(*, project: Project, name: str, by: trail.Actor) -> Annotator:
    """The annotator ``name`` with the study's current codebook; made from the model of that label when there is none yet.

    A new codebook version makes a new annotator of the same name: what it read before stays with the old one.
    """
    version = current_version(project)
    if version is None:
        raise PreannotationError("This study has no published codebook yet. Publish one first.")
    standing = Annotator.objects.filter(project=project, name=name, version=version).first()
    if standing is not None:
        return standing
    former = Annotator.objects.filter(project=project, name=name).order_by("-pk").first()
    variant = former.variant if former else ModelVariant.objects.filter(label=name).first()
    if variant is None:
        labels = ", ".join(ModelVariant.objects.values_list("label", flat=True)) or "none"
        raise PreannotationError(f"There is no annotator and no model {name!r}. Models there are: {labels}.")
    annotator = Annotator.objects.create(
        project=project, name=name, variant=variant, version=version, created_at=timezone.now()
    )
    trail.record(
        "preannotation.annotator.created",
        target=annotator,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"name": name, "model": variant.label, "codebook": version.number},
    )
    return annotator


def draft_annotator(*, project: Project, variant: ModelVariant) -> Annotator:
    """The annotator that a launch with this model would use, stored or not; writes nothing."""
    version = current_version(project)
    if version is None:
        raise PreannotationError("This study has no published codebook yet. Publish one first.")
    former = Annotator.objects.filter(project=project, name=variant.label).order_by("-pk").first()
    return Annotator(
        project=project, name=variant.label, variant=former.variant if former else variant, version=version
    )


def launch_preannotation(
    *,
    project: Project,
    annotator: Annotator,
    by: trail.Actor,
    interviews: Sequence[Interview] | None = None,
    families: Sequence[str] | None = None,
    limit: int | None = None,
    cap_usd: Decimal | None = None,
    concurrency: int = 30,
    pilot: int = 0,
    lost_answers: str = "retry",
    uses_cache: bool = False,
    route: str = "live",
    client_id: uuid.UUID | None = None,
) -> Batch:
    """Have the model's turns read, one call per turn and code family (families coded by sentence; all unless named).

    ``limit`` takes so many turns from the beginning. The last five are those of ``launch_batch``. Raises
    ``PreannotationError``.
    """
    ids = list_turns(project=project, interviews=interviews, limit=limit)
    try:
        return launch_batch(
            project=project,
            kind=KIND,
            title=f"Pre-annotation by {annotator.name}",
            arms=plan_arms(annotator, families),
            input_ids=ids,
            cap_usd=cap_usd,
            concurrency=concurrency,
            parameters={"annotators": [annotator.pk], "codebook": annotator.version.number, "prompt": PROMPT_VERSION},
            pilot=pilot,
            lost_answers=lost_answers,
            uses_cache=uses_cache,
            route=route,
            client_id=client_id,
            by=by,
        )
    except BatchError as error:
        raise PreannotationError(str(error)) from error


def list_turns(
    *, project: Project, interviews: Sequence[Interview] | None = None, limit: int | None = None
) -> list[int]:
    """The keys of the turns that a launch would have read. Raises ``PreannotationError``."""
    if limit is not None and limit < 1:
        raise PreannotationError("The limit is a number of turns, at least 1.")
    cut = Sentence.objects.filter(turn=OuterRef("pk"), retired_by__isnull=True)
    turns = Turn.objects.filter(
        Exists(cut), interview__project=project, role=Turn.Role.MODEL, channel=Turn.Channel.UTTERANCE
    )
    if interviews is not None:
        turns = turns.filter(interview__in=interviews)
    return list(turns.order_by("interview_id", "position").values_list("pk", flat=True)[:limit])


def plan_arms(annotator: Annotator, families: Sequence[str] | None) -> list[PlannedArm]:
    """One arm per family whose unit is the sentence. Reads annotator.version and annotator.variant."""
    chosen = CodeFamily.objects.filter(version=annotator.version, unit=CodeFamily.Unit.SENTENCE).prefetch_related(
        "codes"
    )
    if families is not None:
        unknown = sorted(set(families) - {family.identifier for family in chosen})
        if unknown:
            raise PreannotationError(f"The codebook has no sentence family {', '.join(unknown)}.")
        chosen = chosen.filter(identifier__in=families)
    return [
        PlannedArm(annotator.variant, family.identifier, write_family_prompt(annotator.version, family))
        for family in chosen
        if family.codes.all()
    ]


def write_family_prompt(version: CodebookVersion, family: CodeFamily) -> str:
    """The exact instructions for one family of one codebook version."""
    codes = Code.objects.filter(version=version, family=family).order_by("position")
    texts = [
        CodeText(code.identifier, code.name, code.machine_definition or code.definition, code.include, code.exclude)
        for code in codes
    ]
    return write_system_prompt(family.name, texts)


@transaction.atomic
def keep_suggestion(
    *,
    suggestion: Suggestion,
    project: Project,
    by: User,
    level: str = Level.SEMANTIC,
    enactment: str = "",
    note: str = "",
    edited: bool = False,
    reason: str = "",
    client_id: uuid.UUID | None = None,
) -> Response:
    """Make the suggestion one's own coding, as it is or ``edited``. Reads suggestion.sentence and suggestion.code.family.

    Only after the suggestions of the sentence were revealed to her, which asks for her own decision first. The enactment
    of a move stays open unless she says it: a default would decide it for her (method brief R28).
    """
    _require_reveal(suggestion, by)
    try:
        coding = add_coding(
            project=project,
            sentence=suggestion.sentence,
            code=suggestion.code,
            by=by,
            client_id=client_id or uuid.uuid4(),
            level=Level(level),
            enactment=enactment if suggestion.code.family.carries_enactment else "",
            note=note,
            reason=reason.strip() or KEPT_REASON,
        )
    except CodingError as error:
        raise PreannotationError(str(error)) from error
    verdict = Response.Verdict.EDITED if edited else Response.Verdict.KEPT
    return _respond(suggestion, project, by, verdict=verdict, coding=coding, reason=reason)


@transaction.atomic
def leave_suggestion(*, suggestion: Suggestion, project: Project, by: User, reason: str = "") -> Response:
    """Say that the suggestion does not apply. Adds no coding and takes none away."""
    _require_reveal(suggestion, by)
    return _respond(suggestion, project, by, verdict=Response.Verdict.LEFT, coding=None, reason=reason)


def _require_reveal(suggestion: Suggestion, by: User) -> None:
    if not Reveal.objects.filter(sentence=suggestion.sentence_id, coder=by).exists():
        raise PreannotationError("Decide on the sentence yourself first; its suggestions are shown after that.")


def _respond(
    suggestion: Suggestion, project: Project, by: User, *, verdict: str, coding: Coding | None, reason: str
) -> Response:
    now = timezone.now()
    Response.objects.filter(suggestion=suggestion, coder=by, superseded_at__isnull=True).update(superseded_at=now)
    response = Response.objects.create(
        suggestion=suggestion, coder=by, verdict=verdict, coding=coding, reason=reason.strip(), created_at=now
    )
    trail.record(
        f"suggestion.{verdict}",
        target=suggestion,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"coding": coding.pk if coding else None, "sentence": suggestion.sentence_id},
    )
    return response
