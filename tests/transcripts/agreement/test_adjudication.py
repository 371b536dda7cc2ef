from unittest.mock import ANY
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from tests.conftest import make_member
from tests.transcripts.agreement.cast import BALANCE, COMPASSION, settle, stage_dispute
from tests.transcripts.coding.cast import count_events, find_code, last_event, put
from transcripts.agreement import actions
from transcripts.agreement.models import Adjudication
from transcripts.agreement.pure.figures import fingerprint, name_letter, order_readings
from transcripts.agreement.queries import find_active, find_other_judges, list_versions
from transcripts.coding.models import Coding, Decision
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.actions import set_method


@pytest.fixture
def dispute(study, owner, lead, coder, second_coder):
    set_method(study=study, method="codebook", reason="x", by=lead)
    return stage_dispute(study, owner, coder, second_coder)


def read_all():
    """Every coding and every decision, as they stand."""
    return list(Coding.objects.order_by("pk").values()), list(Decision.objects.order_by("pk").values())


class TestOutcomes:
    def test_one_reading_holds_and_the_codings_are_not_touched(self, dispute, lead, coder, second_coder):
        before = read_all()
        row = settle(dispute, dispute.differing[0], lead, "one", chosen=coder, reason="It weighs.\r\nTwice.")
        assert (row.codes, row.chosen_coder, row.reason) == ([BALANCE], coder, "It weighs.\nTwice.")
        assert {each["coder"]: each["codes"] for each in row.readings} == {
            coder.pk: [BALANCE],
            second_coder.pk: [COMPASSION],
        }
        assert read_all() == before
        assert last_event(dispute.study).details == {
            "sentence": dispute.differing[0].pk,
            "family": "themes",
            "outcome": "one",
            "revision": 1,
            "own_reading": False,
            "rows": ANY,
        }

    def test_reading_that_none_applies_can_be_the_one_that_holds(self, dispute, lead, second_coder):
        assert settle(dispute, dispute.differing[2], lead, "one", chosen=second_coder).codes == []

    def test_other_outcomes(self, dispute, lead):
        both, neither, redefined = (
            settle(dispute, dispute.differing[0], lead, "both"),
            settle(dispute, dispute.differing[1], lead, "neither", codes=(COMPASSION,)),
            settle(dispute, dispute.differing[2], lead, "redefined"),
        )
        assert [both.codes, neither.codes, redefined.codes] == [[], [COMPASSION], []]
        active = find_active(dispute.study, "themes")
        assert {pk: (each.outcome, each.codes, each.adjudicator) for pk, each in active.items()} == {
            dispute.differing[0].pk: ("both", [], lead),
            dispute.differing[1].pk: ("neither", [COMPASSION], lead),
            dispute.differing[2].pk: ("redefined", [], lead),
        }

    @pytest.mark.parametrize(
        ("outcome", "others", "field"),
        [
            ("perhaps", {}, "outcome"),
            ("one", {}, "outcome"),
            ("neither", {"codes": (BALANCE,)}, "codes"),
            ("neither", {"codes": ("move.elicit",)}, "codes"),
            ("both", {"reason": " \n"}, "reason"),
            ("both", {"reason": "x" * 5_001}, "reason"),
            ("both", {"reason": "a\x00b"}, "reason"),
        ],
    )
    def test_wrong_verdict_is_refused_at_its_field(self, dispute, lead, outcome, others, field):
        with pytest.raises(WrongInput) as refused:
            settle(dispute, dispute.differing[0], lead, outcome, **others)
        assert refused.value.field == field
        assert not Adjudication.objects.exists()

    def test_somebody_else_than_the_readers_is_not_a_reading(self, dispute, lead):
        with pytest.raises(WrongInput, match="Choose the reading"):
            settle(dispute, dispute.differing[0], lead, "one", chosen=lead)


