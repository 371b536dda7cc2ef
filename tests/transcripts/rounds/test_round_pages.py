import re
from uuid import uuid4

import pytest

from tests.transcripts.coding.cast import decide, last_event
from tests.transcripts.rounds.cast import answers, bring_in, find_assignment, open_round
from transcripts.audit_trail.models import AuditEvent
from transcripts.rounds import actions
from transcripts.rounds.models import Assignment, Round

ROUNDS, WORK = "/studies/culture/rounds/", "/studies/culture/my-work/"


@pytest.fixture
def talks(study, owner):
    return bring_in(study, owner, ["Model A", "", "Model B"])


def typed(*coders, **others):
    return {
        "name": "Pilot",
        "instructions": "",
        "coders": [coder.pk for coder in coders],
        "overlap_percent": "34",
        "overlap_readers": "2",
        "seed": "5",
        "idempotency_key": str(uuid4()),
        **others,
    }


class TestMaking:
    def test_plan_is_shown_first_and_stored_when_confirmed(self, talks, lead, coder, second_coder, client_of):
        client = client_of(lead)
        form = typed(coder, second_coder)
        shown = client.post(f"{ROUNDS}new/", form)
        page = shown.content.decode()
        assert shown.status_code == 200
        assert "1 of 3 assigned to 2" in page
        assert not Round.objects.exists()
        name = re.search(r'name="plan_name" value="(\w+)"', page)
        assert name
        answer = client.post(f"{ROUNDS}new/", {**form, "plan_name": name[1]})
        assert answer["Location"] == f"{ROUNDS}1/"
        again = client.post(f"{ROUNDS}new/", {**form, "plan_name": name[1]})
        assert again["Location"] == f"{ROUNDS}1/"
        assert Assignment.objects.count() == 4

    def test_confirmed_form_of_the_page_itself_opens_the_round(self, talks, lead, coder, client_of):
        client = client_of(lead)
        page = client.post(f"{ROUNDS}new/", typed(coder, overlap_percent="0", models=["–", "Model A"])).content.decode()
        part = page[page.index('name="plan_name"') - 200 : page.index("Confirm: open")]
        hidden = {}
        for tag in re.findall(r"<input[^>]*>", part):
            found = dict(re.findall(r'(\w+)="([^"]*)"', tag))
            hidden.setdefault(found["name"], []).append(found.get("value", ""))
        assert client.post(f"{ROUNDS}new/", hidden)["Location"] == f"{ROUNDS}1/"
        assert set(Assignment.objects.values_list("interview__model_label", flat=True)) == {"", "Model A"}

    def test_plan_that_has_changed_is_shown_again(self, talks, lead, coder, client_of):
        answer = client_of(lead).post(f"{ROUNDS}new/", typed(coder, overlap_percent="0", plan_name="0" * 32))
        assert answer.status_code == 409
        assert "have changed" in answer.content.decode()
        assert not Round.objects.exists()

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"overlap_percent": "101"}, "less than or equal to 100"),
            ({"overlap_percent": "x"}, "Enter a whole number"),
            ({"overlap_readers": "3"}, "at most the number of coders"),
            ({"coders": []}, "Choose at least one coder"),
            ({"coders": ["999999"]}, "Select a valid choice"),
            ({"models": ["Model Z"]}, "Select a valid choice"),
            ({"name": ""}, "This field is required"),
            ({"seed": "-1"}, "greater than or equal to 0"),
            ({"seed": "99999999999"}, "whole number from 0 to"),
            ({"idempotency_key": "x"}, "Enter a valid UUID"),
        ],
    )
    def test_wrong_entry_is_422_with_its_reason(self, talks, lead, coder, second_coder, client_of, wrong, words):
        answer = client_of(lead).post(f"{ROUNDS}new/", {**typed(coder, second_coder), **wrong})
        assert answer.status_code == 422
        assert words in answer.content.decode()


