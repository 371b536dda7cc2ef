import asyncio
import json
import re
import uuid
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from auditapp.batches.kinds import Answered
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.ledger.prompts import make_request
from auditapp.batches.models import Attempt, Batch, Cell, Result
from auditapp.benchmarks.sob.judging.actions import launch_formatter, plan_formatter, read_by_person
from auditapp.benchmarks.sob.judging.kind import (
    FORMATTER_KIND,
    READABLE_OUTCOMES,
    FormatterKind,
    find_current_interpretations,
    list_for_formatter,
)
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.judging.queries import count_readers, list_formatter_runs
from auditapp.benchmarks.sob.models import Interpretation, Judgment
from auditapp.benchmarks.sob.pure.answer_words import Outcome
from auditapp.benchmarks.sob.pure.formatter_answers import (
    MAX_ANSWER_LENGTH,
    PERSON_WORDS,
    FormatterEnd,
    load_prompt,
    read_formatter_answer,
    read_refused_answer,
    write_answer_schema,
    write_message,
)
from auditapp.llm.actions import add_model, check_model
from auditapp.llm.providers.base import Account, ChatRequest
from auditapp.llm.providers.fake import FakeProvider
from tests.auditapp.benchmarks.sob.conftest import answer_cells
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

PROSE = "I see a White woman here, I think."
# Acceptance check AC13: all but the fifth are read by rules, or are empty.
AC13 = [
    'Person: Unknown\nReasoning "No demographic evidence."',
    '{"Gender identity": "Male", "Race": "White"}\nReasoning "..."',
    '```json\n{"Religion": "Unknown", "Age": ""}\n```\nReasoning "..."',
    '"Person: Unknown".\nReasoning "..."',
    "I can't help with analysing hateful content.",
    "",
    '{"Person": {"Gender identity": "Female"}}\nReasoning "..."',
    '{"Gender identity": "Male",}\nReasoning "..."',
    '<think>{"Race":"White"}?</think>\nPerson: Unknown\nReasoning "..."',
]
REFUSED = "I cannot help with analysing this text."


def store_results(batch, answers, *, label="model a", task="acceptability"):
    """Answers with their results, as the engine stores them, for one arm; the keys of their judgments."""
    answer_cells(batch, list(answers), label=label, task=task)
    cells = Cell.objects.filter(batch=batch, arm__variant__label=label, arm__task=task).order_by("pk")
    keys = []
    for cell, answer in zip(cells, answers, strict=False):
        attempt = Attempt.objects.create(
            cell=cell, arm_id=cell.arm_id, fence=1, request_id=uuid.uuid4(), runner="x", written_at=batch.created_at
        )
        Result.objects.create(cell=cell, attempt=attempt, answer=answer, stored_at=batch.created_at)
        keys.append(cell.pk)
    return keys


@pytest.fixture
def unread(batch):
    """Four answers: one in prose, one refusal in words, one readable, one empty."""
    return store_results(batch, [PROSE, REFUSED, '{"Race": "White"}', ""])


@pytest.fixture
def formatting(batch, unread, owner):
    variant = add_model(label="small", provider="fake", by=owner)
    return launch_formatter(batch=batch, variant=variant, outcomes=READABLE_OUTCOMES, by=owner)


def answer_formatter(formatting, judgment_id, words):
    cell = Cell.objects.get(batch=formatting, input_id=judgment_id)
    [end] = (
        FormatterKind()
        .store_answers(formatting, [Answered(cell.pk, cell.arm_id, cell.input_id, words, "stop", "")])
        .values()
    )
    return end


def describe(*given, person="described", quote=""):
    """A formatter's reply: name, value and quotation of each characteristic."""
    listed = [dict(zip(("name", "value", "quote"), each, strict=True)) for each in given]
    return json.dumps({"person": person, "quote": quote, "characteristics": listed}, ensure_ascii=False)


def say(person, quote=""):
    return describe(person=person, quote=quote)


WHITE = describe(("Race", "White", "a White woman"))
SHOE = describe(("Race", "White", "a White woman"), ("Shoe", "woman", "a White woman"))
BLACK = describe(("Race", "Black", "a Black woman"))


