import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    replaces = [('batches', '0001_start'), ('batches', '0002_engine'), ('batches', '0003_fill_arms_and_lanes'), ('batches', '0004_attempts_know_their_arm')]

    initial = True

    dependencies = [
        ('llm', '0003_fill_accounts'),
        ('projects', '0001_start'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='WorkerSign',
                fields=[
                    ('name', models.CharField(max_length=200, primary_key=True, serialize=False)),
                    ('seen_at', models.DateTimeField()),
                    ('lanes', models.PositiveIntegerField(default=0)),
                    ('problem', models.CharField(blank=True, max_length=300)),
                    ('started_at', models.DateTimeField(blank=True, null=True)),
                ],
            ),
            migrations.CreateModel(
                name='Batch',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('kind', models.CharField(max_length=40)),
                    ('title', models.CharField(max_length=200)),
                    ('parameters', models.JSONField(default=dict)),
                    ('control', models.CharField(choices=[('run', 'Run'), ('pause', 'Pause: send nothing more, keep what arrives'), ('drain', 'Drain: begin no new cell, carry those begun to their end, then pause'), ('cancel', 'Cancel: end the batch, keep what arrives'), ('abort', 'Abort: end the batch and cut off the calls in flight')], default='run', max_length=10)),
                    ('state', models.CharField(choices=[('pilot', 'Pilot'), ('waiting', 'Waits for your yes'), ('running', 'Running'), ('paused', 'Paused'), ('cancelled', 'Cancelled'), ('done', 'Done')], default='running', max_length=10)),
                    ('state_reason', models.CharField(blank=True, max_length=300)),
                    ('concurrency', models.PositiveIntegerField(default=30)),
                    ('cap_nano', models.BigIntegerField(blank=True, null=True)),
                    ('reserved_nano', models.BigIntegerField(default=0)),
                    ('spent_nano', models.BigIntegerField(default=0)),
                    ('launched_by_name', models.CharField(max_length=200)),
                    ('created_at', models.DateTimeField()),
                    ('finished_at', models.DateTimeField(blank=True, null=True)),
                    ('launched_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='launched_batches', to=settings.AUTH_USER_MODEL)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='batches', to='projects.project')),
                    ('client_id', models.UUIDField(blank=True, null=True, unique=True)),
                    ('confirmed_at', models.DateTimeField(blank=True, null=True)),
                    ('confirmed_by_name', models.CharField(blank=True, max_length=200)),
                    ('lost_answers', models.CharField(choices=[('retry', 'ask once more, and say that it may be paid twice'), ('hold', 'hold the cell until a person decides')], default='retry', max_length=10)),
                    ('pilot_cells', models.PositiveIntegerField(default=0)),
                    ('route', models.CharField(choices=[('live', 'one call at a time, at once'), ('jobs', "the provider's own batch service, cheaper, within a day"), ('file', 'answers are brought in as a file')], default='live', max_length=10)),
                    ('uses_cache', models.BooleanField(default=False)),
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
                    ('task', models.CharField(max_length=60)),
                    ('system_prompt', models.TextField()),
                    ('prompt_hash', models.CharField(max_length=64)),
                    ('settings', models.JSONField(default=dict)),
                    ('price_in', models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                    ('price_out', models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                    ('variant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='arms', to='llm.modelvariant')),
                    ('batch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='arms', to='batches.batch')),
                    ('capabilities', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='arms', to='llm.capabilities')),
                    ('price', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='arms', to='llm.price')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('batch', 'variant', 'task', 'prompt_hash'), name='batches_arm_once')],
                },
            ),
            migrations.CreateModel(
                name='Lane',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=500)),
                    ('runner', models.CharField(blank=True, max_length=60)),
                    ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                    ('batch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='lanes', to='batches.batch')),
                    ('in_flight', models.PositiveIntegerField(default=0)),
                    ('limit', models.PositiveIntegerField(blank=True, null=True)),
                    ('slow_until', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('batch', 'name'), name='batches_lane_once_per_batch')],
                },
            ),
            migrations.CreateModel(
                name='LimitChange',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('at', models.DateTimeField()),
                    ('limit', models.PositiveIntegerField()),
                    ('in_flight', models.PositiveIntegerField()),
                    ('cause', models.CharField(choices=[('start', 'a runner began'), ('growth', 'clean answers'), ('rate_limited', 'the provider asked for fewer'), ('setting', 'a person changed the setting')], max_length=15)),
                    ('wait_seconds', models.FloatField(blank=True, null=True)),
                    ('lane', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='limit_changes', to='batches.lane')),
                ],
                options={
                    'ordering': ['lane', 'pk'],
                },
            ),
            migrations.CreateModel(
                name='ProviderJob',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('token', models.UUIDField(unique=True)),
                    ('state', models.CharField(choices=[('written', 'Written down, not yet sent'), ('uploaded', 'Its file is at the provider'), ('submitted', 'Under way at the provider'), ('collected', 'Collected'), ('failed', 'Failed')], default='written', max_length=10)),
                    ('calls', models.PositiveIntegerField()),
                    ('file_sha256', models.CharField(blank=True, max_length=64)),
                    ('provider_file_id', models.CharField(blank=True, max_length=200)),
                    ('provider_job_id', models.CharField(blank=True, max_length=200)),
                    ('error', models.CharField(blank=True, max_length=500)),
                    ('written_at', models.DateTimeField()),
                    ('submitted_at', models.DateTimeField(blank=True, null=True)),
                    ('checked_at', models.DateTimeField(blank=True, null=True)),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ('lane', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='batches.lane')),
                ],
                options={
                    'ordering': ['pk'],
                },
            ),
            migrations.CreateModel(
                name='Tick',
                fields=[
                    ('name', models.CharField(max_length=40, primary_key=True, serialize=False)),
                    ('at', models.DateTimeField()),
                ],
            ),
            migrations.CreateModel(
                name='Cell',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('input_id', models.PositiveBigIntegerField()),
                    ('repeat', models.PositiveSmallIntegerField(default=1)),
                    ('state', models.CharField(choices=[('planned', 'Planned'), ('leased', 'Under way'), ('done', 'Done'), ('failed', 'Failed'), ('held', 'Held: its end is unknown'), ('cancelled', 'Cancelled')], default='planned', max_length=10)),
                    ('outcome', models.CharField(blank=True, max_length=30)),
                    ('fence', models.PositiveIntegerField(default=0)),
                    ('tries', models.PositiveSmallIntegerField(default=0)),
                    ('unknown_ends', models.PositiveSmallIntegerField(default=0)),
                    ('not_before', models.DateTimeField(blank=True, null=True)),
                    ('lease_owner', models.CharField(blank=True, max_length=60)),
                    ('lease_until', models.DateTimeField(blank=True, null=True)),
                    ('arm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='cells', to='batches.arm')),
                    ('batch', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='cells', to='batches.batch')),
                    ('pilot', models.BooleanField(default=False)),
                ],
                options={
                    'ordering': ['pk'],
                    'indexes': [models.Index(fields=['batch', 'state', 'id'], name='batches_cell_by_state'), models.Index(condition=models.Q(('state', 'leased')), fields=['lease_until'], name='batches_cell_leases'), models.Index(fields=['arm', 'state', 'id'], name='batches_cell_by_arm')],
                    'constraints': [models.UniqueConstraint(fields=('arm', 'input_id', 'repeat'), name='batches_cell_once'), models.CheckConstraint(condition=models.Q(('state', 'leased'), ('lease_until__isnull', True), _connector='XOR'), name='batches_cell_lease_has_end')],
                },
            ),
            migrations.CreateModel(
                name='Attempt',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('fence', models.PositiveIntegerField()),
                    ('request_id', models.UUIDField(unique=True)),
                    ('runner', models.CharField(max_length=60)),
                    ('request_hash', models.CharField(max_length=64)),
                    ('reserved_nano', models.BigIntegerField(default=0)),
                    ('written_at', models.DateTimeField()),
                    ('sent_at', models.DateTimeField(blank=True, null=True)),
                    ('done_at', models.DateTimeField(blank=True, null=True)),
                    ('end', models.CharField(choices=[('open', 'Under way'), ('answered', 'Answered'), ('refused', 'Turned away by the provider'), ('failed', 'Failed'), ('unsent', 'Never sent'), ('unknown', 'End unknown: may have been paid'), ('cached', 'Taken from an earlier answer: nothing sent'), ('surplus', 'Answered too late: paid and not used')], default='open', max_length=10)),
                    ('http_status', models.PositiveSmallIntegerField(blank=True, null=True)),
                    ('error', models.CharField(blank=True, max_length=500)),
                    ('provider_request_id', models.CharField(blank=True, max_length=200)),
                    ('served_model', models.CharField(blank=True, max_length=200)),
                    ('finish_reason', models.CharField(blank=True, max_length=50)),
                    ('tokens_in', models.PositiveIntegerField(blank=True, null=True)),
                    ('tokens_out', models.PositiveIntegerField(blank=True, null=True)),
                    ('cost_nano', models.BigIntegerField(blank=True, null=True)),
                    ('raw', models.TextField(blank=True)),
                    ('cell', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='batches.cell')),
                    ('arm', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='batches.arm')),
                    ('copied_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='copies', to='batches.attempt')),
                    ('error_class', models.CharField(blank=True, max_length=30)),
                    ('first_byte_at', models.DateTimeField(blank=True, null=True)),
                    ('prompt', models.TextField(blank=True)),
                    ('provider_answer_id', models.CharField(blank=True, max_length=200)),
                    ('served_route', models.CharField(blank=True, max_length=100)),
                    ('tokens_cached', models.PositiveIntegerField(blank=True, null=True)),
                    ('tokens_reasoning', models.PositiveIntegerField(blank=True, null=True)),
                    ('job', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='batches.providerjob')),
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
                    ('answer', models.TextField(blank=True)),
                    ('stored_at', models.DateTimeField()),
                    ('attempt', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='result', to='batches.attempt')),
                ],
            ),
        ]),
    ]
