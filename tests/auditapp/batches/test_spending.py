import datetime
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from auditapp.batches import actions, command_options
from auditapp.batches.models import Attempt
from auditapp.batches.pages.costs import (
    SPEND,
    estimate_batch,
    list_prices,
    read_cache_saving,
    read_spend,
)
from auditapp.batches.pure.estimates import Basis
from auditapp.batches.views.pages import draw_days, draw_spend
from auditapp.llm.actions import set_price
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, NextStep
from tests.auditapp.batches.trial_kinds import LOST, answer, claim, finish, launch, make_variant
from transcripts.audit_trail import trail
from transcripts.formats.report_tables import write_report_table

pytestmark = pytest.mark.usefixtures("numbers")


def date_attempts(attempts, day):
    attempts.update(sent_at=datetime.datetime.fromisoformat(f"{day}T23:30:00+00:00"))


class TestSpend:
    def test_money_is_listed_by_arm_and_day(self, study):
        batch = launch(study, make_variant("a"), make_variant("b", price=2), inputs=3)
        first = answer(batch, 2)
        answer(batch, 2)
        date_attempts(Attempt.objects.all(), "2026-03-02")
        date_attempts(Attempt.objects.filter(pk__in=[call.leased.attempt_id for call in first]), "2026-03-01")
        rows = read_spend(batch)
        assert [
            (row["model"], str(row["day"]), row["calls"], row["sum_in"], row["sum_out"], row["nano"]) for row in rows
        ] == [
            ("a", "2026-03-01", 2, 20, 10, 40_000),
            ("a", "2026-03-02", 1, 10, 5, 20_000),
            ("b", "2026-03-02", 1, 10, 5, 40_000),
        ]
        assert sum(row["nano"] or 0 for row in rows) == batch.spent_nano
        chart = draw_spend(batch, rows, is_priced=True, models_url="/models/")
        assert [(row.name, row.text) for row in chart.rows] == [
            ("a, task", "$0.00006"),
            ("b, task", "$0.00004"),
            ("all arms", "$0.0001"),
        ]
        days = draw_days(batch, rows)
        assert days is not None
        assert [[(point.label, point.text) for point in panel.points] for panel in days.panels] == [
            [("1 Mar", "$0.00004"), ("2 Mar", "$0.00002")],
            [("1 Mar", "$0"), ("2 Mar", "$0.00004")],
        ]
        assert draw_days(batch, rows[:1]) is None

    def test_the_day_is_that_of_utc(self, study, settings):
        settings.TIME_ZONE = "Asia/Tokyo"
        batch = launch(study, inputs=1)
        answer(batch, 1)
        date_attempts(Attempt.objects.all(), "2026-03-01")
        assert [str(row["day"]) for row in read_spend(batch)] == ["2026-03-01"]

    def test_a_lost_end_is_counted_with_the_most_it_can_have_cost(self, study):
        batch = launch(study, inputs=2)
        finish(batch, claim(batch, 1), LOST)
        [row] = read_spend(batch)
        assert (row["calls"], row["nano"], row["unknown_calls"]) == (1, 0, 1)
        assert row["unknown_nano"] == batch.reserved_nano > 0

    def test_an_answer_without_token_counts_is_of_unknown_cost(self, study):
        batch = launch(study, inputs=1)
        finish(batch, claim(batch, 1), ChatAnswer(CallOutcome.ANSWERED, content="yes"))
        [row] = read_spend(batch)
        assert (row["nano"], row["unpriced_calls"]) == (0, 1)

    def test_without_a_price_what_was_spent_is_not_known(self, study):
        batch = launch(study, make_variant("free", price=None), inputs=1)
        answer(batch, 1)
        [row] = read_spend(batch)
        assert row["nano"] is None
        assert (row["sum_in"], row["sum_out"]) == (10, 5)

    def test_what_was_never_sent_is_not_listed(self, study):
        batch = launch(study, inputs=1)
        finish(batch, claim(batch, 1), ChatAnswer(CallOutcome.UNSENT, NextStep.RETRY, error="stopped"))
        assert read_spend(batch) == []

    def test_the_table_is_text_that_a_spreadsheet_runs_nothing_of(self, study):
        batch = launch(study, make_variant("@cmd"), inputs=1)
        answer(batch, 1)
        date_attempts(Attempt.objects.all(), "2026-03-01")
        heading, line = write_report_table(SPEND, read_spend(batch), "csv").decode().splitlines()
        assert heading.split(",")[:3] == ["model", "task", "day_utc"]
        assert line.split(",")[:5] == ["'@cmd", "task", "2026-03-01", "1", "0"]
        assert Decimal(line.split(",")[7]) == Decimal("0.00002")

    def test_the_prices_used_are_those_of_the_launch_with_their_source(self, study):
        variant = make_variant("a", price=None)
        set_price(variant=variant, price_in=Decimal(3), price_out=Decimal(4), source="price list", by=trail.SYSTEM)
        batch = launch(study, variant, make_variant("b", price=None))
        set_price(variant=variant, price_in=Decimal(9), price_out=Decimal(9), by=trail.SYSTEM)
        first, second = list_prices(batch)
        assert (first["price_in"], first["price_out"], first["share"]) == (Decimal(3), Decimal(4), Decimal(1))
        assert (first["number"], first["source"]) == (1, "price list")
        assert first["recorded_at"] is not None
        assert (second["price_in"], second["number"], second["recorded_at"]) == (None, None, None)

    def test_the_cache_says_what_asking_again_would_have_cost(self, study):
        variant = make_variant()
        original = launch(study, variant, inputs=2)
        answer(original, 2)
        batch = launch(study, variant, inputs=2, uses_cache=True)
        source = Attempt.objects.filter(cell__batch=original).order_by("pk")[0]
        calls = claim(batch, 2)
        if calls:
            finish(batch, calls, ChatAnswer(CallOutcome.CACHED, content="yes"))
            Attempt.objects.filter(cell__batch=batch).update(copied_from=source)
        saving = read_cache_saving(batch)
        assert saving == (2, 40_000)
        [row] = read_spend(batch)
        assert (row["calls"], row["cached"], row["nano"]) == (0, 2, 0)


