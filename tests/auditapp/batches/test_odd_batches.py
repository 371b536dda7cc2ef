"""Pages of batches where something is unusual: no price, an ended batch, a setting that is refused, odd addresses."""

from decimal import Decimal

import pytest
from django.urls import reverse

from auditapp.batches import actions
from auditapp.batches.models import Attempt, Batch, ProviderJob
from auditapp.batches.pages import progress
from auditapp.batches.pages.costs import SPEND, read_spend
from auditapp.llm.models import ModelVariant
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep
from tests.auditapp.batches.test_pages import HTMX, Watcher, address, read
from tests.auditapp.batches.trial_kinds import LOST, answer, claim, finish, launch, make_variant
from transcripts.audit_trail import trail
from transcripts.formats.report_tables import write_report_table


@pytest.fixture(autouse=True)
def _nothing_is_remembered(numbers):
    progress._watched.clear()


def test_a_try_whose_setting_was_refused_still_opens(study, lead, client_of):
    """A launch refuses such a setting by now; batches from before keep their tries."""
    batch = launch(study, make_variant("odd"))
    calls = claim(batch, 1)
    ModelVariant.objects.filter(label="odd").update(reasoning="8000")
    finish(batch, calls, ChatAnswer(CallOutcome.UNSENT, NextStep.STOP_BATCH, error="no"))
    attempt = Attempt.objects.get(pk=calls[0].leased.attempt_id)
    Attempt.objects.filter(pk=attempt.pk).update(prompt="Number 1")
    assert "has no reasoning token budget" in read(client_of(lead), address("attempt", batch, attempt.pk))


@pytest.mark.parametrize(
    ("error_class", "status", "words"),
    [
        (ErrorClass.BAD_REQUEST, None, "cannot be asked with its settings"),
        (ErrorClass.REDIRECT, 302, "redirect (status 302)"),
        (ErrorClass.CONNECTION, None, "certificate"),
        (ErrorClass.ADDRESS_REFUSED, None, "list of allowed addresses"),
        (ErrorClass.ACCOUNT, 401, "refused the account (status 401)"),
    ],
)
def test_a_pause_says_what_was_refused_and_by_whom(error_class, status, words, study):
    batch = launch(study)
    end = CallOutcome.REFUSED if status else CallOutcome.UNSENT
    finish(batch, claim(batch, 1), ChatAnswer(end, NextStep.STOP_BATCH, http_status=status, error_class=error_class))
    assert batch.state == Batch.State.PAUSED
    assert words in batch.state_reason
    assert ("refused the account" in batch.state_reason) is (error_class is ErrorClass.ACCOUNT)


def test_a_page_of_tries_that_begins_nowhere_begins_at_the_newest(study, lead, client_of):
    batch = launch(study)
    answer(batch, 1)
    assert "1 attempt" in read(client_of(lead), address("attempts", batch), before="9" * 5000)


def test_a_round_cap_stands_in_its_field_as_people_write_it(study, lead, client_of):
    batch = launch(study, cap_usd=Decimal(100))
    assert 'value="100"' in read(client_of(lead), address("detail", batch))


@pytest.mark.parametrize(("name", "field"), [("cap", "cap-cap"), ("confirm", "confirm-cap")])
def test_a_refusal_is_told_also_where_the_form_is_gone(name, field, study, lead, client_of):
    batch = launch(study, inputs=1)
    answer(batch, 1)
    assert batch.state == Batch.State.DONE
    refused = client_of(lead).post(address(name, batch), {field: "5"})
    assert refused.status_code == 422
    assert "form-errors" in refused.content.decode()


class TestCancelled:
    def test_it_is_watched_until_the_last_call_has_ended(self, study, lead, client_of):
        batch = launch(study)
        calls = claim(batch, 1)
        actions.cancel_batch(batch=batch, by=trail.SYSTEM, cut_off=False)
        client = client_of(lead)
        page = read(client, address("detail", batch))
        assert "hx-trigger" in page
        assert 'value="abort"' in page
        watcher = Watcher(client, batch)
        finish(batch, calls, LOST)
        _, parts = watcher.ask()
        assert 'id="live-controls" hx-swap-oob' in parts
        assert 'value="abort"' not in parts
        assert '<div id="poll" hx-swap-oob="true"' in parts
        assert "hx-trigger" not in read(client, address("detail", batch))


def test_another_number_of_calls_in_flight_is_told_while_one_looks(study, coder, client_of):
    batch = launch(study)
    client = client_of(coder)
    tag = client.get(address("detail", batch))["ETag"]
    actions.change_concurrency(batch=batch, concurrency=77, by=trail.SYSTEM)
    progress._watched.clear()
    parts = client.get(address("detail", batch), headers={**HTMX, "if-none-match": tag}).content.decode()
    assert "Maximum: 77." in parts


class TestPrices:
    def test_one_is_never_rounded(self, study, lead, client_of):
        variant = make_variant("exact", price_in=Decimal("0.125"), price_out=Decimal("0.625"))
        batch = launch(study, variant)
        (call,) = answer(batch, 1)
        client = client_of(lead)
        for path in (
            address("detail", batch),
            address("spend", batch),
            address("attempt", batch, call.leased.attempt_id),
        ):
            assert "$0.125" in read(client, path)

    def test_what_is_not_known_is_never_nothing(self, study, lead, client_of):
        batch = launch(study, make_variant("unpriced", price=None))
        calls = claim(batch, 1)
        finish(batch, calls, LOST)
        client = client_of(lead)
        listed = read(client, reverse("batches:list", args=[study.slug]))
        for page in (
            listed,
            read(client, address("spend", batch)),
            read(client, address("detail", batch)),
            read(client, address("attempt", batch, calls[0].leased.attempt_id)),
        ):
            assert "$0" not in page
            assert "not known" in page or "unknown" in page
        assert write_report_table(SPEND, read_spend(batch), "csv").decode().splitlines()[1].endswith(",1,")


def test_what_a_provider_says_of_a_job_is_masked_and_not_for_coders(study, lead, coder, client_of):
    batch = launch(study)
    Batch.objects.filter(pk=batch.pk).update(route=Batch.Route.JOBS)
    ProviderJob.objects.create(
        queue=batch.queues.get(),
        token="01234567-89ab-cdef-0123-456789abcdef",
        calls=1,
        error="line 1: a slur",
        written_at=batch.created_at,
    )
    assert '<details class="masked"><summary>message; may quote an offensive text</summary><p>line 1: a slur' in read(
        client_of(lead), address("detail", batch)
    )
    assert "a slur" not in read(client_of(coder), address("detail", batch))
