import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    replaces = [('coding', '0001_start'), ('coding', '0002_marks_and_memos'), ('coding', '0003_subject_of_memos'), ('coding', '0004_memo_constraints'), ('coding', '0005_reason_of_reopening'), ('coding', '0006_desk_settings')]

    initial = True

    dependencies = [
        ('codebook', '0002_instrument'),
        ('corpus', '0002_recuts'),
        ('projects', '0002_method_stance'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Coding',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('layer', models.CharField(choices=[('blind', 'Blind'), ('assisted', "After seeing others' labels")], default='blind', max_length=10)),
                    ('level', models.CharField(choices=[('semantic', 'Semantic'), ('latent', 'Latent')], default='semantic', max_length=10)),
                    ('enactment', models.CharField(blank=True, choices=[('enacted', 'Enacted'), ('demonstrated', 'Demonstrated'), ('described', 'Described')], max_length=15)),
                    ('note', models.TextField(blank=True)),
                    ('client_id', models.UUIDField()),
                    ('created_at', models.DateTimeField()),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('code', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='codings', to='codebook.code')),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='codings', to=settings.AUTH_USER_MODEL)),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='codings', to='corpus.sentence')),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='coding.coding')),
                    ('attributes', models.JSONField(blank=True, default=dict)),
                    ('carried_from', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='carried_to', to='coding.coding')),
                    ('grounding', models.CharField(blank=True, choices=[('abstract', 'Abstract principle'), ('grounded', 'Grounded guidance')], default='', max_length=10)),
                    ('prompting', models.CharField(blank=True, choices=[('prompted', 'Prompted'), ('unprompted', 'Unprompted'), ('unclear', 'Unclear')], default='', max_length=10)),
                    ('quote_end', models.PositiveIntegerField(blank=True, null=True)),
                    ('quote_start', models.PositiveIntegerField(blank=True, null=True)),
                    ('range_id', models.UUIDField(blank=True, null=True)),
                    ('reason', models.TextField(blank=True, default='')),
                    ('withdrawal_reason', models.TextField(blank=True, default='')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('sentence', 'code', 'coder', 'layer'), name='coding_coding_stands_once'), models.UniqueConstraint(fields=('coder', 'client_id'), name='coding_coding_stored_once'), models.CheckConstraint(condition=models.Q(('withdrawn_at__isnull', True), ('withdrawn_at__gte', models.F('created_at')), _connector='OR'), name='coding_coding_withdrawn_after_created'), models.CheckConstraint(condition=models.Q(('superseded_by__isnull', True), ('withdrawn_at__isnull', False), _connector='OR'), name='coding_coding_superseded_is_withdrawn'), models.CheckConstraint(condition=models.Q(models.Q(('quote_end__isnull', True), ('quote_start__isnull', True)), ('quote_end__gt', models.F('quote_start')), _connector='OR'), name='coding_coding_quote_is_whole')],
                    'indexes': [models.Index(condition=models.Q(('range_id__isnull', False)), fields=['range_id'], name='coding_coding_range'), models.Index(condition=models.Q(('carried_from__isnull', False)), fields=['carried_from'], name='coding_coding_carried')],
                },
            ),
            migrations.CreateModel(
                name='Decision',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('layer', models.CharField(choices=[('blind', 'Blind'), ('assisted', "After seeing others' labels")], default='blind', max_length=10)),
                    ('none_applies', models.BooleanField()),
                    ('client_id', models.UUIDField()),
                    ('created_at', models.DateTimeField()),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to=settings.AUTH_USER_MODEL)),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='corpus.sentence')),
                    ('withdrawal_reason', models.TextField(blank=True, db_default='', default='')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('sentence', 'coder'), name='coding_decision_stands_once'), models.UniqueConstraint(fields=('coder', 'client_id'), name='coding_decision_stored_once')],
                },
            ),
            migrations.CreateModel(
                name='Memo',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('text', models.TextField(blank=True)),
                    ('client_id', models.UUIDField()),
                    ('created_at', models.DateTimeField()),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memos', to=settings.AUTH_USER_MODEL)),
                    ('interview', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='memos', to='corpus.interview')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memos', to='projects.project')),
                    ('sentence', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='memos', to='corpus.sentence')),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='coding.memo')),
                    ('kind', models.CharField(choices=[('reading', 'Reading note'), ('interpretive', 'Interpretive'), ('positional', 'Positional'), ('methodological', 'Methodological'), ('decision', 'Decision')], default='reading', max_length=20)),
                    ('revision', models.PositiveIntegerField(default=1)),
                    ('subject', models.CharField(choices=[('sentence', 'Sentence'), ('interview', 'Interview'), ('code', 'Code'), ('theme', 'Theme'), ('project', 'Study')], default='sentence', max_length=10)),
                    ('subject_key', models.CharField(blank=True, default='', max_length=100)),
                    ('thread', models.UUIDField(blank=True, null=True)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('author', 'client_id'), name='coding_memo_stored_once'), models.UniqueConstraint(condition=models.Q(('subject', 'sentence'), ('withdrawn_at__isnull', True)), fields=('sentence', 'author'), name='coding_memo_stands_once_per_sentence'), models.UniqueConstraint(condition=models.Q(('subject', 'interview'), ('withdrawn_at__isnull', True)), fields=('interview', 'author'), name='coding_memo_stands_once_per_interview'), models.UniqueConstraint(condition=models.Q(('thread__isnull', False), ('withdrawn_at__isnull', True)), fields=('thread',), name='coding_memo_stands_once_per_thread'), models.CheckConstraint(condition=models.Q(models.Q(('interview__isnull', False), ('sentence__isnull', False), ('subject', 'sentence')), models.Q(('interview__isnull', False), ('sentence__isnull', True), ('subject', 'interview')), models.Q(('interview__isnull', True), ('sentence__isnull', True), ('subject__in', ['code', 'theme', 'project'])), _connector='OR'), name='coding_memo_subject_is_whole')],
                },
            ),
            migrations.CreateModel(
                name='Reveal',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('revealed_at', models.DateTimeField()),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reveals', to=settings.AUTH_USER_MODEL)),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reveals', to='corpus.sentence')),
                    ('source', models.CharField(choices=[('machine', 'Machine suggestions'), ('colleagues', "Colleagues' codings")], default='machine', max_length=10)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('sentence', 'coder'), name='coding_reveal_once_per_person')],
                },
            ),
            migrations.CreateModel(
                name='Opening',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('where', models.CharField(max_length=40)),
                    ('opened_at', models.DateTimeField()),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='openings', to='corpus.interview')),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='openings', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('interview', 'user'), name='coding_opening_once_per_person')],
                },
            ),
            migrations.CreateModel(
                name='DeskSettings',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('keys', models.JSONField(default=dict)),
                    ('changed_at', models.DateTimeField()),
                    ('user', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='desk_settings', to=settings.AUTH_USER_MODEL)),
                ],
            ),
        ]),
    ]
