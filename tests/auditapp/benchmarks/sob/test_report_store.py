"""A report that is kept is given out as long as it holds, and no longer."""

import datetime
import re
from dataclasses import asdict
from uuid import uuid4

import pytest
from django.db import OperationalError as OperationalDatabaseError
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from auditapp.batches.actions import cancel_batch, retry_failed
from auditapp.batches.ledger.batch_state import finish_if_complete
from auditapp.batches.ledger.leases import name_worker
from auditapp.batches.models import Batch, Cell, WorkerSign
from auditapp.batches.runner.recovery import sweep_others
from auditapp.benchmarks.sob.models import Judgment, MappingTable, StoredReport, TargetTable
from auditapp.benchmarks.sob.queries import UnknownTargets
from auditapp.benchmarks.sob.report import stored_reports, tasks
from auditapp.benchmarks.sob.report import stored_reports as report_requests
from auditapp.benchmarks.sob.report import stored_reports as report_store
from auditapp.benchmarks.sob.report.stored_reports import (
    ReportChoice,
    await_report,
    begin_computing,
    find_failure,
    forget_failures,
    outdate_reports,
    read_inputs,
    read_report,
    release_lock,
    take_lock,
)
from tests.auditapp.benchmarks.sob.reports import add_arm, answer_all, finish, launch, read_again, store
from tests.support.databases import stored
from transcripts.audit_trail.models import AuditEvent

QUICK = ReportChoice(resamples=0)


class Clock:
    """The time of the database, as tests let it go on."""

    def __init__(self):
        self.now = timezone.now()

    def read(self):
        return self.now

    def go_on(self, seconds):
        self.now += datetime.timedelta(seconds=seconds)


@stored
def batch(dataset, owner):
    """A batch that is done, with an answer for every cell."""
    batch = launch(dataset, owner)
    answer_all(batch)
    finish(batch)
    return batch


def is_kept(batch, choice=QUICK):
    """Whether a report of the batch as it stands now would be given out without computing it."""
    inputs = read_inputs(Batch.objects.get(pk=batch.pk), choice)
    kept = report_store.find_report(inputs)
    return kept.is_current or report_store.is_recent(kept, inputs)


def read(batch, choice=QUICK):
    stored = read_report(read_inputs(Batch.objects.get(pk=batch.pk), choice))
    assert stored is not None
    return stored


def get_time(stored):
    assert stored.as_of is not None
    return stored.as_of


def change_mapping(batch, owner):
    rows = {"women": {"self": ["female"], "dominant": ["male"]}}
    MappingTable.objects.create(
        study=batch.study, number=1, rows=rows, reason="x", sha256="x", made_by_name="x", made_at=timezone.now()
    )


def read_one_again(batch, owner):
    read_again(Judgment.objects.filter(cell__batch=batch, outcome="off_format")[0], owner, '{"Race": "White"}')


def ask_again(batch, owner):
    Cell.objects.filter(judgment__outcome="provider_error", batch=batch).update(state=Cell.State.FAILED)
    assert retry_failed(batch=batch, by=owner)


def answer_late(batch, owner):
    cells = add_arm(batch, "acceptability", like=batch.arms.all()[0], instrument="release")
    store(batch, [(cell, "Person: Unknown") for cell in cells])


def charge(batch, owner):
    Batch.objects.filter(pk=batch.pk).update(spent_nano=7)


def recount(batch, owner):
    outdate_reports()


