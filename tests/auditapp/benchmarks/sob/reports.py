"""A batch of which every kind of answer was stored, and its current interpretations one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from django.utils import timezone

from auditapp.batches.kinds import Answered
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.benchmarks.sob.judging.kind import (
    SobKind,
    add_interpretations,
    find_current_interpretations,
    lock_judgments,
    make_interpretation,
)
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.models import Dataset, Interpretation, Judgment, Text
from auditapp.benchmarks.sob.pure.answer_words import Outcome
from auditapp.benchmarks.sob.pure.parsing import parse_answer
from auditapp.benchmarks.sob.pure.scores import Observation
from auditapp.llm.actions import add_model
from transcripts.accounts.models import User

ANSWERS = [
    '{"Race": "White", "Age": "35", "Religion": "Christian"}',
    "Person: Unknown",
    "```json\n{'Race': 'Latina', 'Gender': 'female', 'Hobby': 'chess',}\n```",
    "I cannot help with that.",
    '{"Race": ["White", "Black"], "Age": 35}',
    "{}",
    "It depends on whom you ask.",
    None,
    '{"Race": "any", "Nationality": {"of birth": "Mexican", "now": "American"}}',
    '{"Ethnicity": "Hispanic", "Race": "hispanic ", "Gender identity": "woman", "Disability status": "none"}',
]
VERDICTS = ["Non-acceptable. It demeans.", "Acceptable.", "Uncertain", "", "I cannot help with that."]


def launch(dataset: Dataset, by: User, *, repeats: int = 1) -> Batch:
    """Two variants of one model, without and with reasoning, and a third; both tasks."""
    variants = [
        add_model(label="a-I", provider="fake", model="a", reasoning="off", by=by),
        add_model(label="a-R", provider="fake", model="a", reasoning="on", by=by),
        add_model(label="b", provider="fake", model="b", by=by),
    ]
    tasks = ["acceptability", "non_acceptability"]
    return launch_sob(dataset=dataset, variants=variants, tasks=tasks, options=LaunchOptions(repeats=repeats), by=by)


def answer_all(batch: Batch, answers: Sequence[str | None] = tuple(ANSWERS)) -> None:
    """Store an answer for each cell, in turn."""
    cells = Cell.objects.filter(batch=batch, arm__task__endswith="acceptability").order_by("pk")
    store(batch, [(cell, answers[number % len(answers)]) for number, cell in enumerate(cells)])


def store(batch: Batch, pairs: Sequence[tuple[Cell, str | None]]) -> None:
    answered = [Answered(cell.pk, cell.arm_id, cell.input_id, answer, "stop", "") for cell, answer in pairs]
    SobKind().store_answers(batch, answered)
    Cell.objects.filter(pk__in=[cell.pk for cell, _ in pairs]).update(state=Cell.State.DONE)


def add_arm(batch: Batch, task: str, *, like: Arm, instrument: str = "paper") -> list[Cell]:
    """One more arm with its cells."""
    arm = Arm.objects.create(
        batch=batch,
        variant=like.variant,
        task=task,
        system_prompt=instrument,
        prompt_hash=instrument.ljust(64, "0"),
        settings={"instrument": instrument},
    )
    texts = Cell.objects.filter(arm=like, repeat=1).order_by("pk").values_list("input_id", flat=True)
    return [Cell.objects.create(batch=batch, arm=arm, input_id=text) for text in texts]


def read_again(judgment: Judgment, by: User, answer: str) -> Interpretation:
    """A person reads an answer as ``answer``."""
    locked = lock_judgments([judgment.pk])[judgment.pk]
    current = find_current_interpretations([judgment.pk])
    interpretation = make_interpretation(
        locked,
        current.get(judgment.pk),
        parse_answer(answer),
        reader="person",
        read_by=by,
        read_by_name="x",
        parser="x",
    )
    add_interpretations([interpretation], current)
    return interpretation


def observe(batch: Batch) -> Iterator[Observation]:
    """Every current interpretation, found without the queries under test."""
    for judgment in Judgment.objects.filter(cell__batch=batch).select_related("arm__variant", "text").order_by("pk"):
        current = Interpretation.objects.filter(judgment=judgment).order_by("number").last() or judgment
        text: Text = judgment.text
        yield Observation(
            model=judgment.arm.variant.label,
            task=judgment.arm.task,
            item=text.pk,
            target=text.target,
            outcome=Outcome(current.outcome),
            attributes=current.attributes,
            secondary=tuple(filter(None, (text.target_secondary, text.target_tertiary))),
            repeat=judgment.repeat,
            is_object=current.is_object,
            verdict=current.verdict,
            reader=current.reader if isinstance(current, Interpretation) else "rules",
            repaired=current.repaired,
        )


def write_responses(batch: Batch, answers: Sequence[str | None] = tuple(ANSWERS)) -> str:
    """What ``answer_all`` stored, as a file that ``sob report --responses`` takes."""
    cells = Cell.objects.filter(batch=batch, arm__task__endswith="acceptability").select_related("arm__variant")
    texts = Text.objects.in_bulk([cell.input_id for cell in cells])
    lines = []
    for number, cell in enumerate(cells.order_by("pk")):
        text, answer = texts[cell.input_id], answers[number % len(answers)]
        line = {
            "model": cell.arm.variant.label,
            "task": cell.arm.task,
            "item": text.pk,
            "target": text.target,
            "secondary": list(filter(None, (text.target_secondary, text.target_tertiary))),
            "repeat": cell.repeat,
        }
        if answer is None:
            line |= {"outcome": "provider_error", "attributes": {}}
        else:
            line |= {"raw": answer}
        lines.append(json.dumps(line))
    return "\n".join(lines)


def finish(batch: Batch) -> None:
    """The batch is done."""
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE, finished_at=timezone.now())
    batch.refresh_from_db()
