"""What people do to evaluate annotators: check one before it annotates everything, have a critic test its suggestions, audit its
positives, and choose one for each code.

A check asks an annotator about a sample of turns in several ways. An audit is a seeded sample of an annotator's suggestions of
each code, with people's verdict on each of them.
"""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from django.db import IntegrityError, transaction
from django.db.models import Count
from django.utils import timezone

from auditapp.annotators.actions.annotators import MAX_TASK, render_instructions
from auditapp.annotators.actions.launching import plan_annotation
from auditapp.annotators.models import CHECK_KIND, CRITIC_KIND, Annotator, CodeChoice
from auditapp.annotators.pure.checking import REPEAT, change_codes, list_conditions
from auditapp.annotators.pure.prompts import PROMPT_VERSION, CodeText
from auditapp.annotators.queries.annotators import find_sent_redaction, make_code_text, read_prompt_codebook
from auditapp.annotators.withholding import ensure_arms, list_withheld_answers
from auditapp.audits.actions import check_seed, store_mark, store_sample
from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.batches.launching import DEFAULT_OPTIONS, LaunchOptions, LaunchPlan, PlannedArm, launch_once
from auditapp.batches.models import Batch
from auditapp.evaluation.models import (
    MAX_PER_CODE,
    USUAL_PER_CODE,
    AuditedSuggestion,
    Disagreement,
    PositiveAudit,
    PositiveMark,
)
from auditapp.evaluation.pure.positives import CRITIC_VERSION, write_critic_instructions
from auditapp.evaluation.queries.positives import Positive, list_positives, list_read
from auditapp.llm.credentials import is_external
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import find_answer_schema
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.blinding.viewers import Viewer
from transcripts.codebook.models import Code, CodeFamily
from transcripts.corpus.models import Consent, Sentence
from transcripts.corpus.queries import list_consenting
from transcripts.refusals import Refused
from transcripts.studies.access import find_role
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_NOTE, MAX_SEED, check_reason, check_text

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
    """Have the annotator asked about turns with ``sample`` sentences or a few more: ``repeats`` times in the same way, then
    with the codes in reverse order, with numbers instead of names, and with swapped definitions.

    All families coded by sentence are used unless some are named. Withheld turns are not asked about, and neither are turns of
    interviews without consent if the model does not run on this site. Earlier answers are never reused, because they would hide
    changes. Raises ``Refused``.
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
    """What a launch would ask; writes nothing. Before withheld turns are first drawn, the sample may include turns that will
    be withheld; the launch then replaces them. Raises ``Refused``."""
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
    """Random turns, until they have the requested number of sentences; all turns if there are fewer. ``sentences``: by turn."""
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
    """A seed that is the same for the review and the launch, but different for the next check."""
    before = Batch.objects.filter(study=study, kind=CHECK_KIND).count()
    named = f"{annotator.hash} {annotator.pk} check {before}"
    return int(hashlib.sha256(named.encode()).hexdigest()[:12], 16) % MAX_SEED


def _plan_conditions(
    annotator: Annotator, asked: Sequence[PlannedArm], repeats: int, seed: int
) -> Iterator[PlannedArm]:
    """The conditions of each of the annotator's questions. They all send the same messages with different instructions."""
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
    """The instructions for the ``asked`` codes under a condition, and what is needed to parse the answers."""
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
    """One arm for each code, with the active suggestions as inputs; and how many suggestions are left out because this critic
    has already checked them, unless it is to check them ``again``. Writes nothing. Raises ``Refused``.

    The answers must follow a JSON schema if a probe has found that the critic's server honours one, unless ``without_schema``;
    with and without a schema count as two critics. Withheld turns are included, because annotators are measured by their labels
    on these. The plan's parameters count suggestions that are left out because their interviews were ``not_consented``.
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
    """The codes of the annotator's own codebook version, or only the named ones."""
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
    """The suggestions that may be sent now. The worker checks again when it sends."""
    if not is_external(critic):
        return list(positives)
    consenting = list_consenting({each.interview for each in positives}, Consent.Scope.EXTERNAL)
    return [each for each in positives if each.interview in consenting]


def _explain_nothing_left(critic: ModelVariant, positives: int, fresh: Sequence[Positive]) -> str:
    if not fresh:
        return (
            f"{critic.label} has already checked all {positives:,} suggestions. To check them again, tick that option."
        )
    return (
        f"No interview of these {len(fresh):,} suggestions has consent to processing by external models such as "
        f"{critic.label}. Record the consent first, or choose a model that runs on your own site."
    )


