import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('projects', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='ProviderAccount',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=100, unique=True)),
                    ('provider', models.CharField(help_text='Who runs the model; fake where answers are invented, file where they were imported.', max_length=40)),
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
                name='ModelVariant',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('label', models.CharField(help_text='Label of the model.', max_length=100, unique=True)),
                    ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='variants', to='llm.provideraccount')),
                    ('model', models.CharField(help_text='The model that is called.', max_length=200)),
                    ('reasoning', models.CharField(blank=True, max_length=20)),
                    ('max_tokens', models.PositiveIntegerField(blank=True, null=True)),
                    ('timeout_seconds', models.PositiveIntegerField(default=600)),
                    ('parameters', models.JSONField(default=dict, help_text="Settings of sampling (temperature, top_p, seed, stop); what is not there is the provider's default.")),
                    ('note', models.CharField(blank=True, default='', max_length=300)),
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
                    ('number', models.PositiveIntegerField()),
                    ('price_in', models.DecimalField(decimal_places=6, max_digits=12)),
                    ('price_out', models.DecimalField(decimal_places=6, max_digits=12)),
                    ('batch_share', models.DecimalField(decimal_places=3, default=1, max_digits=4)),
                    ('source', models.CharField(blank=True, max_length=300)),
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
                    ('number', models.PositiveIntegerField()),
                    ('reasoning', models.CharField(choices=[('none', 'cannot be set'), ('effort', 'reasoning_effort (OpenAI, vLLM, Ollama)'), ('nested_effort', 'reasoning.effort (OpenRouter)'), ('budget', 'a budget of thinking tokens (Anthropic)'), ('template', 'chat_template_kwargs.enable_thinking on or off (vLLM)')], default='effort', max_length=20)),
                    ('token_limit', models.CharField(choices=[('max_tokens', 'max_tokens'), ('max_completion_tokens', 'max_completion_tokens')], default='max_tokens', max_length=30)),
                    ('takes_system', models.BooleanField(default=True)),
                    ('takes_temperature', models.BooleanField(default=True)),
                    ('takes_top_p', models.BooleanField(default=True)),
                    ('takes_seed', models.BooleanField(default=True)),
                    ('takes_stop', models.BooleanField(default=True)),
                    ('offers_batches', models.BooleanField(default=False)),
                    ('max_output_tokens', models.PositiveIntegerField(blank=True, null=True)),
                    ('answer_schema', models.CharField(choices=[('unknown', 'not probed'), ('full', 'honoured'), ('plain', 'honoured, without limits of length'), ('ignored', 'ignored by the server'), ('refused', 'refused by the server')], default='unknown', max_length=10)),
                    ('probe', models.JSONField(blank=True, default=dict)),
                    ('source', models.CharField(blank=True, max_length=300)),
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
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='projects.project')),
                    ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='llm.provideraccount')),
                    ('number', models.PositiveIntegerField()),
                    ('study_nano', models.BigIntegerField(blank=True, null=True)),
                    ('study_day_nano', models.BigIntegerField(blank=True, null=True)),
                    ('person_day_nano', models.BigIntegerField(blank=True, null=True)),
                    ('is_revoked', models.BooleanField(default=False)),
                    ('granted_by_name', models.CharField(max_length=200)),
                    ('granted_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['account', 'project', '-number'],
                    'constraints': [models.UniqueConstraint(fields=('project', 'account', 'number'), name='llm_grant_number_once'), models.CheckConstraint(condition=models.Q(models.Q(('person_day_nano__gt', 0), ('study_day_nano__gt', 0), ('study_nano__gt', 0)), models.Q(('person_day_nano__isnull', True), ('study_day_nano__isnull', True), ('study_nano__isnull', True)), _connector='OR'), name='llm_grant_all_limits_or_none')],
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
