import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """People's marks and openings are no longer reached from the person; no column changes."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("sob", "0006_reports_are_stored"),
    ]

    operations = [
        migrations.AlterField(
            model_name=model,
            name=field,
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        )
        for model, field in (("auditmark", "reviewer"), ("auditopening", "opened_by"))
    ]
