"""The cache in the database, in which wrong passwords and requests to sign in are counted."""

from __future__ import annotations

from typing import Any

from django.core.cache.backends.db import DatabaseCache
from django.db import OperationalError

COUNTS = "allauth:"


class CountingCache(DatabaseCache):
    """Says so where a count cannot be written, as on a full disk. Otherwise allauth would take the right password for one too
    many."""

    def add(self, key: str, *rest: Any, **more: Any) -> bool:
        """Store what is not there yet; whether it was not. Raises ``OperationalError``."""
        for _ in range(2):
            if super().add(key, *rest, **more):
                return True
            # A lock of allauth may have gone between the two.
            if not key.startswith(COUNTS) or self.has_key(key):
                return False
        raise OperationalError("Attempts to sign in cannot be counted, because the database takes no writes.")
