"""Launch the annotation of interviews: by a model, or by an annotator that needs no key, which uses keyword rules or a
classifier learnt from blind codings.
"""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from auditapp.annotators.actions.annotators import (
    MAX_TASK,
    check_schema,
    ensure_annotator,
    ensure_control_sentences,
    read_prompts,
    render_instructions,
    require_version,
)
from auditapp.annotators.models import KIND, Annotator, OfflineRun
from auditapp.annotators.offline import (
    ACTIVE,
    list_coded_interviews,
    list_interviews_to_read,
    list_rules,
    name_reader,
    read_training_set,
)
from auditapp.annotators.pure.checking import REASK, shuffle_codes
from auditapp.annotators.pure.learning import MIN_POSITIVES
from auditapp.annotators.pure.prompts import PROMPT_VERSION
from auditapp.annotators.queries.annotators import (
    UNITS,
    find_sent_redaction,
    is_asked,
    list_possible_controls,
    read_prompt_codebook,
)
from auditapp.annotators.withholding import ensure_arms
from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.batches.launching import DEFAULT_OPTIONS, LaunchOptions, LaunchPlan, PlannedArm, digest_asked, launch_once
from auditapp.batches.models import Batch
from auditapp.llm.credentials import is_external
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import CodeFamily
from transcripts.corpus.consent import list_without, name_some
from transcripts.corpus.models import Consent, Interview, Sentence, Turn
from transcripts.corpus.queries import list_consenting
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_SEED

MODEL = str(Turn.Role.MODEL)
NOBODY_CONSENTS = (
    "None of the study's interviews may be processed by external models. Record the consent for those that may, or choose a model "
    "that runs on this site."
)
OUTDATED_EXAMPLES = (
    "The instructions of {annotator} contain sentences that may no longer be sent in this form, because a consent or the "
    "redaction list has changed. Launch the model again, which creates an annotator with new instructions."
)


