"""Judgments from before the columns: their arm and repeat are the cell's, their counts follow from their attributes.

Whether one that says Unknown was an object only its answer tells.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import OuterRef, Subquery

from auditapp.sob.pure.counting import count_in_every_way
from auditapp.sob.pure.parsing import parse_answer

GROUP = 1000


def fill_in(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    judgments = apps.get_model("sob", "Judgment").objects.all()
    cells = apps.get_model("batches", "Cell").objects.filter(pk=OuterRef("pk"))
    judgments.update(arm=Subquery(cells.values("arm")[:1]), repeat=Subquery(cells.values("repeat")[:1]))
    group: list[Any] = []
    for judgment in judgments.filter(outcome="attributed").order_by("pk").iterator(GROUP):
        counts = count_in_every_way(judgment.attributes)
        judgment.n_named, judgment.n_on_schema, judgment.n_strict = counts.named, counts.on_schema, counts.strict
        judgment.n_items = min(counts.items, 32_000)
        judgment.is_object = True
        judgment.has_list = any(isinstance(value, list) for value in judgment.attributes.values())
        group.append(judgment)
        if len(group) == GROUP:
            store(judgments, group)
            group = []
    store(judgments, group)
    mark_empty_objects(apps, judgments)


def store(judgments: Any, group: list[Any]) -> None:
    fields = ["n_named", "n_on_schema", "n_strict", "n_items", "is_object", "has_list"]
    judgments.bulk_update(group, fields, batch_size=200)


def mark_empty_objects(apps: StateApps, judgments: Any) -> None:
    unknown = apps.get_model("batches", "Result").objects.filter(cell__judgment__outcome="unknown")
    answers = unknown.values_list("cell_id", "answer").iterator(GROUP)
    keys = [cell_id for cell_id, answer in answers if parse_answer(answer).is_object]
    for start in range(0, len(keys), GROUP):
        judgments.filter(pk__in=keys[start : start + GROUP]).update(is_object=True)


class Migration(migrations.Migration):
    dependencies = [("sob", "0002_layers_and_tables")]

    operations = [migrations.RunPython(fill_in, migrations.RunPython.noop)]
