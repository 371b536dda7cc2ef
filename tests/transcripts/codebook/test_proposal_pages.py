"""The form for a code that is missing, and the list of answers; what colleagues propose is in no response."""

import json
from uuid import uuid4

import pytest
from django.urls import reverse

from transcripts.codebook import actions, queries
from transcripts.codebook.models import CodeProposal


@pytest.fixture
def where(study):
    return reverse("codebook:propose", args=[study.slug])


def fill_in(**changes):
    return {"name": "Missing", "family": "themes", "definition": "", "idempotency_key": str(uuid4()), **changes}


def test_marked_words_become_the_name(where, coder, client_of, sentence):
    marked = {"sentence": sentence.pk, "from": 8, "to": 17}
    page = client_of(coder).get(where, marked)
    assert page.context["form"]["name"].value() == "ask first"
    assert "I would ask first." in page.content.decode()
    nonsense = [{}, {"from": "x"}, {"from": 10**30, "to": 1}, {"from": 9, "to": 3}]
    for wrong in nonsense:
        page = client_of(coder).get(where, {"sentence": sentence.pk, **wrong})
        assert page.context["form"]["name"].value() == ""


def test_coder_proposes_and_goes_back_to_her_sentence(where, coder, client_of, sentence):
    answer = client_of(coder).post(where, fill_in(sentence=sentence.pk))
    assert answer.status_code == 303
    assert answer.headers["Location"].endswith(f"?at={sentence.pk}#s{sentence.pk}")
    assert CodeProposal.objects.get().sentence == sentence


def test_double_click_proposes_once(where, coder, client_of):
    client, form = client_of(coder), fill_in()
    for _ in range(2):
        assert client.post(where, form).status_code == 302
    assert CodeProposal.objects.count() == 1


def test_like_names_are_asked_about_once(where, coder, client_of):
    client, form = client_of(coder), fill_in(name="Ballance")
    page = client.post(where, form)
    assert page.status_code == 422
    assert "Is it one of these?" in page.content.decode()
    assert [code.name for code in page.context["similar"]][:1] == ["Balance"]
    assert client.post(where, form | {"sure": "on"}).status_code == 302


@pytest.mark.parametrize("changes", [{"name": ""}, {"family": "none"}, {"name": "x" * 201}, {"idempotency_key": "x"}])
def test_wrong_form_is_shown_again(where, coder, client_of, changes):
    page = client_of(coder).post(where, fill_in(**changes))
    assert page.status_code == 422
    assert not CodeProposal.objects.exists()


def test_dialog_of_the_desk_gets_the_form_alone(where, coder, client_of):
    client = client_of(coder)
    opened = client.get(where, headers={"HX-Request": "true"})
    assert opened.content.decode().lstrip().startswith("<form")
    assert "hx-post" in opened.content.decode()
    assert "hx-post" not in client.get(where).content.decode(), "a page tells what came of it by going on"
    wrong = client.post(where, fill_in(name=""), headers={"HX-Request": "true"})
    assert wrong.status_code == 422
    assert "<html" not in wrong.content.decode()
    sent = client.post(where, fill_in(name="Secret words"), headers={"HX-Request": "true"})
    assert sent.status_code == 204
    [said] = json.loads(sent.headers["HX-Trigger"]).values()
    assert said == {"proposal": CodeProposal.objects.get().pk, "state": "open", "version": None, "published": False}
    assert "Secret" not in str(sent.headers)


def test_coder_is_not_offered_to_use_it_at_once(where, coder, client_of):
    client = client_of(coder)
    assert "then" not in client.get(where).context["form"].fields
    client.post(where, fill_in(then="use"))
    assert CodeProposal.objects.get().state == "open"


def test_lead_uses_it_at_once(where, study, lead, client_of):
    client = client_of(lead)
    sent = client.post(where, fill_in(then="use"), headers={"HX-Request": "true"})
    [said] = json.loads(sent.headers["HX-Trigger"]).values()
    assert (said["version"], said["published"]) == (2, True)
    actions.start_draft(study=study, by=lead)
    page = client.post(where, fill_in(name="Further", then="use"))
    assert page.status_code == 422
    assert "v3 is a draft with other changes" in page.content.decode()
    assert client.post(where, fill_in(name="Further", then="draft")).status_code == 302
    assert CodeProposal.objects.filter(state="accepted").count() == 2


def test_pages_of_a_coder_do_not_change_when_a_colleague_proposes(where, study, coder, second_coder, client_of):
    client = client_of(coder)
    paths = [
        reverse("codebook:proposals", args=[study.slug]),
        reverse("codebook:current", args=[study.slug]),
        reverse("codebook:key_card", args=[study.slug, 1]),
    ]

    def look():
        pages = [client.get(path).content.decode() for path in paths]
        # Each page has a token of its own against forged forms.
        return [page for text in pages for page in text.splitlines() if "csrf" not in page.lower()]

    before = look()
    client_of(second_coder).post(where, fill_in(name="Theirs alone"))
    assert CodeProposal.objects.exists()
    assert look() == before
    page = client.post(where, fill_in(name="Theirs alone too"))
    assert page.status_code == 302, "a colleague's proposal is no like name"


def test_everybody_reads_what_is_for_her(where, study, coder, second_coder, lead, reader, client_of):
    client_of(coder).post(where, fill_in(name="Hers"))
    client_of(second_coder).post(where, fill_in(name="His"))
    listed = reverse("codebook:proposals", args=[study.slug])
    assert [row.name for row, *_ in client_of(coder).get(listed).context["rows"]] == ["Hers"]
    for sees_all in (lead, reader):
        assert len(client_of(sees_all).get(listed).context["rows"]) == 2


def test_lead_answers(where, study, coder, lead, client_of):
    client_of(coder).post(where, fill_in())
    proposal = CodeProposal.objects.get()
    client = client_of(lead)
    answer = reverse("codebook:answer_proposal", args=[study.slug, proposal.pk])
    assert client.post(answer, {"verdict": "decline"}).status_code == 422
    assert client.post(answer, {"verdict": "else"}).status_code == 422
    assert client.post(answer, {"verdict": "accept", "answer": "Yes."}).status_code == 302
    listed = client_of(coder).get(reverse("codebook:proposals", args=[study.slug])).content.decode()
    assert "Accepted" in listed
    assert "Yes." in listed
    page = client.post(answer, {"verdict": "decline", "answer": "No."})
    assert page.status_code == 409
    assert "accepted by another person in the meantime" in page.content.decode()


def test_lead_is_not_offered_to_publish_with_it_what_is_half_done(where, study, published, coder, lead, client_of):
    client_of(coder).post(where, fill_in())
    client, listed = client_of(lead), reverse("codebook:proposals", args=[study.slug])
    assert "Use it now" in client.get(listed).content.decode()
    actions.start_draft(study=study, by=lead)
    assert "Use it now" not in client.get(listed).content.decode()
    assert queries.current_version(study) == published
