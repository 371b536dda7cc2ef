import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('codebook', '0001_initial'),
        ('corpus', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='Coding',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('sentence', models.ForeignKey(help_text='Number of the sentence; for a code of turns, the first of its turn.', on_delete=django.db.models.deletion.PROTECT, related_name='codings', to='corpus.sentence')),
                    ('code', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='codings', to='codebook.code')),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='codings', to=settings.AUTH_USER_MODEL)),
                    ('blinding', models.CharField(choices=[('blind', 'Blind'), ('assisted', "After seeing others' labels")], default='blind', max_length=10)),
                    ('level', models.CharField(choices=[('semantic', 'Semantic'), ('latent', 'Latent')], default='semantic', help_text='semantic (said outright) or latent (interpreted from what is said).', max_length=10)),
                    ('enactment', models.CharField(blank=True, choices=[('enacted', 'Enacted'), ('demonstrated', 'Demonstrated'), ('described', 'Described')], help_text='enacted, demonstrated in an example, or described. Required for codes whose family has enactment, and empty for others; also empty for older codings stored before it was required (enactment not stated).', max_length=15)),
                    ('note', models.TextField(blank=True, help_text="The coder's interpretation in one line; a latent coding needs one.", max_length=1000)),
                    ('quote_start', models.PositiveIntegerField(blank=True, help_text="First character of the marked words inside the sentence, counted in code points of the turn's text.", null=True)),
                    ('quote_end', models.PositiveIntegerField(blank=True, help_text='Character after the marked words; both are empty if no words were marked.', null=True)),
                    ('range_id', models.UUIDField(blank=True, help_text='Shared by codings that were applied to several sentences at once; empty otherwise.', null=True)),
                    ('grounding', models.CharField(blank=True, choices=[('abstract', 'Abstract principle'), ('grounded', 'Grounded guidance')], default='', help_text='abstract (a principle) or grounded (guidance tied to a case); empty if not stated.', max_length=10)),
                    ('prompting', models.CharField(blank=True, choices=[('prompted', 'Prompted'), ('unprompted', 'Unprompted'), ('unclear', 'Unclear')], default='', help_text='prompted, unprompted or unclear, as the coder said it; empty if it is derived from earlier turns.', max_length=10)),
                    ('attributes', models.JSONField(blank=True, default=dict, help_text="Answers to the code's own questions, by their keys.")),
                    ('reason', models.TextField(blank=True, default='')),
                    ('migrated_from', models.ForeignKey(blank=True, db_index=False, help_text='Number of the coding from which this one was made, by a boundary edit or a merge of codes.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='migrated_to', to='coding.coding')),
                    ('idempotency_key', models.UUIDField()),
                    ('created_at', models.DateTimeField()),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('withdrawal_reason', models.TextField(blank=True, default='')),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='coding.coding')),
                ],
                options={
                    'indexes': [models.Index(condition=models.Q(('range_id__isnull', False)), fields=['range_id'], name='coding_coding_range'), models.Index(condition=models.Q(('migrated_from__isnull', False)), fields=['migrated_from'], name='coding_coding_migrated')],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('sentence', 'code', 'coder', 'blinding'), name='coding_coding_stands_once'), models.UniqueConstraint(fields=('coder', 'idempotency_key'), name='coding_coding_stored_once'), models.CheckConstraint(condition=models.Q(('withdrawn_at__isnull', True), ('withdrawn_at__gte', models.F('created_at')), _connector='OR'), name='coding_coding_withdrawn_after_created'), models.CheckConstraint(condition=models.Q(('superseded_by__isnull', True), ('withdrawn_at__isnull', False), _connector='OR'), name='coding_coding_superseded_is_withdrawn'), models.CheckConstraint(condition=models.Q(models.Q(('quote_end__isnull', True), ('quote_start__isnull', True)), ('quote_end__gt', models.F('quote_start')), _connector='OR'), name='coding_coding_quote_is_whole')],
                },
            ),
            migrations.CreateModel(
                name='Link',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('coding', models.ForeignKey(help_text='Number of the coding that is linked.', on_delete=django.db.models.deletion.PROTECT, related_name='links', to='coding.coding')),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='links', to=settings.AUTH_USER_MODEL)),
                    ('kind', models.CharField(choices=[('acts_on', 'Acts on'), ('warrant', 'Rests on'), ('revises', 'Revises')], help_text='acts_on (a feature), warrant (rests on a sentence) or revises (a sentence).', max_length=10)),
                    ('code', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='links', to='codebook.code')),
                    ('sentence', models.ForeignKey(blank=True, help_text='Number of the sentence that it leads to, if any.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='links', to='corpus.sentence')),
                    ('quote_start', models.PositiveIntegerField(blank=True, help_text="First marked character of the sentence that it leads to, in code points of the turn's text.", null=True)),
                    ('quote_end', models.PositiveIntegerField(blank=True, help_text='Character after the last marked one.', null=True)),
                    ('blinding', models.CharField(choices=[('blind', 'Blind'), ('assisted', "After seeing others' labels")], default='blind', max_length=10)),
                    ('idempotency_key', models.UUIDField()),
                    ('created_at', models.DateTimeField()),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('code__isnull', False), ('kind', 'acts_on'), ('sentence__isnull', True)), models.Q(('code__isnull', True), ('kind__in', ['warrant', 'revises']), ('sentence__isnull', False)), _connector='OR'), name='coding_link_has_one_end'), models.UniqueConstraint(condition=models.Q(('code__isnull', False), ('withdrawn_at__isnull', True)), fields=('coding', 'kind', 'code'), name='coding_link_stands_once_per_code'), models.UniqueConstraint(condition=models.Q(('sentence__isnull', False), ('withdrawn_at__isnull', True)), fields=('coding', 'kind', 'sentence'), name='coding_link_stands_once_per_sentence'), models.UniqueConstraint(fields=('coder', 'idempotency_key'), name='coding_link_stored_once'), models.CheckConstraint(condition=models.Q(models.Q(('quote_end__isnull', True), ('quote_start__isnull', True)), ('quote_end__gt', models.F('quote_start')), _connector='OR'), name='coding_link_quote_is_whole')],
                },
            ),
            migrations.CreateModel(
                name='Decision',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='corpus.sentence')),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to=settings.AUTH_USER_MODEL)),
                    ('blinding', models.CharField(choices=[('blind', 'Blind'), ('assisted', "After seeing others' labels")], default='blind', max_length=10)),
                    ('none_applies', models.BooleanField(help_text='true: read, and no code applies; false: read, and no further codes apply.')),
                    ('idempotency_key', models.UUIDField()),
                    ('created_at', models.DateTimeField()),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('withdrawal_reason', models.TextField(blank=True, db_default='', default='')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at__isnull', True)), fields=('sentence', 'coder'), name='coding_decision_stands_once'), models.UniqueConstraint(fields=('coder', 'idempotency_key'), name='coding_decision_stored_once')],
                },
            ),
            migrations.CreateModel(
                name='Reveal',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('sentence', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reveals', to='corpus.sentence')),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reveals', to=settings.AUTH_USER_MODEL)),
                    ('revealed_at', models.DateTimeField(help_text='When it was first seen, in UTC.')),
                    ('source', models.CharField(choices=[('machine', 'Machine suggestions'), ('colleagues', "Colleagues' codings")], default='machine', help_text='Whose labels were seen: machine (suggestions) or colleagues (their codings).', max_length=10)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('sentence', 'coder'), name='coding_reveal_once_per_person')],
                },
            ),
            migrations.CreateModel(
                name='Unblinding',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('interview', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='unblindings', to='corpus.interview')),
                    ('user', models.ForeignKey(help_text='User name of the person who unblinded it.', on_delete=django.db.models.deletion.PROTECT, related_name='unblindings', to=settings.AUTH_USER_MODEL)),
                    ('where', models.CharField(help_text='On which page.', max_length=40)),
                    ('unblinded_at', models.DateTimeField(help_text='When it was unblinded, in UTC. What she coded there afterwards is assisted.')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('where', 'condition'), _negated=True), fields=('interview', 'user'), name='coding_unblinding_labels_once_per_person'), models.UniqueConstraint(condition=models.Q(('where', 'condition')), fields=('interview', 'user'), name='coding_unblinding_condition_once_per_person')],
                },
            ),
            migrations.CreateModel(
                name='StageOpening',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('turn', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='openings', to='corpus.turn')),
                    ('coder', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='stage_openings', to=settings.AUTH_USER_MODEL)),
                    ('opened_at', models.DateTimeField(help_text='When she first opened the reasoning of that turn, in UTC.')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('turn', 'coder'), name='coding_stageopening_once_per_person')],
                },
            ),
            migrations.CreateModel(
                name='Memo',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memos', to='studies.study')),
                    ('kind', models.CharField(choices=[('reading', 'Reading note'), ('interpretive', 'Interpretive'), ('positional', 'Positional'), ('methodological', 'Methodological'), ('decision', 'Decision')], default='reading', help_text='reading, interpretive, positional, methodological or decision.', max_length=20)),
                    ('subject', models.CharField(choices=[('sentence', 'Sentence'), ('interview', 'Interview'), ('code', 'Code'), ('theme', 'Theme'), ('study', 'Study')], default='sentence', help_text='Its subject: sentence, interview, code, theme or study.', max_length=10)),
                    ('subject_key', models.CharField(blank=True, default='', help_text='Identifier of the code or number of the theme that it is about; otherwise empty.', max_length=100)),
                    ('thread', models.UUIDField(blank=True, help_text='Shared by all versions of one memo on a code, a theme or the study.', null=True)),
                    ('revision', models.PositiveIntegerField(default=1, help_text='Number of the version of the memo, from 1.')),
                    ('interview', models.ForeignKey(blank=True, help_text='Number of the interview that it is on or in, if any.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='memos', to='corpus.interview')),
                    ('sentence', models.ForeignKey(blank=True, help_text='Number of the sentence that it is on, if any.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='memos', to='corpus.sentence')),
                    ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memos', to=settings.AUTH_USER_MODEL)),
                    ('text', models.TextField(blank=True, help_text='The memo.', max_length=20000)),
                    ('idempotency_key', models.UUIDField()),
                    ('created_at', models.DateTimeField()),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('superseded_by', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='coding.memo')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('subject', 'sentence'), ('withdrawn_at__isnull', True)), fields=('sentence', 'author'), name='coding_memo_stands_once_per_sentence'), models.UniqueConstraint(condition=models.Q(('subject', 'interview'), ('withdrawn_at__isnull', True)), fields=('interview', 'author'), name='coding_memo_stands_once_per_interview'), models.UniqueConstraint(condition=models.Q(('thread__isnull', False), ('withdrawn_at__isnull', True)), fields=('thread',), name='coding_memo_stands_once_per_thread'), models.UniqueConstraint(fields=('author', 'idempotency_key'), name='coding_memo_stored_once'), models.CheckConstraint(condition=models.Q(models.Q(('interview__isnull', False), ('sentence__isnull', False), ('subject', 'sentence')), models.Q(('interview__isnull', False), ('sentence__isnull', True), ('subject', 'interview')), models.Q(('interview__isnull', True), ('sentence__isnull', True), ('subject__in', ['code', 'theme', 'study'])), _connector='OR'), name='coding_memo_subject_is_whole')],
                },
            ),
            migrations.CreateModel(
                name='DeskSettings',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('user', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='desk_settings', to=settings.AUTH_USER_MODEL)),
                    ('keys', models.JSONField(default=dict)),
                    ('changed_at', models.DateTimeField()),
                ],
            ),
        ]),
    ]
