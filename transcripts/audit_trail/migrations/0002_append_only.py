from __future__ import annotations

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

SQLITE = [
    "CREATE TRIGGER audit_trail_no_update BEFORE UPDATE ON audit_trail_auditevent "
    "BEGIN SELECT RAISE(ABORT, 'audit events cannot be changed'); END",
    "CREATE TRIGGER audit_trail_no_delete BEFORE DELETE ON audit_trail_auditevent "
    "BEGIN SELECT RAISE(ABORT, 'audit events cannot be deleted'); END",
]
POSTGRESQL = [
    "CREATE FUNCTION audit_trail_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'audit events cannot be changed or deleted'; END $$",
    "CREATE TRIGGER audit_trail_append_only BEFORE UPDATE OR DELETE ON audit_trail_auditevent "
    "FOR EACH ROW EXECUTE FUNCTION audit_trail_refuse()",
]


def forbid_changes(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    statements = {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]
    for statement in statements:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("audit_trail", "0001_start")]
    operations = [migrations.RunPython(forbid_changes, migrations.RunPython.noop)]
