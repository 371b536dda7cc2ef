import django.db.models.deletion
import uuid
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Webhook',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='webhooks', to='studies.study')),
                    ('address', models.CharField(help_text='Where events are sent.', max_length=500)),
                    ('events', models.JSONField(help_text='Names of the events that are sent to it.')),
                    ('secret_sealed', models.TextField()),
                    ('added_at', models.DateTimeField(help_text='When it was added.')),
                    ('added_by_name', models.CharField(help_text='Who added it.', max_length=200)),
                    ('turned_off_at', models.DateTimeField(blank=True, help_text='When it was turned off; empty while it works.', null=True)),
                    ('turned_off_by_name', models.CharField(blank=True, max_length=200)),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('turned_off_at__isnull', True)), fields=('study', 'address'), name='webhooks_webhook_address_once'), models.CheckConstraint(condition=models.Q(models.Q(('turned_off_at__isnull', True), ('turned_off_by_name', '')), models.Q(('turned_off_at__isnull', False), models.Q(('turned_off_by_name', ''), _negated=True)), _connector='OR'), name='webhooks_webhook_turned_off_by_somebody')],
                },
            ),
            migrations.CreateModel(
                name='Delivery',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='webhooks.webhook')),
                    ('event', models.CharField(max_length=50)),
                    ('body', models.TextField()),
                    ('created_at', models.DateTimeField()),
                    ('state', models.CharField(choices=[('waiting', 'waiting'), ('delivered', 'delivered'), ('given_up', 'given up')], default='waiting', max_length=10)),
                    ('due_at', models.DateTimeField()),
                    ('tries', models.PositiveIntegerField(default=0)),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ('status', models.PositiveIntegerField(blank=True, null=True)),
                    ('answer', models.CharField(blank=True, max_length=100)),
                    ('error', models.CharField(blank=True, max_length=300)),
                ],
                options={
                    'verbose_name_plural': 'deliveries',
                    'ordering': ['-created_at', '-pk'],
                    'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['due_at'], name='webhooks_delivery_due')],
                    'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state', 'waiting')), models.Q(models.Q(('state', 'waiting'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='webhooks_delivery_ended_or_waiting')],
                },
            ),
        ]),
    ]
