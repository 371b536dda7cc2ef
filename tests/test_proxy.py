"""The proxy of docker-compose.yml, with its own configuration, in front of the web server: real connections over TLS."""

from __future__ import annotations

import datetime
import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.urls import URLPattern, get_resolver

from auditapp.site.serving import STRANGERS_BYTES
from tests.auditapp.site.test_serving import serve
from tests.support.instance import HOST, ROOT, find_free_port, wait_until
from tests.support.stuck_pages import LARGE
from transcripts.ui.forms import MEGABYTE, USUAL_BYTES, read_largest_request

CONFIGURATION = (ROOT / "proxy" / "nginx.conf").read_text(encoding="utf-8")
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
# The proxy knows what a session looks like, and the web server which there are.
SHAPE = f"__Host-session={'a' * 32}"
KNOWN = {"Cookie": f"csrf=x; {SHAPE}; session=of-ann"}
FORGED = {
    "X-Forwarded-For": "10.6.6.6",
    "X-Forwarded-Proto": "gopher",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Port": "666",
    "X_Forwarded_For": "10.6.6.6",
    "Forwarded": "for=10.6.6.6;host=evil.example",
}


def list_sizes():
    """The most bytes that the addresses of the site take."""

    def walk(patterns):
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                yield read_largest_request(pattern.callback)
            else:
                yield from walk(pattern.url_patterns)

    return set(walk(get_resolver().url_patterns))


class TestConfiguration:
    def test_it_takes_what_the_web_server_takes(self):
        """What is large is passed on while it arrives, for the web server to judge."""
        [large] = re.findall(r"location @large \{\s+client_max_body_size (\d+)m;", CONFIGURATION)
        [usual] = re.findall(r"^    client_max_body_size (\d+)m;", CONFIGURATION, re.MULTILINE)
        assert int(usual) * MEGABYTE == USUAL_BYTES
        sizes = list_sizes()
        assert min(sizes) == USUAL_BYTES
        assert USUAL_BYTES < max(sizes) <= int(large) * MEGABYTE

    def test_it_serves_no_file_and_knows_no_folder(self):
        assert not re.search(r"^\s*(alias|root|autoindex|try_files)\b", CONFIGURATION, re.MULTILINE)

    def test_it_listens_to_ipv6_wherever_it_listens_to_people(self):
        by_four = re.findall(r"listen (\d+(?: ssl)?);", CONFIGURATION)
        assert by_four
        assert re.findall(r"listen \[::\]:(.*);", CONFIGURATION) == by_four

    def test_it_speaks_no_old_tls(self):
        assert re.findall(r"ssl_protocols (.*);", CONFIGURATION) == ["TLSv1.2 TLSv1.3"]

    def test_its_log_has_no_query_string_and_no_link_that_signs_somebody_in(self):
        [form] = re.findall(r"log_format \w+ '([^']*)'", CONFIGURATION)
        assert not re.search(r"\$(request|request_uri|args|query_string|uri|http_\w+)\b", form)


class Proxy(NamedTuple):
    """Where it listens, with TLS and without, and where it writes its log."""

    port: int
    plain_port: int
    log: Path


def make_certificate(folder):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .sign(key, hashes.SHA256())
    )
    (folder / "tls_certificate").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "tls_key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


@contextmanager
def start_proxy(folder, web):
    """The proxy in front of the web server at that port."""
    make_certificate(folder)
    ports = {number: find_free_port() for number in ("8080", "8443", "8081")}
    # Names are looked up again and again in containers alone, and older releases of nginx do not know how.
    text = re.sub(r"server web:8000 resolve", f"server {HOST}:{web}", CONFIGURATION)
    text = re.sub(r"resolver .*;|listen \[::\].*;", "", text)
    text = re.sub("/(tmp|run/secrets)/", f"{folder}/", text)
    text = re.sub(r"listen (?:127.0.0.1:)?(\d+)", lambda found: f"listen {HOST}:{ports[found[1]]}", text)
    # Whoever starts it here may open fewer files than a container.
    text = re.sub(r"worker_rlimit_nofile \d+;", "", text)
    text = text.replace("worker_connections 4096", "worker_connections 400")
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    # Its workers would be somebody else, who may not open this folder.
    user = ["-g", "user root;"] if os.geteuid() == 0 else []
    command = [str(NGINX), "-e", "stderr", "-c", str(folder / "nginx.conf"), *user]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        yield Proxy(ports["8443"], ports["8080"], folder / "log")
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    """The proxy in front of a server of ``tests.support.stuck_pages``."""
    with ExitStack() as stack:
        web, _ = stack.enter_context(serve())
        made = stack.enter_context(start_proxy(tmp_path_factory.mktemp("proxy"), web))
        wait_until(lambda: answers(made), what="the proxy answers", patience=30)
        yield made


