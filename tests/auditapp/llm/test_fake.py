import asyncio
import json
from collections import Counter

from auditapp.annotators.pure.answers import parse_response
from auditapp.annotators.pure.prompts import CodeText, write_system_prompt, write_user_prompt
from auditapp.benchmarks.sob.pure.answer_words import Outcome
from auditapp.benchmarks.sob.pure.formatter_answers import read_formatter_answer, write_message
from auditapp.benchmarks.sob.pure.instruments import get_instrument
from auditapp.benchmarks.sob.pure.parsing import VERDICTS, parse_answer, parse_verdict
from auditapp.llm.providers import open_provider
from auditapp.llm.providers.base import Account, ChatRequest

CODES = [
    CodeText("theme.balance", "Balance", "Weighs.", "", ""),
    CodeText("theme.compassion", "Compassion", "Cares.", "", ""),
]


def ask(system, user, reasoning="", *, model="m", request_id="r"):
    request = ChatRequest(request_id, model, system, user, max_tokens=100, reasoning=reasoning)
    return asyncio.run(open_provider(Account("fake")).chat(request))


def test_the_same_prompt_gets_the_same_answer_and_another_one_another():
    answers = {ask("Judge.", f"text {number}").content for number in range(20)}
    assert ask("Judge.", "text 1") == ask("Judge.", "text 1")
    assert len(answers) > 3


def test_a_setting_of_reasoning_changes_the_answers_and_none_leaves_them():
    texts = [f"text {number}" for number in range(20)]
    plain, off, on = ([ask("Judge.", text, setting).content for text in texts] for setting in ("", "off", "on"))
    assert plain != off != on
    assert plain == [ask("Judge.", text).content for text in texts]


def test_settings_of_sampling_change_the_answers_and_a_stop_text_ends_them():
    def say(model="m", request_id="r", **parameters):
        request = ChatRequest(request_id, model, "Judge.", "text 1", max_tokens=None, parameters=parameters)
        return asyncio.run(open_provider(Account("fake")).chat(request)).content

    assert len({say(), *(say(temperature=step / 10) for step in range(20))}) > 3
    assert say(seed=1) == say(seed=1)
    assert say("fake-unsteady", "a", seed=1) == say("fake-unsteady", "b", seed=1)
    whole = say(seed=1, stop=["never in it"])
    assert "Invented" in whole
    assert "Invented" not in say(seed=1, stop=["x", "Invented"])


def test_it_says_that_it_is_fake_in_every_answer():
    answer = ask("Judge.", "text")
    assert "fake" in answer.served_model
    assert json.loads(answer.raw)["note"] == "This answer was invented."


SENTENCES = {number: f"Sentence {number} says this much. And a little more." for number in range(10, 60)}
NAMES = [code.identifier for code in CODES]


def code_turn(codes=CODES, *, reads_latent=False, model="m"):
    """What the fake provider says of a turn, as it is read."""
    system = write_system_prompt("Themes", codes, reads_latent=reads_latent)
    user = write_user_prompt("Why?", [(None, "…"), *SENTENCES.items()])
    answer = ask(system, user, model=model).content
    return parse_response(answer, sentences=SENTENCES, codes=NAMES, reads_latent=reads_latent)


def test_its_codings_can_be_read_and_leave_nothing_out():
    read = code_turn()
    assert (read.problem, read.rejected, read.missing) == ("", [], [])
    assert 8 < len(read.proposals) < 32
    assert all(each.quote for each in read.proposals)
    assert {each.level for each in code_turn(reads_latent=True).proposals} == {"semantic", "latent"}


def test_its_codings_hang_on_the_words_and_hardly_on_the_order_of_the_codes():
    given, turned = ({each[:2] for each in code_turn(codes).proposals} for codes in (CODES, CODES[::-1]))
    assert 0.7 < len(given & turned) / len(given | turned) < 1
    assert code_turn().proposals != code_turn(model="other").proposals


def test_it_gives_one_of_three_verdicts_where_the_prompt_asks_for_one():
    system = get_instrument("base", "base").text
    read = {parse_verdict(ask(system, f"text {number}").content).verdict for number in range(40)}
    assert read == set(VERDICTS)


def test_the_unsteady_model_answers_anew_each_time_a_few_off_format_or_cut_off():
    system = get_instrument("acceptability", "paper").text
    answers = [ask(system, "text", model="fake-unsteady", request_id=f"r{number}") for number in range(1000)]
    read = Counter(parse_answer(each.content, finish_reason=each.finish_reason).outcome for each in answers)
    assert 10 <= read[Outcome.OFF_FORMAT] <= 30
    assert 3 <= read[Outcome.TRUNCATED] <= 20
    assert read[Outcome.ATTRIBUTED] > read[Outcome.UNKNOWN] > read[Outcome.REFUSAL] > 0
    assert set(read) == {"attributed", "unknown", "refusal", "off_format", "truncated"}
    assert answers[0] == ask(system, "text", model="fake-unsteady", request_id="r0")


def test_a_formatter_finds_what_the_unsteady_model_says_in_words():
    system = get_instrument("acceptability", "paper").text
    contents = [ask(system, "text", model="fake-unsteady", request_id=f"r{number}").content for number in range(600)]
    in_words = [each for each in contents if parse_answer(each).outcome == "off_format" and each.startswith("Invented")]
    assert in_words
    for each in in_words:
        assert read_formatter_answer(ask("Format.", write_message(each)).content, each)[0] == "attributed"
