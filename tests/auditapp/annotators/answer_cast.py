"""Questions about turns and what is answered to them, as the engine hands both to the kind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from auditapp.annotators.runner.turns import PreannotationKind
from auditapp.batches.kinds import Answered
from auditapp.batches.models import Arm, Cell
from tests.support.obedient_model import MATERIAL
from transcripts.audit_trail import trail
from transcripts.corpus.actions import import_file
from transcripts.corpus.consent import save_redaction
from transcripts.corpus.models import RedactionList, Sentence, Turn
from transcripts.corpus.pure.redacting import Entry
from transcripts.studies.models import Study

KIND = PreannotationKind()


def cell_of(arm: Arm, sentence: Sentence) -> Cell:
    return Cell.objects.get(arm=arm, input_id=sentence.turn_id)


def store(arm: Arm, sentence: Sentence, answer: str | None, finish_reason: str = "stop") -> str:
    cell = cell_of(arm, sentence)
    answered = Answered(cell.pk, arm.pk, cell.input_id, answer, finish_reason, "")
    return KIND.store_answers(arm.batch, [answered])[cell.pk]


def standing(turn: Turn) -> list[Sentence]:
    return list(Sentence.objects.select_related("turn").filter(turn=turn, retired_by__isnull=True).order_by("start"))


def say(sentences: list[Sentence], **codings: list[dict[str, str]]) -> str:
    """An answer with an entry for every sentence; ``of_0`` names the codings of the first."""
    entries = [{"sentence": each.pk, "codings": codings.get(f"of_{place}", [])} for place, each in enumerate(sentences)]
    return json.dumps({"sentences": entries})


def coding(quote: str, code: str = "theme.balance", **more: str) -> dict[str, str]:
    return {"rationale": "It weighs.", "quote": quote, "code": code, **more}


def read_material(message: str) -> Mapping[str, Any]:
    found = MATERIAL.fullmatch(message)
    assert found is not None
    material: Mapping[str, Any] = json.loads(found[2])
    return material


def redact(study: Study, *pairs: tuple[str, str]) -> RedactionList:
    """A list of the study's, its number one above the last."""
    entries = [Entry(*pair) for pair in pairs]
    return save_redaction(study=study, entries=entries, reason="To test.", by=trail.SYSTEM, based_on=0)


def import_answer(study: Study, text: str, name: str = "own") -> Turn:
    """An interview of one question and one answer."""
    turns = [{"role": "interviewer", "text": "What did Anna say?"}, {"role": "model", "text": text}]
    line = json.dumps({"id": name, "title": name, "turns": turns})
    import_file(study=study, name=f"{name}.jsonl", data=line.encode(), by=trail.SYSTEM)
    return Turn.objects.get(interview__study=study, interview__external_id=name, role="model")
