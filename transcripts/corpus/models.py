"""The texts: interviews, their turns, and sentences with frozen boundaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.urls import reverse

from transcripts.corpus.pure.boundaries import Extent
from transcripts.corpus.pure.redacting import read_stored
from transcripts.formats.interviews.base import MAX_BASIS_LENGTH
from transcripts.history.models import Numbered
from transcripts.jobs.models import ImportJob
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_REASON

if TYPE_CHECKING:
    from transcripts.corpus.pure.markdown_lines import InterviewCounts


class ImportedFile(models.Model):
    """A file that was imported into a study: its name, who imported it, and its hash, so that it is imported only once.

    While its rows are being stored, its interviews belong to no study and nobody sees them; see storing.py.
    """

    class State(models.TextChoices):
        STORING = "storing", "Being stored"
        ABANDONED = "abandoned", "Given up, to be removed"
        STORED = "stored", "Stored"
        UNDONE = "undone", "Undone"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="imported_files")
    name = models.CharField(max_length=255, help_text="Name of the file it was imported from.")
    sha256 = models.CharField(max_length=64, help_text="SHA-256 of that file.")
    size = models.PositiveBigIntegerField()
    format = models.CharField(max_length=40)
    imported_by_name = models.CharField(max_length=200)
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="imported_files"
    )
    imported_at = models.DateTimeField()
    reader_version = models.CharField(max_length=20, blank=True, default="", db_default="")
    state = models.CharField(max_length=10, choices=State.choices, default=State.STORED, db_default=State.STORED)
    # When the import of this file last stored something. If that is long ago, the import was killed.
    touched_at = models.DateTimeField(null=True, blank=True)
    # The job that imports the file, if a worker does, and its present run; see jobs.models.
    job = models.ForeignKey(ImportJob, on_delete=models.PROTECT, null=True, blank=True, related_name="imported_files")
    runner = models.CharField(max_length=32, blank=True, db_default="")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["study", "sha256"],
                condition=~models.Q(state="undone"),
                name="%(app_label)s_%(class)s_once_per_study",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def format_label(self) -> str:
        """The format in words, or its key if that reader no longer exists."""
        # The readers are loaded where one is read.
        from transcripts.formats.interviews import FORMATS

        return str(FORMATS.get(self.format, self.format))


RUN_FACTS = {"task": "Task", "agent": "Agent", "status": "Status", "epoch": "Epoch", "sample": "Sample"}
"""The facts about a run by which lists and exports can be filtered."""


class InterviewQuerySet(models.QuerySet["Interview"]):
    """Which interviews count. Those in ``study.interviews`` do; see ``Interview``."""

    def staged(self) -> Self:
        """Interviews of a file that is being imported."""
        return self.filter(owning_study__isnull=True)

    def left_out(self) -> Self:
        """Archived or excluded interviews."""
        return self.filter(standing__in=LEFT_OUT)

    def masked(self) -> Self:
        """Interviews whose condition is sealed."""
        return self.exclude(mask_label="").filter(unmasked_at__isnull=True)

    def with_names_covered(self) -> Self:
        """Add ``names_covered``: how many names of models and vendors in the text were covered while the interview was masked;
        None while it is masked, and if it never was."""
        return self.annotate(
            names_covered=models.Case(
                models.When(unmasked_at__isnull=False, then="masked_facts__names_covered"),
                default=None,
                output_field=models.IntegerField(null=True),
            )
        )

    def kept(self) -> Self:
        """Interviews that count, are archived or are excluded: all except those whose import was undone."""
        return self.filter(owning_study__isnull=False).exclude(standing=Standing.UNDONE)

    def of_run(self, facts: Mapping[str, str]) -> Self:
        """Interviews whose run has these facts, given as text by the keys of ``RUN_FACTS``."""
        found = self
        for key, value in facts.items():
            fact = {f"run_{key}": Cast(KeyTextTransform(key, "run"), models.TextField())}
            found = found.alias(**fact).filter(**{f"run_{key}": value})
        return found


class Kind(models.TextChoices):
    """The kind of a thread. In a trajectory, the tool calls are coded too."""

    INTERVIEW = "interview", "Interview"
    TRAJECTORY = "trajectory", "Trajectory"


class Relation(models.TextChoices):
    """How a thread continues from a turn of another."""

    BRANCH = "branch", "Branch"
    SUBAGENT = "subagent", "Run of a sub-agent"
    CONTINUATION = "continuation", "Continuation"


class Standing(models.TextChoices):
    """Whether an interview counts in its study, and if not, why."""

    COUNTED = "counted", "Counted"
    ARCHIVED = "archived", "Archived"
    EXCLUDED = "excluded", "Excluded"
    UNDONE = "undone", "Import undone"


LEFT_OUT = (Standing.ARCHIVED, Standing.EXCLUDED)
# The value of ``inclusion``, in any case of letters, for an interview that is not to be analysed.
SAYS_EXCLUDED = ("excluded", "exclude")


class Interview(models.Model):
    """One thread: a conversation with a model, or the run of an agent, as one sequence of turns ("" means not known).

    A branch, a run that a turn started, and the continuation after a summary are separate threads: each ``hangs_on`` a turn of
    another thread, with a ``relation``. ``run`` has the facts about a run; see ``ReadInterview``.

    A masked interview (``mask_label`` is set, ``unmasked_at`` is not) has a random label as its title and id; everything that
    would reveal the condition under which it was held is sealed in ``MaskedFacts`` until it is unmasked.

    ``owning_study`` owns the interview. ``study`` is the same study while the interview counts, and empty while its file comes
    in and while it is archived, excluded or undone. Every list, figure, export and launch asks for the interviews of a
    ``study``, so none of them finds the others; only code about archives asks for those of an ``owning_study``.

    Counts are made once, at import, because text never changes; pure/markdown_lines.py defines questions and words.
    """

    if TYPE_CHECKING:
        study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="interviews")
        study_id: int
        owning_study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="every_interview")
        owning_study_id: int
    else:
        study = models.ForeignKey(Study, on_delete=models.PROTECT, null=True, related_name="interviews")
        owning_study = models.ForeignKey(
            Study, on_delete=models.PROTECT, null=True, related_name="every_interview", db_index=False
        )
    standing = models.CharField(
        max_length=10,
        choices=Standing.choices,
        default=Standing.COUNTED,
        db_default=Standing.COUNTED,
        help_text="counted, archived or excluded. The last two appear only in files that include them on request.",
    )
    imported_file = models.ForeignKey(ImportedFile, on_delete=models.PROTECT, related_name="interviews")
    kind = models.CharField(
        max_length=12,
        choices=Kind.choices,
        default=Kind.INTERVIEW,
        db_default=Kind.INTERVIEW,
        help_text="interview, or trajectory: the run of an agent.",
    )
    hangs_on = models.ForeignKey("corpus.Turn", on_delete=models.PROTECT, null=True, blank=True, related_name="threads")
    relation = models.CharField(
        max_length=12,
        choices=Relation.choices,
        blank=True,
        default="",
        db_default="",
        help_text="How it continues from a turn of another interview: branch, subagent or continuation; empty if it does not.",
    )
    run = models.JSONField(
        default=dict, db_default={}, help_text="What the file says about a run: an object with task, status and scores."
    )
    mask_label = models.CharField(
        max_length=12,
        blank=True,
        default="",
        db_default="",
        help_text="Random label of a masked import; empty if it was not masked.",
    )
    unmasked_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was unmasked, in UTC; empty while it is masked."
    )
    external_id = models.CharField(
        max_length=200,
        help_text="Identifier in its file; for a masked interview its random label, until it is unmasked.",
    )
    title = models.CharField(
        max_length=300, help_text="Title in its file; for a masked interview its random label, until it is unmasked."
    )
    model_label = models.CharField(
        "model",
        max_length=200,
        blank=True,
        help_text="Label of the interviewed model, as imported or written; empty when not known.",
    )
    vendor = models.CharField(max_length=200, blank=True, help_text="Maker of the model.")
    surface = models.CharField(
        max_length=100, blank=True, help_text="Where the interview took place: a public page or an API."
    )
    period = models.CharField(
        "date",
        max_length=100,
        blank=True,
        help_text="When the interview took place, as imported or written, such as 2025-03.",
    )
    interviewer = models.CharField(max_length=200, blank=True, help_text="Who asked.")
    tier = models.CharField(max_length=50, blank=True, help_text="Kind of interview, such as brief or comprehensive.")
    inclusion = models.CharField(
        max_length=50,
        blank=True,
        help_text="Whether it is analysed. If “excluded”, it is left out of every list and figure.",
    )
    inclusion_reason = models.TextField(
        "reason for the inclusion", max_length=MAX_REASON, blank=True, help_text="Why it is analysed, or why not."
    )
    opening_prompt = models.TextField(blank=True, help_text="The words it began with, if they are kept separately.")
    language = models.CharField(
        max_length=20, default="en", help_text="Language of the text, as a tag such as en; empty: unknown."
    )
    metadata = models.JSONField(
        default=dict, help_text="Everything else that the file says about the interview: an object."
    )
    segmenter = models.CharField(
        max_length=60, help_text="The program that divided it into sentences, with its version."
    )
    turn_count = models.PositiveIntegerField(help_text="Number of turns.")
    sentence_count = models.PositiveIntegerField(help_text="Number of sentences at import.")
    questions = models.PositiveIntegerField(help_text="Number of questions that the interviewer asked.")
    author_words = models.PositiveIntegerField(
        help_text="Number of words said by the interviewer; a word is a run of characters between white space."
    )
    model_words = models.PositiveIntegerField(help_text="Number of words said by the model.")

    objects = InterviewQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "external_id"], name="%(app_label)s_%(class)s_id_once_per_study"),
            models.UniqueConstraint(
                fields=["owning_study", "external_id"],
                condition=~models.Q(standing="undone"),
                name="%(app_label)s_%(class)s_id_once_until_undone",
            ),
            models.UniqueConstraint(
                fields=["owning_study", "mask_label"],
                condition=~models.Q(mask_label=""),
                name="%(app_label)s_%(class)s_label_once_per_owning_study",
            ),
            models.CheckConstraint(
                condition=models.Q(study__isnull=True)
                | models.Q(standing="counted", owning_study__isnull=False, owning_study=models.F("study")),
                name="%(app_label)s_%(class)s_counts_in_its_study",
            ),
            models.CheckConstraint(
                condition=models.Q(relation="", hangs_on__isnull=True)
                | (~models.Q(relation="") & models.Q(hangs_on__isnull=False)),
                name="%(app_label)s_%(class)s_hangs_in_a_relation",
            ),
        ]
        # Every page of a study counts the interviews that it leaves out.
        indexes: ClassVar = [models.Index(fields=["owning_study", "standing"], name="corpus_interview_standing")]

    def __str__(self) -> str:
        return self.title

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save it; an interview that counts in a study is owned by that study."""
        if self.owning_study_id is None:
            self.owning_study_id = self.study_id
        super().save(*args, **kwargs)

    def get_absolute_url(self) -> str:
        """Reads self.study: costs a query when it is not loaded."""
        return reverse("desk:desk", args=[self.study.slug, self.pk])

    @property
    def is_masked(self) -> bool:
        """Whether its condition is sealed."""
        return bool(self.mask_label) and self.unmasked_at is None

    @property
    def counts(self) -> InterviewCounts:
        """The counts that are summed over interviews."""
        # The counting loads a Markdown parser, which most commands do without.
        from transcripts.corpus.pure.markdown_lines import InterviewCounts

        return InterviewCounts(self.questions, self.author_words, self.model_words)


