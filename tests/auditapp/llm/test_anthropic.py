import json
from dataclasses import replace

import pytest

from auditapp.llm.providers import max_output_tokens
from auditapp.llm.providers.anthropic import complete_base_url, read_answer, write_body
from auditapp.llm.providers.base import Account, CallOutcome, ErrorClass, NextStep, SettingRefused, Traits
from tests.auditapp.llm.asking import REQUEST, ask, open_account, write_request

BUDGET = Traits(reasoning="budget")


def message(**changes):
    body = {
        "id": "msg_1",
        "type": "message",
        "model": "claude-x-2026",
        "content": [{"type": "text", "text": "Person: Unknown"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 12, "output_tokens": 30},
    }
    return json.dumps(body | changes).encode()


def refusal(kind, words="no"):
    return json.dumps({"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_7"}).encode()


class TestWriteBody:
    def test_the_instrument_stands_at_the_top(self):
        assert write_body(REQUEST) == {
            "model": "m",
            "system": "Judge.",
            "messages": [{"role": "user", "content": "A text."}],
            "max_tokens": 50,
        }

    def test_a_model_without_system_messages_gets_it_before_the_text(self):
        body = write_body(write_request(traits=Traits(takes_system=False)))
        assert body["messages"] == [{"role": "user", "content": "Judge.\n\nA text."}]
        assert "system" not in body

    @pytest.mark.parametrize(
        ("reasoning", "budget"), [("low", 2048), ("medium", 8192), ("on", 8192), ("High", 16384), ("1024", 1024)]
    )
    def test_a_budget_comes_on_top_of_the_room_for_the_answer(self, reasoning, budget):
        request = write_request(reasoning=reasoning, traits=BUDGET)
        body = write_body(request)
        assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
        assert body["max_tokens"] == 50 + budget == max_output_tokens(request)

    def test_a_number_is_a_budget_also_where_nothing_is_recorded_of_the_model(self):
        request = write_request(reasoning="4000")
        assert write_body(request)["thinking"] == {"type": "enabled", "budget_tokens": 4000}
        assert write_body(request)["max_tokens"] == max_output_tokens(request) == 4050

    def test_thinking_switched_off_takes_no_room(self):
        request = write_request(reasoning="off", traits=BUDGET)
        assert write_body(request)["thinking"] == {"type": "disabled"}
        assert write_body(request)["max_tokens"] == max_output_tokens(request) == 50

    def test_an_effort_means_adaptive_thinking_within_the_room_for_the_answer(self):
        request = write_request(reasoning="high")
        body = write_body(request)
        assert body["thinking"] == {"type": "adaptive"}
        assert body["output_config"] == {"effort": "high"}
        assert body["max_tokens"] == max_output_tokens(request) == 50
        assert "output_config" not in write_body(write_request(reasoning="on"))

    def test_without_a_limit_the_models_maximum_is_sent_because_the_api_demands_one(self):
        request = write_request(max_tokens=None, reasoning="low", traits=replace(BUDGET, max_output_tokens=64_000))
        body = write_body(request)
        assert (body["max_tokens"], body["thinking"]) == (64_000, {"type": "enabled", "budget_tokens": 2048})

    @pytest.mark.parametrize(
        ("request_", "sentence"),
        [
            (write_request(reasoning="1023", traits=BUDGET), "at least 1,024"),
            (write_request(reasoning="deep", traits=BUDGET), "not 'deep'"),
            (write_request(reasoning="on", traits=Traits(reasoning="none")), "cannot be set"),
            (write_request(reasoning="on", traits=Traits(reasoning="template")), "chat_template_kwargs"),
            (write_request(reasoning="on", parameters={"temperature": 0}), "no temperature while it thinks"),
            (write_request(parameters={"max_tokens": 9}), "max_tokens"),
            (write_request(parameters={"seed": 7}), "takes no seed"),
            (write_request(parameters={"temperature": 1.5}), "from 0 to 1, not 1.5"),
            (write_request(parameters={"top_p": 0.5}, reasoning="on"), "0.95 to 1 while it thinks"),
            (write_request(max_tokens=None, reasoning="9000", traits=Traits(max_output_tokens=9000)), "no room"),
            (write_request(parameters={"stream": True}), "stream"),
        ],
    )
    def test_a_setting_that_would_not_hold_is_refused(self, request_, sentence):
        with pytest.raises(SettingRefused, match=sentence):
            write_body(request_)

    def test_a_temperature_goes_along_while_nothing_is_thought(self):
        assert write_body(write_request(parameters={"temperature": 0}))["temperature"] == 0

    def test_stop_texts_have_another_name_here(self):
        body = write_body(write_request(parameters={"stop": ["END"], "top_p": 0.5}))
        assert (body["stop_sequences"], body["top_p"]) == (["END"], 0.5)
        assert "stop" not in body


class TestReadAnswer:
    def test_an_answer_carries_words_model_ids_and_usage(self):
        answer = read_answer(200, {"request-id": "req_9"}, message())
        assert (answer.end, answer.error_class) == (CallOutcome.ANSWERED, ErrorClass.NONE)
        assert (answer.content, answer.served_model, answer.finish_reason) == (
            "Person: Unknown",
            "claude-x-2026",
            "stop",
        )
        assert (answer.provider_request_id, answer.provider_answer_id) == ("req_9", "msg_1")
        assert (answer.tokens_in, answer.tokens_out, answer.tokens_cached) == (12, 30, None)

    def test_tokens_of_the_cache_are_among_those_that_went_in(self):
        usage = {
            "input_tokens": 10,
            "cache_creation_input_tokens": 200,
            "cache_read_input_tokens": 3000,
            "output_tokens": 5,
        }
        answer = read_answer(200, {}, message(usage=usage))
        assert (answer.tokens_in, answer.tokens_cached) == (3210, 3000)

    def test_more_tokens_than_a_column_holds_are_not_known(self):
        usage = {"input_tokens": 2**31 - 1, "cache_read_input_tokens": 2**31 - 1, "output_tokens": 2**31}
        answer = read_answer(200, {}, message(usage=usage))
        assert (answer.tokens_in, answer.tokens_out) == (None, None)

    def test_missing_usage_is_unknown_and_not_zero(self):
        answer = read_answer(200, {}, message(usage=None))
        assert (answer.tokens_in, answer.tokens_out) == (None, None)

    def test_thinking_is_no_part_of_the_answer(self):
        blocks = [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "Per"},
            {"type": "text", "text": "son"},
        ]
        answer = read_answer(200, {}, message(content=blocks))
        assert answer.content == "Person"
        assert "Hm." in answer.raw

    @pytest.mark.parametrize(
        ("stop_reason", "finish_reason"),
        [
            ("end_turn", "stop"),
            ("stop_sequence", "stop"),
            ("max_tokens", "length"),
            ("model_context_window_exceeded", "length"),
            ("refusal", "refusal"),
            (None, ""),
        ],
    )
    def test_every_reason_to_stop_is_a_result(self, stop_reason, finish_reason):
        answer = read_answer(200, {}, message(stop_reason=stop_reason, content=[]))
        assert (answer.end, answer.content, answer.finish_reason) == (CallOutcome.ANSWERED, "", finish_reason)

    @pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"content": 3}', b'{"content": {"text": "x"}}'])
    def test_a_200_without_an_answer_is_kept_raw_and_retried(self, body):
        answer = read_answer(200, {}, body)
        assert (answer.end, answer.next_step, answer.error_class) == (
            CallOutcome.FAILED,
            NextStep.RETRY,
            ErrorClass.BAD_ANSWER,
        )
        assert answer.raw == body.decode()

    def test_a_200_with_an_error_is_the_providers_failure(self):
        answer = read_answer(200, {}, refusal("api_error", "fell over"))
        assert (answer.end, answer.next_step, answer.error) == (CallOutcome.FAILED, NextStep.RETRY, "fell over")
        assert answer.error_class is ErrorClass.ERROR_IN_ANSWER

    @pytest.mark.parametrize(
        ("status", "kind", "next_step", "error_class"),
        [
            (529, "overloaded_error", NextStep.SLOW_DOWN, ErrorClass.OVERLOADED),
            (429, "rate_limit_error", NextStep.SLOW_DOWN, ErrorClass.RATE_LIMITED),
            (401, "authentication_error", NextStep.STOP_BATCH, ErrorClass.ACCOUNT),
            (403, "permission_error", NextStep.STOP_BATCH, ErrorClass.ACCOUNT),
            (402, "billing_error", NextStep.STOP_BATCH, ErrorClass.QUOTA),
            (400, "invalid_request_error", NextStep.GIVE_UP, ErrorClass.BAD_REQUEST),
            (404, "not_found_error", NextStep.GIVE_UP, ErrorClass.BAD_REQUEST),
            (413, "request_too_large", NextStep.GIVE_UP, ErrorClass.BAD_REQUEST),
            (500, "api_error", NextStep.RETRY, ErrorClass.SERVER_ERROR),
        ],
    )
    def test_every_error_has_its_class_and_its_remedy(self, status, kind, next_step, error_class):
        answer = read_answer(status, {"request-id": "req_8"}, refusal(kind))
        assert (answer.end, answer.next_step, answer.error_class) == (CallOutcome.REFUSED, next_step, error_class)
        assert (answer.error, answer.provider_request_id) == ("no", "req_8")

    def test_an_empty_account_that_comes_as_a_bad_request_stops_the_batch(self):
        words = "Your credit balance is too low to access the Anthropic API."
        answer = read_answer(400, {}, refusal("invalid_request_error", words))
        assert (answer.next_step, answer.error_class) == (NextStep.STOP_BATCH, ErrorClass.QUOTA)
        assert answer.provider_request_id == "req_7"


