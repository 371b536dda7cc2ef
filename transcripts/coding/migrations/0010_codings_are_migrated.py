from django.db import migrations, models


class Migration(migrations.Migration):
    """``carried_from`` becomes ``migrated_from``. No row changes.

    The column is renamed in SQL: for a foreign key Django would copy the whole table on SQLite.
    """

    dependencies = [("coding", "0009_idempotency_keys")]

    operations = [
        migrations.RemoveIndex(model_name="coding", name="coding_coding_carried"),
        migrations.RunSQL(
            "ALTER TABLE coding_coding RENAME COLUMN carried_from_id TO migrated_from_id",
            "ALTER TABLE coding_coding RENAME COLUMN migrated_from_id TO carried_from_id",
            state_operations=[
                migrations.RenameField(model_name="coding", old_name="carried_from", new_name="migrated_from"),
                migrations.AlterField(
                    model_name="coding",
                    name="migrated_from",
                    field=models.ForeignKey(
                        "coding.coding",
                        on_delete=models.PROTECT,
                        null=True,
                        blank=True,
                        related_name="migrated_to",
                        db_index=False,
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="coding",
            index=models.Index(
                fields=["migrated_from"],
                condition=models.Q(migrated_from__isnull=False),
                name="coding_coding_migrated",
            ),
        ),
    ]
