import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('preannotation', '0004_annotator_number_once'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ResultsOpening',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('opened_at', models.DateTimeField()),
                ('audit', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='results_openings', to='preannotation.positiveaudit')),
                ('reader', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='results_openings', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('audit', 'reader'), name='preannotation_resultsopening_once_per_person')],
            },
        ),
    ]
