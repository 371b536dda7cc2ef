"""What is done to codebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.codebook.queries import latest_version
from transcripts.codebook.seed import SeedCode, SeedCodebook, SeedFamily, load_seed
from transcripts.projects.actions import create_project
from transcripts.projects.models import Project


class CodebookError(Exception):
    """A sentence for the person who asked."""


@transaction.atomic
def start_study(*, slug: str, name: str, by: trail.Actor, description: str = "") -> Project:
    """A new study that can be coded at once: its first codebook version is the seeded one, published.

    Raises ``ProjectError`` for a name or an address that cannot be used.
    """
    project = create_project(slug=slug, name=name, by=by, description=description)
    seed_codebook(project=project, by=by)
    return project


@transaction.atomic
def seed_codebook(*, project: Project, by: trail.Actor) -> CodebookVersion:
    """Version 1 of a study's codebook, published: the families and codes of data/negotiation.json.

    Raises ``CodebookError`` when the study has a codebook.
    """
    if latest_version(project) is not None:
        raise CodebookError("This study has a codebook already. Import a file to make its next version.")
    version = _write_version(project=project, number=1, content=load_seed(), by=by)
    publish_version(version=version, by=by)
    return version
