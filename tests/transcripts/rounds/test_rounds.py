from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from tests.transcripts.coding.cast import decide, find_code, last_event, put
from tests.transcripts.rounds.cast import answers, bring_in, fields, find_assignment, is_open_for, open_round
from transcripts.agreement.queries import has_two_coders
from transcripts.coding.models import Coding
from transcripts.corpus.models import Interview
from transcripts.refusals import Refused
from transcripts.rounds import actions, queries
from transcripts.rounds.models import Assignment, Round
from transcripts.rounds.pure import fingerprint
from transcripts.rounds.queries import CLOSURE, CLOSURE_PARAMETERS, read_all_work, read_notes, read_progress
from transcripts.studies.actions import remove_member


@pytest.fixture
def talks(study, owner):
    return bring_in(study, owner, ["Model A", "Model A", "Model B", "Model B"])


class TestOpening:
    def test_confirmed_plan_becomes_a_round_with_its_assignments_and_one_event(
        self, study, talks, lead, coder, second_coder
    ):
        round_ = open_round(study, lead, coder, second_coder, overlap_percent=50, seed=9)
        assert round_.number == 1
        coverage = queries.measure_coverage(queries.read_labels(study), queries.list_active(round_))
        assert [(each["label"], each["several"], each["single"], each["none"]) for each in coverage["models"]] == [
            ("Model A", 1, 1, 0),
            ("Model B", 1, 1, 0),
        ]
        assert [load["total"] for load in coverage["loads"]] == [3, 3]
        event = last_event(study)
        assert event.action == "round.opened"
        assert event.details == {
            "number": 1,
            "interviews": 4,
            "assignments": 6,
            "seed": 9,
            "overlap_percent": 50,
            "overlap_readers": 2,
            "closes_others": True,
            "coders": sorted([coder.pk, second_coder.pk]),
        }

    def test_another_plan_under_the_number_of_a_round_is_not_passed_over(self, study, talks, lead, coder):
        idempotency_key = uuid4()
        open_round(study, lead, coder, idempotency_key=idempotency_key)
        with pytest.raises(actions.PlanChanged, match="has already become round 1"):
            open_round(study, lead, coder, idempotency_key=idempotency_key, name="Another")

    def test_plan_confirmed_twice_is_one_round(self, study, talks, owner, lead, coder):
        idempotency_key = uuid4()
        first = open_round(study, lead, coder, idempotency_key=idempotency_key)
        _, allocation = actions.plan_round(study=study, **fields(coder, name="Another"))
        again = actions.open_round(
            study=study,
            **fields(coder),
            plan_name=fingerprint(allocation),
            idempotency_key=idempotency_key,
            by=owner,
        )
        assert first == again
        assert Round.objects.count() == 1

    def test_two_rounds_of_one_name_are_refused(self, study, talks, lead, coder):
        open_round(study, lead, coder, name="Pilot")
        with pytest.raises(Refused, match="already") as refused:
            open_round(study, lead, coder, name=" pilot ")
        assert refused.value.field == "name"

    def test_plan_is_refused_when_interviews_came_in_since_it_was_shown(self, study, interview, lead, coder):
        _, allocation = actions.plan_round(study=study, **fields(coder))
        bring_in(study, lead, ["Model A"])
        with pytest.raises(actions.PlanChanged):
            actions.open_round(
                study=study,
                **fields(coder),
                plan_name=fingerprint(allocation),
                idempotency_key=uuid4(),
                by=lead,
            )
        assert not Round.objects.exists()

    def test_only_interviews_with_the_wanted_models_are_dealt(self, study, talks, lead, coder):
        round_ = open_round(study, lead, coder, models=["Model B"])
        assert {row.interview for row in queries.list_active(round_)} == set(talks[2:])

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"name": " "}, "needs a name"),
            ({"name": "x" * 201}, "the limit is 200"),
            ({"instructions": "x" * 20_001}, "20,001 characters"),
            ({"overlap_percent": 101}, "from 0 to 100"),
            ({"overlap_percent": 10, "overlap_readers": 3}, "at most the number of coders"),
            ({"seed": -1}, "seed"),
            ({"coder_ids": []}, "at least one coder"),
            ({"models": ["Model Z"]}, "no interview"),
        ],
    )
    def test_wrong_plan_is_refused_in_words(self, study, talks, coder, wrong, words):
        with pytest.raises(Refused, match=words):
            actions.plan_round(study=study, **fields(coder, **wrong))

    def test_nothing_is_dealt_to_readers_or_strangers(self, study, talks, coder, reader, outsider):
        for person in (reader, outsider):
            with pytest.raises(Refused, match="may not code"):
                actions.plan_round(study=study, **fields(coder, person))

    def test_database_keeps_shares_locks_and_assignments_sound(self, study, talks, lead, coder):
        round_ = open_round(study, lead, coder)
        standing = find_assignment(round_, talks[0], coder)
        standing.pk = None
        for break_rule in (
            lambda: Round.objects.filter(pk=round_.pk).update(overlap_percent=101),
            lambda: Round.objects.filter(pk=round_.pk).update(locked_at=timezone.now()),
            lambda: standing.save(force_insert=True),
        ):
            with pytest.raises(IntegrityError), transaction.atomic():
                break_rule()


