"""The pages of batches: what they show, to whom, and that asking again costs little."""

import dataclasses
import datetime
import re
from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from auditapp.batches import actions
from auditapp.batches.ledger import batch_state
from auditapp.batches.models import Attempt, Batch, Cell, LimitChange, Result, WorkerSign, WorkQueue
from auditapp.batches.pages import progress
from auditapp.batches.pages.costs import estimate_batch
from auditapp.batches.pages.live import PER_PAGE
from auditapp.batches.pure.estimates import NANO
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep
from tests.auditapp.batches.trial_kinds import GIVEN_UP, LOST, answer, claim, finish, launch, make_variant
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent

pytestmark = pytest.mark.usefixtures("without_grants")

HTMX = {"hx-request": "true"}


@pytest.fixture(autouse=True)
def _nothing_is_remembered(numbers):
    """Progress is read anew at every look."""
    progress._watched.clear()


def address(name, batch, *more):
    return reverse(f"batches:{name}", args=[batch.study.slug, batch.pk, *more])


def read(client, path, **query):
    got = client.get(path, query)
    assert got.status_code == 200
    return " ".join(got.content.decode().split())


class Watcher:
    """A browser on the live page: it knows the tag of what it has seen."""

    def __init__(self, client, batch):
        self.client, self.path = client, address("detail", batch)
        self.tag = client.get(self.path)["ETag"]

    def ask(self):
        progress._watched.clear()
        got = self.client.get(self.path, headers={**HTMX, "if-none-match": self.tag})
        self.tag = got["ETag"]
        return got.status_code, got.content.decode()


