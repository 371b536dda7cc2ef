"""Parsing responses about turns into what is stored of them: the same for every kind of batch that asks about turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from auditapp.batches.kinds import Answered
from auditapp.batches.models import Arm, Batch
from auditapp.preannotation.annotators.pure.answers import ParsedAnswer, Proposal, parse_response
from auditapp.preannotation.annotators.pure.injection import find_instructions
from auditapp.preannotation.annotators.pure.prompts import asks_for_level
from auditapp.preannotation.annotators.runner.render_prompts import AskedTurn, find_prompt_version, read_asked_turns
from auditapp.preannotation.models import Annotator, CheckAnswer, Suggestion, Understood
from transcripts.codebook.models import Code

Outcome = Understood.Outcome


class ParsedResponse(NamedTuple):
    """What one response says. ``proposals`` are suggestions that are not stored yet.

    ``planted``: identifiers of codes by the key of a planted sentence. ``condition`` is the arm's: empty where the answer
    is one for the desk.
    """

    cell_id: int
    annotator: Annotator
    condition: str
    proposals: list[Suggestion]
    planted: dict[int, list[str]]
    asked: list[int]
    missing: list[int]
    rejected: list[dict[str, object]]
    problem: str
    outcome: Outcome
    flags: Sequence[str] = ()


def parse_responses(batch: Batch, answers: Sequence[Answered]) -> Iterator[ParsedResponse]:
    """Each answer that came, parsed. Writes nothing."""
    by_arm: dict[int, list[Answered]] = defaultdict(list)
    for each in answers:
        if each.answer is not None:
            by_arm[each.arm_id].append(each)
    arms = list(batch.arms.filter(pk__in=by_arm))
    keys = {*batch.parameters.get("annotators", ()), *(arm.settings.get("annotator") for arm in arms)}
    annotators = list(Annotator.objects.filter(pk__in=keys - {None}).select_related("version"))
    # Several arms ask about one turn, and looking through it is slow.
    find_flags = cache(find_instructions)
    for arm in arms:
        annotator = _find_annotator(arm, annotators)
        codes = read_codes(arm, annotator)
        turns = read_asked_turns(arm, [each.input_id for each in by_arm[arm.pk]])
        for each in by_arm[arm.pk]:
            turn = turns[each.input_id]
            flags = find_flags(f"{turn.question}\n\n{turn.text}")
            yield _parse(each, arm, annotator, codes, turn)._replace(flags=flags)


def write_check_answer(each: ParsedResponse) -> CheckAnswer:
    """The answer as one that nobody is shown at the desk; not stored yet."""
    picks: dict[str, list[str]] = {str(number): [] for number in each.asked if number not in each.missing}
    for proposal in each.proposals:
        picks.setdefault(str(proposal.sentence_id), []).append(proposal.code.identifier)
    return CheckAnswer(
        cell_id=each.cell_id,
        annotator=each.annotator,
        condition=each.condition,
        picks=picks,
        planted={str(key): codes for key, codes in each.planted.items()},
        outcome=each.outcome,
        problem=each.problem,
        rejected=each.rejected,
        asked=each.asked,
        missing=each.missing,
    )


def _find_annotator(arm: Arm, annotators: Iterable[Annotator]) -> Annotator:
    """The arm's annotator; of batches that did not say which, the one with its model."""
    key = arm.settings.get("annotator")
    return next(each for each in annotators if (each.pk == key if key else each.variant_id == arm.variant_id))


def read_codes(arm: Arm, annotator: Annotator) -> dict[str, Code]:
    """The codes an answer of this arm may name, by the name they had in its prompt: of the annotator's own version."""
    codes = Code.objects.filter(version_id=annotator.version_id)
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
) -> ParsedResponse:
    parsed = parse_response(
        each.answer or "",
        sentences=turn.texts,
        codes=codes.keys(),
        prompt_version=find_prompt_version(arm),
        reads_latent=asks_for_level(arm.system_prompt),
        finish_reason=each.finish_reason,
    )
    answered = turn.texts.keys() - set(parsed.missing)
    asked = turn.find_asked(answered)
    missing = [number for number in asked if number not in answered]
    return ParsedResponse(
        cell_id=each.cell_id,
        annotator=annotator,
        condition=arm.settings.get("condition") or "",
        proposals=[
            _make_suggestion(proposal, each.cell_id, annotator, codes[proposal.code], turn)
            for proposal in parsed.proposals
            if proposal.sentence in turn.spans
        ],
        planted=_list_planted(parsed, turn, codes, answered),
        asked=asked,
        missing=missing,
        rejected=parsed.rejected,
        problem=parsed.problem,
        outcome=_choose_outcome(parsed, is_whole=not missing and turn.planted.keys() <= answered),
    )


def _make_suggestion(proposal: Proposal, cell_id: int, annotator: Annotator, code: Code, turn: AskedTurn) -> Suggestion:
    quote = turn.find_evidence(proposal.sentence, proposal.quote) if proposal.quote else (None, None)
    return Suggestion(
        annotator=annotator,
        cell_id=cell_id,
        sentence_id=proposal.sentence,
        code=code,
        level=proposal.level,
        rationale=proposal.rationale,
        quote_start=quote[0],
        quote_end=quote[1],
    )


def _list_planted(
    parsed: ParsedAnswer, turn: AskedTurn, codes: Mapping[str, Code], answered: set[int]
) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {key: [] for number, key in turn.planted.items() if number in answered}
    for proposal in parsed.proposals:
        if proposal.sentence in turn.planted:
            found[turn.planted[proposal.sentence]].append(codes[proposal.code].identifier)
    return found


def _choose_outcome(parsed: ParsedAnswer, *, is_whole: bool) -> Outcome:
    if parsed.problem:
        return Outcome.INVALID
    return Outcome.VALID if is_whole and not parsed.rejected else Outcome.PARTIAL
