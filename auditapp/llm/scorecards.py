"""A model's scorecard in a study: what is known about it as a judge.

Each feature registers its part when the program starts, so that this package imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

from auditapp.llm.models import ModelVariant
from transcripts.projects.models import Project
from transcripts.projects.registrations import load_registrations
from transcripts.projects.roles import Permission


class ScorecardFigure(NamedTuple):
    """One figure. ``basis`` names its denominator and layer; ``href`` leads to the data behind it. ``alarm`` says why the figure is
    no evidence, "" where it is."""

    name: str
    value: str
    basis: str
    href: str = ""
    alarm: str = ""


class ScorecardPart(NamedTuple):
    """What one feature knows about a model. ``summary`` is one sentence for forms in which a model is chosen."""

    title: str
    figures: Sequence[ScorecardFigure]
    summary: str
    notes: Sequence[str] = ()


# Reads the parts of many models at once, by the variant's key. Models without a part are left out.
PartReader = Callable[[Project, Sequence[ModelVariant]], Mapping[int, ScorecardPart]]


_sources: dict[str, tuple[PartReader, Permission]] = {}


def register_scorecard_part(key: str, reader: PartReader, permission: Permission = Permission.VIEW) -> None:
    """Register a feature's part, shown to people with ``permission``. Called once, in its ``registrations``."""
    _sources[key] = reader, permission


def hides_parts(permissions: Container[Permission]) -> bool:
    """Whether scorecards have parts that somebody with these permissions may not see."""
    load_registrations()
    return any(permission not in permissions for _, permission in _sources.values())


def read_scorecards(
    project: Project, variants: Sequence[ModelVariant], permissions: Container[Permission]
) -> list[list[ScorecardPart]]:
    """The visible scorecard parts of each of ``variants``, in the same order."""
    load_registrations()
    read = [reader(project, variants) for reader, permission in _sources.values() if permission in permissions]
    return [[parts[each.pk] for parts in read if each.pk in parts] for each in variants]


def find_part(key: str, project: Project, variant: ModelVariant) -> ScorecardPart | None:
    """The part of the feature ``key`` for one model; ``None`` if it has none or the feature is not registered."""
    load_registrations()
    if key not in _sources:
        return None
    reader, _ = _sources[key]
    return reader(project, [variant]).get(variant.pk)