class TestRaces:
    def test_later_decision_supersedes_and_both_stay(self, dispute, lead):
        sentence = dispute.differing[0]
        first = settle(dispute, sentence, lead)
        second = settle(dispute, sentence, lead, "redefined", revision=1)
        first.refresh_from_db()
        assert first.superseded_by == second
        assert first.withdrawn_at
        assert [row.revision for row in list_versions(sentence, "themes")] == [2, 1]
        assert find_active(dispute.study, "themes") == {sentence.pk: second}
        assert last_event(dispute.study).details["replaces"] == first.pk

    def test_loser_of_a_race_gets_the_other_decision_and_nothing_is_stored(self, dispute, lead, owner):
        sentence = dispute.differing[0]
        winner = settle(dispute, sentence, owner)
        for revision in (0, 2):
            with pytest.raises(actions.Overtaken) as refused:
                settle(dispute, sentence, lead, "redefined", revision=revision)
            assert refused.value.active == winner
        assert Adjudication.objects.count() == 1

    def test_replay_is_stored_once_and_a_number_used_twice_is_refused(self, dispute, lead):
        idempotency_key = uuid4()
        first = settle(dispute, dispute.differing[0], lead, idempotency_key=idempotency_key)
        events = count_events(dispute.study)
        assert settle(dispute, dispute.differing[0], lead, idempotency_key=idempotency_key) == first
        assert count_events(dispute.study) == events
        with pytest.raises(actions.UsedForAnother):
            settle(dispute, dispute.differing[1], lead, idempotency_key=idempotency_key)

    def test_page_sent_again_with_another_decision_is_refused_and_not_passed_over(
        self, dispute, lead, coder, second_coder
    ):
        idempotency_key, sentence = uuid4(), dispute.differing[0]
        first = settle(dispute, sentence, lead, "one", chosen=coder, idempotency_key=idempotency_key)
        again = [
            ("both", {}),
            ("one", {"chosen": second_coder}),
            ("one", {"chosen": coder, "reason": "On second thought."}),
            ("neither", {"codes": (COMPASSION, BALANCE)}),
        ]
        for outcome, others in again:
            with pytest.raises(actions.UsedForAnother):
                settle(dispute, sentence, lead, outcome, idempotency_key=idempotency_key, **others)
        assert settle(dispute, sentence, lead, "one", chosen=coder, idempotency_key=idempotency_key) == first
        assert Adjudication.objects.count() == 1

    def test_decision_about_readings_that_have_changed_is_refused(self, dispute, lead, coder):
        shown = fingerprint(actions.read_readings(dispute.study, dispute.themes, dispute.differing[0]))
        put(dispute.differing[0], find_code(dispute.study, "theme.models_metamodels"), coder)
        with pytest.raises(actions.ReadingsChanged):
            settle(dispute, dispute.differing[0], lead, shown=shown)

    def test_database_lets_one_decision_stand(self, dispute, lead):
        row = settle(dispute, dispute.differing[0], lead)
        row.pk, row.idempotency_key, row.revision = None, uuid4(), 2
        with pytest.raises(IntegrityError), transaction.atomic():
            row.save(force_insert=True)
        row.withdrawn_at, row.superseded_by_id, row.reason = None, None, ""
        with pytest.raises(IntegrityError), transaction.atomic():
            row.save(force_insert=True)


class TestWhoAndWhere:
    def test_who_read_it_herself_leaves_it_to_others(self, study, owner, lead, coder):
        set_method(study=study, method="codebook", reason="x", by=lead)
        dispute = stage_dispute(study, owner, lead, coder)
        with pytest.raises(Refused, match="owner"):
            settle(dispute, dispute.differing[0], lead)
        settle(dispute, dispute.differing[0], owner)

    def test_where_nobody_else_may_she_decides_and_it_is_kept(self, study, owner, coder):
        set_method(study=study, method="codebook", reason="x", by=owner)
        dispute = stage_dispute(study, owner, owner, coder)
        settle(dispute, dispute.differing[0], owner)
        assert last_event(study).details["own_reading"] is True

    def test_other_judges_are_members_with_the_right_who_did_not_read(self, study, owner, lead, coder, reader):
        second_lead = make_member(study, owner, "lead", "anna")
        assert find_other_judges(study, [owner.pk]) == [second_lead, lead]

    def test_what_is_read_alike_is_not_decided(self, dispute, lead):
        for sentence in dispute.alike:
            with pytest.raises(Refused, match="no longer disagree"):
                settle(dispute, sentence, lead)

    def test_reflexive_family_is_not_adjudicated(self, dispute, lead):
        set_method(study=dispute.study, family="themes", method="reflexive", reason="x", by=lead)
        with pytest.raises(Refused, match="both kept"):
            settle(dispute, dispute.differing[0], lead)


class TestLetters:
    def test_order_depends_on_the_sentence_and_not_on_who_came_first(self):
        found = {1: ["x"], 2: [], 3: ["y", "z"]}
        orders = {tuple(order_readings(sentence, found)) for sentence in range(60)}
        assert len(orders) == 6
        again = order_readings(7, dict(reversed(found.items())))
        assert list(order_readings(7, found).items()) == list(again.items())

    def test_fingerprint_is_of_coders_and_codes(self):
        one, other = {1: ("x",), 2: ()}, {1: (), 2: ("x",)}
        assert fingerprint(one) != fingerprint(other)
        assert [name_letter(place) for place in (0, 25, 26)] == ["A", "Z", "27"]
