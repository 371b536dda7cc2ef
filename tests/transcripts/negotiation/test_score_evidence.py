"""What a score may rest on, and where its evidence lies when sentences are split or merged."""

import json
from uuid import uuid4

import pytest
from django.urls import reverse

from tests.transcripts.coding.test_boundary_edits import ANSWER, find, join, split
from tests.transcripts.negotiation.cast import score, write
from transcripts.coding.actions import open_stage
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence
from transcripts.negotiation.actions import Evidence, restore_score, withdraw_score
from transcripts.negotiation.models import Score
from transcripts.refusals import WrongInput
from transcripts.studies.actions import create_study

pytestmark = pytest.mark.django_db
SECRET = "A thought that nobody has opened."


def bring_in(study, by, name):
    turns = [
        {"role": "interviewer", "text": "Why?"},
        {"role": "model", "text": ANSWER},
        {"role": "model", "channel": "reasoning", "text": SECRET},
    ]
    line = json.dumps({"id": name, "title": name, "kind": "trajectory", "turns": turns})
    import_file(study=study, name=f"{name}.jsonl", data=line.encode(), by=by)
    return Interview.objects.get(study=study, external_id=name)


@pytest.fixture
def thread(study, owner):
    return bring_in(study, owner, "t")


@pytest.fixture
def stance(study, lead):
    return write(study, lead)


def find_quote(thread, label, words):
    start = ANSWER.index(words)
    return Evidence(find(thread, label), (start, start + len(words)))


def told(given):
    """What it rests on: numbers of sentences, each with the words quoted, or nothing for the whole."""
    rows = given.evidence.select_related("sentence").order_by("sentence__position", "sentence__start")
    return [(row.sentence.label, ANSWER[slice(*row.quote)] if row.quote else "") for row in rows]


def read_own(browser, thread):
    address = reverse("negotiation:own_scores", args=[thread.study.slug, thread.pk])
    return browser.get(address).json()["scores"]


def send(browser, thread, stance, *evidence, value="3"):
    address = reverse("negotiation:put_at_desk", args=[thread.study.slug, thread.pk])
    fields = {"stance": stance.pk, "criterion": "moves", "value": value, "evidence": evidence}
    return browser.post(address, {**fields, "idempotency_key": str(uuid4())})


def test_a_corrected_score_rests_on_the_piece_that_holds_its_words(thread, stance, lead, coder):
    evidence = [find_quote(thread, "2", "three"), Evidence(find(thread, "3"))]
    given = score(stance, thread, coder, 2, evidence=evidence)
    split(thread, by=lead)
    changed = score(stance, thread, coder, 3, evidence=evidence)
    assert told(given) == [("2", "three"), ("3", "")]
    assert told(changed) == [("2b", "three"), ("3", "")]


def test_a_restored_score_rests_on_the_first_piece_where_nothing_was_quoted(study, thread, stance, lead, coder):
    given = score(stance, thread, coder, 2, evidence=[Evidence(find(thread, "2"))])
    withdraw_score(study=study, score=given, by=coder)
    split(thread, by=lead)
    back = restore_score(study=study, score=given, by=coder, idempotency_key=uuid4())
    assert told(back) == [("2a", "")]


def test_evidence_on_both_sides_of_a_removed_boundary_becomes_one(study, thread, stance, lead, coder):
    evidence = [find_quote(thread, "2", "three"), find_quote(thread, "3", "Second")]
    given = score(stance, thread, coder, 2, evidence=evidence)
    join(thread, "2", by=lead)
    back = restore_score(study=study, score=given, by=coder, idempotency_key=uuid4())
    assert told(back) == [("2", "three. Second")]


def test_a_score_that_never_rested_on_it_does_not_take_a_retired_sentence(thread, stance, lead, coder):
    old = find(thread, "2")
    split(thread, by=lead)
    with pytest.raises(WrongInput, match="Sentence 2 has since been split"):
        score(stance, thread, coder, 2, evidence=[Evidence(old)])


def test_at_the_desk_and_on_the_page_evidence_that_was_cut_anew_can_be_kept_and_taken_off(
    thread, stance, lead, coder, client_of
):
    evidence = [find_quote(thread, "2", "three"), Evidence(find(thread, "3"))]
    score(stance, thread, coder, 2, evidence=evidence)
    split(thread, by=lead)
    browser = client_of(coder)
    page = browser.get(reverse("negotiation:thread_scores", args=[thread.study.slug, thread.pk])).content.decode()
    assert "Sentence 2 (split or merged since, now 2b)" in page
    assert 'value="2b, 3"' in page
    [own] = read_own(browser, thread)
    pieces = [each["sentence"] for each in own["evidence"]]
    assert [each["number"] for each in own["evidence"]] == ["2b", "3"]
    for number in (str(evidence[0].sentence.pk), pieces[0]):
        answer = send(browser, thread, stance, f"{number}:kept", f"{pieces[1]}:kept")
        assert answer.status_code == 200
        assert told(Score.objects.active().get()) == [("2b", "three"), ("3", "")]
    assert send(browser, thread, stance, f"{pieces[1]}:kept").status_code == 200
    assert told(Score.objects.active().get()) == [("3", "")]


def test_sentences_of_another_study_are_none_whatever_is_asked_of_them(thread, stance, owner, coder, client_of):
    elsewhere = find(bring_in(create_study(slug="other", name="Other", by=owner), owner, "o"), "2")
    browser = client_of(coder)
    answers = [
        send(browser, thread, stance, token)
        for token in ("999999", f"{elsewhere.pk}", f"{elsewhere.pk}:0:4", f"{elsewhere.pk}:0:9999")
    ]
    assert {(each.status_code, each.content) for each in answers} == {(422, answers[0].content)}
    with pytest.raises(WrongInput, match="There is no such sentence"):
        score(stance, thread, owner, 2, evidence=[Evidence(elsewhere)])


def test_closed_reasoning_is_no_evidence_until_it_is_opened_and_nothing_is_told_of_it(
    study, thread, stance, coder, client_of
):
    secret = Sentence.objects.select_related("turn__interview").get(turn__interview=thread, turn__position=3)
    browser = client_of(coder)
    answers = [
        send(browser, thread, stance, token) for token in (f"{secret.pk}", f"{secret.pk}:0:4", f"{secret.pk}:0:999")
    ]
    assert {(each.status_code, each.content) for each in answers} == {(422, answers[0].content)}
    assert b"Open it at the desk first" in answers[0].content
    open_stage(study=study, turn=secret.turn, by=coder)
    assert send(browser, thread, stance, f"{secret.pk}").status_code == 200
