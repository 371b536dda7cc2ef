from __future__ import annotations

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from transcripts.schema_operations import CreateModels

SQLITE = [
    "CREATE TRIGGER audit_trail_no_update BEFORE UPDATE ON audit_trail_auditevent "
    "BEGIN SELECT RAISE(ABORT, 'audit events cannot be changed'); END",
    "CREATE TRIGGER audit_trail_no_delete BEFORE DELETE ON audit_trail_auditevent "
    "BEGIN SELECT RAISE(ABORT, 'audit events cannot be deleted'); END",
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
    "CREATE FUNCTION audit_trail_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'audit events cannot be changed or deleted'; END $$",
    "CREATE TRIGGER audit_trail_append_only BEFORE UPDATE OR DELETE ON audit_trail_auditevent "
    "FOR EACH ROW EXECUTE FUNCTION audit_trail_refuse()",
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
    """Events are never changed or deleted in any way, heads only move on by one, and texts can only be erased."""
    for statement in {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='AuditEvent',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('stream', models.CharField(max_length=100)),
                    ('sequence', models.PositiveBigIntegerField(help_text="Place in the study's chain, from 1, without gaps.")),
                    ('at', models.DateTimeField(help_text='When, in UTC to the microsecond.')),
                    ('actor_id', models.CharField(help_text='Number of the person; system for the program itself.', max_length=40)),
                    ('actor_name', models.CharField(help_text='Name of the person at the time.', max_length=200)),
                    ('action', models.CharField(help_text='What was done.', max_length=100)),
                    ('target', models.CharField(help_text='The object of the action: kind and number.', max_length=200)),
                    ('details', models.JSONField(default=dict, help_text='Numbers and short states; never text of an interview.')),
                    ('previous_hash', models.CharField(help_text='Hash of the previous event.', max_length=64)),
                    ('hash', models.CharField(help_text='SHA-256 over the event and the hash before it (audit_trail/pure.py verifies an exported trail).', max_length=64)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('stream', 'sequence'), name='audit_trail_auditevent_one_per_place')],
                },
            ),
            migrations.CreateModel(
                name='AuditText',
                fields=[
                    ('hash', models.CharField(max_length=64, primary_key=True, serialize=False)),
                    ('salt', models.CharField(max_length=32)),
                    ('content', models.TextField()),
                ],
            ),
            migrations.CreateModel(
                name='AuditHead',
                fields=[
                    ('stream', models.CharField(max_length=100, primary_key=True, serialize=False)),
                    ('sequence', models.PositiveBigIntegerField(default=0)),
                    ('hash', models.CharField(blank=True, max_length=64)),
                ],
            ),
        ]),
        migrations.RunPython(forbid_changes, migrations.RunPython.noop),
    ]
