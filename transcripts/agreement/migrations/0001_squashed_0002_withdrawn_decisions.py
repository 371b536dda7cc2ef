import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    replaces = [('agreement', '0001_start'), ('agreement', '0002_withdrawn_decisions')]

    initial = True

    dependencies = [
        ('corpus', '0002_recuts'),
        ('projects', '0002_method_stance'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Adjudication',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('family_identifier', models.CharField(max_length=100)),
                    ('readings', models.JSONField()),
                    ('outcome', models.CharField(choices=[('one', 'One reading holds'), ('both', 'Both stand'), ('neither', 'Neither; another reading holds'), ('redefined', 'The definition is changed')], max_length=10)),
                    ('codes', models.JSONField(default=list)),
                    ('reason', models.TextField()),
                    ('client_id', models.UUIDField()),
                    ('created_at', models.DateTimeField()),
                    ('revision', models.PositiveIntegerField(default=1)),
                    ('adjudicator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='adjudications', to=settings.AUTH_USER_MODEL)),
                    ('chosen_coder', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='upheld_readings', to=settings.AUTH_USER_MODEL)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='adjudications', to='projects.project')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='adjudications', to='corpus.sentence')),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='agreement.adjudication')),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['project', 'pk'],
                    'constraints': [models.UniqueConstraint(fields=('sentence', 'family_identifier', 'revision'), name='agreement_adjudication_revision_once'), models.UniqueConstraint(fields=('adjudicator', 'client_id'), name='agreement_adjudication_stored_once'), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='agreement_adjudication_has_a_reason'), models.CheckConstraint(condition=models.Q(('outcome', 'one'), ('chosen_coder__isnull', True), _connector='XOR'), name='agreement_adjudication_names_a_reading'), models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('sentence', 'family_identifier'), name='agreement_adjudication_stands_once'), models.CheckConstraint(condition=models.Q(('superseded_by__isnull', True), ('withdrawn_at__isnull', False), _connector='OR'), name='agreement_adjudication_superseded_is_withdrawn')],
                },
            ),
        ]),
    ]
