"""An owner withdraws the purpose: the probe is off again, and what was measured before can be read and says so."""

import io
import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from auditapp.batches.actions import retry_failed
from auditapp.batches.models import Batch, Cell
from auditapp.benchmarks.gender_cues.actions import (
    allow_probe,
    launch_probe,
    load_reviews,
    plan_probe,
    store_rationales,
    withdraw_purpose,
)
from auditapp.benchmarks.gender_cues.models import Purpose, ReviewSet, Trial
from auditapp.benchmarks.gender_cues.pure.reviews import check_rules
from auditapp.benchmarks.gender_cues.queries import read_notes
from tests.auditapp.benchmarks.gender_cues.conftest import answer_cells, write_reviews
from tests.auditapp.benchmarks.gender_cues.making import RULES
from tests.auditapp.benchmarks.gender_cues.test_actions import answer
from transcripts.accounts.actions import create_token
from transcripts.accounts.models import Scope
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

pytestmark = pytest.mark.django_db
REASON = "The board of the study withdrew its consent"


def address(study, name, *more):
    return reverse(f"gender_cues:{name}", args=[study.slug, *more])


def withdraw(study, owner):
    return withdraw_purpose(study=study, number=1, reason=REASON, by=owner)


def test_only_an_owner_withdraws_with_a_reason_and_what_she_has_read(purpose, study, owner, lead):
    with pytest.raises(Refused, match="Only an owner"):
        withdraw_purpose(study=study, number=1, reason=REASON, by=lead)
    with pytest.raises(Refused, match="why the purpose is withdrawn"):
        withdraw_purpose(study=study, number=1, reason=" \n", by=owner)
    allow_probe(study=study, text="Another purpose.", by=owner)
    with pytest.raises(Refused, match="number 2, after you opened this page"):
        withdraw_purpose(study=study, number=1, reason=REASON, by=owner)
    assert not Purpose.objects.filter(withdrawn_at__isnull=False).exists()
    withdraw_purpose(study=study, number=2, reason=REASON, by=owner)
    event = AuditEvent.objects.get(action="gender_cues.withdrawn")
    assert (event.details["number"], event.details["reason"], event.details["cancelled"]) == (2, REASON, [])
    with pytest.raises(Refused, match="was withdrawn on"):
        withdraw_purpose(study=study, number=2, reason=REASON, by=owner)


def test_nothing_is_loaded_launched_or_stored_afterwards(probe, reviews, variant, rationale_study, study, owner):
    answer_cells(probe, answer)
    withdraw(study, owner)
    asked = {"reviews": reviews, "variants": [variant], "texts": {"control": 30}}
    for act in (
        lambda: plan_probe(**asked),
        lambda: launch_probe(**asked, by=owner),
        lambda: store_rationales(batch=probe, into=rationale_study, by=owner, seed=1),
        lambda: load_reviews(
            study=study,
            name="More",
            file=io.BytesIO(write_reviews()),
            rules=check_rules(RULES),
            category_method="invented",
            source="invented",
            seed=1,
            by=owner,
        ),
    ):
        with pytest.raises(Refused, match=f"by owner: {REASON}. The probe is off"):
            act()
    assert ReviewSet.objects.count() == Batch.objects.count() == 1


def test_open_batches_are_cancelled_and_failed_cells_are_not_asked_again(probe, study, owner):
    withdraw(study, owner)
    probe.refresh_from_db()
    assert probe.state == Batch.State.CANCELLED
    assert AuditEvent.objects.get(action="gender_cues.withdrawn").details["cancelled"] == [probe.pk]
    # One that had ended before could be asked again but for its purpose.
    Batch.objects.filter(pk=probe.pk).update(state=Batch.State.DONE)
    Cell.objects.filter(batch=probe).update(state=Cell.State.FAILED)
    probe.refresh_from_db()
    with pytest.raises(Refused, match="was withdrawn on"):
        retry_failed(batch=probe, by=owner)
    allow_probe(study=study, text="It goes on.", by=owner)
    assert retry_failed(batch=probe, by=owner) == Cell.objects.filter(batch=probe).count()


def test_figures_of_before_are_read_and_say_that_the_purpose_was_withdrawn(
    probe, reviews, study, owner, lead, client_of
):
    answer_cells(probe, answer)
    withdraw(study, owner)
    client = client_of(lead)
    for name, more in (("home", ()), ("reviews", (reviews.pk,)), ("report", (probe.pk,))):
        page = client.get(address(study, name, *more))
        assert page.status_code == 200
        assert f"by owner: {REASON}" in page.text
        assert address(study, "launch") not in page.text.split("<main")[1]
    for name, more in (("load", ()), ("launch", ()), ("rationales", (probe.pk,))):
        refused = client.get(address(study, name, *more))
        assert refused.status_code == 403
        assert REASON in refused.text
    table = client.post(address(study, "file", probe.pk, "table1", "tex"))
    assert REASON in table.content.decode()
    out = StringIO()
    call_command("probe", "report", "--batch", str(probe.pk), stdout=out)
    assert REASON in out.getvalue()
    assert REASON in read_notes(study)["withdrawal"]
    rows = client.post(reverse("exchange:download", args=[study.slug, "probe_funnels", "json"]))
    assert len(json.loads(rows.getvalue())) == 2
    _, secret = create_token(user=lead, name="test", by=lead, scopes=[Scope.READ])
    told = Client(headers={"Authorization": f"Bearer {secret}"}).get(
        f"/api/v1/studies/{study.slug}/batches/{probe.pk}/probe-report/"
    )
    assert told.status_code == 200
    assert any(REASON in sentence for sentence in told.json()["caveats"])
    assert Trial.objects.exists()


def test_the_form_withdraws_and_another_purpose_turns_the_probe_on_again(purpose, study, owner, lead, client_of):
    client = client_of(owner)
    path = address(study, "withdraw")
    assert path in client.get(address(study, "home")).text
    assert path not in client_of(lead).get(address(study, "home")).text
    assert "To see whether the probe works." in client.get(path).text
    empty = client.post(path, {"number": 1, "reason": ""})
    assert empty.status_code == 422
    assert "Say in a few words why the purpose is withdrawn." in empty.text
    assert client.post(path, {"number": 7, "reason": "x"}).status_code == 422
    assert client.post(path, {"number": 1, "reason": REASON}).status_code == 302
    assert client.get(path).status_code == 403
    assert client.get(address(study, "load")).status_code == 403
    # The same words may be written again: they are another number.
    again = {"text": "To see whether the probe works.", "based_on": 1}
    assert client.post(address(study, "purpose"), again).status_code == 302
    assert client.get(address(study, "load")).status_code == 200
    assert REASON not in client.get(address(study, "home")).text
    assert list(Purpose.objects.order_by("number").values_list("number", "withdrawal_reason")) == [(1, REASON), (2, "")]


def test_no_row_is_withdrawn_without_a_reason(purpose):
    with pytest.raises(IntegrityError), transaction.atomic():
        Purpose.objects.update(withdrawn_at=timezone.now())
