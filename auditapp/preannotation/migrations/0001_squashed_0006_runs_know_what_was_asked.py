import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    replaces = [('preannotation', '0001_start'), ('preannotation', '0002_trust'), ('preannotation', '0003_number_annotators'), ('preannotation', '0004_annotator_number_once'), ('preannotation', '0005_audit_results'), ('preannotation', '0006_runs_know_what_was_asked')]

    initial = True

    dependencies = [
        ('batches', '0004_attempts_know_their_arm'),
        ('codebook', '0003_keyword_rules'),
        ('coding', '0006_desk_settings'),
        ('corpus', '0003_consent_and_redaction'),
        ('llm', '0004_variants_belong_to_accounts'),
        ('projects', '0002_method_stance'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Annotator',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=100)),
                    ('created_at', models.DateTimeField()),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='annotators', to='projects.project')),
                    ('variant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='annotators', to='llm.modelvariant')),
                    ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='annotators', to='codebook.codebookversion')),
                    ('created_by_name', models.CharField(blank=True, max_length=200)),
                    ('hash', models.CharField(blank=True, max_length=64)),
                    ('kind', models.CharField(choices=[('model', 'Model'), ('rules', 'Keyword rules of the codebook'), ('learnt', "Learnt from this study's blind codings")], default='model', max_length=10)),
                    ('mode', models.CharField(choices=[('family', 'One call per turn and code family'), ('code', 'One call per turn and code')], default='family', max_length=10)),
                    ('number', models.PositiveIntegerField(default=1)),
                    ('prompt_version', models.CharField(blank=True, max_length=40)),
                    ('reads_latent', models.BooleanField(default=False)),
                    ('recipe', models.JSONField(blank=True, default=dict)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('hash', ''), _negated=True), fields=('project', 'hash'), name='preannotation_annotator_once'), models.CheckConstraint(condition=models.Q(('kind', 'model'), ('variant__isnull', True), _connector='XOR'), name='preannotation_annotator_model_has_variant'), models.UniqueConstraint(fields=('project', 'name', 'number'), name='preannotation_annotator_number_once_per_name')],
                    'ordering': ['project', 'pk'],
                },
            ),
            migrations.CreateModel(
                name='Reading',
                fields=[
                    ('cell', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='reading', serialize=False, to='batches.cell')),
                    ('outcome', models.CharField(choices=[('valid', 'Valid'), ('partial', 'Partly valid'), ('invalid', 'Not usable')], max_length=10)),
                    ('problem', models.CharField(blank=True, max_length=300)),
                    ('accepted', models.PositiveIntegerField(default=0)),
                    ('rejected', models.JSONField(default=list)),
                    ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='readings', to='preannotation.annotator')),
                    ('asked', models.JSONField(default=list)),
                    ('flags', models.JSONField(default=list)),
                    ('missing', models.JSONField(default=list)),
                ],
            ),
            migrations.CreateModel(
                name='CheckAnswer',
                fields=[
                    ('outcome', models.CharField(choices=[('valid', 'Valid'), ('partial', 'Partly valid'), ('invalid', 'Not usable')], max_length=10)),
                    ('problem', models.CharField(blank=True, max_length=300)),
                    ('rejected', models.JSONField(default=list)),
                    ('asked', models.JSONField(default=list)),
                    ('missing', models.JSONField(default=list)),
                    ('cell', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='check_answer', serialize=False, to='batches.cell')),
                    ('condition', models.CharField(max_length=20)),
                    ('picks', models.JSONField(default=dict)),
                    ('planted', models.JSONField(default=dict)),
                    ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='check_answers', to='preannotation.annotator')),
                ],
                options={
                    'abstract': False,
                },
            ),
            migrations.CreateModel(
                name='CodeChoice',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('code_identifier', models.CharField(max_length=100)),
                    ('with_critic', models.BooleanField(default=False)),
                    ('reason', models.TextField(blank=True)),
                    ('chosen_at', models.DateTimeField()),
                    ('chosen_by_name', models.CharField(max_length=200)),
                    ('superseded_at', models.DateTimeField(blank=True, null=True)),
                    ('annotator', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='code_choices', to='preannotation.annotator')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='code_choices', to='projects.project')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('superseded_at__isnull', True)), fields=('project', 'code_identifier'), name='preannotation_codechoice_stands_once')],
                },
            ),
            migrations.CreateModel(
                name='Disagreement',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('code_identifier', models.CharField(max_length=100)),
                    ('category', models.CharField(choices=[('misreading', 'Misreading of the sentence'), ('meta', 'Talk about the thing, not the thing'), ('context', 'Context was missing'), ('definition', 'Gap in the definition'), ('alternative', 'Legitimate alternative reading'), ('slip', "A person's slip")], max_length=12)),
                    ('note', models.TextField(blank=True)),
                    ('sorted_at', models.DateTimeField()),
                    ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='disagreements', to='preannotation.annotator')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='machine_disagreements', to='corpus.sentence')),
                    ('sorted_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sorted_disagreements', to=settings.AUTH_USER_MODEL)),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='preannotation.disagreement')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('superseded_by__isnull', True)), fields=('annotator', 'sentence', 'code_identifier'), name='preannotation_disagreement_stands_once')],
                },
            ),
            migrations.CreateModel(
                name='DraftReading',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('reason', models.TextField()),
                    ('opened_at', models.DateTimeField()),
                    ('opened_by_name', models.CharField(max_length=200)),
                    ('closed_at', models.DateTimeField(blank=True, null=True)),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='draft_readings', to='corpus.interview')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('closed_at__isnull', True)), fields=('interview',), name='preannotation_draftreading_open_once')],
                },
            ),
            migrations.CreateModel(
                name='OfflineRun',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('state', models.CharField(choices=[('planned', 'Planned'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='planned', max_length=10)),
                    ('problem', models.TextField(blank=True)),
                    ('client_id', models.UUIDField(blank=True, null=True, unique=True)),
                    ('claimed_by', models.CharField(blank=True, max_length=60)),
                    ('claimed_until', models.DateTimeField(blank=True, null=True)),
                    ('created_at', models.DateTimeField()),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ('launched_by_name', models.CharField(max_length=200)),
                    ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='preannotation.annotator')),
                    ('interviews', models.ManyToManyField(related_name='+', to='corpus.interview')),
                    ('launched_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='offline_runs', to=settings.AUTH_USER_MODEL)),
                    ('asked', models.CharField(blank=True, max_length=64)),
                ],
                options={
                    'ordering': ['pk'],
                },
            ),
            migrations.CreateModel(
                name='PlantedSentence',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('text', models.TextField()),
                    ('codes', models.JSONField(default=list)),
                    ('created_at', models.DateTimeField()),
                    ('created_by_name', models.CharField(max_length=200)),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='planted_sentences', to='projects.project')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('project', 'text'), name='preannotation_plantedsentence_stands_once')],
                },
            ),
            migrations.CreateModel(
                name='PositiveAudit',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('with_critic', models.BooleanField(default=False)),
                    ('per_code', models.PositiveSmallIntegerField(default=60)),
                    ('seed', models.PositiveIntegerField()),
                    ('drawn_at', models.DateTimeField()),
                    ('drawn_by_name', models.CharField(max_length=200)),
                    ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='positive_audits', to='preannotation.annotator')),
                ],
                options={
                    'ordering': ['pk'],
                },
            ),
            migrations.CreateModel(
                name='Showing',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('arm', models.CharField(choices=[('shown', "Shown after one's own decision"), ('withheld', 'Withheld')], max_length=10)),
                    ('is_draft', models.BooleanField(default=False)),
                    ('suggestions', models.JSONField(default=list)),
                    ('own_codes', models.JSONField(default=list)),
                    ('shown_at', models.DateTimeField()),
                    ('closed_at', models.DateTimeField(blank=True, null=True)),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='showings', to=settings.AUTH_USER_MODEL)),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='showings', to='corpus.sentence')),
                ],
                options={
                    'ordering': ['pk'],
                    'indexes': [models.Index(fields=['sentence', 'coder'], name='preannotation_showing_of')],
                },
            ),
            migrations.CreateModel(
                name='WithholdingPlan',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('number', models.PositiveIntegerField()),
                    ('share_percent', models.PositiveSmallIntegerField(default=20)),
                    ('seed', models.PositiveIntegerField()),
                    ('reason', models.TextField(blank=True)),
                    ('made_at', models.DateTimeField()),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='withholding_plans', to='projects.project')),
                ],
                options={
                    'ordering': ['project', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('project', 'number'), name='preannotation_withholdingplan_number_once'), models.CheckConstraint(condition=models.Q(('share_percent__lte', 100)), name='preannotation_withholdingplan_share_is_a_share')],
                },
            ),
            migrations.CreateModel(
                name='ResultsOpening',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('opened_at', models.DateTimeField()),
                    ('audit', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='results_openings', to='preannotation.positiveaudit')),
                    ('reader', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='results_openings', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('audit', 'reader'), name='preannotation_resultsopening_once_per_person')],
                },
            ),
            migrations.CreateModel(
                name='Suggestion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('rationale', models.TextField(blank=True)),
                    ('place', models.PositiveSmallIntegerField(default=0)),
                    ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='suggestions', to='preannotation.annotator')),
                    ('cell', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='suggestions', to='batches.cell')),
                    ('code', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='suggestions', to='codebook.code')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='suggestions', to='corpus.sentence')),
                    ('level', models.CharField(choices=[('semantic', 'Semantic'), ('latent', 'Latent')], default='semantic', max_length=10)),
                    ('quote_end', models.PositiveIntegerField(blank=True, null=True)),
                    ('quote_start', models.PositiveIntegerField(blank=True, null=True)),
                    ('score', models.FloatField(blank=True, null=True)),
                    ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='suggestions', to='preannotation.offlinerun')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('cell', 'sentence', 'code'), name='preannotation_suggestion_once_per_answer'), models.UniqueConstraint(fields=('run', 'sentence', 'code'), name='preannotation_suggestion_once_per_run'), models.CheckConstraint(condition=models.Q(('cell__isnull', True), ('run__isnull', True), _connector='XOR'), name='preannotation_suggestion_has_one_origin'), models.CheckConstraint(condition=models.Q(models.Q(('quote_end__isnull', True), ('quote_start__isnull', True)), ('quote_end__gt', models.F('quote_start')), _connector='OR'), name='preannotation_suggestion_quote_is_whole')],
                },
            ),
            migrations.CreateModel(
                name='Response',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('verdict', models.CharField(choices=[('kept', 'Kept'), ('left', 'Left'), ('edited', 'Edited'), ('undone', 'Taken back')], max_length=10)),
                    ('reason', models.TextField(blank=True)),
                    ('created_at', models.DateTimeField()),
                    ('superseded_at', models.DateTimeField(blank=True, null=True)),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='suggestion_responses', to=settings.AUTH_USER_MODEL)),
                    ('coding', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='suggestion_responses', to='coding.coding')),
                    ('suggestion', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='responses', to='preannotation.suggestion')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('superseded_at__isnull', True)), fields=('suggestion', 'coder'), name='preannotation_response_stands_once'), models.CheckConstraint(condition=models.Q(('verdict__in', ['left', 'undone']), ('coding__isnull', False), _connector='XOR'), name='preannotation_response_kept_has_coding')],
                },
            ),
            migrations.CreateModel(
                name='AuditedSuggestion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('place', models.PositiveIntegerField()),
                    ('population', models.PositiveIntegerField()),
                    ('suggestion', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='audited', to='preannotation.suggestion')),
                    ('audit', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='items', to='preannotation.positiveaudit')),
                ],
                options={
                    'ordering': ['audit', 'place'],
                    'constraints': [models.UniqueConstraint(fields=('audit', 'suggestion'), name='preannotation_auditedsuggestion_once'), models.UniqueConstraint(fields=('audit', 'place'), name='preannotation_auditedsuggestion_one_per_place')],
                },
            ),
            migrations.CreateModel(
                name='CriticReading',
                fields=[
                    ('cell', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='critic_reading', serialize=False, to='batches.cell')),
                    ('verdict', models.CharField(blank=True, choices=[('upheld', 'Upheld'), ('reversed', 'Reversed')], max_length=10)),
                    ('rationale', models.TextField(blank=True)),
                    ('problem', models.CharField(blank=True, max_length=300)),
                    ('suggestion', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='critic_readings', to='preannotation.suggestion')),
                ],
                options={
                    'constraints': [models.CheckConstraint(condition=models.Q(('verdict', ''), ('problem', ''), _connector='XOR'), name='preannotation_criticreading_verdict_or_problem')],
                },
            ),
            migrations.CreateModel(
                name='OfflineReading',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('sentences', models.JSONField(default=list)),
                    ('accepted', models.PositiveIntegerField(default=0)),
                    ('read_at', models.DateTimeField()),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='offline_readings', to='corpus.interview')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='readings', to='preannotation.offlinerun')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('run', 'interview'), name='preannotation_offlinereading_once_per_run')],
                },
            ),
            migrations.CreateModel(
                name='PositiveMark',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('verdict', models.CharField(choices=[('applies', 'The code applies'), ('does_not', 'It does not'), ('unclear', 'Cannot be said')], max_length=10)),
                    ('note', models.TextField(blank=True)),
                    ('client_id', models.UUIDField()),
                    ('marked_at', models.DateTimeField()),
                    ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='marks', to='preannotation.auditedsuggestion')),
                    ('reader', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='positive_marks', to=settings.AUTH_USER_MODEL)),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='preannotation.positivemark')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('superseded_by__isnull', True)), fields=('item', 'reader'), name='preannotation_positivemark_stands_once'), models.UniqueConstraint(fields=('reader', 'client_id'), name='preannotation_positivemark_stored_once')],
                },
            ),
            migrations.CreateModel(
                name='TurnArm',
                fields=[
                    ('turn', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='suggestion_arm', serialize=False, to='corpus.turn')),
                    ('arm', models.CharField(choices=[('shown', "Shown after one's own decision"), ('withheld', 'Withheld')], max_length=10)),
                    ('probability', models.FloatField()),
                    ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='turn_arms', to='preannotation.withholdingplan')),
                ],
            ),
        ]),
    ]
