"""A study whose interviews hold one word for each of four themes, and models known beforehand that are asked about it."""

from __future__ import annotations

import json
import uuid
from collections import Counter

from django.utils import timezone

from auditapp.batches.kinds import Answered, get_kind
from auditapp.batches.ledger.prompts import hash_prompt
from auditapp.batches.models import Attempt, Batch, Cell, Result
from tests.support.biased_models import KNOWN, pretend
from tests.support.obedient_model import obey
from transcripts.accounts.models import User
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview
from transcripts.studies.models import Study

WORDS = [*KNOWN, "nothing"]
PER_TURN = 5


def write_interview(name: str, *, turns: int, last: str = "") -> dict[str, object]:
    """An interview of so many answers of five sentences: one for each of four themes, and one for none. ``last`` stands
    at the end of every answer."""
    said = []
    for number in range(turns):
        told = " ".join([*(f"Sentence {number} speaks of {word} here." for word in WORDS), last]).strip()
        said += [{"role": "interviewer", "text": "And then?"}, {"role": "model", "text": told}]
    return {"id": name, "title": name, "model": "Model B", "turns": said}


def bring_in(study: Study, by: User, *, turns: int = 20, name: str = "marked", last: str = "") -> Interview:
    """Such an interview in a study."""
    line = json.dumps(write_interview(name, turns=turns, last=last))
    import_file(study=study, name=f"{name}.jsonl", data=line.encode(), by=by)
    return Interview.objects.get(study=study, external_id=name)


def answer_all(batch: Batch, part: str) -> None:
    """Let a model of ``tests.support.biased_models``, or the one that obeys, answer every call of a batch, as a worker would store
    it."""
    kind, calls = get_kind(batch.kind), Counter[str]()
    arms = {arm.pk: arm for arm in batch.arms.select_related("variant__account")}
    answered = []
    for cell in Cell.objects.filter(batch=batch, state=Cell.State.PLANNED).order_by("pk"):
        arm = arms[cell.arm_id]
        prompt = kind.write_prompts(arm, [cell.input_id]).get(cell.input_id)
        if not isinstance(prompt, str):
            continue
        key = hash_prompt(arm.system_prompt + prompt)
        calls[key] += 1
        words = _say(part, arm.system_prompt, prompt, calls[key])
        answered.append(Answered(cell.pk, cell.arm_id, cell.input_id, words, "stop", ""))
        _keep_call(cell, words)
    outcomes = kind.store_answers(batch, answered)
    for cell_id, outcome in outcomes.items():
        Cell.objects.filter(pk=cell_id).update(state=Cell.State.DONE, outcome=outcome)
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE, finished_at=timezone.now())
    batch.refresh_from_db()


def _say(part: str, instructions: str, prompt: str, time: int) -> str:
    return obey(instructions, prompt).words if part == "obeying" else pretend(part, instructions, prompt, time)


def _keep_call(cell: Cell, words: str) -> None:
    now = timezone.now()
    attempt = Attempt.objects.create(
        cell=cell,
        arm=cell.arm,
        fence=1,
        request_id=uuid.uuid4(),
        runner="x",
        written_at=now,
        done_at=now,
        end=Attempt.End.ANSWERED,
    )
    Result.objects.create(cell=cell, attempt=attempt, answer=words, stored_at=now)
