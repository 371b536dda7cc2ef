from django.db import migrations, models


class Migration(migrations.Migration):
    """The id that a page chooses for a request is its idempotency key. Names only."""

    dependencies = [("codebook", "0003_keyword_rules")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # A database renames the column in its constraints too.
            database_operations=[
                migrations.RenameField(model_name="codeproposal", old_name="client_id", new_name="idempotency_key"),
            ],
            state_operations=[
                migrations.RemoveConstraint(model_name="codeproposal", name="codebook_codeproposal_stored_once"),
                migrations.RenameField(model_name="codeproposal", old_name="client_id", new_name="idempotency_key"),
                migrations.AddConstraint(
                    model_name="codeproposal",
                    constraint=models.UniqueConstraint(fields=("proposed_by", "idempotency_key"), name="codebook_codeproposal_stored_once"),
                ),
            ],
        ),
    ]
