"""The arms of a reading: one for each of the annotator's instructions, and the few turns that are asked again."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from auditapp.annotators.actions.annotators import MAX_TASK, check_schema, read_prompts, render_instructions
from auditapp.annotators.models import Annotator
from auditapp.annotators.pure.conditions import REASK, shuffle_codes
from auditapp.annotators.queries.annotators import list_plantable
from auditapp.annotators.queries.prompt_codebook import UNITS, find_sent_redaction, is_asked, read_prompt_codebook
from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.batches.launching import PlannedArm
from transcripts.codebook.models import CodeFamily
from transcripts.refusals import Refused
from transcripts.ui.typed_text import MAX_SEED

REASK_PERCENT = 2
# One turn alone would be the whole reading twice.
MIN_TURNS = 2
# A turn with more invented sentences than its own would be another turn.
MAX_PLANTED = 3
AGAIN = " again"
# Arms send the same messages where they ask about the sentences of turns, and where they ask about turns as wholes.
TURNS, WHOLE_TURNS, QUESTIONS = "turns", "whole turns", "questions"
INTERVIEWER = str(CodeFamily.AppliesTo.INTERVIEWER)
SENTENCES_NOT_ASKED = (
    "Models are asked about the interviewer's turns as wholes. Codes of {families} are for single sentences of the "
    "interviewer: leave them to people, or have them coded by turn."
)
NO_QUESTIONS = (
    "Codes of {families} are for the interviewer's turns, and the interviewer says nothing in what was chosen. Choose other "
    "interviews, or leave these codes out."
)


def plan_arms(
    annotator: Annotator, families: Sequence[str] | None = None, *, questions: Sequence[int] = ()
) -> list[PlannedArm]:
    """One arm for each of the model's instructions, of these families (all coded by sentence unless named; families coded
    by turn are asked for only by name). Those for the interviewer's turns ask about ``questions``.

    Reads annotator.version.project and annotator.variant.account. Raises ``Refused``.
    """
    if annotator.variant is None:
        raise Refused(f"{annotator}: this annotator uses no model, so it annotates without a batch.")
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
                "planted": [],
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
    """Whose turns a launch for these families asks about: "model", "interviewer". Raises ``Refused``."""
    sides = {str(prompt.get("turns_of", "")) for prompt in choose_prompts(annotator, families)}
    return {INTERVIEWER if side == INTERVIEWER else str(CodeFamily.AppliesTo.MODEL) for side in sides}


def choose_prompts(annotator: Annotator, families: Sequence[str] | None) -> list[dict[str, Any]]:
    """The annotator's instructions for these families. Raises ``Refused`` for one that is not there."""
    prompts = read_prompts(annotator)
    known = {each.identifier: each for each in CodeFamily.objects.filter(version=annotator.version, unit__in=UNITS)}
    not_asked = sorted(identifier for identifier, family in known.items() if not is_asked(family))
    if families is None:
        return [prompt for prompt in prompts if "turns_of" not in prompt and prompt["family"] not in not_asked]
    unknown = sorted(set(families) - known.keys())
    if unknown:
        raise Refused(f"The codebook has no family of sentences or turns {', '.join(unknown)}.")
    if refused := sorted(set(families) & set(not_asked)):
        raise Refused(SENTENCES_NOT_ASKED.format(families=", ".join(refused)))
    return [prompt for prompt in prompts if prompt["family"] in families]


def plan_reask(annotator: Annotator, arms: Sequence[PlannedArm], turn_ids: Sequence[int]) -> list[PlannedArm]:
    """The same questions once more about two per cent of the turns, their codes in another order and invented sentences
    with known codes among the turn's own: what changes then is the machine's, not the text's (trust brief C.4).

    At least one turn; none of a single one. None for instructions of one code without an invented sentence, which would
    be the same question, and none for instructions that could not be written so any more (a pinned example or a consent
    has changed since): two questions would differ by more than their order. The same turns and annotator give the same
    draw. Of arms that ask about other turns, the interviewer's, as many of those. Reads annotator.project.
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
    planted = list_plantable(annotator.project)
    planned: list[PlannedArm] = []
    for arm in arms:
        family, every = families[str(arm.settings["family"])]
        asked = set(arm.settings["codes"])  # type: ignore[call-overload]
        in_order = [code for code in every if code.identifier in asked]
        if render_instructions(family, in_order, annotator) != arm.system_prompt:
            continue
        codes = shuffle_codes(in_order, seed)
        # A sentence planted in a turn that is coded as a whole would change what the turn says.
        own = [] if arm.settings.get("turns_of") else _choose_planted(planted, asked, seed)
        if codes == in_order and not own:
            continue
        identifiers = [code.identifier for code in codes]
        planned.append(
            PlannedArm(
                annotator.variant,
                arm.task[: MAX_TASK - len(AGAIN)] + AGAIN,
                render_instructions(family, codes, annotator),
                arm.settings | {"condition": REASK, "codes": identifiers, "seed": seed, "planted": own},
                input_ids=again,
                messages=f"{arm.messages} with {own}",
            )
        )
    return planned


def _choose_planted(planted: Sequence[tuple[int, tuple[str, ...]]], asked: Collection[str], seed: int) -> list[int]:
    """A few of the invented sentences: such as carry one of the codes asked for, and such as carry none at all."""
    fitting = [key for key, codes in planted if not codes or set(codes) & set(asked)]
    chosen = random.Random(seed).sample(fitting, min(MAX_PLANTED, len(fitting)))  # noqa: S311 - a sample
    return sorted(chosen)


def _find_seed(annotator: Annotator, turn_ids: Sequence[int]) -> int:
    """A seed that review and launch come to alike."""
    named = f"{annotator.hash} {len(turn_ids)} {turn_ids[0]} {turn_ids[-1]}"
    return int(hashlib.sha256(named.encode()).hexdigest()[:12], 16) % MAX_SEED


def list_reasked(arms: Sequence[PlannedArm]) -> Mapping[str, int]:
    """How many turns are asked again, and with how many invented sentences at most."""
    again = [arm for arm in arms if arm.settings.get("condition") == REASK]
    turns = {turn for arm in again for turn in arm.input_ids or ()}
    planted = [len(arm.settings["planted"]) for arm in again]  # type: ignore[arg-type]
    return {
        "turns": len(turns),
        "planted": max(planted, default=0),
        "calls": sum(len(arm.input_ids or ()) for arm in again),
    }
