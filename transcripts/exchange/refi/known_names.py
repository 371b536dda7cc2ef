"""The client ids under which a person's rows are stored: a file that comes in twice finds its own again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from transcripts.formats.refi import make_guid


class KnownNames:
    """A person's client ids in a study (``here``) and in all studies, where each may be used once."""

    def __init__(self, slug: str, here: QuerySet[Any], everywhere: QuerySet[Any]) -> None:
        self.here: set[UUID] = set(here.values_list("client_id", flat=True))
        self._everywhere: set[UUID] = set(everywhere.values_list("client_id", flat=True))
        self._slug = slug

    def find_free(self, guid: str) -> str | None:
        """The name under which a thing of a file is stored; ``None`` where it is in the study already.

        The same file may come into two studies: in the second, things get names of their own.
        """
        own = make_guid("in study", self._slug, guid)
        if UUID(guid) in self.here or UUID(own) in self.here:
            return None
        return own if UUID(guid) in self._everywhere else guid
