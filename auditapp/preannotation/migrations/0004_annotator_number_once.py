from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("preannotation", "0003_number_annotators")]

    operations = [
        migrations.AddConstraint(
            model_name='annotator',
            constraint=models.UniqueConstraint(fields=('project', 'name', 'number'), name='preannotation_annotator_number_once_per_name'),
        ),
    ]
