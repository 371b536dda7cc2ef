"""The one address that unblinds interviews."""

from uuid import uuid4

import pytest
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.urls import reverse

from tests.transcripts.coding.cast import count_events, find_code, last_event, put
from tests.transcripts.rounds.cast import bring_in, open_round
from transcripts.analysis.notebook.actions import write_memo
from transcripts.analysis.notebook.queries import Place
from transcripts.blinding.viewers import Viewer, get_viewer
from transcripts.blinding.views import UnblindingForm, offer_unblinding
from transcripts.codebook.actions import seed_codebook
from transcripts.coding.models import Coding, Memo, Unblinding
from transcripts.corpus.models import Sentence
from transcripts.rounds.actions import lock_round
from transcripts.studies.actions import create_study
from transcripts.studies.roles import CODER, LEAD, OWNER, READER


@pytest.fixture
def talks(study, owner):
    return bring_in(study, owner, ["Model A", "Model B"])


@pytest.fixture
def path(study):
    return reverse("blinding:unblind", args=[study.slug])


def offer(user, talks, role=LEAD, back="/studies/study/"):
    """What the notice on a page sends when the box is ticked."""
    viewer = Viewer(talks[0].study, user, role)
    form = UnblindingForm.offer(viewer, [talk.pk for talk in talks], where="search", back=back)
    assert form is not None
    return {"token": form.initial["token"], "confirmed": "on"}


def test_nothing_is_asked_for_where_nothing_can_be_coded_any_more(study, talks, owner, lead, client_of, path):
    round_ = open_round(study, owner, lead)
    open_ones = offer(lead, talks)
    del open_ones["confirmed"]
    refused = client_of(lead).post(path, open_ones)
    assert refused.status_code == 422
    assert "You can still code these interviews yourself" in refused.content.decode()
    lock_round(round_=round_, by=owner)
    form = UnblindingForm.offer(
        Viewer(study, lead, LEAD), [talk.pk for talk in talks], where="search", back="/studies/x/"
    )
    assert form is not None
    shown = render_to_string("blinding/_form.html", {"unblinding": form, "study": study})
    assert "These interviews are closed to you" in shown
    assert "can still code" not in shown
    assert "confirmed" not in shown
    assert client_of(lead).post(path, {"token": form.initial["token"]}).status_code == 302
    assert Unblinding.objects.count() == 2


def test_what_the_page_named_is_unblinded_once_and_leads_back(study, talks, lead, client_of, path):
    sent = offer(lead, talks[:1], back="/studies/study/search/?words=fair")
    answer = client_of(lead).post(path, sent)
    assert (answer.status_code, answer["Location"]) == (302, "/studies/study/search/?words=fair")
    unblinding = Unblinding.objects.get()
    assert (unblinding.user, unblinding.interview, unblinding.where) == (lead, talks[0], "search")
    assert last_event(study).action == "coding.opened"
    events = count_events(study)
    assert client_of(lead).post(path, sent).status_code == 302
    assert count_events(study) == events


def test_without_the_tick_nothing_happens_and_the_same_form_comes_back(talks, lead, client_of, path):
    sent = offer(lead, talks)
    answer = client_of(lead).post(path, {"token": sent["token"]})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert f'value="{sent["token"]}"' in page
    assert "Unblind these 2 interviews" in page
    assert not Unblinding.objects.exists()
    assert client_of(lead).post(path, sent).status_code == 302
    assert Unblinding.objects.count() == 2


@pytest.mark.parametrize("damage", ["", "x", "half", "foreign signature"])
def test_token_that_was_not_made_here_unblinds_nothing(talks, lead, client_of, path, damage):
    token = offer(lead, talks)["token"]
    data, _, signature = token.rpartition(":")
    broken = {"half": token[: len(token) // 2], "foreign signature": f"{data}:{signature[::-1]}"}.get(damage, damage)
    answer = client_of(lead).post(path, {"token": broken, "confirmed": "on"})
    assert answer.status_code == 422
    assert "out of date" in answer.content.decode()
    assert not Unblinding.objects.exists()


def test_token_of_another_person_or_study_unblinds_nothing(study, talks, owner, lead, client_of, path):
    from transcripts.codebook.actions import start_study

    other = start_study(slug="other", name="Other", by=owner)
    assert client_of(lead).post(path, offer(owner, talks)).status_code == 422
    elsewhere = reverse("blinding:unblind", args=[other.slug])
    assert client_of(owner).post(elsewhere, offer(owner, talks)).status_code == 422
    assert not Unblinding.objects.exists()


def test_coder_is_told_why_not_until_the_round_is_locked(study, talks, lead, coder, client_of, path):
    round_ = open_round(study, lead, coder, models=["Model A"])
    sent = offer(coder, talks[:1], CODER)
    answer = client_of(coder).post(path, sent)
    assert answer.status_code == 409
    assert "once every round" in answer.content.decode()
    assert not Unblinding.objects.exists()
    lock_round(round_=round_, by=lead)
    assert client_of(coder).post(path, sent).status_code == 302


def test_reader_has_nothing_to_unblind(talks, reader, client_of, path):
    viewer = Viewer(talks[0].study, reader, READER)
    assert UnblindingForm.offer(viewer, [talk.pk for talk in talks], where="x", back="/") is None
    assert client_of(reader).post(path).status_code == 403


def test_offer_names_only_what_is_still_blinded_and_is_the_same_every_time(talks, lead, client_of, path):
    assert offer(lead, talks) == offer(lead, talks)
    client_of(lead).post(path, offer(lead, talks[:1]))
    viewer = Viewer(talks[0].study, lead, LEAD)
    form = UnblindingForm.offer(viewer, [talk.pk for talk in talks], where="x", back="/")
    assert form is not None
    assert form.interview_ids == [talks[1].pk]


def test_a_request_has_one_viewer_with_one_query(study, lead, django_assert_num_queries):
    request = RequestFactory().get("/")
    request.study, request.user, request.role = study, lead, LEAD
    with django_assert_num_queries(1):
        assert get_viewer(request).blinded([1, 2]) == {1, 2}
        assert get_viewer(request).visible_interviews == frozenset()


def test_a_coder_is_offered_unblinding_only_where_a_page_shows_coders_others_labels(study, talks, coder, lead):
    request = RequestFactory().get("/")
    request.study, request.user, request.role = study, coder, CODER
    hidden = [talk.pk for talk in talks]
    assert offer_unblinding(request, hidden, where="x") is None
    assert offer_unblinding(request, hidden, where="differences", to_coders=True) is not None


def test_labels_of_another_study_are_visible_to_nobody_here(study, talks, owner, coder, lead, reader):
    elsewhere = create_study(slug="elsewhere", name="Elsewhere", by=owner)
    seed_codebook(study=elsewhere, by=owner)
    [foreign] = bring_in(elsewhere, owner, ["Model A"])
    for interview in (talks[0], foreign):
        sentence = Sentence.objects.filter(turn__interview=interview, turn__role="model")[0]
        put(sentence, find_code(interview.study, "theme.balance"), owner)
        place = Place(Memo.Subject.STUDY)
        write_memo(study=interview.study, place=place, text="x", kind="reading", by=owner, idempotency_key=uuid4())
    for user, role, count in ((reader, READER, 1), (owner, OWNER, 1), (coder, CODER, 0)):
        viewer = Viewer(study, user, role)
        assert Coding.objects.visible_to(viewer).count() == count
        assert Memo.objects.visible_to(viewer).count() == count
