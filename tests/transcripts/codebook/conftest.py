"""A published codebook and a draft of the next version."""

from __future__ import annotations

import pytest

from tests.support.databases import stored
from transcripts.accounts.models import User
from transcripts.codebook import actions, queries
from transcripts.codebook.models import CodebookVersion
from transcripts.studies.models import Study


@pytest.fixture
def published(study: Study) -> CodebookVersion:
    version = queries.current_version(study)
    assert version is not None
    return version


@stored
def draft(study: Study, lead: User) -> CodebookVersion:
    return actions.start_draft(study=study, by=lead)
