from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0010_archives_filled'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='importedfile',
            name='corpus_importedfile_once_per_project',
        ),
        migrations.AddIndex(
            model_name='interview',
            index=models.Index(fields=['study', 'standing'], name='corpus_interview_standing'),
        ),
        migrations.AddConstraint(
            model_name='importedfile',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'undone'), _negated=True), fields=('project', 'sha256'), name='corpus_importedfile_once_per_project'),
        ),
        migrations.AddConstraint(
            model_name='interview',
            constraint=models.UniqueConstraint(condition=models.Q(('standing', 'undone'), _negated=True), fields=('study', 'external_id'), name='corpus_interview_id_once_per_study'),
        ),
        migrations.AddConstraint(
            model_name='interview',
            constraint=models.CheckConstraint(condition=models.Q(('project__isnull', True), models.Q(('standing', 'counted'), ('study', models.F('project')), ('study__isnull', False)), _connector='OR'), name='corpus_interview_counts_in_its_study'),
        ),
    ]
