from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ("preannotation", "0009_positive_marks_number_once"),
    ]

    operations = [
        migrations.RenameField(model_name="offlinerun", old_name="client_id", new_name="idempotency_key"),
    ]
