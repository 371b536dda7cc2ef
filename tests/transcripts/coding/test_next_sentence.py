"""What waits next."""

import json
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tests.transcripts.coding.cast import decide, find_code, put
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.coding import actions
from transcripts.coding.models import Unblinding
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence
from transcripts.rounds.models import Assignment, Round


@pytest.fixture
def second(study, interview, owner):
    """An interview after the first, of two sentences."""
    line = json.dumps({"id": "i2", "title": "Second", "turns": [{"role": "model", "text": "First. Second."}]})
    import_file(study=study, name="second.jsonl", data=line.encode(), by=owner)
    return Interview.objects.get(external_id="i2")


def said(interview):
    """What the model says."""
    rows = Sentence.objects.filter(turn__interview=interview, turn__role="model", retired_by__isnull=True)
    return list(rows.select_related("turn__interview").order_by("position", "start"))


def ask(client_of, user, study, at=None):
    """Where one is led, and why; ("", 0) when nowhere."""
    path = reverse("desk:next", args=[study.slug])
    response = client_of(user).get(path, {"at": at.pk} if at else {})
    assert response.status_code == 302
    query = parse_qs(urlsplit(response["Location"]).query)
    return (query["why"][0], int(query["at"][0])) if query else ("", 0)


def decide_all(user, *interviews):
    for interview in interviews:
        for sentence in said(interview):
            decide(sentence, user)


def test_uncoded_comes_first_and_goes_across_interviews(study, interview, second, coder, client_of):
    first = said(interview)
    assert ask(client_of, coder, study) == ("uncoded", first[0].pk)
    decide(first[1], coder)
    assert ask(client_of, coder, study, first[0]) == ("uncoded", first[2].pk)
    decide(first[-1], coder)
    assert ask(client_of, coder, study, first[-1]) == ("uncoded", first[0].pk), (
        "what was passed over is not left behind"
    )
    passed_over, *_ = [decide(sentence, coder) for sentence in first[:1] + first[2:-1]]
    assert ask(client_of, coder, study, first[-1]) == ("uncoded", said(second)[0].pk)
    actions.reopen_sentence(study=study, decision=passed_over, by=coder)
    decide_all(coder, second)
    assert ask(client_of, coder, study, said(second)[-1]) == ("uncoded", first[0].pk)


def test_a_sentence_that_was_passed_over_is_the_last_to_come(study, interview, second, coder, client_of):
    passed_over, *others = said(interview)
    for sentence in [*others, said(second)[0]]:
        decide(sentence, coder)
    assert ask(client_of, coder, study, passed_over) == ("uncoded", said(second)[1].pk)
    decide(said(second)[1], coder)
    assert ask(client_of, coder, study, said(second)[1]) == ("uncoded", passed_over.pk)
    path = reverse("desk:next", args=[study.slug])
    told = client_of(coder).get(path, {"at": passed_over.pk}, headers={"X-Desk": str(coder.pk)}).json()
    assert told["words"] == "This is the only sentence that needs you now: not coded yet."
    decide(passed_over, coder)
    assert ask(client_of, coder, study, passed_over) == ("", 0)


def test_what_is_assigned_comes_before_everything_else(study, interview, second, coder, client_of):
    now = timezone.now()
    number_one = Round.objects.create(
        study=study, number=1, name="First pass", opened_at=now, opened_by_name="lead", closes_others=False
    )
    Assignment.objects.create(interview=second, coder=coder, round=number_one, assigned_at=now, assigned_by_name="lead")
    first, assigned = said(interview), said(second)
    assert ask(client_of, coder, study) == ("assigned", assigned[0].pk)
    assert ask(client_of, coder, study, first[1]) == ("assigned", assigned[0].pk), "not the rest of another interview"
    path = reverse("desk:next", args=[study.slug])
    told = client_of(coder).get(path, headers={"X-Desk": str(coder.pk)}).json()
    assert told["words"] == "Next: assigned to you in First pass, not coded yet."
    assert told["words"] in client_of(coder).get(told["url"].partition("#")[0]).content.decode()
    decide(assigned[1], coder)
    assert ask(client_of, coder, study, assigned[1]) == ("assigned", assigned[0].pk)
    assert ask(client_of, coder, study, assigned[0]) == ("assigned", assigned[0].pk), (
        "nowhere else before it is decided"
    )
    decide(assigned[0], coder)
    assert ask(client_of, coder, study, assigned[1]) == ("uncoded", first[0].pk), "then what is open to all"