@transaction.atomic
def draw_positive_audit(
    *,
    annotator: Annotator,
    seed: int,
    by: trail.Actor,
    per_code: int = USUAL_PER_CODE,
    with_critic: bool = False,
    codes: Collection[str] | None = None,
) -> PositiveAudit:
    """Draw ``per_code`` of the current suggestions of each code, or all if there are not more; never on withheld turns.

    ``with_critic``: only suggestions that no critic rejected. For the same suggestions, the same options and seed give the same
    sample, as a new audit. Reads annotator.study. Raises ``Refused``.
    """
    if not 1 <= per_code <= MAX_PER_CODE:
        raise Refused(f"An audit needs between 1 and {MAX_PER_CODE:,} suggestions of each code.")
    check_seed(seed)
    frame = _find_frame(annotator, codes=codes, with_critic=with_critic, by=by)
    drawn = draw_sample(frame, per_code=per_code, seed=seed)
    audit = PositiveAudit(
        annotator=annotator,
        with_critic=with_critic,
        per_code=per_code,
        seed=seed,
        made_at=timezone.now(),
        made_by_name=by.get_username(),
    )
    details = {
        "annotator": annotator.pk,
        "per_code": per_code,
        "seed": seed,
        "with_critic": with_critic,
        "items": len(drawn),
        "frame": len(frame),
    }
    items = [AuditedSuggestion(suggestion_id=each.suggestion, population=population) for each, population in drawn]
    store_sample(audit=audit, items=items, by=by, details=details)
    return audit


def _find_frame(
    annotator: Annotator, *, codes: Collection[str] | None, with_critic: bool, by: trail.Actor
) -> list[Positive]:
    """The suggestions from which an audit draws: current ones, on turns that show suggestions."""
    positives = list_positives(annotator, codes=codes, with_critic=with_critic)
    ensure_arms(study=annotator.study, interviews={each.interview for each in positives}, by=by)
    withheld = list_withheld_answers(annotator.study)
    frame = [each for each in positives if each.turn not in withheld]
    if not frame:
        raise Refused(
            f"There is nothing to draw from, because {annotator} has no current suggestion on a turn that shows suggestions."
        )
    return frame


def draw_sample(frame: Sequence[Positive], *, per_code: int, seed: int) -> list[tuple[Positive, int]]:
    """A simple random sample for each code, shuffled over all codes, with the number of suggestions from which it was drawn.

    Each code has its own random source, so that adding a code does not change the samples of other codes.
    """
    of_code: dict[str, list[Positive]] = {}
    for each in sorted(frame):
        of_code.setdefault(each.code, []).append(each)
    drawn = []
    for code, own in of_code.items():
        source = random.Random(f"{seed} {code}")  # noqa: S311 - a sample that can be drawn again, not a secret
        drawn += [(each, len(own)) for each in source.sample(own, min(per_code, len(own)))]
    drawn.sort()
    random.Random(seed).shuffle(drawn)  # noqa: S311 - an order, not a secret
    return drawn


@transaction.atomic
def mark_positive(
    *, item: AuditedSuggestion, verdict: str, by: User, number: int, idempotency_key: uuid.UUID, note: str = ""
) -> PositiveMark:
    """Store whether the code applies, as ``by`` reads the sentence. See ``store_mark``.

    People who code themselves must have unblinded the interview before, so that what they code there afterwards is assisted.
    Reads item.audit.annotator.study and item.suggestion.sentence.turn. Raises ``Refused``.
    """
    if verdict not in PositiveMark.Verdict.values:
        raise Refused("Choose whether the code applies, does not apply, or cannot be decided.")
    study = item.audit.annotator.study
    role = find_role(by, study)
    if role is None or Viewer(study, by, role).blinded([item.suggestion.sentence.turn.interview_id]):
        raise Refused(
            "Unblind this interview first. Marking shows you a machine's label in it, and what you code there afterwards counts "
            "as assisted."
        )
    mark = PositiveMark(item=item, verdict=verdict, note=note, number=number, idempotency_key=idempotency_key)
    return store_mark(mark, by=by)


@transaction.atomic
def choose_annotator(
    *,
    study: Study,
    code_identifier: str,
    annotator: Annotator | None,
    reason: str,
    by: trail.Actor,
    with_critic: bool = False,
) -> CodeChoice:
    """Choose ``annotator`` for a code, or ``None`` to leave the code to people. An earlier choice is superseded and kept.

    Raises ``Refused``.
    """
    reason = check_reason(reason, needed="Give a reason. People who use the rates will read it.", one_line=True)
    with_critic = with_critic and annotator is not None
    _check(study, code_identifier, annotator)
    choices = CodeChoice.objects.select_for_update().filter(study=study, code_identifier=code_identifier)
    current = choices.filter(superseded_at__isnull=True).first()
    if current is not None:
        if (current.annotator, current.with_critic, current.reason) == (annotator, with_critic, reason):
            return current
        current.superseded_at = timezone.now()
        current.save(update_fields=["superseded_at"])
    choice = CodeChoice(
        study=study,
        code_identifier=code_identifier,
        annotator=annotator,
        with_critic=with_critic,
        reason=reason,
        chosen_at=timezone.now(),
        chosen_by_name=by.get_username(),
    )
    try:
        with transaction.atomic():
            choice.save()
    except IntegrityError as error:
        raise Refused(
            "Another person has made a choice for this code in the meantime. Look at it, then choose again."
        ) from error
    _record(choice, by, current)
    return choice


