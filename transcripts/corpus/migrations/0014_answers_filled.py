"""What coders decided on so far is what models say. In a transaction of its own: see 0010."""

from typing import Any

from django.db import migrations


def fill(apps: Any, schema_editor: Any) -> None:
    turns = apps.get_model("corpus", "Turn").objects.using(schema_editor.connection.alias)
    turns.filter(role="model", channel="utterance").update(is_answer=True)


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0013_threads'),
    ]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