@pytest.mark.processes
@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
class TestProcess:
    def test_a_forged_sender_host_or_scheme_is_written_over(self, proxy):
        status, said = ask(proxy, "/who", headers=FORGED)
        assert (status, said) == (
            200,
            f"{HOST} https {HOST}:{proxy.port} ['HTTP_X_FORWARDED_FOR', 'HTTP_X_FORWARDED_PROTO']",
        )

    def test_what_comes_without_tls_is_told_to_the_web_server(self, proxy):
        with closing(http.client.HTTPConnection(HOST, proxy.plain_port, timeout=10)) as connection:
            connection.request("GET", "/who", headers=FORGED)
            assert f"{HOST} http " in connection.getresponse().read().decode()

    @pytest.mark.parametrize(
        "path", ["/static../auditapp/settings.py", "/static/../auditapp/settings.py", "/static%2e%2e/"]
    )
    def test_no_address_leads_to_a_file_of_the_proxy(self, proxy, path):
        assert ask(proxy, path) == (404, "none")

    def test_the_state_of_the_site_is_for_its_own_machine(self, proxy):
        assert ask(proxy, "/livez") == (200, "alive")
        assert ask(proxy, "/readyz")[0] == 404

    @pytest.mark.parametrize(
        ("path", "size", "headers", "status"),
        [
            ("/echo", STRANGERS_BYTES - 100_000, {}, 200),
            ("/echo", STRANGERS_BYTES + 1, {}, 413),
            ("/echo", STRANGERS_BYTES + 1, {"Cookie": "session=invented"}, 413),
            ("/echo", STRANGERS_BYTES + 1, {"Cookie": "__Host-session=bogus"}, 413),
            ("/echo", STRANGERS_BYTES + 1, {"Cookie": f"{SHAPE}; session=invented"}, 413),
            ("/echo", STRANGERS_BYTES + 1, {"Authorization": "Bearer invented"}, 413),
            ("/echo", STRANGERS_BYTES + 1, {"Authorization": "Bearer of-ben"}, 200),
            ("/echo", USUAL_BYTES, KNOWN, 200),
            ("/echo", USUAL_BYTES + 1, KNOWN, 413),
            ("/studies/a/interviews/import/", STRANGERS_BYTES + 1, {}, 413),
            # Read by the web server while it arrives, which knows no such page here and so refuses it as larger than usual.
            ("/studies/a/interviews/import/", USUAL_BYTES + 1, KNOWN, 413),
            ("/studies/a/interviews/import/", 545 * MEGABYTE, KNOWN, 413),
        ],
    )
    def test_a_body_may_be_as_large_as_the_web_server_takes_it(self, proxy, path, size, headers, status):
        # Only what is small enough is sent in full.
        body = bytes(min(size, 11 * MEGABYTE))
        said = ask(proxy, path, body=body, headers={**headers, "Content-Length": str(size)})
        assert said[0] == status
        if status == 200:
            assert said[1] == str(size)
        else:
            assert "Nothing of it was stored" in said[1]

    def test_slow_readers_hold_no_thread(self, proxy):
        with ExitStack() as stack:
            slow = []
            for number in range(12):
                reader = stack.enter_context(closing(connect(proxy)))
                cookie = f"Cookie: session=of-{number}"
                reader.sendall(f"GET /large HTTP/1.1\r\nHost: {HOST}\r\n{cookie}\r\n\r\n".encode())
                assert reader.recv(12) == b"HTTP/1.1 200"
                slow.append(reader)
            assert ask(proxy, "/echo", body=b"four") == (200, "4")
            assert read_all(slow[0]) > LARGE

    def test_silent_clients_do_not_reach_the_web_server(self, proxy):
        with ExitStack() as stack:
            for _ in range(80):
                silent = stack.enter_context(closing(connect(proxy)))
                silent.sendall(f"POST /echo HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 500\r\n\r\n".encode())
                silent = stack.enter_context(closing(connect(proxy)))
                silent.sendall(b"POST /echo HTTP/1.1\r\nHo")
            assert ask(proxy, "/echo", body=b"four") == (200, "4")
            assert ask(proxy, "/livez") == (200, "alive")

    def test_while_the_web_server_is_away_people_are_told_to_try_again(self, tmp_path):
        """The desk keeps what was coded at a 503, and sends it again."""
        with start_proxy(tmp_path, find_free_port()) as made:
            wait_until(lambda: knocks(made), what="the proxy answers", patience=30)
            with closing(http.client.HTTPSConnection(HOST, made.port, context=trusting(), timeout=30)) as connection:
                connection.request("GET", "/studies/a/interviews/1/")
                answer = connection.getresponse()
                assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
                assert "Try again in a moment" in answer.read().decode()

    def test_its_log_shows_addresses_without_what_follows_them(self, proxy):
        ask(proxy, "/static/x?q=hunter2")
        ask(proxy, "/sign-in/hunter3/")
        wait_until(lambda: "/sign-in/..." in proxy.log.read_text(encoding="utf-8"), what="both are logged", patience=30)
        log = proxy.log.read_text(encoding="utf-8")
        assert "GET /static/x 404" in log
        assert "hunter" not in log


def read_all(connection):
    """How much comes on a connection, header and all, until nothing more does."""
    came = 12
    with suppress(TimeoutError):
        connection.settimeout(3)
        while part := connection.recv(1_000_000):
            came += len(part)
    return came


def connect(proxy):
    return trusting().wrap_socket(socket.create_connection((HOST, proxy.port), timeout=10))


def trusting():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def ask(proxy, path, *, body=None, headers=None):
    """The status and text of an answer; with a body, POST."""
    with closing(http.client.HTTPSConnection(HOST, proxy.port, context=trusting(), timeout=30)) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.request("GET" if body is None else "POST", path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def knocks(proxy):
    with suppress(OSError):
        return ask(proxy, "/livez")[0] > 0
    return False


def answers(proxy):
    with suppress(OSError):
        return ask(proxy, "/livez")[0] == 200
    return False
