"""Reading the records of a study: what a file says is what the database gives back."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from tests.transcripts.negotiation.loading import load, read_check
from transcripts.accounts.models import User
from transcripts.negotiation.queries.records import read_records
from transcripts.projects.models import Project

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("number", ["NC04", "NC05", "NC06", "NC07", "NC08", "NC09"])
def test_a_study_gives_back_the_records_it_was_loaded_from(project: Project, owner: User, number: str) -> None:
    lines, _, _ = read_check(number)
    load(project, owner, lines)
    found = read_records(project)
    said: Counter[str] = Counter(line["record"] for line in lines)
    assert len(found.threads) == said["thread"]
    assert len(found.turns) >= said["turn"]
    assert len(found.codings) == said["coding"]
    assert len(found.links) == said["link"]
    assert len(found.pairs) == said["pair"]
    assert len(found.scores) == said["score"]
    asked: list[Any] = [
        (line["thread"], line["turn"], line["start"], line["coder"], line["code"], line.get("enactment", ""))
        for line in lines
        if line["record"] == "coding"
    ]
    assert sorted(each[1:7] for each in found.codings) == sorted(asked)


def test_reading_takes_as_many_queries_for_many_threads_as_for_few(
    project: Project, owner: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    load(project, owner, read_check("NC07")[0])
    with django_assert_max_num_queries(11):
        read_records(project)
