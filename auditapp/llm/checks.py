"""What Django's system checks say of stored keys: run by ``migrate``, ``check --database default`` and so at each start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register  # noqa: A004 - Django's name
from django.db import DatabaseError, connections


@register(Tags.database)
def check_seals(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """A warning that names the accounts whose stored key does not open."""
    if "default" not in (databases or []):
        return []
    try:
        from auditapp.llm.queries import find_broken_seals

        if "llm_provideraccount" not in connections["default"].introspection.table_names():
            return []
        broken = find_broken_seals()
    except DatabaseError:
        return []
    if not broken:
        return []
    return [
        Warning(
            f"FIELD_KEY does not open the stored keys of these accounts: {', '.join(broken)}.",
            hint="Put the former FIELD_KEY back (several may stand in it, parted by commas), or set these keys again.",
            id="llm.W001",
        )
    ]