class MaskedFacts(models.Model):
    """The facts of a masked interview that were sealed at its import and are restored when a lead unmasks it.

    ``external_id``: its id in its file, by which it is recognised when it is imported again. ``facts``: columns of the
    interview by name, and under ``files`` the name and format of each file with parts of it, by the file's id as text.
    ``turns``: what was removed from turns (``text``, ``speaker``, ``prompt_kind``, ``details``, ``call_id``), by position as
    text; ``text`` is present if words of a turn were covered or left out. ``names_covered``: the number of names of models and
    vendors in the text. The row stays after unmasking, as a record.
    """

    interview = models.OneToOneField(Interview, on_delete=models.PROTECT, related_name="masked_facts")
    external_id = models.CharField(max_length=200, blank=True, default="", db_default="", db_index=True)
    facts = models.JSONField(default=dict)
    turns = models.JSONField(default=dict)
    names_covered = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"masked facts of interview {self.interview_id}"


class Turn(models.Model):
    """What one side said at one point, exactly as in the file, except for words that are covered in a masked interview until it
    is unmasked.

    Reasoning and tool traffic are turns in their own channels.

    ``is_answer``: whether coders decide on the turn, set at import: true for what the model says and, in trajectories, its
    calls. ``call_id`` joins a tool's result with its call, ``details`` has other facts from the file; see ``ReadTurn``.
    """

    class Role(models.TextChoices):
        INTERVIEWER = "interviewer", "Interviewer"
        MODEL = "model", "Model"
        SYSTEM = "system", "System"
        TOOL = "tool", "Tool"

    class Channel(models.TextChoices):
        UTTERANCE = "utterance", "Utterance"
        REASONING = "reasoning", "Reasoning"
        TOOL_CALL = "tool_call", "Tool call"
        TOOL_RESULT = "tool_result", "Tool result"

    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="turns")
    position = models.PositiveIntegerField(
        help_text="Place of the turn in the interview, counted from 1 over all speakers."
    )
    role = models.CharField(
        max_length=20, choices=Role.choices, help_text="Who speaks: interviewer, model, system or tool."
    )
    channel = models.CharField(
        max_length=20,
        choices=Channel.choices,
        default=Channel.UTTERANCE,
        help_text="utterance, reasoning, tool_call or tool_result.",
    )
    speaker = models.CharField(
        max_length=200, blank=True, help_text="Name of the speaker as imported; for tool traffic, name of the tool."
    )
    prompt_kind = models.CharField(max_length=30, blank=True, help_text="The kind of question, if the file gives it.")
    text = models.TextField(blank=True, help_text="The exact words.")
    call_id = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="The id that links a tool's result to its call; empty if the file has none.",
    )
    details = models.JSONField(
        default=dict,
        db_default={},
        help_text="Everything else that the file says about the turn, such as time, model, tokens and errors: an object.",
    )
    is_answer = models.BooleanField(
        default=False,
        db_default=False,
        help_text="true for turns that coders decide: what the model says, and in trajectories its calls.",
    )

    class Meta:
        ordering: ClassVar = ["interview", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["interview", "position"], name="%(app_label)s_%(class)s_one_per_position")
        ]

    def __str__(self) -> str:
        return f"turn {self.position} of interview {self.interview_id}"


