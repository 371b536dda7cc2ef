"""Judgments from before the columns: their arm and repeat are the cell's, their counts follow from their attributes."""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import OuterRef, Subquery

from auditapp.sob.counting import count_in_every_way

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


def store(judgments: Any, group: list[Any]) -> None:
    fields = ["n_named", "n_on_schema", "n_strict", "n_items", "is_object", "has_list"]
    judgments.bulk_update(group, fields, batch_size=200)


class Migration(migrations.Migration):
    dependencies = [("sob", "0002_layers_and_tables")]

    operations = [migrations.RunPython(fill_in, migrations.RunPython.noop)]
