from django.db import migrations, models


class Migration(migrations.Migration):
    """Constraints say active, as the code does. Only indexes are made again."""

    dependencies = [("revision", "0002_idempotency_keys")]

    operations = [
        migrations.RemoveConstraint(
            model_name='anchorsentence',
            name='revision_anchorsentence_stands_once',
        ),
        migrations.AddConstraint(
            model_name='anchorsentence',
            constraint=models.UniqueConstraint(condition=models.Q(('removed_at__isnull', True)), fields=('project', 'sentence'), name='revision_anchorsentence_active_once'),
        ),
    ]
