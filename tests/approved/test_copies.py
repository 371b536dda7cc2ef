"""What leaves the product is what was approved. ``make approve`` writes the copies; a review reads what changed in them."""

import random
import secrets

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from auditapp.demo.actions import load_demo
from tests.approved.copies import copy_schema, list_copies
from tests.support.services import database_kind


class TextFile(SingleFileSnapshotExtension):
    """A copy is a file of its own."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def approved(snapshot):
    return snapshot.use_extension(TextFile)


@pytest.fixture
def _chance_is_the_same(monkeypatch):
    """Seeds, samples and labels that nobody can foretell are the same each time."""
    source = random.Random(1)
    monkeypatch.setattr(secrets, "randbelow", source.randrange)
    monkeypatch.setattr(secrets, "choice", source.choice)
    monkeypatch.setattr(random, "SystemRandom", lambda: source)


@pytest.mark.full
@pytest.mark.skipif(database_kind() == "postgres", reason="The copies are those of SQLite.")
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_chance_is_the_same")
def test_what_leaves_the_demo_was_approved(approved, subtests, tmp_path):
    assert load_demo()
    for name, text in list_copies(tmp_path):
        with subtests.test(name):
            assert text == approved(name=name)


def test_the_schema_was_approved(approved):
    assert copy_schema() == approved