class TestKeeping:
    def test_a_second_interpretation_is_the_same_and_computes_nothing(self, batch, monkeypatch):
        first = read(batch)
        monkeypatch.setattr(report_store, "compute_report", lambda *_: pytest.fail("computed again"))
        assert read(batch).report == first.report
        assert read(batch).as_of == first.as_of
        assert first.is_current
        assert first.n_answers == 24
        assert first.report["versions"]["resamples"] == 0

    @pytest.mark.parametrize("change", [change_mapping, read_one_again, ask_again, answer_late, charge, recount])
    def test_whatever_may_change_a_figure_makes_it_old(self, batch, owner, change, monkeypatch):
        monkeypatch.setattr(report_store, "OPEN_SECONDS", 0)
        read(batch)
        assert is_kept(batch)
        change(batch, owner)
        assert not is_kept(batch)
        assert read(batch).is_current

    @pytest.mark.parametrize("name", ["PARSER_VERSION", "LEXICON_VERSION", "REPORT_VERSION"])
    def test_so_do_other_rules(self, batch, name, monkeypatch):
        read(batch)
        monkeypatch.setattr(stored_reports, name, "other")
        assert not is_kept(batch)

    def test_every_choice_is_kept_by_itself(self, batch):
        read(batch)
        other = ReportChoice(resamples=0, seed=7)
        assert not is_kept(batch, other)
        assert read(batch, other).report["versions"]["seed"] == 7
        assert is_kept(batch)

    def test_a_new_table_of_the_same_number_is_another(self, batch):
        choice = ReportChoice(targets="table:1", resamples=0)
        given = {"reason": "x", "sha256": "x", "made_by_name": "x", "made_at": timezone.now(), "number": 1}
        rows = [{"raw": "wom", "target": "female"}]
        table = TargetTable.objects.create(study=batch.study, rows=rows, **given)
        read(batch, choice)
        table.delete()
        TargetTable.objects.create(study=batch.study, rows=rows, **given)
        assert not is_kept(batch, choice)

    def test_a_report_that_was_deleted_costs_a_computation(self, batch):
        before = read(batch)
        StoredReport.objects.all().delete()
        assert not is_kept(batch)
        assert read(batch).report == before.report

    def test_a_batch_that_gets_answers_has_a_new_report_every_ten_seconds(self, batch, owner, monkeypatch):
        Batch.objects.filter(pk=batch.pk).update(state=Batch.State.RUNNING, finished_at=None)
        before = read(batch)
        answer_late(batch, owner)
        now = get_time(before) + datetime.timedelta(seconds=9)
        monkeypatch.setattr(report_store, "read_now", lambda: now)
        found = read(batch)
        assert (found.is_current, found.as_of) == (False, before.as_of)
        now = get_time(before) + datetime.timedelta(seconds=10)
        found = read(batch)
        assert (found.is_current, found.n_answers) == (True, before.n_answers + 4)

    def test_a_batch_that_gets_none_keeps_its_report(self, batch, monkeypatch):
        Batch.objects.filter(pk=batch.pk).update(state=Batch.State.PAUSED, finished_at=None)
        before = read(batch)
        now = get_time(before) + datetime.timedelta(days=1)
        monkeypatch.setattr(report_store, "read_now", lambda: now)
        assert read(batch).as_of == before.as_of

    def test_new_rules_hold_at_once_in_an_open_batch(self, batch, owner):
        Batch.objects.filter(pk=batch.pk).update(state=Batch.State.RUNNING, finished_at=None)
        read(batch)
        change_mapping(batch, owner)
        assert read(batch).report["versions"]["mapping"] == "table 1"

    def test_an_answer_that_failed_and_came_later_makes_it_old(self, batch):
        failed = Judgment.objects.filter(cell__batch=batch, outcome="provider_error")[0]
        read(batch)
        cell = failed.cell
        Judgment.objects.filter(pk=failed.pk).delete()
        store(batch, [(cell, "Person: Unknown")])
        assert not is_kept(batch)

    def test_while_one_computes_the_others_get_the_last_report(self, batch):
        before = read(batch)
        Batch.objects.filter(pk=batch.pk).update(spent_nano=7)
        assert take_lock(batch, QUICK)
        found = read(batch)
        assert (found.is_current, found.as_of) == (False, before.as_of)
        release_lock(batch, QUICK)
        assert read(batch).is_current

    def test_whoever_has_no_lock_releases_nobody_elses(self, batch):
        assert take_lock(batch, QUICK)
        assert read(batch).is_current
        assert not take_lock(batch, QUICK)

    def test_a_lock_that_cannot_be_released_loses_no_report(self, batch, monkeypatch):
        def refuse(*_, **__):
            raise OperationalDatabaseError("database is locked")

        monkeypatch.setattr(report_store, "_release", refuse)
        assert read(batch).is_current