class TestRound:
    def test_lead_assigns_unassigns_and_gives_back_what_is_ticked(
        self, study, talks, lead, coder, second_coder, client_of
    ):
        round_ = open_round(study, lead, coder)
        client, path = client_of(lead), f"{ROUNDS}1/assignments/"
        cells = [f"{talk.pk}:{second_coder.pk}" for talk in talks[:2]]
        assert client.post(path, {"act": "assign", "cell": cells}).status_code == 302
        assert round_.assignments.filter(withdrawn_at__isnull=True).count() == 5
        client.post(path, {"act": "unassign", "cell": cells[:1]})
        assert round_.assignments.filter(withdrawn_at__isnull=True).count() == 4
        actions.complete_assignment(assignment=find_assignment(round_, talks[0], coder), reason="x", by=coder)
        given = {"act": "give_back", "cell": [f"{talks[0].pk}:{coder.pk}"]}
        refused = client.post(path, given)
        assert refused.status_code == 422
        page = refused.content.decode()
        assert page.count("Give a reason for returning") == 2, "once at the top, once beside the field"
        assert f'value="{talks[0].pk}:{coder.pk}" checked' in page
        assert page.count(" checked") == 1
        client.post(path, {**given, "reason": "A definition changed."})
        assert not Assignment.objects.filter(completed_at__isnull=False).exists()

    def test_what_fails_at_one_place_is_done_nowhere(self, study, talks, lead, coder, reader, client_of):
        round_ = open_round(study, lead, coder, models=["Model A"])
        cells = [f"{talks[1].pk}:{coder.pk}", f"{talks[1].pk}:{reader.pk}"]
        answer = client_of(lead).post(f"{ROUNDS}1/assignments/", {"act": "assign", "cell": cells})
        assert answer.status_code == 409
        assert "may not code" in answer.content.decode()
        assert round_.assignments.count() == 1

    @pytest.mark.parametrize(
        ("sent", "status"),
        [
            ({"act": "assign"}, 422),
            ({"act": "burn", "cell": ["1:1"]}, 422),
            ({"act": "assign", "cell": ["x"]}, 422),
            ({"act": "assign", "cell": ["1:²"]}, 422),
            ({"act": "assign", "cell": ["999999:999999"]}, 404),
        ],
    )
    def test_what_the_page_does_not_send_is_refused(self, study, talks, lead, coder, client_of, sent, status):
        open_round(study, lead, coder)
        assert client_of(lead).post(f"{ROUNDS}1/assignments/", sent).status_code == status

    def test_lead_locks_and_unlocks_with_a_reason(self, study, talks, lead, coder, client_of):
        round_ = open_round(study, lead, coder)
        client = client_of(lead)
        refused = client.post(f"{ROUNDS}1/lock/", {"act": "lock"})
        assert refused.status_code == 422
        assert "not completed. Tick the box" in refused.content.decode()
        round_.refresh_from_db()
        assert round_.locked_at is None
        client.post(f"{ROUNDS}1/lock/", {"act": "lock", "confirmed": "on"})
        round_.refresh_from_db()
        assert round_.locked_by == lead
        page = client.get(f"{ROUNDS}1/").content.decode()
        assert "Unlock this round" in page
        assert 'type="checkbox"' not in page
        assert client.post(f"{ROUNDS}1/lock/", {"act": "unlock"}).status_code == 422
        assert client.post(f"{ROUNDS}1/lock/", {"act": "unlock", "reason": "Missed one."}).status_code == 302
        assert last_event(study).details["reason"] == "Missed one."

    def test_reader_looks_and_changes_nothing(self, study, talks, lead, coder, reader, client_of):
        open_round(study, lead, coder)
        client = client_of(reader)
        assert "Pilot" not in client.get(ROUNDS).content.decode()
        page = client.get(f"{ROUNDS}1/").content.decode()
        assert "0 of 3" in page
        assert 'type="checkbox"' not in page
        assert client.get(f"{ROUNDS}new/").status_code == 403

    def test_page_costs_as_many_queries_for_one_interview_as_for_many(
        self, study, talks, lead, coder, second_coder, client_of, django_assert_num_queries
    ):
        open_round(study, lead, coder, second_coder, overlap_percent=100)
        client = client_of(lead)
        with django_assert_num_queries(10):
            assert client.get(f"{ROUNDS}1/").status_code == 200
        Assignment.objects.exclude(interview=talks[0]).delete()
        with django_assert_num_queries(10):
            assert client.get(f"{ROUNDS}1/").status_code == 200


