"""Having a corpus read by a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef

from auditapp.annotators.actions.annotators import ensure_annotator
from auditapp.annotators.actions.planning import (
    INTERVIEWER,
    NO_QUESTIONS,
    list_asked_sides,
    list_reasked,
    plan_arms,
    plan_reask,
)
from auditapp.annotators.actions.planted import ensure_planted
from auditapp.annotators.actions.withholding import ensure_arms
from auditapp.annotators.models import KIND, Annotator
from auditapp.annotators.pure.prompts import PROMPT_VERSION
from auditapp.annotators.queries.prompt_codebook import read_prompt_codebook
from auditapp.batches.launching import DEFAULT_OPTIONS, LaunchOptions, LaunchPlan, launch_once
from auditapp.batches.models import Batch
from auditapp.llm.credentials import is_external
from auditapp.llm.models import ModelVariant
from transcripts.audit_trail import trail
from transcripts.corpus.consent import list_without, name_some
from transcripts.corpus.models import Consent, Interview, Sentence, Turn
from transcripts.corpus.queries import list_consenting
from transcripts.refusals import Refused
from transcripts.studies.models import Project

MODEL = str(Turn.Role.MODEL)
NOBODY_CONSENTS = (
    "None of the study's interviews may be processed by external models. Record the consent of those that may, or choose "
    "a model that runs on this site."
)
OUTDATED_EXAMPLES = (
    "The instructions of {annotator} contain sentences that may no longer be sent in this form, because a consent or "
    "the redaction list has changed. Launch with the model again. That creates an annotator with new instructions."
)


@transaction.atomic
def launch_preannotation(
    *,
    project: Project,
    annotator: Annotator,
    by: trail.Actor,
    interviews: Sequence[Interview] | None = None,
    families: Sequence[str] | None = None,
    limit: int | None = None,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> Batch:
    """Have the model's turns read, one call per turn and code family or code (families coded by sentence; all unless named);
    of families for the interviewer's turns, those.

    ``limit`` takes so many turns of each from the beginning. Interviews without consent are left out when the model is not of this
    site. The turns that never show suggestions are drawn first, and a study's first launch plants the program's own
    sentences. Raises ``Refused``.
    """
    return _launch(
        project=project,
        annotate=lambda: annotator,
        by=by,
        interviews=interviews,
        families=families,
        limit=limit,
        options=options,
        annotator=annotator.pk,
    )


@transaction.atomic
def launch_model(
    *,
    project: Project,
    by: trail.Actor,
    variant: ModelVariant | None = None,
    name: str = "",
    mode: str | None = None,
    reads_latent: bool | None = None,
    answer_schema: bool | None = None,
    reason: str = "",
    interviews: Sequence[Interview] | None = None,
    families: Sequence[str] | None = None,
    limit: int | None = None,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> Batch:
    """Have the turns read by a model, as ``ensure_annotator`` and ``launch_preannotation`` say: both, or nothing."""
    return _launch(
        project=project,
        annotate=lambda: ensure_annotator(
            project=project,
            variant=variant,
            name=name,
            mode=mode,
            reads_latent=reads_latent,
            answer_schema=answer_schema,
            reason=reason,
            by=by,
        ),
        by=by,
        interviews=interviews,
        families=families,
        limit=limit,
        options=options,
        model=variant.pk if variant else name,
        mode=mode,
        latent=reads_latent,
        answer_schema=answer_schema,
    )


def _launch(
    *,
    project: Project,
    annotate: Callable[[], Annotator],
    by: trail.Actor,
    interviews: Sequence[Interview] | None,
    families: Sequence[str] | None,
    limit: int | None,
    options: LaunchOptions,
    **who: object,
) -> Batch:
    """A form sent twice is not planned again, for consents and codebook may have changed since. ``who`` says which
    annotator is asked for, before ``annotate`` finds or creates it."""

    def plan() -> LaunchPlan:
        annotator = annotate()
        ensure_planted(project=project, by=by)
        reading = plan_reading(
            project=project, annotator=annotator, interviews=interviews, families=families, limit=limit
        )
        ensure_arms(project=project, interviews=reading.interview_ids, by=by)
        return reading

    return launch_once(
        project=project,
        kind=KIND,
        plan=plan,
        by=by,
        options=options,
        interviews=None if interviews is None else sorted(interview.pk for interview in interviews),
        families=None if families is None else sorted(families),
        limit=limit,
        **who,
    )


def plan_reading(
    *,
    project: Project,
    annotator: Annotator,
    interviews: Sequence[Interview] | None = None,
    families: Sequence[str] | None = None,
    limit: int | None = None,
) -> LaunchPlan:
    """What a launch would ask; writes nothing. ``annotator`` may be one that is not stored. Its parameters count the
    interviews ``left_out`` for want of consent to a model off this site. Raises ``Refused``."""
    chosen = {
        side: choose_turns(project=project, variant=annotator.variant, side=side, interviews=interviews, limit=limit)
        for side in sorted(list_asked_sides(annotator, families))
    }
    turn_ids, questions = (chosen[side].turn_ids if side in chosen else [] for side in (MODEL, INTERVIEWER))
    arms = plan_arms(annotator, families, questions=questions)
    if annotator.variant is not None:
        _refuse_outdated_examples(annotator, annotator.variant)
    if INTERVIEWER in chosen and not questions:
        named = sorted({str(arm.settings["family"]) for arm in arms if arm.settings.get("turns_of") == INTERVIEWER})
        raise Refused(NO_QUESTIONS.format(families=", ".join(named)))
    arms += plan_reask(annotator, arms, turn_ids)
    interview_ids = sorted({pk for each in chosen.values() for pk in each.interview_ids})
    left_out = len({pk for each in chosen.values() for pk in each.left_out})
    return LaunchPlan(
        KIND,
        arms,
        turn_ids,
        title=f"Pre-annotation by {annotator}",
        parameters={
            "annotators": [annotator.pk],
            "codebook": annotator.version.number,
            "prompt": annotator.prompt_version or PROMPT_VERSION,
            "turns": len(turn_ids) + len(questions),
            "left_out": left_out,
            "asked_again": list_reasked(arms)["turns"],
        },
        interview_ids=interview_ids,
    )


def _refuse_outdated_examples(annotator: Annotator, variant: ModelVariant) -> None:
    """The instructions of a current annotator are sent as they are, so they must still be such as may be sent."""
    if not annotator.recipe.get("examples") or not is_external(variant):
        return
    _, allowed = read_prompt_codebook(annotator.version, variant)
    is_withdrawn = not set(annotator.recipe["examples"]) <= set(allowed["examples"])
    if is_withdrawn or allowed["redaction"] != annotator.recipe.get("redaction", 0):
        raise Refused(OUTDATED_EXAMPLES.format(annotator=annotator))


class ChosenTurns(NamedTuple):
    """Turns in order, the interviews they are from, and those that are left out for want of consent; all by number."""

    turn_ids: list[int]
    interview_ids: list[int]
    left_out: set[int]


def choose_turns(
    *,
    project: Project,
    variant: ModelVariant | None,
    side: str = MODEL,
    interviews: Sequence[Interview] | None = None,
    limit: int | None = None,
) -> ChosenTurns:
    """What ``variant`` would be asked about of what the model says, or the interviewer (``side``).

    To a model off this site go only those of interviews that consent: others are left out and counted, and refused by title
    where they were ``interviews`` chosen one by one. Raises ``Refused``.
    """
    if limit is not None and limit < 1:
        raise Refused("The limit is a number of turns, at least 1.")
    sentences = Sentence.objects.current().filter(turn=OuterRef("pk"))
    turns = Turn.objects.filter(
        Exists(sentences), interview__project=project, role=side, channel=Turn.Channel.UTTERANCE
    )
    if interviews is not None:
        turns = turns.filter(interview__in=interviews)
    rows = list(turns.order_by("interview_id", "position").values_list("pk", "interview_id"))
    present = {interview_id for _, interview_id in rows}
    allowed = present
    if variant is not None and is_external(variant):
        if interviews is not None:
            _refuse_without_consent(interviews)
        allowed = list_consenting(present, Consent.Scope.EXTERNAL)
        if present and not allowed:
            raise Refused(NOBODY_CONSENTS)
    kept = [(turn_id, interview_id) for turn_id, interview_id in rows if interview_id in allowed][:limit]
    ids = sorted({interview_id for _, interview_id in kept})
    return ChosenTurns([turn_id for turn_id, _ in kept], ids, present - allowed)


def _refuse_without_consent(interviews: Sequence[Interview]) -> None:
    if refused := list_without(interviews, Consent.Scope.EXTERNAL):
        raise Refused(
            f"No consent to processing by external models is on record for {name_some(refused)}. Record it, leave them out, "
            "or choose a model that runs on this site."
        )
