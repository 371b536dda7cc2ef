"""The decisions of a study about the benchmark: which labels count as which target, which values map to which group, and which
wording is used.

Each decision is a row that is never edited: a change is a new row with the next number and a reason.

Also stored are the interpretations of models' answers; the answer itself is the cell's result. A judgment is the interpretation by
rules, made when the answer was stored and never changed. Answers that the rules could not read are read by a formatter or a person.
All these further interpretations are kept, and the last one counts. The report of a batch is stored as it was last computed, so
that pages and files need not compute it.
"""

from __future__ import annotations

import json
import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Count, Q
from django.urls import reverse

from auditapp.audits.models import BaseAudit, BaseItem, BaseMark, BaseOpening
from auditapp.batches.models import Arm, Batch, Cell
from transcripts.history.models import Numbered
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_NOTE, MAX_REASON


class MadeByPerson(models.Model):
    """Who made a row, and when; the name is kept if the account is removed. ``made_by`` is ``None`` for the command line."""

    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    made_by_name = models.CharField(max_length=200)
    made_at = models.DateTimeField()

    class Meta:
        abstract = True


class NumberedTable(MadeByPerson, Numbered):
    """A table of a study; each new version has the next number. ``sha256`` is the hash of its rows as canonical JSON."""

    rows = models.JSONField()
    reason = models.TextField(
        max_length=MAX_REASON,
        help_text="Why the table changes. The reason is kept with the table; the reason for a mapping is shown with every "
        "figure that uses it.",
    )
    sha256 = models.CharField(max_length=64)

    place = "rows"
    signed = "made"
    reason_from = 1
    counted: ClassVar[str]

    class Meta:
        abstract = True
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "number"], name="%(app_label)s_%(class)s_number_once")
        ]

    def describe(self, latest: Self | None) -> dict[str, Any]:
        return {"number": self.number, self.counted: len(self.rows), "sha256": self.sha256}


class TargetTable(NumberedTable):
    """The normalised target of each label of a source (method brief R46).

    ``rows`` is a list of objects {"raw", "target", "secondary", "tertiary"}; a target that does not exist is an empty text.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="target_tables")

    event = "sob.targets.saved"
    counted = "rows"

    def __str__(self) -> str:
        return f"target table {self.number}"


class MappingTable(NumberedTable):
    """Which attributed values count as the target itself, and which as the dominant group (method brief R44).

    ``rows`` is {target: {"self": [value, …], "dominant": [value, …]}}, in the order of the page.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="mapping_tables")

    event = "sob.mapping.saved"
    counted = "targets"

    def __str__(self) -> str:
        return f"mapping table {self.number}"


class Wording(MadeByPerson):
    """A study's own instrument. It is not comparable with the published ones or with any other wording.

    ``characteristics`` are those that it asks for, in its order and in lower case; they are the schema of strict counting.
    ``based_on`` names the wording that it was edited from.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="wordings")
    name = models.SlugField(
        max_length=40, help_text="Letters, digits, hyphens. A wording is never changed; use a new name for a change."
    )
    task = models.CharField(max_length=60)
    text = models.TextField()
    characteristics = models.JSONField()
    based_on = models.CharField(max_length=40)
    sha256 = models.CharField(max_length=64)

    class Meta:
        ordering: ClassVar = ["name", "task"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name", "task"], name="%(app_label)s_%(class)s_name_once")
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.task})"


class TermsNotice(MadeByPerson):
    """A study's confirmation, made once by one person, that she knows that the instrument tells models not to refuse, and that she
    has read the providers' terms."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="sob_notice")

    def __str__(self) -> str:
        return f"notice of {self.study_id}"


class DatasetQuerySet(models.QuerySet["Dataset"]):
    def with_counts(self) -> Self:
        """The datasets in the order in which they were loaded, with ``n_texts`` and ``n_targets``."""
        counted = self.annotate(n_texts=Count("texts"), n_targets=Count("texts__target", distinct=True))
        return counted.order_by("pk")


