import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('codebook', '0001_initial'),
        ('corpus', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='AnchorSentence',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='anchor_sentences', to='studies.study')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='anchors', to='corpus.sentence')),
                    ('added_at', models.DateTimeField(help_text='When it became an anchor, in UTC.')),
                    ('added_by_name', models.CharField(help_text='Who chose it.', max_length=200)),
                    ('removed_at', models.DateTimeField(blank=True, help_text='When it stopped being one.', null=True)),
                ],
                options={
                    'ordering': ['study', 'pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('removed_at__isnull', True)), fields=('study', 'sentence'), name='revision_anchorsentence_stands_once')],
                },
            ),
            migrations.CreateModel(
                name='AnchorReading',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='anchor_readings', to='codebook.codebookversion')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='anchor_readings', to='corpus.sentence')),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='anchor_readings', to=settings.AUTH_USER_MODEL)),
                    ('codes', models.JSONField(default=list)),
                    ('idempotency_key', models.UUIDField()),
                    ('read_at', models.DateTimeField(help_text='When it was read, in UTC.')),
                ],
                options={
                    'ordering': ['version', 'sentence', 'coder'],
                    'constraints': [models.UniqueConstraint(fields=('version', 'sentence', 'coder'), name='revision_anchorreading_once_per_version'), models.UniqueConstraint(fields=('coder', 'idempotency_key'), name='revision_anchorreading_stored_once')],
                },
            ),
        ]),
    ]
