from django.db import migrations, models


class Migration(migrations.Migration):
    """Constraints say active, as the code does. Only indexes are made again."""

    dependencies = [("agreement", "0003_idempotency_keys")]

    operations = [
        migrations.RemoveConstraint(
            model_name='adjudication',
            name='agreement_adjudication_stands_once',
        ),
        migrations.AddConstraint(
            model_name='adjudication',
            constraint=models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('sentence', 'family_identifier'), name='agreement_adjudication_active_once'),
        ),
    ]
