import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Audits of positives get the field names of every audit (auditapp.audits.models)."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("preannotation", "0006_runs_know_what_was_asked"),
    ]

    operations = [
        migrations.RenameField("positiveaudit", "drawn_at", "made_at"),
        migrations.RenameField("positiveaudit", "drawn_by_name", "made_by_name"),
        migrations.AlterField("positiveaudit", "seed", models.PositiveBigIntegerField()),
        migrations.RemoveConstraint("auditedsuggestion", "preannotation_auditedsuggestion_one_per_place"),
        migrations.AlterModelOptions("auditedsuggestion", {"ordering": ["audit", "position"]}),
        migrations.RenameField("auditedsuggestion", "place", "position"),
        migrations.AddConstraint(
            "auditedsuggestion",
            models.UniqueConstraint(fields=["audit", "position"], name="preannotation_auditedsuggestion_one_per_position"),
        ),
        migrations.RemoveConstraint("positivemark", "preannotation_positivemark_stands_once"),
        migrations.RemoveConstraint("positivemark", "preannotation_positivemark_stored_once"),
        migrations.RenameField("positivemark", "reader", "reviewer"),
        migrations.RenameField("positivemark", "marked_at", "made_at"),
        migrations.AddField("positivemark", "number", models.PositiveSmallIntegerField(default=1)),
        migrations.AddField("positivemark", "after_opening", models.BooleanField(default=False)),
        migrations.RemoveConstraint("resultsopening", "preannotation_resultsopening_once_per_person"),
        migrations.RenameField("resultsopening", "reader", "opened_by"),
        migrations.AlterModelOptions("resultsopening", {}),
        migrations.AddConstraint(
            "resultsopening",
            models.UniqueConstraint(fields=["audit", "opened_by"], name="preannotation_resultsopening_once"),
        ),
        migrations.AlterField(
            "positivemark",
            "reviewer",
            models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            "resultsopening",
            "opened_by",
            models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            "resultsopening",
            "audit",
            models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="openings",
                to="preannotation.positiveaudit",
            ),
        ),
    ]
