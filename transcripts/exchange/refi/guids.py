"""GUIDs of codings, links and memos: the keys that they were sent with, where no two of them share one."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, QuerySet

from transcripts.coding.models import Coding, Link, Memo
from transcripts.formats.refi import make_guid
from transcripts.projects.models import Project


class Guids:
    """The GUIDs of the rows of one kind in a study.

    A key is unique to its person alone. Of several people's rows with the same one the oldest has it as its GUID; the others have
    one made of person and key. Rows are never deleted, so a GUID never changes. Of keys that are ``taken`` by something
    else all are made.
    """

    def __init__(self, kind: str, rows: QuerySet[Any], taken: QuerySet[Any] | None = None) -> None:
        self._kind = kind
        self._rows = rows.order_by()
        self._taken = taken

    def find(self, key: UUID, *, pk: int, person: str) -> str:
        """The GUID of the row with this number, key and person."""
        return str(key) if self._first_of.get(key, pk) == pk else self._make(key, person)

    def list_made(self, keys: Collection[UUID], *, person: str) -> set[UUID]:
        """The GUIDs that are made for a person's rows, of which these are the keys."""
        return {UUID(self._make(key, person)) for key in self._first_of.keys() & set(keys)}

    def _make(self, key: UUID, person: str) -> str:
        return make_guid(self._kind, person, str(key))

    @cached_property
    def _first_of(self) -> dict[UUID, int]:
        """The oldest row with each key that several have; 0 where none of them has it as its GUID."""
        shared = self._rows.values("idempotency_key").annotate(first=Min("pk"), several=Count("pk"))
        found = dict(shared.filter(several__gt=1).values_list("idempotency_key", "first"))
        if self._taken is not None:
            keys = self._rows.filter(idempotency_key__in=self._taken).values_list("idempotency_key", flat=True)
            found |= dict.fromkeys(keys, 0)
        return found


def guids_of_codings(project: Project) -> Guids:
    return Guids("coding of", Coding.objects.filter(sentence__turn__interview__study=project))


def guids_of_memos(project: Project) -> Guids:
    codings = Coding.objects.filter(sentence__turn__interview__study=project).values("idempotency_key")
    return Guids("memo of", Memo.objects.filter(project=project), taken=codings)


class StudyGuids:
    """All GUIDs of a study's export that are made of keys."""

    def __init__(self, project: Project) -> None:
        self._codings = guids_of_codings(project)
        self._memos = guids_of_memos(project)
        links = Link.objects.filter(coding__sentence__turn__interview__study=project)
        self._links = Guids("link of", links)

    def of_coding(self, coding: Coding) -> str:
        return self._codings.find(coding.idempotency_key, pk=coding.pk, person=coding.coder.username)

    def of_memo(self, memo: Memo) -> str:
        return self._memos.find(memo.idempotency_key, pk=memo.pk, person=memo.author.username)

    def of_link(self, link: Link) -> str:
        return self._links.find(link.idempotency_key, pk=link.pk, person=link.coder.username)
