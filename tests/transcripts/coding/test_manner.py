"""What a coding says beside its code: quote, range, grounding, prompting, the code's own questions."""

import json
from uuid import uuid4

import pytest

from tests.transcripts.coding.cast import find_code, last_event, put, standing_codes, take_off
from tests.transcripts.desk.desk_pages import act, address
from transcripts.codebook.models import CodeFamily
from transcripts.coding.models import Coding
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.refusals import WrongInput

QUESTIONS = [
    {"key": "how", "label": "How it asks", "kind": "choice", "choices": ["external", "internal", "tool"]},
    {"key": "why", "label": "What for", "kind": "text"},
]


@pytest.fixture
def asking(study):
    """A move with questions of its own."""
    code = find_code(study, "move.elicit")
    code.attributes = QUESTIONS
    code.save()
    return code


@pytest.fixture
def answer(sentence):
    """The sentences of the first answer."""
    return list(sentence.turn.sentences.select_related("turn__interview__study").order_by("start"))


def import_other(study, owner):
    """A sentence of a second interview."""
    line = json.dumps({"id": "i2", "turns": [{"role": "model", "text": "It depends."}]})
    import_file(study=study, name="other.jsonl", data=line.encode(), by=owner)
    return Sentence.objects.select_related("turn__interview__study").get(turn__interview__external_id="i2")


class TestQuotes:
    def test_words_inside_the_sentence(self, sentence, code, coder):
        coding = put(sentence, code, coder, quote=(sentence.start + 2, sentence.start + 7))
        assert sentence.turn.text[coding.quote_start : coding.quote_end] == "would"

    def test_another_quote_replaces_the_first(self, study, sentence, code, coder):
        first = put(sentence, code, coder, quote=(sentence.start, sentence.start + 1))
        second = put(sentence, code, coder, quote=(sentence.start, sentence.start + 7))
        first.refresh_from_db()
        assert first.superseded_by == second
        assert last_event(study).details["quote"] == [sentence.start, sentence.start + 7]
        assert standing_codes(sentence, coder) == ["theme.balance"]

    @pytest.mark.parametrize("quote", [(-1, 3), (3, 3), (3, 2), (0, 10_000)])
    def test_words_outside_are_refused(self, sentence, code, coder, quote):
        with pytest.raises(WrongInput, match="within its sentence") as refusal:
            put(sentence, code, coder, quote=quote)
        assert refusal.value.field == "quote_start"
        assert not Coding.objects.exists()

    def test_codes_of_turns_take_none(self, study, sentence, coder):
        with pytest.raises(WrongInput, match="apply to the whole turn"):
            put(sentence, find_code(study, "feature.task"), coder, quote=(sentence.start, sentence.end))


class TestAnswers:
    def test_answers_are_stored_without_empty_ones(self, sentence, asking, coder):
        coding = put(sentence, asking, coder, attributes={"how": "tool", "why": "  "})
        assert Coding.objects.get(pk=coding.pk).attributes == {"how": "tool"}

    def test_the_same_answers_are_no_change(self, sentence, asking, coder):
        first = put(sentence, asking, coder, attributes={"how": "tool", "why": "to know more"})
        assert put(sentence, asking, coder, attributes={"why": "to know  more", "how": "tool"}) == first

    def test_another_answer_supersedes(self, study, sentence, asking, coder):
        first = put(sentence, asking, coder, attributes={"why": "to know more"})
        put(sentence, asking, coder, attributes={"why": "to be sure"})
        first.refresh_from_db()
        assert first.withdrawn_at is not None
        assert "to be sure" not in str(last_event(study).details)
        assert last_event(study).details["answers"] == ["why"]

    @pytest.mark.parametrize(
        ("answers", "told"),
        [
            ({"who": "me"}, "has no question 'who'. Its questions are how and why."),
            ({"how": "oddly"}, "How it asks: 'oddly' is not one of the answers. Choose external, internal or tool."),
            ({"why": "x" * 1_001}, "the limit is 1,000"),
        ],
    )
    def test_other_answers_are_refused(self, sentence, asking, coder, answers, told):
        with pytest.raises(WrongInput, match=told) as refusal:
            put(sentence, asking, coder, attributes=answers)
        assert refusal.value.field == "attributes"

    def test_code_without_questions_takes_no_answers(self, sentence, code, coder):
        with pytest.raises(WrongInput, match="has no questions"):
            put(sentence, code, coder, attributes={"how": "tool"})


