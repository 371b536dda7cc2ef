"""What was said before is sent in each API's own form, and reasoning is read where an API gives it."""

import json

import pytest

from auditapp.llm.providers import anthropic, openai_compatible
from auditapp.llm.providers.anthropic import write_anthropic_line
from auditapp.llm.providers.base import Account, Traits
from auditapp.llm.providers.openai_compatible import write_openai_line
from tests.auditapp.llm.asking import ask, write_request

HISTORY = (("Who is it?", "An engineer."), ("Why?", "You said so."))
TURNS = [
    {"role": "user", "content": "Who is it?"},
    {"role": "assistant", "content": "An engineer."},
    {"role": "user", "content": "Why?"},
    {"role": "assistant", "content": "You said so."},
    {"role": "user", "content": "Does that hold?"},
]


def follow_up(**changes):
    return write_request("Does that hold?", **{"history": HISTORY, **changes})


class TestWriting:
    def test_a_chat_completion_holds_every_message(self):
        messages = openai_compatible.write_body(follow_up())["messages"]
        assert messages == [{"role": "system", "content": "Judge."}, *TURNS]

    def test_a_message_of_anthropic_has_its_instructions_apart(self):
        body = anthropic.write_body(follow_up())
        assert (body["system"], body["messages"]) == ("Judge.", TURNS)

    @pytest.mark.parametrize("write_body", [openai_compatible.write_body, anthropic.write_body])
    def test_a_model_without_a_system_message_gets_the_instructions_first(self, write_body):
        body = write_body(follow_up(traits=Traits(takes_system=False)))
        assert body["messages"] == [{"role": "user", "content": "Judge.\n\nWho is it?"}, *TURNS[1:]]
        assert "system" not in body

    def test_anthropic_gets_no_message_without_words(self):
        body = anthropic.write_body(follow_up(history=(("Who is it?", " \n"),)))
        assert body["messages"] == [TURNS[0], TURNS[-1]]

    def test_lines_of_batch_services_and_request_files_hold_them_too(self):
        assert json.loads(write_openai_line("cell-1", follow_up()))["body"]["messages"][1:] == TURNS
        assert json.loads(write_anthropic_line("cell-1", follow_up()))["params"]["messages"] == TURNS


class TestReading:
    @pytest.mark.parametrize(
        "field",
        [
            {"reasoning_content": "First, then."},
            {"reasoning": "First, then."},
            {"reasoning_details": [{"type": "reasoning.text", "text": "First, "}, {"summary": "then."}, {"data": "x"}]},
        ],
    )
    def test_reasoning_of_a_chat_completion_is_kept_apart(self, field):
        message = {"role": "assistant", "content": "Yes.", **field}
        body = {"choices": [{"message": message, "finish_reason": "stop"}]}
        answer = openai_compatible.read_answer(200, {}, json.dumps(body).encode())
        assert (answer.content, answer.reasoning) == ("Yes.", "First, then.")

    def test_thinking_of_anthropic_is_kept_apart(self):
        blocks = [
            {"type": "thinking", "thinking": "First, then.", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "Yes."},
        ]
        answer = anthropic.read_answer(200, {}, json.dumps({"content": blocks}).encode())
        assert (answer.content, answer.reasoning) == ("Yes.", "First, then.")

    def test_where_there_is_none_it_is_empty(self):
        body = {"choices": [{"message": {"content": "Yes.", "reasoning": None, "reasoning_details": None}}]}
        assert openai_compatible.read_answer(200, {}, json.dumps(body).encode()).reasoning == ""


def test_the_fake_provider_answers_by_what_was_said_before():
    account = Account("fake")
    first, again, other = ask(account, follow_up(), follow_up(), follow_up(history=HISTORY[:1]))
    assert first == again
    assert (first.content, first.tokens_in) != (other.content, other.tokens_in)
