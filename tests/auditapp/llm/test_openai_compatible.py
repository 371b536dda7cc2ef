import json

import pytest

from auditapp.llm.providers.base import (
    CallOutcome,
    ErrorClass,
    NextStep,
    SettingRefused,
    Traits,
    make_storable,
)
from auditapp.llm.providers.openai_compatible import read_answer, write_body
from tests.auditapp.llm.asking import REQUEST, ask, open_account, write_request


def completion(**changes):
    message = {"role": "assistant", "content": "Person: Unknown"}
    body = {
        "id": "c1",
        "model": "m-2024",
        "choices": [{"finish_reason": "stop", "message": message}],
    }
    return json.dumps(body | changes).encode()


def read_choice(**choice):
    return read_answer(200, {}, completion(choices=[choice]))


class TestReadAnswer:
    def test_an_answer_carries_words_model_route_ids_and_usage(self):
        usage = {
            "prompt_tokens": 12,
            "completion_tokens": 30,
            "prompt_tokens_details": {"cached_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 25},
        }
        answer = read_answer(200, {"x-request-id": "req-9"}, completion(usage=usage, provider="DeepInfra"))
        assert (answer.end, answer.next_step, answer.error_class) == (
            CallOutcome.ANSWERED,
            NextStep.NONE,
            ErrorClass.NONE,
        )
        assert (answer.content, answer.served_model, answer.finish_reason) == ("Person: Unknown", "m-2024", "stop")
        assert (answer.provider_request_id, answer.provider_answer_id) == ("req-9", "c1")
        assert answer.served_route == "DeepInfra"
        assert (answer.tokens_in, answer.tokens_out) == (12, 30)
        assert (answer.tokens_cached, answer.tokens_reasoning) == (8, 25)

    @pytest.mark.parametrize("usage", [None, {}, [], {"prompt_tokens": "12"}, {"prompt_tokens": True}])
    def test_missing_usage_is_unknown_and_not_zero(self, usage):
        answer = read_answer(200, {}, completion(usage=usage))
        assert answer.end is CallOutcome.ANSWERED
        assert (answer.tokens_in, answer.tokens_out, answer.tokens_cached, answer.tokens_reasoning) == (None,) * 4

    @pytest.mark.parametrize(
        "body",
        [
            {"error": {"message": "upstream fell over", "code": 502}},
            {"choices": [{"error": {"message": "upstream fell over", "code": 502}, "finish_reason": "error"}]},
            {"choices": [{"error": {"message": "upstream fell over"}, "message": {"content": "half an ans"}}]},
        ],
    )
    def test_a_200_with_an_error_is_the_providers_failure_and_is_retried(self, body):
        answer = read_answer(200, {}, json.dumps(body).encode())
        assert (answer.end, answer.next_step, answer.error) == (
            CallOutcome.FAILED,
            NextStep.RETRY,
            "upstream fell over",
        )
        assert answer.error_class is ErrorClass.ERROR_IN_ANSWER

    def test_a_finish_reason_of_error_is_an_error_also_beside_words(self):
        answer = read_choice(finish_reason="error", message={"content": "half"})
        assert (answer.end, answer.error_class) == (CallOutcome.FAILED, ErrorClass.ERROR_IN_ANSWER)

    @pytest.mark.parametrize(
        ("code", "next_step"),
        [(429, NextStep.SLOW_DOWN), (402, NextStep.STOP_BATCH), (401, NextStep.STOP_BATCH), (400, NextStep.RETRY)],
    )
    def test_a_status_inside_a_200_decides_whether_to_wait_or_to_stop(self, code, next_step):
        answer = read_answer(200, {}, json.dumps({"error": {"message": "no", "code": code}}).encode())
        assert (answer.end, answer.next_step, answer.error_class) == (
            CallOutcome.FAILED,
            next_step,
            ErrorClass.ERROR_IN_ANSWER,
        )

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"<html>",
            b"[]",
            b"null",
            b'{"choices": []}',
            b'{"choices": [{"message": 3}]}',
            b'{"choices": [null]}',
            b'{"choices": {"0": {}}}',
            b"\xff\xfe",
            b"[" * 100_000,
        ],
    )
    def test_a_200_without_an_answer_is_kept_raw_and_retried(self, body):
        answer = read_answer(200, {}, body)
        assert (answer.end, answer.next_step, answer.error_class) == (
            CallOutcome.FAILED,
            NextStep.RETRY,
            ErrorClass.BAD_ANSWER,
        )
        assert answer.raw == body.decode(errors="backslashreplace")

    def test_content_in_parts_is_joined(self):
        message = {"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}
        assert read_choice(message=message).content == "ab"

    def test_a_refusal_of_the_model_is_a_result(self):
        answer = read_choice(message={"content": None, "refusal": "I cannot."}, finish_reason="stop")
        assert (answer.end, answer.content, answer.finish_reason) == (CallOutcome.ANSWERED, "I cannot.", "refusal")

    @pytest.mark.parametrize("reason", ["content_filter", "length"])
    def test_a_filtered_or_cut_answer_is_a_result_that_says_so(self, reason):
        answer = read_choice(message={"content": "Pers"}, finish_reason=reason)
        assert (answer.end, answer.content, answer.finish_reason) == (CallOutcome.ANSWERED, "Pers", reason)

    @pytest.mark.parametrize("message", [{}, {"message": None}])
    def test_an_answer_of_which_a_filter_left_nothing_is_not_asked_again(self, message):
        answer = read_choice(finish_reason="content_filter", **message)
        assert (answer.end, answer.next_step, answer.content) == (CallOutcome.ANSWERED, NextStep.NONE, "")

    def test_an_answer_that_was_only_thought_is_an_empty_result(self):
        answer = read_choice(message={"content": None, "reasoning": "Hm."}, finish_reason="length")
        assert (answer.end, answer.content, answer.finish_reason) == (CallOutcome.ANSWERED, "", "length")

    def test_a_call_for_a_tool_in_place_of_words_is_an_empty_result(self):
        answer = read_choice(message={"content": None, "tool_calls": [{"id": "t"}]}, finish_reason="tool_calls")
        assert (answer.end, answer.content, answer.finish_reason) == (CallOutcome.ANSWERED, "", "tool_calls")

    def test_what_no_database_takes_is_escaped(self):
        content = read_choice(message={"content": "a\x00b\ud800c"}).content
        assert content == "a\\x00b\\ud800c"
        assert make_storable(content) == content

    def test_words_of_the_other_side_fit_their_columns(self):
        long = "x" * 5000
        answer = read_answer(200, {"x-request-id": long}, completion(id=long, model=long, provider=long))
        assert {len(each) for each in (answer.provider_request_id, answer.provider_answer_id, answer.served_model)} == {
            200
        }


class TestWriteBody:
    def test_the_instrument_is_the_system_message(self):
        assert write_body(REQUEST) == {
            "model": "m",
            "messages": [{"role": "system", "content": "Judge."}, {"role": "user", "content": "A text."}],
            "max_tokens": 50,
        }

    def test_a_model_without_system_messages_gets_it_before_the_text(self):
        body = write_body(write_request(traits=Traits(takes_system=False)))
        assert body["messages"] == [{"role": "user", "content": "Judge.\n\nA text."}]

    def test_the_token_limit_has_the_name_the_model_knows(self):
        body = write_body(write_request(traits=Traits(token_limit="max_completion_tokens")))
        assert body["max_completion_tokens"] == 50
        assert "max_tokens" not in body

    @pytest.mark.parametrize(
        "traits", [Traits(), Traits(max_output_tokens=9), Traits(token_limit="max_completion_tokens")]
    )
    def test_without_a_limit_none_is_sent(self, traits):
        body = write_body(write_request(max_tokens=None, traits=traits))
        assert body.keys() == {"model", "messages"}

    def test_settings_of_sampling_are_sent_as_they_are_and_none_by_default(self):
        sampling = {"temperature": 0.0, "top_p": 0.9, "seed": 7, "stop": ["\n"]}
        body = write_body(write_request(parameters=sampling))
        assert {name: body[name] for name in sampling} == sampling
        assert not sampling.keys() & write_body(REQUEST).keys()

    @pytest.mark.parametrize("name", ["temperature", "top_p", "seed", "stop"])
    def test_a_setting_that_the_model_does_not_accept_is_refused_and_never_left_out_in_silence(self, name):
        traits = Traits(**{f"takes_{name}": False})
        write_body(write_request(traits=traits))
        with pytest.raises(SettingRefused, match=f"m does not accept {name}"):
            write_body(write_request(parameters={name: 1}, traits=traits))

    @pytest.mark.parametrize("name", ["model", "messages", "stream", "n", "max_tokens", "max_completion_tokens"])
    def test_parameters_may_not_change_what_the_program_counts_on(self, name):
        with pytest.raises(SettingRefused, match=name):
            write_body(write_request(parameters={name: 2}))


class TestCall:
    def test_one_request_is_one_call_that_carries_its_id(self, fake_provider):
        [answer] = ask(open_account(fake_provider.base_url), write_request(request_id="id-of-this-call"))
        assert answer.end is CallOutcome.ANSWERED
        assert answer.tokens_in == 100
        assert answer.provider_request_id.startswith("req_")
        assert answer.provider_answer_id.startswith("chatcmpl-")
        assert answer.first_byte_after is not None
        assert fake_provider.stats()["received"] == 1
        assert fake_provider.requests()["id-of-this-call"]["billed"] == 1

    @pytest.mark.parametrize(
        ("script", "end", "next_step", "error_class"),
        [
            ("[[429]]", CallOutcome.REFUSED, NextStep.SLOW_DOWN, ErrorClass.RATE_LIMITED),
            ("[[529]]", CallOutcome.REFUSED, NextStep.SLOW_DOWN, ErrorClass.OVERLOADED),
            ("[[500]]", CallOutcome.REFUSED, NextStep.RETRY, ErrorClass.SERVER_ERROR),
            ("[[401]]", CallOutcome.REFUSED, NextStep.STOP_BATCH, ErrorClass.ACCOUNT),
            ("[[404]]", CallOutcome.REFUSED, NextStep.GIVE_UP, ErrorClass.BAD_REQUEST),
            ("[[error200]]", CallOutcome.FAILED, NextStep.RETRY, ErrorClass.ERROR_IN_ANSWER),
            ("[[choice200]]", CallOutcome.FAILED, NextStep.RETRY, ErrorClass.ERROR_IN_ANSWER),
            ("[[empty]]", CallOutcome.FAILED, NextStep.RETRY, ErrorClass.BAD_ANSWER),
            ("[[garbage]]", CallOutcome.FAILED, NextStep.RETRY, ErrorClass.BAD_ANSWER),
            ("[[refusal]]", CallOutcome.ANSWERED, NextStep.NONE, ErrorClass.NONE),
            ("[[filter]]", CallOutcome.ANSWERED, NextStep.NONE, ErrorClass.NONE),
            ("[[length]]", CallOutcome.ANSWERED, NextStep.NONE, ErrorClass.NONE),
        ],
    )
    def test_every_fault_has_its_end_and_none_is_retried_here(self, fake_provider, script, end, next_step, error_class):
        [answer] = ask(open_account(fake_provider.base_url), write_request(f"A text. {script}"))
        assert (answer.end, answer.next_step, answer.error_class) == (end, next_step, error_class)
        assert fake_provider.stats()["received"] == 1

    def test_a_wait_that_is_asked_for_is_told(self, fake_provider):
        fake_provider.order(always="429", retry_after=30)
        [answer] = ask(open_account(fake_provider.base_url), REQUEST)
        assert answer.retry_after == 30

    def test_a_setting_the_model_cannot_take_is_never_sent(self, fake_provider):
        request = write_request(reasoning="high", traits=Traits(reasoning="none"))
        [answer] = ask(open_account(fake_provider.base_url), request)
        assert (answer.end, answer.next_step, answer.error_class) == (
            CallOutcome.UNSENT,
            NextStep.STOP_BATCH,
            ErrorClass.BAD_REQUEST,
        )
        assert "cannot be set" in answer.error
        assert fake_provider.stats()["received"] == 0

    def test_half_a_character_is_sent_as_an_escape(self, fake_provider):
        [answer] = ask(open_account(fake_provider.base_url), write_request("broken \ud800 emoji"))
        assert answer.end is CallOutcome.ANSWERED