class TestLive:
    def test_it_brings_nothing_when_nothing_changed(self, study, lead, client_of):
        batch = launch(study)
        actions.pause_batch(batch=batch, by=trail.SYSTEM)
        assert Watcher(client_of(lead), batch).ask() == (304, "")

    def test_it_brings_the_changed_parts_alone(self, study, lead, client_of):
        batch = launch(study)
        watcher = Watcher(client_of(lead), batch)
        answer(batch, 1)
        status, parts = watcher.ask()
        assert status == 200
        brought = set(re.findall(r'id="live-(\w+)" hx-swap-oob', parts))
        assert {"progress", "outcomes", "money"} <= brought
        assert brought.isdisjoint({"controls", "state", "jobs"})
        assert "<form" not in parts

    def test_the_controls_come_again_when_the_state_changed(self, study, lead, client_of):
        batch = launch(study)
        watcher = Watcher(client_of(lead), batch)
        actions.pause_batch(batch=batch, by=trail.SYSTEM)
        _, parts = watcher.ask()
        assert 'id="live-controls" hx-swap-oob' in parts
        assert 'value="resume"' in parts

    def test_asking_ends_with_the_batch(self, study, lead, client_of):
        batch = launch(study, inputs=1)
        client = client_of(lead)
        watcher = Watcher(client, batch)
        assert "hx-trigger" in read(client, watcher.path)
        answer(batch, 1)
        _, parts = watcher.ask()
        assert re.search(r'<div id="poll" hx-swap-oob="true"[^>]*></div>', parts)
        assert "hx-get" not in parts
        assert "hx-trigger" not in read(client, watcher.path)

    @pytest.mark.parametrize("cut_off", [False, True])
    def test_an_ended_batch_is_watched_until_its_last_call_is_stored(self, study, lead, client_of, cut_off):
        batch = launch(study)
        calls = claim(batch, 1)
        actions.cancel_batch(batch=batch, by=trail.SYSTEM, cut_off=cut_off)
        client = client_of(lead)
        watcher = Watcher(client, batch)
        assert "hx-trigger" in read(client, watcher.path)
        finish(batch, calls, LOST)
        _, parts = watcher.ask()
        assert "May have been paid twice: 1 call," in parts
        assert re.search(r'<div id="poll" hx-swap-oob="true"[^>]*></div>', parts)

    def test_a_cancelled_cell_has_no_outcome_and_does_not_fill_the_bar(self, study, coder, client_of):
        batch = launch(study, inputs=4)
        answer(batch, 1)
        actions.cancel_batch(batch=batch, by=trail.SYSTEM)
        client = client_of(coder)
        page = read(client, address("detail", batch))
        assert "of 4 answered or failed, 3 cancelled" in page
        assert "25.0 %" in page
        assert "said 1 (100.0 %)" in page
        assert "Percentages of 1 cell answered or failed (3 cancelled, without an outcome)" in page
        assert "3 cancelled" in read(client, reverse("batches:list", args=[study.slug]))

    def test_without_a_worker_no_time_is_known_and_the_batch_waits(self, study, coder, client_of):
        batch, client = launch(study), client_of(coder)
        answer(batch, 1)
        page = read(client, address("detail", batch))
        assert "unknown: no worker is running" in page
        assert "Waiting: no worker is running" in page
        WorkerSign.objects.create(name="here:1", seen_at=timezone.now())
        assert "no worker is running" not in read(client, address("detail", batch))

    def test_a_worker_of_former_times_is_not_listed(self, study, coder, client_of):
        batch, client = launch(study), client_of(coder)
        for name, ago in (("now", 1), ("lately", 300), ("formerly", 700)):
            WorkerSign.objects.create(name=name, seen_at=timezone.now() - datetime.timedelta(seconds=ago))
        page = read(client, address("detail", batch))
        assert "<code>lately</code>" in page
        assert "<code>formerly</code>" not in page

    def test_a_tag_of_another_version_of_the_page_gets_the_parts(self, study, lead, client_of):
        watcher = Watcher(client_of(lead), launch(study))
        watcher.tag = '"old"'
        status, parts = watcher.ask()
        assert status == 200
        assert "live-progress" in parts
        assert "<form" not in parts

    def test_an_empty_answer_that_used_up_the_limit_is_counted_and_told_as_such(self, study, lead, client_of):
        batch = launch(study, make_variant("a"), inputs=3)
        thought = ChatAnswer(
            CallOutcome.ANSWERED, raw="{}", finish_reason="length", tokens_in=9, tokens_out=1024, tokens_reasoning=1024
        )
        calls = claim(batch, 3)
        finish(batch, calls[:1], thought)
        finish(batch, calls[1:2], dataclasses.replace(thought, finish_reason="stop"))
        finish(batch, calls[2:], dataclasses.replace(thought, content="{"))
        assert list(Cell.objects.order_by("pk").values_list("outcome", flat=True)) == ["no_room", "said", "said"]
        client = client_of(lead)
        page = read(client, address("detail", batch))
        assert "empty: output limit used up 1 (33.3 %)" in page
        assert "the model spent it on thinking" in page
        first, *others = Attempt.objects.order_by("pk")
        page = read(client, address("attempt", batch, first.pk))
        assert "No room for the answer." in page
        assert "1,024 tokens, 1,024 of them for thinking" in page
        for other in others:
            assert "No room for the answer." not in read(client, address("attempt", batch, other.pk))

    def test_a_server_that_does_not_answer_is_told_with_its_next_try_and_what_happens_then(
        self, study, lead, client_of
    ):
        WorkerSign.objects.create(name="here:1", seen_at=timezone.now())
        batch = launch(study, make_variant("a"), inputs=4)
        since = timezone.now() - datetime.timedelta(minutes=2)
        WorkQueue.objects.update(silent_since=since, slow_until=timezone.now() + datetime.timedelta(seconds=50))
        page = client_of(lead).get(address("detail", batch)).content.decode()
        assert "Waiting for the server since" in page
        assert "next try at" in page
        assert 'value="resume"' not in page
        assert batch_state.pause_for_outage(WorkQueue.objects.get())
        page = client_of(lead).get(address("detail", batch)).content.decode()
        assert "The batch resumes by itself when it does." in page
        assert 'value="resume"' in page
        assert "Stay paused" in page
        actions.pause_batch(batch=batch, by=lead)
        page = client_of(lead).get(address("detail", batch)).content.decode()
        assert "resumes by itself" not in page
        assert "Stay paused" not in page

    def test_the_number_of_queries_is_the_same_whatever_the_size(
        self, study, lead, client_of, django_assert_max_num_queries
    ):
        batch = launch(study, make_variant("a"), make_variant("b"), inputs=40)
        finish(batch, claim(batch, 10), LOST)
        answer(batch, 30)
        for queue in WorkQueue.objects.filter(batch=batch):
            LimitChange.objects.bulk_create(
                LimitChange(queue=queue, at=timezone.now(), limit=number, in_flight=number, cause="growth")
                for number in range(1, 60)
            )
        client = client_of(lead)
        client.get(address("detail", batch))
        progress._watched.clear()
        with django_assert_max_num_queries(18):
            client.get(address("detail", batch))
        watcher = Watcher(client, batch)
        with django_assert_max_num_queries(18):
            watcher.ask()

    def test_it_says_since_when_no_worker_was_heard(self, study, coder, client_of):
        batch = launch(study)
        client = client_of(coder)
        assert "No worker is running." in read(client, address("detail", batch))
        WorkerSign.objects.create(name="here:1", seen_at=timezone.now())
        assert "No worker" not in read(client, address("detail", batch))
        seen = timezone.now() - datetime.timedelta(seconds=25)
        WorkerSign.objects.update(seen_at=seen)
        assert re.search(r"No worker has reported since <time [^>]*>", read(client, address("detail", batch)))

    def test_it_always_says_what_may_have_been_paid_twice(self, study, coder, client_of):
        batch = launch(study)
        client = client_of(coder)
        assert "May have been paid twice: 0 calls, at most $0." in read(client, address("detail", batch))
        finish(batch, claim(batch, 2), LOST)
        progress._watched.clear()
        assert re.search(
            r"May have been paid twice: 2 calls, at most \$0\.\d+\.", read(client, address("detail", batch))
        )

    def test_outcomes_stand_with_their_denominators_whole_and_by_arm(self, study, coder, client_of):
        batch = launch(study, make_variant("a"), make_variant("b"), inputs=2)
        answer(batch, 3)
        page = read(client_of(coder), address("detail", batch))
        assert "said 3 (100.0 %)" in page
        assert "Percentages of 3 cells answered or failed" in page
        assert re.search(r'1<span class="under">of 2</span>', page)

    def test_the_engines_own_outcomes_stand_in_words(self, study, coder, client_of):
        batch = launch(study, inputs=4)
        outcomes = ("no_input", "not_written", "not_storable", "off_format")
        for cell, outcome in zip(batch.cells.order_by("pk"), outcomes, strict=True):
            Cell.objects.filter(pk=cell.pk).update(state="failed", outcome=outcome)
        page = read(client_of(coder), address("detail", batch))
        words = (
            "the text may not be sent",
            "its message could not be written",
            "answer could not be stored",
            "off format",
        )
        for said in words:
            assert said in page
        assert "no input" not in page

    def test_the_limiter_is_drawn_and_told_in_a_table(self, study, coder, client_of):
        batch = launch(study)
        queue = WorkQueue.objects.get(batch=batch)
        for limit, cause in ((20, "start"), (40, "growth"), (32, "rate_limited")):
            LimitChange.objects.create(queue=queue, at=timezone.now(), limit=limit, in_flight=limit, cause=cause)
        page = read(client_of(coder), address("detail", batch))
        assert "20 at first, 40 at most, 32 now; lowered once by a rate limit." in page
        assert "the provider asked for fewer" in page
        assert page.count('class="mark rate_limited"') == 1

    def test_invented_answers_are_marked_on_every_page(self, study, lead, client_of):
        batch = launch(study, make_variant("f", provider="fake", base_url="", price=None))
        attempt = answer(batch, 1)[0].leased.attempt_id
        client = client_of(lead)
        paths = [address(name, batch) for name in ("detail", "attempts", "spend")]
        for path in (*paths, address("attempt", batch, attempt), reverse("batches:list", args=[study.slug])):
            assert "Fake provider." in read(client, path), path


