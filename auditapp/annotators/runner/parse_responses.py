"""Pre-annotation's part in the batch engine, where a cell is one turn under one code family, or one code; and parsing responses
about turns into what is stored of them, the same for every kind of batch that asks about turns.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from auditapp.annotators.models import CHECK_KIND, KIND, Annotator, CheckAnswer, Reading, Suggestion, Understood
from auditapp.annotators.pure.answer_objects import read_numbers, write_answer_schema
from auditapp.annotators.pure.answers import ParsedAnswer, Proposal, parse_response
from auditapp.annotators.pure.injection import find_instructions
from auditapp.annotators.pure.prompts import asks_for_enactment, asks_for_level
from auditapp.annotators.runner.render_prompts import (
    AskedTurn,
    find_prompt_version,
    read_asked_turns,
    render_turn_prompts,
)
from auditapp.batches.kinds import ANSWER_SCHEMA, Answered
from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import Arm, Batch
from auditapp.llm.models import Capabilities
from auditapp.llm.pure.own_words import Judged
from transcripts.codebook.models import Code

Outcome = Understood.Outcome


def parse_responses(
    batch: Batch, answers: Sequence[Answered]
) -> Iterator[tuple[Reading | CheckAnswer, list[Suggestion]]]:
    """For each answer that came, the row to store and its suggestions. Writes nothing.

    The answer of an arm with a condition is a ``CheckAnswer``, which is not shown at the desk and has none.
    """
    by_arm: dict[int, list[Answered]] = defaultdict(list)
    for each in answers:
        if each.answer is not None:
            by_arm[each.arm_id].append(each)
    arms = list(batch.arms.filter(pk__in=by_arm))
    keys = {*batch.parameters.get("annotators", ()), *(arm.settings.get("annotator") for arm in arms)}
    annotators = list(Annotator.objects.filter(pk__in=keys - {None}).select_related("version"))
    # Several arms ask about one turn, and searching it is slow.
    find_flags = cache(find_instructions)
    for arm in arms:
        annotator = _find_annotator(arm, annotators)
        codes = read_codes(arm, annotator)
        turns = read_asked_turns(arm, [each.input_id for each in by_arm[arm.pk]])
        for each in by_arm[arm.pk]:
            turn = turns[each.input_id]
            row, suggestions = _parse(each, arm, annotator, codes, turn)
            if isinstance(row, Reading):
                sent = (f"{turn.question}\n\n{turn.text}", *(text for _, text in turn.earlier))
                row.flags = list(dict.fromkeys(flag for text in sent for flag in find_flags(text)))
            yield row, suggestions


def _find_annotator(arm: Arm, annotators: Iterable[Annotator]) -> Annotator:
    """The arm's annotator; of batches that did not say which, the one with its model."""
    key = arm.settings.get("annotator")
    return next(each for each in annotators if (each.pk == key if key else each.variant_id == arm.variant_id))


def read_codes(arm: Arm, annotator: Annotator) -> dict[str, Code]:
    """The codes an answer of this arm may name, by the name they had in its prompt: of the annotator's own version."""
    codes = Code.objects.filter(version_id=annotator.version_id).select_related("family")
    chosen = arm.settings.get("codes")
    if chosen is None:
        codes = codes.filter(family__identifier=arm.settings.get("family") or arm.task)
    else:
        codes = codes.filter(identifier__in=chosen)
    found = {code.identifier: code for code in codes}
    renamed = {name: found[own] for name, own in (arm.settings.get("names") or {}).items() if own in found}
    return {own: code for own, code in found.items() if code not in renamed.values()} | renamed


