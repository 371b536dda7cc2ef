from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def name_subjects(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """A memo without a sentence was one on its interview; it now says so."""
    apps.get_model("coding", "Memo").objects.filter(sentence__isnull=True).update(subject="interview")


class Migration(migrations.Migration):
    dependencies = [("coding", "0002_marks_and_memos")]

    operations = [migrations.RunPython(name_subjects, migrations.RunPython.noop)]