class TestByHand:
    def test_lead_assigns_once_and_takes_away_without_touching_codings(self, study, talks, lead, coder, second_coder):
        round_ = open_round(study, lead, coder)
        row = actions.assign(round_=round_, interview=talks[0], coder=second_coder, by=lead)
        assert actions.assign(round_=round_, interview=talks[0], coder=second_coder, by=lead) == row
        assert last_event(study).details == {"round": round_.pk, "interview": talks[0].pk, "coder": second_coder.pk}
        put(answers(talks[0])[0], find_code(study, "theme.balance"), second_coder)
        actions.unassign(assignment=row, by=lead)
        actions.unassign(assignment=row, by=lead)
        assert last_event(study).action == "round.unassigned"
        assert Coding.objects.filter(coder=second_coder, withdrawn_at__isnull=True).count() == 1
        assert not is_open_for(talks[0], second_coder)

    def test_what_was_taken_away_can_be_given_again(self, study, talks, lead, coder):
        round_ = open_round(study, lead, coder)
        actions.unassign(assignment=find_assignment(round_, talks[0], coder), by=lead)
        actions.assign(round_=round_, interview=talks[0], coder=coder, by=lead)
        assert is_open_for(talks[0], coder)

    def test_nothing_is_assigned_to_who_may_not_code_or_left(self, study, talks, owner, coder, second_coder, reader):
        round_ = open_round(study, owner, coder)
        remove_member(study=study, user=second_coder, by=owner)
        for person in (reader, second_coder):
            with pytest.raises(Refused, match="may not code"):
                actions.assign(round_=round_, interview=talks[0], coder=person, by=owner)

    def test_interview_of_another_study_is_not_assigned(self, study, talks, lead, coder):
        round_ = open_round(study, lead, coder)
        talks[0].study_id = 0
        with pytest.raises(Refused, match="not part"):
            actions.assign(round_=round_, interview=talks[0], coder=coder, by=lead)


class TestSigningOff:
    def test_finished_interview_is_signed_off_and_closed_to_its_coder_alone(
        self, study, talks, lead, coder, second_coder
    ):
        round_ = open_round(study, lead, coder, second_coder, overlap_percent=100)
        for sentence in answers(talks[0]):
            decide(sentence, coder)
        actions.complete_assignment(assignment=find_assignment(round_, talks[0], coder), by=coder)
        assert not is_open_for(talks[0], coder)
        assert is_open_for(talks[0], second_coder)
        assert last_event(study).details == {"round": round_.pk, "interview": talks[0].pk, "decided": 3, "total": 3}

    def test_unfinished_interview_is_refused_with_counts_unless_a_reason_is_given(self, study, talks, lead, coder):
        row = find_assignment(open_round(study, lead, coder), talks[0], coder)
        put(answers(talks[0])[0], find_code(study, "theme.balance"), coder)
        put(answers(talks[0])[1], find_code(study, "feature.task"), coder)
        with pytest.raises(actions.StillUndecided, match="2 of 3"):
            actions.complete_assignment(assignment=row, reason=" ", by=coder)
        actions.complete_assignment(assignment=row, reason="The rest is boilerplate.", by=coder)
        assert last_event(study).details["reason"] == "The rest is boilerplate."

    def test_nobody_signs_for_another(self, study, talks, lead, coder):
        row = find_assignment(open_round(study, lead, coder), talks[0], coder)
        with pytest.raises(Refused, match="another person"):
            actions.complete_assignment(assignment=row, reason="Hers is done.", by=lead)

    def test_lead_gives_back_with_a_reason_only(self, study, talks, lead, coder):
        row = find_assignment(open_round(study, lead, coder), talks[0], coder)
        actions.complete_assignment(assignment=row, reason="x", by=coder)
        with pytest.raises(Refused, match="completed"):
            actions.unassign(assignment=row, by=lead)
        with pytest.raises(Refused):
            actions.reopen_assignment(assignment=row, reason="", by=lead)
        actions.reopen_assignment(assignment=row, reason="A definition changed.", by=lead)
        assert is_open_for(talks[0], coder)
        assert last_event(study).details["reason"] == "A definition changed."


