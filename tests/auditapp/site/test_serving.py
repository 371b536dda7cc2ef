"""The web server under clients that are slow, silent or too large: real connections to a real process."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from unittest.mock import MagicMock, Mock

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from waitress.adjustments import Adjustments

from auditapp.site.environment import env_networks
from auditapp.site.serving import (
    BODY_SECONDS,
    FILES_AT_ONCE,
    HEADER_SECONDS,
    LIMITS,
    READING_SECONDS,
    ROOM_FOR_BODIES,
    STRANGERS_BYTES,
    Channel,
    Parser,
    is_trusted_proxy,
)
from tests.support.instance import HOST, ROOT, find_free_port, wait_until
from tests.support.stuck_pages import LARGE
from transcripts.ui.forms import MEGABYTE, USUAL_BYTES, read_largest_request

COOKIE = "Cookie: session=of-ann\r\n"


@contextmanager
def serve(**environment):
    """A server of ``tests.support.stuck_pages``: its port, and its process."""
    number = find_free_port()
    command = [
        sys.executable,
        "-m",
        "auditapp.site.serving",
        "tests.support.stuck_pages:application",
        "--port",
        str(number),
    ]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})
    try:
        wait_until(lambda: ask(number, "/livez").startswith("HTTP/1.1 200"), what="the server answers")
        yield number, process
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def port():
    """Where a server listens whose threads are free."""
    with serve() as (number, _):
        yield number


def connect(port, request):
    """A connection on which ``request`` was sent."""
    connection = socket.create_connection((HOST, port), timeout=10)
    connection.sendall(request.encode())
    return connection


def announce(path, size, more=""):
    """A request that says how large its body is, and sends none of it."""
    return f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {size}\r\n{more}\r\n"


def ask(port, path, more=""):
    """The answer to a small request; "" when nobody listens."""
    request = f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n{more}\r\n"
    try:
        with closing(connect(port, request)) as connection:
            return read(connection)
    except OSError:
        return ""


def read(connection):
    said = b""
    while part := connection.recv(65536):
        said += part
    return said.decode()


def test_silent_clients_hold_no_thread(port):
    with ExitStack() as stack:
        for _ in range(10 * int(str(LIMITS["threads"]))):
            stack.enter_context(closing(connect(port, announce("/echo", 500))))
            stack.enter_context(closing(connect(port, "POST /echo HTTP/1.1\r\nHo")))
        assert ask(port, "/echo").endswith("\r\n\r\n0")
        assert ask(port, "/livez").endswith("alive")


def test_health_and_refusals_are_told_while_every_thread_is_at_work():
    with ExitStack() as stack:
        port, _ = stack.enter_context(serve())
        for _ in range(2 * int(str(LIMITS["threads"]))):
            stack.enter_context(closing(connect(port, f"GET /stuck HTTP/1.1\r\nHost: {HOST}\r\n\r\n")))
        time.sleep(0.5)
        assert ask(port, "/livez").endswith("alive")
        with closing(connect(port, announce("/echo", STRANGERS_BYTES + 1))) as connection:
            assert read(connection).startswith("HTTP/1.1 413")


@pytest.mark.parametrize(
    ("size", "more"),
    [
        (STRANGERS_BYTES + 1, ""),
        (400 * MEGABYTE, "Cookie: csrf=invented\r\n"),
        (STRANGERS_BYTES + 1, "Cookie: session=invented\r\n"),
        (STRANGERS_BYTES + 1, "Authorization: Bearer invented\r\n"),
        (USUAL_BYTES + 1, COOKIE),
    ],
)
@pytest.mark.parametrize("expect", ["", "Expect: 100-continue\r\n"])
def test_a_request_that_is_too_large_is_refused_before_its_body_is_read(port, size, more, expect):
    with closing(connect(port, announce("/echo", size, more + expect))) as connection:
        said = read(connection)
    assert said.startswith("HTTP/1.1 413")
    assert "takes requests of up to" in said


@pytest.mark.parametrize("expect", ["", "Expect: 100-continue\r\n"])
def test_a_person_may_send_more_than_a_stranger(port, expect):
    size = 3 * STRANGERS_BYTES
    for who in ("Cookie: session=of-ann-too\r\n", "Authorization: Bearer of-ben\r\n"):
        with closing(connect(port, announce("/echo", size, f"{who}{expect}Connection: close\r\n"))) as connection:
            if expect:
                assert connection.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
            connection.sendall(bytes(size))
            assert read(connection).endswith(f"\r\n\r\n{size}")


def test_nobody_has_more_than_a_few_of_the_threads():
    """By pages, by what changes something, and by the API; a quick request of hers that changes something is not kept waiting
    by pages."""
    with ExitStack() as stack:
        port, _ = stack.enter_context(serve())
        assert ask(port, "/who", COOKIE).startswith("HTTP/1.1 200")
        for _ in range(20):
            stack.enter_context(closing(connect(port, f"GET /stuck HTTP/1.1\r\nHost: {HOST}\r\n{COOKIE}\r\n")))
        assert send(port, COOKIE).endswith("\r\n\r\n4")
        for more in (COOKIE, "Authorization: Bearer of-ann-too\r\n"):
            for _ in range(10):
                request = f"POST /stuck HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 0\r\n{more}\r\n"
                stack.enter_context(closing(connect(port, request)))
        for more in ("", "Cookie: session=of-ben\r\n"):
            assert ask(port, "/echo", more).endswith("\r\n\r\n0")


def send(port, more):
    with closing(connect(port, announce("/echo", 4, f"{more}Connection: close\r\n") + "four")) as connection:
        return read(connection)


def test_many_quick_pages_at_once_are_all_answered(port):
    with ExitStack() as stack:
        request = f"GET /who HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n{COOKIE}\r\n"
        asked = [stack.enter_context(closing(connect(port, request))) for _ in range(12)]
        assert all(read(each).startswith("HTTP/1.1 200") for each in asked)


def test_a_page_that_nobody_waits_for_any_more_is_not_made():
    """The ten of hers that were left would take five seconds, two at a time."""
    with ExitStack() as stack:
        port, _ = stack.enter_context(serve())
        page = f"GET /brief HTTP/1.1\r\nHost: {HOST}\r\n{COOKIE}\r\n"
        for _ in range(2):
            stack.enter_context(closing(connect(port, page)))
        for _ in range(10):
            connect(port, page).close()
        begun = time.monotonic()
        assert ask(port, "/who", COOKIE).startswith("HTTP/1.1 200")
        assert time.monotonic() - begun < 4


class TestFiles:
    @pytest.fixture
    def readers(self):
        """A server, and what reads slowly from it."""
        with ExitStack() as stack:
            port, _ = stack.enter_context(serve())
            yield port, stack.enter_context(closing_all())

    def test_who_reads_slowly_holds_no_thread(self, readers):
        """Waitress alone would keep a thread for each of these, until they have read all but 16 MB."""
        port, slow = readers
        people = [f"Cookie: session=of-{number}\r\n" for number in range(2 * int(str(LIMITS["threads"])))]
        for who in people:
            slow.append(take_file(port, who))
        for _ in range(3):
            assert ask(port, "/echo").endswith("\r\n\r\n0")
        # Each gets all of it in the end.
        assert read_all(slow[0]) == LARGE

    def test_a_person_gets_few_at_once(self, readers):
        port, slow = readers
        assert ask(port, "/who", COOKIE).startswith("HTTP/1.1 200")
        assert ask(port, "/who", "Authorization: Bearer of-ann-too\r\n").startswith("HTTP/1.1 200")
        for _ in range(FILES_AT_ONCE):
            slow.append(take_file(port, COOKIE))
        for who in (COOKIE, "Authorization: Bearer of-ann-too\r\n"):
            assert ask(port, "/large", who).startswith("HTTP/1.1 429")
        assert ask(port, "/echo", COOKIE).endswith("\r\n\r\n0")
        slow.append(take_file(port, "Cookie: session=of-ben\r\n"))
        assert read_all(slow[0]) == LARGE
        slow.append(take_file(port, COOKIE))

    def test_who_reads_next_to_nothing_is_given_up(self):
        channel = Channel(MagicMock(), MagicMock(), ("", 0), Adjustments(**LIMITS), map={})
        assert not channel.is_too_slow(0)
        channel.total_outbufs_len = 1_000_000
        assert not channel.is_too_slow(100)
        channel.sent = 500_000
        assert not channel.is_too_slow(100 + READING_SECONDS + 90)
        assert channel.is_too_slow(100 + READING_SECONDS + 110)
        channel.total_outbufs_len = 0
        assert not channel.is_too_slow(1_000)


@contextmanager
def closing_all():
    made = []
    try:
        yield made
    finally:
        for each in made:
            each.close()


def take_file(port, more):
    """A connection on which a large file comes, of which its beginning is read."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
    connection.settimeout(10)
    connection.connect((HOST, port))
    connection.sendall(f"GET /large HTTP/1.1\r\nHost: {HOST}\r\n{more}\r\n".encode())
    said = b""
    while b"\r\n\r\n" not in said:
        said += connection.recv(1)
    assert said.startswith(b"HTTP/1.1 200")
    return connection