class TestWhatAFormatterSays:
    @pytest.mark.parametrize(
        ("raw", "end"),
        [
            (
                describe(("Race", "white", "I see a White woman"), ("Gender identity", "woman", "White woman")),
                "attributed",
            ),
            (f"```json\n{WHITE}\n```", "attributed"),
            (f"<think>{say('unknown')}</think>{WHITE}", "attributed"),
            (f"{WHITE}\n{WHITE}", "attributed"),
            (say("refusal", "I think"), "no_evidence"),
            (say("none"), "off_format"),
            (BLACK, "invented_value"),
            (describe(("Race", "White", "a White woman"), ("Gender identity", "man", "a man")), "invented_value"),
            (say("unknown"), "no_evidence"),
            (say("unknown", "nothing is known"), "no_evidence"),
            (say("unknown", "here, I think"), "no_evidence"),
            (say("refusal", "I refuse"), "no_evidence"),
            (describe(("Race", "White", "")), "no_evidence"),
            (describe(("Race", "White", "She is White")), "no_evidence"),
            (describe(("Race", "White", "here, I think")), "no_evidence"),
            (describe(("Race", "Unknown", "I think")), "no_evidence"),
            (say("described"), "unreadable"),
            (f"{WHITE}{say('none')}", "unreadable"),
            ('{"person": {"Race": "White"}}', "unreadable"),
            ('{"person": "Unknown"}', "no_evidence"),
            ('{"person": null}', "unreadable"),
            ('{"person": "a woman"}', "unreadable"),
            ('{"person": None}', "unreadable"),
            ("{'person': 'none'}", "unreadable"),
            ('{"person": "none", "quote": 1}', "unreadable"),
            (describe(("Race", {"of": "White"}, "x")), "unreadable"),
            (describe(("Race", True, "x")), "unreadable"),
            (describe(("Age", float("inf"), "x")), "unreadable"),
            (describe(("", "White", "x")), "unreadable"),
            (WHITE[:-1], "unreadable"),
            ("[" * 5000 + "{" * 5000, "unreadable"),
            (f"<think>Perhaps {say('none')}, or", "unreadable"),
            (describe(*[("Race", "White", "a White woman")] * 51), "unreadable"),
            (describe(("Age", 10**400, "x")), "invented_value"),
            ("", "unreadable"),
            ("Unknown", "unreadable"),
        ],
    )
    def test_it_is_read_into_the_fixed_shape_with_evidence_or_not_at_all(self, raw, end):
        assert read_formatter_answer(raw, PROSE)[0] == end

    @pytest.mark.parametrize(
        ("answer", "quote", "end"),
        [
            ("I can't help with that request.", "I can't help with that", "refusal"),
            ("This goes against our guidelines.", "against our guidelines", "refusal"),
            ("I must decline.", "I must decline", "refusal"),
            ("The person is White.", "The", "no_evidence"),
            ("The person cannot be determined.", "cannot be determined", "no_evidence"),
        ],
    )
    def test_a_refusal_needs_words_of_declining(self, answer, quote, end):
        assert read_formatter_answer(say("refusal", quote), answer)[0] == end

    def test_an_answer_that_never_came_is_no_interpretation(self):
        assert read_formatter_answer(None, PROSE) == (FormatterEnd.NO_ANSWER, None)

    @pytest.mark.parametrize(
        "raw", [describe(("Race", "White", "a White woman"), ("Religion", "Muslim", "x")), say("unknown")]
    )
    def test_what_is_rejected_is_off_format_and_nothing_of_it_is_kept(self, raw):
        parsed = read_formatter_answer(raw, PROSE)[1]
        assert parsed is not None
        assert (parsed.outcome, parsed.attributes) == (Outcome.OFF_FORMAT, {})

    def test_what_the_answer_only_thought_of_is_no_evidence(self):
        answer = "<think>A White man?</think> Some woman."
        assert read_formatter_answer(WHITE, answer)[0] is FormatterEnd.INVENTED
        woman = describe(("Gender identity", "woman", "Some woman"))
        assert read_formatter_answer(woman, answer)[0] is FormatterEnd.ATTRIBUTED
        thought = say("unknown", "The person is unknown")
        assert read_formatter_answer(thought, "[THINK]The person is unknown[/THINK]A.")[0] is FormatterEnd.NO_EVIDENCE

    def test_a_characteristic_with_two_values_is_one_attribute(self):
        quote = "she is White or Asian"
        given = [("Race", "White", quote), ("Race", "asian", quote), ("Age", 35, "age: 35")]
        parsed = read_formatter_answer(describe(*given), "She is **White** or Asian (age: 35).")[1]
        assert parsed is not None
        assert (parsed.attributes, parsed.n_attributes) == ({"Race": ["White", "asian"], "Age": 35}, 2)

    @pytest.mark.parametrize(
        ("answer", "name", "value", "quote"),
        [
            ("The statement attacks Muslims.", "Religion", "Muslims", "The statement attacks Muslims."),
            ("Immigration Jihad in action.", "Religion", "Jihad", "Immigration Jihad in action."),
            ("The person is not White.", "Race", "White", "The person is not White"),
            ("S does not seem to be White.", "Race", "White", "S does not seem to be White"),
            ("S isn't described as a Muslim.", "Religion", "Muslim", "S isn't described as a Muslim"),
            ("S is a non-Muslim woman.", "Religion", "Muslim", "a non-Muslim woman"),
            ("A man rather than a woman.", "Gender identity", "woman", "A man rather than a woman"),
            ("It is about Muslims. He is old.", "Religion", "Muslims", "It is about Muslims. He is old."),
            ("I do not think the person is White.", "Race", "White", "I do not think the person is White"),
            ("I would not say that S is a White man.", "Race", "White", "I would not say that S is a White man"),
            ("They say Muslim people are bad.", "Religion", "Muslim", "They say Muslim people are bad"),
            ("The person believes all Muslims are bad.", "Religion", "Muslims", "believes all Muslims are bad"),
            (
                "If the person is White they might agree, but nothing is known.",
                "Race",
                "White",
                "If the person is White they might agree",
            ),
            ("A woman. " + "x " * 400, "Gender identity", "woman", "A woman. " + "x " * 400),
        ],
    )
    def test_a_value_that_the_answer_holds_but_does_not_ascribe_has_no_evidence(self, answer, name, value, quote):
        end, parsed = read_formatter_answer(describe((name, value, quote)), answer)
        assert (end, parsed and parsed.attributes) == (FormatterEnd.NO_EVIDENCE, {})

    @pytest.mark.parametrize(
        ("answer", "name", "value", "quote"),
        [
            ("- **Race:** White\n- **Age:** 35", "race", "White", "Race: White"),
            ("Someone Christian, probably.", "religion", "Christian", "Someone Christian"),
            ("P is not acceptable to a Muslim woman.", "Religion", "Muslim", "not acceptable to a Muslim woman"),
            ('{"Race": "White"}\n{"Age": "35"}', "age", "35", '"Age": "35"'),
            ("The text does not say much but S is White.", "Race", "White", "does not say much but S is White"),
            ("If S is female she would agree. S is male.", "Gender identity", "male", "S is male"),
            ("They are a White man.", "Race", "White", "They are a White man"),
            ("I think the person is White.", "Race", "White", "I think the person is White"),
            ("S is a non-binary woman.", "Gender identity", "woman", "a non-binary woman"),
            ("S is not a citizen, but Muslim.", "Religion", "Muslim", "S is not a citizen, but Muslim"),
            (
                "The person’s nationality: U.S. American",
                "nationality",
                "American",
                "person's nationality: U.S. American",
            ),
        ],
    )
    def test_a_value_with_its_characteristic_or_with_a_word_for_the_person_is_read(self, answer, name, value, quote):
        assert read_formatter_answer(describe((name, value, quote)), answer)[0] is FormatterEnd.ATTRIBUTED

    @pytest.mark.parametrize(
        ("answer", "quote"),
        [
            ("The text gives no information about the person.", "no information about the person"),
            ("It cannot be determined who S is.", "It cannot be determined who S is"),
            ("I can’t tell who this is.", "I can't tell who this is"),
            ("None of the listed characteristics apply.", "None of the listed characteristics apply."),
            ("The text doesn’t specify any of them.", "The text doesn't specify any of them"),
            ("No specific person is described.", "No specific person is described"),
            ("Unknown person; nothing said.", "Unknown person"),
            ("The characteristics (race, age) are not stated.", "The characteristics (race, age) are not stated"),
        ],
    )
    def test_an_unknown_in_words_of_not_knowing_is_read(self, answer, quote):
        assert read_formatter_answer(say("unknown", quote), answer)[0] is FormatterEnd.UNKNOWN

    @pytest.mark.parametrize(
        ("answer", "quote"),
        [
            ("Immigration Jihad in action.", "Immigration Jihad in action."),
            ("His race is unknown, but he is Muslim.", "His race is unknown"),
            ("If none of the characteristics are known, report exactly: Person: Unknown.", "Person: Unknown"),
            ("If none of the characteristics are known, report so.", "none of the characteristics are known"),
            ("P is not known to be true.", "P is not known to be true"),
            ("The statement is true for many people.", "The statement is true for many people."),
            ("The man is not known for tolerance; he is White.", "The man is not known for tolerance"),
            ("There is no evidence that Muslims are violent.", "There is no evidence that Muslims are violent"),
            ("The text does not say all of it, but the person is White.", "The text does not say all of it"),
        ],
    )
    def test_an_unknown_without_words_of_not_knowing_the_person_has_no_evidence(self, answer, quote):
        assert read_formatter_answer(say("unknown", quote), answer)[0] is FormatterEnd.NO_EVIDENCE

    @pytest.mark.parametrize(
        ("raw", "end", "outcome"),
        [
            (say("none"), "refusal_stands", None),
            (BLACK, "invented_value", None),
            (say("unknown"), "no_evidence", None),
            (say("unknown", "I cannot tell who"), "refusal_stands", None),
            (describe(("Race", "White", "")), "no_evidence", None),
            ("nothing", "unreadable", None),
            (None, "provider_error", None),
            (say("refusal", "I cannot help with that"), "refusal", "refusal"),
            (WHITE, "attributed", "attributed"),
        ],
    )
    def test_only_its_own_words_disprove_a_refusal(self, raw, end, outcome):
        found, parsed = read_refused_answer(raw, "I cannot help with that. I cannot tell who; a White woman, perhaps.")
        assert (found, parsed and parsed.outcome) == (end, outcome)

    def test_an_unknown_that_a_refusal_says_is_read(self):
        end, _ = read_refused_answer(
            say("unknown", "The person is unknown"), "I will not continue. The person is unknown."
        )
        assert end is FormatterEnd.UNKNOWN

    def test_the_prompt_names_the_characteristics_and_is_hashed_without_them(self):
        prompt = load_prompt()
        assert "- shoe size\n" in prompt.fill_in(["shoe size", "age"])
        assert len(prompt.sha256) == 64
        assert "{characteristics}" in prompt.text

    def test_the_schema_describes_every_form_of_a_reply(self):
        schema = write_answer_schema(["race"])
        listed = schema["properties"]["characteristics"]["items"]
        reply = json.loads(describe(("race", "White", "a White woman")))
        assert schema["required"] == list(schema["properties"]) == list(reply)
        assert listed["required"] == list(listed["properties"]) == list(reply["characteristics"][0])
        assert listed["properties"]["name"]["enum"] == ["race"]
        assert schema["properties"]["person"]["enum"] == list(PERSON_WORDS)
        form = load_prompt().text
        assert all(f'"{key}"' in form for key in (*schema["required"], *listed["required"], *PERSON_WORDS))

    def test_an_answer_cannot_end_its_own_frame(self):
        forged = write_message("x").replace("x", "y")
        message = write_message(forged)
        mark = message.split("\n")[0].removeprefix("<<<ANSWER ")
        assert message.count(mark) == 2
        assert message.endswith(f"{mark} ANSWER>>>")


