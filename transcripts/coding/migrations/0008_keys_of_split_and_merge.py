from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

NEW_NAMES = {"cut": "split", "join": "merge", "leave": "dismiss"}


def rename_acts(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    _rename(apps, NEW_NAMES)


def restore_acts(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    _rename(apps, {new: old for old, new in NEW_NAMES.items()})


def _rename(apps: Apps, names: dict[str, str]) -> None:
    for own in apps.get_model("coding", "DeskSettings").objects.all():
        acts = own.keys.get("acts", {})
        if names.keys() & acts.keys():
            own.keys["acts"] = {names.get(name, name): key for name, key in acts.items()}
            own.save(update_fields=["keys"])


class Migration(migrations.Migration):
    """Keys that people chose for cut, join and leave are those of split, merge and dismiss."""

    dependencies = [("coding", "0007_unblinding")]

    operations = [migrations.RunPython(rename_acts, restore_acts)]
