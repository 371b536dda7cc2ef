"""A model's scorecard in a study: what is known of it as a judge.

Each feature registers its part when the program starts, so that this room imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

from auditapp.llm.models import ModelVariant
from transcripts.projects.models import Project
from transcripts.projects.registrations import load_registrations
from transcripts.projects.roles import Permission


class ScorecardFigure(NamedTuple):
    """One figure with what stands behind it. ``basis`` names its denominator and layer; ``href`` opens it down."""

    name: str
    value: str
    basis: str
    href: str = ""


class ScorecardPart(NamedTuple):
    """What one feature says of a model. ``summary`` is one sentence for a form in which the model is chosen."""

    title: str
    figures: Sequence[ScorecardFigure]
    summary: str
    notes: Sequence[str] = ()


# The scorecard parts of many models at once, by the key of the variant; a model of which there is nothing to say is left out.
PartReader = Callable[[Project, Sequence[ModelVariant]], Mapping[int, ScorecardPart]]


_sources: dict[str, tuple[PartReader, Permission]] = {}


def register_scorecard_part(key: str, reader: PartReader, permission: Permission = Permission.VIEW) -> None:
    """Make a feature's part known, for whoever has ``permission``. Called once, in its ``registrations``."""
    _sources[key] = reader, permission


def hides_parts(permissions: Container[Permission]) -> bool:
    """Whether scorecards have parts that are not for whoever has these permissions."""
    load_registrations()
    return any(permission not in permissions for _, permission in _sources.values())


def read_scorecards(
    project: Project, variants: Sequence[ModelVariant], permissions: Container[Permission]
) -> list[list[ScorecardPart]]:
    """The parts of the scorecard of each of ``variants``, in their order; none where nothing is known or may be seen."""
    load_registrations()
    read = [reader(project, variants) for reader, permission in _sources.values() if permission in permissions]
    return [[parts[each.pk] for parts in read if each.pk in parts] for each in variants]


def find_part(key: str, project: Project, variant: ModelVariant) -> ScorecardPart | None:
    """What the feature ``key`` says of one model; ``None`` where it has nothing to say, or is not there."""
    load_registrations()
    if key not in _sources:
        return None
    reader, _ = _sources[key]
    return reader(project, [variant]).get(variant.pk)
