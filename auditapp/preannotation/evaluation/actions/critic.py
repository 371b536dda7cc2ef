"""Having a critic read suggestions: positives alone, one call each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from auditapp.batches.actions import BatchError, LaunchPlan, PlannedArm, launch_once
from auditapp.batches.models import Batch
from auditapp.batches.pure.launch_options import DEFAULT_OPTIONS, LaunchOptions
from auditapp.llm.locality import is_external
from auditapp.llm.models import ModelVariant
from auditapp.preannotation.annotators.pure.prompts import CodeText
from auditapp.preannotation.annotators.queries.prompt_codebook import find_sent_redaction
from auditapp.preannotation.batch_kinds import CRITIC_KIND
from auditapp.preannotation.errors import PreannotationError
from auditapp.preannotation.evaluation.pure.critic_prompts import (
    CRITIC_VERSION,
    write_critic_instructions,
)
from auditapp.preannotation.evaluation.queries.critic import list_read
from auditapp.preannotation.evaluation.queries.positives import Positive, list_positives
from auditapp.preannotation.models import Annotator
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code
from transcripts.corpus.models import Consent
from transcripts.corpus.queries import list_consenting

MAX_TASK = 60


class CriticPlan(NamedTuple):
    """What a critic would read: ``not_consented`` suggestions are left out, and ``read_before`` ones were read already."""

    arms: list[PlannedArm]
    input_ids: list[int]
    interviews: list[int]
    not_consented: int
    read_before: int


def plan_critic(
    *, annotator: Annotator, critic: ModelVariant, codes: Collection[str] | None = None, again: bool = False
) -> CriticPlan:
    """One arm per code, its inputs the suggestions that stand; writes nothing. Raises ``PreannotationError``.

    Withheld turns are in it: their labels are what an annotator is measured by. ``again`` takes in what this critic has
    read before.
    """
    rows = _read_codes(annotator, codes)
    positives = list_positives(annotator, codes=[code.identifier for code in rows])
    if not positives:
        raise PreannotationError(f"{annotator} has no active suggestion, so there is nothing for a critic to check.")
    known = set() if again else list_read(annotator, critic)
    fresh = [each for each in positives if each.suggestion not in known]
    allowed = _keep_consenting(fresh, critic)
    if not allowed:
        raise PreannotationError(_say_nothing_left(critic, len(positives), fresh))
    redaction = find_sent_redaction(annotator.version, critic)
    arms = []
    for code in rows:
        own = [each.suggestion for each in allowed if each.code == code.identifier]
        settings = {"annotator": annotator.pk, "family": code.family.identifier, "codes": [code.identifier]}
        settings |= {"condition": "", "redaction": redaction.number if redaction else 0}
        if own:
            arms.append(PlannedArm(critic, code.identifier[:MAX_TASK], _write_instructions(code), settings, own))
    return CriticPlan(
        arms,
        [each.suggestion for each in allowed],
        sorted({each.interview for each in allowed}),
        len(fresh) - len(allowed),
        len(positives) - len(fresh),
    )


def launch_critic(
    *,
    annotator: Annotator,
    critic: ModelVariant,
    by: trail.Actor,
    codes: Collection[str] | None = None,
    again: bool = False,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> Batch:
    """Have ``critic`` test the annotator's suggestions; ``codes`` and ``again`` as in ``plan_critic``.

    Reads annotator.project. Raises ``PreannotationError``.
    """

    def plan() -> LaunchPlan:
        planned = plan_critic(annotator=annotator, critic=critic, codes=codes, again=again)
        return LaunchPlan(
            CRITIC_KIND,
            planned.arms,
            planned.input_ids,
            title=f"Critic of {annotator}",
            parameters={
                "annotators": [annotator.pk],
                "codebook": annotator.version.number,
                "prompt": CRITIC_VERSION,
                "not_consented": planned.not_consented,
            },
        )

    try:
        return launch_once(
            project=annotator.project,
            kind=CRITIC_KIND,
            plan=plan,
            by=by,
            options=options,
            annotator=annotator.pk,
            critic=critic.pk,
            codes=None if codes is None else sorted(codes),
            again=again,
        )
    except BatchError as error:
        raise PreannotationError(str(error)) from error


def _read_codes(annotator: Annotator, codes: Collection[str] | None) -> list[Code]:
    """The codes of the annotator's own codebook version, or those of them that are named."""
    rows = Code.objects.filter(version=annotator.version_id).select_related("family")
    if codes is not None:
        rows = rows.filter(identifier__in=codes)
        unknown = sorted(set(codes) - {code.identifier for code in rows})
        if unknown:
            raise PreannotationError(
                f"{annotator} uses codebook version {annotator.version.number}, which has no code {', '.join(unknown)}."
            )
    return list(rows.order_by("family__position", "position"))


def _write_instructions(code: Code) -> str:
    return write_critic_instructions(
        CodeText(code.identifier, code.name, code.machine_definition or code.definition, code.include, code.exclude),
        is_move=code.family.carries_enactment,
    )


def _keep_consenting(positives: Sequence[Positive], critic: ModelVariant) -> list[Positive]:
    """What may be sent now; the worker asks once more when it sends."""
    if not is_external(critic):
        return list(positives)
    consenting = list_consenting({each.interview for each in positives}, Consent.Scope.EXTERNAL)
    return [each for each in positives if each.interview in consenting]


def _say_nothing_left(critic: ModelVariant, positives: int, fresh: Sequence[Positive]) -> str:
    if not fresh:
        return f"{critic.label} has checked all {positives:,} suggestions already. Ask for them to be checked again."
    return (
        f"No interview of these {len(fresh):,} suggestions has a consent to processing by external models, and "
        f"{critic.label} is one. Record the consent first, or take a model of your own site."
    )
