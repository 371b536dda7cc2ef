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
                name='Showing',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='showings', to='corpus.sentence')),
                    ('coder', models.ForeignKey(help_text='User name of the coder, in her own rows; empty in rows of all coders, because how far suggestions influenced a coder is shown to her alone.', on_delete=django.db.models.deletion.PROTECT, related_name='showings', to=settings.AUTH_USER_MODEL)),
                    ('arm', models.CharField(choices=[('shown', "Shown after the coder's own decision"), ('withheld', 'Withheld')], help_text='shown, or withheld: a look on a turn that never shows suggestions.', max_length=10)),
                    ('is_draft', models.BooleanField(default=False, help_text="true if suggestions were shown before the coder's own decision; such labels are excluded from every measure.")),
                    ('suggestions', models.JSONField(default=list)),
                    ('own_codes', models.JSONField(default=list, help_text='Identifiers of the codes that the coder had applied to the sentence by then, as a list; empty in rows of all coders.')),
                    ('shown_at', models.DateTimeField()),
                    ('closed_at', models.DateTimeField(blank=True, help_text='When the panel was closed; empty if that is not known, and in rows of all coders.', null=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'indexes': [models.Index(fields=['sentence', 'coder'], name='suggestions_showing_of')],
                },
            ),
            migrations.CreateModel(
                name='Response',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('suggestion', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='responses', to='annotators.suggestion')),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='suggestion_responses', to=settings.AUTH_USER_MODEL)),
                    ('verdict', models.CharField(choices=[('accepted', 'Accepted'), ('rejected', 'Rejected'), ('edited', 'Edited'), ('undone', 'Taken back')], help_text='the current response: accepted, rejected, edited or undone; empty if the coder did not answer, and in rows of all coders of interviews where fewer than two coders looked.', max_length=10)),
                    ('coding', models.ForeignKey(blank=True, help_text='Number of the coding it became; empty in rows of all coders.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='suggestion_responses', to='coding.coding')),
                    ('reason', models.TextField(blank=True, help_text="The coder's reason, if she gave one; empty if the response is empty.", max_length=2000)),
                    ('created_at', models.DateTimeField(help_text='When the coder responded, in UTC; empty in rows of all coders.')),
                    ('superseded_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('superseded_at__isnull', True)), fields=('suggestion', 'coder'), name='suggestions_response_stands_once'), models.CheckConstraint(condition=models.Q(('verdict__in', ['rejected', 'undone']), ('coding__isnull', False), _connector='XOR'), name='suggestions_response_accepted_has_coding')],
                },
            ),
        ]),
    ]
