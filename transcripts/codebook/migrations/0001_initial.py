import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from transcripts.schema_operations import CreateModels


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('corpus', '0001_initial'),
        ('studies', '0001_initial'),
    ]

    operations = [
        CreateModels([
            migrations.CreateModel(
                name='CodebookVersion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='codebook_versions', to='studies.study')),
                    ('number', models.PositiveIntegerField(help_text='Number of the version of the codebook.')),
                    ('status', models.CharField(choices=[('draft', 'Draft'), ('published', 'Published'), ('discarded', 'Discarded')], default='draft', help_text='draft, published, or discarded. Only a published one is coded with.', max_length=10)),
                    ('title', models.CharField(help_text='Title of the version.', max_length=200)),
                    ('origin', models.CharField(blank=True, help_text='Where it came from; may be empty.', max_length=300)),
                    ('created_at', models.DateTimeField()),
                    ('created_by_name', models.CharField(max_length=200)),
                    ('published_at', models.DateTimeField(blank=True, help_text='When it was published; empty: it was not.', null=True)),
                    ('published_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='published_codebooks', to=settings.AUTH_USER_MODEL)),
                    ('based_on', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='drafts', to='codebook.codebookversion')),
                ],
                options={
                    'ordering': ['study', 'number'],
                    'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='codebook_codebookversion_number_once'), models.CheckConstraint(condition=models.Q(('status', 'published'), ('published_at__isnull', True), _connector='XOR'), name='codebook_codebookversion_published_has_date')],
                },
            ),
            migrations.CreateModel(
                name='CodeFamily',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='families', to='codebook.codebookversion')),
                    ('identifier', models.CharField(help_text='Identifier of the family of codes, the same in every version of the codebook.', max_length=100)),
                    ('name', models.CharField(help_text='Name of the family, for people.', max_length=200)),
                    ('description', models.TextField(blank=True, help_text='The purpose of its codes.')),
                    ('unit', models.CharField(choices=[('sentence', 'Sentence'), ('turn', 'Turn'), ('interview', 'Interview')], default='sentence', help_text='What its codes are applied to.', max_length=10, verbose_name='applied to')),
                    ('carries_level', models.BooleanField(default=True, help_text='Whether its codings are semantic or latent.', verbose_name='level')),
                    ('carries_enactment', models.BooleanField(default=False, help_text='Whether its codings say that the move is enacted, demonstrated or described.', verbose_name='enactment')),
                    ('once_per_answer', models.BooleanField(default=False, help_text='Whether each of its codes is applied at most once per answer: a person applies it to one sentence, a second is refused.')),
                    ('applies_to', models.CharField(choices=[('any', "Anybody's turns"), ('model', "The model's turns"), ('interviewer', "The interviewer's turns")], db_default='any', default='any', help_text='Whose turns its codes are about; a coding on other turns is refused.', max_length=12, verbose_name='whose turns')),
                    ('rules', models.TextField(blank=True, default='', help_text='How to code with it: what to decide first, how often, and where.')),
                    ('color', models.CharField(blank=True, default='', help_text='Its colour as #rrggbb; may be empty.', max_length=7)),
                    ('revision', models.PositiveIntegerField(default=0)),
                    ('position', models.PositiveIntegerField()),
                ],
                options={
                    'ordering': ['version', 'position'],
                    'constraints': [models.UniqueConstraint(fields=('version', 'identifier'), name='codebook_codefamily_identifier_once')],
                },
            ),
            migrations.CreateModel(
                name='Code',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='codes', to='codebook.codebookversion')),
                    ('family', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='codes', to='codebook.codefamily')),
                    ('identifier', models.CharField(help_text='Identifier of the code, the same in every version of the codebook.', max_length=100)),
                    ('name', models.CharField(help_text='Name of the code in this version of the codebook. If it is changed, its codings stay.', max_length=200)),
                    ('group', models.CharField(blank=True, help_text='The heading within its family that it is listed under; may be empty.', max_length=100)),
                    ('aliases', models.JSONField(default=list, help_text='Its other names.')),
                    ('definition', models.TextField(blank=True, help_text='The meaning, for people.')),
                    ('machine_definition', models.TextField(blank=True, help_text='Its definition in prompts for models: when the answer is yes, and when it is no.', verbose_name='definition for machines')),
                    ('include', models.TextField(blank=True, help_text='Cases that belong.')),
                    ('exclude', models.TextField(blank=True, help_text='Cases that do not, and the code they belong to instead.')),
                    ('key', models.CharField(blank=True, help_text='The key that applies it at the desk; may be empty.', max_length=1)),
                    ('source', models.CharField(blank=True, help_text='Where the code comes from.', max_length=300)),
                    ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='children', to='codebook.code')),
                    ('color', models.CharField(blank=True, default='', help_text='Its colour as #rrggbb; may be empty.', max_length=7)),
                    ('terms', models.JSONField(blank=True, default=list, help_text='Words, or [kinds of question], by which the interviewer prompts it.')),
                    ('attributes', models.JSONField(blank=True, default=list, help_text='The questions a coding with it answers.')),
                    ('keyword_rules', models.JSONField(blank=True, default=list, help_text='Rules of words by which the annotator of rules suggests it.')),
                    ('is_category', models.BooleanField(db_default=False, default=False, help_text='Whether it only groups the codes under it and is not applied itself.', verbose_name='category')),
                    ('meaning_version', models.PositiveIntegerField(default=1, help_text='The version that last changed its meaning; codings made under an earlier one need re-review.')),
                    ('revision', models.PositiveIntegerField(default=0)),
                    ('position', models.PositiveIntegerField()),
                ],
                options={
                    'ordering': ['version', 'family', 'position'],
                    'constraints': [models.UniqueConstraint(fields=('version', 'identifier'), name='codebook_code_identifier_once'), models.UniqueConstraint(condition=models.Q(('key', ''), _negated=True), fields=('version', 'key'), name='codebook_code_one_code_per_key')],
                },
            ),
            migrations.CreateModel(
                name='CodeExample',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('code', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='examples', to='codebook.code')),
                    ('sentence', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='code_examples', to='corpus.sentence')),
                    ('words', models.TextField(blank=True, default='', help_text='Invented: it is in no interview.', max_length=2000, verbose_name='sentence')),
                    ('kind', models.CharField(choices=[('include', 'Belongs'), ('exclude', 'Does not belong'), ('anchor', 'Anchor')], help_text='Whether it belongs, does not belong, or is an anchor.', max_length=10)),
                    ('note', models.CharField(blank=True, help_text='Why, in a few words.', max_length=500)),
                    ('added_at', models.DateTimeField()),
                    ('added_by_name', models.CharField(max_length=200)),
                ],
                options={
                    'ordering': ['code_id', 'kind', 'pk'],
                    'constraints': [models.UniqueConstraint(fields=('code', 'sentence'), name='codebook_codeexample_once_per_code'), models.CheckConstraint(condition=models.Q(('sentence__isnull', True), ('words', ''), _connector='XOR'), name='codebook_codeexample_pinned_or_invented')],
                },
            ),
            migrations.CreateModel(
                name='CodeChange',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='codebook.codebookversion')),
                    ('kind', models.CharField(choices=[('added', 'Added'), ('redefined', 'Redefined'), ('renamed', 'Renamed'), ('merged', 'Merged'), ('split', 'Split'), ('retired', 'Retired'), ('moved', 'Moved'), ('adjusted', 'Adjusted')], help_text='added, redefined, renamed, merged, split, retired, moved or adjusted.', max_length=10)),
                    ('effect', models.CharField(blank=True, choices=[('wording', 'Wording only'), ('narrowing', 'Narrower'), ('widening', 'Wider')], help_text='What it does to the meaning: wording (leaves codings as they are), narrowing or widening.', max_length=10)),
                    ('from_identifier', models.CharField(blank=True, help_text='Identifier before.', max_length=100)),
                    ('to_identifier', models.CharField(blank=True, help_text='Identifier after.', max_length=100)),
                    ('reason', models.TextField(blank=True, help_text='Why it was changed. Kept in the history of the code.', max_length=2000)),
                    ('made_at', models.DateTimeField(help_text='When it was changed, in UTC.')),
                    ('made_by_name', models.CharField(help_text='Who did it.', max_length=200)),
                ],
                options={
                    'ordering': ['version', 'pk'],
                },
            ),
            migrations.CreateModel(
                name='CodeProposal',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='code_proposals', to='studies.study')),
                    ('name', models.CharField(help_text='Name of the proposed code, in the words of the sentence or in others.', max_length=200)),
                    ('definition', models.TextField(blank=True, help_text='What it would mean; may be empty until the code has been discussed.', max_length=20000, verbose_name='what it means')),
                    ('family_identifier', models.CharField(help_text='Identifier of the family of codes that it is proposed for.', max_length=100)),
                    ('sentence', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='code_proposals', to='corpus.sentence')),
                    ('is_in_vivo', models.BooleanField(default=False, help_text='true where the name is in the words of the sentence.')),
                    ('proposed_by', models.ForeignKey(help_text='Who found it missing.', on_delete=django.db.models.deletion.PROTECT, related_name='code_proposals', to=settings.AUTH_USER_MODEL)),
                    ('proposed_at', models.DateTimeField(help_text='When it was proposed, in UTC.')),
                    ('idempotency_key', models.UUIDField()),
                    ('state', models.CharField(choices=[('open', 'Open'), ('accepted', 'Accepted'), ('declined', 'Declined')], default='open', help_text='open, accepted or declined.', max_length=10)),
                    ('code', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='proposals', to='codebook.code')),
                    ('answer', models.TextField(blank=True, help_text='What was answered.', max_length=20000)),
                    ('answered_at', models.DateTimeField(blank=True, help_text='When it was answered, in UTC.', null=True)),
                    ('answered_by', models.ForeignKey(blank=True, help_text='Who answered.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='answered_proposals', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['study', 'pk'],
                    'constraints': [models.UniqueConstraint(fields=('proposed_by', 'idempotency_key'), name='codebook_codeproposal_stored_once'), models.CheckConstraint(condition=models.Q(('state', 'open'), ('answered_at__isnull', False), _connector='XOR'), name='codebook_codeproposal_answered_has_date')],
                },
            ),
        ]),
    ]
