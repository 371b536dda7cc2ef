from django.db import migrations, models


class Migration(migrations.Migration):
    """Constraints say active, as the code does. Only indexes are made again."""

    dependencies = [("themes", "0001_start")]

    operations = [
        migrations.RemoveConstraint(
            model_name='positionalitystatement',
            name='themes_positionalitystatement_one_stands',
        ),
        migrations.RemoveConstraint(
            model_name='themequote',
            name='themes_themequote_stands_once',
        ),
        migrations.AddConstraint(
            model_name='positionalitystatement',
            constraint=models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('project', 'author'), name='themes_positionalitystatement_one_active'),
        ),
        migrations.AddConstraint(
            model_name='themequote',
            constraint=models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('theme', 'sentence'), name='themes_themequote_active_once'),
        ),
    ]
