import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('batches', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='TargetTable',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('number', models.PositiveIntegerField(help_text='Its number, from 1; the latest is the one that counts.')),
                    ('rows', models.JSONField()),
                    ('reason', models.TextField(help_text='Why the table changes. The reason is kept with the table; the reason for a mapping is shown with every figure that uses it.', max_length=2000)),
                    ('sha256', models.CharField(max_length=64)),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='target_tables', to='studies.study')),
                ],
                options={
                    'ordering': ['-number'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='sob_targettable_number_once')],
                },
            ),
            migrations.CreateModel(
                name='MappingTable',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('number', models.PositiveIntegerField(help_text='Its number, from 1; the latest is the one that counts.')),
                    ('rows', models.JSONField()),
                    ('reason', models.TextField(help_text='Why the table changes. The reason is kept with the table; the reason for a mapping is shown with every figure that uses it.', max_length=2000)),
                    ('sha256', models.CharField(max_length=64)),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='mapping_tables', to='studies.study')),
                ],
                options={
                    'ordering': ['-number'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='sob_mappingtable_number_once')],
                },
            ),
            migrations.CreateModel(
                name='Wording',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='wordings', to='studies.study')),
                    ('name', models.SlugField(help_text='Letters, digits, hyphens. A wording is never changed; use a new name for a change.', max_length=40)),
                    ('task', models.CharField(max_length=60)),
                    ('text', models.TextField()),
                    ('characteristics', models.JSONField()),
                    ('based_on', models.CharField(max_length=40)),
                    ('sha256', models.CharField(max_length=64)),
                ],
                options={
                    'ordering': ['name', 'task'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'name', 'task'), name='sob_wording_name_once')],
                },
            ),
            migrations.CreateModel(
                name='TermsNotice',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('study', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='sob_notice', to='studies.study')),
                ],
            ),
            migrations.CreateModel(
                name='Dataset',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='datasets', to='studies.study')),
                    ('name', models.CharField(help_text='The name of the dataset in this study.', max_length=100)),
                    ('file_name', models.CharField(max_length=255)),
                    ('sha256', models.CharField(max_length=64)),
                    ('format', models.CharField(max_length=40)),
                    ('warnings', models.JSONField(default=list)),
                    ('source_name', models.CharField(blank=True, max_length=100, verbose_name='where the texts come from')),
                    ('licence', models.CharField(blank=True, max_length=200)),
                    ('split', models.CharField(blank=True, max_length=100)),
                    ('filter', models.CharField(blank=True, help_text='Describe which texts of the source are in the file.', max_length=300)),
                    ('sampling', models.JSONField(default=dict)),
                    ('targets_from', models.CharField(choices=[('file', 'as the file names them'), ('published', 'the published table'), ('table', "the study's own table")], default='file', max_length=10)),
                    ('target_table', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='datasets', to='sob.targettable')),
                    ('drawn_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='samples', to='sob.dataset')),
                    ('loaded_by_name', models.CharField(max_length=200)),
                    ('loaded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='loaded_datasets', to=settings.AUTH_USER_MODEL)),
                    ('loaded_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'name'), name='sob_dataset_name_once')],
                },
            ),
            migrations.CreateModel(
                name='Text',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='texts', to='sob.dataset')),
                    ('position', models.PositiveIntegerField()),
                    ('source', models.CharField(help_text='Source of the text.', max_length=100)),
                    ('external_id', models.CharField(help_text="The text's id in its source.", max_length=100)),
                    ('text', models.TextField()),
                    ('target', models.CharField(help_text='The group the text targets.', max_length=100)),
                    ('target_secondary', models.CharField(blank=True, help_text='A second group it targets.', max_length=100)),
                    ('target_tertiary', models.CharField(blank=True, help_text='A third group it targets.', max_length=100)),
                    ('target_raw', models.CharField(blank=True, max_length=300)),
                    ('kind', models.CharField(blank=True, max_length=100)),
                ],
                options={
                    'ordering': ['dataset', 'position'],
                    'constraints': [models.UniqueConstraint(fields=('dataset', 'position'), name='sob_text_one_per_position'), models.UniqueConstraint(fields=('dataset', 'source', 'external_id'), name='sob_text_id_once')],
                },
            ),
            migrations.CreateModel(
                name='Interpretation',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('outcome', models.CharField(help_text='attributed, unknown, verdict, refusal, truncated, off_format, empty or provider_error.', max_length=15)),
                    ('verdict', models.CharField(blank=True, help_text='The answer to the base task.', max_length=15)),
                    ('attributes', models.JSONField(default=dict, help_text='The attributions, as JSON text.')),
                    ('n_attributes', models.PositiveSmallIntegerField(default=0, help_text='Attributes in paper counting.')),
                    ('n_named', models.PositiveSmallIntegerField(default=0, help_text='The same without placeholders such as any.')),
                    ('n_on_schema', models.PositiveSmallIntegerField(default=0, help_text='The same, at most one per characteristic asked for.')),
                    ('n_strict', models.PositiveSmallIntegerField(default=0, help_text='Attributes in strict counting.')),
                    ('n_items', models.PositiveSmallIntegerField(default=0)),
                    ('is_object', models.BooleanField(default=False)),
                    ('has_list', models.BooleanField(default=False)),
                    ('repaired', models.BooleanField(default=False, help_text='Whether the answer was not valid JSON and was repaired.')),
                    ('parser', models.CharField(help_text='Version of the rules, or of the reader.', max_length=30)),
                    ('judgment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='interpretations', to='sob.judgment')),
                    ('number', models.PositiveSmallIntegerField(default=1)),
                    ('reader', models.CharField(choices=[('formatter', 'Formatter'), ('person', 'Person')], help_text='Who made the current interpretation: rules, formatter or person.', max_length=10)),
                    ('formatter_cell', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='sob_interpretation', to='batches.cell')),
                    ('read_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='sob_interpretations', to=settings.AUTH_USER_MODEL)),
                    ('read_by_name', models.CharField(blank=True, max_length=200)),
                    ('note', models.TextField(blank=True, max_length=5000)),
                    ('made_at', models.DateTimeField()),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='sob.interpretation')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('formatter_cell__isnull', False), ('read_by_name', ''), ('reader', 'formatter')), models.Q(('formatter_cell__isnull', True), ('reader', 'person'), models.Q(('read_by_name', ''), _negated=True)), _connector='OR'), name='sob_interpretation_has_one_reader'), models.UniqueConstraint(fields=('judgment', 'number'), name='sob_interpretation_number_once')],
                },
            ),
            migrations.CreateModel(
                name='Judgment',
                fields=[
                    ('outcome', models.CharField(help_text='attributed, unknown, verdict, refusal, truncated, off_format, empty or provider_error.', max_length=15)),
                    ('verdict', models.CharField(blank=True, help_text='The answer to the base task.', max_length=15)),
                    ('attributes', models.JSONField(default=dict, help_text='The attributions, as JSON text.')),
                    ('n_attributes', models.PositiveSmallIntegerField(default=0, help_text='Attributes in paper counting.')),
                    ('n_named', models.PositiveSmallIntegerField(default=0, help_text='The same without placeholders such as any.')),
                    ('n_on_schema', models.PositiveSmallIntegerField(default=0, help_text='The same, at most one per characteristic asked for.')),
                    ('n_strict', models.PositiveSmallIntegerField(default=0, help_text='Attributes in strict counting.')),
                    ('n_items', models.PositiveSmallIntegerField(default=0)),
                    ('is_object', models.BooleanField(default=False)),
                    ('has_list', models.BooleanField(default=False)),
                    ('repaired', models.BooleanField(default=False, help_text='Whether the answer was not valid JSON and was repaired.')),
                    ('parser', models.CharField(help_text='Version of the rules, or of the reader.', max_length=30)),
                    ('cell', models.OneToOneField(help_text='Number of the cell: one text under one model, task and repeat.', on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='judgment', serialize=False, to='batches.cell')),
                    ('arm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='batches.arm')),
                    ('text', models.ForeignKey(help_text='Number of the text.', on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='sob.text')),
                    ('repeat', models.PositiveSmallIntegerField(default=1, help_text='Which repetition of the same request, from 1.')),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes_judgment', to='sob.interpretation')),
                ],
                options={
                    'indexes': [models.Index(fields=['arm', 'outcome'], name='sob_judgment_by_arm')],
                },
            ),
            migrations.CreateModel(
                name='Audit',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('seed', models.PositiveBigIntegerField(help_text='Number by which the sample can be drawn again.')),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('batch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sob_audits', to='batches.batch')),
                    ('number', models.PositiveIntegerField()),
                    ('scope', models.CharField(choices=[('answers', 'Answers however read'), ('formatter', 'What the formatter read')], max_length=10)),
                    ('size', models.PositiveIntegerField(help_text='If there are fewer answers, all of them are drawn. With 50, an error rate of 10 % is known to within about 8 percentage points.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(5000)], verbose_name='answers')),
                    ('frame', models.PositiveIntegerField()),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['number'],
                    'constraints': [models.UniqueConstraint(fields=('batch', 'number'), name='sob_audit_number_once')],
                },
            ),
            migrations.CreateModel(
                name='AuditItem',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('position', models.PositiveIntegerField(help_text='Shuffled place in the audit, from 1.')),
                    ('audit', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='items', to='sob.audit')),
                    ('judgment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='audit_items', to='sob.judgment')),
                    ('reader', models.CharField(max_length=10)),
                    ('outcome', models.CharField(max_length=15)),
                    ('n_attributes', models.PositiveSmallIntegerField()),
                    ('attributes', models.JSONField(default=dict)),
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
                    ('reviewer', models.ForeignKey(help_text='User name of the person who marked it.', on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('note', models.TextField(blank=True, max_length=5000)),
                    ('number', models.PositiveSmallIntegerField(default=1)),
                    ('after_opening', models.BooleanField(default=False)),
                    ('idempotency_key', models.UUIDField(unique=True)),
                    ('made_at', models.DateTimeField(help_text='When it was marked, in UTC.')),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='sob.auditmark')),
                    ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='marks', to='sob.audititem')),
                    ('parse_right', models.BooleanField()),
                    ('outcome', models.CharField(max_length=15)),
                    ('n_attributes', models.PositiveSmallIntegerField(help_text='Each characteristic with a value counts once, even if the value is a list. A characteristic called unknown does not count.', validators=[django.core.validators.MaxValueValidator(1000)], verbose_name='characteristics that the answer attributes')),
                    ('n_warranted', models.PositiveSmallIntegerField(help_text='Open the text to decide. Texts rarely say who would accept them. Leave this empty for 0.', validators=[django.core.validators.MaxValueValidator(1000)], verbose_name='of these, warranted by the text itself')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('item', 'reviewer', 'number'), name='sob_auditmark_number_once'), models.CheckConstraint(condition=models.Q(('n_warranted__lte', models.F('n_attributes'))), name='sob_auditmark_warranted_at_most_all')],
                },
            ),
            migrations.CreateModel(
                name='AuditOpening',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('opened_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('opened_at', models.DateTimeField()),
                    ('audit', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='openings', to='sob.audit')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('audit', 'opened_by'), name='sob_auditopening_once')],
                },
            ),
            migrations.CreateModel(
                name='StoredReport',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('batch', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sob_reports', to='batches.batch')),
                    ('choice', models.CharField(max_length=64)),
                    ('rules', models.CharField(blank=True, max_length=64)),
                    ('answers', models.CharField(blank=True, max_length=64)),
                    ('as_of', models.DateTimeField(blank=True, null=True)),
                    ('n_answers', models.PositiveIntegerField(default=0)),
                    ('content', models.BinaryField(blank=True, null=True)),
                    ('locked_until', models.DateTimeField(blank=True, null=True)),
                    ('locked_by', models.CharField(blank=True, max_length=200)),
                    ('failures', models.PositiveSmallIntegerField(default=0)),
                    ('failure_reason', models.TextField(blank=True)),
                    ('retry_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('batch', 'choice'), name='sob_storedreport_once')],
                },
            ),
        ]),
    ]
