"""Names of environment variables that may hold a key."""

from __future__ import annotations

import re

# Small letters are left out: with them, many a key would pass for a name.
NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
OWN_SECRETS = re.compile(r"(SECRET_KEY|FIELD_KEY|DATABASE_URL|REDIS_URL|(POSTGRES|REDIS|PG)_?[A-Z0-9_]+)(_FILE)?")


def is_variable(text: str) -> bool:
    """Whether this is the name of a variable, and not perhaps a key."""
    return NAME.fullmatch(text) is not None


def holds_own_secret(name: str) -> bool:
    """Whether the program itself is run with this variable: it is sent to no provider, whoever names it."""
    return OWN_SECRETS.fullmatch(name) is not None
