import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Queues become work queues, and the id that a launching page chooses an idempotency key: names only."""

    dependencies = [
        ("batches", "0004_attempts_know_their_arm"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="lane", name="batches_lane_once_per_batch"),
        migrations.RenameModel(old_name="Lane", new_name="WorkQueue"),
        migrations.RenameField(model_name="limitchange", old_name="lane", new_name="queue"),
        migrations.RenameField(model_name="providerjob", old_name="lane", new_name="queue"),
        migrations.RenameField(model_name="workersign", old_name="lanes", new_name="queues"),
        migrations.RenameField(model_name="batch", old_name="client_id", new_name="idempotency_key"),
        migrations.AlterField(
            model_name="workqueue",
            name="batch",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="queues", to="batches.batch"
            ),
        ),
        migrations.AlterModelOptions(name="limitchange", options={"ordering": ["queue", "pk"]}),
        migrations.AddConstraint(
            model_name="workqueue",
            constraint=models.UniqueConstraint(fields=("batch", "name"), name="batches_workqueue_once_per_batch"),
        ),
    ]
