from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def rename_joins(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("corpus", "BoundaryEdit").objects.filter(kind="join").update(kind="merge")


def restore_joins(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("corpus", "BoundaryEdit").objects.filter(kind="merge").update(kind="join")


class Migration(migrations.Migration):
    """The kind of a boundary edit that was called a join is a merge."""

    dependencies = [("corpus", "0004_boundary_edits")]

    operations = [migrations.RunPython(rename_joins, restore_joins)]
