"""What the commands of the probe read from files."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import CommandError

from auditapp.probe.pure.winnowing import Rules, RulesRefused, read_rules

MAX_RULES_BYTES = 1_000_000


def load_rules(path: Path) -> Rules:
    """The rules of a file. Raises ``CommandError``."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_RULES_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_RULES_BYTES:
        raise CommandError(f"{path} is larger than a megabyte, which no rules are.")
    try:
        return read_rules(data)
    except RulesRefused as error:
        raise CommandError(f"{path}: {error}") from error
