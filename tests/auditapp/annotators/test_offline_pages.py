import pytest
from django.urls import reverse

from auditapp.annotators import tasks
from auditapp.annotators.actions.launching import launch_offline
from auditapp.annotators.models import OfflineRun
from auditapp.annotators.offline import run_offline
from tests.auditapp.annotators.cast import OTHER, TAUGHT, add_interviews_to_teach, code_blind, set_rules
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.studies.actions import create_study, set_member_role, set_method


@pytest.fixture(autouse=True)
def _nobody_hears(monkeypatch):
    monkeypatch.setattr(tasks, "ring_run", lambda run_id: True)


@pytest.fixture
def address(study):
    return reverse("annotators:launch_offline", args=[study.slug])


@pytest.fixture
def coded(study, owner, coder):
    interviews = add_interviews_to_teach(study, owner)
    code_blind(study, coder, interviews)
    return interviews


def show(client, run):
    return client.get(reverse("annotators:run", args=[run.annotator.study.slug, run.pk])).content.decode()


def test_the_page_counts_what_there_is_to_go_by(address, study, lead, coded, client_of):
    set_rules(study, compassion=["weather & fine"])
    page = client_of(lead).get(address).content.decode()
    assert "weather &amp; fine" in page
    assert TAUGHT in page
    assert "Positive examples: 0 of 20 needed." in page
    assert not OfflineRun.objects.exists()


def test_another_number_is_looked_at_without_a_launch(address, study, lead, coded, client_of):
    client = client_of(lead)
    form = client.get(address).context["form"]
    sent = {"kind": "learnt", "minimum": "60", "idempotency_key": form["idempotency_key"].value(), "look": "1"}
    page = client.post(address, sent)
    assert page.status_code == 200
    assert "Positive examples: 40 of 60 needed." in page.content.decode()
    assert not OfflineRun.objects.exists()


def test_a_form_changed_after_its_launch_is_refused_and_what_comes_back_is_another_launch(
    address, study, lead, coded, client_of
):
    set_rules(study, balance=["balance"])
    client = client_of(lead)
    sent = {
        "kind": "learnt",
        "minimum": "20",
        "idempotency_key": client.get(address).context["form"]["idempotency_key"].value(),
    }
    first = client.post(address, sent)
    assert client.post(address, sent)["Location"] == first["Location"]
    changed = sent | {"interviews": [str(coded[0].pk)]}
    answer = client.post(address, changed)
    run = OfflineRun.objects.get()
    assert answer.status_code == 422
    assert f"This form has already launched run {run.pk}, with other settings" in answer.content.decode()
    renewed = answer.context["form"]["idempotency_key"].value()
    assert renewed != sent["idempotency_key"]
    assert f'value="{renewed}"' in answer.content.decode()
    again = client.post(address, changed | {"idempotency_key": renewed})
    assert again["Location"] != first["Location"]
    assert OfflineRun.objects.count() == 2


def test_a_form_that_was_only_looked_at_is_another_launch_than_one_sent_before(address, study, lead, coded, client_of):
    client = client_of(lead)
    sent = {
        "kind": "learnt",
        "minimum": "20",
        "idempotency_key": client.get(address).context["form"]["idempotency_key"].value(),
    }
    client.post(address, sent)
    looked = client.post(address, sent | {"minimum": "30", "look": "1"})
    assert looked.status_code == 200
    assert looked.context["form"]["idempotency_key"].value() != sent["idempotency_key"]
    assert looked.context["form"]["minimum"].value() == "30"


def test_a_launch_leads_to_the_page_of_its_run_which_shows_how_it_did(address, study, owner, lead, coded, client_of):
    set_method(study=study, method="codebook", by=owner)
    client = client_of(lead)
    form = client.get(address).context["form"]
    sent = {"kind": "learnt", "minimum": "20", "idempotency_key": form["idempotency_key"].value()}
    answer = client.post(address, sent)
    run = OfflineRun.objects.get()
    assert answer["Location"] == reverse("annotators:run", args=[study.slug, run.pk])
    planned = show(client, run)
    assert "No worker is running" in planned
    assert "Not learnt yet." in planned
    run_offline(run.pk)
    done = show(client, run)
    assert "5 of 5" in done
    assert "shown once you have unblinded every interview" in done
    assert "Unblind these 5 interviews" in done
    assert "100.0 %" in done
    assert f"{OTHER}" in done
    assert "with too few examples, so nothing is suggested" in done
    # What nobody put on anything is one sentence, however many codes there are.
    assert done.count("Positive examples: 0 of 20 needed.") == 1
    assert "no example at all: " in done
    assert "hx-get" not in done
    told = client.get(reverse("annotators:annotator", args=[study.slug, run.annotator_id])).content.decode()
    assert "100.0 %" in told
    assert f"Run {run.pk}" in told


