"""Close the ways round the first triggers: INSERT OR REPLACE on SQLite, TRUNCATE on PostgreSQL, and moving heads."""

from __future__ import annotations

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

SQLITE = [
    "CREATE TRIGGER audit_trail_no_replace BEFORE INSERT ON audit_trail_auditevent "
    "WHEN EXISTS (SELECT 1 FROM audit_trail_auditevent WHERE id = NEW.id) "
    "OR EXISTS (SELECT 1 FROM audit_trail_auditevent WHERE stream = NEW.stream AND sequence = NEW.sequence) "
    "BEGIN SELECT RAISE(ABORT, 'audit events cannot be replaced'); END",
    "CREATE TRIGGER audit_trail_head_stays BEFORE DELETE ON audit_trail_audithead "
    "BEGIN SELECT RAISE(ABORT, 'the head of a stream cannot be deleted'); END",
    "CREATE TRIGGER audit_trail_head_moves_on BEFORE UPDATE ON audit_trail_audithead "
    "WHEN NEW.stream <> OLD.stream OR NEW.sequence <> OLD.sequence + 1 "
    "BEGIN SELECT RAISE(ABORT, 'the head of a stream moves on by one event'); END",
    # A head that is there is left as it is: the program adds a missing one with INSERT OR IGNORE.
    "CREATE TRIGGER audit_trail_head_no_replace BEFORE INSERT ON audit_trail_audithead "
    "WHEN EXISTS (SELECT 1 FROM audit_trail_audithead WHERE stream = NEW.stream) "
    "BEGIN SELECT RAISE(IGNORE); END",
]
POSTGRESQL = [
    "CREATE TRIGGER audit_trail_no_truncate BEFORE TRUNCATE ON audit_trail_auditevent "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_trail_refuse()",
    "CREATE FUNCTION audit_trail_keep_head() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN "
    "IF TG_OP = 'UPDATE' AND NEW.stream = OLD.stream AND NEW.sequence = OLD.sequence + 1 THEN RETURN NEW; END IF; "
    "RAISE EXCEPTION 'the head of a stream only moves on by one event'; "
    "END $$",
    "CREATE TRIGGER audit_trail_head_moves_on BEFORE UPDATE OR DELETE ON audit_trail_audithead "
    "FOR EACH ROW EXECUTE FUNCTION audit_trail_keep_head()",
    "CREATE TRIGGER audit_trail_head_no_truncate BEFORE TRUNCATE ON audit_trail_audithead "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_trail_keep_head()",
]


def forbid_more(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("audit_trail", "0001_squashed_0002_append_only")]

    operations = [migrations.RunPython(forbid_more, migrations.RunPython.noop)]
