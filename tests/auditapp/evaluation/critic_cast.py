"""Suggestions with and without a critic's word, and audits of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from auditapp.annotators.models import Annotator, Suggestion, TurnAnswer
from auditapp.batches.kinds import Answered
from auditapp.batches.models import Batch, Cell
from auditapp.evaluation.actions import launch_critic
from auditapp.evaluation.runner import CriticKind
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from tests.auditapp.suggestions.panel_cast import REASON, ask
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.blinding.actions import unblind_interview
from transcripts.codebook.models import Code
from transcripts.corpus.models import Interview, Sentence
from transcripts.studies.models import Study


def list_sentences(interview: Interview) -> list[Sentence]:
    """The sentences the model says, in order."""
    rows = Sentence.objects.filter(turn__interview=interview, turn__role="model", retired_by__isnull=True)
    return list(rows.select_related("turn__interview").order_by("position"))


def suggest(
    annotator: Annotator, codes: Mapping[Sentence, Collection[str]], *, rationale: str = REASON
) -> list[Suggestion]:
    """One answer for each turn of these sentences, that proposes these codes and says of the rest that none applies."""
    found = []
    for turn_id in sorted({sentence.turn_id for sentence in codes}):
        own = {sentence: named for sentence, named in codes.items() if sentence.turn_id == turn_id}
        first = next(iter(own))
        cell = ask(annotator, first)
        Cell.objects.filter(pk=cell.pk).update(state=Cell.State.DONE)
        asked = list(first.turn.sentences.order_by("pk").values_list("pk", flat=True))
        TurnAnswer.objects.create(cell=cell, annotator=annotator, outcome="valid", asked=asked)
        found += [
            Suggestion.objects.create(
                annotator=annotator,
                cell=cell,
                sentence=sentence,
                code=Code.objects.get(version=annotator.version, identifier=code),
                rationale=rationale,
                quote_start=sentence.start,
                quote_end=sentence.start + 5,
            )
            for sentence, named in own.items()
            for code in named
        ]
    return found


def add_critic(label: str = "critic", **more: str) -> ModelVariant:
    return add_model(label=label, **{"provider": "fake", "by": trail.SYSTEM, **more})  # type: ignore[arg-type]


def launch(annotator: Annotator, critic: ModelVariant, **more: object) -> Batch:
    return launch_critic(annotator=annotator, critic=critic, by=trail.SYSTEM, **more)  # type: ignore[arg-type]


def answer(batch: Batch, answers: Mapping[int, str | None]) -> dict[int, str]:
    """Store what the critic said of suggestions, by their numbers; the outcome of each."""
    cells = {cell.input_id: cell for cell in batch.cells.all()}
    said = [Answered(cells[key].pk, cells[key].arm_id, key, text, "stop", "") for key, text in answers.items()]
    outcomes = CriticKind().store_answers(batch, said)
    return {cell.input_id: outcomes[cell.pk] for cell in cells.values() if cell.pk in outcomes}


def judge(annotator: Annotator, verdicts: Mapping[Suggestion, str], *, critic: ModelVariant | None = None) -> Batch:
    """Have a critic come to these verdicts, "uphold" or "reverse"."""
    batch = launch(annotator, critic or add_critic(), again=True)
    answer(batch, {each.pk: json.dumps({"rationale": "So.", "verdict": word}) for each, word in verdicts.items()})
    return batch


def open_to(study: Study, interview: Interview, user: User) -> None:
    unblind_interview(study=study, interview=interview, by=user, where="test")