class BoundaryEdit(models.Model):
    """A split or merge of sentences in one turn. The retired sentences stay, and so do the codings on them."""

    class Kind(models.TextChoices):
        SPLIT = "split", "Split"
        MERGE = "merge", "Merge"

    turn = models.ForeignKey(Turn, on_delete=models.PROTECT, related_name="boundary_edits")
    kind = models.CharField(max_length=10, choices=Kind.choices, help_text="split or merge.")
    idempotency_key = models.UUIDField(unique=True)
    edited_at = models.DateTimeField(help_text="When, in UTC.")
    edited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="boundary_edits", help_text="Who did it."
    )

    class Meta:
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class InterviewChange(models.Model):
    """A correction of the details of an interview or of one of its turns, or a change of its standing."""

    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="changes")
    turn = models.ForeignKey(
        Turn, on_delete=models.PROTECT, null=True, blank=True, related_name="changes", db_index=False
    )
    field = models.CharField(max_length=30)
    old = models.TextField(blank=True)
    new = models.TextField(blank=True)
    reason = models.TextField(blank=True)
    changed_at = models.DateTimeField()
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="interview_changes")

    class Meta:
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"{self.field} of interview {self.interview_id}"


class InterviewVersion(models.Model):
    """The continuation of an interview in a later file, which appended the turns from ``first_turn`` on.

    The first version is that of its original file and has no row here.
    """

    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    imported_file = models.ForeignKey(ImportedFile, on_delete=models.PROTECT, related_name="versions")
    first_turn = models.ForeignKey(Turn, on_delete=models.PROTECT, related_name="+")
    turns = models.PositiveIntegerField()
    sentences = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar = ["interview", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["interview", "number"], name="%(app_label)s_%(class)s_number_once")
        ]

    def __str__(self) -> str:
        return f"version {self.number} of interview {self.interview_id}"


