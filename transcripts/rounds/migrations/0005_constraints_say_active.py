from django.db import migrations, models


class Migration(migrations.Migration):
    """Constraints say active, as the code does. Only indexes are made again."""

    dependencies = [("rounds", "0004_idempotency_keys")]

    operations = [
        migrations.RemoveConstraint(
            model_name='assignment',
            name='rounds_assignment_stands_once',
        ),
        migrations.RemoveConstraint(
            model_name='finish',
            name='rounds_finish_stands_once',
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('round', 'interview', 'coder'), name='rounds_assignment_active_once'),
        ),
        migrations.AddConstraint(
            model_name='finish',
            constraint=models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('interview', 'coder'), name='rounds_finish_active_once'),
        ),
    ]
