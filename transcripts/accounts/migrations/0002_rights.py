from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def keep_rights(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Accounts made before there were these rights could do both, and still can."""
    apps.get_model("accounts", "User")._default_manager.update(may_start_studies=True, may_invite=True)


class Migration(migrations.Migration):
    """Starting studies and inviting people are rights that the owner of the site gives."""

    dependencies = [("accounts", "0001_start")]

    operations = [
        migrations.AddField(model_name="user", name="may_invite", field=models.BooleanField(default=False)),
        migrations.AddField(model_name="user", name="may_start_studies", field=models.BooleanField(default=False)),
        migrations.RunPython(keep_rights, migrations.RunPython.noop),
    ]
