import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    replaces = [('corpus', '0001_start'), ('corpus', '0002_recuts'), ('corpus', '0003_consent_and_redaction')]

    initial = True

    dependencies = [
        ('projects', '0002_method_stance'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='ImportedFile',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=255)),
                    ('sha256', models.CharField(max_length=64)),
                    ('size', models.PositiveBigIntegerField()),
                    ('format', models.CharField(max_length=40)),
                    ('imported_by_name', models.CharField(max_length=200)),
                    ('imported_at', models.DateTimeField()),
                    ('imported_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='imported_files', to=settings.AUTH_USER_MODEL)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='imported_files', to='projects.project')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('project', 'sha256'), name='corpus_importedfile_once_per_project')],
                },
            ),
            migrations.CreateModel(
                name='Interview',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('external_id', models.CharField(max_length=200)),
                    ('title', models.CharField(max_length=300)),
                    ('model_label', models.CharField(blank=True, max_length=200)),
                    ('vendor', models.CharField(blank=True, max_length=200)),
                    ('surface', models.CharField(blank=True, max_length=100)),
                    ('period', models.CharField(blank=True, max_length=100)),
                    ('interviewer', models.CharField(blank=True, max_length=200)),
                    ('tier', models.CharField(blank=True, max_length=50)),
                    ('inclusion', models.CharField(blank=True, max_length=50)),
                    ('inclusion_reason', models.TextField(blank=True)),
                    ('opening_prompt', models.TextField(blank=True)),
                    ('language', models.CharField(default='en', max_length=20)),
                    ('metadata', models.JSONField(default=dict)),
                    ('segmenter', models.CharField(max_length=60)),
                    ('turn_count', models.PositiveIntegerField()),
                    ('sentence_count', models.PositiveIntegerField()),
                    ('questions', models.PositiveIntegerField()),
                    ('author_words', models.PositiveIntegerField()),
                    ('model_words', models.PositiveIntegerField()),
                    ('imported_file', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='interviews', to='corpus.importedfile')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='interviews', to='projects.project')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('project', 'external_id'), name='corpus_interview_id_once_per_project')],
                },
            ),
            migrations.CreateModel(
                name='Turn',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('position', models.PositiveIntegerField()),
                    ('role', models.CharField(choices=[('interviewer', 'Interviewer'), ('model', 'Model'), ('system', 'System'), ('tool', 'Tool')], max_length=20)),
                    ('channel', models.CharField(choices=[('utterance', 'Utterance'), ('reasoning', 'Reasoning'), ('tool_call', 'Tool call'), ('tool_result', 'Tool result')], default='utterance', max_length=20)),
                    ('speaker', models.CharField(blank=True, max_length=200)),
                    ('prompt_kind', models.CharField(blank=True, max_length=30)),
                    ('text', models.TextField(blank=True)),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='turns', to='corpus.interview')),
                ],
                options={
                    'ordering': ['interview', 'position'],
                    'constraints': [models.UniqueConstraint(fields=('interview', 'position'), name='corpus_turn_one_per_position')],
                },
            ),
            migrations.CreateModel(
                name='Recut',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('kind', models.CharField(choices=[('split', 'Split'), ('join', 'Join')], max_length=10)),
                    ('client_id', models.UUIDField(unique=True)),
                    ('cut_at', models.DateTimeField()),
                    ('cut_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='recuts', to=settings.AUTH_USER_MODEL)),
                    ('turn', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='recuts', to='corpus.turn')),
                ],
                options={
                    'ordering': ['pk'],
                },
            ),
            migrations.CreateModel(
                name='Consent',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('scope', models.CharField(choices=[('coding', 'Coding by people'), ('external', 'Processing by external models'), ('quotation', 'Quotation in publications'), ('reuse', 'Reuse and training')], max_length=10)),
                    ('is_given', models.BooleanField()),
                    ('basis', models.TextField(blank=True)),
                    ('recorded_at', models.DateTimeField()),
                    ('recorded_by_name', models.CharField(max_length=200)),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='consents', to='corpus.interview')),
                ],
                options={
                    'ordering': ['pk'],
                    'indexes': [models.Index(fields=['interview', 'scope', 'id'], name='corpus_consent_latest')],
                },
            ),
            migrations.CreateModel(
                name='RedactionList',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('number', models.PositiveIntegerField()),
                    ('entries', models.JSONField(default=list)),
                    ('reason', models.TextField(blank=True)),
                    ('made_at', models.DateTimeField()),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='redaction_lists', to='projects.project')),
                ],
                options={
                    'ordering': ['project', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('project', 'number'), name='corpus_redactionlist_number_once')],
                },
            ),
            migrations.CreateModel(
                name='Sentence',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('position', models.PositiveIntegerField()),
                    ('start', models.PositiveIntegerField()),
                    ('end', models.PositiveIntegerField()),
                    ('kind', models.CharField(max_length=12)),
                    ('text_hash', models.CharField(max_length=32)),
                    ('turn', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='sentences', to='corpus.turn')),
                    ('suffix', models.CharField(blank=True, db_default='', default='', max_length=20)),
                    ('made_by', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='made', to='corpus.recut')),
                    ('retired_by', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='retired', to='corpus.recut')),
                ],
                options={
                    'ordering': ['turn', 'position'],
                    'indexes': [models.Index(condition=models.Q(('retired_by__isnull', False)), fields=['turn'], name='corpus_sentence_retired')],
                    'constraints': [models.CheckConstraint(condition=models.Q(('end__gt', models.F('start'))), name='corpus_sentence_not_empty'), models.UniqueConstraint(condition=models.Q(('retired_by__isnull', True)), fields=('turn', 'start'), name='corpus_sentence_stands_once_per_start')],
                },
            ),
        ]),
    ]
