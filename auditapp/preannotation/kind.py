"""Pre-annotation's part in the batch engine: a cell is one turn under one code family."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from django.db.models import Prefetch

from auditapp.batches.endings import PROVIDER_ERROR
from auditapp.batches.kinds import Answered
from auditapp.batches.models import Arm, Batch
from auditapp.preannotation.models import Annotator, Reading, Suggestion
from auditapp.preannotation.prompts import SentenceText, write_user_prompt
from transcripts.codebook.models import Code
from transcripts.corpus.models import Sentence, Turn
from transcripts.corpus.queries import read_questions

if TYPE_CHECKING:
    from auditapp.preannotation.answers import Reading as Understood

KIND = "preannotation"


class PreannotationKind:
    """Inputs are keys of ``Turn``."""

    name = KIND

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        turns = Turn.objects.filter(pk__in=input_ids).prefetch_related(
            Prefetch("sentences", queryset=Sentence.objects.filter(retired_by__isnull=True).order_by("start"))
        )
        questions = read_questions(turns)
        prompts: dict[int, str] = {}
        for turn in turns:
            shown = [SentenceText(each.pk, turn.text[each.start : each.end]) for each in turn.sentences.all()]
            if shown:
                prompts[turn.pk] = write_user_prompt(questions.get(turn.pk, ""), shown)
        return prompts

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        annotators = {annotator.variant_id: annotator for annotator in _read_annotators(batch)}
        arms = {arm.pk: arm for arm in batch.arms.all()}
        sentences = _read_sentences(answers)
        codes = _read_codes(arms.values(), annotators)
        outcomes: dict[int, str] = {}
        for each in answers:
            if each.answer is None:
                outcomes[each.cell_id] = PROVIDER_ERROR
                continue
            arm = arms[each.arm_id]
            annotator = annotators[arm.variant_id]
            known = codes[arm.pk]
            read = _understand(each, sentences[each.input_id], known)
            outcomes[each.cell_id] = _store(each, annotator, read, known)
        return outcomes

    def reopen(self, cell_ids: Sequence[int]) -> None:
        """Nothing: where no answer came, nothing was stored."""


def _read_annotators(batch: Batch) -> Iterable[Annotator]:
    return Annotator.objects.filter(pk__in=batch.parameters["annotators"]).select_related("version")


def _read_sentences(answers: Sequence[Answered]) -> Mapping[int, set[int]]:
    """The sentences an answer may name, by turn: those that stand, and those that stood when the machine was asked."""
    found: dict[int, set[int]] = defaultdict(set)
    turns = [each.input_id for each in answers]
    # Each of the two reads has an index of its own.
    for is_standing in (True, False):
        sentences = Sentence.objects.filter(turn_id__in=turns, retired_by__isnull=is_standing)
        for turn_id, sentence_id in sentences.values_list("turn_id", "pk"):
            found[turn_id].add(sentence_id)
    return found


def _read_codes(arms: Iterable[Arm], annotators: Mapping[int, Annotator]) -> dict[int, dict[str, int]]:
    """Per arm: the ids of the codes of its family, by identifier, of the annotator's own codebook version."""
    found: dict[int, dict[str, int]] = {}
    for arm in arms:
        codes = Code.objects.filter(version_id=annotators[arm.variant_id].version_id, family__identifier=arm.task)
        found[arm.pk] = dict(codes.values_list("identifier", "pk"))
    return found


def _understand(each: Answered, sentences: set[int], codes: Mapping[str, int]) -> Understood:
    # Brings pydantic, which the web process has no use for.
    from auditapp.preannotation.answers import read_answer

    return read_answer(each.answer or "", sentences=sentences, codes=codes.keys())


def _store(each: Answered, annotator: Annotator, read: Understood, codes: Mapping[str, int]) -> str:
    outcome = Reading.Outcome.VALID
    if read.problem:
        outcome = Reading.Outcome.INVALID
    elif read.rejected:
        outcome = Reading.Outcome.PARTIAL
    Reading.objects.create(
        cell_id=each.cell_id,
        annotator=annotator,
        outcome=outcome,
        problem=read.problem,
        accepted=len(read.proposals),
        rejected=[item._asdict() for item in read.rejected],
    )
    # The order of suggestions must not carry the machine's: shuffled per cell, the same at every showing.
    places = list(range(len(read.proposals)))
    random.Random(each.cell_id).shuffle(places)  # noqa: S311 - an order, not a secret
    Suggestion.objects.bulk_create(
        Suggestion(
            annotator=annotator,
            cell_id=each.cell_id,
            sentence_id=proposal.sentence,
            code_id=codes[proposal.code],
            rationale=proposal.rationale,
            place=place,
        )
        for proposal, place in zip(read.proposals, places, strict=True)
    )
    return str(outcome)