class TestControls:
    def test_only_those_who_run_batches_see_any(self, study, lead, coder, reader, client_of):
        batch = launch(study)
        assert 'value="pause"' in read(client_of(lead), address("detail", batch))
        for person in (coder, reader):
            page = read(client_of(person), address("detail", batch))
            main = page[page.index('<main id="main"') :]
            assert "<form" not in main
            assert "<button" not in main

    def test_a_batch_is_paused_resumed_and_drained(self, study, lead, client_of):
        batch, client = launch(study), client_of(lead)
        claim(batch, 1)
        for act, state, control in (
            ("pause", "paused", "pause"),
            ("resume", "running", "run"),
            ("drain", "running", "drain"),
        ):
            client.post(address("control", batch), {"act": act})
            batch.refresh_from_db()
            assert (batch.state, batch.control) == (state, control)

    @pytest.mark.parametrize("how", ["cancel", "abort"])
    def test_to_end_a_batch_a_page_asks_first(self, study, lead, client_of, how):
        batch, client = launch(study), client_of(lead)
        asked = client.post(address("control", batch), {"act": how}, follow=True)
        assert f'name="how" value="{how}"' in asked.content.decode()
        batch.refresh_from_db()
        assert batch.state == "running"
        client.post(address("end", batch), {"how": how})
        batch.refresh_from_db()
        assert (batch.state, batch.control) == ("cancelled", how)

    def test_calls_in_flight_and_cap_are_changed_and_nonsense_is_shown_again(self, study, lead, client_of):
        batch, client = launch(study), client_of(lead)
        client.post(address("concurrency", batch), {"in-flight-concurrency": "77"})
        client.post(address("cap", batch), {"cap-cap": "2.50"})
        batch.refresh_from_db()
        assert (batch.concurrency, batch.cap_nano) == (77, 2_500_000_000)
        wrong = client.post(address("concurrency", batch), {"in-flight-concurrency": "5000"})
        assert wrong.status_code == 422
        assert 'value="5000"' in wrong.content.decode()
        wrong = client.post(address("cap", batch), {"cap-cap": "5000000"})
        assert wrong.status_code == 422
        assert "at most a million dollars" in wrong.content.decode()

    def test_a_pilot_is_confirmed_with_another_cap(self, study, lead, client_of):
        batch, client = launch(study, inputs=5, pilot=2, cap_usd=Decimal(1)), client_of(lead)
        answer(batch, 2)
        batch.refresh_from_db()
        assert batch.state == "waiting"
        page = read(client, address("detail", batch))
        assert "Estimate after the pilot" in page
        assert "Based on 2 calls" in page
        client.post(address("confirm", batch), {"confirm-cap": "3"})
        batch.refresh_from_db()
        assert (batch.state, batch.cap_nano) == ("running", 3_000_000_000)

    def test_a_cap_below_the_estimate_is_said_after_the_pilot_and_sent_again_is_meant(
        self, study, lead, client_of, capsys
    ):
        batch, client = launch(study, inputs=50, pilot=2, cap_usd=Decimal(1)), client_of(lead)
        answer(batch, 2)
        high = estimate_batch(batch)["high"]
        cap = Decimal(int(high * 0.7)) / NANO
        assert "below the estimate" not in read(client, address("detail", batch))

        wrong = client.post(address("confirm", batch), {"confirm-cap": f"{cap:f}"})
        assert wrong.status_code == 422
        assert "is below the estimate of" in wrong.content.decode()
        batch.refresh_from_db()
        assert batch.state == "waiting"
        Batch.objects.filter(pk=batch.pk).update(cap_nano=int(cap * NANO))
        page = read(client, address("detail", batch))
        assert "is below the estimate of" in page
        call_command("batch", "show", str(batch.pk))
        assert "is below the estimate of" in capsys.readouterr().err

        warned = re.search('name="confirm-warned" value="([^"]+)"', wrong.content.decode())
        assert warned
        client.post(address("confirm", batch), {"confirm-cap": f"{cap:f}", "confirm-warned": warned[1]})
        batch.refresh_from_db()
        assert batch.state == "running"

    def test_a_pilot_without_an_answer_says_so_and_why(self, study, lead, client_of):
        batch = launch(study, inputs=5, pilot=2)
        given_up = ChatAnswer(
            CallOutcome.REFUSED, NextStep.GIVE_UP, http_status=404, error_class=ErrorClass.BAD_REQUEST, error="no"
        )
        finish(batch, claim(batch, 2), given_up)
        page = read(client_of(lead), address("detail", batch))
        assert "The pilot is done" not in page
        assert "none of its calls was answered, most often because of: bad request (HTTP 404)" in page
        assert "No call of the pilot was answered." in page
        assert 'class="button" id="act-confirm"' in page

    def test_looking_at_what_only_takes_forms_leads_back(self, study, lead, client_of):
        batch, client = launch(study), client_of(lead)
        for name in ("control", "confirm", "concurrency", "cap", "retry", "held", "requests", "answers"):
            assert client.get(address(name, batch)).headers["Location"] == address("detail", batch), name

    def test_failed_cells_are_asked_again(self, study, lead, client_of):
        batch, client = launch(study, inputs=1), client_of(lead)
        finish(batch, claim(batch, 1), GIVEN_UP)
        assert "Retry failed (1 cell)" in read(client, address("detail", batch))
        page = client.post(address("retry", batch), follow=True).content.decode()
        assert "1 failed cell will be asked again." in page
        assert Cell.objects.get().state == "planned"

    @pytest.mark.parametrize(("again", "state"), [("yes", "planned"), ("no", "failed")])
    def test_held_cells_wait_for_a_decision(self, study, lead, client_of, again, state):
        batch, client = launch(study, inputs=1, lost_answers="hold"), client_of(lead)
        finish(batch, claim(batch, 1), LOST)
        page = read(client, address("detail", batch))
        assert "1 held cell" in page
        assert 'class="button primary" id="held-again"' in page
        assert "act-resume" not in page
        client.post(address("held", batch), {"again": again})
        assert Cell.objects.get().state == state