@transaction.atomic
def launch_preannotation(
    *,
    study: Study,
    annotator: Annotator,
    by: trail.Actor,
    interviews: Sequence[Interview] | None = None,
    families: Sequence[str] | None = None,
    limit: int | None = None,
    options: LaunchOptions = DEFAULT_OPTIONS,
) -> Batch:
    """Have turns annotated, with one call per turn and code family, or per turn and code.

    Without named families, all families coded by sentence are used, for the model's turns; families for the interviewer's turns
    are asked about those. ``limit`` takes at most this number of turns of each side, from the beginning. If the model does not
    run on this site, interviews without consent are left out. First the withheld turns are drawn, and a study's first launch adds
    the built-in control sentences. Raises ``Refused``.
    """
    return _launch(
        study=study,
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
    study: Study,
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
    """Have turns annotated by a model, as described at ``ensure_annotator`` and ``launch_preannotation``. Both are done, or
    neither."""
    return _launch(
        study=study,
        annotate=lambda: ensure_annotator(
            study=study,
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
    study: Study,
    annotate: Callable[[], Annotator],
    by: trail.Actor,
    interviews: Sequence[Interview] | None,
    families: Sequence[str] | None,
    limit: int | None,
    options: LaunchOptions,
    **who: object,
) -> Batch:
    """A form that is sent twice is not planned again, because consents and the codebook may have changed since. ``who`` says
    which annotator is requested, before ``annotate`` finds or creates it."""

    def plan() -> LaunchPlan:
        annotator = annotate()
        ensure_control_sentences(study=study, by=by)
        turn_answer = plan_annotation(
            study=study, annotator=annotator, interviews=interviews, families=families, limit=limit
        )
        ensure_arms(study=study, interviews=turn_answer.interview_ids, by=by)
        return turn_answer

    return launch_once(
        study=study,
        kind=KIND,
        plan=plan,
        by=by,
        options=options,
        interviews=None if interviews is None else sorted(interview.pk for interview in interviews),
        families=None if families is None else sorted(families),
        limit=limit,
        **who,
    )


def plan_annotation(
    *,
    study: Study,
    annotator: Annotator,
    interviews: Sequence[Interview] | None = None,
    families: Sequence[str] | None = None,
    limit: int | None = None,
) -> LaunchPlan:
    """What a launch would ask; writes nothing. ``annotator`` may be one that is not stored. The parameters count the
    interviews ``left_out`` because there is no consent to sending them to a model on another site. Raises ``Refused``."""
    chosen = {
        side: choose_turns(study=study, variant=annotator.variant, side=side, interviews=interviews, limit=limit)
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
    """The instructions of a current annotator are sent unchanged, so it must still be permitted to send them."""
    if not annotator.recipe.get("examples") or not is_external(variant):
        return
    _, allowed = read_prompt_codebook(annotator.version, variant)
    is_withdrawn = not set(annotator.recipe["examples"]) <= set(allowed["examples"])
    if is_withdrawn or allowed["redaction"] != annotator.recipe.get("redaction", 0):
        raise Refused(OUTDATED_EXAMPLES.format(annotator=annotator))


class ChosenTurns(NamedTuple):
    """Turns in order, their interviews, and the interviews that are left out because consent is missing; all by number."""

    turn_ids: list[int]
    interview_ids: list[int]
    left_out: set[int]


def choose_turns(
    *,
    study: Study,
    variant: ModelVariant | None,
    side: str = MODEL,
    interviews: Sequence[Interview] | None = None,
    limit: int | None = None,
) -> ChosenTurns:
    """The turns of the model or of the interviewer (``side``) that ``variant`` would be asked about.

    A model on another site gets only turns of interviews with consent. Other interviews are left out and counted; if they were
    chosen one by one in ``interviews``, they are refused by title. Raises ``Refused``.
    """
    if limit is not None and limit < 1:
        raise Refused("The limit is a number of turns, at least 1.")
    sentences = Sentence.objects.current().filter(turn=OuterRef("pk"))
    turns = Turn.objects.filter(Exists(sentences), interview__study=study, role=side, channel=Turn.Channel.UTTERANCE)
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


REASK_PERCENT = 2
# One turn alone would be the whole reading twice.
MIN_TURNS = 2
# A turn with more invented sentences than its own would be another turn.
MAX_CONTROL_SENTENCES = 3
AGAIN = " again"
# Arms send the same messages where they ask about the sentences of turns, and where they ask about turns as wholes.
TURNS, WHOLE_TURNS, QUESTIONS = "turns", "whole turns", "questions"
INTERVIEWER = str(CodeFamily.AppliesTo.INTERVIEWER)
SENTENCES_NOT_ASKED = (
    "Models code the interviewer's turns as wholes. Codes of {families} are for single sentences of the interviewer. Leave them "
    "to people, or have them coded by turn."
)
NO_QUESTIONS = (
    "Codes of {families} are for the interviewer's turns, and the interviewer says nothing in the chosen interviews. Choose other "
    "interviews, or leave these codes out."
)


def plan_arms(
    annotator: Annotator, families: Sequence[str] | None = None, *, questions: Sequence[int] = ()
) -> list[PlannedArm]:
    """One arm for each of the model's instructions, for these families. If none are named, all families coded by sentence are
    used; families coded by turn must be named. Arms for the interviewer's turns ask about ``questions``.

    Reads annotator.version.study and annotator.variant.account. Raises ``Refused``.
    """
    if annotator.variant is None:
        raise Refused(f"{annotator}: this annotator does not use a model, so it annotates without a batch.")
    redaction = find_sent_redaction(annotator.version, annotator.variant)
    number = redaction.number if redaction else 0
    check_schema(annotator)
    form = annotator.recipe.get("answer_schema", {}).get("form")
    held = {ANSWER_SCHEMA: form} if form else {}
    return [
        PlannedArm(
            annotator.variant,
            prompt["task"],
            prompt["text"],
            {
                "annotator": annotator.pk,
                "family": prompt["family"],
                "codes": list(prompt["codes"]),
                "condition": "",
                "redaction": number,
                "seed": 0,
                "controls": [],
                "names": {},
                **{name: prompt[name] for name in ("turns_of", "questions") if name in prompt},
                **held,
            },
            input_ids=questions if prompt.get("turns_of") == INTERVIEWER else None,
            # Which codes are asked for is said in the instructions alone: all arms send the same messages.
            messages=_name_messages(str(prompt.get("turns_of", ""))),
        )
        for prompt in choose_prompts(annotator, families)
    ]


def _name_messages(turns_of: str) -> str:
    if turns_of == INTERVIEWER:
        return QUESTIONS
    return WHOLE_TURNS if turns_of else TURNS


def list_asked_sides(annotator: Annotator, families: Sequence[str] | None) -> set[str]:
    """Whose turns a launch for these families asks about: "model" or "interviewer", or both. Raises ``Refused``."""
    sides = {str(prompt.get("turns_of", "")) for prompt in choose_prompts(annotator, families)}
    return {INTERVIEWER if side == INTERVIEWER else str(CodeFamily.AppliesTo.MODEL) for side in sides}


def choose_prompts(annotator: Annotator, families: Sequence[str] | None) -> list[dict[str, Any]]:
    """The annotator's instructions for these families. Raises ``Refused`` for a family that does not exist."""
    prompts = read_prompts(annotator)
    known = {each.identifier: each for each in CodeFamily.objects.filter(version=annotator.version, unit__in=UNITS)}
    not_asked = sorted(identifier for identifier, family in known.items() if not is_asked(family))
    if families is None:
        return [prompt for prompt in prompts if "turns_of" not in prompt and prompt["family"] not in not_asked]
    unknown = sorted(set(families) - known.keys())
    if unknown:
        raise Refused(f"The codebook has no family for sentences or turns named {', '.join(unknown)}.")
    if refused := sorted(set(families) & set(not_asked)):
        raise Refused(SENTENCES_NOT_ASKED.format(families=", ".join(refused)))
    return [prompt for prompt in prompts if prompt["family"] in families]


def plan_reask(annotator: Annotator, arms: Sequence[PlannedArm], turn_ids: Sequence[int]) -> list[PlannedArm]:
    """The same questions once more about two per cent of the turns, with the codes in another order and invented sentences
    with known codes among the turn's own sentences.

    Any change in the labels is then due to the machine and not to the text (trust brief C.4). At least one turn is asked again,
    but none if there is only one turn. Nothing is asked again for instructions with one code and no invented sentence, because
    the question would be the same, nor for instructions that could no longer be written in the same way (because a pinned example
    or a consent has changed), because the questions would differ in more than their order. The same turns and annotator give the
    same draw. For arms that ask about the interviewer's turns, the same share of these is drawn. Reads annotator.study.
    """
    own = {id(arm.input_ids): arm.input_ids for arm in arms if arm.input_ids is not None}
    return [
        *_plan_reask(annotator, [arm for arm in arms if arm.input_ids is None], turn_ids),
        *(
            again
            for key, ids in own.items()
            for again in _plan_reask(annotator, [arm for arm in arms if id(arm.input_ids) == key], ids)
        ),
    ]


def _plan_reask(annotator: Annotator, arms: Sequence[PlannedArm], turn_ids: Sequence[int]) -> list[PlannedArm]:
    if not arms or len(turn_ids) < MIN_TURNS or annotator.variant is None:
        return []
    seed = _find_seed(annotator, turn_ids)
    count = max(1, round(len(turn_ids) * REASK_PERCENT / 100))
    again = sorted(random.Random(seed).sample(turn_ids, count))  # noqa: S311 - a sample, not a secret
    families, _ = read_prompt_codebook(annotator.version, annotator.variant)
    controls = list_possible_controls(annotator.study)
    planned: list[PlannedArm] = []
    for arm in arms:
        family, every = families[str(arm.settings["family"])]
        asked = set(arm.settings["codes"])  # type: ignore[call-overload]
        in_order = [code for code in every if code.identifier in asked]
        if render_instructions(family, in_order, annotator) != arm.system_prompt:
            continue
        codes = shuffle_codes(in_order, seed)
        # A control sentence in a turn that is coded as a whole would change what the turn says.
        own = [] if arm.settings.get("turns_of") else _choose_controls(controls, asked, seed)
        if codes == in_order and not own:
            continue
        identifiers = [code.identifier for code in codes]
        planned.append(
            PlannedArm(
                annotator.variant,
                arm.task[: MAX_TASK - len(AGAIN)] + AGAIN,
                render_instructions(family, codes, annotator),
                arm.settings | {"condition": REASK, "codes": identifiers, "seed": seed, "controls": own},
                input_ids=again,
                messages=f"{arm.messages} with {own}",
            )
        )
    return planned


def _choose_controls(controls: Sequence[tuple[int, tuple[str, ...]]], asked: Collection[str], seed: int) -> list[int]:
    """A few of the invented sentences: some that have one of the requested codes, and some that have no code at all."""
    fitting = [key for key, codes in controls if not codes or set(codes) & set(asked)]
    chosen = random.Random(seed).sample(fitting, min(MAX_CONTROL_SENTENCES, len(fitting)))  # noqa: S311 - a sample
    return sorted(chosen)


def _find_seed(annotator: Annotator, turn_ids: Sequence[int]) -> int:
    """A seed that is the same for the review and the launch."""
    named = f"{annotator.hash} {len(turn_ids)} {turn_ids[0]} {turn_ids[-1]}"
    return int(hashlib.sha256(named.encode()).hexdigest()[:12], 16) % MAX_SEED


def list_reasked(arms: Sequence[PlannedArm]) -> Mapping[str, int]:
    """How many turns are asked again, and at most how many invented sentences are added."""
    again = [arm for arm in arms if arm.settings.get("condition") == REASK]
    turns = {turn for arm in again for turn in arm.input_ids or ()}
    controls = [len(arm.settings["controls"]) for arm in again]  # type: ignore[arg-type]
    return {
        "turns": len(turns),
        "controls": max(controls, default=0),
        "calls": sum(len(arm.input_ids or ()) for arm in again),
    }


SEED = 0
MAX_POSITIVES = 10_000
OF_ANOTHER_STUDY = "This form has already launched a run in another study. Open it again and send it once more."
ASKS_OTHERWISE = (
    "This form has already launched run {run}, with other settings, so nothing was launched now. To launch this run too, send "
    "the form once more."
)


def preview_rules(study: Study) -> dict[str, list[str]]:
    """The rules that a launch would use now, by code; writes nothing. Raises ``Refused``."""
    return list_rules(require_version(study))


def preview_training_set(study: Study, *, minimum: int = MIN_POSITIVES) -> dict[str, Any]:
    """What a launch would learn from now; writes nothing. Raises ``Refused``."""
    version = require_version(study)
    if not 2 <= minimum <= MAX_POSITIVES:
        raise Refused(f"The minimum number of examples must be between 2 and {MAX_POSITIVES:,}.")
    return read_training_set(study, version, minimum=minimum)


def launch_offline(
    *,
    study: Study,
    kind: str,
    by: trail.Actor,
    interviews: Sequence[Interview] | None = None,
    idempotency_key: uuid.UUID | None = None,
    minimum: int = MIN_POSITIVES,
) -> OfflineRun:
    """Have the model's sentences in these interviews (all unless given) annotated; a worker begins at once.

    Sentences that the annotator has already annotated are skipped. ``minimum``: the smallest number of positive examples from
    which a code is learnt. The same ``idempotency_key`` returns the run that was made with it, unless it asks for something else.
    Raises ``Refused``.
    """
    ids = None if interviews is None else [each.pk for each in interviews]
    asked = _digest(kind, minimum, ids)
    current = _find_run(study, idempotency_key, asked)
    if current is not None:
        return current
    name_reader(kind)
    recipe = _write_recipe(study, kind, minimum)
    is_learnt = kind == Annotator.Kind.LEARNT
    drawn = sorted({*ids, *list_coded_interviews(study)}) if ids is not None and is_learnt else ids
    if ensure_arms(study=study, interviews=drawn, by=by) and is_learnt:
        # Some of what there was to learn from is withheld now.
        recipe = _write_recipe(study, kind, minimum)
    return _store_run(
        study=study, kind=kind, recipe=recipe, ids=ids, idempotency_key=idempotency_key, asked=asked, by=by
    )


@transaction.atomic
def cancel_run(*, run: OfflineRun, by: trail.Actor) -> None:
    """Stop a run after its current interview; what was annotated is kept. Raises ``Refused``."""
    ended = OfflineRun.objects.filter(pk=run.pk, state__in=ACTIVE).update(
        state=OfflineRun.State.CANCELLED, ended_at=timezone.now(), claimed_by="", claimed_until=None
    )
    if not ended:
        raise Refused("This run has already ended.")
    stream = trail.study_stream(run.annotator.study_id)
    trail.record("annotators.offline_run.cancelled", target=run, by=by, stream=stream)


def _digest(kind: str, minimum: int, ids: list[int] | None) -> str:
    """What a form asks for. For rules, no number of examples is requested."""
    fewest = minimum if kind == Annotator.Kind.LEARNT else None
    return digest_asked(str(kind), DEFAULT_OPTIONS, minimum=fewest, interviews=None if ids is None else sorted(ids))


def _find_run(study: Study, idempotency_key: uuid.UUID | None, asked: str) -> OfflineRun | None:
    """The run that was already launched with this ``idempotency_key``."""
    if idempotency_key is None:
        return None
    current = OfflineRun.objects.select_related("annotator").filter(idempotency_key=idempotency_key).first()
    if current is None:
        return None
    if current.annotator.study_id != study.pk:
        raise Refused(OF_ANOTHER_STUDY)
    if current.asked not in {"", asked}:
        raise Refused(ASKS_OTHERWISE.format(run=current.pk))
    return current


def _write_recipe(study: Study, kind: str, minimum: int) -> dict[str, Any]:
    if kind == Annotator.Kind.RULES:
        rules = preview_rules(study)
        if not rules:
            raise Refused(
                "No code for sentences has a keyword rule. Write rules in a draft of the codebook and publish it."
            )
        return {"reader": name_reader(Annotator.Kind.RULES), "rules": rules}
    if kind != Annotator.Kind.LEARNT:
        raise Refused("An annotator without a model is either rules or learnt.")
    found = preview_training_set(study, minimum=minimum)
    if all(each["reason"] for each in found["codes"].values()):
        raise Refused(_explain_too_few(found["codes"], minimum))
    return {"reader": name_reader(Annotator.Kind.LEARNT), "seed": SEED, "minimum": minimum, **found}


def _explain_too_few(outcomes: Mapping[str, Mapping[str, Any]], minimum: int) -> str:
    code = max(outcomes, key=lambda code: outcomes[code]["positives"], default="")
    if not code or not outcomes[code]["positives"]:
        return (
            "There is nothing to learn from yet, because no code was applied to a sentence by most of its blind coders. Code some "
            "interviews first."
        )
    return (
        f"No code has enough blind examples yet. Needed are {minimum} sentences in at least 3 interviews. {code} has the most, "
        f"{outcomes[code]['positives']} in {outcomes[code]['interviews']}; {outcomes[code]['reason']}"
    )


@transaction.atomic
def _store_run(
    *,
    study: Study,
    kind: str,
    recipe: dict[str, Any],
    ids: list[int] | None,
    idempotency_key: uuid.UUID | None,
    asked: str,
    by: trail.Actor,
) -> OfflineRun:
    # Two who send the same form take turns here, and the second finds the run of the first.
    Study.objects.select_for_update().get(pk=study.pk)
    current = _find_run(study, idempotency_key, asked)
    if current is not None:
        return current
    annotator = ensure_annotator(study=study, kind=kind, recipe=recipe, by=by)
    left = list_interviews_to_read(annotator, ids)
    if not left:
        raise Refused(
            f"There is nothing to annotate: {annotator} has already annotated every sentence of the models, or there are none."
        )
    run = OfflineRun.objects.create(
        annotator=annotator,
        idempotency_key=idempotency_key,
        asked=asked if idempotency_key else "",
        created_at=timezone.now(),
        launched_by=by if isinstance(by, User) else None,
        launched_by_name=by.get_username(),
    )
    run.interviews.set(left)
    details: dict[str, object] = {"annotator": annotator.pk, "kind": str(kind), "interviews": len(left)}
    stream = trail.study_stream(study.pk)
    trail.record("annotators.offline_run.launched", target=run, by=by, stream=stream, details=details)
    transaction.on_commit(partial(_notify_workers, run.pk))
    return run


def _notify_workers(run_id: int) -> None:
    from auditapp.annotators import tasks  # loads Celery

    tasks.ring_run(run_id)
