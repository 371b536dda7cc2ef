"""Invented sentences with known codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from auditapp.annotators.actions.annotators import plant_own_set, plant_sentence, withdraw_planted
from auditapp.annotators.models import PlantedSentence
from auditapp.annotators.queries.annotators import read_own_set
from transcripts.accounts.models import User
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import Code
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused
from transcripts.studies.models import Project

ClientOf = Callable[[User], Client]


def test_the_own_set_has_two_sentences_for_each_seeded_theme_and_move_and_ten_without_a_code(project: Project) -> None:
    rows = read_own_set()
    counts = Counter(code for _, codes in rows for code in codes)
    seeded = Code.objects.filter(version__project=project, family__identifier__in=["themes", "moves"])
    assert counts == dict.fromkeys(seeded.values_list("identifier", flat=True), 2)
    assert len(counts) == 15
    assert sum(not codes for _, codes in rows) == 10
    assert len({text for text, _ in rows}) == len(rows)


def test_planting_the_set_twice_adds_only_what_was_withdrawn(project: Project, owner: User) -> None:
    planted = plant_own_set(project=project, by=owner)
    assert len(planted) == 40
    with pytest.raises(Refused, match="already planted"):
        plant_own_set(project=project, by=owner)
    withdraw_planted(planted=planted[3], by=owner)
    assert [row.text for row in plant_own_set(project=project, by=owner)] == [planted[3].text]


def test_withdrawing_keeps_the_row_and_happens_once(project: Project, owner: User) -> None:
    row = plant_sentence(project=project, text="Invented.", codes=[], by=owner)
    withdraw_planted(planted=row, by=owner)
    assert PlantedSentence.objects.get().withdrawn_at
    with pytest.raises(Refused, match="already been withdrawn"):
        withdraw_planted(planted=row, by=owner)


@pytest.mark.parametrize(
    ("text", "codes", "words"),
    [
        ("  ", [], "Write the sentence"),
        ("x" * 501, [], "the limit is 500"),
        ("Invented.", ["theme.astrology"], "no code theme.astrology"),
        ("Invented.", ["feature.task"], "no code feature.task"),
    ],
)
def test_what_cannot_be_planted_is_refused(
    project: Project, owner: User, text: str, codes: list[str], words: str
) -> None:
    with pytest.raises(Refused, match=words):
        plant_sentence(project=project, text=text, codes=codes, by=owner)
    assert not PlantedSentence.objects.exists()


def test_a_sentence_that_somebody_said_is_not_invented(project: Project, sentence: Sentence, owner: User) -> None:
    with pytest.raises(Refused, match="occurs in one of the interviews"):
        plant_sentence(project=project, text=sentence.read_text(), codes=[], by=owner)


def test_the_trail_knows_the_act_and_not_the_text(project: Project, owner: User) -> None:
    plant_sentence(project=project, text="Invented words.", codes=["theme.balance"], by=owner)
    event = AuditEvent.objects.get(action="annotators.planted.added")
    assert event.details == {"codes": 1}


def test_the_page_plants_withdraws_and_adds_the_set(project: Project, lead: User, client_of: ClientOf) -> None:
    client, path = client_of(lead), reverse("annotators:planted", args=[project.slug])
    assert client.post(path, {"text": "Invented.", "codes": ["theme.balance", "move.elicit"]}).status_code == 302
    row = PlantedSentence.objects.get()
    assert row.codes == ["move.elicit", "theme.balance"]
    again = client.post(path, {"text": "Invented."})
    assert again.status_code == 422
    assert "already planted" in again.content.decode()
    assert client.post(reverse("annotators:withdraw_planted", args=[project.slug, row.pk])).status_code == 302
    assert client.post(reverse("annotators:plant_set", args=[project.slug])).status_code == 302
    page = client.get(path).content.decode()
    assert "40 planted" in page
    assert "1 withdrawn" in page