class TestAttempts:
    def test_they_are_filtered_and_paged_newest_first(self, study, coder, client_of):
        batch = launch(study, inputs=PER_PAGE + 5)
        finish(batch, claim(batch, 1), GIVEN_UP)
        answer(batch, PER_PAGE + 4)
        client = client_of(coder)
        newest = list(Attempt.objects.order_by("-pk").values_list("pk", flat=True))
        first = client.get(address("attempts", batch))
        assert [row.pk for row in first.context["page"]["rows"]] == newest[:PER_PAGE]
        older = client.get(address("attempts", batch), {"before": first.context["page"]["older"]})
        assert [row.pk for row in older.context["page"]["rows"]] == newest[PER_PAGE:]
        newer = client.get(address("attempts", batch), {"after": older.context["page"]["newer"]})
        assert [row.pk for row in newer.context["page"]["rows"]] == newest[:PER_PAGE]
        for chosen, count in (({"end": "refused"}, 1), ({"end": "nonsense"}, PER_PAGE + 5)):
            assert client.get(address("attempts", batch), chosen).context["page"]["counted"] == count, chosen
        page = client.get(address("attempts", batch), {"status": 400}).context["page"]
        assert (len(page["rows"]), page["counted"]) == (1, None)

    def test_both_calls_that_may_have_been_paid_for_one_cell_are_found(self, study, coder, client_of):
        batch = launch(study, inputs=2)
        finish(batch, claim(batch, 1), LOST)
        answer(batch, 2)
        page = client_of(coder).get(address("attempts", batch), {"twice": "on"}).context["page"]
        assert sorted(row.end for row in page["rows"]) == ["answered", "unknown"]

    def test_the_number_of_queries_does_not_grow_with_the_rows(
        self, study, coder, client_of, django_assert_max_num_queries
    ):
        batch = launch(study, make_variant("a"), make_variant("b"), inputs=30)
        answer(batch, 60)
        client = client_of(coder)
        with django_assert_max_num_queries(9):
            client.get(address("attempts", batch))

    def test_one_opens_to_the_request_as_sent_masked(self, study, lead, client_of):
        batch = launch(study, inputs=1)
        key = answer(batch, 1)[0].leased.attempt_id
        page = read(client_of(lead), address("attempt", batch, key))
        assert "hash matches" in page
        masked = re.findall(r'<details class="masked">.*?</details>', page)
        assert any("Number 1" in each and "Say it." in each for each in masked)
        assert page.count("Number 1<") + page.count("Number 1&quot;") == 1
        assert "Number 1" not in re.search(r"<title>(.*?)</title>", page)[1]

    def test_a_changed_request_is_told(self, study, lead, client_of):
        batch = launch(study, inputs=1)
        key = answer(batch, 1)[0].leased.attempt_id
        Attempt.objects.update(request_hash="0" * 64)
        assert "hash does not match" in read(client_of(lead), address("attempt", batch, key))

    def test_whoever_may_not_see_codings_sees_no_request_and_no_link_to_one(self, study, coder, client_of):
        batch = launch(study, inputs=1)
        key = answer(batch, 1)[0].leased.attempt_id
        client = client_of(coder)
        assert client.get(address("attempt", batch, key)).status_code == 403
        assert address("attempt", batch, key) not in read(client, address("attempts", batch))

    def test_the_providers_words_stay_off_the_list(self, study, lead, client_of):
        batch = launch(study, inputs=1)
        finish(
            batch, claim(batch, 1), ChatAnswer(CallOutcome.REFUSED, NextStep.GIVE_UP, http_status=400, error="a slur")
        )
        assert "a slur" not in read(client_of(lead), address("attempts", batch))
        assert "a slur" not in read(client_of(lead), address("detail", batch))

    def test_an_answer_taken_over_is_marked(self, study, lead, client_of):
        batch = launch(study, inputs=2)
        source, copy = (call.leased.attempt_id for call in answer(batch, 2))
        Attempt.objects.filter(pk=copy).update(end="cached", copied_from=source, cost_nano=0)
        client = client_of(lead)
        assert "Reused." in read(client, address("attempt", batch, copy))
        assert address("attempt", batch, source) in read(client, address("attempt", batch, copy))
        assert "Reused by" in read(client, address("attempt", batch, source))
        assert "from an earlier answer" in read(client, address("attempts", batch))
        assert "from earlier answers" in read(client, address("detail", batch))