class SentenceQuerySet(models.QuerySet["Sentence"]):
    """Which sentences count."""

    def current(self) -> Self:
        """Sentences that no correction of their boundaries has retired."""
        return self.filter(retired_by__isnull=True)


class Sentence(models.Model):
    """The unit of coding. ``start`` and ``end`` count code points in the turn's exact text and never change.

    ``position`` counts sentences over the whole interview from 1, as they were cut at import; pieces of a split share it and
    are distinguished by ``suffix`` (14a, 14b), so that no other sentence changes its number. A sentence whose boundaries were
    corrected is retired, never deleted. ``text_hash`` is SHA-256 of the quoted text (first 32 hex digits), so that a shifted
    offset is detected.
    """

    # Indexed below, under a name of its own.
    turn = models.ForeignKey(Turn, on_delete=models.PROTECT, related_name="sentences", db_index=False)
    position = models.PositiveIntegerField(
        help_text="Place of the sentence in the interview as it was segmented at import, counted from 1."
    )
    start = models.PositiveIntegerField(
        help_text="First character of the sentence in the turn's text, in code points counted from 0."
    )
    end = models.PositiveIntegerField(help_text="The character after the last character of the sentence.")
    kind = models.CharField(
        max_length=12, help_text="Kind of unit: sentence, list item, heading, call, result and others."
    )
    text_hash = models.CharField(max_length=32)
    suffix = models.CharField(max_length=20, blank=True, default="", db_default="")
    made_by = models.ForeignKey(
        BoundaryEdit, on_delete=models.PROTECT, null=True, blank=True, related_name="made", db_index=False
    )
    retired_by = models.ForeignKey(
        BoundaryEdit, on_delete=models.PROTECT, null=True, blank=True, related_name="retired", db_index=False
    )

    objects = SentenceQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["turn", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["turn", "start"],
                condition=models.Q(retired_by__isnull=True),
                name="%(app_label)s_%(class)s_stands_once_per_start",
            ),
            models.CheckConstraint(
                condition=models.Q(end__gt=models.F("start")), name="%(app_label)s_%(class)s_not_empty"
            ),
        ]
        # Reads of current sentences use the constraint's index. This one holds all, so that a turn that is removed, or whose
        # history is read, does not have the database look through every sentence.
        indexes: ClassVar = [models.Index(fields=["turn"], name="corpus_sentence_turn")]

    def __str__(self) -> str:
        return f"sentence {self.pk} ({self.start}-{self.end} of turn {self.turn_id})"

    @property
    def extent(self) -> Extent:
        """Where it is in the text of its turn."""
        return Extent(self.start, self.end)

    @property
    def label(self) -> str:
        """The number that people see: 14, or 14a for a part of the original 14."""
        return f"{self.position}{self.suffix}"

    def read_text(self) -> str:
        """The quoted text. Reads self.turn: costs a query when it is not loaded."""
        return self.turn.text[self.start : self.end]


