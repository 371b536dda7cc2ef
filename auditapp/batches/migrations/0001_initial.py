import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('llm', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Batch',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='batches', to='studies.study')),
                    ('kind', models.CharField(help_text='The purpose of the batch, such as preannotation or sob.', max_length=40)),
                    ('title', models.CharField(help_text='Its title.', max_length=200)),
                    ('parameters', models.JSONField(default=dict)),
                    ('idempotency_key', models.UUIDField(blank=True, null=True, unique=True)),
                    ('route', models.CharField(choices=[('live', 'one call at a time, at once'), ('jobs', "the provider's own batch service, cheaper, within a day"), ('file', 'answers are imported from a file')], default='live', help_text='How its calls are sent.', max_length=10)),
                    ('lost_answers', models.CharField(choices=[('retry', 'ask once more; it may be paid twice'), ('hold', 'hold the cell until a person decides')], default='retry', help_text='What happens to a call with an unknown end.', max_length=10)),
                    ('uses_cache', models.BooleanField(default=False, help_text='Whether an earlier answer to exactly the same request is reused. It then costs nothing and is marked as reused everywhere.', verbose_name='reuse earlier answers to exactly the same request')),
                    ('has_conversations', models.BooleanField(db_default=False, default=False)),
                    ('stays_open', models.BooleanField(db_default=False, default=False)),
                    ('pilot_cells', models.PositiveIntegerField(default=0)),
                    ('control', models.CharField(choices=[('run', 'Run'), ('pause', 'Pause: send nothing more, keep what arrives'), ('drain', 'Drain: start no new cells, finish those started, then pause'), ('cancel', 'Cancel: end the batch, keep what arrives'), ('abort', 'Abort: end the batch and cut off the calls in flight')], default='run', help_text='The control last used on it, such as run or pause.', max_length=10)),
                    ('state', models.CharField(choices=[('planning', 'Planning'), ('pilot', 'Pilot'), ('waiting', 'Waiting for approval'), ('running', 'Running'), ('paused', 'Paused'), ('cancelled', 'Cancelled'), ('done', 'Done')], default='running', help_text='Its state.', max_length=10)),
                    ('state_reason', models.CharField(blank=True, help_text='The reason for the state; may be empty.', max_length=300)),
                    ('concurrency', models.PositiveIntegerField(default=30, help_text='How many calls may be in flight at once. The number is lower while the provider asks for fewer.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='maximum calls in flight')),
                    ('cap_nano', models.BigIntegerField(blank=True, null=True)),
                    ('reserved_nano', models.BigIntegerField(default=0)),
                    ('spent_nano', models.BigIntegerField(default=0)),
                    ('launched_by_name', models.CharField(help_text='Who launched it.', max_length=200)),
                    ('launched_by', models.ForeignKey(blank=True, help_text='Who launched it.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='launched_batches', to=settings.AUTH_USER_MODEL)),
                    ('created_at', models.DateTimeField()),
                    ('confirmed_at', models.DateTimeField(blank=True, help_text='When it was approved after its pilot; empty: not yet, or it has no pilot.', null=True)),
                    ('confirmed_by_name', models.CharField(blank=True, max_length=200)),
                    ('finished_at', models.DateTimeField(blank=True, help_text='When it ended; empty: not yet.', null=True)),
                ],
                options={
                    'verbose_name_plural': 'batches',
                    'ordering': ['-pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(('reserved_nano__gte', 0)), name='batches_batch_reserved_not_negative')],
                },
            ),
            migrations.CreateModel(
                name='Arm',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('batch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='arms', to='batches.batch')),
                    ('variant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='arms', to='llm.modelvariant')),
                    ('task', models.CharField(help_text='The task given to the model.', max_length=60)),
                    ('system_prompt', models.TextField()),
                    ('prompt_hash', models.CharField(help_text='SHA-256 of the instructions.', max_length=64)),
                    ('settings', models.JSONField(default=dict)),
                    ('price_in', models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                    ('price_out', models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                    ('price', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='arms', to='llm.price')),
                    ('capabilities', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='arms', to='llm.capabilities')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('batch', 'variant', 'task', 'prompt_hash'), name='batches_arm_once')],
                },
            ),
            migrations.CreateModel(
                name='Cell',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('batch', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='cells', to='batches.batch')),
                    ('arm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='cells', to='batches.arm')),
                    ('input_id', models.PositiveBigIntegerField(help_text='Number of the thing asked about: a turn, a text or a suggestion, depending on the kind of batch.')),
                    ('repeat', models.PositiveSmallIntegerField(default=1, help_text='Which repeat of the question this is, from 1.')),
                    ('pilot', models.BooleanField(default=False)),
                    ('after', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='followers', to='batches.cell')),
                    ('state', models.CharField(choices=[('blocked', 'Blocked: waits for an earlier answer'), ('planned', 'Planned'), ('leased', 'In progress'), ('done', 'Done'), ('failed', 'Failed'), ('held', 'Held: its end is unknown'), ('cancelled', 'Cancelled')], default='planned', max_length=10)),
                    ('outcome', models.CharField(blank=True, help_text="The current interpretation of the answer, in the terms of the batch's kind.", max_length=30)),
                    ('fence', models.PositiveIntegerField(default=0)),
                    ('tries', models.PositiveSmallIntegerField(default=0)),
                    ('unknown_ends', models.PositiveSmallIntegerField(default=0)),
                    ('not_before', models.DateTimeField(blank=True, null=True)),
                    ('lease_owner', models.CharField(blank=True, max_length=60)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('answer_number', models.PositiveBigIntegerField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'indexes': [models.Index(fields=['batch', 'state', 'id'], name='batches_cell_by_state'), models.Index(fields=['arm', 'state', 'id'], name='batches_cell_by_arm'), models.Index(condition=models.Q(('state', 'leased')), fields=['lease_until'], name='batches_cell_leases'), models.Index(condition=models.Q(('after__isnull', False)), fields=['after'], name='batches_cell_followers')],
                    'constraints': [models.UniqueConstraint(fields=('arm', 'input_id', 'repeat'), name='batches_cell_once'), models.UniqueConstraint(condition=models.Q(('answer_number__isnull', False)), fields=('batch', 'answer_number'), name='batches_cell_answer_number_once'), models.CheckConstraint(condition=models.Q(('state', 'leased'), ('lease_until__isnull', True), _connector='XOR'), name='batches_cell_lease_has_end')],
                },
            ),
            migrations.CreateModel(
                name='WorkQueue',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('batch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='queues', to='batches.batch')),
                    ('name', models.CharField(max_length=500)),
                    ('runner', models.CharField(blank=True, max_length=60)),
                    ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                    ('limit', models.PositiveIntegerField(blank=True, null=True)),
                    ('in_flight', models.PositiveIntegerField(default=0)),
                    ('slow_until', models.DateTimeField(blank=True, null=True)),
                    ('silent_since', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('batch', 'name'), name='batches_workqueue_once_per_batch')],
                },
            ),
            migrations.CreateModel(
                name='ProviderJob',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('queue', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='batches.workqueue')),
                    ('token', models.UUIDField(unique=True)),
                    ('state', models.CharField(choices=[('written', 'Recorded, not yet sent'), ('uploaded', 'File uploaded'), ('submitted', 'In progress at the provider'), ('collected', 'Collected'), ('failed', 'Failed')], default='written', max_length=10)),
                    ('calls', models.PositiveIntegerField()),
                    ('file_sha256', models.CharField(blank=True, max_length=64)),
                    ('provider_file_id', models.CharField(blank=True, max_length=200)),
                    ('provider_job_id', models.CharField(blank=True, max_length=200)),
                    ('error', models.CharField(blank=True, max_length=500)),
                    ('written_at', models.DateTimeField()),
                    ('submitted_at', models.DateTimeField(blank=True, null=True)),
                    ('checked_at', models.DateTimeField(blank=True, null=True)),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ('gone_since', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['pk'],
                },
            ),
            migrations.CreateModel(
                name='Attempt',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('cell', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='batches.cell')),
                    ('arm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='batches.arm')),
                    ('job', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='batches.providerjob')),
                    ('copied_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='copies', to='batches.attempt')),
                    ('fence', models.PositiveIntegerField()),
                    ('request_id', models.UUIDField(unique=True)),
                    ('runner', models.CharField(max_length=60)),
                    ('request_hash', models.CharField(max_length=64)),
                    ('prompt', models.TextField(blank=True)),
                    ('history', models.JSONField(blank=True, null=True)),
                    ('reserved_nano', models.BigIntegerField(default=0)),
                    ('written_at', models.DateTimeField()),
                    ('sent_at', models.DateTimeField(blank=True, help_text='When the call was sent.', null=True)),
                    ('first_byte_at', models.DateTimeField(blank=True, null=True)),
                    ('done_at', models.DateTimeField(blank=True, help_text='When the call ended.', null=True)),
                    ('end', models.CharField(choices=[('open', 'In progress'), ('answered', 'Answered'), ('refused', 'Refused by the provider'), ('failed', 'Failed'), ('unsent', 'Never sent'), ('unknown', 'End unknown: may have been paid'), ('cached', 'From an earlier answer: nothing sent'), ('surplus', 'Answered too late: paid, not used')], default='open', help_text='How the call ended; answered and cached ones have an answer.', max_length=10)),
                    ('http_status', models.PositiveSmallIntegerField(blank=True, null=True)),
                    ('error_class', models.CharField(blank=True, max_length=30)),
                    ('error', models.CharField(blank=True, max_length=500)),
                    ('provider_request_id', models.CharField(blank=True, max_length=200)),
                    ('provider_answer_id', models.CharField(blank=True, max_length=200)),
                    ('served_route', models.CharField(blank=True, max_length=100)),
                    ('served_model', models.CharField(blank=True, help_text='The model as the provider named it in its answer; may be empty.', max_length=200)),
                    ('finish_reason', models.CharField(blank=True, help_text="The provider's word for why the answer ended; may be empty.", max_length=50)),
                    ('tokens_in', models.PositiveIntegerField(blank=True, help_text='Tokens read.', null=True)),
                    ('tokens_out', models.PositiveIntegerField(blank=True, help_text='Tokens written.', null=True)),
                    ('tokens_cached', models.PositiveIntegerField(blank=True, help_text="Input tokens that came from the provider's cache.", null=True)),
                    ('tokens_reasoning', models.PositiveIntegerField(blank=True, help_text='Output tokens used for reasoning.', null=True)),
                    ('cost_nano', models.BigIntegerField(blank=True, help_text='What the call cost, in US dollars (stored in billionths).', null=True)),
                    ('raw', models.TextField(blank=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'indexes': [models.Index(condition=models.Q(('end', 'open')), fields=['runner'], name='batches_attempt_open'), models.Index(fields=['arm', 'end', 'done_at'], name='batches_attempt_by_arm'), models.Index(condition=models.Q(('end', 'answered')), fields=['request_hash'], name='batches_attempt_by_request')],
                    'constraints': [models.UniqueConstraint(fields=('cell', 'fence'), name='batches_attempt_one_per_claim'), models.CheckConstraint(condition=models.Q(('end', 'open'), ('done_at__isnull', False), _connector='XOR'), name='batches_attempt_ended_has_date')],
                },
            ),
            migrations.CreateModel(
                name='Result',
                fields=[
                    ('cell', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='result', serialize=False, to='batches.cell')),
                    ('attempt', models.OneToOneField(help_text='Number of the call that brought the answer.', on_delete=django.db.models.deletion.PROTECT, related_name='result', to='batches.attempt')),
                    ('answer', models.TextField(blank=True, help_text='The exact text that the model wrote. It may be offensive.')),
                    ('reasoning', models.TextField(blank=True, db_default='', help_text='The reasoning that the model wrote before its answer, if its API returns it in a separate field; may be empty.')),
                    ('stored_at', models.DateTimeField(help_text='When the answer was stored.')),
                ],
            ),
            migrations.CreateModel(
                name='LimitChange',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('queue', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='limit_changes', to='batches.workqueue')),
                    ('at', models.DateTimeField()),
                    ('limit', models.PositiveIntegerField()),
                    ('in_flight', models.PositiveIntegerField()),
                    ('cause', models.CharField(choices=[('start', 'a runner started'), ('growth', 'answers without errors'), ('rate_limited', 'the provider asked for fewer'), ('timed_out', 'calls timed out'), ('no_gain', 'more simultaneous calls hardly increased the number of answers'), ('setting', 'a person changed the setting')], max_length=15)),
                    ('wait_seconds', models.FloatField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['queue', 'pk'],
                },
            ),
            migrations.CreateModel(
                name='WorkerSign',
                fields=[
                    ('name', models.CharField(max_length=200, primary_key=True, serialize=False)),
                    ('seen_at', models.DateTimeField()),
                    ('started_at', models.DateTimeField(blank=True, null=True)),
                    ('queues', models.PositiveIntegerField(default=0)),
                    ('problem', models.CharField(blank=True, max_length=300)),
                ],
            ),
            migrations.CreateModel(
                name='Tick',
                fields=[
                    ('name', models.CharField(max_length=40, primary_key=True, serialize=False)),
                    ('at', models.DateTimeField()),
                ],
            ),
        ]),
    ]
