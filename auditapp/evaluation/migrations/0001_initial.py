import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('annotators', '0001_initial'),
        ('batches', '0001_initial'),
        ('codebook', '0001_initial'),
        ('coding', '0001_initial'),
        ('corpus', '0001_initial'),
        ('llm', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='PositiveAudit',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('seed', models.PositiveBigIntegerField(help_text='Number by which the sample can be drawn again.')),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='positive_audits', to='annotators.annotator')),
                    ('with_critic', models.BooleanField(default=False, help_text='true if suggestions rejected by a critic were left out of the draw.')),
                    ('per_code', models.PositiveSmallIntegerField(default=60, help_text='How many suggestions of each code to draw; all, if there are fewer. With 60, a rate of 20 % is known to within about 10 percentage points.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='suggestions of each code')),
                ],
                options={
                    'ordering': ['pk'],
                },
            ),
            migrations.CreateModel(
                name='AuditedSuggestion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('position', models.PositiveIntegerField(help_text='Shuffled place in the audit, from 1.')),
                    ('audit', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='items', to='evaluation.positiveaudit')),
                    ('suggestion', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='audited', to='annotators.suggestion')),
                    ('population', models.PositiveIntegerField(help_text='Number of suggestions of this code from which the sample was drawn.')),
                ],
                options={
                    'ordering': ['audit', 'position'],
                    'constraints': [models.UniqueConstraint(fields=('audit', 'position'), name='evaluation_auditedsuggestion_one_per_position'), models.UniqueConstraint(fields=('audit', 'suggestion'), name='evaluation_auditedsuggestion_once')],
                },
            ),
            migrations.CreateModel(
                name='PositiveMark',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('reviewer', models.ForeignKey(help_text='User name of the person who marked it.', on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('note', models.TextField(blank=True, max_length=5000)),
                    ('number', models.PositiveSmallIntegerField(default=1)),
                    ('after_opening', models.BooleanField(default=False)),
                    ('idempotency_key', models.UUIDField(unique=True)),
                    ('made_at', models.DateTimeField(help_text='When it was marked, in UTC.')),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='evaluation.positivemark')),
                    ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='marks', to='evaluation.auditedsuggestion')),
                    ('verdict', models.CharField(choices=[('applies', 'The code applies'), ('does_not', 'It does not'), ('unclear', 'Cannot be said')], error_messages={'blank': 'Choose whether the code applies, does not apply, or cannot be decided.'}, help_text='applies, does_not, or unclear.', max_length=10, verbose_name='does the code apply to the sentence?')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('item', 'reviewer', 'number'), name='evaluation_positivemark_number_once')],
                },
            ),
            migrations.CreateModel(
                name='ResultsOpening',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('opened_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('opened_at', models.DateTimeField()),
                    ('audit', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='openings', to='evaluation.positiveaudit')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('audit', 'opened_by'), name='evaluation_resultsopening_once')],
                },
            ),
            migrations.CreateModel(
                name='Disagreement',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='disagreements', to='annotators.annotator')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='machine_disagreements', to='corpus.sentence')),
                    ('code_identifier', models.CharField(help_text='Identifier of the code on which they differ.', max_length=100)),
                    ('category', models.CharField(choices=[('misreading', 'Misreading of the sentence'), ('meta', 'Talk about the thing, not the thing'), ('context', 'Context was missing'), ('definition', 'Gap in the definition'), ('alternative', 'Legitimate alternative reading'), ('slip', "A person's slip")], error_messages={'blank': 'Choose one of the six categories.'}, help_text="misreading, meta (talk about the thing), context, definition, alternative (nobody's error) or slip.", max_length=12, verbose_name='cause')),
                    ('note', models.TextField(blank=True, max_length=5000)),
                    ('sorted_at', models.DateTimeField(help_text='When it was sorted, in UTC.')),
                    ('sorted_by', models.ForeignKey(help_text='User name of the person who sorted it.', on_delete=django.db.models.deletion.PROTECT, related_name='sorted_disagreements', to=settings.AUTH_USER_MODEL)),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='evaluation.disagreement')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('superseded_by__isnull', True)), fields=('annotator', 'sentence', 'code_identifier'), name='evaluation_disagreement_stands_once')],
                },
            ),
        ]),
    ]
