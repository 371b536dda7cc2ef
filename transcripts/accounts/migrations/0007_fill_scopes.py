from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


# What a token could do before there were scopes.
SCOPES = ["read", "code", "manage"]


def fill_scopes(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    tokens = apps.get_model("accounts", "ApiToken")._default_manager
    tokens.filter(scopes=[]).update(scopes=SCOPES)


class Migration(migrations.Migration):
    """Tokens of before keep what they could do."""

    dependencies = [("accounts", "0006_scopes_of_tokens")]

    operations = [migrations.RunPython(fill_scopes, migrations.RunPython.noop)]
