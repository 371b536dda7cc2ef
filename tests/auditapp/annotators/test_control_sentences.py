"""Invented sentences with known codes."""

from collections import Counter

import pytest
from django.urls import reverse

from auditapp.annotators.actions.annotators import (
    add_built_in_control_sentences,
    add_control_sentence,
    withdraw_control_sentence,
)
from auditapp.annotators.models import ControlSentence
from auditapp.annotators.queries.annotators import read_own_set
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import Code
from transcripts.refusals import Refused


def test_the_own_set_has_two_sentences_for_each_seeded_theme_and_move_and_ten_without_a_code(study):
    rows = read_own_set()
    counts = Counter(code for _, codes in rows for code in codes)
    seeded = Code.objects.filter(version__study=study, family__identifier__in=["themes", "moves"])
    assert counts == dict.fromkeys(seeded.values_list("identifier", flat=True), 2)
    assert len(counts) == 15
    assert sum(not codes for _, codes in rows) == 10
    assert len({text for text, _ in rows}) == len(rows)


def test_planting_the_set_twice_adds_only_what_was_withdrawn(study, owner):
    controls = add_built_in_control_sentences(study=study, by=owner)
    assert len(controls) == 40
    with pytest.raises(Refused, match="already a control sentence"):
        add_built_in_control_sentences(study=study, by=owner)
    withdraw_control_sentence(controls=controls[3], by=owner)
    assert [row.text for row in add_built_in_control_sentences(study=study, by=owner)] == [controls[3].text]


def test_withdrawing_keeps_the_row_and_happens_once(study, owner):
    row = add_control_sentence(study=study, text="Invented.", codes=[], by=owner)
    withdraw_control_sentence(controls=row, by=owner)
    assert ControlSentence.objects.get().withdrawn_at
    with pytest.raises(Refused, match="already been withdrawn"):
        withdraw_control_sentence(controls=row, by=owner)


@pytest.mark.parametrize(
    ("text", "codes", "words"),
    [
        ("  ", [], "Write the sentence"),
        ("x" * 501, [], "the limit is 500"),
        ("Invented.", ["theme.astrology"], "no code theme.astrology"),
        ("Invented.", ["feature.task"], "no code feature.task"),
    ],
)
def test_what_cannot_be_a_control_sentence_is_refused(study, owner, text, codes, words):
    with pytest.raises(Refused, match=words):
        add_control_sentence(study=study, text=text, codes=codes, by=owner)
    assert not ControlSentence.objects.exists()


def test_a_sentence_that_somebody_said_is_not_invented(study, sentence, owner):
    with pytest.raises(Refused, match="occurs in one of the interviews"):
        add_control_sentence(study=study, text=sentence.read_text(), codes=[], by=owner)


def test_the_trail_knows_the_act_and_not_the_text(study, owner):
    add_control_sentence(study=study, text="Invented words.", codes=["theme.balance"], by=owner)
    event = AuditEvent.objects.get(action="annotators.control_sentence.added")
    assert event.details == {"codes": 1}


def test_the_page_plants_withdraws_and_adds_the_set(study, lead, client_of):
    client, path = client_of(lead), reverse("annotators:control_sentences", args=[study.slug])
    assert client.post(path, {"text": "Invented.", "codes": ["theme.balance", "move.elicit"]}).status_code == 302
    row = ControlSentence.objects.get()
    assert row.codes == ["move.elicit", "theme.balance"]
    again = client.post(path, {"text": "Invented."})
    assert again.status_code == 422
    assert "already a control sentence" in again.content.decode()
    assert client.post(reverse("annotators:withdraw_control_sentence", args=[study.slug, row.pk])).status_code == 302
    assert client.post(reverse("annotators:add_control_set", args=[study.slug])).status_code == 302
    page = client.get(path).content.decode()
    assert "40 in use" in page
    assert "1 withdrawn" in page
