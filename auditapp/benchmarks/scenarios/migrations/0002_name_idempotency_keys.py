"""What a page or a program sends so that nothing is done twice is an idempotency key everywhere."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = (("scenarios", "0001_initial"),)
    operations = (
        migrations.RenameField("play", "client_id", "idempotency_key"),
        migrations.RenameField("question", "client_id", "idempotency_key"),
    )
