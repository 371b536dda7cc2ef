from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0011_archives_checked'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='sentence',
            name='corpus_sentence_retired',
        ),
        migrations.AddIndex(
            model_name='sentence',
            index=models.Index(fields=['turn'], name='corpus_sentence_turn'),
        ),
    ]
