"""Turns asked about a second time, with control sentences; and batches of the first prompt."""

import json

import pytest

from auditapp.annotators.actions.annotators import ensure_annotator
from auditapp.annotators.actions.launching import launch_preannotation
from auditapp.annotators.models import CheckAnswer, ControlSentence, Suggestion, TurnAnswer
from auditapp.annotators.runner import read_asked_turns, render_turn_prompts
from auditapp.batches.kinds import Answered
from auditapp.batches.models import Arm, Cell
from tests.auditapp.annotators.cast import KIND, add_reader, coding, read_material, say, standing
from tests.support.databases import stored


@stored
def annotator(study, owner):
    add_reader()
    return ensure_annotator(study=study, name="reader", by=owner)


@stored
def batch(study, interview, annotator, owner):
    return launch_preannotation(study=study, annotator=annotator, families=["themes", "moves"], by=owner)


@stored
def arm(batch):
    return batch.arms.get(task="themes")


class TestAskedAgain:
    @pytest.fixture
    def again(self, arm, study):
        """The same question once more, with two control sentences and a code told under another name."""
        controls = [
            ControlSentence.objects.create(
                study=study, text=text, codes=[], created_at=arm.batch.created_at, created_by_name="lead"
            ).pk
            for text in ("Both sides count here.", "The weather is fine.")
        ]
        settings = arm.settings | {
            "condition": "reask",
            "seed": 5,
            "controls": controls,
            "names": {"A1": "theme.balance"},
        }
        return Arm.objects.create(
            batch=arm.batch,
            variant=arm.variant,
            task="themes again",
            system_prompt=arm.system_prompt.replace("theme.balance", "A1"),
            prompt_hash="x",
            settings=settings,
        )

    def test_control_sentences_stand_among_the_turns_own_under_numbers_of_their_own(self, again, sentence):
        prompts = [render_turn_prompts(again, [sentence.turn_id])[sentence.turn_id] for _ in range(2)]
        assert prompts[0] == prompts[1]
        turn = read_material(prompts[0])["turn"]
        own = {each.pk for each in standing(sentence.turn)}
        added = {piece["sentence"]: piece["text"] for piece in turn if piece["sentence"] not in own}
        assert sorted(added.values()) == ["Both sides count here.", "The weather is fine."]
        asked = read_asked_turns(again, [sentence.turn_id])[sentence.turn_id]
        assert asked.controls.keys() == added.keys()
        assert dict(asked.texts) == {piece["sentence"]: piece["text"] for piece in turn}

    def test_the_answer_is_kept_from_the_desk(self, again, sentence):
        own = standing(sentence.turn)
        controls = read_asked_turns(again, [sentence.turn_id])[sentence.turn_id].controls
        answer = json.loads(say(own, of_0=[coding("ask", "A1")]))
        answer["sentences"] += [
            {"sentence": number, "codings": [coding("count", "A1")] if key == min(controls.values()) else []}
            for number, key in controls.items()
        ]
        cell = Cell.objects.create(batch=again.batch, arm=again, input_id=sentence.turn_id)
        answered = Answered(cell.pk, again.pk, sentence.turn_id, json.dumps(answer), "stop", "")
        assert KIND.store_answers(again.batch, [answered]) == {cell.pk: "valid"}
        check = CheckAnswer.objects.get()
        first, second = sorted(controls.values())
        assert check.picks == {str(each.pk): ["theme.balance"] if each == own[0] else [] for each in own}
        assert check.controls == {str(first): ["theme.balance"], str(second): []}
        assert (check.condition, check.asked) == ("reask", [each.pk for each in own])
        assert not Suggestion.objects.exists()
        assert not TurnAnswer.objects.exists()

    def test_a_control_sentence_left_out_makes_the_answer_partial(self, again, sentence):
        cell = Cell.objects.create(batch=again.batch, arm=again, input_id=sentence.turn_id)
        answered = Answered(cell.pk, again.pk, sentence.turn_id, say(standing(sentence.turn)), "stop", "")
        assert KIND.store_answers(again.batch, [answered]) == {cell.pk: "partial"}
        assert (CheckAnswer.objects.get().missing, CheckAnswer.objects.get().controls) == ([], {})
