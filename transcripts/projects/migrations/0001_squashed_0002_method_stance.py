import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    replaces = [('projects', '0001_start'), ('projects', '0002_method_stance')]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Project',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('slug', models.SlugField(max_length=60, unique=True)),
                    ('name', models.CharField(max_length=200)),
                    ('description', models.TextField(blank=True)),
                    ('created_at', models.DateTimeField()),
                    ('members', models.ManyToManyField(related_name='projects', through='projects.Membership', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['name', 'pk'],
                },
            ),
            migrations.CreateModel(
                name='Membership',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('role', models.CharField(choices=[('owner', 'Owner'), ('lead', 'Lead'), ('coder', 'Coder'), ('reader', 'Reader')], max_length=20)),
                    ('joined_at', models.DateTimeField()),
                    ('came_by_invitation', models.BooleanField(default=False)),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='projects.project')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('project', 'user'), name='projects_membership_one_role_per_person'), models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'lead', 'coder', 'reader'])), name='projects_membership_role_is_known')],
                },
            ),
            migrations.CreateModel(
                name='MethodStance',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('family', models.CharField(blank=True, max_length=100)),
                    ('stance', models.CharField(choices=[('reflexive', 'Reflexive thematic analysis'), ('codebook', 'Codebook thematic analysis'), ('reliability', 'Coding reliability')], max_length=12)),
                    ('reason', models.TextField(blank=True)),
                    ('set_at', models.DateTimeField()),
                    ('set_by_name', models.CharField(max_length=200)),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='stances', to='projects.project')),
                ],
                options={
                    'ordering': ['project', 'pk'],
                },
            ),
        ]),
    ]
