from django.db import migrations


# What a token could do before there were scopes.
SCOPES = ["read", "code", "manage"]


def fill_scopes(apps, schema_editor):
    tokens = apps.get_model("accounts", "ApiToken").objects
    tokens.filter(scopes=[]).update(scopes=SCOPES)


class Migration(migrations.Migration):
    """Tokens of before keep what they could do."""

    dependencies = [("accounts", "0006_scopes_of_tokens")]

    operations = [migrations.RunPython(fill_scopes, migrations.RunPython.noop)]
