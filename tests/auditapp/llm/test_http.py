import asyncio
import datetime
import ipaddress
import logging
import ssl
import tracemalloc

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from auditapp.llm.providers import open_provider
from auditapp.llm.providers.base import Account, CallOutcome, ErrorClass, NextStep, ProviderNotReady
from auditapp.llm.providers.http import KEPT_OF_TOO_LARGE, MAX_BODY, cap_body
from tests.auditapp.llm.asking import REQUEST, ask, open_account, write_request

KEY = "canary-key-4711/abcdef"


class TestSentOrUnsent:
    def test_nobody_at_the_address_means_never_sent(self):
        [answer] = ask(open_account("http://127.0.0.1:9/v1"), REQUEST)
        assert (answer.end, answer.next_step, answer.error_class) == (
            CallOutcome.UNSENT,
            NextStep.RETRY,
            ErrorClass.CONNECTION,
        )
        assert "127.0.0.1:9" in answer.error

    def test_a_server_that_takes_no_connection_means_never_sent(self):
        async def call():
            # TLS to a server that never says a word: connected, but not one byte of the request has left.
            silence = asyncio.Event()

            async def hear(reader, writer):
                await silence.wait()
                writer.close()

            server = await asyncio.start_server(hear, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            provider = open_provider(open_account(f"https://127.0.0.1:{port}/v1"))
            answer = await provider.chat(write_request(timeout_seconds=0.4))
            silence.set()
            await provider.close()
            server.close()
            return answer

        answer = asyncio.run(call())
        assert (answer.end, answer.error_class) == (CallOutcome.UNSENT, ErrorClass.CONNECTION)
        assert "too long" in answer.error

    def test_a_connection_that_ends_without_a_word_may_have_been_billed(self, fake_provider):
        [answer] = ask(open_account(fake_provider.base_url), write_request("[[drop]]"))
        assert (answer.end, answer.next_step, answer.error_class) == (
            CallOutcome.UNKNOWN,
            NextStep.RETRY,
            ErrorClass.CUT_OFF,
        )
        assert answer.http_status is None

    def test_an_answer_cut_off_in_the_middle_is_of_unknown_end_and_kept_as_far_as_it_came(self, fake_provider):
        [answer] = ask(open_account(fake_provider.base_url), write_request("[[cut]]"))
        assert (answer.end, answer.error_class, answer.http_status) == (CallOutcome.UNKNOWN, ErrorClass.CUT_OFF, 200)
        assert answer.raw.startswith('{"id": "chatcmpl-')
        assert fake_provider.stats()["billed"] == 1

    def test_a_hanging_answer_ends_by_the_models_timeout(self, fake_provider):
        [answer] = ask(open_account(fake_provider.base_url), write_request("[[hang]]", timeout_seconds=1.5))
        assert (answer.end, answer.next_step, answer.error_class) == (
            CallOutcome.UNKNOWN,
            NextStep.RETRY,
            ErrorClass.TIMEOUT,
        )
        assert "1.5 seconds" in answer.error

    def test_a_dripping_answer_ends_by_the_same_timeout(self, fake_provider):
        fake_provider.order(drip_seconds=0.15)
        [answer] = ask(open_account(fake_provider.base_url), write_request("[[drip]]", timeout_seconds=1.5))
        assert (answer.end, answer.error_class, answer.http_status) == (CallOutcome.UNKNOWN, ErrorClass.TIMEOUT, 200)
        assert answer.first_byte_after is not None
        assert answer.first_byte_after < 1.5
        assert 0 < len(answer.raw) < 20

    def test_a_refusal_cut_off_in_the_middle_stays_a_refusal(self):
        async def refuse(request):
            response = web.StreamResponse(status=429, headers={"Content-Length": "1000", "Retry-After": "7"})
            await response.prepare(request)
            await response.write(b'{"error": ')
            assert request.transport is not None
            request.transport.close()
            return response

        answer = asyncio.run(answer_with(refuse))
        assert (answer.end, answer.next_step, answer.retry_after) == (CallOutcome.REFUSED, NextStep.SLOW_DOWN, 7.0)


class TestBody:
    def test_the_cap_follows_from_the_tokens_asked_for(self):
        assert cap_body(REQUEST) == 256 * 1024 + 64 * 50
        assert cap_body(write_request(max_tokens=10_000_000)) == MAX_BODY
        assert cap_body(write_request(parameters={"logprobs": True})) == MAX_BODY

    @pytest.mark.parametrize("script", ["[[huge]]", "[[bomb]]"])
    def test_a_huge_answer_is_left_as_soon_as_it_is_too_large(self, fake_provider, script):
        tracemalloc.start()
        try:
            [answer] = ask(open_account(fake_provider.base_url), write_request(script))
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert (answer.end, answer.next_step, answer.error_class) == (
            CallOutcome.FAILED,
            NextStep.GIVE_UP,
            ErrorClass.TOO_LARGE,
        )
        assert len(answer.raw) == KEPT_OF_TOO_LARGE
        assert answer.http_status == 200
        assert most < 8 * 1024 * 1024
        assert fake_provider.stats()["received"] == 1

    def test_an_answer_after_a_cut_one_is_read_well(self, fake_provider):
        requests = [write_request(each) for each in ("[[cut]]", "[[huge]]", "fine")]
        answers = ask(open_account(fake_provider.base_url), *requests)
        assert [answer.end for answer in answers] == [CallOutcome.UNKNOWN, CallOutcome.FAILED, CallOutcome.ANSWERED]

    def test_what_is_no_http_is_a_bad_answer(self):
        async def call():
            async def hear(reader, writer):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
                await writer.drain()
                writer.close()

            server = await asyncio.start_server(hear, "127.0.0.1", 0)
            provider = open_provider(open_account(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"))
            answer = await provider.chat(REQUEST)
            await provider.close()
            server.close()
            return answer

        answer = asyncio.run(call())
        assert (answer.end, answer.error_class) == (CallOutcome.FAILED, ErrorClass.BAD_ANSWER)


class TestKey:
    def test_the_key_goes_into_its_header(self, fake_provider):
        fake_provider.order(key=KEY)
        account = open_account(fake_provider.base_url, key=KEY)
        assert [answer.end for answer in ask(account, REQUEST)] == [CallOutcome.ANSWERED]
        [refused] = ask(open_account(fake_provider.base_url, key="another-key"), REQUEST)
        assert (refused.next_step, refused.error_class) == (NextStep.STOP_BATCH, ErrorClass.ACCOUNT)

    @pytest.mark.parametrize("status", [200, 401])
    def test_a_key_that_is_sent_back_is_taken_out_of_everything(self, status, caplog):
        async def echo(request):
            said = request.headers["Authorization"]
            choices = [{"message": {"content": f"You are {said}"}, "finish_reason": said}]
            body = (
                {"id": said, "model": said, "error": {"message": f"Wrong: {said}"}} if status != 200 else {"id": said}
            )
            return web.json_response(body | {"choices": choices}, status=status, headers={"x-request-id": said})

        with caplog.at_level(logging.DEBUG):
            answer = asyncio.run(answer_with(echo, key=KEY))
        assert "[key removed]" in answer.raw
        assert KEY not in repr(answer)
        assert KEY not in caplog.text

    def test_no_error_shows_the_key(self, fake_provider, caplog):
        scripts = ["[[drop]]", "[[cut]]", "[[garbage]]", "[[401]]", "[[redirect]]", "[[huge]]"]
        account = open_account(fake_provider.base_url, key=KEY)
        with caplog.at_level(logging.DEBUG):
            answers = ask(account, *[write_request(each) for each in scripts])
            answers += ask(open_account("http://127.0.0.1:9/v1", key=KEY), REQUEST)
        assert KEY not in repr(answers) + repr(account) + caplog.text

    def test_a_word_that_is_no_secret_stays_in_the_answer(self):
        async def say(request):
            return web.json_response({"choices": [{"message": {"content": "ollama says EMPTY"}}]})

        assert asyncio.run(answer_with(say, key="EMPTY")).content == "ollama says EMPTY"

    @pytest.mark.parametrize("key", ["two\nlines", "nul\x00", "ключ"])
    def test_a_key_no_header_can_carry_is_refused_without_being_shown(self, key):
        with pytest.raises(ProviderNotReady, match="Set it again") as refused:
            ask(Account("openai_compatible", "https://models.example/v1", key), REQUEST)
        assert key not in str(refused.value)


class TestCertificate:
    def test_nothing_is_sent_to_a_server_whose_certificate_is_not_accepted(self, tmp_path):
        calls = 0

        async def count(request):
            nonlocal calls
            calls += 1
            return web.json_response({})

        answer = asyncio.run(answer_with(count, tls=make_certificate(tmp_path)))
        assert (answer.end, answer.next_step) == (CallOutcome.UNSENT, NextStep.STOP_BATCH)
        assert "certificate" in answer.error
        assert calls == 0


class TestOpening:
    @pytest.mark.parametrize(
        "base_url",
        [
            "",
            "http://",
            "http://host:99999/v1",
            "https://name:secret@host/v1",
            "nonsense",
            "https://a..example/v1",
            f"https://{'a' * 64}.example/v1",
            "https://xn--a.example/v1",
        ],
    )
    def test_an_unusable_base_url_is_refused_with_a_sentence(self, base_url):
        with pytest.raises(ProviderNotReady, match="base URL") as refused:
            ask(Account("openai_compatible", base_url), REQUEST)
        assert "secret" not in str(refused.value)

    def test_an_unknown_provider_names_those_there_are(self):
        with pytest.raises(ProviderNotReady, match="openai_compatible"):
            open_provider(Account("tarot"))

    def test_a_model_whose_answers_are_brought_in_calls_nothing(self):
        with pytest.raises(ProviderNotReady, match="imported from a file"):
            open_provider(Account("file"))


async def answer_with(handler, *, key="", tls=None):
    """The answer of one call to a server of one handler."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    scheme = "https" if tls else "http"
    provider = open_provider(open_account(f"{scheme}://127.0.0.1:{runner.addresses[0][1]}/v1", key=key))
    try:
        return await provider.chat(REQUEST)
    finally:
        await provider.close()
        await runner.cleanup()


def make_certificate(folder):
    """A server context with a certificate that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