@pytest.fixture
def learnt(study, owner, coded):
    """A run in a study whose themes are read reflexively."""
    run = launch_offline(study=study, kind="learnt", by=owner)
    run_offline(run.pk)
    return run


def test_how_a_reflexive_family_was_learnt_stays_out_until_there_is_a_reason(learnt, study, lead, client_of):
    client = client_of(lead)
    told = reverse("annotators:annotator", args=[study.slug, learnt.annotator_id])
    asked = reverse("annotators:compute_learnt", args=[study.slug, learnt.annotator_id])
    for page in (show(client, learnt), client.get(told).content.decode()):
        assert "hidden" in page
        assert "100.0 %" not in page
    empty = client.post(asked, {"family": "themes", "reason": " "})
    assert (empty.status_code, "100.0 %" in empty.content.decode()) == (422, False)
    wrong = client.post(asked, {"family": "moves", "reason": "A reviewer asks."})
    assert "No family of this name" in wrong.content.decode()
    assert not AuditEvent.objects.filter(action="annotators.calibration.computed").exists()
    page = client.post(asked, {"family": "themes", "reason": "A reviewer asks."}).content.decode()
    assert "100.0 %" in page
    assert "<q>A reviewer asks.</q>" in page
    kept = AuditEvent.objects.get(action="annotators.calibration.computed")
    assert kept.details == {"family": "themes", "method": "reflexive", "reason": "A reviewer asks."}
    assert "100.0 %" not in client.get(told).content.decode()


def test_who_does_not_set_the_method_is_not_offered_the_figures(learnt, study, client_of):
    reader = User.objects.create_user(username="only-reads", password=None)
    set_member_role(study=study, user=reader, role="reader", by=trail.SYSTEM)
    told = reverse("annotators:annotator", args=[study.slug, learnt.annotator_id])
    page = client_of(reader).get(told).content.decode()
    assert "hidden" in page
    assert "Compute and show once" not in page


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"kind": "rules", "minimum": "20"}, "has a keyword rule"),
        ({"kind": "learnt", "minimum": "20"}, "nothing to learn from"),
        ({"kind": "magic", "minimum": "20"}, "magic is not one"),
        ({"kind": "learnt", "minimum": "1"}, "greater than or equal to 2"),
    ],
)
def test_what_cannot_be_launched_is_said_above_the_same_form(*, address, lead, interview, client_of, sent, says):
    set_rules(interview.study)
    client = client_of(lead)
    key = client.get(address).context["form"]["idempotency_key"].value()
    answer = client.post(address, {**sent, "idempotency_key": key})
    assert answer.status_code == 422
    assert says in answer.content.decode()


def test_a_run_is_cancelled_by_those_who_may(study, lead, owner, coder, client_of):
    add_interviews_to_teach(study, owner, number=1, turns=3)
    set_rules(study, balance=["balance"])
    run = launch_offline(study=study, kind="rules", by=lead)
    address = reverse("annotators:cancel_run", args=[study.slug, run.pk])
    assert client_of(coder).post(address).status_code == 403
    assert client_of(lead).post(address, follow=True).status_code == 200
    run.refresh_from_db()
    assert run.state == "cancelled"
    assert "already ended" in client_of(lead).post(address, follow=True).content.decode()


def test_a_study_without_a_published_codebook_is_told_so(owner, client_of):
    bare = create_study(slug="bare", name="Bare", by=owner)
    address = reverse("annotators:launch_offline", args=[bare.slug])
    assert "Publish one first" in client_of(owner).get(address).content.decode()


def test_the_pages_take_few_queries_however_many_interviews(
    address, study, lead, coded, client_of, django_assert_max_num_queries
):
    client = client_of(lead)
    with django_assert_max_num_queries(40):
        client.get(address)
