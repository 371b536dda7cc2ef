from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Recuts become boundary edits: splits and merges of sentences. Names only."""

    dependencies = [("corpus", "0003_consent_and_redaction")]

    operations = [
        migrations.RenameModel(old_name="Recut", new_name="BoundaryEdit"),
        migrations.RenameField(model_name="boundaryedit", old_name="cut_at", new_name="edited_at"),
        migrations.RenameField(model_name="boundaryedit", old_name="cut_by", new_name="edited_by"),
        migrations.AlterField(
            model_name="boundaryedit",
            name="kind",
            field=models.CharField(choices=[("split", "Split"), ("merge", "Merge")], max_length=10),
        ),
        migrations.AlterField(
            model_name="boundaryedit",
            name="turn",
            field=models.ForeignKey(
                on_delete=models.deletion.PROTECT, related_name="boundary_edits", to="corpus.turn"
            ),
        ),
        migrations.AlterField(
            model_name="boundaryedit",
            name="edited_by",
            field=models.ForeignKey(
                on_delete=models.deletion.PROTECT, related_name="boundary_edits", to=settings.AUTH_USER_MODEL
            ),
        ),
    ]
