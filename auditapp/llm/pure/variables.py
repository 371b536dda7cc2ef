"""Names of environment variables that may hold a key."""

from __future__ import annotations

import re

# No lower-case letters: with them, many keys would pass for a name.
NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
OWN_SECRETS = re.compile(r"(SECRET_KEY|FIELD_KEY|DATABASE_URL|REDIS_URL|(POSTGRES|REDIS|PG)_?[A-Z0-9_]+)(_FILE)?")


def is_variable(text: str) -> bool:
    """Whether this is the name of a variable and cannot be a key."""
    return NAME.fullmatch(text) is not None


def holds_own_secret(name: str) -> bool:
    """Whether this variable holds a secret of the program itself, which is never sent to a provider."""
    return OWN_SECRETS.fullmatch(name) is not None
