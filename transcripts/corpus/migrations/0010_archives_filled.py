"""An interview that counts in a study belongs to it. In a transaction of its own, for PostgreSQL checks the new keys at its end."""

from typing import Any

from django.db import migrations
from django.db.models import F


def fill(apps: Any, schema_editor: Any) -> None:
    interviews = apps.get_model("corpus", "Interview").objects.using(schema_editor.connection.alias)
    interviews.filter(project__isnull=False).update(study=F("project"))


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0009_archives'),
    ]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
