"""Links of codings whose code was merged into another, and links that name a merged code."""

from uuid import uuid4

import pytest

from tests.transcripts.coding.cast import find_code, put
from tests.transcripts.revision.codebooks import merge
from transcripts.coding.actions import add_link
from transcripts.coding.models import Link
from transcripts.revision import actions

pytestmark = pytest.mark.django_db


def link(study, coding, feature, by):
    return add_link(
        study=study,
        coding=coding,
        kind="acts_on",
        code=find_code(study, feature),
        by=by,
        idempotency_key=uuid4(),
    )


def list_links(study):
    """The standing links: the code of the coding, and the feature."""
    links = Link.objects.active().filter(coding__sentence__turn__interview__study=study)
    return sorted(links.values_list("coding__code__identifier", "code__identifier"))


def test_links_go_to_the_merged_move_and_back(study, sentence, owner, coder):
    move = put(sentence, find_code(study, "move.redirect"), coder)
    link(study, move, "feature.power", coder)
    version = merge(study, ["move.redirect", "move.balance"], "move.balance", owner)
    assert actions.migrate_merged(study=study, version=version, by=owner) == 1
    assert list_links(study) == [("move.balance", "feature.power")]
    actions.undo_migration(study=study, version=version, by=owner)
    assert list_links(study) == [("move.redirect", "feature.power")]


def test_links_of_a_coding_join_those_of_the_one_that_stands_there(study, sentence, owner, coder):
    redirect = put(sentence, find_code(study, "move.redirect"), coder)
    balance = put(sentence, find_code(study, "move.balance"), coder)
    link(study, redirect, "feature.power", coder)
    link(study, redirect, "feature.task", coder)
    link(study, balance, "feature.task", coder)
    version = merge(study, ["move.redirect", "move.balance"], "move.balance", owner)
    actions.migrate_merged(study=study, version=version, by=owner)
    assert list_links(study) == [("move.balance", "feature.power"), ("move.balance", "feature.task")]


def test_links_to_a_merged_feature_name_what_it_went_into(study, sentence, owner, coder):
    move = put(sentence, find_code(study, "move.redirect"), coder)
    link(study, move, "feature.power", coder)
    version = merge(study, ["feature.power", "feature.task"], "feature.task", owner)
    for _ in range(2):
        actions.migrate_merged(study=study, version=version, by=owner)
        assert list_links(study) == [("move.redirect", "feature.task")]
        actions.migrate_merged(study=study, version=version, by=owner)
        assert list_links(study) == [("move.redirect", "feature.task")]
        actions.undo_migration(study=study, version=version, by=owner)
        assert list_links(study) == [("move.redirect", "feature.power")]
