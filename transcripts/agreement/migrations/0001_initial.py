import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('corpus', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Adjudication',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='adjudications', to='studies.study')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='adjudications', to='corpus.sentence')),
                    ('family_identifier', models.CharField(help_text='Identifier of the family of codes that was decided on.', max_length=100)),
                    ('readings', models.JSONField(help_text='The blind readings at the time: a list of objects with coder and codes.')),
                    ('outcome', models.CharField(choices=[('one', 'One reading holds'), ('both', 'Both stand'), ('neither', 'Neither; another reading holds'), ('redefined', 'The definition is changed')], help_text='one (reading is upheld), both, neither, or redefined (the definition is at fault).', max_length=10)),
                    ('chosen_coder', models.ForeignKey(blank=True, help_text='The coder whose reading was upheld.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='upheld_readings', to=settings.AUTH_USER_MODEL)),
                    ('codes', models.JSONField(default=list, help_text='The codes that apply after the decision.')),
                    ('reason', models.TextField(max_length=5000, verbose_name='why')),
                    ('adjudicator', models.ForeignKey(help_text='Who decided.', on_delete=django.db.models.deletion.PROTECT, related_name='adjudications', to=settings.AUTH_USER_MODEL)),
                    ('idempotency_key', models.UUIDField()),
                    ('created_at', models.DateTimeField()),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('revision', models.PositiveIntegerField(default=1, help_text='Number of the decision on this sentence and family, from 1.')),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='agreement.adjudication')),
                ],
                options={
                    'ordering': ['study', 'pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('sentence', 'family_identifier'), name='agreement_adjudication_stands_once'), models.CheckConstraint(condition=models.Q(('superseded_by__isnull', True), ('withdrawn_at__isnull', False), _connector='OR'), name='agreement_adjudication_superseded_is_withdrawn'), models.UniqueConstraint(fields=('sentence', 'family_identifier', 'revision'), name='agreement_adjudication_revision_once'), models.UniqueConstraint(fields=('adjudicator', 'idempotency_key'), name='agreement_adjudication_stored_once'), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='agreement_adjudication_has_a_reason'), models.CheckConstraint(condition=models.Q(('outcome', 'one'), ('chosen_coder__isnull', True), _connector='XOR'), name='agreement_adjudication_names_a_reading')],
                },
            ),
        ]),
    ]