def test_what_is_assigned_to_others_or_signed_off_does_not_wait(
    study, interview, second, coder, second_coder, client_of
):
    now = timezone.now()
    number_one = Round.objects.create(study=study, number=1, name="First", opened_at=now, opened_by_name="lead")
    given = {"round": number_one, "assigned_at": now, "assigned_by_name": "lead"}
    Assignment.objects.create(interview=interview, coder=second_coder, **given)
    own = Assignment.objects.create(interview=second, coder=coder, **given)
    assert ask(client_of, coder, study) == ("assigned", said(second)[0].pk)
    own.completed_at = now
    own.save()
    assert ask(client_of, coder, study) == ("", 0)


def test_changed_code_comes_second(study, interview, coder, second_coder, client_of):
    decide_all(coder, interview)
    balance = find_code(study, "theme.balance")
    put(said(interview)[3], balance, coder)
    put(said(interview)[1], balance, second_coder)
    assert ask(client_of, coder, study) == ("", 0)
    now = timezone.now()
    newer = CodebookVersion.objects.create(
        study=study, number=2, status="published", title="Second", created_at=now, published_at=now
    )
    family = balance.family
    family.pk, family.version = None, newer
    family.save(force_insert=True)
    code = Code.objects.create(
        version=newer, family=family, identifier="theme.balance", name="Balance", meaning_version=1, position=1
    )
    assert ask(client_of, coder, study) == ("", 0)
    code.meaning_version = 2
    code.save()
    assert ask(client_of, coder, study) == ("changed", said(interview)[3].pk)


def test_disagreement_comes_third_for_who_may_see_it(
    study, interview, second, lead, coder, second_coder, reader, client_of
):
    decide_all(lead, interview, second)
    for person in (coder, second_coder):
        decide_all(person, interview, second)
    differing = said(second)[1]
    put(differing, find_code(study, "theme.balance"), coder)
    assert ask(client_of, coder, study) == ("", 0)
    assert ask(client_of, lead, study) == ("", 0)
    assert ask(client_of, reader, study) == ("disagreed", differing.pk)
    Unblinding.objects.create(interview=second, user=lead, where="test", unblinded_at=timezone.now())
    assert ask(client_of, lead, study, said(interview)[0]) == ("disagreed", differing.pk)
    assert ask(client_of, reader, study, differing) == ("", 0)


def test_memo_comes_last_and_only_ones_own(study, interview, coder, second_coder, client_of):
    decide_all(coder, interview)
    for person, sentence in ((coder, said(interview)[4]), (second_coder, said(interview)[2])):
        actions.write_memo(
            study=study, interview=interview, sentence=sentence, text="x", by=person, idempotency_key=uuid4()
        )
    assert ask(client_of, coder, study) == ("memo", said(interview)[4].pk)


def test_script_gets_the_address_and_the_words(study, interview, coder, client_of):
    path = reverse("desk:next", args=[study.slug])
    told = client_of(coder).get(path, headers={"X-Desk": str(coder.pk)}).json()
    assert told["sentence"] == said(interview)[0].pk
    assert told["words"] == "Next: not coded yet."
    assert "Next: not coded yet." in client_of(coder).get(told["url"].partition("#")[0]).content.decode()
    decide_all(coder, interview)
    told = client_of(coder).get(path, headers={"X-Desk": str(coder.pk)}).json()
    assert told == {"words": "No sentence of this study needs you now."}


@pytest.mark.parametrize("at", ["x", "-1", "9" * 40, "999999"])
def test_unknown_place_begins_at_the_beginning(study, interview, coder, client_of, at):
    response = client_of(coder).get(reverse("desk:next", args=[study.slug]), {"at": at})
    assert f"at={said(interview)[0].pk}" in response["Location"]


def test_few_queries_lead_on(study, interview, coder, client_of):
    client, path = client_of(coder), reverse("desk:next", args=[study.slug])
    client.get(path)
    with CaptureQueriesContext(connection) as captured:
        client.get(path)
    assert len(captured) <= 6
