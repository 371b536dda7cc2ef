from django.apps.registry import Apps
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone


def keep_sessions(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Whoever is signed in stays so, for as long as she would have been; older sessions are deleted, which nothing did before."""
    now = timezone.now()
    old = apps.get_model("sessions", "Session")._default_manager
    kept = apps.get_model("accounts", "Session")._default_manager
    people = set(apps.get_model("accounts", "User")._default_manager.values_list("pk", flat=True))
    for session in old.filter(expire_date__gt=now).iterator():
        user = SessionStore().decode(session.session_data).get("_auth_user_id")
        if user is not None and int(user) in people:
            kept.get_or_create(
                session_key=session.session_key,
                defaults={
                    "session_data": session.session_data,
                    "expire_date": session.expire_date,
                    "user_id": int(user),
                    "began_at": now,
                    "last_used_at": now,
                },
            )
    old.all().delete()


class Migration(migrations.Migration):
    """Sessions move into a table that says whose they are."""

    dependencies = [("accounts", "0003_sessions_tokens_closing"), ("sessions", "0001_initial")]

    operations = [migrations.RunPython(keep_sessions, migrations.RunPython.noop)]