@pytest.fixture
def large(batch, monkeypatch):
    """A batch that counts as large, on a site with a worker."""
    monkeypatch.setattr(report_requests, "MAX_IN_A_REQUEST", 3)
    WorkerSign.objects.create(name="w", seen_at=timezone.now())
    return batch


class TestLargeBatches:
    @pytest.fixture
    def asked(self, monkeypatch):
        """What workers were asked for."""
        asked = []
        monkeypatch.setattr(tasks.compute_report, "apply_async", lambda given, **_: asked.append(given))
        return asked

    def test_a_stored_report_of_other_rules_is_not_given_out_while_a_new_one_is_computed(
        self, large, asked, monkeypatch
    ):
        report_store.refresh_report(read_inputs(large, QUICK))
        for module in (stored_reports, report_requests):
            monkeypatch.setattr(module, "REPORT_VERSION", "other")
        assert read_report(read_inputs(large, QUICK)) is None
        assert len(asked) == 1

    def test_a_worker_is_asked_once_and_the_page_does_not_wait(self, large, asked):
        assert read_report(read_inputs(large, QUICK)) is None
        assert read_report(read_inputs(large, QUICK)) is None
        assert len(asked) == 1
        tasks.compute_report(*asked[0])
        assert read(large).is_current
        assert len(asked) == 1
        assert take_lock(large, QUICK)

    def test_a_later_change_gives_the_last_report_meanwhile(self, large, owner, asked):
        tasks.compute_report(large.pk, {"resamples": 0})
        read_one_again(large, owner)
        stale = read(large)
        assert not stale.is_current
        tasks.compute_report(*asked[0])
        fresh = read(large)
        assert fresh.is_current
        assert get_time(fresh) > get_time(stale)
        assert fresh.report != stale.report

    def test_a_repeated_message_computes_nothing(self, large, monkeypatch):
        tasks.compute_report(large.pk, {"resamples": 0})
        monkeypatch.setattr(report_store, "compute_report", lambda *_: pytest.fail("computed again"))
        tasks.compute_report(large.pk, {"resamples": 0})

    def test_a_program_waits_for_the_first(self, large, asked):
        assert await_report(large, options=QUICK).is_current

    def test_without_a_worker_it_is_computed_at_once(self, large):
        WorkerSign.objects.all().delete()
        assert read(large).is_current

    def test_without_a_broker_it_is_computed_at_once(self, large, monkeypatch):
        def refuse(*_, **__):
            raise OperationalError("away")

        monkeypatch.setattr(tasks.compute_report, "apply_async", refuse)
        assert read(large).is_current


