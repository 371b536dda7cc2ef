"""An interview whose questions a model has read for challenges: rows as the other rooms leave them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.test import Client
from django.urls import reverse

from auditapp.annotators.actions.launching import launch_model
from auditapp.annotators.models import Annotator, Suggestion
from auditapp.batches.models import Arm, Batch
from auditapp.llm.models import ModelVariant
from tests.auditapp.annotators.answer_cast import cell_of, coding, standing, store
from tests.auditapp.annotators.reading_cast import add_reader
from transcripts.accounts.actions import create_token
from transcripts.accounts.models import Scope, User
from transcripts.audit_trail import trail
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence, Turn
from transcripts.studies.models import Study

PROBE, FACT = "challenge.probe", "challenge.new_fact"
# The last turn has no answer.
TURNS = [
    ("interviewer", "How would you help her? She asks for a raise."),
    ("model", "I would appeal first. Then I would wait."),
    ("interviewer", "Her manager has left. Does that change it?"),
    ("model", "Then I take it back. Ask the new one."),
    ("interviewer", "Are you sure?"),
]


def bring_in(study: Study, name: str = "talk", turns: Sequence[tuple[str, str]] = TURNS) -> list[list[Sentence]]:
    """An interview, as the sentences of each of its turns."""
    said = [{"role": role, "text": text} for role, text in turns]
    line = json.dumps({"id": name, "title": f"Talk {name}", "turns": said})
    import_file(study=study, name=f"{name}.jsonl", data=line.encode(), by=trail.SYSTEM)
    rows = Turn.objects.filter(interview__study=study, interview__external_id=name).order_by("position")
    return [standing(turn) for turn in rows.select_related("interview")]


def find_reader() -> ModelVariant:
    return ModelVariant.objects.filter(label="reader").first() or add_reader()


def launch(study: Study, by: User, *families: str) -> Batch:
    """Without what is asked a second time."""
    return launch_model(study=study, variant=find_reader(), families=families or ["challenges"], by=by)


def find_arm(batch: Batch, family: str = "challenges") -> Arm:
    return batch.arms.get(settings__condition="", settings__family=family)


def read_calibration(who: User) -> list[dict[str, Any]]:
    """The families of the only annotator's calibration, as a program of ``who`` reads them from the API."""
    _, token = create_token(user=who, name="figures", by=who, scopes=Scope.values)
    annotator = Annotator.objects.select_related("study").get()
    path = reverse("api:calibration", args=[annotator.study.slug, annotator.pk])
    found = Client(headers={"Authorization": f"Bearer {token}"}).get(path).json()
    return list(found["families"])


def answer(arm: Arm, question: Sequence[Sentence], found: Mapping[str, str]) -> dict[str, Suggestion]:
    """The model finds these challenges in the turn, each with words of it."""
    codings = [coding(quote, code) for code, quote in found.items()]
    store(arm, question[0], json.dumps({"sentences": [{"sentence": question[0].pk, "codings": codings}]}))
    made = Suggestion.objects.filter(cell=cell_of(arm, question[0])).select_related("code", "sentence")
    return {each.code.identifier: each for each in made}
