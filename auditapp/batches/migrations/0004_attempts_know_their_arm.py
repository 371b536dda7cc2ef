import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('batches', '0003_fill_arms_and_lanes'),
    ]

    operations = [
        migrations.AlterField(
            model_name='attempt',
            name='arm',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='batches.arm'),
        ),
    ]