class TestOwnWork:
    def test_coder_sees_her_own_assignments_and_nobody_elses(self, study, talks, lead, coder, second_coder, client_of):
        open_round(study, lead, coder, instructions="Mind the <i>hedges</i>.", models=["Model A"])
        open_round(study, lead, second_coder, name="Later pass")
        client = client_of(coder)
        before = client.get(WORK).content.decode()
        assert "Mind the &lt;i&gt;hedges&lt;/i&gt;." in before
        assert "Talk 1" in before
        for absent in ("Talk 2", "Later pass", "second_coder"):
            assert absent not in before
        for sentence in answers(talks[0]):
            decide(sentence, second_coder)
        assert _without_tokens(client.get(WORK).content.decode()) == _without_tokens(before)

    def test_coder_signs_off_with_a_confirmation_and_a_reason_for_what_is_open(
        self, study, talks, lead, coder, client_of
    ):
        round_ = open_round(study, lead, coder)
        client, path = client_of(coder), f"{ROUNDS}1/complete/{talks[0].pk}/"
        for sent, words in (
            ({}, "Tick the box"),
            ({"confirmed": "on"}, "3 of 3 sentences of the model are undecided"),
            ({"confirmed": "on", "reason": "x" * 2_001}, "at most 2000"),
        ):
            answer = client.post(path, sent)
            assert answer.status_code == 422
            assert words in answer.content.decode()
        assert client.post(path, {"confirmed": "on", "reason": "Boilerplate."}).status_code == 302
        assert find_assignment(round_, talks[0], coder).completed_at
        assert "completed" in client.get(WORK).content.decode()

    def test_several_interviews_are_signed_off_at_once_or_none(self, study, talks, lead, coder, client_of):
        round_ = open_round(study, lead, coder)
        for sentence in answers(talks[0]):
            decide(sentence, coder)
        client, path = client_of(coder), f"{ROUNDS}1/complete/"
        every = [talk.pk for talk in talks[:3]]
        assert f'action="{path}"' in client.get(WORK).content.decode()
        both = [talks[0].pk, talks[1].pk]
        for sent, words in (
            ({"confirmed": "on"}, "Tick the interviews to complete."),
            ({"interview": both}, "Tick the box"),
            ({"confirmed": "on", "interview": every}, "undecided in “Talk 2” (3 of 3), “Talk 3” (3 of 3). Decide them"),
            ({"confirmed": "on", "interview": [talks[0].pk, 999_999]}, "999999 is not one of the available choices"),
        ):
            answer = client.post(path, sent)
            assert answer.status_code == 422
            assert words in answer.content.decode()
        assert not Assignment.objects.filter(completed_at__isnull=False).exists()
        wrong = client.post(path, {"confirmed": "on", "interview": every}).content.decode()
        assert '<a href="#reason-several-1">' in wrong
        assert 'id="confirmed-several-1" required checked>' in wrong
        assert re.search(r'<a href="/studies/culture/my-work/" aria-current="true"', wrong), (
            "the tab is that of her work"
        )
        sent = {"confirmed": "on", "interview": both, "reason": "Boilerplate."}
        assert "2 interviews are completed" in client.post(path, sent, follow=True).content.decode()
        assert find_assignment(round_, talks[1], coder).completed_at
        assert find_assignment(round_, talks[2], coder).completed_at is None
        reasons = (
            AuditEvent.objects.filter(action="round.assignment.completed")
            .order_by("pk")
            .values_list("details", flat=True)
        )
        assert [details.get("reason") for details in reasons] == [None, "Boilerplate."], "where it was asked for"

    def test_the_end_of_the_desk_leads_to_signing_off(self, study, talks, lead, coder, client_of):
        round_ = open_round(study, lead, coder)
        client, desk = client_of(coder), f"/studies/culture/interviews/{talks[0].pk}/"
        link = f"{WORK}?interview={talks[0].pk}#interview-{talks[0].pk}"
        assert f'href="{link}"' in client.get(desk).content.decode()
        page = client.get(link).content.decode()
        assert f'id="interview-{talks[0].pk}"' in page
        assert page.count('<details class="complete" open>') == 1
        actions.complete_assignment(assignment=find_assignment(round_, talks[0], coder), reason="Done.", by=coder)
        assert 'id="complete"' not in client.get(desk).content.decode()

    def test_what_is_not_assigned_cannot_be_signed_off(self, study, talks, lead, coder, second_coder, client_of):
        open_round(study, lead, coder)
        answer = client_of(second_coder).post(f"{ROUNDS}1/complete/{talks[0].pk}/", {"confirmed": "on"})
        assert answer.status_code == 409
        assert "not assigned to you" in answer.content.decode()

    def test_locked_round_is_not_signed_off(self, study, talks, lead, coder, client_of):
        round_ = open_round(study, lead, coder)
        actions.lock_round(round_=round_, by=lead)
        answer = client_of(coder).post(f"{ROUNDS}1/complete/{talks[0].pk}/", {"confirmed": "on", "reason": "x"})
        assert answer.status_code == 409


def _without_tokens(page):
    return re.sub(r"[A-Za-z0-9]{64}", "", page)
