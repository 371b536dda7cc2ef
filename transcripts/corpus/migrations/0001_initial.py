import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('jobs', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='ImportedFile',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='imported_files', to='studies.study')),
                    ('name', models.CharField(help_text='Name of the file it was imported from.', max_length=255)),
                    ('sha256', models.CharField(help_text='SHA-256 of that file.', max_length=64)),
                    ('size', models.PositiveBigIntegerField()),
                    ('format', models.CharField(max_length=40)),
                    ('imported_by_name', models.CharField(max_length=200)),
                    ('imported_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='imported_files', to=settings.AUTH_USER_MODEL)),
                    ('imported_at', models.DateTimeField()),
                    ('reader_version', models.CharField(blank=True, db_default='', default='', max_length=20)),
                    ('state', models.CharField(choices=[('storing', 'Being stored'), ('abandoned', 'Given up, to be removed'), ('stored', 'Stored'), ('undone', 'Undone')], db_default='stored', default='stored', max_length=10)),
                    ('touched_at', models.DateTimeField(blank=True, null=True)),
                    ('job', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='imported_files', to='jobs.importjob')),
                    ('runner', models.CharField(blank=True, db_default='', max_length=32)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'undone'), _negated=True), fields=('study', 'sha256'), name='corpus_importedfile_once_per_study')],
                },
            ),
            migrations.CreateModel(
                name='Turn',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='turns', to='corpus.interview')),
                    ('position', models.PositiveIntegerField(help_text='Place of the turn in the interview, counted from 1 over all speakers.')),
                    ('role', models.CharField(choices=[('interviewer', 'Interviewer'), ('model', 'Model'), ('system', 'System'), ('tool', 'Tool')], help_text='Who speaks: interviewer, model, system or tool.', max_length=20)),
                    ('channel', models.CharField(choices=[('utterance', 'Utterance'), ('reasoning', 'Reasoning'), ('tool_call', 'Tool call'), ('tool_result', 'Tool result')], default='utterance', help_text='utterance, reasoning, tool_call or tool_result.', max_length=20)),
                    ('speaker', models.CharField(blank=True, help_text='Name of the speaker as imported; for tool traffic, name of the tool.', max_length=200)),
                    ('prompt_kind', models.CharField(blank=True, help_text='The kind of question, if the file gives it.', max_length=30)),
                    ('text', models.TextField(blank=True, help_text='The exact words.')),
                    ('call_id', models.CharField(blank=True, db_default='', default='', help_text="The id that links a tool's result to its call; empty if the file has none.", max_length=200)),
                    ('details', models.JSONField(db_default={}, default=dict, help_text='Everything else that the file says about the turn, such as time, model, tokens and errors: an object.')),
                    ('is_answer', models.BooleanField(db_default=False, default=False, help_text='true for turns that coders decide: what the model says, and in trajectories its calls.')),
                ],
                options={
                    'ordering': ['interview', 'position'],
                    'constraints': [models.UniqueConstraint(fields=('interview', 'position'), name='corpus_turn_one_per_position')],
                },
            ),
            migrations.CreateModel(
                name='Interview',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='interviews', to='studies.study')),
                    ('owning_study', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='every_interview', to='studies.study')),
                    ('standing', models.CharField(choices=[('counted', 'Counted'), ('archived', 'Archived'), ('excluded', 'Excluded'), ('undone', 'Import undone')], db_default='counted', default='counted', help_text='counted, archived or excluded. The last two appear only in files that include them on request.', max_length=10)),
                    ('imported_file', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='interviews', to='corpus.importedfile')),
                    ('kind', models.CharField(choices=[('interview', 'Interview'), ('trajectory', 'Trajectory')], db_default='interview', default='interview', help_text='interview, or trajectory: the run of an agent.', max_length=12)),
                    ('hangs_on', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='threads', to='corpus.turn')),
                    ('relation', models.CharField(blank=True, choices=[('branch', 'Branch'), ('subagent', 'Run of a sub-agent'), ('continuation', 'Continuation')], db_default='', default='', help_text='How it continues from a turn of another interview: branch, subagent or continuation; empty if it does not.', max_length=12)),
                    ('run', models.JSONField(db_default={}, default=dict, help_text='What the file says about a run: an object with task, status and scores.')),
                    ('mask_label', models.CharField(blank=True, db_default='', default='', help_text='Random label of a masked import; empty if it was not masked.', max_length=12)),
                    ('unmasked_at', models.DateTimeField(blank=True, help_text='When it was unmasked, in UTC; empty while it is masked.', null=True)),
                    ('external_id', models.CharField(help_text='Identifier in its file; for a masked interview its random label, until it is unmasked.', max_length=200)),
                    ('title', models.CharField(help_text='Title in its file; for a masked interview its random label, until it is unmasked.', max_length=300)),
                    ('model_label', models.CharField(blank=True, help_text='Label of the interviewed model, as imported or written; empty when not known.', max_length=200, verbose_name='model')),
                    ('vendor', models.CharField(blank=True, help_text='Maker of the model.', max_length=200)),
                    ('surface', models.CharField(blank=True, help_text='Where the interview took place: a public page or an API.', max_length=100)),
                    ('period', models.CharField(blank=True, help_text='When the interview took place, as imported or written, such as 2025-03.', max_length=100, verbose_name='date')),
                    ('interviewer', models.CharField(blank=True, help_text='Who asked.', max_length=200)),
                    ('tier', models.CharField(blank=True, help_text='Kind of interview, such as brief or comprehensive.', max_length=50)),
                    ('inclusion', models.CharField(blank=True, help_text='Whether it is analysed. If “excluded”, it is left out of every list and figure.', max_length=50)),
                    ('inclusion_reason', models.TextField(blank=True, help_text='Why it is analysed, or why not.', max_length=2000, verbose_name='reason for the inclusion')),
                    ('opening_prompt', models.TextField(blank=True, help_text='The words it began with, if they are kept separately.')),
                    ('language', models.CharField(default='en', help_text='Language of the text, as a tag such as en; empty: unknown.', max_length=20)),
                    ('metadata', models.JSONField(default=dict, help_text='Everything else that the file says about the interview: an object.')),
                    ('segmenter', models.CharField(help_text='The program that divided it into sentences, with its version.', max_length=60)),
                    ('turn_count', models.PositiveIntegerField(help_text='Number of turns.')),
                    ('sentence_count', models.PositiveIntegerField(help_text='Number of sentences at import.')),
                    ('questions', models.PositiveIntegerField(help_text='Number of questions that the interviewer asked.')),
                    ('author_words', models.PositiveIntegerField(help_text='Number of words said by the interviewer; a word is a run of characters between white space.')),
                    ('model_words', models.PositiveIntegerField(help_text='Number of words said by the model.')),
                ],
                options={
                    'ordering': ['pk'],
                    'indexes': [models.Index(fields=['owning_study', 'standing'], name='corpus_interview_standing')],
                    'constraints': [models.UniqueConstraint(fields=('study', 'external_id'), name='corpus_interview_id_once_per_study'), models.UniqueConstraint(condition=models.Q(('standing', 'undone'), _negated=True), fields=('owning_study', 'external_id'), name='corpus_interview_id_once_until_undone'), models.UniqueConstraint(condition=models.Q(('mask_label', ''), _negated=True), fields=('owning_study', 'mask_label'), name='corpus_interview_label_once_per_owning_study'), models.CheckConstraint(condition=models.Q(('study__isnull', True), models.Q(('owning_study', models.F('study')), ('owning_study__isnull', False), ('standing', 'counted')), _connector='OR'), name='corpus_interview_counts_in_its_study'), models.CheckConstraint(condition=models.Q(models.Q(('hangs_on__isnull', True), ('relation', '')), models.Q(models.Q(('relation', ''), _negated=True), ('hangs_on__isnull', False)), _connector='OR'), name='corpus_interview_hangs_in_a_relation')],
                },
            ),
            migrations.CreateModel(
                name='MaskedFacts',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('interview', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='masked_facts', to='corpus.interview')),
                    ('external_id', models.CharField(blank=True, db_default='', db_index=True, default='', max_length=200)),
                    ('facts', models.JSONField(default=dict)),
                    ('turns', models.JSONField(default=dict)),
                    ('names_covered', models.PositiveIntegerField(default=0)),
                ],
            ),
            migrations.CreateModel(
                name='BoundaryEdit',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('turn', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='boundary_edits', to='corpus.turn')),
                    ('kind', models.CharField(choices=[('split', 'Split'), ('merge', 'Merge')], help_text='split or merge.', max_length=10)),
                    ('idempotency_key', models.UUIDField(unique=True)),
                    ('edited_at', models.DateTimeField(help_text='When, in UTC.')),
                    ('edited_by', models.ForeignKey(help_text='Who did it.', on_delete=django.db.models.deletion.PROTECT, related_name='boundary_edits', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['pk'],
                },
            ),
            migrations.CreateModel(
                name='InterviewChange',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='corpus.interview')),
                    ('turn', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='corpus.turn')),
                    ('field', models.CharField(max_length=30)),
                    ('old', models.TextField(blank=True)),
                    ('new', models.TextField(blank=True)),
                    ('reason', models.TextField(blank=True)),
                    ('changed_at', models.DateTimeField()),
                    ('changed_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='interview_changes', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['pk'],
                },
            ),
            migrations.CreateModel(
                name='InterviewVersion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='corpus.interview')),
                    ('number', models.PositiveIntegerField()),
                    ('imported_file', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='corpus.importedfile')),
                    ('first_turn', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='corpus.turn')),
                    ('turns', models.PositiveIntegerField()),
                    ('sentences', models.PositiveIntegerField()),
                ],
                options={
                    'ordering': ['interview', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('interview', 'number'), name='corpus_interviewversion_number_once')],
                },
            ),
            migrations.CreateModel(
                name='Sentence',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('turn', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='sentences', to='corpus.turn')),
                    ('position', models.PositiveIntegerField(help_text='Place of the sentence in the interview as it was segmented at import, counted from 1.')),
                    ('start', models.PositiveIntegerField(help_text="First character of the sentence in the turn's text, in code points counted from 0.")),
                    ('end', models.PositiveIntegerField(help_text='The character after the last character of the sentence.')),
                    ('kind', models.CharField(help_text='Kind of unit: sentence, list item, heading, call, result and others.', max_length=12)),
                    ('text_hash', models.CharField(max_length=32)),
                    ('suffix', models.CharField(blank=True, db_default='', default='', max_length=20)),
                    ('made_by', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='made', to='corpus.boundaryedit')),
                    ('retired_by', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='retired', to='corpus.boundaryedit')),
                ],
                options={
                    'ordering': ['turn', 'position'],
                    'indexes': [models.Index(fields=['turn'], name='corpus_sentence_turn')],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('retired_by__isnull', True)), fields=('turn', 'start'), name='corpus_sentence_stands_once_per_start'), models.CheckConstraint(condition=models.Q(('end__gt', models.F('start'))), name='corpus_sentence_not_empty')],
                },
            ),
            migrations.CreateModel(
                name='Consent',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='consents', to='corpus.interview')),
                    ('scope', models.CharField(choices=[('coding', 'Coding by people'), ('external', 'Processing by external models'), ('quotation', 'Quotation in publications'), ('reuse', 'Reuse and training')], help_text='coding (by people), external (models outside the site), quotation (in publications) or reuse (and training).', max_length=10)),
                    ('is_given', models.BooleanField(help_text='true: allowed; false: refused or withdrawn.')),
                    ('basis', models.TextField(blank=True, help_text='Basis of the consent: a form and its date, the terms of a platform, a letter. No names are needed.', max_length=2000)),
                    ('recorded_at', models.DateTimeField(help_text='When it was recorded, in UTC.')),
                    ('recorded_by_name', models.CharField(help_text='Who recorded it.', max_length=200)),
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
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='redaction_lists', to='studies.study')),
                    ('number', models.PositiveIntegerField(help_text='Its number, from 1; the latest is the one that counts.')),
                    ('entries', models.JSONField(default=list)),
                    ('reason', models.TextField(blank=True, help_text='Why it was written again. Kept with it.', max_length=2000, verbose_name='why it changes')),
                    ('made_at', models.DateTimeField()),
                    ('made_by_name', models.CharField(max_length=200)),
                ],
                options={
                    'ordering': ['study', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='corpus_redactionlist_number_once')],
                },
            ),
        ]),
    ]