class TestCall:
    def test_one_request_is_one_call_with_the_key_in_its_header(self, fake_provider):
        fake_provider.order(key="canary-key-4711")
        account = open_account(fake_provider.base_url, provider="anthropic", key="canary-key-4711")
        [answer] = ask(account, write_request(request_id="id-of-this-call", reasoning="low", traits=BUDGET))
        assert answer.end is CallOutcome.ANSWERED
        assert "Invented thoughts" in answer.raw
        assert "Invented thoughts" not in answer.content
        assert answer.provider_answer_id.startswith("msg_")
        assert answer.provider_request_id.startswith("req_")
        assert answer.first_byte_after is not None
        assert fake_provider.requests()["id-of-this-call"]["billed"] == 1

    @pytest.mark.parametrize(
        ("script", "end", "error_class", "finish_reason"),
        [
            ("[[529]]", CallOutcome.REFUSED, ErrorClass.OVERLOADED, ""),
            ("[[401]]", CallOutcome.REFUSED, ErrorClass.ACCOUNT, ""),
            ("[[error200]]", CallOutcome.FAILED, ErrorClass.ERROR_IN_ANSWER, ""),
            ("[[garbage]]", CallOutcome.FAILED, ErrorClass.BAD_ANSWER, ""),
            ("[[cut]]", CallOutcome.UNKNOWN, ErrorClass.CUT_OFF, ""),
            ("[[redirect]]", CallOutcome.REFUSED, ErrorClass.REDIRECT, ""),
            ("[[refusal]]", CallOutcome.ANSWERED, ErrorClass.NONE, "refusal"),
            ("[[length]]", CallOutcome.ANSWERED, ErrorClass.NONE, "length"),
        ],
    )
    def test_every_fault_has_its_end(self, fake_provider, script, end, error_class, finish_reason):
        account = open_account(fake_provider.base_url, provider="anthropic")
        [answer] = ask(account, write_request(script))
        assert (answer.end, answer.error_class, answer.finish_reason) == (end, error_class, finish_reason)

    def test_a_setting_the_model_cannot_take_is_never_sent(self, fake_provider):
        account = open_account(fake_provider.base_url, provider="anthropic")
        [answer] = ask(account, write_request(reasoning="12", traits=BUDGET))
        assert (answer.end, answer.next_step) == (CallOutcome.UNSENT, NextStep.STOP_BATCH)
        assert fake_provider.stats()["received"] == 0

    def test_a_private_address_is_refused_here_too(self, fake_provider):
        [answer] = ask(Account("anthropic", fake_provider.base_url), REQUEST)
        assert answer.error_class is ErrorClass.ADDRESS_REFUSED
        assert fake_provider.stats()["received"] == 0


@pytest.mark.parametrize(
    ("typed", "used"),
    [
        ("", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/", "https://api.anthropic.com/v1"),
        ("https://gateway.example/claude/v1", "https://gateway.example/claude/v1"),
    ],
)
def test_the_base_url_may_be_left_out_or_be_without_its_version(typed, used):
    assert complete_base_url(typed) == used
