"""Links of codings whose code was merged into another, and links that name a merged code."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.transcripts.coding.desk_cast import find_code, put
from tests.transcripts.revision.codebooks import merge
from transcripts.accounts.models import User
from transcripts.coding.actions import add_link
from transcripts.coding.models import Coding, Link
from transcripts.corpus.models import Sentence
from transcripts.revision import actions
from transcripts.studies.models import Project

pytestmark = pytest.mark.django_db


def link(project: Project, coding: Coding, feature: str, by: User) -> Link:
    return add_link(
        project=project,
        coding=coding,
        kind="acts_on",
        code=find_code(project, feature),
        by=by,
        idempotency_key=uuid4(),
    )


def list_links(project: Project) -> list[tuple[str, str]]:
    """The standing links: the code of the coding, and the feature."""
    links = Link.objects.active().filter(coding__sentence__turn__interview__project=project)
    return sorted(links.values_list("coding__code__identifier", "code__identifier"))


def test_links_go_to_the_merged_move_and_back(project: Project, sentence: Sentence, owner: User, coder: User) -> None:
    move = put(sentence, find_code(project, "move.redirect"), coder)
    link(project, move, "feature.power", coder)
    version = merge(project, ["move.redirect", "move.balance"], "move.balance", owner)
    assert actions.migrate_merged(project=project, version=version, by=owner) == 1
    assert list_links(project) == [("move.balance", "feature.power")]
    actions.undo_migration(project=project, version=version, by=owner)
    assert list_links(project) == [("move.redirect", "feature.power")]


def test_links_of_a_coding_join_those_of_the_one_that_stands_there(
    project: Project, sentence: Sentence, owner: User, coder: User
) -> None:
    redirect = put(sentence, find_code(project, "move.redirect"), coder)
    balance = put(sentence, find_code(project, "move.balance"), coder)
    link(project, redirect, "feature.power", coder)
    link(project, redirect, "feature.task", coder)
    link(project, balance, "feature.task", coder)
    version = merge(project, ["move.redirect", "move.balance"], "move.balance", owner)
    actions.migrate_merged(project=project, version=version, by=owner)
    assert list_links(project) == [("move.balance", "feature.power"), ("move.balance", "feature.task")]


def test_links_to_a_merged_feature_name_what_it_went_into(
    project: Project, sentence: Sentence, owner: User, coder: User
) -> None:
    move = put(sentence, find_code(project, "move.redirect"), coder)
    link(project, move, "feature.power", coder)
    version = merge(project, ["feature.power", "feature.task"], "feature.task", owner)
    for _ in range(2):
        actions.migrate_merged(project=project, version=version, by=owner)
        assert list_links(project) == [("move.redirect", "feature.task")]
        actions.migrate_merged(project=project, version=version, by=owner)
        assert list_links(project) == [("move.redirect", "feature.task")]
        actions.undo_migration(project=project, version=version, by=owner)
        assert list_links(project) == [("move.redirect", "feature.power")]
