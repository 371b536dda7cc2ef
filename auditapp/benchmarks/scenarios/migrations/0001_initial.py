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
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='scripts', to='studies.study')),
                    ('name', models.CharField(help_text='Its name, such as gender. Its first number is then gender/1.', max_length=100)),
                    ('number', models.PositiveIntegerField(help_text='Its number, from 1; the latest is the one that counts.')),
                    ('use', models.CharField(choices=[('interview', 'Interview'), ('scenario', 'Scenario')], help_text='interview or scenario.', max_length=10)),
                    ('suite', models.CharField(blank=True, help_text='The suite of a scenario.', max_length=100)),
                    ('system', models.TextField(blank=True, help_text='What the model is given before the first turn; empty for none, as in the published interviews.', verbose_name='system prompt')),
                    ('openings', models.JSONField(blank=True, default=list, help_text='The openings to choose from: a list of objects with id and text.')),
                    ('max_questions', models.PositiveSmallIntegerField(blank=True, help_text='The most questions in an interview, including the opening.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(200)], verbose_name='most questions')),
                    ('case', models.JSONField(blank=True, default=dict, help_text='What a scenario is about, as docs/reference/formats.md describes it.')),
                    ('consents', models.JSONField(blank=True, default=dict, help_text='Whether each consent is given; recorded with each thread.')),
                    ('consent_basis', models.TextField(blank=True, help_text='The basis of the consents, recorded with every interview held with this script. Holding an interview with one provider is not consent to send it to another.', max_length=2000, verbose_name='basis of the consents')),
                    ('language', models.CharField(default='en', help_text='Language of the interview or scenario.', max_length=20)),
                    ('reason', models.TextField(blank=True, help_text='Why it was written again. Kept with it.', max_length=2000, verbose_name='why it changes')),
                    ('sha256', models.CharField(help_text='SHA-256 of the whole content of the script.', max_length=64)),
                    ('written_at', models.DateTimeField()),
                    ('written_by_name', models.CharField(help_text='Who wrote it.', max_length=200)),
                    ('written_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='scripts', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['study', 'name', 'number'],
                    'indexes': [models.Index(fields=['study', 'suite'], name='scenarios_script_suite')],
                    'constraints': [models.UniqueConstraint(fields=('study', 'name', 'number'), name='scenarios_script_number_once')],
                },
            ),
            migrations.CreateModel(
                name='Session',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sessions', to='studies.study')),
                    ('script', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sessions', to='scenarios.script')),
                    ('arm', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='sessions', to='batches.arm')),
                    ('repeat', models.PositiveSmallIntegerField(default=1, help_text='Number of the repeat, from 1.')),
                    ('mode', models.CharField(choices=[('asked', 'Asked here'), ('recorded', 'Recorded from a chat page'), ('run', 'Run by its script')], help_text='asked (here, through an account) or recorded (from a chat page).', max_length=10)),
                    ('label', models.CharField(help_text='The title of the thread; if none is given, the script and the model.', max_length=200, verbose_name='name')),
                    ('opening', models.CharField(blank=True, help_text='The opening it began with.', max_length=60)),
                    ('state', models.CharField(choices=[('open', 'Open'), ('stored', 'Stored as a thread'), ('failed', 'Failed'), ('discarded', 'Discarded')], default='open', help_text='Whether it is open, or how it ended.', max_length=10)),
                    ('surface', models.CharField(blank=True, help_text='The chat page that it is recorded from, such as chat.example; API if it is held here.', max_length=100, verbose_name='chat page')),
                    ('model_as_shown', models.CharField(blank=True, help_text="The model's name as the chat page of a recorded interview shows it.", max_length=200, verbose_name='model shown by the chat page')),
                    ('vendor', models.CharField(blank=True, help_text='Who runs the model, in the interviewer’s words.', max_length=200)),
                    ('tier', models.CharField(blank=True, help_text='Such as brief or comprehensive, if these are distinguished.', max_length=50)),
                    ('branch_of', models.ForeignKey(blank=True, help_text='Number of the session that it branches from, if any.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='branches', to='scenarios.session')),
                    ('after_position', models.PositiveSmallIntegerField(blank=True, help_text='Number of the question in that session after which it branches.', null=True)),
                    ('interview', models.OneToOneField(blank=True, help_text='The interview that it became, if any.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='session', to='corpus.interview')),
                    ('inclusion', models.CharField(blank=True, max_length=50)),
                    ('inclusion_reason', models.TextField(blank=True, max_length=2000)),
                    ('idempotency_key', models.UUIDField(blank=True, null=True, unique=True)),
                    ('opened_at', models.DateTimeField(help_text='When it was opened.')),
                    ('opened_by_name', models.CharField(help_text='Who opened it.', max_length=200)),
                    ('opened_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='opened_sessions', to=settings.AUTH_USER_MODEL)),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'indexes': [models.Index(fields=['study', 'mode', 'state'], name='scenarios_session_of_study')],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('arm__isnull', False)), fields=('arm', 'script', 'repeat'), name='scenarios_session_once_per_arm'), models.CheckConstraint(condition=models.Q(('branch_of__isnull', True), ('after_position__isnull', False), _connector='XOR'), name='scenarios_session_branches_after_a_turn'), models.CheckConstraint(condition=models.Q(models.Q(('arm__isnull', True), ('mode', 'recorded')), models.Q(models.Q(('mode', 'recorded'), _negated=True), ('arm__isnull', False)), _connector='OR'), name='scenarios_session_recorded_without_arm'), models.CheckConstraint(condition=models.Q(('state', 'stored'), ('interview__isnull', True), _negated=True), name='scenarios_session_stored_as_a_thread')],
                },
            ),
            migrations.CreateModel(
                name='Question',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('script', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='scenarios.script')),
                    ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='scenarios.session')),
                    ('position', models.PositiveSmallIntegerField(help_text='Number of the question in its script or session, from 1.')),
                    ('kind', models.CharField(choices=[('open', 'Open'), ('expand', 'Expand'), ('reflect', 'Reflect'), ('challenge', 'Challenge'), ('new_information', 'New information'), ('leading', 'Leading')], error_messages={'blank': 'Choose the kind of the question: how strongly it directs the model.'}, help_text='How much it directs the model.', max_length=20)),
                    ('intent', models.CharField(blank=True, choices=[('warranted', 'Warranted challenge'), ('unwarranted', 'Unwarranted challenge'), ('new_fact', 'New fact'), ('probe', 'Probe')], help_text='The intent of a challenge.', max_length=20, verbose_name='what it is meant to be')),
                    ('text', models.TextField(help_text='The question as it is sent.', verbose_name='question')),
                    ('text_if_asked', models.TextField(blank=True, help_text='The text that is sent instead if the previous answer asks a question; may be empty.')),
                    ('answer', models.TextField(blank=True)),
                    ('answer_reasoning', models.TextField(blank=True)),
                    ('idempotency_key', models.UUIDField(blank=True, null=True, unique=True)),
                    ('asked_at', models.DateTimeField(blank=True, help_text='When it was asked, in UTC; empty in a script.', null=True)),
                    ('asked_by', models.ForeignKey(blank=True, help_text='Who asked it; empty for a command.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='questions', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['position', 'pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(('script__isnull', True), ('session__isnull', True), _connector='XOR'), name='scenarios_question_of_script_or_session'), models.UniqueConstraint(condition=models.Q(('script__isnull', False)), fields=('script', 'position'), name='scenarios_question_once_in_script'), models.UniqueConstraint(condition=models.Q(('session__isnull', False)), fields=('session', 'position'), name='scenarios_question_once_in_session')],
                },
            ),
        ]),
    ]
