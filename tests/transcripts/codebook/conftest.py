"""A published codebook and a draft of the next version."""

from __future__ import annotations

import pytest

from tests.support.databases import stored
from transcripts.accounts.models import User
from transcripts.codebook import actions, queries
from transcripts.codebook.models import CodebookVersion
from transcripts.studies.models import Project


@pytest.fixture
def published(project: Project) -> CodebookVersion:
    version = queries.current_version(project)
    assert version is not None
    return version


@stored
def draft(project: Project, lead: User) -> CodebookVersion:
    return actions.start_draft(project=project, by=lead)
