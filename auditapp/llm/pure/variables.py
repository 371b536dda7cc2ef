"""Names of environment variables that may hold a key, and where such a key may be sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

from auditapp.llm.pure.addresses import name_address

# No lower-case letters: with them, many keys would pass for a name.
NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")


def is_variable(text: str) -> bool:
    """Whether this is the name of a variable and cannot be a key."""
    return NAME.fullmatch(text) is not None


def may_be_sent(name: str, base_url: str, places: Mapping[str, Set[str]]) -> bool:
    """Whether the key in the variable ``name`` may be sent to ``base_url``.

    ``places``: of each variable that may hold a key, the addresses (``host:port``) it may be sent to.
    """
    return name_address(base_url) in places.get(name, frozenset())
