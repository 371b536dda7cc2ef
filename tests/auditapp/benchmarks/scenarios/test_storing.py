"""Storing sessions goes on beside what cannot be stored, and the calls of what may still come stay hidden."""

import json

import pytest

from auditapp.batches.actions import cancel_batch, retry_failed
from auditapp.benchmarks.scenarios.actions.storing import store_sessions, sweep_sessions
from auditapp.benchmarks.scenarios.models import Script, Session
from auditapp.benchmarks.scenarios.queries.runs import (
    CAN_BE_ASKED_AGAIN,
    NOT_STORED,
    TO_OPEN,
    find_run_visibility,
    run_sessions,
)
from auditapp.benchmarks.scenarios.queries.sessions import group_ended
from tests.auditapp.batches.trial_kinds import GIVEN_UP, claim
from tests.auditapp.benchmarks.scenarios.cast import answer, launch, respond, run
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.blinding.actions import open_interviews, unblind_interviews, unmask_interviews
from transcripts.blinding.viewers import Viewer
from transcripts.corpus.actions import import_files
from transcripts.corpus.models import Interview
from transcripts.negotiation.models import CaseSheet, Pair
from transcripts.refusals import Refused
from transcripts.studies.roles import ROLES

pytestmark = pytest.mark.django_db


def refuse_one(request):
    return GIVEN_UP if request.system == "Xenocase a: you advise a clinic." else answer(request)


def name_thread(session):
    """The id that its thread comes in under."""
    return f"session-{session.pk}-{session.script.sha256[:8]}"


def bring_in_other(study, external_id):
    """A thread with this id that says something else, so that no other comes in under it."""
    line = json.dumps({"id": external_id, "turns": [{"role": "model", "text": "Taken."}]})
    import_files(study=study, files=[("taken.jsonl", line.encode())], by=trail.SYSTEM)


class TestWhatCannotBeStored:
    def test_a_case_sheet_or_pair_that_cannot_be_written_keeps_no_thread_back(self, study, batch):
        for script in Script.objects.all():
            script.case["pair"]["differs"] = "x" * 501
            if script.name == "xenocase a":
                script.case["relevant"][0]["reason"] = "y" * 2001
            script.save()
        run(batch)
        sweep_sessions()

        assert study.interviews.masked().count() == 4
        assert set(Session.objects.values_list("state", flat=True)) == {"stored"}
        sheets = CaseSheet.objects.values_list("interview__session__script__name", flat=True)
        assert list(sheets) == ["xenocase b", "xenocase b"]
        assert not Pair.objects.exists()
        event = AuditEvent.objects.get(action="scenarios.sessions.stored")
        assert event.details == {"sessions": 4, "sheets_left_out": 2, "pairs_left_out": 2}

    def test_a_batch_whose_sessions_cannot_come_in_holds_up_no_other(self, study, batch, variant):
        later = launch(study, variant)
        for each in (batch, later):
            run(each)
        bring_in_other(study, name_thread(run_sessions(batch)[0]))
        sweep_sessions()
        assert {state for each in run_sessions(later) for state in [each.state]} == {"stored"}
        with pytest.raises(Refused, match="differs"):
            store_sessions(batch)

    def test_sessions_that_cannot_come_in_hold_up_no_other_case(self, study, batch, monkeypatch):
        monkeypatch.setattr("auditapp.benchmarks.scenarios.actions.storing.SESSIONS_AT_A_TIME", 2)
        run(batch)
        bring_in_other(study, name_thread(run_sessions(batch).earliest("pk")))
        with pytest.raises(Refused):
            store_sessions(batch)
        states = sorted(run_sessions(batch).values_list("state", flat=True))
        assert states == ["open", "open", "stored", "stored"]


class TestEnding:
    def test_finding_what_has_ended_costs_as_many_queries_however_much_has(self, batch, django_assert_num_queries):
        with django_assert_num_queries(1):
            assert group_ended(batch.pk, run_sessions(batch)) == ([], [])
        run(batch)
        with django_assert_num_queries(2):
            groups, failed = group_ended(batch.pk, run_sessions(batch))
        assert ([len(group) for group in groups], failed) == ([2, 2], [])

    def test_a_session_that_was_begun_and_not_finished_has_neither_ended_nor_failed(self, batch):
        respond(batch, claim(batch, 100))
        assert group_ended(batch.pk, run_sessions(batch)) == ([], [])


class TestVisibility:
    def see(self, batch, user):
        found = find_run_visibility(batch, Viewer(batch.study, user, ROLES["lead"]))
        return found.is_whole, found.sentence

    def test_the_calls_stay_hidden_while_a_failed_session_can_be_asked_again(self, study, batch, lead):
        run(batch, refuse_one)
        store_sessions(batch)
        threads = list(Interview.objects.masked().filter(owning_study=study))
        unmask_interviews(study=study, interviews=threads, reason="To look at them.", by=lead)
        assert run_sessions(batch).filter(state="failed").count() == 1
        unblind_interviews(study=study, interviews=threads, by=lead, where="calls")
        assert self.see(batch, lead) == (False, CAN_BE_ASKED_AGAIN)

        retry_failed(batch=batch, by=trail.SYSTEM)
        cancel_batch(batch=batch, by=trail.SYSTEM)
        store_sessions(batch)
        assert run_sessions(batch).filter(state="failed").count() == 1
        assert self.see(batch, lead)[1] != CAN_BE_ASKED_AGAIN

    def test_who_will_not_code_the_threads_sees_the_report_with_failed_sessions_and_what_is_stored_later(
        self, study, batch, lead, owner
    ):
        run(batch, refuse_one)
        store_sessions(batch)
        threads = list(Interview.objects.masked().filter(owning_study=study))
        open_interviews(study=study, interviews=threads, by=lead)
        assert self.see(batch, lead) == (True, "")

        retry_failed(batch=batch, by=trail.SYSTEM)
        assert self.see(batch, lead) == (False, NOT_STORED)
        run(batch)
        store_sessions(batch)
        assert Interview.objects.masked().filter(owning_study=study).count() == len(threads) + 1
        assert self.see(batch, lead) == (True, "")
        assert self.see(batch, owner) == (False, TO_OPEN)
