from django.db import migrations


class Migration(migrations.Migration):
    """The id that a page chooses for a request is its idempotency key. Names only."""

    dependencies = [("corpus", "0005_joins_are_merges")]

    operations = [
        migrations.RenameField(model_name="boundaryedit", old_name="client_id", new_name="idempotency_key"),
    ]
