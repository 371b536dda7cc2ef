import django.core.validators
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
                name='Round',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rounds', to='studies.study')),
                    ('number', models.PositiveIntegerField(help_text='Number of the round.')),
                    ('name', models.CharField(help_text='Name of the round, such as “Pilot”.', max_length=200)),
                    ('instructions', models.TextField(blank=True, help_text='Instructions for coders. They are shown with their work.', max_length=20000)),
                    ('overlap_percent', models.PositiveIntegerField(default=0, help_text='Share of the interviews assigned to more than one coder. Disagreements can be seen only in these. For everybody to code everything, enter 100, and the number of all coders below.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(100)], verbose_name='share assigned to several coders, in per cent')),
                    ('overlap_readers', models.PositiveIntegerField(default=2, help_text='Number of coders assigned to each interview that more than one person codes.', validators=[django.core.validators.MinValueValidator(2), django.core.validators.MaxValueValidator(50)], verbose_name='coders for each of those interviews')),
                    ('seed', models.PositiveIntegerField(default=0, help_text='Keep this number. The same number assigns the same interviews to the same people.', verbose_name='random number (seed)')),
                    ('closes_others', models.BooleanField(default=True)),
                    ('idempotency_key', models.UUIDField(blank=True, null=True)),
                    ('opened_at', models.DateTimeField(help_text='When the round began, in UTC.')),
                    ('opened_by_name', models.CharField(help_text='Who began it.', max_length=200)),
                    ('locked_at', models.DateTimeField(blank=True, help_text='When coding in it ended; empty while it is open.', null=True)),
                    ('locked_by', models.ForeignKey(blank=True, help_text='Who ended it.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='locked_rounds', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['study', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='rounds_round_number_once'), models.UniqueConstraint(fields=('study', 'idempotency_key'), name='rounds_round_stored_once'), models.CheckConstraint(condition=models.Q(('overlap_percent__lte', 100)), name='rounds_round_overlap_is_a_share'), models.CheckConstraint(condition=models.Q(models.Q(('locked_at__isnull', True), ('locked_by__isnull', True)), models.Q(('locked_at__isnull', False), ('locked_by__isnull', False)), _connector='OR'), name='rounds_round_locked_by_somebody')],
                },
            ),
            migrations.CreateModel(
                name='Completion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='completions', to='corpus.interview')),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='completions', to=settings.AUTH_USER_MODEL)),
                    ('completed_at', models.DateTimeField()),
                    ('shown_at', models.DateTimeField(blank=True, null=True)),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'verbose_name_plural': 'completions',
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('interview', 'coder'), name='rounds_completion_stands_once'), models.CheckConstraint(condition=models.Q(('shown_at__isnull', True), ('withdrawn_at__isnull', True), _connector='OR'), name='rounds_completion_shown_is_kept')],
                },
            ),
            migrations.CreateModel(
                name='Assignment',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('round', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='rounds.round')),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='corpus.interview')),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to=settings.AUTH_USER_MODEL)),
                    ('assigned_at', models.DateTimeField(help_text='When it was assigned, in UTC.')),
                    ('assigned_by_name', models.CharField(help_text='Who assigned it.', max_length=200)),
                    ('completed_at', models.DateTimeField(blank=True, help_text='When the coder confirmed that these are her codings.', null=True)),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['round', 'interview', 'coder'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('round', 'interview', 'coder'), name='rounds_assignment_stands_once')],
                },
            ),
        ]),
    ]
