"""What the desk's script sends and gets of scores: the person's own, and nothing of anybody else."""

import pytest
from django.urls import reverse

from tests.transcripts.negotiation.cast import list_sentences, score, write
from transcripts.negotiation.actions import Evidence
from transcripts.negotiation.models import Score

pytestmark = pytest.mark.django_db


@pytest.fixture
def stance(study, lead):
    return write(study, lead)


def send(browser, interview, name, fields, **headers):
    return browser.post(reverse(f"negotiation:{name}", args=["culture", interview.pk]), fields, headers=headers)


def fields_of(stance, **others):
    return {"stance": stance.pk, "criterion": "moves", "value": "2", "idempotency_key": "7d" * 16, **others}


def test_a_score_is_given_with_marked_words_and_everything_of_hers_comes_back(
    interview, stance, coder, second_coder, client_of
):
    score(stance, interview, second_coder, 0, "features")
    second, third = list_sentences(interview)[1:3]
    evidence = [str(second.pk), f"{third.pk}:0:4"]
    answer = send(client_of(coder), interview, "put_at_desk", fields_of(stance, evidence=evidence))
    assert answer.status_code == 200
    [given] = answer.json()["scores"]
    assert (given["value"], given["criterion"]) == ("2", "moves")
    assert [each["number"] for each in given["evidence"]] == [second.label, third.label]
    stored = Score.objects.get(coder=coder)
    assert stored.evidence.get(sentence=third).quote == (third.start, third.start + 4)
    kept = fields_of(stance, evidence=[f"{third.pk}:kept"], value="3", idempotency_key="8e" * 16)
    assert send(client_of(coder), interview, "put_at_desk", kept).status_code == 200
    changed = Score.objects.active().get(coder=coder)
    assert (changed.value, changed.evidence.get().quote) == (3, (third.start, third.start + 4))


def test_undo_gives_an_earlier_score_again_or_withdraws_the_one_that_is(interview, stance, coder, client_of):
    browser = client_of(coder)
    first = score(stance, interview, coder, 1)
    second = score(stance, interview, coder, 2)
    again = send(browser, interview, "put_at_desk", {"again": first.idempotency_key.hex})
    [given] = again.json()["scores"]
    assert (given["value"], Score.objects.count()) == ("1", 3)
    withdrawn = send(browser, interview, "withdraw_at_desk", {"score": given["id"]})
    assert withdrawn.json()["scores"] == []
    second.refresh_from_db()
    assert second.withdrawn_at is not None


@pytest.mark.parametrize(
    ("others", "field"),
    [
        ({"value": "4"}, "value"),
        ({"value": "x"}, "value"),
        ({"evidence": []}, "evidence"),
        ({"evidence": ["999999"]}, "evidence"),
        ({"evidence": ["x"]}, "evidence"),
        ({"evidence": ["1:2"]}, "evidence"),
        ({"value": "none"}, "note"),
        ({"criterion": "total"}, "criterion"),
        ({"stance": "x"}, "stance"),
        ({"again": "x"}, "again"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence_and_its_field(interview, stance, coder, client_of, others, field):
    second = list_sentences(interview)[1]
    given = fields_of(stance) | {"evidence": [str(second.pk)]} | others
    answer = send(client_of(coder), interview, "put_at_desk", given)
    assert (answer.status_code, answer.headers["X-Desk-Field"]) == (422, field)
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert not Score.objects.exists()


def test_nobody_changes_a_colleagues_score_and_another_person_is_told_to_sign_in(
    interview, stance, coder, second_coder, client_of
):
    theirs = score(stance, interview, second_coder, 1, evidence=[Evidence(list_sentences(interview)[1])])
    browser = client_of(coder)
    assert send(browser, interview, "withdraw_at_desk", {"score": theirs.idempotency_key.hex}).status_code == 404
    assert send(browser, interview, "put_at_desk", {"again": theirs.idempotency_key.hex}).status_code == 404
    other = send(browser, interview, "put_at_desk", fields_of(stance), **{"X-Desk": str(second_coder.pk)})
    assert other.status_code == 401
    own = browser.get(reverse("negotiation:own_scores", args=["culture", interview.pk])).json()
    assert own["scores"] == []