def read_all(connection):
    """How much of a file comes on a connection."""
    came = 0
    while came < LARGE and (part := connection.recv(1_000_000)):
        came += len(part)
    return came


def test_who_is_refused_and_goes_on_sending_is_told_so(port):
    with closing(connect(port, announce("/echo", 20 * MEGABYTE, COOKIE))) as connection:
        connection.sendall(bytes(20 * MEGABYTE))
        assert read(connection).startswith("HTTP/1.1 413")


def test_a_body_without_a_size_is_refused_where_it_gets_too_large(port):
    request = f"POST /echo HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n"
    with closing(connect(port, request)) as connection:
        chunk = b"100000\r\n" + bytes(MEGABYTE) + b"\r\n"
        connection.sendall(chunk + chunk)
        assert connection.recv(12) == b"HTTP/1.1 413"


@pytest.mark.parametrize("size", [3, 7, 5000])
def test_chunks_count_where_a_request_gives_a_size_too(port, size):
    """So nothing behind this server takes part of a body for a second request."""
    request = f"POST /echo HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {size}\r\nTransfer-Encoding: chunked\r\n"
    with closing(connect(port, request + "Connection: close\r\n\r\n7\r\n1234567\r\n0\r\n\r\n")) as connection:
        said = read(connection)
    assert said.startswith("HTTP/1.1 400") or said.endswith("\r\n\r\n7")
    assert said.count("HTTP/1.1") == 1


