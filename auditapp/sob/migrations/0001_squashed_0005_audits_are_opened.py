import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    replaces = [('sob', '0001_start'), ('sob', '0002_layers_and_tables'), ('sob', '0003_count_in_every_way'), ('sob', '0004_judgments_have_arms'), ('sob', '0005_audits_are_opened')]

    initial = True

    dependencies = [
        ('batches', '0004_attempts_know_their_arm'),
        ('projects', '0002_method_stance'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='TargetTable',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('number', models.PositiveIntegerField()),
                    ('rows', models.JSONField()),
                    ('reason', models.TextField()),
                    ('sha256', models.CharField(max_length=64)),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='target_tables', to='projects.project')),
                ],
                options={
                    'ordering': ['-number'],
                    'constraints': [models.UniqueConstraint(fields=('project', 'number'), name='sob_targettable_number_once')],
                },
            ),
            migrations.CreateModel(
                name='TermsNotice',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('project', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='sob_notice', to='projects.project')),
                ],
                options={
                    'abstract': False,
                },
            ),
            migrations.CreateModel(
                name='Wording',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('name', models.SlugField(max_length=40)),
                    ('task', models.CharField(max_length=60)),
                    ('text', models.TextField()),
                    ('characteristics', models.JSONField()),
                    ('based_on', models.CharField(max_length=40)),
                    ('sha256', models.CharField(max_length=64)),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='wordings', to='projects.project')),
                ],
                options={
                    'ordering': ['name', 'task'],
                    'constraints': [models.UniqueConstraint(fields=('project', 'name', 'task'), name='sob_wording_name_once')],
                },
            ),
            migrations.CreateModel(
                name='Audit',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('number', models.PositiveIntegerField()),
                    ('scope', models.CharField(choices=[('answers', 'Answers of every layer'), ('formatter', 'What the formatter read')], max_length=10)),
                    ('size', models.PositiveIntegerField()),
                    ('seed', models.PositiveBigIntegerField()),
                    ('frame', models.PositiveIntegerField()),
                    ('batch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sob_audits', to='batches.batch')),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['number'],
                    'constraints': [models.UniqueConstraint(fields=('batch', 'number'), name='sob_audit_number_once')],
                },
            ),
            migrations.CreateModel(
                name='MappingTable',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('number', models.PositiveIntegerField()),
                    ('rows', models.JSONField()),
                    ('reason', models.TextField()),
                    ('sha256', models.CharField(max_length=64)),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='mapping_tables', to='projects.project')),
                ],
                options={
                    'ordering': ['-number'],
                    'constraints': [models.UniqueConstraint(fields=('project', 'number'), name='sob_mappingtable_number_once')],
                },
            ),
            migrations.CreateModel(
                name='AuditOpening',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('opened_at', models.DateTimeField()),
                    ('audit', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='openings', to='sob.audit')),
                    ('opened_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sob_audit_openings', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('audit', 'opened_by'), name='sob_auditopening_once')],
                },
            ),
            migrations.CreateModel(
                name='Dataset',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=100)),
                    ('file_name', models.CharField(max_length=255)),
                    ('sha256', models.CharField(max_length=64)),
                    ('format', models.CharField(max_length=40)),
                    ('warnings', models.JSONField(default=list)),
                    ('loaded_by_name', models.CharField(max_length=200)),
                    ('loaded_at', models.DateTimeField()),
                    ('loaded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='loaded_datasets', to=settings.AUTH_USER_MODEL)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='datasets', to='projects.project')),
                    ('drawn_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='samples', to='sob.dataset')),
                    ('filter', models.CharField(blank=True, max_length=300)),
                    ('licence', models.CharField(blank=True, max_length=200)),
                    ('sampling', models.JSONField(default=dict)),
                    ('source_name', models.CharField(blank=True, max_length=100)),
                    ('split', models.CharField(blank=True, max_length=100)),
                    ('targets_from', models.CharField(choices=[('file', 'as the file names them'), ('published', 'the published table'), ('table', "the study's own table")], default='file', max_length=10)),
                    ('target_table', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='datasets', to='sob.targettable')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='sob_dataset_name_once')],
                },
            ),
            migrations.CreateModel(
                name='Text',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('position', models.PositiveIntegerField()),
                    ('source', models.CharField(max_length=100)),
                    ('external_id', models.CharField(max_length=100)),
                    ('text', models.TextField()),
                    ('target', models.CharField(max_length=100)),
                    ('target_secondary', models.CharField(blank=True, max_length=100)),
                    ('target_tertiary', models.CharField(blank=True, max_length=100)),
                    ('target_raw', models.CharField(blank=True, max_length=300)),
                    ('kind', models.CharField(blank=True, max_length=100)),
                    ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='texts', to='sob.dataset')),
                ],
                options={
                    'ordering': ['dataset', 'position'],
                    'constraints': [models.UniqueConstraint(fields=('dataset', 'position'), name='sob_text_one_per_position'), models.UniqueConstraint(fields=('dataset', 'source', 'external_id'), name='sob_text_id_once')],
                },
            ),
            migrations.CreateModel(
                name='Judgment',
                fields=[
                    ('cell', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='judgment', serialize=False, to='batches.cell')),
                    ('outcome', models.CharField(max_length=15)),
                    ('attributes', models.JSONField(default=dict)),
                    ('n_attributes', models.PositiveSmallIntegerField(default=0)),
                    ('repaired', models.BooleanField(default=False)),
                    ('parser', models.CharField(max_length=30)),
                    ('text', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='sob.text')),
                    ('arm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='batches.arm')),
                    ('has_list', models.BooleanField(default=False)),
                    ('is_object', models.BooleanField(default=False)),
                    ('n_items', models.PositiveSmallIntegerField(default=0)),
                    ('n_named', models.PositiveSmallIntegerField(default=0)),
                    ('n_on_schema', models.PositiveSmallIntegerField(default=0)),
                    ('n_strict', models.PositiveSmallIntegerField(default=0)),
                    ('repeat', models.PositiveSmallIntegerField(default=1)),
                    ('verdict', models.CharField(blank=True, max_length=15)),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes_judgment', to='sob.reading')),
                ],
                options={
                    'indexes': [models.Index(fields=['arm', 'outcome'], name='sob_judgment_by_arm')],
                },
            ),
            migrations.CreateModel(
                name='AuditItem',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('position', models.PositiveIntegerField()),
                    ('layer', models.CharField(max_length=10)),
                    ('outcome', models.CharField(max_length=15)),
                    ('n_attributes', models.PositiveSmallIntegerField()),
                    ('attributes', models.JSONField(default=dict)),
                    ('audit', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='items', to='sob.audit')),
                    ('judgment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='audit_items', to='sob.judgment')),
                ],
                options={
                    'ordering': ['audit', 'position'],
                    'constraints': [models.UniqueConstraint(fields=('audit', 'position'), name='sob_audititem_one_per_position'), models.UniqueConstraint(fields=('audit', 'judgment'), name='sob_audititem_judgment_once')],
                },
            ),
            migrations.CreateModel(
                name='AuditMark',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('parse_right', models.BooleanField()),
                    ('outcome', models.CharField(max_length=15)),
                    ('n_attributes', models.PositiveSmallIntegerField()),
                    ('n_warranted', models.PositiveSmallIntegerField(default=0)),
                    ('note', models.TextField(blank=True)),
                    ('number', models.PositiveSmallIntegerField(default=1)),
                    ('client_id', models.UUIDField(unique=True)),
                    ('made_at', models.DateTimeField()),
                    ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='marks', to='sob.audititem')),
                    ('reviewer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sob_marks', to=settings.AUTH_USER_MODEL)),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='sob.auditmark')),
                    ('after_opening', models.BooleanField(default=False)),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('item', 'reviewer', 'number'), name='sob_auditmark_number_once'), models.CheckConstraint(condition=models.Q(('n_warranted__lte', models.F('n_attributes'))), name='sob_auditmark_warranted_at_most_all')],
                },
            ),
            migrations.CreateModel(
                name='Reading',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('outcome', models.CharField(max_length=15)),
                    ('verdict', models.CharField(blank=True, max_length=15)),
                    ('attributes', models.JSONField(default=dict)),
                    ('n_attributes', models.PositiveSmallIntegerField(default=0)),
                    ('n_named', models.PositiveSmallIntegerField(default=0)),
                    ('n_on_schema', models.PositiveSmallIntegerField(default=0)),
                    ('n_strict', models.PositiveSmallIntegerField(default=0)),
                    ('n_items', models.PositiveSmallIntegerField(default=0)),
                    ('is_object', models.BooleanField(default=False)),
                    ('has_list', models.BooleanField(default=False)),
                    ('repaired', models.BooleanField(default=False)),
                    ('parser', models.CharField(max_length=30)),
                    ('number', models.PositiveSmallIntegerField(default=1)),
                    ('layer', models.CharField(choices=[('formatter', 'Formatter'), ('person', 'Person')], max_length=10)),
                    ('read_by_name', models.CharField(blank=True, max_length=200)),
                    ('note', models.TextField(blank=True)),
                    ('made_at', models.DateTimeField()),
                    ('formatter_cell', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='sob_reading', to='batches.cell')),
                    ('judgment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='readings', to='sob.judgment')),
                    ('read_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='sob_readings', to=settings.AUTH_USER_MODEL)),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='sob.reading')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('formatter_cell__isnull', False), ('layer', 'formatter'), ('read_by_name', '')), models.Q(('formatter_cell__isnull', True), ('layer', 'person'), models.Q(('read_by_name', ''), _negated=True)), _connector='OR'), name='sob_reading_has_one_reader'), models.UniqueConstraint(fields=('judgment', 'number'), name='sob_reading_number_once')],
                },
            ),
        ]),
    ]
