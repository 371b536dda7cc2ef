import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='User',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('password', models.CharField(max_length=128, verbose_name='password')),
                    ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                    ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                    ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                    ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                    ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                    ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                    ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                    ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                    ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                    ('may_start_studies', models.BooleanField(default=False)),
                    ('may_invite', models.BooleanField(default=False)),
                    ('closed_at', models.DateTimeField(blank=True, null=True)),
                    ('known_pages', models.JSONField(blank=True, default=list)),
                    ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                    ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
                ],
                options={
                    'constraints': [models.CheckConstraint(condition=models.Q(('closed_at__isnull', True), ('is_active', False), _connector='OR'), name='accounts_user_closed_is_not_active'), models.UniqueConstraint(django.db.models.functions.text.Lower('username'), name='accounts_user_one_per_name', violation_error_message='There is already a user of this name.')],
                },
                managers=[
                    ('objects', django.contrib.auth.models.UserManager()),
                ],
            ),
            migrations.CreateModel(
                name='Session',
                fields=[
                    ('session_key', models.CharField(max_length=40, primary_key=True, serialize=False, verbose_name='session key')),
                    ('session_data', models.TextField(verbose_name='session data')),
                    ('expire_date', models.DateTimeField(db_index=True, verbose_name='expire date')),
                    ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to=settings.AUTH_USER_MODEL)),
                    ('device', models.CharField(blank=True, max_length=100)),
                    ('began_at', models.DateTimeField()),
                    ('last_used_at', models.DateTimeField(db_index=True)),
                ],
                options={
                    'verbose_name': 'session',
                    'verbose_name_plural': 'sessions',
                },
            ),
            migrations.CreateModel(
                name='SignInLink',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sign_in_links', to=settings.AUTH_USER_MODEL)),
                    ('secret_hash', models.CharField(max_length=64, unique=True)),
                    ('created_at', models.DateTimeField()),
                    ('expires_at', models.DateTimeField()),
                    ('used_at', models.DateTimeField(blank=True, null=True)),
                ],
            ),
            migrations.CreateModel(
                name='ApiToken',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
                    ('name', models.CharField(help_text='Its purpose, such as “nightly export”.', max_length=100, verbose_name='name of the token')),
                    ('secret_hash', models.CharField(max_length=64, unique=True)),
                    ('last_four', models.CharField(max_length=4)),
                    ('scopes', models.JSONField(db_default=[], default=list)),
                    ('created_at', models.DateTimeField()),
                    ('expires_at', models.DateTimeField()),
                    ('last_used_at', models.DateTimeField(blank=True, null=True)),
                    ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'constraints': [models.CheckConstraint(condition=models.Q(('expires_at__gt', models.F('created_at'))), name='accounts_apitoken_expires_after_created'), models.CheckConstraint(condition=models.Q(('revoked_at__isnull', True), ('revoked_at__gte', models.F('created_at')), _connector='OR'), name='accounts_apitoken_revoked_after_created')],
                },
            ),
        ]),
    ]
