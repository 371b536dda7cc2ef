import pytest

from auditapp.webhooks.models import Webhook
from transcripts.accounts.models import Scope

pytestmark = pytest.mark.django_db
NEW = {"address": "https://example.org/hook", "events": ["round.completed", "batch.ended"]}


def test_a_webhook_is_added_and_listed_without_its_secret(study, lead, program_of):
    program, path = program_of(lead), f"studies/{study.slug}/webhooks/"
    answer = program.post(path, NEW)
    assert answer.status == 201
    assert answer.body["secret"].startswith("whsec_")
    assert answer.body["events"] == ["batch.ended", "round.completed"]
    found = program.get(path).body
    assert [row["address"] for row in found["results"]] == [NEW["address"]]
    assert found["results"][0]["added_by"] == "lead"
    assert answer.body["secret"] not in str(found)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"address": "https://127.0.0.1/"}, "address"),
        ({"address": "http://example.org/"}, "address"),
        ({"events": []}, "events"),
        ({"events": ["no.event"]}, "events"),
        ({"events": "batch.ended"}, "events"),
    ],
)
def test_a_wrong_webhook_is_422_and_names_its_field(study, lead, program_of, change, field):
    answer = program_of(lead).post(f"studies/{study.slug}/webhooks/", {**NEW, **change})
    assert answer.status == 422
    assert set(answer.error["fields"]) == {field}
    assert not Webhook.objects.exists()


def test_addresses_are_not_for_a_token_that_only_reads(study, lead, program_of):
    answer = program_of(lead, scopes=[Scope.READ]).get(f"studies/{study.slug}/webhooks/")
    assert (answer.status, answer.error["code"]) == (403, "scope_missing")