class TestListAndSpend:
    def test_the_list_costs_the_same_however_long_it_is(self, study, coder, client_of, django_assert_max_num_queries):
        for _ in range(6):
            answer(launch(study), 1)
        client = client_of(coder)
        with django_assert_max_num_queries(15):
            page = read(client, reverse("batches:list", args=[study.slug]))
        assert page.count("1 of 3") == 6

    def test_the_list_renews_itself_while_a_batch_is_open(self, study, coder, client_of):
        batch = launch(study)
        client, path = client_of(coder), reverse("batches:list", args=[study.slug])
        assert 'hx-select="#batch-list"' in read(client, path)
        Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE)
        page = read(client, path)
        assert 'id="batch-list"' in page
        assert "hx-select" not in page

    def test_spend_is_shown_and_downloaded_by_arm_and_day(self, study, coder, client_of):
        batch = launch(study, make_variant("a"))
        answer(batch, 3)
        client = client_of(coder)
        page = read(client, address("spend", batch))
        assert '<td class="num">$0.00006</td>' in page
        assert "<title>a, task: $0.00006</title>" in page
        table = client.post(address("spend_file", batch), {"format": "csv"})
        assert table["Content-Disposition"] == f'attachment; filename="batch-{batch.pk}-spend.csv"'
        assert table.content.decode().splitlines()[1].startswith("a,task,")
        [event] = AuditEvent.objects.filter(action="batch.downloaded")
        assert (event.details["what"], event.details["format"]) == ("spend", "csv")
        assert client.get(address("spend_file", batch)).status_code == 405
        assert client.post(address("spend_file", batch), {"format": "xls"}).status_code == 404

    def test_spend_that_is_not_known_says_what_is_missing(self, study, coder, client_of):
        client = client_of(coder)
        waiting = launch(study, make_variant("b"))
        assert "No call has been sent yet." in read(client, address("spend", waiting))
        batch = launch(study, make_variant("a", price=None))
        answer(batch, 1)
        page = read(client, address("spend", batch))
        assert f'so the cost is unknown. <a href="{reverse("llm:models")}">' in page
        assert "chart-svg" not in page


