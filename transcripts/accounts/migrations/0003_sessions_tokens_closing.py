import datetime

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone


def a_year_from_now() -> datetime.datetime:
    return timezone.now() + datetime.timedelta(days=365)


class Migration(migrations.Migration):
    """Accounts can be closed, sessions have a person and a time of use, tokens expire: those from before in a year."""

    dependencies = [("accounts", "0002_rights")]

    operations = [
        migrations.AddField(
            model_name="user", name="closed_at", field=models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.CheckConstraint(
                condition=models.Q(("closed_at__isnull", True), ("is_active", False), _connector="OR"),
                name="accounts_user_closed_is_not_active",
            ),
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                (
                    "session_key",
                    models.CharField(max_length=40, primary_key=True, serialize=False, verbose_name="session key"),
                ),
                ("session_data", models.TextField(verbose_name="session data")),
                ("expire_date", models.DateTimeField(db_index=True, verbose_name="expire date")),
                ("device", models.CharField(blank=True, max_length=100)),
                ("began_at", models.DateTimeField()),
                ("last_used_at", models.DateTimeField(db_index=True)),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"verbose_name": "session", "verbose_name_plural": "sessions", "abstract": False},
        ),
        migrations.AddField(
            model_name="apitoken",
            name="expires_at",
            field=models.DateTimeField(default=a_year_from_now),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="apitoken", name="last_used_at", field=models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddConstraint(
            model_name="apitoken",
            constraint=models.CheckConstraint(
                condition=models.Q(("expires_at__gt", models.F("created_at"))),
                name="accounts_apitoken_expires_after_created",
            ),
        ),
    ]
