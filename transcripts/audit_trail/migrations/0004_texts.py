"""Texts beside the trail: added and erased, never changed."""

from __future__ import annotations

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

SQLITE = [
    "CREATE TRIGGER audit_trail_text_no_delete BEFORE DELETE ON audit_trail_audittext "
    "BEGIN SELECT RAISE(ABORT, 'texts of the audit trail cannot be deleted'); END",
    "CREATE TRIGGER audit_trail_text_no_update BEFORE UPDATE ON audit_trail_audittext "
    "WHEN NEW.hash <> OLD.hash OR NEW.salt <> '' OR NEW.content <> '' "
    "BEGIN SELECT RAISE(ABORT, 'texts of the audit trail can only be erased'); END",
    "CREATE TRIGGER audit_trail_text_no_replace BEFORE INSERT ON audit_trail_audittext "
    "WHEN EXISTS (SELECT 1 FROM audit_trail_audittext WHERE hash = NEW.hash) "
    "BEGIN SELECT RAISE(ABORT, 'texts of the audit trail cannot be replaced'); END",
]
POSTGRESQL = [
    "CREATE FUNCTION audit_trail_keep_text() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN "
    "IF TG_OP = 'UPDATE' AND NEW.hash = OLD.hash AND NEW.salt = '' AND NEW.content = '' THEN RETURN NEW; END IF; "
    "RAISE EXCEPTION 'texts of the audit trail can only be erased'; "
    "END $$",
    "CREATE TRIGGER audit_trail_text_stays BEFORE UPDATE OR DELETE ON audit_trail_audittext "
    "FOR EACH ROW EXECUTE FUNCTION audit_trail_keep_text()",
    "CREATE TRIGGER audit_trail_text_no_truncate BEFORE TRUNCATE ON audit_trail_audittext "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_trail_keep_text()",
]


def forbid_changes(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("audit_trail", "0003_every_way_to_write")]

    operations = [
        migrations.CreateModel(
            name="AuditText",
            fields=[
                ("hash", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("salt", models.CharField(max_length=32)),
                ("content", models.TextField()),
            ],
        ),
        migrations.RunPython(forbid_changes, migrations.RunPython.noop),
    ]