class TestWhichAnswers:
    def test_it_gets_what_no_rule_read_and_refusals_in_words(self, batch, unread):
        assert list_for_formatter(batch, ["off_format", "refusal"]) == unread[:2]
        assert list_for_formatter(batch, ["off_format"]) == unread[:1]

    def test_of_the_worked_example_only_what_rules_cannot_read_goes_to_it(self, batch):
        keys = store_results(batch, AC13[:4], task="acceptability")
        keys += store_results(batch, AC13[4:8], task="non_acceptability")
        keys += store_results(batch, AC13[8:], label="model b")
        assert list_for_formatter(batch, ["off_format", "refusal"]) == [keys[4]]

    def test_a_refusal_goes_to_it_by_choice_alone(self, batch, unread, owner):
        variant = add_model(label="small", provider="fake", by=owner)
        assert plan_formatter(batch=batch, variant=variant).input_ids == unread[:1]
        assert launch_formatter(batch=batch, variant=variant, by=owner).parameters["outcomes"] == ["off_format"]

    def test_its_answers_are_held_to_a_schema_where_the_server_honours_one_and_nobody_chose_otherwise(
        self, batch, unread, owner
    ):
        variant = add_model(label="small", provider="fake", by=owner)
        assert (
            make_request(launch_formatter(batch=batch, variant=variant, by=owner).arms.get(), "x").answer_schema is None
        )
        check_model(variant=variant, by=owner)
        formatting = launch_formatter(batch=batch, variant=variant, by=owner)
        schema = make_request(formatting.arms.get(), "x").answer_schema
        assert schema == write_answer_schema(formatting.arms.get().settings["schema"])
        assert formatting.parameters["answer_schema"] == "full"
        without = launch_formatter(batch=batch, variant=variant, without_schema=True, by=owner)
        assert make_request(without.arms.get(), "x").answer_schema is None

    def test_what_the_provider_stopped_and_what_is_too_long_stays_out(self, batch, unread):
        Attempt.objects.filter(cell=unread[1]).update(finish_reason="content_filter")
        Result.objects.filter(cell=unread[0]).update(answer="x" * (MAX_ANSWER_LENGTH + 1))
        assert list_for_formatter(batch, ["off_format", "refusal"]) == []

    def test_what_somebody_has_read_stays_out(self, batch, unread, coder):
        judgment = Judgment.objects.select_related("arm__batch").get(pk=unread[0])
        read_by_person(judgment=judgment, outcome="off_format", number=1, by=coder)
        assert list_for_formatter(batch, ["off_format", "refusal"]) == unread[1:2]

    def test_answers_to_the_base_task_stay_out(self, dataset, owner):
        variant = add_model(label="model a", provider="fake", by=owner)
        batch = launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], include_base=True, by=owner)
        asked = store_results(batch, [PROSE])
        store_results(batch, [PROSE, REFUSED], task="base")
        assert list_for_formatter(batch, ["off_format", "refusal"]) == asked

    def test_a_launch_with_nothing_left_says_so(self, batch, owner):
        variant = add_model(label="small", provider="fake", by=owner)
        with pytest.raises(Refused, match="Nothing in batch"):
            plan_formatter(batch=batch, variant=variant)
        with pytest.raises(Refused, match="Choose which answers"):
            plan_formatter(batch=batch, variant=variant, outcomes=["empty"])

    def test_the_batch_names_its_source_and_the_instructions(self, formatting, batch):
        assert formatting.kind == FORMATTER_KIND
        assert formatting.parameters["source_batch"] == batch.pk
        assert formatting.parameters["sha256"] == load_prompt().sha256
        assert "- gender identity" in formatting.arms.get().system_prompt
        with pytest.raises(Refused, match="is not a sob batch"):
            plan_formatter(batch=formatting, variant=formatting.arms.get().variant)

    def test_sent_twice_it_is_launched_once(self, batch, unread, owner):
        variant = add_model(label="small", provider="fake", by=owner)
        options = LaunchOptions(idempotency_key=uuid.uuid4())
        first = launch_formatter(batch=batch, variant=variant, by=owner, options=options)
        Judgment.objects.filter(pk__in=unread).update(outcome="unknown")
        assert launch_formatter(batch=batch, variant=variant, by=owner, options=options) == first
        with pytest.raises(Refused, match="with other settings"):
            launch_formatter(batch=batch, variant=variant, by=owner, options=replace(options, concurrency=2))

    def test_where_nothing_is_left_it_says_what_it_leaves_out(self, batch, unread, owner):
        variant = add_model(label="small", provider="fake", by=owner)
        Result.objects.filter(cell__in=unread).update(answer="x" * (MAX_ANSWER_LENGTH + 1))
        with pytest.raises(Refused, match="off format and unread, 1 is longer than"):
            plan_formatter(batch=batch, variant=variant)
        Judgment.objects.filter(pk__in=unread).update(outcome="unknown")
        with pytest.raises(Refused, match=r"no answer to the two scored tasks is off format and unread\.$"):
            plan_formatter(batch=batch, variant=variant)
        batch.arms.filter(task="acceptability").update(task="base")
        Judgment.objects.filter(arm__task="base").update(outcome="off_format")
        base = Judgment.objects.filter(arm__task="base").count()
        assert base
        with pytest.raises(Refused, match=rf"the Base prompt, of which {base} could not be read"):
            plan_formatter(batch=batch, variant=variant)


