"""Asking an annotator about a sample of turns in several ways, before it reads everything."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from django.db import transaction
from django.db.models import Count

from auditapp.annotators.actions.annotators import MAX_TASK, render_instructions
from auditapp.annotators.actions.launching import plan_annotation
from auditapp.annotators.actions.withholding import ensure_arms
from auditapp.annotators.models import CHECK_KIND, CRITIC_KIND, Annotator
from auditapp.annotators.pure.checking import REPEAT, change_codes, list_conditions
from auditapp.annotators.pure.prompts import PROMPT_VERSION, CodeText
from auditapp.annotators.queries.annotators import find_sent_redaction, make_code_text, read_prompt_codebook
from auditapp.annotators.queries.withholding import list_withheld_answers
from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.batches.launching import DEFAULT_OPTIONS, LaunchOptions, LaunchPlan, PlannedArm, launch_once
from auditapp.batches.models import Batch
from auditapp.evaluation.pure.critic import CRITIC_VERSION, write_critic_instructions
from auditapp.evaluation.queries.positives import Positive, list_positives, list_read
from auditapp.llm.credentials import is_external
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import find_answer_schema
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code, CodeFamily
from transcripts.corpus.models import Consent, Sentence
from transcripts.corpus.queries import list_consenting
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_SEED

USUAL_SAMPLE, MAX_SAMPLED = 50, 1_000
USUAL_REPEATS, MAX_REPEATS = 3, 10
IDS_AT_A_TIME = 5_000
TURNS_NOT_CHECKED = (
    "Checks ask about sentences, but codes of {families} are applied to whole turns. Leave these families out; calibration shows "
    "how well they are annotated."
)
ALL_WITHHELD = (
    "Every turn that could be checked is withheld. The results of a check are shown, so it needs turns that are not withheld. "
    "Lower the share, or import another interview."
)
OUTDATED = (
    "The instructions of {annotator} are out of date: a pinned example, a consent, the redaction list or the prompt has "
    "changed since. Launch with the model again; that creates an annotator that can be checked."
)


@transaction.atomic
def launch_check(
    *,
    study: Study,
    annotator: Annotator,
    by: trail.Actor,
    sample: int = USUAL_SAMPLE,
    repeats: int = USUAL_REPEATS,
    families: Sequence[str] | None = None,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> Batch:
    """Have the annotator asked about turns with ``sample`` sentences or a few more: ``repeats`` times the same, then with
    the codes in reverse, under numbers for names, and with definitions swapped; all families coded by sentence unless named.

    Withheld turns are not asked about, and without consent none of an interview's where the model is not of this site.
    Earlier answers are never taken: they would hide what changes.
    Raises ``Refused``.
    """

    def plan() -> LaunchPlan:
        # Drawn before the sample is, so that no turn is asked about and withheld afterwards.
        everything = plan_annotation(study=study, annotator=annotator, families=families)
        ensure_arms(study=study, interviews=everything.interview_ids, by=by)
        return plan_check(study=study, annotator=annotator, sample=sample, repeats=repeats, families=families)

    return launch_once(
        study=study,
        kind=CHECK_KIND,
        plan=plan,
        by=by,
        options=replace(options, uses_cache=False),
        annotator=annotator.pk,
        sample=sample,
        repeats=repeats,
        families=None if families is None else sorted(families),
    )


def plan_check(
    *,
    study: Study,
    annotator: Annotator,
    sample: int = USUAL_SAMPLE,
    repeats: int = USUAL_REPEATS,
    families: Sequence[str] | None = None,
) -> LaunchPlan:
    """What a launch would ask; writes nothing. Before the first draw of withheld turns a few of them may be among the
    sample, which the launch then replaces. Raises ``Refused``."""
    if not 1 <= sample <= MAX_SAMPLED:
        raise Refused(f"The sample must have 1 to {MAX_SAMPLED:,} sentences, not {sample:,}.")
    if not 2 <= repeats <= MAX_REPEATS:
        raise Refused(f"The same question must be asked 2 to {MAX_REPEATS} times, not {repeats}.")
    turn_answer = plan_annotation(study=study, annotator=annotator, families=families)
    whole = sorted({str(arm.settings["family"]) for arm in turn_answer.arms if arm.settings.get("turns_of")})
    if whole:
        raise Refused(TURNS_NOT_CHECKED.format(families=", ".join(whole)))
    withheld = list_withheld_answers(study)
    counts = _count_sentences([turn_id for turn_id in turn_answer.input_ids if turn_id not in withheld])
    if turn_answer.input_ids and not counts:
        raise Refused(ALL_WITHHELD)
    seed = _find_seed(study, annotator)
    turn_ids = draw_turns(counts, sample, seed)
    asked = [arm for arm in turn_answer.arms if not arm.settings["condition"]]
    return LaunchPlan(
        CHECK_KIND,
        list(_plan_conditions(annotator, asked, repeats, seed)),
        turn_ids,
        title=f"Checks of {annotator}",
        parameters={
            "annotators": [annotator.pk],
            "codebook": annotator.version.number,
            "prompt": annotator.prompt_version or PROMPT_VERSION,
            "sample": sample,
            "repeats": repeats,
            "turns": len(turn_ids),
            "sentences": sum(counts[turn_id] for turn_id in turn_ids),
            "left_out": turn_answer.parameters["left_out"],
            "seed": seed,
        },
    )


def draw_turns(sentences: Mapping[int, int], sample: int, seed: int) -> list[int]:
    """Turns at random until they have so many sentences; all of them where there are fewer. ``sentences``: by turn."""
    shuffled = sorted(sentences)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - a sample, not a secret
    drawn: list[int] = []
    reached = 0
    for turn_id in shuffled:
        if reached >= sample:
            break
        drawn.append(turn_id)
        reached += sentences[turn_id]
    return sorted(drawn)


def _count_sentences(turn_ids: Sequence[int]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for start in range(0, len(turn_ids), IDS_AT_A_TIME):
        current = Sentence.objects.current().filter(turn__in=turn_ids[start : start + IDS_AT_A_TIME]).order_by()
        counts |= dict(current.values_list("turn").annotate(Count("pk")))
    return counts


def _find_seed(study: Study, annotator: Annotator) -> int:
    """A seed that review and launch come to alike, and that the next check does not."""
    before = Batch.objects.filter(study=study, kind=CHECK_KIND).count()
    named = f"{annotator.hash} {annotator.pk} check {before}"
    return int(hashlib.sha256(named.encode()).hexdigest()[:12], 16) % MAX_SEED


def _plan_conditions(
    annotator: Annotator, asked: Sequence[PlannedArm], repeats: int, seed: int
) -> Iterator[PlannedArm]:
    """For each of the annotator's questions its conditions: all send the same messages under other instructions."""
    if annotator.variant is None:
        return
    families, _ = read_prompt_codebook(annotator.version, annotator.variant)
    for arm in asked:
        family, every = families[str(arm.settings["family"])]
        codes = list(arm.settings["codes"])  # type: ignore[call-overload]
        if _change_question(annotator, family, every, codes, f"{REPEAT}-1")[0] != arm.system_prompt:
            raise Refused(OUTDATED.format(annotator=annotator))
        for condition in list_conditions(repeats, asked=len(codes), in_family=len(every)):
            instructions, settings = _change_question(annotator, family, every, codes, condition)
            yield arm._replace(
                task=f"{arm.task[: MAX_TASK - len(condition) - 1]} {condition}",
                system_prompt=instructions,
                settings=arm.settings | settings | {"condition": condition, "seed": seed},
            )


def _change_question(
    annotator: Annotator, family: CodeFamily, every: Sequence[CodeText], asked: Sequence[str], condition: str
) -> tuple[str, dict[str, object]]:
    """The instructions about the codes ``asked`` for under a condition, and what is needed to parse the answers."""
    changed, names, definitions = change_codes(condition, every)
    own = {code.identifier: names.get(code.identifier, code.identifier) for code in changed}
    codes = [code for code in changed if own[code.identifier] in asked]
    identifiers = [code.identifier for code in codes]
    return render_instructions(family, codes, annotator), {
        "codes": [own[name] for name in identifiers],
        "names": {name: own[name] for name in identifiers if name in names},
        "definitions": {name: definitions[name] for name in identifiers if name in definitions},
    }


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

    Reads annotator.study. Raises ``Refused``.
    """
    return launch_once(
        study=annotator.study,
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
