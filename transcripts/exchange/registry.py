"""What a study can hand out. Each room adds its exports when the program starts: the one inversion of the house."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from transcripts.accounts.models import User
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission


class Scope(NamedTuple):
    """Whose rows an export holds: all of the study, or those of one person (a blind coder's own)."""

    project: Project
    only: User | None


class Export(NamedTuple):
    """One kind of table. ``read_rows`` yields rows in the order of ``header``, in constant memory."""

    key: str
    name: str
    sentence: str
    header: Sequence[str]
    permission: Permission
    read_rows: Callable[[Scope], Iterator[Sequence[object]]]


_exports: dict[str, Export] = {}


def register_export(export: Export) -> None:
    """Make an export known. Called once, in an app's ``ready``."""
    _exports[export.key] = export


def list_exports() -> list[Export]:
    """Every export, in the order of registration."""
    return list(_exports.values())


def find_export(key: str) -> Export | None:
    """The export with that key."""
    return _exports.get(key)
