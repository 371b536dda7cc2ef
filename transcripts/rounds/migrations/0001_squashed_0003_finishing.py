import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    replaces = [('rounds', '0001_start'), ('rounds', '0002_plan_of_a_round'), ('rounds', '0003_finishing')]

    initial = True

    dependencies = [
        ('corpus', '0003_consent_and_redaction'),
        ('projects', '0002_method_stance'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Round',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('number', models.PositiveIntegerField()),
                    ('name', models.CharField(max_length=200)),
                    ('instructions', models.TextField(blank=True)),
                    ('overlap_percent', models.PositiveIntegerField(default=0)),
                    ('seed', models.PositiveIntegerField(default=0)),
                    ('opened_at', models.DateTimeField()),
                    ('opened_by_name', models.CharField(max_length=200)),
                    ('locked_at', models.DateTimeField(blank=True, null=True)),
                    ('locked_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='locked_rounds', to=settings.AUTH_USER_MODEL)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rounds', to='projects.project')),
                    ('client_id', models.UUIDField(blank=True, null=True)),
                    ('overlap_readers', models.PositiveIntegerField(default=2)),
                ],
                options={
                    'ordering': ['project', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('project', 'number'), name='rounds_round_number_once'), models.CheckConstraint(condition=models.Q(('overlap_percent__lte', 100)), name='rounds_round_overlap_is_a_share'), models.CheckConstraint(condition=models.Q(models.Q(('locked_at__isnull', True), ('locked_by__isnull', True)), models.Q(('locked_at__isnull', False), ('locked_by__isnull', False)), _connector='OR'), name='rounds_round_locked_by_somebody'), models.UniqueConstraint(fields=('project', 'client_id'), name='rounds_round_stored_once')],
                },
            ),
            migrations.CreateModel(
                name='Assignment',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('assigned_at', models.DateTimeField()),
                    ('assigned_by_name', models.CharField(max_length=200)),
                    ('signed_at', models.DateTimeField(blank=True, null=True)),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to=settings.AUTH_USER_MODEL)),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='corpus.interview')),
                    ('round', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='rounds.round')),
                ],
                options={
                    'ordering': ['round', 'interview', 'coder'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('round', 'interview', 'coder'), name='rounds_assignment_stands_once')],
                },
            ),
            migrations.CreateModel(
                name='Finish',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('finished_at', models.DateTimeField()),
                    ('shown_at', models.DateTimeField(blank=True, null=True)),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='finishes', to=settings.AUTH_USER_MODEL)),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='finishes', to='corpus.interview')),
                ],
                options={
                    'verbose_name_plural': 'finishes',
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('interview', 'coder'), name='rounds_finish_stands_once'), models.CheckConstraint(condition=models.Q(('shown_at__isnull', True), ('withdrawn_at__isnull', True), _connector='OR'), name='rounds_finish_shown_is_kept')],
                },
            ),
        ]),
    ]
