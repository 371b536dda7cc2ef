import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('llm', '0003_fill_accounts'),
        ('batches', '0003_fill_arms_and_lanes'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='modelvariant',
            name='base_url',
        ),
        migrations.RemoveField(
            model_name='modelvariant',
            name='key_env',
        ),
        migrations.RemoveField(
            model_name='modelvariant',
            name='price_in',
        ),
        migrations.RemoveField(
            model_name='modelvariant',
            name='price_out',
        ),
        migrations.RemoveField(
            model_name='modelvariant',
            name='provider',
        ),
        migrations.AlterField(
            model_name='modelvariant',
            name='account',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='variants', to='llm.provideraccount'),
        ),
    ]
