from __future__ import annotations

import asyncio
import datetime
import email.utils
import json

import pytest

from auditapp.llm.providers import open_provider
from auditapp.llm.providers.base import Account, ChatAnswer, ChatRequest, End, ProviderNotReady, Remedy, make_storable
from auditapp.llm.providers.openai_compatible import read_answer, read_retry_after, write_body
from tests.instance import FakeProvider

REQUEST = ChatRequest(request_id="r1", model="m", system="Judge.", user="A text.", max_tokens=50)


def completion(**changes: object) -> bytes:
    message = {"role": "assistant", "content": "Person: Unknown"}
    body: dict[str, object] = {
        "id": "c1",
        "model": "m-2024",
        "choices": [{"finish_reason": "stop", "message": message}],
    }
    return json.dumps(body | changes).encode()


def ask(base_url: str, *requests: ChatRequest) -> list[ChatAnswer]:
    async def talk() -> list[ChatAnswer]:
        provider = open_provider(Account("openai_compatible", base_url))
        try:
            return [await provider.chat(request) for request in requests]
        finally:
            await provider.close()

    return asyncio.run(talk())


class TestReadAnswer:
    def test_an_answer_carries_words_model_and_usage(self) -> None:
        usage = {"prompt_tokens": 12, "completion_tokens": 3}
        answer = read_answer(200, {"x-request-id": "req-9"}, completion(usage=usage))
        assert answer.end is End.ANSWERED
        assert (answer.content, answer.served_model, answer.finish_reason) == ("Person: Unknown", "m-2024", "stop")
        assert (answer.tokens_in, answer.tokens_out, answer.provider_request_id) == (12, 3, "req-9")

    def test_missing_usage_is_unknown_and_not_zero(self) -> None:
        answer = read_answer(200, {}, completion())
        assert answer.tokens_in is None
        assert answer.tokens_out is None

    def test_a_200_with_an_error_is_the_providers_failure(self) -> None:
        answer = read_answer(200, {}, b'{"error": {"message": "upstream fell over", "code": 502}}')
        assert (answer.end, answer.remedy, answer.error) == (End.FAILED, Remedy.RETRY, "upstream fell over")

    @pytest.mark.parametrize(
        "body", [b"", b"<html>", b"[]", b'{"choices": []}', b'{"choices": [{"message": 3}]}', b"\xff\xfe"]
    )
    def test_a_200_without_an_answer_is_kept_raw_and_retried(self, body: bytes) -> None:
        answer = read_answer(200, {}, body)
        assert (answer.end, answer.remedy) == (End.FAILED, Remedy.RETRY)

    @pytest.mark.parametrize(
        ("status", "remedy"),
        [
            (429, Remedy.SLOW_DOWN),
            (529, Remedy.SLOW_DOWN),
            (500, Remedy.RETRY),
            (503, Remedy.RETRY),
            (401, Remedy.STOP_BATCH),
            (402, Remedy.STOP_BATCH),
            (400, Remedy.GIVE_UP),
            (404, Remedy.GIVE_UP),
        ],
    )
    def test_a_status_decides_what_follows(self, status: int, remedy: Remedy) -> None:
        answer = read_answer(status, {}, b'{"error": "no"}')
        assert (answer.end, answer.remedy, answer.http_status) == (End.REFUSED, remedy, status)

    def test_content_in_parts_is_joined(self) -> None:
        message = {"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}
        assert read_answer(200, {}, completion(choices=[{"message": message}])).content == "ab"

    def test_a_refusal_field_counts_as_the_words(self) -> None:
        message = {"content": None, "refusal": "I cannot."}
        assert read_answer(200, {}, completion(choices=[{"message": message}])).content == "I cannot."

    def test_what_no_database_takes_is_escaped(self) -> None:
        message = {"content": "a\x00b\ud800c"}
        content = read_answer(200, {}, completion(choices=[{"message": message}])).content
        assert content == "a\\x00b\\ud800c"
        assert make_storable(content) == content


class TestRetryAfter:
    def test_seconds_and_dates_are_read(self) -> None:
        assert read_retry_after("2.5") == 2.5
        moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=30)
        seconds = read_retry_after(email.utils.format_datetime(moment, usegmt=True))
        assert seconds is not None
        assert 28 <= seconds <= 30

    def test_nonsense_says_nothing(self) -> None:
        assert read_retry_after("") is None
        assert read_retry_after("soon") is None


class TestCall:
    def test_one_request_is_one_call_with_the_instrument_as_system_message(self, fake_provider: FakeProvider) -> None:
        [answer] = ask(fake_provider.base_url, REQUEST)
        assert answer.end is End.ANSWERED
        assert answer.tokens_in == 100
        assert fake_provider.stats()["received"] == 1
        assert write_body(REQUEST)["messages"] == [
            {"role": "system", "content": "Judge."},
            {"role": "user", "content": "A text."},
        ]

    def test_a_server_error_is_not_retried_by_the_client(self, fake_provider: FakeProvider) -> None:
        fake_provider.order(always_status=500)
        [answer] = ask(fake_provider.base_url, REQUEST)
        assert answer.remedy is Remedy.RETRY
        assert fake_provider.stats()["received"] == 1

    def test_nobody_at_the_address_means_never_sent(self) -> None:
        [answer] = ask("http://127.0.0.1:9/v1", REQUEST)
        assert (answer.end, answer.remedy) == (End.UNSENT, Remedy.RETRY)


class TestOpening:
    def test_a_missing_key_names_the_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("NO_SUCH_KEY", raising=False)
        with pytest.raises(ProviderNotReady, match="NO_SUCH_KEY"):
            open_provider(Account("openai_compatible", "http://127.0.0.1:9/v1", "NO_SUCH_KEY"))

    def test_an_unknown_provider_names_those_there_are(self) -> None:
        with pytest.raises(ProviderNotReady, match="openai_compatible"):
            open_provider(Account("tarot"))
