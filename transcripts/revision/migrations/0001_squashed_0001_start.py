import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    replaces = [('revision', '0001_start')]

    initial = True

    dependencies = [
        ('codebook', '0002_instrument'),
        ('corpus', '0002_recuts'),
        ('projects', '0002_method_stance'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='AnchorReading',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('codes', models.JSONField(default=list)),
                    ('client_id', models.UUIDField()),
                    ('read_at', models.DateTimeField()),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='anchor_readings', to=settings.AUTH_USER_MODEL)),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='anchor_readings', to='corpus.sentence')),
                    ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='anchor_readings', to='codebook.codebookversion')),
                ],
                options={
                    'ordering': ['version', 'sentence', 'coder'],
                    'constraints': [models.UniqueConstraint(fields=('version', 'sentence', 'coder'), name='revision_anchorreading_once_per_version'), models.UniqueConstraint(fields=('coder', 'client_id'), name='revision_anchorreading_stored_once')],
                },
            ),
            migrations.CreateModel(
                name='AnchorSentence',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('added_at', models.DateTimeField()),
                    ('added_by_name', models.CharField(max_length=200)),
                    ('removed_at', models.DateTimeField(blank=True, null=True)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='anchor_sentences', to='projects.project')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='anchors', to='corpus.sentence')),
                ],
                options={
                    'ordering': ['project', 'pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('removed_at__isnull', True)), fields=('project', 'sentence'), name='revision_anchorsentence_stands_once')],
                },
            ),
        ]),
    ]
