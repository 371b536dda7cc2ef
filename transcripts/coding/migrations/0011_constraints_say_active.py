from django.db import migrations, models


class Migration(migrations.Migration):
    """Constraints say active, as the code does. Only indexes are made again."""

    dependencies = [("coding", "0010_codings_are_migrated")]

    operations = [
        migrations.RemoveConstraint(
            model_name='coding',
            name='coding_coding_stands_once',
        ),
        migrations.RemoveConstraint(
            model_name='decision',
            name='coding_decision_stands_once',
        ),
        migrations.RemoveConstraint(
            model_name='memo',
            name='coding_memo_stands_once_per_sentence',
        ),
        migrations.RemoveConstraint(
            model_name='memo',
            name='coding_memo_stands_once_per_interview',
        ),
        migrations.RemoveConstraint(
            model_name='memo',
            name='coding_memo_stands_once_per_thread',
        ),
        migrations.AddConstraint(
            model_name='coding',
            constraint=models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('sentence', 'code', 'coder', 'layer'), name='coding_coding_active_once'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('sentence', 'coder'), name='coding_decision_active_once'),
        ),
        migrations.AddConstraint(
            model_name='memo',
            constraint=models.UniqueConstraint(condition=models.Q(('subject', 'sentence'), ('withdrawn_at__isnull', True)), fields=('sentence', 'author'), name='coding_memo_active_once_per_sentence'),
        ),
        migrations.AddConstraint(
            model_name='memo',
            constraint=models.UniqueConstraint(condition=models.Q(('subject', 'interview'), ('withdrawn_at__isnull', True)), fields=('interview', 'author'), name='coding_memo_active_once_per_interview'),
        ),
        migrations.AddConstraint(
            model_name='memo',
            constraint=models.UniqueConstraint(condition=models.Q(('thread__isnull', False), ('withdrawn_at__isnull', True)), fields=('thread',), name='coding_memo_active_once_per_thread'),
        ),
    ]