def _parse(
    each: Answered, arm: Arm, annotator: Annotator, codes: Mapping[str, Code], turn: AskedTurn
) -> tuple[Reading | CheckAnswer, list[Suggestion]]:
    parsed = parse_response(
        each.answer or "",
        sentences=turn.texts,
        codes=codes.keys(),
        prompt_version=find_prompt_version(arm),
        reads_latent=asks_for_level(arm.system_prompt),
        reads_enactment=asks_for_enactment(arm.system_prompt),
        finish_reason=each.finish_reason,
        once=[name for name, code in codes.items() if code.family.once_per_answer],
        planted=turn.planted,
        questions={name: _list_offered(code) for name, code in codes.items() if code.attributes}
        if arm.settings.get("questions")
        else {},
        judged=Judged((turn.sent_question, turn.copy.text, *(text for _, text in turn.earlier))),
    )
    answered = turn.texts.keys() - set(parsed.missing)
    asked = turn.find_asked(answered)
    missing = [number for number in asked if number not in answered]
    suggestions = [
        _make_suggestion(proposal, each.cell_id, annotator, codes[proposal.code], turn)
        for proposal in parsed.proposals
        if proposal.sentence in turn.spans
    ]
    common: dict[str, Any] = {
        "cell_id": each.cell_id,
        "annotator": annotator,
        "outcome": _choose_outcome(parsed, is_whole=not missing and turn.planted.keys() <= answered),
        "problem": parsed.problem,
        "rejected": parsed.rejected,
        "asked": asked,
        "missing": missing,
    }
    condition = arm.settings.get("condition") or ""
    if not condition:
        return Reading(**common, accepted=len(suggestions)), suggestions
    picks: dict[str, list[str]] = {str(number): [] for number in asked if number not in missing}
    for suggestion in suggestions:
        picks.setdefault(str(suggestion.sentence_id), []).append(suggestion.code.identifier)
    planted = _list_planted(parsed, turn, codes, answered)
    return CheckAnswer(**common, condition=condition, picks=picks, planted=planted), []


def _make_suggestion(proposal: Proposal, cell_id: int, annotator: Annotator, code: Code, turn: AskedTurn) -> Suggestion:
    quote = turn.find_evidence(proposal.sentence, proposal.quote) if proposal.quote else (None, None)
    return Suggestion(
        annotator=annotator,
        cell_id=cell_id,
        sentence_id=proposal.sentence,
        code=code,
        level=proposal.level,
        enactment=proposal.enactment,
        answers=dict(proposal.answers),
        rationale=proposal.rationale,
        quote_start=quote[0],
        quote_end=quote[1],
    )


def _list_offered(code: Code) -> dict[str, list[str]]:
    """The answers that the code's own questions offer."""
    return {question["key"]: question["choices"] for question in code.attributes if question["kind"] == "choice"}


def _list_planted(
    parsed: ParsedAnswer, turn: AskedTurn, codes: Mapping[str, Code], answered: set[int]
) -> dict[str, list[str]]:
    """By the key of each planted sentence that has an answer, the identifiers of its codes."""
    found: dict[str, list[str]] = {str(key): [] for number, key in turn.planted.items() if number in answered}
    for proposal in parsed.proposals:
        if proposal.sentence in turn.planted:
            found[str(turn.planted[proposal.sentence])].append(codes[proposal.code].identifier)
    return found


def _choose_outcome(parsed: ParsedAnswer, *, is_whole: bool) -> Outcome:
    if parsed.problem:
        return Outcome.INVALID
    return Outcome.VALID if is_whole and not parsed.rejected else Outcome.PARTIAL


class PreannotationKind:
    """Inputs are keys of ``Turn``. Answers of an arm with a condition (asked again) are kept from the desk."""

    name = KIND

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        return render_turn_prompts(arm, input_ids)

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        parsed = list(parse_responses(batch, answers))
        Reading.objects.bulk_create(row for row, _ in parsed if isinstance(row, Reading))
        Suggestion.objects.bulk_create(
            suggestion for row, suggestions in parsed for suggestion in _shuffle(row.cell_id, suggestions)
        )
        CheckAnswer.objects.bulk_create(row for row, _ in parsed if isinstance(row, CheckAnswer))
        outcomes = {each.cell_id: PROVIDER_ERROR for each in answers if each.answer is None}
        return outcomes | {row.cell_id: str(row.outcome) for row, _ in parsed}

    def reopen(self, cell_ids: Sequence[int]) -> None:
        """Nothing: where no answer came, nothing was stored."""


def write_turn_schema(arm: Arm, prompt: str) -> dict[str, Any]:
    """The schema of the answer about one turn. Reads arm.settings and its instructions."""
    is_ordered = arm.settings[ANSWER_SCHEMA] == Capabilities.AnswerSchema.FULL
    return write_answer_schema(
        arm.system_prompt,
        arm.settings["codes"],
        read_numbers(prompt),
        is_ordered=is_ordered,
        questions=arm.settings.get("questions"),
    )


class CheckKind(PreannotationKind):
    """Questions of a check. Every arm has a condition, so that no answer is ever a suggestion."""

    name = CHECK_KIND


def _shuffle(cell_id: int, suggestions: Sequence[Suggestion]) -> Iterator[Suggestion]:
    """The suggestions at shuffled places: the order must not carry the machine's, and is the same at every showing."""
    places = list(range(len(suggestions)))
    random.Random(cell_id).shuffle(places)  # noqa: S311 - an order, not a secret
    for suggestion, place in zip(suggestions, places, strict=True):
        suggestion.place = place
        yield suggestion
