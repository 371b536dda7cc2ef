"""What is to be said to models and what was said: scripts, their questions, and sessions of a script with one model each.

People who interview a model and the runner of scenarios use the same kind of scripts. In an interview, the person chooses the next
question; in a scenario, the script does. An ended session becomes a thread of the study through the same import as any file.
Nothing in it can be coded before that, and nothing can be said in it afterwards.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from auditapp.batches.models import Arm
from auditapp.benchmarks.scenarios.pure.outcomes import read_expected
from auditapp.benchmarks.scenarios.pure.scripts import MAX_LANGUAGE, MAX_NAME, MAX_QUESTIONS, QuestionText
from transcripts.corpus.models import Interview
from transcripts.history.models import Numbered
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_REASON


class Script(Numbered):
    """What is to be said: the guide for interviews, or one case of a suite; paper 001, sections 2.2.1, 3.2 and 4.2.

    For an interview, ``openings`` are the texts with which it may begin, [{"id", "text"}], the questions are a bank to choose from,
    and ``max_questions`` says how many may be asked. For a scenario, the questions are its turns in order, and ``case`` says what
    it is about: {"relevant", "irrelevant", "group", "answer", "pair"}, each key only if the script has it; see
    docs/reference/formats.md.

    ``consents``, {scope: whether it is given}, apply to every thread that comes from the script, on ``consent_basis``. A new
    wording gets the next number under the same name, with a ``reason``; existing numbers never change, and a session keeps its
    number. ``sha256`` is the hash of everything that is to be said.
    """

    class Use(models.TextChoices):
        INTERVIEW = "interview", "Interview"
        SCENARIO = "scenario", "Scenario"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="scripts")
    name = models.CharField(
        max_length=MAX_NAME, help_text="Its name, such as gender. Its first number is then gender/1."
    )
    use = models.CharField(max_length=10, choices=Use.choices, help_text="interview or scenario.")
    suite = models.CharField(max_length=MAX_NAME, blank=True, help_text="The suite of a scenario.")
    system = models.TextField(
        "system prompt",
        blank=True,
        help_text="What the model is given before the first turn; empty for none, as in the published interviews.",
    )
    openings = models.JSONField(
        default=list, blank=True, help_text="The openings to choose from: a list of objects with id and text."
    )
    max_questions = models.PositiveSmallIntegerField(
        "most questions",
        validators=[MinValueValidator(1), MaxValueValidator(MAX_QUESTIONS)],
        null=True,
        blank=True,
        help_text="The most questions in an interview, including the opening.",
    )
    case = models.JSONField(
        default=dict, blank=True, help_text="What a scenario is about, as docs/reference/formats.md describes it."
    )
    consents = models.JSONField(
        default=dict, blank=True, help_text="Whether each consent is given; recorded with each thread."
    )
    consent_basis = models.TextField(
        "basis of the consents",
        max_length=MAX_REASON,
        blank=True,
        help_text="The basis of the consents, recorded with every interview held with this script. Holding an interview with one "
        "provider is not consent to send it to another.",
    )
    language = models.CharField(
        max_length=MAX_LANGUAGE, default="en", help_text="Language of the interview or scenario."
    )
    sha256 = models.CharField(max_length=64, help_text="SHA-256 of the whole content of the script.")
    written_at = models.DateTimeField()
    written_by_name = models.CharField(max_length=200, help_text="Who wrote it.")
    written_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="scripts"
    )

    within = ("study", "name__iexact")
    event = "scenarios.script.written"
    is_named_by_writer = True

    class Meta:
        ordering: ClassVar = ["study", "name", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name", "number"], name="%(app_label)s_%(class)s_number_once")
        ]
        indexes: ClassVar = [models.Index(fields=["study", "suite"], name="scenarios_script_suite")]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """Its name in sessions and reports, such as gender/2."""
        return f"{self.name}/{self.number}"

    @property
    def expected_words(self) -> str:
        """The expected last answer in a few words."""
        if "answer" not in self.case:
            return "none"
        expected = read_expected(self.case["answer"])
        if expected.labels:
            words = f"{expected.label}, of {', '.join(expected.labels)}"
        elif expected.number is not None:
            words = f"{expected.number:g}" + (f", within {expected.within:g}" if expected.within else "")
        elif expected.pattern:
            words = f"a line like {expected.pattern}"
        else:
            words = f"the code {expected.code}, applied by people"
        return f"{words}; a probability after “{expected.probability}”" if expected.probability else words

    def describe(self, latest: Self | None) -> dict[str, Any]:
        return {"name": self.name, "number": self.number, "use": self.use, "sha256": self.sha256}


class Session(models.Model):
    """One run of a script with one model: asked by a person, recorded from a public chat page, or run by the script.

    ``arm`` and ``repeat`` are those of its calls. A recorded session has no arm; it has the name that the page gave the model
    (``model_as_shown``). If different questions are asked from some turn on, this is a separate session, a branch of another one
    (``branch_of``), with which it shares the questions up to ``after_position``. ``idempotency_key`` is chosen by the page that
    opens the session, so that a double click opens only one. ``interview`` is the thread that the session became.
    """

    class Mode(models.TextChoices):
        ASKED = "asked", "Asked here"
        RECORDED = "recorded", "Recorded from a chat page"
        RUN = "run", "Run by its script"

    class State(models.TextChoices):
        OPEN = "open", "Open"
        STORED = "stored", "Stored as a thread"
        FAILED = "failed", "Failed"
        DISCARDED = "discarded", "Discarded"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="sessions")
    script = models.ForeignKey(Script, on_delete=models.PROTECT, related_name="sessions")
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, null=True, blank=True, related_name="sessions")
    repeat = models.PositiveSmallIntegerField(default=1, help_text="Number of the repeat, from 1.")
    mode = models.CharField(
        max_length=10,
        choices=Mode.choices,
        help_text="asked (here, through an account) or recorded (from a chat page).",
    )
    label = models.CharField(
        "name", max_length=200, help_text="The title of the thread; if none is given, the script and the model."
    )
    opening = models.CharField(max_length=60, blank=True, help_text="The opening it began with.")
    state = models.CharField(
        max_length=10, choices=State.choices, default=State.OPEN, help_text="Whether it is open, or how it ended."
    )
    surface = models.CharField(
        "chat page",
        max_length=100,
        blank=True,
        help_text="The chat page that it is recorded from, such as chat.example; API if it is held here.",
    )
    model_as_shown = models.CharField(
        "model shown by the chat page",
        max_length=200,
        blank=True,
        help_text="The model's name as the chat page of a recorded interview shows it.",
    )
    vendor = models.CharField(max_length=200, blank=True, help_text="Who runs the model, in the interviewer’s words.")
    tier = models.CharField(
        max_length=50, blank=True, help_text="Such as brief or comprehensive, if these are distinguished."
    )
    branch_of = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="branches",
        help_text="Number of the session that it branches from, if any.",
    )
    after_position = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Number of the question in that session after which it branches."
    )
    interview = models.OneToOneField(
        Interview,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="session",
        help_text="The interview that it became, if any.",
    )
    inclusion = models.CharField(max_length=50, blank=True)
    inclusion_reason = models.TextField(max_length=MAX_REASON, blank=True)
    idempotency_key = models.UUIDField(null=True, blank=True, unique=True)
    opened_at = models.DateTimeField(help_text="When it was opened.")
    opened_by_name = models.CharField(max_length=200, help_text="Who opened it.")
    opened_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="opened_sessions"
    )
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["arm", "script", "repeat"],
                condition=Q(arm__isnull=False),
                name="%(app_label)s_%(class)s_once_per_arm",
            ),
            models.CheckConstraint(
                condition=Q(branch_of__isnull=True) ^ Q(after_position__isnull=False),
                name="%(app_label)s_%(class)s_branches_after_a_turn",
            ),
            models.CheckConstraint(
                condition=Q(mode="recorded", arm__isnull=True) | (~Q(mode="recorded") & Q(arm__isnull=False)),
                name="%(app_label)s_%(class)s_recorded_without_arm",
            ),
            models.CheckConstraint(
                condition=~(Q(state="stored") & Q(interview__isnull=True)),
                name="%(app_label)s_%(class)s_stored_as_a_thread",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["study", "mode", "state"], name="scenarios_session_of_study")]

    def __str__(self) -> str:
        return self.label


class Question(models.Model):
    """One turn said to a model, from a script or by a person in a session.

    ``kind`` says how strongly it directs the model; ``intent`` says what a challenge is meant to be. ``text_if_asked`` replaces
    ``text`` if the previous answer ends with a question. ``position`` counts from 1; in a branch, it continues that of the other
    session. In a recorded session, the answer is pasted (``answer``, ``answer_reasoning``); otherwise it belongs to the cell whose
    input is the question. ``idempotency_key`` is chosen by the page, so that a question sent twice is asked only once.
    """

    class Kind(models.TextChoices):
        OPEN = "open", "Open"
        EXPAND = "expand", "Expand"
        REFLECT = "reflect", "Reflect"
        CHALLENGE = "challenge", "Challenge"
        NEW_INFORMATION = "new_information", "New information"
        LEADING = "leading", "Leading"

    class Intent(models.TextChoices):
        WARRANTED = "warranted", "Warranted challenge"
        UNWARRANTED = "unwarranted", "Unwarranted challenge"
        NEW_FACT = "new_fact", "New fact"
        PROBE = "probe", "Probe"

    script = models.ForeignKey(Script, on_delete=models.PROTECT, null=True, blank=True, related_name="questions")
    session = models.ForeignKey(Session, on_delete=models.PROTECT, null=True, blank=True, related_name="questions")
    position = models.PositiveSmallIntegerField(help_text="Number of the question in its script or session, from 1.")
    kind = models.CharField(
        max_length=20,
        choices=Kind.choices,
        help_text="How much it directs the model.",
        error_messages={"blank": "Choose the kind of the question: how strongly it directs the model."},
    )
    intent = models.CharField(
        "what it is meant to be",
        max_length=20,
        choices=Intent.choices,
        blank=True,
        help_text="The intent of a challenge.",
    )
    text = models.TextField("question", help_text="The question as it is sent.")
    text_if_asked = models.TextField(
        blank=True, help_text="The text that is sent instead if the previous answer asks a question; may be empty."
    )
    answer = models.TextField(blank=True)
    answer_reasoning = models.TextField(blank=True)
    idempotency_key = models.UUIDField(null=True, blank=True, unique=True)
    asked_at = models.DateTimeField(null=True, blank=True, help_text="When it was asked, in UTC; empty in a script.")
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="questions",
        help_text="Who asked it; empty for a command.",
    )

    class Meta:
        ordering: ClassVar = ["position", "pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(script__isnull=True) ^ Q(session__isnull=True),
                name="%(app_label)s_%(class)s_of_script_or_session",
            ),
            models.UniqueConstraint(
                fields=["script", "position"],
                condition=Q(script__isnull=False),
                name="%(app_label)s_%(class)s_once_in_script",
            ),
            models.UniqueConstraint(
                fields=["session", "position"],
                condition=Q(session__isnull=False),
                name="%(app_label)s_%(class)s_once_in_session",
            ),
        ]

    def __str__(self) -> str:
        return f"question {self.position}"

    @property
    def label(self) -> str:
        """Its kind, with its intent if it has one, such as "Challenge: unwarranted"."""
        intent = f": {self.intent.replace('_', ' ')}" if self.intent else ""
        return f"{self.get_kind_display()}{intent}"

    def as_text(self) -> QuestionText:
        """The question as a plain value."""
        return QuestionText(kind=self.kind, text=self.text, intent=self.intent, text_if_asked=self.text_if_asked)