class TestGroundingAndPrompting:
    def test_both_are_stored_and_told(self, study, sentence, code, coder):
        coding = put(sentence, code, coder, grounding="grounded", prompting="unclear")
        assert (coding.grounding, coding.prompting) == ("grounded", "unclear")
        assert last_event(study).details["grounding"] == "grounded"

    @pytest.mark.parametrize("field", ["grounding", "prompting"])
    def test_unknown_words_are_refused(self, sentence, code, coder, field):
        unknown = {field: "so"}
        with pytest.raises(WrongInput, match=f"There is no {field} 'so'") as refusal:
            put(sentence, code, coder, **unknown)
        assert refusal.value.field == field


class TestRanges:
    def test_rows_of_one_act_share_a_number(self, answer, code, coder):
        number = uuid4()
        rows = [put(each, code, coder, range_id=number) for each in answer[:3]]
        assert {row.range_id for row in rows} == {number}

    def test_a_coding_that_stands_joins_a_range(self, answer, code, coder):
        alone = put(answer[0], code, coder)
        joined = put(answer[0], code, coder, range_id=uuid4())
        alone.refresh_from_db()
        assert alone.superseded_by == joined
        assert put(answer[0], code, coder) == joined

    def test_two_codes_in_one_range_are_refused(self, study, answer, code, coder):
        number = uuid4()
        put(answer[0], code, coder, range_id=number)
        with pytest.raises(WrongInput, match="has only one code") as refusal:
            put(answer[1], find_code(study, "theme.compassion"), coder, range_id=number)
        assert refusal.value.field == "range"

    def test_a_range_across_interviews_is_refused(self, study, answer, code, owner, coder):
        number = uuid4()
        put(answer[0], code, coder, range_id=number)
        with pytest.raises(WrongInput, match="must lie within one interview"):
            put(import_other(study, owner), code, coder, range_id=number)
        assert Coding.objects.count() == 1

    def test_nobody_adds_to_anothers_range(self, answer, code, coder, second_coder):
        number = uuid4()
        put(answer[0], code, coder, range_id=number)
        with pytest.raises(WrongInput, match="belongs to another person"):
            put(answer[1], code, second_coder, range_id=number)


class TestInterviewCodes:
    def test_they_show_at_the_head_of_the_interview(self, study, interview, sentence, coder, client_of):
        CodeFamily.objects.filter(codes__identifier="feature.task").update(unit="interview")
        client, code = client_of(coder), find_code(study, "feature.task")

        def read_head():
            page = client.get(address("desk", interview)).content.decode()
            return page.split('id="withdraw"')[1].split('class="exchange"')[0]

        assert "Task" not in read_head()
        answer = act(client, "add", interview, coder, sentence=sentence.pk, code=code.pk)
        assert f'id="im{interview.pk}"' in answer.content.decode()
        assert f'id="im{interview.pk}"' in read_head()
        assert "Task" in read_head()
        page = client.get(address("desk", interview)).content.decode()
        assert "of the interview" in page
        assert '<span id="decided-count">0</span>' in page

    def test_they_stand_on_the_first_sentence_of_the_interview(self, study, interview, coder):
        CodeFamily.objects.filter(codes__identifier="feature.task").update(unit="interview")
        code = find_code(study, "feature.task")
        sentences = Sentence.objects.select_related("turn__interview__study").filter(turn__interview=interview)
        first, last = sentences.order_by("position")[0], sentences.order_by("-position")[0]
        coding = put(last, code, coder)
        assert coding.sentence_id == first.pk
        assert put(first, code, coder) == coding
        take_off(coding, coder)
        assert standing_codes(first, coder) == []
