"""A model's card in a study: what is known of it as a judge. Each feature adds its part when the program starts, so that
this room knows none of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

from auditapp.llm.models import ModelVariant
from transcripts.projects.models import Project
from transcripts.projects.registrations import load_registrations
from transcripts.projects.roles import Permission


class CardFigure(NamedTuple):
    """One figure with what stands behind it. ``basis`` names its denominator and layer; ``href`` opens it down."""

    name: str
    value: str
    basis: str
    href: str = ""


class CardPart(NamedTuple):
    """What one feature says of a model. ``summary`` is one sentence for a form in which the model is chosen."""

    title: str
    figures: Sequence[CardFigure]
    summary: str
    notes: Sequence[str] = ()


class Card(NamedTuple):
    """A model with everything that is known of it in a study."""

    variant: ModelVariant
    parts: Sequence[CardPart]


# The parts of many models at once, by the key of the variant; a model of which there is nothing to say is left out.
PartReader = Callable[[Project, Sequence[ModelVariant]], Mapping[int, CardPart]]


class _Source(NamedTuple):
    reader: PartReader
    permission: Permission


_sources: dict[str, _Source] = {}


def register_card_part(key: str, reader: PartReader, permission: Permission = Permission.VIEW) -> None:
    """Make a feature's part known, for whoever has ``permission``. Called once, in its ``registrations``."""
    _sources[key] = _Source(reader, permission)


def hides_parts(permissions: Container[Permission]) -> bool:
    """Whether cards have parts that are not for whoever has these permissions."""
    load_registrations()
    return any(each.permission not in permissions for each in _sources.values())


def read_cards(project: Project, variants: Sequence[ModelVariant], permissions: Container[Permission]) -> list[Card]:
    """A card for each of ``variants``, in their order; without parts where nothing is known or may be seen."""
    load_registrations()
    read = [each.reader(project, variants) for each in _sources.values() if each.permission in permissions]
    return [Card(each, [parts[each.pk] for parts in read if each.pk in parts]) for each in variants]


def find_part(key: str, project: Project, variant: ModelVariant) -> CardPart | None:
    """What the feature ``key`` says of one model; ``None`` where it has nothing to say, or is not there."""
    load_registrations()
    source = _sources.get(key)
    return source.reader(project, [variant]).get(variant.pk) if source else None
