"""What apps add to each other's registries: exports, batch kinds, parts of a model card, reactions to a role change.

Each app lists its own in a module ``registrations``. They are imported when a registry is first read, and not when the
program starts: together they import most of the program, which a command such as ``segment`` never uses.
"""

from __future__ import annotations

from functools import cache

from django.utils.module_loading import autodiscover_modules


@cache
def load_registrations() -> None:
    """Import the module ``registrations`` of every app that has one. Every function that reads a registry calls this."""
    autodiscover_modules("registrations")
