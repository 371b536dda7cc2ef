"""What every audit stores: a seeded sample, its items, people's marks of them, and who opened the results early.

The models here are abstract. Each kind of audit has its own tables, which add what is sampled and what a mark says. Its item
has a foreign key ``audit`` (``related_name="items"``), its mark ``item`` (``"marks"``), its opening ``audit`` (``"openings"``).
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Count, Q

from transcripts.accounts.models import User
from transcripts.ui.typed_text import MAX_NOTE


class AuditQuerySet(models.QuerySet[Any]):
    def with_progress(self, reviewer: User) -> Self:
        """With ``n_items``, and ``n_own``: how many of them the reviewer has marked."""
        own = Q(items__marks__reviewer=reviewer)
        return self.annotate(n_items=Count("items", distinct=True), n_own=Count("items", filter=own, distinct=True))


class BaseAudit(models.Model):
    """A seeded random sample, stored as it was drawn."""

    events: ClassVar[str]
    """How the names of its audit events begin."""
    opened_event: ClassVar[str] = "opened"

    seed = models.PositiveBigIntegerField(help_text="Number by which the sample can be drawn again.")
    made_by_name = models.CharField(max_length=200)
    made_at = models.DateTimeField()

    objects = AuditQuerySet.as_manager()
    items: Any
    openings: Any

    class Meta:
        abstract = True

    def get_absolute_url(self) -> str:
        raise NotImplementedError

    @property
    def study_id(self) -> int:
        raise NotImplementedError

    @property
    def marks(self) -> MarkQuerySet:
        """All marks of its items, superseded ones included."""
        mark: Any = self.items.model._meta.get_field("marks").related_model
        found: MarkQuerySet = mark.objects.filter(item__audit=self)
        return found

    def list_unmarked(self, reviewer: User) -> models.QuerySet[Any]:
        """The items that the reviewer has not marked, in the order drawn."""
        found: models.QuerySet[Any] = self.items.exclude(marks__reviewer=reviewer).order_by("position")
        return found

    def count_own(self, reviewer: User) -> int:
        """How many items the reviewer has marked."""
        return self.marks.active().filter(reviewer=reviewer).count()

    def has_opened(self, reviewer: User) -> bool:
        """Whether the reviewer opened the results before having marked everything."""
        return bool(self.openings.filter(opened_by=reviewer).exists())

    def list_progress(self) -> list[dict[str, Any]]:
        """How many items each reviewer has marked, by name, and when the results were opened (``None``: they were not)."""
        opened = dict(self.openings.values_list("opened_by", "opened_at"))
        rows = self.marks.active().values_list("reviewer", "reviewer__username")
        counted = rows.annotate(n=Count("pk")).order_by("reviewer__username")
        return [{"reviewer": name, "marked": n, "opened_at": opened.get(pk)} for pk, name, n in counted]


class BaseItem(models.Model):
    """One thing of the sample, at its random position."""

    position = models.PositiveIntegerField(help_text="Shuffled place in the audit, from 1.")

    audit: Any
    marks: Any

    class Meta:
        abstract = True
        ordering: ClassVar = ["audit", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["audit", "position"], name="%(app_label)s_%(class)s_one_per_position")
        ]


class MarkQuerySet(models.QuerySet[Any]):
    def active(self) -> Self:
        """Each reviewer's latest mark of an item."""
        return self.filter(superseded_by__isnull=True)

    def blind(self) -> Self:
        """Marks whose reviewer had not opened the results."""
        return self.filter(after_opening=False)


class BaseMark(models.Model):
    """What one reviewer found. A correction is a new row with the next ``number``; the first is superseded, never changed.

    ``after_opening``: the reviewer had opened the results before, so the mark is not blind.
    """

    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="User name of the person who marked it.",
    )
    note = models.TextField(max_length=MAX_NOTE, blank=True)
    number = models.PositiveSmallIntegerField(default=1)
    after_opening = models.BooleanField(default=False)
    idempotency_key = models.UUIDField(unique=True)
    made_at = models.DateTimeField(help_text="When it was marked, in UTC.")
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    item: Any
    item_id: int
    objects = MarkQuerySet.as_manager()

    class Meta:
        abstract = True
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["item", "reviewer", "number"], name="%(app_label)s_%(class)s_number_once")
        ]


class BaseOpening(models.Model):
    """A person opened the results of an audit before having marked all of it."""

    opened_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    opened_at = models.DateTimeField()

    audit: Any

    class Meta:
        abstract = True
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["audit", "opened_by"], name="%(app_label)s_%(class)s_once")
        ]
