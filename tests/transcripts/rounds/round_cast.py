"""Several interviews, and short ways to deal them out in tests."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

from transcripts.accounts.models import User
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence
from transcripts.projects.models import Project
from transcripts.rounds import actions
from transcripts.rounds.models import Assignment, Round
from transcripts.rounds.pure.allocation import fingerprint

TURNS = [
    {"role": "interviewer", "text": "Does background matter?"},
    {"role": "model", "text": "It depends. Ask the person. It never settles the matter."},
]


def bring_in(project: Project, by: User, models: list[str]) -> list[Interview]:
    """An interview for each label, of four sentences, three of them the model's."""
    lines = [
        json.dumps({"id": f"r{number}", "title": f"Talk {number}", "model": label, "turns": TURNS})
        for number, label in enumerate(models, 1)
    ]
    import_file(project=project, name="talks.jsonl", data="\n".join(lines).encode(), by=by)
    return list(project.interviews.filter(external_id__startswith="r").order_by("pk"))


def answers(interview: Interview) -> list[Sentence]:
    """What the model says in an interview."""
    rows = Sentence.objects.filter(turn__interview=interview, turn__role="model", retired_by__isnull=True)
    return list(rows.select_related("turn__interview__project").order_by("position"))


def fields(*coders: User, **others: Any) -> dict[str, Any]:
    """What a lead enters for a round: the keywords of ``plan_round``."""
    values: dict[str, Any] = {
        "name": "First pass",
        "instructions": "",
        "overlap_percent": 0,
        "overlap_readers": 2,
        "seed": 1,
        "coder_ids": [coder.pk for coder in coders],
        "models": [],
        "interview_ids": [],
        "drawn": None,
        **others,
    }
    given = {name: values.pop(name) for name in ("coder_ids", "models", "interview_ids", "drawn")}
    return {**given, "planned": Round(**values)}


def open_round(
    project: Project, by: User, *coders: User, idempotency_key: UUID | None = None, **others: object
) -> Round:
    """Deal the study's interviews out to ``coders`` and open the round."""
    given = fields(*coders, **others)
    _, allocation = actions.plan_round(project=project, **given)
    return actions.open_round(
        project=project,
        **given,
        plan_name=fingerprint(allocation),
        idempotency_key=idempotency_key or uuid4(),
        by=by,
    )


def find_assignment(round_: Round, interview: Interview, coder: User) -> Assignment:
    return Assignment.objects.select_related("round", "interview", "coder").get(
        round=round_, interview=interview, coder=coder, withdrawn_at__isnull=True
    )
