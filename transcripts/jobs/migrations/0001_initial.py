import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='ImportJob',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='import_jobs', to='studies.study')),
                    ('kind', models.CharField(max_length=40)),
                    ('files', models.JSONField(default=list)),
                    ('options', models.JSONField(default=dict)),
                    ('check_only', models.BooleanField()),
                    ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='import_jobs', to=settings.AUTH_USER_MODEL)),
                    ('asked_by_name', models.CharField(max_length=200)),
                    ('asked_at', models.DateTimeField()),
                    ('state', models.CharField(choices=[('uploading', 'Being uploaded'), ('waiting', 'Waiting for a worker'), ('running', 'Running'), ('checked', 'Checked, not imported'), ('done', 'Done'), ('refused', 'Refused'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='uploading', help_text='State of the job.', max_length=10)),
                    ('runner', models.CharField(blank=True, max_length=32)),
                    ('touched_at', models.DateTimeField()),
                    ('lost_runs', models.PositiveSmallIntegerField(default=0)),
                    ('stage', models.CharField(blank=True, max_length=100)),
                    ('done', models.PositiveBigIntegerField(default=0, help_text='How much is done so far.')),
                    ('total', models.PositiveBigIntegerField(default=0, help_text='How much there is to do; 0: unknown.')),
                    ('outcome', models.JSONField(default=dict)),
                    ('problem', models.TextField(blank=True, help_text='Why it was refused, or failed; else empty.')),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ('result_size', models.PositiveBigIntegerField(default=0, help_text='Bytes of the file that it wrote; 0: there is none.')),
                    ('expires_at', models.DateTimeField(blank=True, help_text='Until when the file is kept; empty: there is none.', null=True)),
                ],
                options={
                    'ordering': ['-pk'],
                    'indexes': [models.Index(condition=models.Q(('state__in', ['uploading', 'waiting', 'running', 'checked'])), fields=['state'], name='jobs_importjob_open')],
                },
            ),
            migrations.CreateModel(
                name='UploadPart',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='jobs.importjob')),
                    ('file', models.PositiveIntegerField()),
                    ('position', models.PositiveIntegerField()),
                    ('data', models.BinaryField()),
                ],
                options={
                    'ordering': ['file', 'position'],
                    'constraints': [models.UniqueConstraint(fields=('job', 'file', 'position'), name='jobs_uploadpart_one_per_position')],
                },
            ),
            migrations.CreateModel(
                name='ResultPart',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='results', to='jobs.importjob')),
                    ('position', models.PositiveIntegerField()),
                    ('data', models.BinaryField()),
                ],
                options={
                    'ordering': ['position'],
                    'constraints': [models.UniqueConstraint(fields=('job', 'position'), name='jobs_resultpart_one_per_position')],
                },
            ),
        ]),
    ]
