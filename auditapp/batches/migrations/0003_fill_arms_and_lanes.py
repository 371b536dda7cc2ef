"""Every attempt learns its arm, and lanes are parted by model: one account and one model share a limit."""

from __future__ import annotations

from typing import Any

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import OuterRef, Subquery


def fill_arms(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    Cell = apps.get_model("batches", "Cell")
    arm = Cell.objects.filter(pk=OuterRef("cell_id")).values("arm_id")[:1]
    apps.get_model("batches", "Attempt").objects.filter(arm__isnull=True).update(arm_id=Subquery(arm))


def part_lanes(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    Lane = apps.get_model("batches", "Lane")
    batches: Any = apps.get_model("batches", "Batch").objects.order_by("pk")
    for batch in batches:
        arms = batch.arms.select_related("variant__account").order_by("pk")
        names = list(dict.fromkeys(f"{arm.variant.account_id}:{arm.variant.model}" for arm in arms))
        lanes = list(Lane.objects.filter(batch=batch).order_by("pk"))
        for lane, name in zip(lanes, names, strict=False):
            Lane.objects.filter(pk=lane.pk).update(name=name)
        for name in names[len(lanes) :]:
            Lane.objects.create(batch=batch, name=name)


class Migration(migrations.Migration):

    dependencies = [
        ("batches", "0002_engine"),
        ("llm", "0003_fill_accounts"),
    ]

    operations = [
        migrations.RunPython(fill_arms, migrations.RunPython.noop),
        migrations.RunPython(part_lanes, migrations.RunPython.noop),
    ]
