"""The app, and a system check of its stored keys. ``migrate`` and ``check --database default`` run it, so it runs at each start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Tags, Warning, register  # noqa: A004 - Django's name
from django.db import DatabaseError, connections


class LlmConfig(AppConfig):
    name = "auditapp.llm"


@register(Tags.database)
def check_seals(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Warn about accounts whose stored key cannot be opened."""
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
            f"FIELD_KEY does not decrypt the stored keys of these accounts: {', '.join(broken)}.",
            hint="Add the former key to FIELD_KEY (several keys are separated by commas), or set these keys again.",
            id="llm.W001",
        )
    ]