class TestEstimate:
    def test_the_calls_of_the_pilot_give_the_estimate_of_the_rest(self, study):
        batch = launch(study, inputs=30, pilot=4)
        for tokens in (5, 10, 15, 20):
            answer(batch, 1, tokens_out=tokens)
        found = estimate_batch(batch)
        [arm] = found["arms"]
        assert (arm["n"], arm["left"], arm["basis"]) == (4, 26, Basis.MEASURED)
        assert arm["mean"] == pytest.approx(35_000)
        assert found["mid"] == batch.spent_nano + 26 * 35_000
        assert found["low"] is not None
        assert found["high"] is not None
        assert found["low"] < found["mid"] < found["high"]

    def test_before_a_call_the_most_that_all_can_cost_is_known(self, study):
        batch = launch(study, inputs=30)
        found = estimate_batch(batch)
        assert (found["low"], found["mid"], found["arms"][0]["basis"]) == (None, None, Basis.BOUND)
        claim(batch, 30)
        batch.refresh_from_db()
        assert found["high"] == batch.reserved_nano

    def test_of_very_many_texts_some_stand_for_all(self, study, monkeypatch):
        batch = launch(study, inputs=90)
        whole = estimate_batch(batch)["high"] or 0
        monkeypatch.setattr("auditapp.batches.pages.costs.MAX_PROMPTS_READ", 9)
        assert estimate_batch(batch)["high"] == pytest.approx(whole, rel=0.02)

    def test_earlier_batches_with_the_same_instructions_give_a_guess_at_today_s_price(self, study):
        variant = make_variant()
        earlier = launch(study, variant, inputs=3)
        answer(earlier, 3)
        set_price(variant=variant, price_in=Decimal(2), price_out=Decimal(4), by=trail.SYSTEM)
        found = estimate_batch(launch(study, variant, inputs=10))
        assert (found["arms"][0]["basis"], found["arms"][0]["n"]) == (Basis.EARLIER, 3)
        assert found["mid"] == 10 * 40_000
        assert "a guess" in found["sentence"]

    def test_lost_calls_are_part_of_the_upper_end(self, study):
        batch = launch(study, inputs=10)
        answer(batch, 4)
        before = estimate_batch(batch)
        finish(batch, claim(batch, 1), LOST)
        after = estimate_batch(batch)
        assert after["high"] == (before["high"] or 0) + batch.reserved_nano
        assert after["mid"] == before["mid"]

    def test_an_answer_without_token_counts_is_part_of_the_upper_end(self, study):
        batch = launch(study, inputs=1)
        finish(batch, claim(batch, 1), ChatAnswer(CallOutcome.ANSWERED, content="yes"))
        found = estimate_batch(batch)
        assert (found["low"], found["high"]) == (0, batch.reserved_nano)
        assert batch.reserved_nano > 0

    def test_without_a_price_there_is_none(self, study):
        found = estimate_batch(launch(study, make_variant("dear", price=None)))
        assert found["high"] is None
        assert "no price is known for dear" in found["sentence"]


