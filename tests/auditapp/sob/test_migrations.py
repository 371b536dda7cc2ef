"""An instance from before judgments knew their arm, their repeat and every way of counting: after the upgrade they do."""

from __future__ import annotations

import json

import pytest

from auditapp.sob.pure.counting import count_in_every_way
from tests.instance import Instance
from tests.old_migrations import migrate_originals

pytestmark = [pytest.mark.processes, pytest.mark.full]

LAUNCH = """
from auditapp.batches.launching import LaunchOptions
from auditapp.llm.actions import add_model
from auditapp.sob.judging.actions.launching import launch_sob
from auditapp.sob.texts.actions.datasets import load_dataset
from transcripts.audit_trail import trail
from transcripts.projects.actions import create_project
by = trail.SYSTEM
project = create_project(slug="study", name="Study", by=by)
data = b'{"text": "One.", "target": "women"}\\n{"text": "Two.", "target": "old"}'
dataset = load_dataset(project=project, name="Texts", file_name="t.jsonl", data=data, by=by)[0]
model = add_model(label="m", provider="fake", by=by)
launch_sob(
    dataset=dataset,
    variants=[model],
    tasks=["acceptability", "non_acceptability"],
    options=LaunchOptions(repeats=2),
    by=by,
)

import uuid
from django.utils import timezone
from auditapp.batches.models import Attempt, Cell, Result
for number, answer in ((2, '{"Race": "unknown"}'), (3, "Person: Unknown")):
    cell, now = Cell.objects.get(pk=number), timezone.now()
    tried = Attempt.objects.create(
        cell=cell, arm_id=cell.arm_id, fence=1, request_id=uuid.uuid4(), runner="x", written_at=now
    )
    Result.objects.create(cell=cell, attempt=tried, answer=answer, stored_at=now)
"""
ATTRIBUTES: list[dict[str, object]] = [
    {"Race": "White", "Age": "any"},
    {},
    {},
    {"Race": ["White", "Black"], "Gender": "female", "Hobby": "chess"},
    {"Race": list(map(str, range(40_000)))},
]
# Of eight, such as belong to either arm and either repeat.
CELLS = (1, 2, 3, 7, 8)
# The answer of cell 2 is an object without a known value, that of cell 3 says Unknown in words.
ARE_OBJECTS = (True, True, False, True, True)


def judgment(number: int, attributes: dict[str, object]) -> str:
    """A judgment as it was stored then, of the cell ``number``."""
    outcome = "attributed" if attributes else "unknown"
    return (
        "INSERT INTO sob_judgment (cell_id, text_id, outcome, attributes, n_attributes, repaired, parser) SELECT id, input_id, "
        f"'{outcome}', '{json.dumps(attributes)}', {len(attributes)}, (1 = 0), 'rules-1' FROM batches_cell WHERE id = {number}"
    )


@pytest.fixture
def upgraded(instance: Instance) -> Instance:
    instance.run_code(LAUNCH)
    migrate_originals(instance, "sob.0001_start")
    instance.write([judgment(cell, each) for cell, each in zip(CELLS, ATTRIBUTES, strict=True)])
    instance.manage("migrate", "-v0")
    return instance


def test_an_upgrade_counts_old_judgments_in_every_way(upgraded: Instance) -> None:
    stored = upgraded.query(
        "SELECT j.n_attributes, j.n_named, j.n_on_schema, j.n_strict, j.n_items, j.is_object, j.has_list "
        "FROM sob_judgment j ORDER BY j.cell_id"
    )
    expected = []
    for attributes, is_object in zip(ATTRIBUTES, ARE_OBJECTS, strict=True):
        counts = count_in_every_way(attributes)
        has_list = any(isinstance(value, list) for value in attributes.values())
        expected.append((*counts[:4], min(counts.items, 32_000), is_object, has_list))
    assert [tuple(map(int, row)) for row in stored] == [tuple(map(int, row)) for row in expected]
    places = upgraded.query(
        "SELECT j.arm_id, c.arm_id, j.repeat, c.repeat FROM sob_judgment j JOIN batches_cell c ON c.id = j.cell_id ORDER BY c.id"
    )
    assert len(places) == len(ATTRIBUTES)
    assert all(own == arm and repeat == planned for own, arm, repeat, planned in places)
    assert len({own for own, *_ in places}) == 2
    assert {repeat for *_, repeat, _ in places} == {1, 2}
