import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sob", "0003_count_in_every_way")]

    operations = [
        migrations.AlterField(
            model_name="judgment",
            name="arm",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="judgments",
                to="batches.arm",
            ),
        ),
    ]
