import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('batches', '0001_initial'),
        ('corpus', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Purpose',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gender_cue_purposes', to='studies.study')),
                    ('number', models.PositiveIntegerField(help_text='Its number, from 1; the latest is the one that counts.')),
                    ('text', models.TextField(error_messages={'blank': 'Give the purpose of the probe, and say who will read its figures.'}, help_text='What question the probe answers, who will read its figures, and what will not be done with them. It is shown on the pages of the probe, with your name.', max_length=5000, verbose_name='purpose')),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('withdrawn_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('withdrawn_by_name', models.CharField(blank=True, db_default='', default='', max_length=200)),
                    ('withdrawal_reason', models.TextField(blank=True, db_default='', default='')),
                ],
                options={
                    'ordering': ['study', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='gender_cues_purpose_number_once'), models.CheckConstraint(condition=models.Q(('withdrawn_at__isnull', True), models.Q(('withdrawal_reason', ''), _negated=True), _connector='XOR'), name='gender_cues_purpose_withdrawn_with_reason')],
                },
            ),
            migrations.CreateModel(
                name='ReviewSet',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('made_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('made_by_name', models.CharField(max_length=200)),
                    ('made_at', models.DateTimeField()),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='review_sets', to='studies.study')),
                    ('name', models.CharField(help_text='The name of the reviews.', max_length=100)),
                    ('sha256', models.CharField(max_length=64)),
                    ('category_method', models.CharField(help_text='Which method inferred the categories from first names, and its version.', max_length=300, verbose_name='method that inferred the category')),
                    ('source', models.TextField(help_text='Where the reviews are from, their licence, and what allows sending them to models.', max_length=2000)),
                    ('rules', models.JSONField()),
                    ('rules_sha256', models.CharField(help_text='SHA-256 of the rules.', max_length=64)),
                    ('funnel', models.JSONField()),
                    ('without_text', models.PositiveIntegerField(default=0)),
                    ('seed', models.PositiveBigIntegerField(help_text='Seed of the order in which reviews are drawn.')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'name'), name='gender_cues_reviewset_name_once')],
                },
            ),
            migrations.CreateModel(
                name='Review',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('review_set', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reviews', to='gender_cues.reviewset')),
                    ('position', models.PositiveIntegerField()),
                    ('text', models.TextField()),
                    ('category', models.CharField(max_length=12)),
                ],
                options={
                    'ordering': ['review_set', 'position'],
                    'constraints': [models.UniqueConstraint(fields=('review_set', 'position'), name='gender_cues_review_position_once'), models.CheckConstraint(condition=models.Q(('category__in', ('woman', 'man', 'androgynous', 'unknown'))), name='gender_cues_review_has_a_known_category')],
                },
            ),
            migrations.CreateModel(
                name='Trial',
                fields=[
                    ('cell', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='gender_cues_trial', serialize=False, to='batches.cell')),
                    ('review', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='trials', to='gender_cues.review')),
                    ('status', models.CharField(max_length=12)),
                    ('predicted', models.CharField(blank=True, max_length=12)),
                    ('codes', models.JSONField(default=list)),
                    ('rationales', models.JSONField(default=dict)),
                    ('parser', models.CharField(max_length=30)),
                ],
                options={
                    'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ('ok', 'invalid', 'refused', 'no_answer', 'abstained'))), name='gender_cues_trial_has_a_known_status'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'ok'), models.Q(('predicted', ''), _negated=True)), models.Q(models.Q(('status', 'ok'), _negated=True), ('predicted', '')), _connector='OR'), name='gender_cues_trial_predicts_if_ok')],
                },
            ),
            migrations.CreateModel(
                name='RationaleTurn',
                fields=[
                    ('trial', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='rationale_turn', serialize=False, to='gender_cues.trial')),
                    ('turn', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='gender_cue_rationale', to='corpus.turn')),
                ],
            ),
        ]),
    ]