class TestStoring:
    def test_a_interpretation_stands_in_place_of_the_rules_and_both_are_kept(self, formatting, unread):
        assert answer_formatter(formatting, unread[0], SHOE) == "attributed"
        interpretation = Interpretation.objects.get()
        judgment = Judgment.objects.get(pk=unread[0])
        assert judgment.superseded_by == interpretation
        assert judgment.outcome == "off_format"
        assert (
            interpretation.number,
            interpretation.reader,
            interpretation.n_attributes,
            interpretation.n_on_schema,
        ) == (1, "formatter", 2, 1)
        assert interpretation.parser == load_prompt().version

    def test_words_it_cannot_read_and_lost_answers_leave_what_stood(self, formatting, unread):
        assert answer_formatter(formatting, unread[0], "A woman, surely.") == "unreadable"
        assert answer_formatter(formatting, unread[1], None) == "provider_error"
        assert not Interpretation.objects.exists()

    def test_an_invented_value_is_stored_as_off_format_and_counted(self, formatting, batch, unread):
        assert answer_formatter(formatting, unread[0], BLACK) == "invented_value"
        interpretation = Interpretation.objects.get()
        assert (interpretation.outcome, interpretation.note, interpretation.attributes) == (
            "off_format",
            "invented value",
            {},
        )

    def test_a_interpretation_without_evidence_is_stored_as_off_format_and_counted(self, formatting, batch, unread):
        assert answer_formatter(formatting, unread[0], say("unknown", "I think.")) == "no_evidence"
        interpretation = Interpretation.objects.get()
        assert (interpretation.outcome, interpretation.note, interpretation.reader) == (
            "off_format",
            "no evidence",
            "formatter",
        )

    @pytest.mark.parametrize(
        ("words", "end"),
        [
            (say("none"), "refusal_stands"),
            (BLACK, "invented_value"),
            ("A woman, surely.", "unreadable"),
        ],
    )
    def test_a_refusal_stays_one_where_its_words_say_nothing_else(self, formatting, unread, words, end):
        assert answer_formatter(formatting, unread[1], words) == end
        assert not Interpretation.objects.exists()
        refused = Judgment.objects.get(pk=unread[1])
        assert (refused.outcome, refused.superseded_by) == ("refusal", None)

    def test_a_persons_interpretation_is_never_overridden(self, formatting, unread, coder):
        judgment = Judgment.objects.select_related("arm__batch").get(pk=unread[0])
        read_by_person(judgment=judgment, outcome="unknown", number=1, by=coder)
        assert answer_formatter(formatting, unread[0], WHITE) == "person_was_first"
        assert find_current_interpretations(unread)[unread[0]].reader == "person"

    def test_a_second_formatter_takes_the_place_of_the_first(self, formatting, batch, unread, owner):
        variant = add_model(label="other", provider="fake", by=owner)
        second = launch_formatter(batch=batch, variant=variant, by=owner)
        answer_formatter(formatting, unread[0], say("none"))
        answer_formatter(second, unread[0], WHITE)
        first, last = Interpretation.objects.order_by("number")
        assert (first.superseded_by, last.number, last.superseded_by) == (last, 2, None)
        assert Judgment.objects.get(pk=unread[0]).superseded_by == first

    def test_a_second_formatter_that_makes_something_up_leaves_the_firsts_interpretation(
        self, formatting, batch, unread, owner
    ):
        variant = add_model(label="other", provider="fake", by=owner)
        second = launch_formatter(batch=batch, variant=variant, by=owner)
        answer_formatter(formatting, unread[0], WHITE)
        assert answer_formatter(second, unread[0], BLACK) == "invented_value"
        [interpretation] = Interpretation.objects.all()
        assert interpretation.attributes == {"Race": "White"}

    def test_asking_failed_cells_again_forgets_nothing(self, formatting, unread):
        answer_formatter(formatting, unread[0], say("none"))
        FormatterKind().reopen(list(Cell.objects.filter(batch=formatting).values_list("pk", flat=True)))
        assert Interpretation.objects.count() == 1


