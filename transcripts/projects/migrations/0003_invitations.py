import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0001_squashed_0002_method_stance'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('username', models.CharField(max_length=150)),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('lead', 'Lead'), ('coder', 'Coder'), ('reader', 'Reader')], max_length=20)),
                ('invited_by_name', models.CharField(max_length=200)),
                ('invited_at', models.DateTimeField()),
                ('answer', models.CharField(blank=True, choices=[('accepted', 'Accepted'), ('declined', 'Declined'), ('withdrawn', 'Withdrawn')], max_length=10)),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='projects.project')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(models.F('project'), django.db.models.functions.text.Lower('username'), condition=models.Q(('answer', '')), name='projects_invitation_one_open_per_name'), models.CheckConstraint(condition=models.Q(('answer', ''), ('answered_at__isnull', False), _connector='XOR'), name='projects_invitation_answered_has_date')],
            },
        ),
    ]
