from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """"Opening" becomes "Unblinding", the name that the documentation and the pages use. No row changes."""

    dependencies = [
        ("coding", "0006_desk_settings"),
        ("corpus", "0003_consent_and_redaction"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="opening", name="coding_opening_once_per_person"),
        migrations.RenameModel(old_name="Opening", new_name="Unblinding"),
        migrations.RenameField(model_name="unblinding", old_name="opened_at", new_name="unblinded_at"),
        migrations.AlterField(
            model_name="unblinding",
            name="interview",
            field=models.ForeignKey(
                on_delete=models.deletion.PROTECT, related_name="unblindings", to="corpus.interview"
            ),
        ),
        migrations.AlterField(
            model_name="unblinding",
            name="user",
            field=models.ForeignKey(
                on_delete=models.deletion.PROTECT, related_name="unblindings", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddConstraint(
            model_name="unblinding",
            constraint=models.UniqueConstraint(fields=["interview", "user"], name="coding_unblinding_once_per_person"),
        ),
    ]