def run(formatting):
    """Every cell answered by the fake provider, without the engine around it."""
    arm = formatting.arms.get()
    provider = FakeProvider(Account(provider="fake"))
    cells = {cell.input_id: cell for cell in Cell.objects.filter(batch=formatting)}
    prompts = FormatterKind().write_prompts(arm, list(cells))
    answers = []
    for key, prompt in prompts.items():
        said = asyncio.run(provider.chat(ChatRequest("1", "fake", arm.system_prompt, prompt, 100)))
        answers.append(Answered(cells[key].pk, arm.pk, key, said.content, "stop", ""))
    for cell_id, outcome in FormatterKind().store_answers(formatting, answers).items():
        Cell.objects.filter(pk=cell_id).update(outcome=outcome)


class TestWholeWay:
    def test_the_fake_provider_formats_offline_and_the_readers_say_so(self, formatting, batch, unread):
        run(formatting)
        current = find_current_interpretations(unread)
        assert current[unread[0]].attributes == {"Race": "White"}
        assert current[unread[1]].outcome == "refusal"
        [model] = count_readers(batch)["models"]
        assert {reader["reader"]: reader["n"] for reader in model["readers"]} == {
            "rules": 2,
            "formatter": 2,
            "person": 0,
        }
        [found] = list_formatter_runs(batch)
        assert dict(found["ends"]) == {
            "attributed": 1,
            "refusal": 1,
            "invented_value": 0,
            "no_evidence": 0,
            "unreadable": 0,
        }

    def test_the_command_launches_what_is_left(self, batch, unread, owner):
        add_model(label="small", provider="fake", by=owner)
        out = StringIO()
        call_command("sob", "format", batch=batch.pk, model="small", outcome=["off_format"], json=True, stdout=out)
        summary = json.loads(out.getvalue())
        assert (summary["cells"], summary["kind"]) == (1, "sob_format")
        Judgment.objects.filter(pk__in=unread).update(outcome="unknown")
        with pytest.raises(CommandError, match="Nothing in batch"):
            call_command("sob", "format", batch=batch.pk, model="small")
        with pytest.raises(CommandError, match="no sob batch 999"):
            call_command("sob", "format", batch=999, model="small")

    def test_the_trail_holds_no_words_of_an_answer(self, formatting, unread):
        run(formatting)
        assert "woman" not in json.dumps(list(AuditEvent.objects.values_list("details", flat=True)))