class TestYes:
    """`--wait --yes` on the command line."""

    def wait(self, batch, monkeypatch, *, says_yes):
        def stand_still(batch, *, report):
            batch.refresh_from_db()
            return batch

        monkeypatch.setattr(command_options, "wait_for_batch", stand_still)
        told = []
        return command_options.wait_for_launched(batch, says_yes=says_yes, report=told.append), " ".join(told)

    @pytest.fixture
    def waiting(self, study):
        batch = launch(study, inputs=30, pilot=4, cap_usd=Decimal("0.01"))
        answer(batch, 4)
        assert batch.state == "waiting"
        return batch

    def test_it_confirms_what_fits_under_the_cap(self, waiting, monkeypatch):
        batch, told = self.wait(waiting, monkeypatch, says_yes=True)
        assert batch.state == "running"
        assert "Confirmed: at most $0.000600" in told

    def test_it_leaves_to_a_person_what_does_not(self, waiting, monkeypatch):
        actions.change_cap(batch=waiting, cap_usd=Decimal("0.0005"), by=trail.SYSTEM)
        batch, told = self.wait(waiting, monkeypatch, says_yes=True)
        assert batch.state == "waiting"
        assert "Not confirmed" in told
        command_options.refuse_stopped(batch)

    def test_without_it_the_command_says_how_to_confirm(self, waiting, monkeypatch):
        batch, told = self.wait(waiting, monkeypatch, says_yes=False)
        assert batch.state == "waiting"
        assert "The pilot is done and 26 cells wait for approval. Nothing more is sent before that." in told
        assert f"batch confirm {batch.pk}`, then wait with `manage.py batch wait {batch.pk}`" in told

    def test_a_pilot_of_which_nothing_could_be_read_needs_another_word(self, waiting):
        waiting.state_reason = "Nothing could be read."
        told = command_options.describe_waiting(waiting)
        assert "wait for approval. Nothing could be read. Look" in told
        assert f"batch confirm {waiting.pk} --anyway`" in told

    def test_waiting_can_be_taken_up_later(self, waiting, monkeypatch):
        monkeypatch.setattr(command_options, "wait_for_batch", lambda batch, *, report: batch)
        err = StringIO()
        call_command("batch", "wait", str(waiting.pk), stdout=StringIO(), stderr=err)
        assert "The pilot is done" in err.getvalue()
        actions.cancel_batch(batch=waiting, by=trail.SYSTEM)
        with pytest.raises(CommandError, match="is cancelled"):
            call_command("batch", "wait", str(waiting.pk), stdout=StringIO())

    def test_it_needs_a_cap(self):
        with pytest.raises(Exception, match="--yes needs --wait and --cap"):
            call_command(
                "sob",
                "launch",
                *["--dataset", "x", "--model", "y", "--task", "acceptability", "--wait", "--yes"],
                stdout=StringIO(),
            )
