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
        ('corpus', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Script',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='scripts', to='studies.project')),
                    ('name', models.CharField(help_text='What it is called, such as gender. Its first number is then gender/1.', max_length=100)),
                    ('number', models.PositiveIntegerField(help_text='Its number, from 1; the latest is the one that counts.')),
                    ('use', models.CharField(choices=[('interview', 'Interview'), ('scenario', 'Scenario')], help_text='interview or scenario.', max_length=10)),
                    ('suite', models.CharField(blank=True, help_text='The suite of a scenario.', max_length=100)),
                    ('system', models.TextField(blank=True, help_text='What the model is given before the first turn; empty for nothing, as in the published interviews.', verbose_name='system prompt')),
                    ('openings', models.JSONField(blank=True, default=list, help_text='What an interview may begin with: a list of objects with id and text.')),
                    ('max_questions', models.PositiveSmallIntegerField(blank=True, help_text='The most questions of an interview, the opening counted.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(200)], verbose_name='most questions')),
                    ('case', models.JSONField(blank=True, default=dict, help_text='What a scenario is about, as docs/reference/formats.md describes it.')),
                    ('consents', models.JSONField(blank=True, default=dict, help_text='What is recorded on each thread: whether each scope is given.')),
                    ('consent_basis', models.TextField(blank=True, help_text='What the consents rest on, recorded with every interview held by this script. A talk held with one provider is no consent to send it to another.', max_length=2000, verbose_name='what the consents rest on')),
                    ('language', models.CharField(default='en', help_text='Language of the talk.', max_length=20)),
                    ('reason', models.TextField(blank=True, help_text='Why it was written again. Kept with it.', max_length=2000, verbose_name='why it changes')),
                    ('sha256', models.CharField(help_text='SHA-256 of all that is to be said.', max_length=64)),
                    ('written_at', models.DateTimeField()),
                    ('written_by_name', models.CharField(help_text='Who wrote it.', max_length=200)),
                    ('written_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='scripts', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['project', 'name', 'number'],
                    'indexes': [models.Index(fields=['project', 'suite'], name='scenarios_script_suite')],
                    'constraints': [models.UniqueConstraint(fields=('project', 'name', 'number'), name='scenarios_script_number_once')],
                },
            ),
            migrations.CreateModel(
                name='Play',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='plays', to='studies.project')),
                    ('script', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='plays', to='scenarios.script')),
                    ('arm', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='plays', to='batches.arm')),
                    ('repeat', models.PositiveSmallIntegerField(default=1, help_text='Which time the script was played, from 1.')),
                    ('mode', models.CharField(choices=[('asked', 'Asked here'), ('recorded', 'Recorded from a chat page'), ('run', 'Run by its script')], help_text='asked (here, through an account) or recorded (from a chat page).', max_length=10)),
                    ('label', models.CharField(help_text='The title of the thread; unless another is given, script and model.', max_length=200, verbose_name='name')),
                    ('opening', models.CharField(blank=True, help_text='The opening it began with.', max_length=60)),
                    ('state', models.CharField(choices=[('open', 'Open'), ('stored', 'Stored as a thread'), ('failed', 'Failed'), ('discarded', 'Discarded')], default='open', help_text='Whether it goes on, or how it ended.', max_length=10)),
                    ('surface', models.CharField(blank=True, help_text='The chat page that it is recorded from, such as chat.example; API for one that is held here.', max_length=100, verbose_name='chat page')),
                    ('model_as_shown', models.CharField(blank=True, help_text='What the chat page of a recorded interview calls its model.', max_length=200, verbose_name='model as the chat page shows it')),
                    ('vendor', models.CharField(blank=True, help_text='Who runs the model, in the interviewer’s words.', max_length=200)),
                    ('tier', models.CharField(blank=True, help_text='Such as brief or comprehensive, where these are distinguished.', max_length=50)),
                    ('branch_of', models.ForeignKey(blank=True, help_text='Number of the play that it branches off, if any.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='branches', to='scenarios.play')),
                    ('after_position', models.PositiveSmallIntegerField(blank=True, help_text='Number of the question of that play after which it branches off.', null=True)),
                    ('interview', models.OneToOneField(blank=True, help_text='The interview that it became, if any.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='play', to='corpus.interview')),
                    ('inclusion', models.CharField(blank=True, max_length=50)),
                    ('inclusion_reason', models.TextField(blank=True, max_length=2000)),
                    ('idempotency_key', models.UUIDField(blank=True, null=True, unique=True)),
                    ('opened_at', models.DateTimeField(help_text='When it was opened.')),
                    ('opened_by_name', models.CharField(help_text='Who opened it.', max_length=200)),
                    ('opened_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='plays', to=settings.AUTH_USER_MODEL)),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'indexes': [models.Index(fields=['project', 'mode', 'state'], name='scenarios_play_of_study')],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('arm__isnull', False)), fields=('arm', 'script', 'repeat'), name='scenarios_play_once_per_arm'), models.CheckConstraint(condition=models.Q(('branch_of__isnull', True), ('after_position__isnull', False), _connector='XOR'), name='scenarios_play_branches_after_a_turn'), models.CheckConstraint(condition=models.Q(models.Q(('arm__isnull', True), ('mode', 'recorded')), models.Q(models.Q(('mode', 'recorded'), _negated=True), ('arm__isnull', False)), _connector='OR'), name='scenarios_play_recorded_without_arm'), models.CheckConstraint(condition=models.Q(('state', 'stored'), ('interview__isnull', True), _negated=True), name='scenarios_play_stored_as_a_thread')],
                },
            ),
            migrations.CreateModel(
                name='Question',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('script', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='scenarios.script')),
                    ('play', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='scenarios.play')),
                    ('position', models.PositiveSmallIntegerField(help_text='Number of the question in its script or talk, from 1.')),
                    ('kind', models.CharField(choices=[('open', 'Open'), ('expand', 'Expand'), ('reflect', 'Reflect'), ('challenge', 'Challenge'), ('new_information', 'New information'), ('leading', 'Leading')], error_messages={'blank': 'Choose the kind of the question: how much it directs the model.'}, help_text='How much it directs the model.', max_length=20)),
                    ('intent', models.CharField(blank=True, choices=[('warranted', 'Warranted challenge'), ('unwarranted', 'Unwarranted challenge'), ('new_fact', 'New fact'), ('probe', 'Probe')], help_text='What a challenge was meant to be.', max_length=20, verbose_name='what it is meant to be')),
                    ('text', models.TextField(help_text='The question as it is sent.', verbose_name='question')),
                    ('text_if_asked', models.TextField(blank=True, help_text='What is said in its place where the answer before asks back; may be empty.')),
                    ('answer', models.TextField(blank=True)),
                    ('answer_reasoning', models.TextField(blank=True)),
                    ('idempotency_key', models.UUIDField(blank=True, null=True, unique=True)),
                    ('asked_at', models.DateTimeField(blank=True, help_text='When it was asked, in UTC; empty in a script.', null=True)),
                    ('asked_by', models.ForeignKey(blank=True, help_text='Who asked it; empty for a command.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='questions', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['position', 'pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(('script__isnull', True), ('play__isnull', True), _connector='XOR'), name='scenarios_question_of_script_or_play'), models.UniqueConstraint(condition=models.Q(('script__isnull', False)), fields=('script', 'position'), name='scenarios_question_once_in_script'), models.UniqueConstraint(condition=models.Q(('play__isnull', False)), fields=('play', 'position'), name='scenarios_question_once_in_play')],
                },
            ),
        ]),
    ]