class TestFailing:
    """A worker that cannot compute a report says why, and is not asked for it without end."""

    @pytest.fixture
    def asked(self, large, monkeypatch):
        """What workers were asked for; none of them takes it up by itself."""
        asked = []
        monkeypatch.setattr(tasks.compute_report, "apply_async", lambda given, **_: asked.append(given))
        return asked

    @pytest.fixture
    def clock(self, monkeypatch):
        clock = Clock()
        monkeypatch.setattr(report_store, "read_now", clock.read)
        return clock

    def fail(self, batch, monkeypatch, error, choice=QUICK):
        def refuse(*_):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(report_store, "refresh_report", refuse)
            with pytest.raises(type(error)):
                tasks.compute_report(batch.pk, asdict(choice))

    def test_it_is_asked_for_again_after_ever_longer_waits(self, large, asked, clock, monkeypatch):
        for tries, wait in enumerate([10, 20, 40, 80, 160, 320, 600, 600], start=1):
            assert read_report(read_inputs(large, QUICK)) is None
            assert len(asked) == tries
            self.fail(large, monkeypatch, ValueError("a text"))
            failure = find_failure(large, QUICK)
            assert failure is not None
            assert failure.failures == tries
            assert failure.failure_reason == "It ended with ValueError; the worker’s log says where."
            clock.go_on(wait - 1)
            assert read_report(read_inputs(large, QUICK)) is None
            assert len(asked) == tries
            clock.go_on(1)
            assert find_failure(large, QUICK) is None

    def test_a_sentence_for_readers_is_told_and_another_choice_is_asked_for(self, large, asked, clock, monkeypatch):
        self.fail(large, monkeypatch, UnknownTargets("There is no table 3."))
        failure = find_failure(large, QUICK)
        assert failure is not None
        assert failure.failure_reason == "There is no table 3."
        assert read_report(read_inputs(large, ReportChoice(seed=7))) is None
        assert len(asked) == 1

    def test_success_ends_the_row(self, large, asked, clock, monkeypatch):
        for _ in range(2):
            self.fail(large, monkeypatch, ValueError())
        tasks.compute_report(large.pk, asdict(QUICK))
        outdate_reports()
        self.fail(large, monkeypatch, ValueError())
        failure = find_failure(large, QUICK)
        assert failure is not None
        assert failure.failures == 1

    def test_a_lock_is_released_when_its_worker_is_silent_and_that_counts_as_a_failure(self, large, asked, clock):
        own = WorkerSign.objects.create(name=name_worker(), seen_at=clock.read())
        assert take_lock(large, QUICK)
        begin_computing(large, QUICK)
        clock.go_on(19)
        assert read_report(read_inputs(large, QUICK)) is None
        assert find_failure(large, QUICK) is None
        WorkerSign.objects.filter(pk=own.pk).update(seen_at=clock.read() - datetime.timedelta(seconds=21))
        assert read_report(read_inputs(large, QUICK)) is None
        failure = find_failure(large, QUICK)
        assert failure is not None
        assert "has ended" in failure.failure_reason
        assert not asked
        clock.go_on(10)
        assert read_report(read_inputs(large, QUICK)) is None
        assert len(asked) == 1

    def test_a_lock_that_nobody_has_begun_on_waits_for_a_free_worker(self, large, asked):
        assert take_lock(large, QUICK)
        assert not take_lock(large, QUICK)
        assert find_failure(large, QUICK) is None

    def test_the_page_says_why_and_has_a_button(self, large, asked, clock, lead, client_of, monkeypatch):
        for _ in range(2):
            self.fail(large, monkeypatch, MemoryError(), ReportChoice())
        client = client_of(lead)
        place = reverse("sob:report", args=[large.study.slug, large.pk])
        page = " ".join(client.get(place).content.decode().split())
        assert "could not be computed</span>, 2 times in a row. It ended with MemoryError" in page
        assert 'hx-trigger="every 3s"' not in page
        assert not asked
        button = reverse("sob:ask_again", args=[large.study.slug, large.pk])
        assert f'action="{button}"' in page
        assert client.post(button).headers["Location"] == place
        page = " ".join(client.get(place).content.decode().split())
        assert "The figures are being computed.</strong>" in page
        assert re.search(r"\d answers? (is|are) being counted, since <time", page)
        assert len(asked) == 1


