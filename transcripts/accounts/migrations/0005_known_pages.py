from django.db import migrations, models


class Migration(migrations.Migration):
    """The pages whose introduction somebody has dismissed."""

    dependencies = [("accounts", "0004_keep_sessions")]

    operations = [
        migrations.AddField(model_name="user", name="known_pages", field=models.JSONField(blank=True, default=list))
    ]
