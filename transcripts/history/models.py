"""Texts with numbered wordings: each wording is a row with the next number, and no row is overwritten."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from django.db import models, transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.ui.typed_text import MAX_REASON


class WrittenMeanwhile(Refused):
    """Somebody else wrote a newer number; ``latest`` is the one that counts now."""

    def __init__(self, latest: Numbered) -> None:
        super().__init__(
            f"{latest.writer} wrote {latest} after you opened this page. Nothing was stored. Read it first; what you entered is "
            "still in the form."
        )
        self.latest: Any = latest


class NothingChanged(Refused):
    """The new wording is the same as ``latest``."""

    def __init__(self, latest: Numbered) -> None:
        sentence = f"This says the same as {latest}, so nothing was stored. Change it, or leave it as it is."
        super().__init__(sentence, field=latest.place)
        self.latest: Any = latest


class Numbered(models.Model):
    """One numbered wording; the latest counts.

    A model declares which of its fields identify one history (``within``; the row to which the first refers is locked while a
    number is assigned), which fields are compared (``wording``), the input to which a refusal belongs (``place``), and the
    recorded event (``event``). If its numbers need no reason, it has ``reason = None`` and no such column.
    """

    number = models.PositiveIntegerField(help_text="Its number, from 1; the latest is the one that counts.")
    reason = models.TextField(
        "why it changes",
        max_length=MAX_REASON,
        blank=True,
        help_text="Why it was written again. Kept with it.",
    )

    within: ClassVar[tuple[str, ...]] = ("study",)
    wording: ClassVar[tuple[str, ...]] = ("sha256",)
    place: ClassVar[str] = "name"
    event: ClassVar[str]
    # The beginning of the names of the columns for author and time.
    signed: ClassVar[str] = "written"
    # Whether a writer who saw no number wants a new name, as opposed to being late.
    is_named_by_writer: ClassVar[bool] = False
    # The first number that needs a reason; None if none does.
    reason_from: ClassVar[int | None] = 2

    class Meta:
        abstract = True

    @property
    def writer(self) -> str:
        """The name of its author."""
        name: str = getattr(self, f"{self.signed}_by_name", "")
        return name or (getattr(self, f"{self.signed}_by") or trail.SYSTEM).get_username()

    @property
    def stream(self) -> str:
        """The stream of the trail that records it."""
        return trail.study_stream(self.study_id)  # type: ignore[attr-defined]

    def describe(self, latest: Self | None) -> dict[str, Any]:
        """The details of its event; ``latest`` is the previous number."""
        raise NotImplementedError

    def says_the_same(self, latest: Self) -> bool:
        """Whether its wording is the same as that of ``latest``."""
        return all(getattr(self, field) == getattr(latest, field) for field in self.wording)

    def supersede(self, latest: Self) -> None:
        """Change ``latest`` before this is stored; by default it stays as it is."""

    @transaction.atomic
    def write(self, *, by: trail.Actor, based_on: int | None) -> Self:
        """Store this as the next number, with one event.

        ``based_on``: the latest number that ``by`` saw, 0 for none; None if nobody looked, as with commands. Raises
        ``Refused``, of which ``WrittenMeanwhile`` and ``NothingChanged``.
        """
        return self.store_after(self.find_latest(based_on), by=by)

    def find_latest(self, based_on: int | None) -> Self | None:
        """The number that counts now, locked until the transaction ends. Raises ``Refused`` if this is not based on it."""
        owner = getattr(self, self.within[0])
        # All rows, including those that a manager leaves out.
        type(owner)._base_manager.select_for_update(no_key=True).get(pk=owner.pk)  # noqa: SLF001
        same = {field: getattr(self, field.partition("__")[0]) for field in self.within}
        latest = type(self)._base_manager.filter(**same).order_by("-number").first()  # noqa: SLF001
        if based_on is None or based_on == (latest.number if latest else 0):
            return latest
        name = self.within[-1].partition("__")[0]
        if latest is None:
            raise Refused(
                "Nothing has been written here yet, so it has no earlier number. Reload the page.", field="based_on"
            )
        if not based_on and self.is_named_by_writer:
            raise Refused(f"There is {latest} already. Write its next number, or choose another name.", field=name)
        raise WrittenMeanwhile(latest)

    def store_after(self, latest: Self | None, *, by: trail.Actor) -> Self:
        """Store this after ``latest``, which ``find_latest`` has locked, with its event."""
        self.save_after(latest, by=by)
        trail.record(self.event, target=self, by=by, stream=self.stream, details=self.describe(latest))
        return self

    def save_after(self, latest: Self | None, *, by: trail.Actor) -> None:
        """As ``store_after``, for an act that records its own event."""
        if latest is not None and self.says_the_same(latest):
            raise NothingChanged(latest)
        self.number = latest.number + 1 if latest else 1
        if self.reason_from is not None and self.number >= self.reason_from and not self.reason:
            known = f"There is {latest} already. " if latest else ""
            raise Refused(
                f"{known}Say in a few words why it is written again; the reason is kept with it.", field="reason"
            )
        for field in self.within[1:] if latest else ():
            name = field.partition("__")[0]
            setattr(self, name, getattr(latest, name))
        self._sign(by)
        if latest is not None:
            self.supersede(latest)
        self.save(force_insert=True)

    def _sign(self, by: trail.Actor) -> None:
        """Set the author in the existing columns; the name stays if the account is removed."""
        person = by if isinstance(by, User) else None
        signature = {"at": timezone.now(), "by": person, "by_name": by.get_username()[:200]}
        columns = {field.name for field in self._meta.fields}
        for part, value in signature.items():
            if (name := f"{self.signed}_{part}") in columns:
                setattr(self, name, value)
