from django.db import migrations


class Migration(migrations.Migration):
    """The id that a form chooses for a mark is its idempotency key. A name only."""

    dependencies = [("preannotation", "0010_idempotency_keys")]

    operations = [
        migrations.RenameField(model_name="positivemark", old_name="client_id", new_name="idempotency_key"),
    ]
