from django.db import migrations, models


class Migration(migrations.Migration):
    """What a program may do with a token."""

    dependencies = [("accounts", "0005_known_pages")]

    operations = [migrations.AddField(model_name="apitoken", name="scopes", field=models.JSONField(default=list, db_default=[]))]