class Dataset(models.Model):
    """A set of texts as loaded from one file, or drawn from another set.

    ``sampling`` says how rows were chosen and why the others were dropped: {"method", "seed", "by", "size", "read", "kept",
    "dropped": {reason: rows}, "strata": {stratum: {"read", "kept"}}}; empty if every row was taken. ``filter`` is the source's own
    filter in words. ``target_table`` is the table that named the targets; it is ``None`` if the file named them or the published
    table was used (``targets_from`` says which).
    """

    class TargetsFrom(models.TextChoices):
        FILE = "file", "as the file names them"
        PUBLISHED = "published", "the published table"
        TABLE = "table", "the study's own table"

    # Empty while the texts of a large file are being stored (texts/actions/loading.py), so that no page shows only some of them.
    if TYPE_CHECKING:
        study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="datasets")
        study_id: int
    else:
        study = models.ForeignKey(Study, on_delete=models.PROTECT, null=True, related_name="datasets")
    name = models.CharField(max_length=100, help_text="The name of the dataset in this study.")
    file_name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    format = models.CharField(max_length=40)
    warnings = models.JSONField(default=list)
    source_name = models.CharField("where the texts come from", max_length=100, blank=True)
    licence = models.CharField(max_length=200, blank=True)
    split = models.CharField(max_length=100, blank=True)
    filter = models.CharField(
        max_length=300, blank=True, help_text="Describe which texts of the source are in the file."
    )
    sampling = models.JSONField(default=dict)
    targets_from = models.CharField(max_length=10, choices=TargetsFrom.choices, default=TargetsFrom.FILE)
    target_table = models.ForeignKey(
        TargetTable, on_delete=models.PROTECT, null=True, blank=True, related_name="datasets"
    )
    drawn_from = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="samples")
    loaded_by_name = models.CharField(max_length=200)
    loaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="loaded_datasets"
    )
    loaded_at = models.DateTimeField()

    objects = DatasetQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name"], name="%(app_label)s_%(class)s_name_once")
        ]

    def __str__(self) -> str:
        return self.name


