import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Study',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('slug', models.SlugField(help_text='Address of the study.', max_length=60, unique=True)),
                    ('name', models.CharField(help_text='Name of the study.', max_length=200)),
                    ('description', models.TextField(blank=True, help_text='What the study is about; may be empty.')),
                    ('created_at', models.DateTimeField()),
                    ('skipped_steps', models.JSONField(blank=True, default=list)),
                    ('members', models.ManyToManyField(related_name='studies', through='studies.Membership', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['name', 'pk'],
                },
            ),
            migrations.CreateModel(
                name='MethodChoice',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='method_choices', to='studies.study')),
                    ('family', models.CharField(blank=True, help_text='Identifier of the family of codes; empty for the whole study.', max_length=100)),
                    ('method', models.CharField(choices=[('reflexive', 'Reflexive thematic analysis'), ('codebook', 'Codebook thematic analysis'), ('reliability', 'Coding reliability')], help_text="reflexive, codebook or reliability (Braun and Clarke's three kinds of thematic analysis).", max_length=12)),
                    ('reason', models.TextField(blank=True, help_text='Required if a method was set before. It is kept on this page and appears in the methods paragraph.', max_length=2000, verbose_name='why')),
                    ('set_at', models.DateTimeField(help_text='When it was set, in UTC.')),
                    ('set_by_name', models.CharField(help_text='Who set it.', max_length=200)),
                ],
                options={
                    'ordering': ['study', 'pk'],
                },
            ),
            migrations.CreateModel(
                name='UploadDay',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='upload_days', to='studies.study')),
                    ('day', models.DateField()),
                    ('bytes', models.PositiveBigIntegerField(default=0)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('study', 'day'), name='studies_uploadday_once')],
                },
            ),
            migrations.CreateModel(
                name='Invitation',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='studies.study')),
                    ('username', models.CharField(max_length=150)),
                    ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to=settings.AUTH_USER_MODEL)),
                    ('role', models.CharField(choices=[('owner', 'Owner'), ('lead', 'Lead'), ('coder', 'Coder'), ('reader', 'Reader')], max_length=20)),
                    ('invited_by_name', models.CharField(max_length=200)),
                    ('invited_at', models.DateTimeField()),
                    ('answer', models.CharField(blank=True, choices=[('accepted', 'Accepted'), ('declined', 'Declined'), ('withdrawn', 'Withdrawn')], max_length=10)),
                    ('answered_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(models.F('study'), django.db.models.functions.text.Lower('username'), condition=models.Q(('answer', '')), name='studies_invitation_one_open_per_name'), models.CheckConstraint(condition=models.Q(('answer', ''), ('answered_at__isnull', False), _connector='XOR'), name='studies_invitation_answered_has_date')],
                },
            ),
            migrations.CreateModel(
                name='Membership',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='studies.study')),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                    ('role', models.CharField(choices=[('owner', 'Owner'), ('lead', 'Lead'), ('coder', 'Coder'), ('reader', 'Reader')], max_length=20)),
                    ('joined_at', models.DateTimeField()),
                    ('came_by_invitation', models.BooleanField(default=False)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('study', 'user'), name='studies_membership_one_role_per_person'), models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'lead', 'coder', 'reader'])), name='studies_membership_role_is_known')],
                },
            ),
        ]),
    ]
