import asyncio
import socket

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from auditapp.llm.providers import open_provider
from auditapp.llm.providers.base import Account, CallOutcome, ErrorClass, NextStep
from auditapp.llm.providers.http import CallFailed, HttpAccount
from auditapp.outbound.guard import Guard, is_public
from tests.auditapp.llm.asking import REQUEST, ask, listen, open_account

PUBLIC = "93.184.216.34"


class FlippingResolver(AbstractResolver):
    """A name server that gives another answer each time."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    async def resolve(self, host, port=0, family=socket.AF_UNSPEC):
        found = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        kinds = {True: socket.AF_INET6, False: socket.AF_INET}
        return [
            ResolveResult(hostname=host, host=each, port=port, family=kinds[":" in each], proto=0, flags=0)
            for each in found
        ]

    async def close(self):
        return None


async def post(url, resolver, *, allowed="", times=1):
    """How calls to ``url`` fail, each over a connection of its own."""
    account = Account("openai_compatible", url, allowed=frozenset({allowed}))
    answers = []
    for _ in range(times):
        http = HttpAccount(account, base_url=url, headers={}, resolver=resolver)
        try:
            await http.exchange("POST", "/x", data=b"{}", timeout_seconds=5.0, max_bytes=1000)
        except CallFailed as error:
            answers.append(error.answer)
        finally:
            await http.close()
    return answers


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "fd00::1",
        "ff02::1",
        "2001:db8::1",
        "no address",
        "",
    ],
)
def test_an_address_of_no_public_network_is_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", [PUBLIC, "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"])
def test_an_address_of_the_internet_is_public(address):
    assert is_public(address)


class TestAddressAsTyped:
    @pytest.mark.parametrize(
        "host",
        [
            "127.0.0.1",
            "localhost",
            "LOCALHOST",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "017700000001",
            "127.1",
            "0",
            "0.0.0.0",
        ],
    )
    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_no_spelling_of_this_machine_is_connected_to(self, host, scheme):
        async def call():
            async with listen() as canary:
                provider = open_provider(Account("openai_compatible", f"{scheme}://{host}:{canary.port}/v1"))
                answer = await provider.chat(REQUEST)
                await provider.close()
                await asyncio.sleep(0.01)
                return canary.connections, answer

        connections, answer = asyncio.run(call())
        assert connections == 0
        assert (answer.end, answer.next_step) == (CallOutcome.UNSENT, NextStep.STOP_BATCH)
        assert answer.error_class is ErrorClass.ADDRESS_REFUSED
        assert "list of allowed addresses" in answer.error

    def test_an_address_on_the_list_is_called_also_without_encryption(self, fake_provider):
        [answer] = ask(open_account(fake_provider.base_url), REQUEST)
        assert answer.end is CallOutcome.ANSWERED

    def test_the_list_holds_ports_not_hosts(self, fake_provider):
        account = Account("openai_compatible", fake_provider.base_url, allowed=frozenset({"127.0.0.1:1"}))
        [answer] = ask(account, REQUEST)
        assert answer.error_class is ErrorClass.ADDRESS_REFUSED
        assert fake_provider.stats()["received"] == 0

    def test_a_public_address_without_encryption_is_refused(self):
        [answer] = asyncio.run(post("http://models.example", FlippingResolver([PUBLIC])))
        assert answer.error_class is ErrorClass.ADDRESS_REFUSED
        assert "without encryption" in answer.error
        assert "models.example:80" in answer.error

    @pytest.mark.parametrize("allowed", ["[::1]:8000", "[::1]:8000 ", "[0:0:0:0:0:0:0:1]:8000"])
    def test_an_ipv6_address_is_listed_in_brackets_however_it_is_spelled(self, allowed):
        assert Guard("http://[::1]:8000/v1", frozenset({allowed})).is_allowed

    @pytest.mark.parametrize("allowed", ["", "127.0.0.1", "127.0.0.1:99999", "http://127.0.0.1:8000", "*", "*:8000"])
    def test_an_entry_that_is_no_address_allows_nothing(self, allowed):
        assert not Guard("http://127.0.0.1:8000/v1", frozenset({allowed})).is_allowed

    def test_the_port_need_not_be_typed_in_the_base_url(self):
        assert Guard("https://Models.example/v1", frozenset({"models.example:443"})).is_allowed


class TestNames:
    @pytest.fixture
    def connected(self, monkeypatch):
        """The addresses that a connection was tried to; none is ever made."""
        tried = []

        async def connect(loop, sock, address):
            tried.append(address[0])
            raise ConnectionRefusedError(111, "Connection refused")

        monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", connect)
        return tried

    def test_a_name_that_leads_inside_is_refused(self, connected):
        [answer] = asyncio.run(post("https://models.example", FlippingResolver(["169.254.169.254"])))
        assert (answer.end, answer.next_step) == (CallOutcome.UNSENT, NextStep.STOP_BATCH)
        assert answer.error_class is ErrorClass.ADDRESS_REFUSED
        assert connected == []

    def test_a_name_that_flips_gets_the_connection_to_its_public_address_only(self, connected):
        resolver = FlippingResolver([PUBLIC], ["127.0.0.1"])
        first, second = asyncio.run(post("https://models.example", resolver, times=2))
        assert connected == [PUBLIC]
        assert first.error_class is ErrorClass.CONNECTION
        assert second.error_class is ErrorClass.ADDRESS_REFUSED
        assert resolver.asked == 2

    def test_one_inner_address_among_public_ones_refuses_them_all(self, connected):
        resolver = FlippingResolver([PUBLIC, "::ffff:127.0.0.1"])
        [answer] = asyncio.run(post("https://models.example", resolver))
        assert answer.error_class is ErrorClass.ADDRESS_REFUSED
        assert connected == []

    def test_a_name_on_the_list_may_lead_inside(self, connected):
        [answer] = asyncio.run(post("http://gpu.lan:8000", FlippingResolver(["10.0.0.5"]), allowed="gpu.lan:8000"))
        assert connected == ["10.0.0.5"]
        assert answer.error_class is ErrorClass.CONNECTION


class TestDetours:
    @pytest.mark.parametrize("target", ["http://169.254.169.254/latest/meta-data/", "canary"])
    def test_a_redirect_is_not_followed(self, fake_provider, target):
        async def call():
            async with listen() as canary:
                place = f"http://127.0.0.1:{canary.port}/" if target == "canary" else target
                fake_provider.order(always="redirect", redirect_to=place)
                provider = open_provider(open_account(fake_provider.base_url))
                answer = await provider.chat(REQUEST)
                await provider.close()
                return canary.connections, answer

        connections, answer = asyncio.run(call())
        assert connections == 0
        assert (answer.error_class, answer.next_step) == (ErrorClass.REDIRECT, NextStep.STOP_BATCH)
        assert "Correct the base URL" in answer.error

    def test_a_proxy_in_the_environment_is_not_used(self, fake_provider, monkeypatch):
        async def call():
            async with listen() as canary:
                for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
                    monkeypatch.setenv(name, f"http://127.0.0.1:{canary.port}")
                provider = open_provider(open_account(fake_provider.base_url))
                answer = await provider.chat(REQUEST)
                await provider.close()
                return canary.connections, answer

        connections, answer = asyncio.run(call())
        assert connections == 0
        assert answer.end is CallOutcome.ANSWERED