class TestLocking:
    def test_locked_round_takes_no_change_until_it_is_unlocked_with_a_reason(self, study, talks, lead, coder):
        round_ = open_round(study, lead, coder)
        row = find_assignment(round_, talks[0], coder)
        actions.lock_round(round_=round_, by=lead)
        actions.lock_round(round_=round_, by=lead)
        assert last_event(study).details == {"number": 1, "assignments": 4, "completed": 0}
        assert not is_open_for(talks[0], coder)
        for refused in (
            lambda: actions.assign(round_=round_, interview=talks[0], coder=coder, by=lead),
            lambda: actions.unassign(assignment=row, by=lead),
            lambda: actions.complete_assignment(assignment=row, reason="x", by=coder),
        ):
            with pytest.raises(Refused, match="locked"):
                refused()
        with pytest.raises(Refused):
            actions.unlock_round(round_=round_, reason="", by=lead)
        actions.unlock_round(round_=round_, reason="One interview was missed.", by=lead)
        assert is_open_for(talks[0], coder)
        assert last_event(study).action == "round.unlocked"

    def test_interview_is_over_when_every_round_that_has_it_is_locked(self, study, talks, lead, coder, second_coder):
        assert queries.find_locked_interviews(study) == set()
        first = open_round(study, lead, coder)
        second = open_round(study, lead, second_coder, name="Second", models=["Model B"])
        actions.lock_round(round_=first, by=lead)
        assert queries.find_locked_interviews(study) == {talks[0].pk, talks[1].pk}
        actions.lock_round(round_=second, by=lead)
        assert queries.find_locked_interviews(study) == {talk.pk for talk in talks}


def test_desk_and_rounds_agree_on_what_is_open(study, talks, lead, coder, second_coder):
    """The desk asks in its own SQL, inside the one statement that reads a sentence; the rule is the same."""

    def check(expected):
        found = []
        for talk in talks:
            [row] = Interview.objects.raw(
                f"SELECT i.id, {CLOSURE} AS closure FROM corpus_interview i WHERE i.id = %s",
                [*[coder.pk] * CLOSURE_PARAMETERS, talk.pk],
            )
            found.append(row.closure == "open")
        assert found == [is_open_for(talk, coder) for talk in talks] == expected

    check([True] * 4)
    first = open_round(study, lead, coder, models=["Model A"])
    check([True, True, False, False])
    actions.complete_assignment(assignment=find_assignment(first, talks[0], coder), reason="x", by=coder)
    check([False, True, False, False])
    second = open_round(study, lead, coder, second_coder, name="Second", overlap_percent=100)
    check([True] * 4)
    actions.lock_round(round_=second, by=lead)
    check([False, True, False, False])
    Assignment.objects.update(withdrawn_at=timezone.now())
    check([True] * 4)


def test_progress_counts_sentences_of_the_model_with_a_decision_or_a_sentence_code(study, talks, coder, second_coder):
    first, second, third = answers(talks[0])
    put(first, find_code(study, "theme.balance"), coder)
    put(first, find_code(study, "theme.compassion"), coder)
    decide(first, coder)
    put(second, find_code(study, "feature.task"), coder)
    question = talks[0].turns.get(role="interviewer").sentences.get()
    decide(question, coder)
    decide(third, second_coder)
    table = read_progress([talks[0].pk, talks[1].pk])
    assert table.find(talks[0].pk, coder.pk) == (1, 3)
    assert table.find(talks[0].pk, second_coder.pk) == (1, 3)
    assert table.find(talks[1].pk, coder.pk) == (0, 3)
    assert read_progress([talks[0].pk], coder_id=coder.pk).find(talks[0].pk, second_coder.pk) == (0, 3)


class TestTwoRounds:
    """One interview dealt to one coder in two rounds is one interview."""

    def test_it_is_counted_once(self, study, talks, lead, coder):
        first = open_round(study, lead, coder)

        def read():
            whole = read_all_work(study)
            return [whole["total"], [row.text for row in whole["coders"].rows], read_notes([study], coder)]

        before = read()
        second = open_round(study, lead, coder, name="Second pass")
        assert Assignment.objects.filter(interview=talks[0], coder=coder, round__in=[first, second]).count() == 2
        assert read() == before
        assert read_notes([study], coder) == {study.pk: "4 interviews assigned to you"}


class TestLeaving:
    def test_who_removes_a_member_reads_what_is_still_assigned_to_her(
        self, study, talks, owner, lead, coder, client_of
    ):
        def read(person):
            address = reverse("studies:remove_member", args=[study.slug, person.pk])
            return client_of(owner).get(address).content.decode()

        round_ = open_round(study, lead, coder)
        assert "Round 1: 4 interviews are assigned to coder and not completed." in read(coder)
        assert "and not completed" not in read(lead)
        actions.complete_assignment(assignment=find_assignment(round_, talks[0], coder), reason="x", by=coder)
        assert "Round 1: 3 interviews are assigned to coder and not completed." in read(coder)
        actions.lock_round(round_=round_, by=lead)
        assert "and not completed" not in read(coder)

    def test_agreement_stays_on_the_overview_when_one_of_two_coders_has_left(
        self, study, talks, owner, lead, coder, second_coder
    ):
        for each in (coder, second_coder):
            decide(answers(talks[0])[0], each)
        for each in (lead, coder, second_coder):
            remove_member(study=study, user=each, by=owner)
        assert has_two_coders(study)

    def test_a_reader_is_nobody_to_compare_with(self, study, owner, reader):
        for membership in study.memberships.exclude(user__in=[owner, reader]):
            remove_member(study=study, user=membership.user, by=owner)
        assert study.members.count() == 2
        assert not has_two_coders(study)