def _record(choice: CodeChoice, by: trail.Actor, current: CodeChoice | None) -> None:
    trail.record(
        "annotators.annotator.chosen",
        target=choice,
        by=by,
        details={
            "code": choice.code_identifier,
            "annotator": choice.annotator_id,
            "critic": int(choice.with_critic),
            "before": current.pk if current else None,
        },
    )


def _check(study: Study, code_identifier: str, annotator: Annotator | None) -> None:
    codes = Code.objects.filter(identifier=code_identifier, family__unit=CodeFamily.Unit.SENTENCE)
    if annotator is None:
        known = codes.filter(version__study=study, version__published_at__isnull=False).exists()
        if not known:
            raise Refused("This study's codebook has no such code for sentences.")
        return
    if annotator.study_id != study.pk:
        raise Refused("This annotator is not part of this study.")
    if not codes.filter(version=annotator.version_id).exists():
        raise Refused(
            f"{annotator} does not annotate this code, because its codebook {annotator.version} does not have it."
        )
    if not has_read_for(annotator, code_identifier):
        raise Refused(
            f"{annotator} has annotated no sentence for this code, so it cannot be chosen. "
            "Let it annotate first, or choose another annotator or people only."
        )


def list_choices(study: Study) -> list[CodeChoice]:
    """The annotator now chosen for each code."""
    rows = CodeChoice.objects.filter(study=study, superseded_at__isnull=True)
    return list(rows.select_related("annotator__version", "annotator__study").order_by("code_identifier"))


def has_read_for(annotator: Annotator, code_identifier: str) -> bool:
    """Whether it annotated any sentence for a code. If it was never asked about a code, the absence of labels says nothing."""
    from auditapp.annotators.queries.machine_labels import read_machine_labels

    machine = read_machine_labels(annotator)
    return code_identifier in machine.codes and bool(machine.was_read[machine.codes.index(code_identifier)].any())


OVERTAKEN = "Another person has sorted this difference in the meantime. Look at that decision, then decide again."


@transaction.atomic
def sort_disagreement(
    *,
    study: Study,
    annotator: Annotator,
    sentence: Sentence,
    code_identifier: str,
    category: str,
    by: User,
    note: str = "",
    replaces: int | None = None,
) -> Disagreement:
    """Record why the machine and people differ on a code of a sentence. An earlier decision is superseded and kept.

    ``replaces`` is the row that was shown; if another row is active by now, nothing is stored. Reads sentence.turn.interview.
    Raises ``Refused``.
    """
    note = check_text(note, field="note", max_length=MAX_NOTE, one_line=True)
    _check_place(study, annotator, sentence, code_identifier)
    if category not in Disagreement.Category.values:
        raise Refused("Choose one of the six categories.")
    said = Disagreement.objects.filter(annotator=annotator, sentence=sentence, code_identifier=code_identifier)
    current = said.select_for_update().filter(superseded_by__isnull=True).first()
    if (current.pk if current else None) != replaces:
        raise Refused(OVERTAKEN)
    if current is not None and (current.category, current.note) == (category, note):
        return current
    row = Disagreement(
        annotator=annotator,
        sentence=sentence,
        code_identifier=code_identifier,
        category=category,
        note=note,
        sorted_at=timezone.now(),
        sorted_by=by,
        # Only one may be active: until the old row is superseded, the new one points to the first, to which nothing points.
        superseded_by=said.filter(supersedes__isnull=True).first(),
    )
    _store(row, current)
    _record_sorting(row, study, by, current)
    return row


def _store(row: Disagreement, current: Disagreement | None) -> None:
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise Refused(OVERTAKEN) from error
    if current is not None:
        Disagreement.objects.filter(pk=current.pk).update(superseded_by=row)
        row.superseded_by = None
        row.save(update_fields=["superseded_by"])


def _check_place(study: Study, annotator: Annotator, sentence: Sentence, code_identifier: str) -> None:
    if annotator.study_id != study.pk or sentence.turn.interview.study_id != study.pk:
        raise Refused("This sentence is not part of this study.")
    if not Code.objects.filter(version=annotator.version_id, identifier=code_identifier).exists():
        raise Refused("The annotator's codebook does not have this code.")


def _record_sorting(row: Disagreement, study: Study, by: User, current: Disagreement | None) -> None:
    trail.record(
        "evaluation.disagreement.sorted",
        target=row,
        by=by,
        stream=trail.study_stream(study.pk),
        details={
            "annotator": row.annotator_id,
            "sentence": row.sentence_id,
            "code": row.code_identifier,
            "category": row.category,
            "before": current.pk if current else None,
        },
    )