class TestComputedByWorkers:
    """A worker is asked when a batch ends and when an interpretation changes, so that pages find the report stored."""

    @pytest.fixture
    def asked(self, monkeypatch):
        asked = []
        monkeypatch.setattr(tasks.compute_report, "apply_async", lambda given, **_: asked.append(given))
        WorkerSign.objects.create(name="w", seen_at=timezone.now())
        return asked

    def test_when_a_batch_is_done(self, dataset, owner, asked, django_capture_on_commit_callbacks):
        batch = launch(dataset, owner)
        answer_all(batch)
        Cell.objects.filter(batch=batch).update(state=Cell.State.DONE)
        with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
            assert finish_if_complete(batch)
        assert asked == [(batch.pk, asdict(ReportChoice()))]
        tasks.compute_report(*asked[0])
        assert is_kept(batch, ReportChoice())

    def test_when_a_batch_is_cancelled(self, dataset, owner, asked, django_capture_on_commit_callbacks):
        batch = launch(dataset, owner)
        with django_capture_on_commit_callbacks(execute=True):
            cancel_batch(batch=batch, by=owner)
        assert [key for key, _ in asked] == [batch.pk]

    def test_nobody_is_asked_where_no_worker_lives(self, batch, asked, django_capture_on_commit_callbacks):
        WorkerSign.objects.all().delete()
        with django_capture_on_commit_callbacks(execute=True):
            report_requests.request_after_change(batch)
        assert not asked

    def test_a_worker_that_comes_later_is_asked_for_what_ended_without_one(self, batch, asked):
        sweep_others()
        assert asked == [(batch.pk, asdict(ReportChoice()))]
        sweep_others()
        assert len(asked) == 1, "its report is being computed"
        tasks.compute_report(*asked[0])
        assert is_kept(batch, ReportChoice())
        sweep_others()
        assert len(asked) == 1, "it is there"

    def test_one_that_is_being_computed_keeps_no_other_waiting(self, batch, asked):
        newer = Batch.objects.get(pk=batch.pk)
        newer.pk, newer.idempotency_key = None, uuid4()
        newer.save()
        sweep_others()
        sweep_others()
        assert [pk for pk, _ in asked] == [newer.pk, batch.pk]

    @pytest.mark.parametrize("name", ["PARSER_VERSION", "LEXICON_VERSION", "REPORT_VERSION"])
    def test_and_for_reports_by_the_rules_of_an_older_program(self, batch, asked, name, monkeypatch):
        read(batch, ReportChoice())
        monkeypatch.setattr(stored_reports, name, "other")
        sweep_others()
        assert asked == [(batch.pk, asdict(ReportChoice()))]

    def test_and_for_a_batch_that_was_read_before_it_ended(self, batch, asked):
        read(batch, ReportChoice())
        Batch.objects.filter(pk=batch.pk).update(finished_at=timezone.now())
        sweep_others()
        assert asked == [(batch.pk, asdict(ReportChoice()))]

    def test_it_is_not_asked_for_a_batch_that_goes_on(self, batch, asked):
        Batch.objects.filter(pk=batch.pk).update(state=Batch.State.RUNNING, finished_at=None)
        sweep_others()
        assert not asked

    def test_after_three_failures_only_a_person_asks_again(self, batch, asked, monkeypatch):
        clock = Clock()
        monkeypatch.setattr(report_store, "read_now", clock.read)
        monkeypatch.setattr(report_store, "compute_report", lambda *_: 1 / 0)
        for tries in (1, 2, 3):
            sweep_others()
            assert len(asked) == tries
            with pytest.raises(ZeroDivisionError):
                tasks.compute_report(batch.pk, asdict(ReportChoice()))
            sweep_others()
            assert len(asked) == tries, "it waits between two tries"
            clock.go_on(600)
        sweep_others()
        assert len(asked) == 3
        forget_failures(batch)
        sweep_others()
        assert len(asked) == 4

    def test_the_batch_ends_even_where_nothing_can_be_asked(
        self, batch, asked, monkeypatch, django_capture_on_commit_callbacks
    ):
        def refuse(*_):
            raise OperationalDatabaseError("database is locked")

        Batch.objects.filter(pk=batch.pk).update(state=Batch.State.RUNNING, finished_at=None)
        Cell.objects.filter(batch=batch).update(state=Cell.State.DONE)
        monkeypatch.setattr(report_store, "take_lock", refuse)
        with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
            assert finish_if_complete(Batch.objects.get(pk=batch.pk))
        assert not asked

    def test_computing_and_interpretation_one_leaves_no_event(self, batch, asked, lead, client_of):
        client = client_of(lead)
        before = AuditEvent.objects.count()
        tasks.compute_report(batch.pk, asdict(ReportChoice()))
        assert client.get(reverse("sob:report", args=[batch.study.slug, batch.pk])).status_code == 200
        assert AuditEvent.objects.count() == before
