import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='ProviderAccount',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=100, unique=True)),
                    ('provider', models.CharField(help_text='Who runs the model: fake if answers are invented, file if they were imported.', max_length=40)),
                    ('base_url', models.CharField(blank=True, help_text='For example https://api.openai.com/v1, without a key.', max_length=300, verbose_name='base URL')),
                    ('key_env', models.CharField(blank=True, help_text="The name of the worker's environment variable with the key, never the key itself. Leave empty for no key.", max_length=100, verbose_name='key variable')),
                    ('key_sealed', models.TextField(blank=True)),
                    ('key_last_four', models.CharField(blank=True, max_length=4)),
                    ('created_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['name'],
                    'constraints': [models.CheckConstraint(condition=models.Q(('key_env', ''), ('key_sealed', ''), _connector='OR'), name='llm_provideraccount_key_in_one_place')],
                },
            ),
            migrations.CreateModel(
                name='ModelVariant',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('label', models.CharField(help_text='The name of the model in tables, such as llama-3.1-8b.', max_length=100, unique=True)),
                    ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='variants', to='llm.provideraccount')),
                    ('model', models.CharField(help_text="The model's name at the provider.", max_length=200)),
                    ('reasoning', models.CharField(blank=True, help_text="The reasoning effort in the provider's terms, or on or off.", max_length=20)),
                    ('max_tokens', models.PositiveIntegerField(blank=True, help_text='In tokens. Leave empty for no limit. Thinking counts towards a limit, so a small one cuts off the answers of reasoning models; only a reasoning token budget is added to it. A small local model needs a limit, or it may never stop.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(200000)], verbose_name='longest answer')),
                    ('timeout_seconds', models.PositiveIntegerField(default=600, help_text='How many seconds to wait for an answer.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(3600)], verbose_name='time-out')),
                    ('parameters', models.JSONField(default=dict, help_text="Sampling settings (temperature, top_p, seed, stop); for a setting that is missing, the provider's default applies.")),
                    ('note', models.CharField(blank=True, default='', help_text='A warning for people who read its answers. It is shown with them.', max_length=300)),
                    ('created_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['label'],
                },
            ),
            migrations.CreateModel(
                name='Price',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='prices', to='llm.provideraccount')),
                    ('model', models.CharField(max_length=200)),
                    ('number', models.PositiveIntegerField(help_text='Its number, from 1; the latest is the one that counts.')),
                    ('price_in', models.DecimalField(decimal_places=6, help_text='US dollars per million input tokens.', max_digits=12, validators=[django.core.validators.MinValueValidator(0)])),
                    ('price_out', models.DecimalField(decimal_places=6, help_text='US dollars per million output tokens.', max_digits=12, validators=[django.core.validators.MinValueValidator(0)])),
                    ('batch_share', models.DecimalField(decimal_places=3, default=1, help_text="The share of this price that a call costs through the provider's own batch service: 0.5 is half, 1 is the full price.", max_digits=4, validators=[django.core.validators.MaxValueValidator(1)], verbose_name='batch service share')),
                    ('source', models.CharField(blank=True, help_text='Where the price is published, and since when.', max_length=300)),
                    ('recorded_by_name', models.CharField(max_length=200)),
                    ('recorded_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['account', 'model', '-number'],
                    'constraints': [models.UniqueConstraint(fields=('account', 'model', 'number'), name='llm_price_number_once'), models.CheckConstraint(condition=models.Q(('batch_share__gt', 0), ('batch_share__lte', 1), ('price_in__gte', 0), ('price_out__gte', 0)), name='llm_price_in_bounds')],
                },
            ),
            migrations.CreateModel(
                name='Capabilities',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='capabilities', to='llm.provideraccount')),
                    ('model', models.CharField(max_length=200)),
                    ('number', models.PositiveIntegerField(help_text='Its number, from 1; the latest is the one that counts.')),
                    ('reasoning', models.CharField(choices=[('none', 'cannot be set'), ('effort', 'reasoning_effort (OpenAI, vLLM, Ollama)'), ('nested_effort', 'reasoning.effort (OpenRouter)'), ('budget', 'a budget of thinking tokens (Anthropic)'), ('template', 'chat_template_kwargs.enable_thinking on or off (vLLM)')], default='effort', max_length=20)),
                    ('token_limit', models.CharField(choices=[('max_tokens', 'max_tokens'), ('max_completion_tokens', 'max_completion_tokens')], default='max_tokens', max_length=30, verbose_name='setting for the longest answer')),
                    ('takes_system', models.BooleanField(default=True, verbose_name='accepts a system message')),
                    ('takes_temperature', models.BooleanField(default=True, verbose_name='accepts a temperature')),
                    ('takes_top_p', models.BooleanField(default=True, verbose_name='accepts top p')),
                    ('takes_seed', models.BooleanField(default=True, verbose_name='accepts a seed')),
                    ('takes_stop', models.BooleanField(default=True, verbose_name='accepts stop texts')),
                    ('offers_batches', models.BooleanField(default=False, verbose_name="available in the provider's batch service")),
                    ('max_output_tokens', models.PositiveIntegerField(blank=True, help_text='Leave empty if unknown.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000000)], verbose_name='maximum output tokens')),
                    ('answer_schema', models.CharField(choices=[('unknown', 'not probed'), ('full', 'honoured'), ('plain', 'honoured, without limits of length'), ('ignored', 'ignored by the server'), ('refused', 'refused by the server')], default='unknown', max_length=10)),
                    ('probe', models.JSONField(blank=True, default=dict)),
                    ('source', models.CharField(blank=True, help_text='Where this is documented.', max_length=300)),
                    ('recorded_by_name', models.CharField(max_length=200)),
                    ('recorded_at', models.DateTimeField()),
                ],
                options={
                    'verbose_name_plural': 'capabilities',
                    'ordering': ['account', 'model', '-number'],
                    'constraints': [models.UniqueConstraint(fields=('account', 'model', 'number'), name='llm_capabilities_number_once')],
                },
            ),
            migrations.CreateModel(
                name='AllowedAddress',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('address', models.CharField(max_length=300, unique=True)),
                    ('added_by_name', models.CharField(max_length=200)),
                    ('added_at', models.DateTimeField()),
                ],
            ),
            migrations.CreateModel(
                name='Grant',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='studies.study')),
                    ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='llm.provideraccount')),
                    ('number', models.PositiveIntegerField(help_text='Its number, from 1; the latest is the one that counts.')),
                    ('study_nano', models.BigIntegerField(blank=True, help_text='The most that all batches of the study may spend.', null=True)),
                    ('study_day_nano', models.BigIntegerField(blank=True, help_text='The most that may be launched on one day.', null=True)),
                    ('person_day_nano', models.BigIntegerField(blank=True, help_text='The most that one person may launch on a day.', null=True)),
                    ('is_revoked', models.BooleanField(default=False, help_text='Whether it was revoked.')),
                    ('granted_by_name', models.CharField(help_text='Who granted it, or revoked it.', max_length=200)),
                    ('granted_at', models.DateTimeField(help_text='When it was granted, or revoked.')),
                ],
                options={
                    'ordering': ['account', 'study', '-number'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'account', 'number'), name='llm_grant_number_once'), models.CheckConstraint(condition=models.Q(models.Q(('person_day_nano__gt', 0), ('study_day_nano__gt', 0), ('study_nano__gt', 0)), models.Q(('person_day_nano__isnull', True), ('study_day_nano__isnull', True), ('study_nano__isnull', True)), _connector='OR'), name='llm_grant_all_limits_or_none')],
                },
            ),
            migrations.CreateModel(
                name='Commitment',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('grant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='commitments', to='llm.grant')),
                    ('batch_number', models.PositiveBigIntegerField(db_index=True)),
                    ('person', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='commitments', to=settings.AUTH_USER_MODEL)),
                    ('person_name', models.CharField(max_length=200)),
                    ('day', models.DateField()),
                    ('nano', models.BigIntegerField()),
                    ('committed_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['pk'],
                },
            ),
        ]),
    ]