class Text(models.Model):
    """One biased text with the group that it targets. If ``target`` is "", the text has none and counts only in overall."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="texts")
    position = models.PositiveIntegerField()
    source = models.CharField(max_length=100, help_text="Source of the text.")
    external_id = models.CharField(max_length=100, help_text="The text's id in its source.")
    text = models.TextField()
    target = models.CharField(max_length=100, help_text="The group the text targets.")
    target_secondary = models.CharField(max_length=100, blank=True, help_text="A second group it targets.")
    target_tertiary = models.CharField(max_length=100, blank=True, help_text="A third group it targets.")
    target_raw = models.CharField(max_length=300, blank=True)
    kind = models.CharField(max_length=100, blank=True)

    class Meta:
        ordering: ClassVar = ["dataset", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["dataset", "position"], name="%(app_label)s_%(class)s_one_per_position"),
            models.UniqueConstraint(
                fields=["dataset", "source", "external_id"], name="%(app_label)s_%(class)s_id_once"
            ),
        ]

    def __str__(self) -> str:
        return f"text {self.source} {self.external_id}"


class ReadAnswer(models.Model):
    """The content of one interpretation of one answer, with its attributes counted in every way that a report shows.

    ``attributes`` are the values that count in paper counting, under the keys that the model gave. The counts are those of
    ``answer_words.Counts``: they follow from ``attributes`` and the arm's schema. ``is_object`` says that the answer was an
    object, even an empty one (which the released scoring takes for an attributed answer). ``verdict`` is the answer to the
    base task, "" for other tasks.
    """

    outcome = models.CharField(
        max_length=15,
        help_text="attributed, unknown, verdict, refusal, truncated, off_format, empty or provider_error.",
    )
    verdict = models.CharField(max_length=15, blank=True, help_text="The answer to the base task.")
    attributes = models.JSONField(default=dict, help_text="The attributions, as JSON text.")
    n_attributes = models.PositiveSmallIntegerField(default=0, help_text="Attributes in paper counting.")
    n_named = models.PositiveSmallIntegerField(default=0, help_text="The same without placeholders such as any.")
    n_on_schema = models.PositiveSmallIntegerField(
        default=0, help_text="The same, at most one per characteristic asked for."
    )
    n_strict = models.PositiveSmallIntegerField(default=0, help_text="Attributes in strict counting.")
    n_items = models.PositiveSmallIntegerField(default=0)
    is_object = models.BooleanField(default=False)
    has_list = models.BooleanField(default=False)
    repaired = models.BooleanField(default=False, help_text="Whether the answer was not valid JSON and was repaired.")
    parser = models.CharField(max_length=30, help_text="Version of the rules, or of the reader.")

    class Meta:
        abstract = True

    @property
    def attribute_pairs(self) -> list[tuple[str, object]]:
        """The attributes as pairs for a template, where ``.items`` would fail if a model named an attribute "items"."""
        return list(self.attributes.items())

    @property
    def state_class(self) -> str:
        """The mark that is shown with its outcome: something attributed, nothing attributed, or not readable. None of these is
        right or wrong, so the marks for right and wrong are not used."""
        return {"attributed": "attributed", "unknown": "", "verdict": ""}.get(self.outcome, "unread")


class Judgment(ReadAnswer):
    """The interpretation by rules of one cell's answer. ``superseded_by`` is the later interpretation that counts instead.

    ``arm`` and ``repeat`` are the cell's own, repeated here so that a million judgments are counted without a join.
    """

    cell = models.OneToOneField(
        Cell,
        on_delete=models.PROTECT,
        primary_key=True,
        related_name="judgment",
        help_text="Number of the cell: one text under one model, task and repeat.",
    )
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, related_name="judgments", db_index=False)
    text = models.ForeignKey(Text, on_delete=models.PROTECT, related_name="judgments", help_text="Number of the text.")
    repeat = models.PositiveSmallIntegerField(default=1, help_text="Which repetition of the same request, from 1.")
    superseded_by = models.OneToOneField(
        "Interpretation", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes_judgment"
    )

    class Meta:
        indexes: ClassVar = [models.Index(fields=["arm", "outcome"], name="sob_judgment_by_arm")]

    def __str__(self) -> str:
        return f"judgment of cell {self.cell_id}"


class Interpretation(ReadAnswer):
    """A later interpretation of an answer that the rules could not read: by a formatter (a small model) or by a person.

    ``formatter_cell`` is the formatter's own call, ``read_by`` the person; only one of them is set. ``number`` numbers the later
    interpretations of one answer from 1; the last one counts.
    """

    class Reader(models.TextChoices):
        FORMATTER = "formatter", "Formatter"
        PERSON = "person", "Person"

    judgment = models.ForeignKey(Judgment, on_delete=models.PROTECT, related_name="interpretations", db_index=False)
    number = models.PositiveSmallIntegerField(default=1)
    reader = models.CharField(
        max_length=10,
        choices=Reader.choices,
        help_text="Who made the current interpretation: rules, formatter or person.",
    )
    formatter_cell = models.OneToOneField(
        Cell, on_delete=models.PROTECT, null=True, blank=True, related_name="sob_interpretation"
    )
    read_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="sob_interpretations"
    )
    read_by_name = models.CharField(max_length=200, blank=True)
    note = models.TextField(max_length=MAX_NOTE, blank=True)
    made_at = models.DateTimeField()
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(reader="formatter", formatter_cell__isnull=False, read_by_name="")
                | (Q(reader="person", formatter_cell__isnull=True) & ~Q(read_by_name="")),
                name="%(app_label)s_%(class)s_has_one_reader",
            ),
            # If two people read the same answer at once, the second is refused and sees the first one's interpretation.
            models.UniqueConstraint(fields=["judgment", "number"], name="%(app_label)s_%(class)s_number_once"),
        ]

    def __str__(self) -> str:
        return f"interpretation {self.pk} of cell {self.judgment_id}"


class StoredReport(models.Model):
    """The last report of a batch for one choice of targets, mapping and seed; or, instead of a report, the tallies by text from
    which comparisons are made (``report/stored_reports.py``). It can be computed again at any time.

    ``rules`` and ``answers`` are fingerprints of what it was computed from: it is current while both are unchanged.
    ``content`` is the compressed JSON, ``None`` until the first report has been computed. ``locked_until`` keeps two
    processes from computing the same report; ``locked_by`` is the worker that has begun. ``failures`` counts the failed
    attempts in a row; no worker is asked again before ``retry_at``.
    """

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="sob_reports")
    choice = models.CharField(max_length=64)
    rules = models.CharField(max_length=64, blank=True)
    answers = models.CharField(max_length=64, blank=True)
    as_of = models.DateTimeField(null=True, blank=True)
    n_answers = models.PositiveIntegerField(default=0)
    content = models.BinaryField(null=True, blank=True)
    locked_until = models.DateTimeField(null=True, blank=True)
    locked_by = models.CharField(max_length=200, blank=True)
    failures = models.PositiveSmallIntegerField(default=0)
    failure_reason = models.TextField(blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)

    is_current = False
    """Whether nothing has changed since it was computed; set when the report is read."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=["batch", "choice"], name="%(app_label)s_%(class)s_once"),)

    def __str__(self) -> str:
        return f"report of batch {self.batch_id}"

    @cached_property
    def report(self) -> dict[str, Any]:
        """The report in the shape of ``pure.report.build_report``."""
        found: dict[str, Any] = json.loads(zlib.decompress(self.content)) if self.content else {}
        return found

    def set_report(self, report: dict[str, Any]) -> None:
        """Store a report as the content."""
        self.content = zlib.compress(json.dumps(report, separators=(",", ":")).encode(), 1)
        self.report = report


