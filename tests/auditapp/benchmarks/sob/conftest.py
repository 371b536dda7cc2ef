import json

from auditapp.batches.kinds import Answered
from auditapp.batches.models import Cell
from auditapp.benchmarks.sob.judging.kind import SobKind
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.llm.actions import add_model
from tests.support.databases import stored

TARGETS = ["women", "women", "black", "old"]


def write_texts(count=4):
    lines = [
        json.dumps({"text": f"Constructed text number {number}.", "target": TARGETS[number % len(TARGETS)]})
        for number in range(count)
    ]
    return "\n".join(lines).encode()


@stored
def dataset(study, owner):
    loaded = load_dataset(study=study, name="Texts", file_name="texts.jsonl", data=write_texts(), by=owner)
    return loaded[0]


@stored
def batch(dataset, owner):
    """Two fake models, two tasks, four texts: sixteen planned cells."""
    variants = [add_model(label=label, provider="fake", by=owner) for label in ("model a", "model b")]
    return launch_sob(dataset=dataset, variants=variants, tasks=["acceptability", "non_acceptability"], by=owner)


def answer_cells(batch, answers, *, label="model a", task="acceptability"):
    """Store ``answers`` for the cells of one arm, in the order of the texts."""
    cells = Cell.objects.filter(batch=batch, arm__variant__label=label, arm__task=task).order_by("pk")
    answered = [
        Answered(cell.pk, cell.arm_id, cell.input_id, answer, "stop", "")
        for cell, answer in zip(cells, answers, strict=False)
    ]
    SobKind().store_answers(batch, answered)
