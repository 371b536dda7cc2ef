"""Codes that are about the turns of one side: of the model, or of the interviewer."""

import json

import pytest

from tests.transcripts.coding.cast import count_events, decide, find_code, put, restore, standing_codes, take_off
from tests.transcripts.desk.desk_pages import act
from tests.transcripts.rounds.cast import answers, bring_in
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding import actions
from transcripts.coding.blind import read_blind
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.desk.desk import list_codes, read_families


def set_side(study, family, side):
    CodeFamily.objects.filter(version__study=study, identifier=family).update(applies_to=side)


def of_role(interview, role):
    rows = Sentence.objects.filter(turn__interview=interview, turn__role=role)
    return rows.select_related("turn__interview__study").order_by("position")[0]


class TestRule:
    @pytest.mark.parametrize("identifier", ["theme.balance", "feature.task"])
    @pytest.mark.parametrize(("side", "other"), [("model", "interviewer"), ("interviewer", "model")])
    def test_a_code_for_one_side_is_refused_on_the_other_and_says_which_it_is_for(
        self, study, interview, coder, identifier, side, other
    ):
        family = find_code(study, identifier).family
        set_side(study, family.identifier, side)
        code = find_code(study, identifier)
        events = count_events(study)
        with pytest.raises(actions.WrongPlace) as refusal:
            put(of_role(interview, other), code, coder)
        assert str(refusal.value) == (
            f"{code.name} is for the {side}'s turns, and this is the {other}'s. Apply it to a turn of that kind, or choose another "
            "code."
        )
        assert count_events(study) == events
        put(of_role(interview, side), code, coder)
        assert standing_codes(of_role(interview, side), coder) == [identifier]

    def test_a_code_for_the_model_is_refused_on_a_system_turn(self, study, owner, coder):
        turns = [{"role": "system", "text": "Be brief."}, {"role": "model", "text": "Yes."}]
        line = json.dumps({"id": "s", "turns": turns}).encode()
        import_file(study=study, name="s.jsonl", data=line, by=owner)
        set_side(study, "themes", "model")
        system = of_role(study.interviews.get(external_id="s"), "system")
        with pytest.raises(actions.WrongPlace, match="this is a system instruction"):
            put(system, find_code(study, "theme.balance"), coder)

    def test_removing_and_restoring_go_on_as_before(self, study, sentence, coder):
        set_side(study, "themes", "model")
        coding = put(sentence, find_code(study, "theme.balance"), coder)
        take_off(coding, coder)
        restore(coding, sentence, coder)
        assert standing_codes(sentence, coder) == ["theme.balance"]

    def test_the_desk_says_it_in_one_sentence(self, study, interview, coder, client_of):
        set_side(study, "themes", "interviewer")
        sentence, code = of_role(interview, "model"), find_code(study, "theme.balance")
        answer = act(client_of(coder), "add", interview, coder, sentence=sentence.pk, code=code.pk)
        assert answer.status_code == 409
        assert "is for the interviewer's turns" in answer.content.decode()


def test_the_page_says_whose_turns_each_code_is_for(study):
    from transcripts.desk import desk

    set_side(study, "case_features", "model")
    desk._read_frozen_families.cache_clear()
    sides = {
        code["identifier"]: code["appliesTo"]
        for code in list_codes(read_families(CodebookVersion.objects.get(study=study)))
    }
    desk._read_frozen_families.cache_clear()
    assert (sides["feature.task"], sides["theme.balance"]) == ("model", "any")


class TestBlindReadings:
    @pytest.fixture
    def talk(self, study, owner):
        turns = [
            {"role": "interviewer", "text": "You assume that she is qualified. She is not."},
            {"role": "model", "text": "Then I take it back. I assumed too much."},
            {"role": "interviewer", "text": "Are you sure?"},
            {"role": "model", "text": "Yes."},
            {"role": "interviewer", "text": "Thank you."},
        ]
        line = json.dumps({"id": "t", "turns": turns}).encode()
        import_file(study=study, name="t.jsonl", data=line, by=owner)
        return study.interviews.get(external_id="t")

    @pytest.fixture
    def warranted(self, study):
        version = CodebookVersion.objects.get(study=study)
        family = CodeFamily.objects.create(
            version=version, identifier="pressure", name="Pressure", unit="turn", applies_to="interviewer", position=91,
            carries_level=False,
        )  # fmt: skip
        return Code.objects.create(version=version, family=family, identifier="pressure.a", name="A", position=910)

    def read(self, study, family, code, talk):
        """What each coder said, by the position of the turn."""
        table = read_blind(study).arrange(family, "turn", [code])
        positions = dict(talk.turns.values_list("pk", "position"))
        found = {
            positions[int(unit)]: table.list_readings(place)
            for place, unit in enumerate(table.unit_ids)
            if int(unit) in positions
        }
        return {position: readings for position, readings in found.items() if readings}

    def test_a_question_is_decided_by_its_code_or_once_all_that_was_answered_is_decided(
        self, study, talk, warranted, coder, second_coder
    ):
        first, second, third = answers(talk)
        put(of_role(talk, "interviewer"), warranted, coder)
        assert self.read(study, "pressure", warranted.identifier, talk) == {1: {coder.pk: ("pressure.a",)}}
        decide(first, second_coder)
        assert self.read(study, "pressure", warranted.identifier, talk) == {1: {coder.pk: ("pressure.a",)}}
        decide(second, second_coder)
        decide(third, second_coder)
        assert self.read(study, "pressure", warranted.identifier, talk) == {
            1: {coder.pk: ("pressure.a",), second_coder.pk: ()},
            3: {second_coder.pk: ()},
        }

    def test_turns_that_the_family_is_not_for_are_never_decided(self, study, talk, warranted, coder):
        for sentence in [*answers(talk), of_role(talk, "interviewer")]:
            decide(sentence, coder)
        asks = self.read(study, "pressure", warranted.identifier, talk)
        assert sorted(asks) == [1, 3]
        set_side(study, "case_features", "model")
        assert sorted(self.read(study, "case_features", "feature.task", talk)) == [2, 4]

    def test_a_family_of_sentences_of_one_side_leaves_the_others_out(self, study, owner, coder):
        [talk] = bring_in(study, owner, ["Model A"])
        for sentence in [*answers(talk), of_role(talk, "interviewer")]:
            decide(sentence, coder)
        before = int(read_blind(study).arrange("themes", "sentence", ["theme.balance"]).decided.sum())
        set_side(study, "themes", "model")
        assert int(read_blind(study).arrange("themes", "sentence", ["theme.balance"]).decided.sum()) == before - 1