class TestFiles:
    @pytest.fixture
    def batch(self, study):
        variant = make_variant("elsewhere", provider="file", base_url="", price=None)
        return launch(study, variant, inputs=2, route="file")

    def test_requests_go_out_and_answers_come_in(self, batch, lead, client_of):
        client = client_of(lead)
        assert "Download the requests" in read(client, address("detail", batch))
        lines = b"".join(client.post(address("requests", batch))).splitlines()
        assert len(lines) == 2
        cells = Cell.objects.order_by("pk").values_list("pk", flat=True)
        file = SimpleUploadedFile("a.jsonl", b"\n".join(b'{"cell": %d, "answer": "yes"}' % pk for pk in cells))
        page = client.post(address("answers", batch), {"answers-file": file}, follow=True).content.decode()
        assert "2 answers imported, 0 errors" in page
        assert "of 2 answered or failed" in page
        assert 'class="figure">2<small>' in page
        assert Batch.objects.get().state == "done"

    def test_nothing_is_said_of_calls(self, batch, lead, client_of):
        page = read(client_of(lead), address("detail", batch))
        for words in ("in flight", "Calls sent", "Claimed", "Lost answers", "answers a second"):
            assert words not in page, words
        assert "Waiting for answers from a file." in page

    def test_a_wrong_file_is_told_line_by_line_and_nothing_is_stored(self, batch, lead, client_of):
        file = SimpleUploadedFile("a.jsonl", b"no JSON")
        got = client_of(lead).post(address("answers", batch), {"answers-file": file})
        assert got.status_code == 422
        assert "Line 1" in got.content.decode()
        assert Result.objects.count() == 0


def test_a_note_on_a_model_stands_on_the_pages_of_its_batch(study, lead, client_of):
    batch = launch(study, make_variant(note="It answers in verse."))
    client = client_of(lead)
    for path in (address("detail", batch), address("attempts", batch), address("spend", batch)):
        assert "It answers in verse." in read(client, path)
