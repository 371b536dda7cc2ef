from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

FIRST_PROMPT = "turn-1"


def number_annotators(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Readers of one name were told apart by codebook version; now they are counted, in the order they were made."""
    counted: dict[tuple[int, str], int] = {}
    for annotator in apps.get_model("preannotation", "Annotator").objects.order_by("pk"):
        key = annotator.project_id, annotator.name
        counted[key] = annotator.number = counted.get(key, 0) + 1
        annotator.prompt_version = FIRST_PROMPT
        annotator.save(update_fields=["number", "prompt_version"])


class Migration(migrations.Migration):
    dependencies = [("preannotation", "0002_trust")]

    operations = [migrations.RunPython(number_annotators, migrations.RunPython.noop)]
