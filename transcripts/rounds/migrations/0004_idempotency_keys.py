from django.db import migrations, models


class Migration(migrations.Migration):
    """The id that a page chooses for a request is its idempotency key. Names only."""

    dependencies = [("rounds", "0003_finishing")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # A database renames the column in its constraints too.
            database_operations=[
                migrations.RenameField(model_name="round", old_name="client_id", new_name="idempotency_key"),
            ],
            state_operations=[
                migrations.RemoveConstraint(model_name="round", name="rounds_round_stored_once"),
                migrations.RenameField(model_name="round", old_name="client_id", new_name="idempotency_key"),
                migrations.AddConstraint(
                    model_name="round",
                    constraint=models.UniqueConstraint(fields=("project", "idempotency_key"), name="rounds_round_stored_once"),
                ),
            ],
        ),
    ]
