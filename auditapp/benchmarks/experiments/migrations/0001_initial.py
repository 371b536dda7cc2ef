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
                name='Experiment',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='experiments', to='studies.study')),
                    ('name', models.CharField(help_text='Name of the experiment, as reports call it. It never changes.', max_length=100)),
                    ('plan', models.JSONField(help_text='The plan as docs/reference/formats.md describes it.')),
                    ('sha256', models.CharField(help_text='SHA-256 of the plan.', max_length=64)),
                    ('locked_at', models.DateTimeField(help_text='When the plan was locked, in UTC.')),
                    ('locked_by_name', models.CharField(help_text='Who locked it.', max_length=200)),
                    ('locked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='experiments', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['study', 'name'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'name'), name='experiments_experiment_name_once')],
                },
            ),
            migrations.CreateModel(
                name='Enrolment',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='enrolments', to='experiments.experiment')),
                    ('unit', models.CharField(help_text='Id of the unit; its thread has the same id in its file.', max_length=200)),
                    ('arm', models.CharField(help_text='The arm it was assigned to.', max_length=100)),
                    ('group', models.CharField(blank=True, help_text='Its group, where there are groups.', max_length=200)),
                    ('outcomes', models.JSONField(blank=True, default=dict)),
                    ('is_current', models.BooleanField(default=True)),
                    ('loaded_at', models.DateTimeField(help_text='When it was loaded, or an outcome was added, in UTC.')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('is_current', True)), fields=('experiment', 'unit'), name='experiments_enrolment_current_once')],
                },
            ),
            migrations.CreateModel(
                name='SampledUnit',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sampled', to='experiments.experiment')),
                    ('unit', models.CharField(max_length=200)),
                    ('arm', models.CharField(max_length=100)),
                    ('place', models.PositiveIntegerField()),
                    ('seed', models.PositiveIntegerField()),
                    ('drawn_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['experiment', 'place'],
                    'constraints': [models.UniqueConstraint(fields=('experiment', 'unit'), name='experiments_sampledunit_once'), models.UniqueConstraint(fields=('experiment', 'place'), name='experiments_sampledunit_place_once')],
                },
            ),
        ]),
    ]
