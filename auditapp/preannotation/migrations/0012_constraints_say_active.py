from django.db import migrations, models


class Migration(migrations.Migration):
    """Constraints say active, as the code does. Only indexes are made again."""

    dependencies = [("preannotation", "0011_idempotency_keys_of_marks")]

    operations = [
        migrations.RemoveConstraint(
            model_name='codechoice',
            name='preannotation_codechoice_stands_once',
        ),
        migrations.RemoveConstraint(
            model_name='disagreement',
            name='preannotation_disagreement_stands_once',
        ),
        migrations.RemoveConstraint(
            model_name='plantedsentence',
            name='preannotation_plantedsentence_stands_once',
        ),
        migrations.RemoveConstraint(
            model_name='response',
            name='preannotation_response_stands_once',
        ),
        migrations.AddConstraint(
            model_name='codechoice',
            constraint=models.UniqueConstraint(condition=models.Q(('superseded_at__isnull', True)), fields=('project', 'code_identifier'), name='preannotation_codechoice_active_once'),
        ),
        migrations.AddConstraint(
            model_name='disagreement',
            constraint=models.UniqueConstraint(condition=models.Q(('superseded_by__isnull', True)), fields=('annotator', 'sentence', 'code_identifier'), name='preannotation_disagreement_active_once'),
        ),
        migrations.AddConstraint(
            model_name='plantedsentence',
            constraint=models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('project', 'text'), name='preannotation_plantedsentence_active_once'),
        ),
        migrations.AddConstraint(
            model_name='response',
            constraint=models.UniqueConstraint(condition=models.Q(('superseded_at__isnull', True)), fields=('suggestion', 'coder'), name='preannotation_response_active_once'),
        ),
    ]
