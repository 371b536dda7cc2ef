from django.db import migrations


class Migration(migrations.Migration):
    """The id that a form chooses for a mark is its idempotency key. A name only."""

    dependencies = [("sob", "0007_audits_share_fields")]

    operations = [
        migrations.RenameField(model_name="auditmark", old_name="client_id", new_name="idempotency_key"),
    ]
