from django.db import migrations, models


class Migration(migrations.Migration):
    """Constraints say current or active, as the code does. Only indexes are made again."""

    dependencies = [("corpus", "0006_idempotency_keys")]

    operations = [
        migrations.RemoveConstraint(
            model_name='sentence',
            name='corpus_sentence_stands_once_per_start',
        ),
        migrations.AddConstraint(
            model_name='sentence',
            constraint=models.UniqueConstraint(condition=models.Q(('retired_by__isnull', True)), fields=('turn', 'start'), name='corpus_sentence_current_once_per_start'),
        ),
    ]
