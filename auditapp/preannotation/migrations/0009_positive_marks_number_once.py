from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("preannotation", "0008_number_positive_marks")]

    operations = [
        migrations.AlterField("positivemark", "client_id", models.UUIDField(unique=True)),
        migrations.AddConstraint(
            "positivemark",
            models.UniqueConstraint(
                fields=["item", "reviewer", "number"], name="preannotation_positivemark_number_once"
            ),
        ),
    ]