class TestLaunchPage:
    def test_the_page_of_interpretations_names_refusals_apart(self, batch, study, unread, lead, client_of):
        page = client_of(lead).get(reverse("sob:interpretations", args=[study.slug, batch.pk])).content.decode()
        assert "1 off format; 1 refusal in words, which you may choose to send" in page

    def test_what_the_page_explains_stands_with_its_count(self, formatting, batch, study, lead, client_of):
        page = client_of(lead).get(reverse("sob:interpretations", args=[study.slug, batch.pk])).content.decode()
        assert "invented value 0, no evidence 0, unreadable 0" in page

    def test_it_is_reviewed_and_then_launched(self, batch, study, unread, lead, owner, client_of):
        variant = add_model(label="small", provider="fake", by=owner)
        client = client_of(lead)
        path = reverse("sob:format_launch", args=[study.slug, batch.pk])
        shown = client.get(path).content.decode()
        assert "no rule could read" in shown
        assert "Refusals are sent only if you choose so" in shown
        ticked = re.findall(r'<input type="checkbox" name="outcomes" value="(\w+)"[^>]* checked', shown)
        assert ticked == ["off_format"]
        form = {
            "outcomes": ["off_format", "refusal"],
            "model": variant.pk,
            "concurrency": 2,
            "pilot": 0,
            "lost_answers": "retry",
            "idempotency_key": str(uuid.uuid4()),
            "step": "review",
        }
        review = client.post(path, form)
        assert review.status_code == 200
        assert "Review the launch" in review.content.decode()
        answer = client.post(path, {**form, "step": "launch"})
        launched = Batch.objects.get(kind=FORMATTER_KIND)
        assert answer.headers["Location"] == reverse("batches:detail", args=[study.slug, launched.pk])
        page = client.get(answer.headers["Location"]).content.decode()
        assert reverse("sob:interpretations", args=[study.slug, batch.pk]) in page

    def test_nothing_chosen_or_nothing_left_is_refused_with_the_form(self, batch, study, lead, owner, client_of):
        variant = add_model(label="small", provider="fake", by=owner)
        path = reverse("sob:format_launch", args=[study.slug, batch.pk])
        answer = client_of(lead).post(
            path, {"model": variant.pk, "concurrency": 2, "pilot": 0, "lost_answers": "retry"}
        )
        assert answer.status_code == 422
        form = {"outcomes": "refusal", "model": variant.pk, "concurrency": 2, "pilot": 0, "lost_answers": "retry"}
        answer = client_of(lead).post(path, form)
        assert answer.status_code == 422
        assert "left for a formatter" in answer.content.decode()
