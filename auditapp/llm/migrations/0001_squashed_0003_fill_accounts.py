import django.db.models.deletion
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    replaces = [('llm', '0001_start'), ('llm', '0002_accounts'), ('llm', '0003_fill_accounts')]

    initial = True

    dependencies = [
    ]

    operations = [
        CreateModels([
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
                name='ProviderAccount',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=100, unique=True)),
                    ('provider', models.CharField(max_length=40)),
                    ('base_url', models.CharField(blank=True, max_length=300)),
                    ('key_env', models.CharField(blank=True, max_length=100)),
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
                name='Price',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('model', models.CharField(max_length=200)),
                    ('number', models.PositiveIntegerField()),
                    ('price_in', models.DecimalField(decimal_places=6, max_digits=12)),
                    ('price_out', models.DecimalField(decimal_places=6, max_digits=12)),
                    ('batch_share', models.DecimalField(decimal_places=3, default=1, max_digits=4)),
                    ('source', models.CharField(blank=True, max_length=300)),
                    ('recorded_by_name', models.CharField(max_length=200)),
                    ('recorded_at', models.DateTimeField()),
                    ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='prices', to='llm.provideraccount')),
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
                    ('model', models.CharField(max_length=200)),
                    ('number', models.PositiveIntegerField()),
                    ('reasoning', models.CharField(choices=[('none', 'cannot be set'), ('effort', 'reasoning_effort (OpenAI, vLLM, Ollama)'), ('nested_effort', 'reasoning.effort (OpenRouter)'), ('budget', 'a budget of thinking tokens (Anthropic)'), ('template', 'chat_template_kwargs.enable_thinking on or off (vLLM)')], default='effort', max_length=20)),
                    ('token_limit', models.CharField(choices=[('max_tokens', 'max_tokens'), ('max_completion_tokens', 'max_completion_tokens')], default='max_tokens', max_length=30)),
                    ('takes_system', models.BooleanField(default=True)),
                    ('takes_temperature', models.BooleanField(default=True)),
                    ('offers_batches', models.BooleanField(default=False)),
                    ('most_output_tokens', models.PositiveIntegerField(blank=True, null=True)),
                    ('source', models.CharField(blank=True, max_length=300)),
                    ('recorded_by_name', models.CharField(max_length=200)),
                    ('recorded_at', models.DateTimeField()),
                    ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='capabilities', to='llm.provideraccount')),
                ],
                options={
                    'verbose_name_plural': 'capabilities',
                    'ordering': ['account', 'model', '-number'],
                    'constraints': [models.UniqueConstraint(fields=('account', 'model', 'number'), name='llm_capabilities_number_once')],
                },
            ),
            migrations.CreateModel(
                name='ModelVariant',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('label', models.CharField(max_length=100, unique=True)),
                    ('provider', models.CharField(max_length=40)),
                    ('base_url', models.CharField(blank=True, max_length=300)),
                    ('model', models.CharField(max_length=200)),
                    ('key_env', models.CharField(blank=True, max_length=100)),
                    ('reasoning', models.CharField(blank=True, max_length=20)),
                    ('max_tokens', models.PositiveIntegerField(default=1024)),
                    ('parameters', models.JSONField(default=dict)),
                    ('price_in', models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                    ('price_out', models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                    ('created_at', models.DateTimeField()),
                    ('timeout_seconds', models.PositiveIntegerField(default=600)),
                    ('account', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='variants', to='llm.provideraccount')),
                ],
                options={
                    'ordering': ['label'],
                },
            ),
        ]),
    ]
