from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('preannotation', '0005_audit_results'),
    ]

    operations = [
        migrations.AddField(
            model_name='offlinerun',
            name='asked',
            field=models.CharField(blank=True, default='', max_length=64),
            preserve_default=False,
        ),
    ]
