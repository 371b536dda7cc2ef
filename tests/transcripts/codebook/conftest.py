"""A published codebook and a draft of the next version."""

import pytest

from tests.support.databases import stored
from transcripts.codebook import actions, queries


@pytest.fixture
def published(study):
    version = queries.current_version(study)
    assert version is not None
    return version


@stored
def draft(study, lead):
    return actions.start_draft(study=study, by=lead)
