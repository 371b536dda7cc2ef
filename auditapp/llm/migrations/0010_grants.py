import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('llm', '0009_answer_schemas'),
        ('projects', '0001_squashed_0002_method_stance'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('study_nano', models.BigIntegerField(blank=True, null=True)),
                ('study_day_nano', models.BigIntegerField(blank=True, null=True)),
                ('person_day_nano', models.BigIntegerField(blank=True, null=True)),
                ('is_revoked', models.BooleanField(default=False)),
                ('granted_by_name', models.CharField(max_length=200)),
                ('granted_at', models.DateTimeField()),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='llm.provideraccount')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='projects.project')),
            ],
            options={
                'ordering': ['account', 'project', '-number'],
            },
        ),
        migrations.CreateModel(
            name='Commitment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('batch_number', models.PositiveBigIntegerField(db_index=True)),
                ('person_name', models.CharField(max_length=200)),
                ('day', models.DateField()),
                ('nano', models.BigIntegerField()),
                ('committed_at', models.DateTimeField()),
                ('person', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='commitments', to=settings.AUTH_USER_MODEL)),
                ('grant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='commitments', to='llm.grant')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.UniqueConstraint(fields=('project', 'account', 'number'), name='llm_grant_number_once'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('person_day_nano__gt', 0), ('study_day_nano__gt', 0), ('study_nano__gt', 0)), models.Q(('person_day_nano__isnull', True), ('study_day_nano__isnull', True), ('study_nano__isnull', True)), _connector='OR'), name='llm_grant_all_limits_or_none'),
        ),
    ]