MAX_ITEMS = 5_000
MAX_ATTRIBUTES = 1_000


class Audit(BaseAudit):
    """A sample of a batch's interpretations: of all usable answers, or of the formatter's alone.

    ``frame`` is the number of interpretations from which it was drawn: the denominator of all conclusions. ``made_by`` is ``None``
    for the command line. Reads batch.
    """

    class Scope(models.TextChoices):
        ANSWERS = "answers", "Answers however read"
        FORMATTER = "formatter", "What the formatter read"

    events: ClassVar = "sob.audit"

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="sob_audits")
    number = models.PositiveIntegerField()
    scope = models.CharField(max_length=10, choices=Scope.choices)
    size = models.PositiveIntegerField(
        "answers",
        validators=[MinValueValidator(1), MaxValueValidator(MAX_ITEMS)],
        help_text="If there are fewer answers, all of them are drawn. With 50, an error rate of 10 % is known to within about "
        "8 percentage points.",
    )
    frame = models.PositiveIntegerField()
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["batch", "number"], name="%(app_label)s_%(class)s_number_once")
        ]

    def __str__(self) -> str:
        return f"audit {self.number} of batch {self.batch_id}"

    def get_absolute_url(self) -> str:
        return reverse("sob:audit", args=[self.batch.study.slug, self.batch_id, self.pk])

    @property
    def study_id(self) -> int:
        return self.batch.study_id


class AuditItem(BaseItem):
    """One answer of a sample, with its interpretation at the time of the draw."""

    audit = models.ForeignKey(Audit, on_delete=models.PROTECT, related_name="items")
    judgment = models.ForeignKey(Judgment, on_delete=models.PROTECT, related_name="audit_items")
    reader = models.CharField(max_length=10)
    outcome = models.CharField(max_length=15)
    n_attributes = models.PositiveSmallIntegerField()
    attributes = models.JSONField(default=dict)

    class Meta(BaseItem.Meta):
        constraints: ClassVar = [
            *BaseItem.Meta.constraints,
            models.UniqueConstraint(fields=["audit", "judgment"], name="%(app_label)s_%(class)s_judgment_once"),
        ]

    def __str__(self) -> str:
        return f"item {self.position} of audit {self.audit_id}"


class AuditMark(BaseMark):
    """``outcome`` and ``n_attributes`` are the reviewer's own interpretation of the answer; ``n_warranted`` is the number of these
    attributes that the text itself warrants (0 if the benchmark is right that it warrants none)."""

    item = models.ForeignKey(AuditItem, on_delete=models.PROTECT, related_name="marks")
    parse_right = models.BooleanField()
    outcome = models.CharField(max_length=15)
    n_attributes = models.PositiveSmallIntegerField(
        "characteristics that the answer attributes",
        validators=[MaxValueValidator(MAX_ATTRIBUTES)],
        help_text="Each characteristic with a value counts once, even if the value is a list. A characteristic called unknown "
        "does not count.",
    )
    n_warranted = models.PositiveSmallIntegerField(
        "of these, warranted by the text itself",
        validators=[MaxValueValidator(MAX_ATTRIBUTES)],
        help_text="Open the text to decide. Texts rarely say who would accept them. Leave this empty for 0.",
    )

    class Meta(BaseMark.Meta):
        constraints: ClassVar = [
            *BaseMark.Meta.constraints,
            models.CheckConstraint(
                condition=Q(n_warranted__lte=models.F("n_attributes")),
                name="%(app_label)s_%(class)s_warranted_at_most_all",
            ),
        ]

    def __str__(self) -> str:
        return f"mark {self.pk} on item {self.item_id}"


class AuditOpening(BaseOpening):
    """Records that a person opened the results of an audit of interpretations before she had marked all items."""

    audit = models.ForeignKey(Audit, on_delete=models.PROTECT, related_name="openings")

    def __str__(self) -> str:
        return f"opening of audit {self.audit_id}"
