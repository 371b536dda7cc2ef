"""From answers about turns to what can be stored of them: the same for every kind of batch that asks about turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from auditapp.batches.kinds import Answered
from auditapp.batches.models import Arm, Batch
from auditapp.preannotation.annotators.pure.answers import Reading as ReadAnswer
from auditapp.preannotation.annotators.pure.answers import Rejected, read_answer
from auditapp.preannotation.annotators.pure.injection import find_instructions
from auditapp.preannotation.annotators.pure.prompts import asks_for_level
from auditapp.preannotation.annotators.runner.render_prompts import AskedTurn, find_prompt_version, read_sentences
from auditapp.preannotation.models import Annotator, CheckAnswer, Understood
from transcripts.codebook.models import Code

Outcome = Understood.Outcome


class Placed(NamedTuple):
    """A code for a sentence of the study, its evidence as a place in the turn's own text."""

    sentence: int
    code: str
    code_id: int
    rationale: str
    level: str
    quote: tuple[int, int] | None


class UnderstoodAnswer(NamedTuple):
    """What one answer says of sentences of the study, and of planted ones (identifiers of codes by their key).

    ``condition`` is the arm's: empty where the answer is one for the desk.
    """

    cell_id: int
    annotator: Annotator
    condition: str
    proposals: list[Placed]
    planted: dict[int, list[str]]
    asked: list[int]
    missing: list[int]
    rejected: list[Rejected]
    problem: str
    outcome: Outcome
    flags: Sequence[str] = ()


class ToldCodes(NamedTuple):
    """The codes of an arm: identifier by the name it was told under, and key by identifier."""

    identifiers: Mapping[str, str]
    keys: Mapping[str, int]


def understand_answers(batch: Batch, answers: Sequence[Answered]) -> Iterator[UnderstoodAnswer]:
    """What the answers say, those left out that never came. Writes nothing."""
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
        codes = read_told_codes(arm, annotator)
        turns = read_sentences(arm, [each.input_id for each in by_arm[arm.pk]])
        for each in by_arm[arm.pk]:
            turn = turns[each.input_id]
            flags = find_flags(f"{turn.question}\n\n{turn.text}")
            yield _understand(each, arm, annotator, codes, turn)._replace(flags=flags)


def write_check_answer(each: UnderstoodAnswer) -> CheckAnswer:
    """The answer as one that nobody is shown at the desk; not stored yet."""
    picks: dict[str, list[str]] = {str(number): [] for number in each.asked if number not in each.missing}
    for proposal in each.proposals:
        picks.setdefault(str(proposal.sentence), []).append(proposal.code)
    return CheckAnswer(
        cell_id=each.cell_id,
        annotator=each.annotator,
        condition=each.condition,
        picks=picks,
        planted={str(key): codes for key, codes in each.planted.items()},
        outcome=each.outcome,
        problem=each.problem,
        rejected=[item._asdict() for item in each.rejected],
        asked=each.asked,
        missing=each.missing,
    )


def _find_annotator(arm: Arm, annotators: Iterable[Annotator]) -> Annotator:
    """The arm's annotator; of batches that did not say which, the one with its model."""
    key = arm.settings.get("annotator")
    return next(each for each in annotators if (each.pk == key if key else each.variant_id == arm.variant_id))


def read_told_codes(arm: Arm, annotator: Annotator) -> ToldCodes:
    """The codes an answer of this arm may name, of the annotator's own codebook version."""
    codes = Code.objects.filter(version_id=annotator.version_id)
    chosen = arm.settings.get("codes")
    if chosen is None:
        codes = codes.filter(family__identifier=arm.settings.get("family") or arm.task)
    else:
        codes = codes.filter(identifier__in=chosen)
    keys = dict(codes.values_list("identifier", "pk"))
    changed = {told: own for told, own in (arm.settings.get("names") or {}).items() if own in keys}
    same = {own: own for own in keys if own not in changed.values()}
    return ToldCodes(same | changed, keys)


def _understand(each: Answered, arm: Arm, annotator: Annotator, codes: ToldCodes, turn: AskedTurn) -> UnderstoodAnswer:
    read = read_answer(
        each.answer or "",
        sentences=turn.texts,
        codes=codes.identifiers.keys(),
        prompt_version=find_prompt_version(arm),
        reads_latent=asks_for_level(arm.system_prompt),
        finish_reason=each.finish_reason,
    )
    answered = turn.texts.keys() - set(read.missing)
    asked = turn.find_asked(answered)
    missing = [number for number in asked if number not in answered]
    return UnderstoodAnswer(
        cell_id=each.cell_id,
        annotator=annotator,
        condition=arm.settings.get("condition") or "",
        proposals=[
            Placed(
                proposal.sentence,
                codes.identifiers[proposal.code],
                codes.keys[codes.identifiers[proposal.code]],
                proposal.rationale,
                proposal.level,
                turn.find_evidence(proposal.sentence, proposal.quote) if proposal.quote else None,
            )
            for proposal in read.proposals
            if proposal.sentence in turn.spans
        ],
        planted=_list_planted(read, turn, codes, answered),
        asked=asked,
        missing=missing,
        rejected=read.rejected,
        problem=read.problem,
        outcome=_choose_outcome(read, is_whole=not missing and turn.planted.keys() <= answered),
    )


def _list_planted(read: ReadAnswer, turn: AskedTurn, codes: ToldCodes, answered: set[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {key: [] for number, key in turn.planted.items() if number in answered}
    for proposal in read.proposals:
        if proposal.sentence in turn.planted:
            found[turn.planted[proposal.sentence]].append(codes.identifiers[proposal.code])
    return found


def _choose_outcome(read: ReadAnswer, *, is_whole: bool) -> Outcome:
    if read.problem:
        return Outcome.INVALID
    return Outcome.VALID if is_whole and not read.rejected else Outcome.PARTIAL
