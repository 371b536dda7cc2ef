from django.db import migrations, models


class Migration(migrations.Migration):
    """The id that a page chooses for a request is its idempotency key. Names only."""

    dependencies = [("coding", "0008_keys_of_split_and_merge")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # A database renames the column in its constraints too.
            database_operations=[
                migrations.RenameField(model_name="coding", old_name="client_id", new_name="idempotency_key"),
                migrations.RenameField(model_name="decision", old_name="client_id", new_name="idempotency_key"),
                migrations.RenameField(model_name="memo", old_name="client_id", new_name="idempotency_key"),
            ],
            state_operations=[
                migrations.RemoveConstraint(model_name="coding", name="coding_coding_stored_once"),
                migrations.RenameField(model_name="coding", old_name="client_id", new_name="idempotency_key"),
                migrations.AddConstraint(
                    model_name="coding",
                    constraint=models.UniqueConstraint(fields=("coder", "idempotency_key"), name="coding_coding_stored_once"),
                ),
                migrations.RemoveConstraint(model_name="decision", name="coding_decision_stored_once"),
                migrations.RenameField(model_name="decision", old_name="client_id", new_name="idempotency_key"),
                migrations.AddConstraint(
                    model_name="decision",
                    constraint=models.UniqueConstraint(fields=("coder", "idempotency_key"), name="coding_decision_stored_once"),
                ),
                migrations.RemoveConstraint(model_name="memo", name="coding_memo_stored_once"),
                migrations.RenameField(model_name="memo", old_name="client_id", new_name="idempotency_key"),
                migrations.AddConstraint(
                    model_name="memo",
                    constraint=models.UniqueConstraint(fields=("author", "idempotency_key"), name="coding_memo_stored_once"),
                ),
            ],
        ),
    ]
