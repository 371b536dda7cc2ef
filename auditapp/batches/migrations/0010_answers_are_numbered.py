from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("batches", "0009_batches_are_planned")]

    operations = [
        migrations.AddField(
            model_name="cell",
            name="answer_number",
            field=models.PositiveBigIntegerField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name="cell",
            constraint=models.UniqueConstraint(
                condition=models.Q(("answer_number__isnull", False)),
                fields=("batch", "answer_number"),
                name="batches_cell_answer_number_once",
            ),
        ),
    ]
