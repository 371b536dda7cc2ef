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

    replaces = [('audit_trail', '0001_start'), ('audit_trail', '0002_append_only')]

    initial = True

    dependencies = [
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='AuditHead',
                fields=[
                    ('stream', models.CharField(max_length=100, primary_key=True, serialize=False)),
                    ('sequence', models.PositiveBigIntegerField(default=0)),
                    ('hash', models.CharField(blank=True, max_length=64)),
                ],
            ),
            migrations.CreateModel(
                name='AuditEvent',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('stream', models.CharField(max_length=100)),
                    ('sequence', models.PositiveBigIntegerField()),
                    ('at', models.DateTimeField()),
                    ('actor_id', models.CharField(max_length=40)),
                    ('actor_name', models.CharField(max_length=200)),
                    ('action', models.CharField(max_length=100)),
                    ('target', models.CharField(max_length=200)),
                    ('details', models.JSONField(default=dict)),
                    ('previous_hash', models.CharField(max_length=64)),
                    ('hash', models.CharField(max_length=64)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('stream', 'sequence'), name='audit_trail_auditevent_one_per_place')],
                },
            ),
        ]),
        migrations.RunPython(forbid_changes, migrations.RunPython.noop),
    ]
