import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('coding', '0001_initial'),
        ('corpus', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Theme',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='themes', to='studies.study')),
                    ('number', models.PositiveIntegerField(help_text='Number of the theme in the study.')),
                    ('created_at', models.DateTimeField()),
                    ('created_by_name', models.CharField(max_length=200)),
                    ('came_from', models.ManyToManyField(related_name='led_to', to='analysis.theme')),
                ],
                options={
                    'ordering': ['study', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='analysis_theme_number_once')],
                },
            ),
            migrations.CreateModel(
                name='ThemeVersion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('theme', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='analysis.theme')),
                    ('number', models.PositiveIntegerField()),
                    ('name', models.CharField(help_text='A working title will do.', max_length=200)),
                    ('concept', models.TextField(blank=True, help_text='The one idea that unites the theme: what its codes say together.', max_length=20000, verbose_name='central organising concept')),
                    ('description', models.TextField(blank=True, help_text='What belongs to the theme, what does not, and what is still unclear.', max_length=20000)),
                    ('state', models.CharField(choices=[('candidate', 'Candidate'), ('reviewed', 'Reviewed'), ('defined', 'Defined and named'), ('dropped', 'Dropped')], default='candidate', help_text='candidate, reviewed, defined or dropped.', max_length=10)),
                    ('codes', models.JSONField(default=list, help_text='Identifiers of the codes that it is made of.')),
                    ('reason', models.TextField(blank=True, help_text='Why it was changed. Kept in the theme’s history.', max_length=2000, verbose_name='why')),
                    ('written_at', models.DateTimeField()),
                    ('written_by', models.ForeignKey(help_text='Who wrote this version.', on_delete=django.db.models.deletion.PROTECT, related_name='theme_versions', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['theme', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('theme', 'number'), name='analysis_themeversion_number_once')],
                },
            ),
            migrations.CreateModel(
                name='ThemeQuote',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('theme', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='quotes', to='analysis.theme')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='theme_quotes', to='corpus.sentence')),
                    ('coding', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='theme_quotes', to='coding.coding')),
                    ('side', models.CharField(choices=[('for', 'For'), ('against', 'Against')], help_text='for, or against: a sentence that contradicts the theme.', max_length=10)),
                    ('edited_text', models.TextField(blank=True, help_text='The sentence with omissions marked with […] and added words in [brackets]; all other words are those of the sentence. Empty where nothing was edited.', max_length=20000, verbose_name='quotation')),
                    ('note', models.TextField(blank=True, help_text='What the sentence shows.', max_length=5000)),
                    ('added_at', models.DateTimeField(help_text='When it was chosen, in UTC.')),
                    ('added_by', models.ForeignKey(help_text='Who chose it.', on_delete=django.db.models.deletion.PROTECT, related_name='theme_quotes', to=settings.AUTH_USER_MODEL)),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['theme', 'side', 'pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('theme', 'sentence'), name='analysis_themequote_stands_once')],
                },
            ),
            migrations.CreateModel(
                name='PhaseEntry',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='phase_entries', to='studies.study')),
                    ('phase', models.PositiveSmallIntegerField(choices=[(1, 'Familiarisation'), (2, 'Initial coding'), (3, 'Generating themes'), (4, 'Reviewing themes'), (5, 'Defining and naming themes'), (6, 'Writing up')], help_text='1 familiarisation, 2 initial coding, 3 generating, 4 reviewing, 5 defining themes, 6 writing up.')),
                    ('text', models.TextField(help_text='What was written down.')),
                    ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='phase_entries', to=settings.AUTH_USER_MODEL)),
                    ('written_at', models.DateTimeField()),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='analysis.phaseentry')),
                ],
                options={
                    'ordering': ['study', 'phase', 'pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(('phase__gte', 1), ('phase__lte', 6)), name='analysis_phaseentry_one_of_six')],
                },
            ),
            migrations.CreateModel(
                name='PositionalityStatement',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='positionality_statements', to='studies.study')),
                    ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='positionality_statements', to=settings.AUTH_USER_MODEL)),
                    ('text', models.TextField(help_text="The statement, in the person's own words and of any length: training, experience, commitments, expectations. All of it is optional.", max_length=20000, verbose_name='what you bring to these interviews')),
                    ('written_at', models.DateTimeField()),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='analysis.positionalitystatement')),
                ],
                options={
                    'ordering': ['study', 'author', 'pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('study', 'author'), name='analysis_positionalitystatement_one_stands')],
                },
            ),
        ]),
    ]
