from django.db import migrations, models


class Migration(migrations.Migration):
    """The id that a page chooses for a request is its idempotency key. Names only."""

    dependencies = [("revision", "0001_start")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # A database renames the column in its constraints too.
            database_operations=[
                migrations.RenameField(model_name="anchorreading", old_name="client_id", new_name="idempotency_key"),
            ],
            state_operations=[
                migrations.RemoveConstraint(model_name="anchorreading", name="revision_anchorreading_stored_once"),
                migrations.RenameField(model_name="anchorreading", old_name="client_id", new_name="idempotency_key"),
                migrations.AddConstraint(
                    model_name="anchorreading",
                    constraint=models.UniqueConstraint(fields=("coder", "idempotency_key"), name="revision_anchorreading_stored_once"),
                ),
            ],
        ),
    ]
