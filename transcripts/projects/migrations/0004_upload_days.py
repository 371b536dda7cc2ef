import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0003_invitations'),
    ]

    operations = [
        migrations.CreateModel(
            name='UploadDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('bytes', models.PositiveBigIntegerField(default=0)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='upload_days', to='projects.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'day'), name='projects_uploadday_once')],
            },
        ),
    ]