class Consent(models.Model):
    """Whether a use of an interview is allowed, as somebody recorded it. The latest row of a scope applies; all rows are kept.

    Without a record, a use is not allowed. Coding by members of the study is the exception: only an explicit "no" forbids it.
    """

    class Scope(models.TextChoices):
        CODING = "coding", "Coding by people"
        EXTERNAL = "external", "Processing by external models"
        QUOTATION = "quotation", "Quotation in publications"
        REUSE = "reuse", "Reuse and training"

    interview = models.ForeignKey(Interview, on_delete=models.PROTECT, related_name="consents")
    scope = models.CharField(
        max_length=10,
        choices=Scope.choices,
        help_text="coding (by people), external (models outside the site), quotation (in publications) or reuse "
        "(and training).",
    )
    is_given = models.BooleanField(help_text="true: allowed; false: refused or withdrawn.")
    basis = models.TextField(
        max_length=MAX_BASIS_LENGTH,
        blank=True,
        help_text="Basis of the consent: a form and its date, the terms of a platform, a letter. No names are needed.",
    )
    recorded_at = models.DateTimeField(help_text="When it was recorded, in UTC.")
    recorded_by_name = models.CharField(max_length=200, help_text="Who recorded it.")

    class Meta:
        ordering: ClassVar = ["pk"]
        indexes: ClassVar = [models.Index(fields=["interview", "scope", "id"], name="corpus_consent_latest")]

    def __str__(self) -> str:
        return f"{self.scope} of interview {self.interview_id}"


class RedactionList(Numbered):
    """The words that are replaced in copies of texts that leave the site; the texts themselves never change.

    ``entries``: [{"text": what is looked for, "replacement": what replaces it}]. The latest number is in use.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="redaction_lists")
    entries = models.JSONField(default=list)
    made_at = models.DateTimeField()
    made_by_name = models.CharField(max_length=200)

    wording = ("entries",)
    place = "entries"
    signed = "made"
    event = "corpus.redaction.saved"
    reason_from = None

    class Meta:
        ordering: ClassVar = ["study", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "number"], name="%(app_label)s_%(class)s_number_once")
        ]

    def __str__(self) -> str:
        return f"redaction list {self.number}"

    def describe(self, latest: Self | None) -> dict[str, Any]:
        # The number of changed entries, but not the entries, because they name people.
        entries, before = set(read_stored(self.entries)), set(read_stored(latest.entries if latest else []))
        return {
            "number": self.number,
            "entries": len(self.entries),
            "added": len(entries - before),
            "removed": len(before - entries),
        }
