from django.db import migrations, models


class Migration(migrations.Migration):
    """The steps of beginning a study that somebody has skipped."""

    dependencies = [("projects", "0004_upload_days")]

    operations = [
        migrations.AddField(model_name="project", name="skipped_steps", field=models.JSONField(blank=True, default=list))
    ]
