import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('corpus', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='CaseSheet',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='case_sheets', to='corpus.interview')),
                    ('number', models.PositiveIntegerField(help_text='Its number, from 1; the latest is the one that counts.')),
                    ('relevant', models.JSONField(default=list, help_text='Features that matter to the case: a list of objects with feature and reason.')),
                    ('irrelevant', models.JSONField(default=list, help_text='Features that do not matter to the case, in the same form.')),
                    ('intents', models.JSONField(blank=True, default=dict)),
                    ('reason', models.TextField(blank=True, help_text='Why it was written again. Kept with it.', max_length=2000, verbose_name='why it changes')),
                    ('written_at', models.DateTimeField()),
                    ('written_by', models.ForeignKey(blank=True, help_text='Who wrote it; empty for the program.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='case_sheets', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['interview', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('interview', 'number'), name='negotiation_casesheet_number_once')],
                },
            ),
            migrations.CreateModel(
                name='Pair',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='thread_pairs', to='studies.study')),
                    ('name', models.CharField(help_text='The name is part of the page’s address, so it should not reveal the difference.', max_length=100)),
                    ('number', models.PositiveIntegerField(help_text='Its number, from 1; the latest is the one that counts.')),
                    ('a', models.ForeignKey(help_text='The first interview.', on_delete=django.db.models.deletion.PROTECT, related_name='pairs_as_a', to='corpus.interview')),
                    ('b', models.ForeignKey(help_text='The second interview.', on_delete=django.db.models.deletion.PROTECT, related_name='pairs_as_b', to='corpus.interview')),
                    ('differs', models.CharField(help_text='The one thing in which they differ, such as whose case it is.', max_length=500, verbose_name='how they differ')),
                    ('expect', models.CharField(choices=[('change', 'Should change'), ('no_change', 'Should not change')], help_text='change or no_change: whether the difference should change what the model does.', max_length=10, verbose_name='should that change what the model does?')),
                    ('reason', models.TextField(blank=True, help_text='Why it was written again. Kept with it.', max_length=2000, verbose_name='why it changes')),
                    ('made_at', models.DateTimeField(help_text='When they were paired, in UTC.')),
                    ('made_by', models.ForeignKey(blank=True, help_text='Who paired them; empty for the program.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='thread_pairs', to=settings.AUTH_USER_MODEL)),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['study', 'name', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'name', 'number'), name='negotiation_pair_number_once'), models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('study', 'name'), name='negotiation_pair_stands_once'), models.CheckConstraint(condition=models.Q(('a', models.F('b')), _negated=True), name='negotiation_pair_of_two_threads')],
                },
            ),
            migrations.CreateModel(
                name='NormativeStance',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='normative_stances', to='studies.study')),
                    ('name', models.CharField(error_messages={'blank': 'Give the stance a short name, such as care.'}, help_text='One or two words, such as care. Scores give it with its number: care/1.', max_length=60, verbose_name='Name')),
                    ('number', models.PositiveIntegerField(help_text='Its number, from 1; the latest is the one that counts.')),
                    ('statement', models.TextField(error_messages={'blank': 'Say what should be achieved: scores are given under this statement.'}, help_text='What should be achieved, and what a good trajectory does to achieve it.', max_length=20000, verbose_name='Statement')),
                    ('priorities', models.TextField(blank=True, help_text='The people affected by the answers whose interests come first.', max_length=20000, verbose_name='Whose interests come first')),
                    ('trade_offs', models.TextField(blank=True, help_text='What may be traded for what, and what may never be given up.', max_length=20000, verbose_name='Acceptable trade-offs')),
                    ('justification', models.TextField(blank=True, help_text='What the model must say so that the people concerned can contest it.', max_length=20000, verbose_name='What counts as an answerable justification')),
                    ('context', models.TextField(blank=True, help_text='The use that the stance is written for: who uses the model, and with whom.', max_length=20000, verbose_name='Deployment context')),
                    ('author', models.CharField(error_messages={'blank': 'Say whose stance this is: a person, a team, a document.'}, help_text='A person, a team, a document. Reports name it first.', max_length=200, verbose_name='Whose stance it is')),
                    ('reason', models.TextField(blank=True, help_text='Why it was written again. Kept with it.', max_length=2000, verbose_name='why it changes')),
                    ('sha256', models.CharField(help_text='SHA-256 of the wording.', max_length=64)),
                    ('written_at', models.DateTimeField()),
                    ('written_by', models.ForeignKey(help_text='Who stored it.', on_delete=django.db.models.deletion.PROTECT, related_name='normative_stances', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['study', 'name', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'name', 'number'), name='negotiation_normativestance_number_once')],
                },
            ),
            migrations.CreateModel(
                name='Score',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('stance', models.ForeignKey(help_text='Number of the wording of the normative stance under which it is given.', on_delete=django.db.models.deletion.PROTECT, related_name='scores', to='negotiation.normativestance')),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='scores', to='corpus.interview')),
                    ('criterion', models.CharField(choices=[('features', 'The features it constructs fit the priorities'), ('moves', 'Its moves serve them'), ('consistency', 'Later moves agree with earlier ones'), ('answerability', 'Its justification is answerable'), ('warranted', 'The entry is warranted'), ('updated', 'Rightly updated after the challenge')], help_text='features, moves, consistency or answerability for a thread; warranted or updated for a determination.', max_length=15)),
                    ('turn', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='scores', to='corpus.turn')),
                    ('feature', models.CharField(blank=True, help_text='Identifier of the feature whose entry is judged.', max_length=100)),
                    ('value', models.PositiveSmallIntegerField(blank=True, help_text='0 to 3, or for a determination 1 (yes) or 0 (no); empty: not applicable, or unclear.', null=True)),
                    ('note', models.TextField(blank=True, help_text='What the person noted.', max_length=1000)),
                    ('coder', models.ForeignKey(help_text='User name of the person who judged.', on_delete=django.db.models.deletion.PROTECT, related_name='scores', to=settings.AUTH_USER_MODEL)),
                    ('blinding', models.CharField(choices=[('blind', 'Blind'), ('assisted', "After seeing others' labels")], default='blind', max_length=10)),
                    ('idempotency_key', models.UUIDField()),
                    ('created_at', models.DateTimeField()),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='negotiation.score')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('turn__isnull', True), ('withdrawn_at__isnull', True)), fields=('stance', 'interview', 'criterion', 'coder'), name='negotiation_score_stands_once_per_thread'), models.UniqueConstraint(condition=models.Q(('turn__isnull', False), ('withdrawn_at__isnull', True)), fields=('stance', 'turn', 'criterion', 'feature', 'coder'), name='negotiation_score_stands_once_per_turn'), models.UniqueConstraint(fields=('coder', 'idempotency_key'), name='negotiation_score_stored_once'), models.CheckConstraint(condition=models.Q(models.Q(('criterion__in', ['features', 'moves', 'consistency', 'answerability']), ('feature', ''), ('turn__isnull', True)), models.Q(('criterion', 'warranted'), ('turn__isnull', False), models.Q(('feature', ''), _negated=True)), models.Q(('criterion', 'updated'), ('feature', ''), ('turn__isnull', False)), _connector='OR'), name='negotiation_score_is_of_its_place'), models.CheckConstraint(condition=models.Q(('value__isnull', True), ('value__lte', 1), models.Q(('criterion__in', ['features', 'moves', 'consistency', 'answerability']), ('value__lte', 3)), _connector='OR'), name='negotiation_score_in_its_range')],
                },
            ),
            migrations.CreateModel(
                name='ScoreEvidence',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('score', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='evidence', to='negotiation.score')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='scores', to='corpus.sentence')),
                    ('quote_start', models.PositiveIntegerField(blank=True, help_text="First marked character in the sentence, in code points of the turn's text, if any.", null=True)),
                    ('quote_end', models.PositiveIntegerField(blank=True, help_text='Character after the last marked one.', null=True)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('score', 'sentence'), name='negotiation_scoreevidence_once_per_score'), models.CheckConstraint(condition=models.Q(models.Q(('quote_end__isnull', True), ('quote_start__isnull', True)), ('quote_end__gt', models.F('quote_start')), _connector='OR'), name='negotiation_scoreevidence_quote_is_whole')],
                },
            ),
        ]),
    ]
