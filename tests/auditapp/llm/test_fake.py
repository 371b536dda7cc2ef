from __future__ import annotations

import asyncio
import json

from auditapp.llm.providers import open_provider
from auditapp.llm.providers.base import Account, ChatAnswer, ChatRequest
from auditapp.preannotation.answers import read_answer
from auditapp.preannotation.prompts import CodeText, SentenceText, write_system_prompt, write_user_prompt
from auditapp.sob.instruments import get_instrument
from auditapp.sob.verdicts import VERDICTS, parse_verdict

CODES = [
    CodeText("theme.balance", "Balance", "Weighs.", "", ""),
    CodeText("theme.compassion", "Compassion", "Cares.", "", ""),
]


def ask(system: str, user: str) -> ChatAnswer:
    request = ChatRequest(request_id="r", model="m", system=system, user=user, max_tokens=100)
    return asyncio.run(open_provider(Account("fake")).chat(request))


def test_the_same_prompt_gets_the_same_answer_and_another_one_another() -> None:
    answers = {ask("Judge.", f"text {number}").content for number in range(20)}
    assert ask("Judge.", "text 1") == ask("Judge.", "text 1")
    assert len(answers) > 3


def test_it_says_that_it_is_fake_in_every_answer() -> None:
    answer = ask("Judge.", "text")
    assert "fake" in answer.served_model
    assert json.loads(answer.raw)["note"] == "This answer was invented."


def test_its_codings_can_be_read_and_name_only_what_was_asked() -> None:
    sentences = [SentenceText(number, "One. Two.") for number in range(10, 40)]
    system, user = write_system_prompt("Themes", CODES), write_user_prompt("Why?", sentences)
    read = read_answer(ask(system, user).content, sentences=range(10, 40), codes=["theme.balance", "theme.compassion"])
    assert read.problem == ""
    assert read.rejected == []
    assert read.proposals


def test_it_gives_one_of_three_verdicts_where_the_prompt_asks_for_one() -> None:
    system = get_instrument("base", "base").text
    read = {parse_verdict(ask(system, f"text {number}").content).verdict for number in range(40)}
    assert read == set(VERDICTS)
