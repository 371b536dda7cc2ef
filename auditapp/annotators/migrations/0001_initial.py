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
        ('codebook', '0001_initial'),
        ('coding', '0001_initial'),
        ('corpus', '0001_initial'),
        ('llm', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Annotator',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='annotators', to='studies.study')),
                    ('name', models.CharField(help_text='The annotator that made the suggestion: a model with its prompt and codebook version, keyword rules, or a classifier learnt from codings.', max_length=100)),
                    ('number', models.PositiveIntegerField(default=1, help_text='Number of the annotator among those of the same name, from 1. A change of model, prompt or codebook version makes another annotator.')),
                    ('kind', models.CharField(choices=[('model', 'Model'), ('rules', 'Keyword rules of the codebook'), ('learnt', "Learnt from this study's blind codings")], default='model', help_text="model, rules (of the codebook) or learnt (from this study's blind codings).", max_length=10)),
                    ('variant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='annotators', to='llm.modelvariant')),
                    ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='annotators', to='codebook.codebookversion')),
                    ('mode', models.CharField(choices=[('family', 'One call per turn and code family'), ('code', 'One call per turn and code')], default='family', help_text='family: one call for all codes of a family; code: one call per code.', max_length=10)),
                    ('reads_latent', models.BooleanField(default=False)),
                    ('prompt_version', models.CharField(blank=True, max_length=40)),
                    ('recipe', models.JSONField(blank=True, default=dict)),
                    ('hash', models.CharField(blank=True, help_text='SHA-256 of everything that determines its labels; empty for annotators made before hashes.', max_length=64)),
                    ('created_at', models.DateTimeField()),
                    ('created_by_name', models.CharField(blank=True, max_length=200)),
                ],
                options={
                    'ordering': ['study', 'pk'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'name', 'number'), name='annotators_annotator_number_once_per_name'), models.UniqueConstraint(condition=models.Q(('hash', ''), _negated=True), fields=('study', 'hash'), name='annotators_annotator_once'), models.CheckConstraint(condition=models.Q(('kind', 'model'), ('variant__isnull', True), _connector='XOR'), name='annotators_annotator_model_has_variant')],
                },
            ),
            migrations.CreateModel(
                name='OfflineRun',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='annotators.annotator')),
                    ('state', models.CharField(choices=[('planned', 'Planned'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='planned', max_length=10)),
                    ('problem', models.TextField(blank=True)),
                    ('idempotency_key', models.UUIDField(blank=True, null=True, unique=True)),
                    ('asked', models.CharField(blank=True, max_length=64)),
                    ('claimed_by', models.CharField(blank=True, max_length=60)),
                    ('claimed_until', models.DateTimeField(blank=True, null=True)),
                    ('learnt_steps', models.PositiveIntegerField(default=0)),
                    ('learning_steps', models.PositiveIntegerField(default=0)),
                    ('created_at', models.DateTimeField()),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ('launched_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='offline_runs', to=settings.AUTH_USER_MODEL)),
                    ('launched_by_name', models.CharField(max_length=200)),
                    ('interviews', models.ManyToManyField(related_name='+', to='corpus.interview')),
                ],
                options={
                    'ordering': ['pk'],
                },
            ),
            migrations.CreateModel(
                name='TurnAnswer',
                fields=[
                    ('outcome', models.CharField(choices=[('valid', 'Valid'), ('partial', 'Partly valid'), ('invalid', 'Not usable')], max_length=10)),
                    ('problem', models.CharField(blank=True, max_length=300)),
                    ('rejected', models.JSONField(default=list)),
                    ('asked', models.JSONField(default=list)),
                    ('missing', models.JSONField(default=list)),
                    ('cell', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='turn_answer', serialize=False, to='batches.cell')),
                    ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='turn_answers', to='annotators.annotator')),
                    ('accepted', models.PositiveIntegerField(default=0)),
                    ('flags', models.JSONField(default=list)),
                ],
            ),
            migrations.CreateModel(
                name='OfflineAnswer',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='turn_answers', to='annotators.offlinerun')),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='offline_answers', to='corpus.interview')),
                    ('sentences', models.JSONField(default=list)),
                    ('accepted', models.PositiveIntegerField(default=0)),
                    ('read_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('run', 'interview'), name='annotators_offlineanswer_once_per_run')],
                },
            ),
            migrations.CreateModel(
                name='Suggestion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='suggestions', to='annotators.annotator')),
                    ('cell', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='suggestions', to='batches.cell')),
                    ('run', models.ForeignKey(blank=True, help_text='Number of the run without a model.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='suggestions', to='annotators.offlinerun')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='suggestions', to='corpus.sentence')),
                    ('code', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='suggestions', to='codebook.code')),
                    ('level', models.CharField(choices=[('semantic', 'Semantic'), ('latent', 'Latent')], default='semantic', help_text='semantic (said outright) or latent (interpreted from what is said).', max_length=10)),
                    ('enactment', models.CharField(blank=True, choices=[('enacted', 'Enacted'), ('demonstrated', 'Demonstrated'), ('described', 'Described')], db_default='', default='', help_text='For moves: enacted, demonstrated or described; empty if the annotator was not asked for it or cannot determine it.', max_length=15)),
                    ('answers', models.JSONField(db_default={}, default=dict)),
                    ('rationale', models.TextField(blank=True, help_text='The reason given by the annotator.')),
                    ('quote_start', models.PositiveIntegerField(blank=True, help_text="First character of the words given as evidence, in code points of the turn's text.", null=True)),
                    ('quote_end', models.PositiveIntegerField(blank=True, help_text='Character after the last of them.', null=True)),
                    ('score', models.FloatField(blank=True, help_text='The probability given by a learnt annotator, which is not a certainty.', null=True)),
                    ('place', models.PositiveSmallIntegerField(default=0)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('cell', 'sentence', 'code'), name='annotators_suggestion_once_per_answer'), models.UniqueConstraint(fields=('run', 'sentence', 'code'), name='annotators_suggestion_once_per_run'), models.CheckConstraint(condition=models.Q(('cell__isnull', True), ('run__isnull', True), _connector='XOR'), name='annotators_suggestion_has_one_origin'), models.CheckConstraint(condition=models.Q(models.Q(('quote_end__isnull', True), ('quote_start__isnull', True)), ('quote_end__gt', models.F('quote_start')), _connector='OR'), name='annotators_suggestion_quote_is_whole')],
                },
            ),
            migrations.CreateModel(
                name='CriticAnswer',
                fields=[
                    ('cell', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='critic_answer', serialize=False, to='batches.cell')),
                    ('suggestion', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='critic_answers', to='annotators.suggestion')),
                    ('verdict', models.CharField(blank=True, choices=[('upheld', 'Upheld'), ('rejected', 'Rejected')], max_length=10)),
                    ('rationale', models.TextField(blank=True)),
                    ('problem', models.CharField(blank=True, max_length=300)),
                ],
                options={
                    'constraints': [models.CheckConstraint(condition=models.Q(('verdict', ''), ('problem', ''), _connector='XOR'), name='annotators_criticanswer_verdict_or_problem')],
                },
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
                    ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='check_answers', to='annotators.annotator')),
                    ('condition', models.CharField(max_length=20)),
                    ('picks', models.JSONField(default=dict)),
                    ('controls', models.JSONField(default=dict)),
                ],
            ),
            migrations.CreateModel(
                name='ControlSentence',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='control_sentences', to='studies.study')),
                    ('text', models.TextField(help_text='The sentence must be invented and must not occur in any interview.', max_length=500, verbose_name='sentence')),
                    ('codes', models.JSONField(default=list)),
                    ('created_at', models.DateTimeField()),
                    ('created_by_name', models.CharField(max_length=200)),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('study', 'text'), name='annotators_controlsentence_stands_once')],
                },
            ),
            migrations.CreateModel(
                name='WithholdingPlan',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='withholding_plans', to='studies.study')),
                    ('number', models.PositiveIntegerField(help_text='Number of the plan.')),
                    ('share_percent', models.PositiveSmallIntegerField(default=20, help_text='Share of turns that the plan withholds; the default is 20. With 0, neither the influence of suggestions nor agreement with uninfluenced people can be measured.', validators=[django.core.validators.MaxValueValidator(100)], verbose_name='share of turns withheld, in per cent')),
                    ('seed', models.PositiveIntegerField(help_text='Number with which the draw can be repeated. If empty, a number is chosen at random.', validators=[django.core.validators.MaxValueValidator(2147483647)])),
                    ('reason', models.TextField(blank=True, help_text='The reason for the share, in one line; shown with the plan.', max_length=2000)),
                    ('made_at', models.DateTimeField(help_text='When the plan was made, in UTC.')),
                    ('made_by_name', models.CharField(help_text='Who made it.', max_length=200)),
                ],
                options={
                    'ordering': ['study', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='annotators_withholdingplan_number_once'), models.CheckConstraint(condition=models.Q(('share_percent__lte', 100)), name='annotators_withholdingplan_share_is_a_share')],
                },
            ),
            migrations.CreateModel(
                name='TurnArm',
                fields=[
                    ('turn', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='suggestion_arm', serialize=False, to='corpus.turn')),
                    ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='turn_arms', to='annotators.withholdingplan')),
                    ('arm', models.CharField(choices=[('shown', "Shown after the coder's own decision"), ('withheld', 'Withheld')], help_text="shown (after a coder's own decision) or withheld (never); empty if the turn was not drawn.", max_length=10)),
                    ('probability', models.FloatField(help_text='Probability with which the turn was drawn to be withheld.')),
                ],
            ),
            migrations.CreateModel(
                name='DraftInterview',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='draft_interviews', to='corpus.interview')),
                    ('reason', models.TextField(help_text='One line. Labels given there after opening a suggestion are left out of every measure.', max_length=2000)),
                    ('opened_at', models.DateTimeField()),
                    ('opened_by_name', models.CharField(max_length=200)),
                    ('closed_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('closed_at__isnull', True)), fields=('interview',), name='annotators_draftinterview_open_once')],
                },
            ),
            migrations.CreateModel(
                name='CodeChoice',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='code_choices', to='studies.study')),
                    ('code_identifier', models.CharField(help_text='Identifier of the code.', max_length=100)),
                    ('annotator', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='code_choices', to='annotators.annotator')),
                    ('with_critic', models.BooleanField(default=False, help_text='true if suggestions that a critic rejected are left out.')),
                    ('reason', models.TextField(blank=True, max_length=2000, verbose_name='why')),
                    ('chosen_at', models.DateTimeField(help_text='When it was chosen, in UTC.')),
                    ('chosen_by_name', models.CharField(help_text='Who chose.', max_length=200)),
                    ('superseded_at', models.DateTimeField(blank=True, help_text='When it stopped applying, in UTC; empty while it applies.', null=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('superseded_at__isnull', True)), fields=('study', 'code_identifier'), name='annotators_codechoice_stands_once')],
                },
            ),
        ]),
    ]
