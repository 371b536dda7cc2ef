from django.db import migrations, models


class Migration(migrations.Migration):
    """The id that a page chooses for a request is its idempotency key. Names only."""

    dependencies = [("agreement", "0002_withdrawn_decisions")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # A database renames the column in its constraints too.
            database_operations=[
                migrations.RenameField(model_name="adjudication", old_name="client_id", new_name="idempotency_key"),
            ],
            state_operations=[
                migrations.RemoveConstraint(model_name="adjudication", name="agreement_adjudication_stored_once"),
                migrations.RenameField(model_name="adjudication", old_name="client_id", new_name="idempotency_key"),
                migrations.AddConstraint(
                    model_name="adjudication",
                    constraint=models.UniqueConstraint(fields=("adjudicator", "idempotency_key"), name="agreement_adjudication_stored_once"),
                ),
            ],
        ),
    ]