def test_large_requests_are_received_as_long_as_there_is_room_for_them(port):
    large = announce("/echo", USUAL_BYTES, COOKIE)
    with ExitStack() as stack:
        for _ in range(ROOM_FOR_BODIES // USUAL_BYTES):
            stack.enter_context(closing(connect(port, large)))
        time.sleep(0.3)
        with closing(connect(port, large)) as connection:
            assert read(connection).startswith("HTTP/1.1 503")
        assert ask(port, "/livez").endswith("alive")
        assert ask(port, "/echo").endswith("\r\n\r\n0")


def test_sigterm_ends_the_server():
    with serve() as (_, process):
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=30) == 0


def test_a_taken_port_is_told_in_a_sentence(port):
    command = [
        sys.executable,
        "-m",
        "auditapp.site.serving",
        "tests.support.stuck_pages:application",
        "--port",
        str(port),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (1, f"Cannot listen on {HOST}:{port} (Address already in use).")


class TestProxy:
    FORWARDED = (
        "X-Forwarded-For: 10.6.6.6, 203.0.113.7\r\nX-Forwarded-Proto: https\r\n"
        "X-Forwarded-Host: evil.example\r\nX-Forwarded-Port: 666\r\nForwarded: for=10.6.6.6;host=evil.example\r\n"
    )

    def test_a_trusted_proxy_says_who_asks_and_how_and_for_no_other_host(self, port):
        said = ask(port, "/who", self.FORWARDED).split("\r\n\r\n")[1]
        assert said == f"203.0.113.7 https {HOST} ['HTTP_X_FORWARDED_FOR', 'HTTP_X_FORWARDED_PROTO']"

    def test_nobody_else_is_believed(self):
        with serve(TRUSTED_PROXIES="192.0.2.1") as (port, _):
            said = ask(port, "/who", self.FORWARDED).split("\r\n\r\n")[1]
        assert said == f"{HOST} http {HOST} []"

    def test_nonsense_from_a_proxy_is_refused(self, port):
        assert ask(port, "/who", "X-Forwarded-Proto: gopher\r\n").startswith("HTTP/1.1 400")

    @pytest.mark.parametrize(
        ("text", "is_trusted"),
        [
            ("10.0.0.2", True),
            ("::ffff:10.0.0.2", True),
            ("10.0.0.20", False),
            ("fd00::1", True),
            ("fd01::1", False),
            ("localhost", False),
            ("", False),
        ],
    )
    def test_addresses_are_compared_as_numbers(self, text, is_trusted, monkeypatch, settings):
        monkeypatch.setenv("TRUSTED_PROXIES", "10.0.0.2, fd00::/16,")
        settings.TRUSTED_PROXIES = env_networks("TRUSTED_PROXIES", default="")
        assert is_trusted_proxy(text) is is_trusted


class TestTime:
    @pytest.fixture
    def parser(self):
        return Parser(Mock(), Adjustments(**LIMITS))

    def test_a_header_has_little_time(self, parser):
        parser.received(b"POST / HTTP/1.1\r\nHo")
        assert not parser.is_late(parser.begun + HEADER_SECONDS)
        assert parser.is_late(parser.begun + HEADER_SECONDS + 1)

    def test_a_body_has_the_time_that_a_slow_line_needs(self, parser):
        parser.received(announce("/", 1_000_000).encode())
        parser.received(bytes(500_000))
        assert not parser.is_late(parser.begun + BODY_SECONDS + 10)
        assert parser.is_late(parser.begun + BODY_SECONDS + 11)

    def test_a_size_that_is_announced_alone_gains_no_time(self, parser):
        parser.received(announce("/", 1_000_000).encode())
        assert parser.is_late(parser.begun + BODY_SECONDS + 1)


def list_views(patterns):
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from list_views(pattern.url_patterns)
        elif isinstance(pattern, URLPattern):
            yield pattern.callback


def test_few_pages_take_more_than_usual():
    """Whoever adds one adds it here too."""
    sizes = {view: read_largest_request(view) for view in list_views(get_resolver().url_patterns)}
    large = {view.__name__: size for view, size in sizes.items() if size > USUAL_BYTES}
    assert sorted(large) == ["import_answer_file", "import_interviews", "import_results", "import_study", "load"]
    assert max(large.values()) < ROOM_FOR_BODIES
