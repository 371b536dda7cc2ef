"""Having a critic read suggestions: positives alone, one call each."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from auditapp.annotators.models import CRITIC_KIND, Annotator
from auditapp.annotators.queries.prompt_codebook import find_sent_redaction, make_code_text
from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.batches.launching import DEFAULT_OPTIONS, LaunchOptions, LaunchPlan, PlannedArm, launch_once
from auditapp.batches.models import Batch
from auditapp.evaluation.pure.critic import CRITIC_VERSION, write_critic_instructions
from auditapp.evaluation.queries.positives import Positive, list_positives, list_read
from auditapp.llm.credentials import is_external
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import find_answer_schema
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code
from transcripts.corpus.models import Consent
from transcripts.corpus.queries import list_consenting
from transcripts.refusals import Refused

MAX_TASK = 60


def plan_critic(
    *,
    annotator: Annotator,
    critic: ModelVariant,
    codes: Collection[str] | None = None,
    again: bool = False,
    without_schema: bool = False,
) -> tuple[LaunchPlan, int]:
    """One arm per code, its inputs the active suggestions; and how many of them this critic has checked before and are
    left out, unless it is to check them ``again``. Writes nothing. Raises ``Refused``.

    Its answers are held to a JSON schema where a probe found that its server honours one, unless ``without_schema``: with
    and without are two critics. Withheld turns are in it: their labels are what an annotator is measured by. The plan's
    parameters count suggestions that are left out because their interviews were ``not_consented``.
    """
    rows = _read_codes(annotator, codes)
    positives = list_positives(annotator, codes=[code.identifier for code in rows])
    if not positives:
        raise Refused(f"{annotator} has no active suggestion, so there is nothing for a critic to check.")
    form = "" if without_schema else find_answer_schema(critic)
    known = set() if again else list_read(annotator, critic, form)
    fresh = [each for each in positives if each.suggestion not in known]
    allowed = _keep_consenting(fresh, critic)
    if not allowed:
        raise Refused(_explain_nothing_left(critic, len(positives), fresh))
    redaction = find_sent_redaction(annotator.version, critic)
    arms = []
    for code in rows:
        own = [each.suggestion for each in allowed if each.code == code.identifier]
        settings = {"annotator": annotator.pk, "family": code.family.identifier, "codes": [code.identifier]}
        settings |= {"condition": "", "redaction": redaction.number if redaction else 0}
        settings |= {ANSWER_SCHEMA: form} if form else {}
        if own:
            text = write_critic_instructions(make_code_text(code), is_move=code.family.carries_enactment)
            arms.append(PlannedArm(critic, code.identifier[:MAX_TASK], text, settings, own))
    plan = LaunchPlan(
        CRITIC_KIND,
        arms,
        [each.suggestion for each in allowed],
        title=f"Critic of {annotator}",
        parameters={
            "annotators": [annotator.pk],
            "codebook": annotator.version.number,
            "prompt": CRITIC_VERSION,
            ANSWER_SCHEMA: form,
            "not_consented": len(fresh) - len(allowed),
        },
        interview_ids=sorted({each.interview for each in allowed}),
    )
    return plan, len(positives) - len(fresh)


def launch_critic(
    *,
    annotator: Annotator,
    critic: ModelVariant,
    by: trail.Actor,
    codes: Collection[str] | None = None,
    again: bool = False,
    without_schema: bool = False,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> Batch:
    """Have ``critic`` test the annotator's suggestions; the other arguments as in ``plan_critic``.

    Reads annotator.project. Raises ``Refused``.
    """
    return launch_once(
        project=annotator.project,
        kind=CRITIC_KIND,
        plan=lambda: plan_critic(
            annotator=annotator, critic=critic, codes=codes, again=again, without_schema=without_schema
        )[0],
        by=by,
        options=options,
        annotator=annotator.pk,
        critic=critic.pk,
        codes=None if codes is None else sorted(codes),
        again=again,
        without_schema=without_schema,
    )


def _read_codes(annotator: Annotator, codes: Collection[str] | None) -> list[Code]:
    """The codes of the annotator's own codebook version, or those of them that are named."""
    rows = Code.objects.filter(version=annotator.version_id).select_related("family")
    if codes is not None:
        rows = rows.filter(identifier__in=codes)
        unknown = sorted(set(codes) - {code.identifier for code in rows})
        if unknown:
            raise Refused(
                f"{annotator} uses codebook version {annotator.version.number}, which has no code {', '.join(unknown)}."
            )
    return list(rows.order_by("family__position", "position"))


def _keep_consenting(positives: Sequence[Positive], critic: ModelVariant) -> list[Positive]:
    """What may be sent now; the worker asks once more when it sends."""
    if not is_external(critic):
        return list(positives)
    consenting = list_consenting({each.interview for each in positives}, Consent.Scope.EXTERNAL)
    return [each for each in positives if each.interview in consenting]


def _explain_nothing_left(critic: ModelVariant, positives: int, fresh: Sequence[Positive]) -> str:
    if not fresh:
        return f"{critic.label} has already checked all {positives:,} suggestions. Choose to check them again."
    return (
        f"No interview of these {len(fresh):,} suggestions has consent to processing by external models such as "
        f"{critic.label}. Record the consent first, or choose a model that runs on your own site."
    )
