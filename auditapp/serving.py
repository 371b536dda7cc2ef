"""The web server of the site: ``python -m auditapp.serving --port 8000``.

Waitress reads a request whole before a thread works on it, so that a client which is slow or says nothing holds a connection
and no thread. Added here: a request is refused by its size before its body is read, and by the time it takes; and /livez has a
thread of its own, so that it answers when all others are busy.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import ipaddress
import logging
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.urls import Resolver404, resolve
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.proxy_headers import proxy_headers_middleware
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher
from waitress.utilities import Error, RequestEntityTooLarge

from transcripts.ui.uploads import MEGABYTE, USUAL_BYTES, read_largest_request

logger = logging.getLogger(__name__)

APPLICATION = "auditapp.wsgi:application"
HEALTH = "/livez"
# What a request without a session or a token may have: the sign-in form needs less.
STRANGERS_BYTES = MEGABYTE
# What large requests that are received or at work may have together: their bodies lie in the folder for temporary files.
ROOM_FOR_BODIES = 640 * MEGABYTE
HEADER_SECONDS = 15
BODY_SECONDS = 30
SLOWEST_BYTES_PER_SECOND = 50_000
SECONDS_TO_DROP = 30
LIMITS = {
    "threads": 8,
    "connection_limit": 1_000,
    "asyncore_use_poll": True,
    "channel_timeout": 60,
    "cleanup_interval": 5,
    "max_request_header_size": 64 * 1024,
    "max_request_body_size": USUAL_BYTES,
    # What a proxy says is read by Forwarding.
    "clear_untrusted_proxy_headers": False,
    "ident": "",
}


class Busy(Error):  # type: ignore[misc]
    """An answer that says to try again."""

    code = 503
    reason = "Service Unavailable"


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """A request while it arrives."""

    adj: Adjustments
    error: Error | None

    def __init__(self, channel: Channel, adjustments: Adjustments) -> None:
        super().__init__(adjustments)
        self.channel, self.begun = channel, time.monotonic()

    def parse_header(self, header_plus: bytes) -> None:
        """Read the header, and find out how large the body may be."""
        super().parse_header(header_plus)
        self.adj = copy.copy(self.adj)
        # Waitress refuses what has as many bytes as its limit.
        self.adj.max_request_body_size = self._find_limit() + 1

    def received(self, data: bytes) -> int:
        """Take in a part of the request; how much of it was used."""
        had_header = self.headers_finished
        used: int = super().received(data)
        if isinstance(self.error, RequestEntityTooLarge):
            limit = (self.adj.max_request_body_size - 1) / MEGABYTE
            self.error = RequestEntityTooLarge(
                f"This address takes requests of up to {limit:.0f} MB, and this one is larger. Nothing of it was stored."
            )
        elif self.headers_finished and not had_header and self.is_large and not self.channel.server.has_room():
            self.error = Busy("Several large files are being received. Try again in a minute.")
            self.completed = True
        if self.error is not None:
            # Nobody is told to go on sending.
            self.expect_continue = False
            self.channel.is_refusing = True
        return used

    @property
    def is_large(self) -> bool:
        """Whether the body is kept in a file while it arrives, or may have to be."""
        return bool(self.chunked or self.content_length > STRANGERS_BYTES)

    @property
    def room(self) -> int:
        """How much of ROOM_FOR_BODIES the body may need."""
        if not self.headers_finished or not self.is_large:
            return 0
        return int(self.adj.max_request_body_size if self.chunked else self.content_length)

    def is_late(self, now: float) -> bool:
        """Whether the request arrives more slowly than any honest client needs."""
        if not self.headers_finished:
            return now - self.begun > HEADER_SECONDS
        return bool(now - self.begun > BODY_SECONDS + self.body_bytes_received / SLOWEST_BYTES_PER_SECOND)

    def _find_limit(self) -> int:
        may_be_known = (
            f"{settings.SESSION_COOKIE_NAME}=" in self.headers.get("COOKIE", "") or "AUTHORIZATION" in self.headers
        )
        if not may_be_known:
            return STRANGERS_BYTES
        if not self.is_large:
            return USUAL_BYTES
        try:
            return read_largest_request(resolve(self.path.encode("latin-1").decode("utf-8", "replace")).func)
        except Resolver404:
            return USUAL_BYTES


class Forwarding:
    """An application that learns from a trusted proxy (TRUSTED_PROXIES) who asks and whether by https, and from nobody else.

    Of a list of addresses only the last counts, which the proxy itself has seen. The host is never taken from a header of
    this kind.
    """

    def __init__(self, application: Any) -> None:
        usual = {"trusted_proxy_headers": {"x-forwarded-for", "x-forwarded-proto"}, "clear_untrusted": True}
        self.behind_proxy = proxy_headers_middleware(application, trusted_proxy="*", **usual)
        self.direct = proxy_headers_middleware(application, trusted_proxy=None, **usual)
        self.has_warned = False

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        if is_trusted_proxy(environ["REMOTE_ADDR"]):
            return self.behind_proxy(environ, start_response)
        if "HTTP_X_FORWARDED_PROTO" in environ and not self.has_warned:
            self.has_warned = True
            logger.warning(
                "%s sent X-Forwarded-Proto, which is ignored: it is not among TRUSTED_PROXIES. If it is your proxy, add it.",
                environ["REMOTE_ADDR"],
            )
        return self.direct(environ, start_response)


def is_trusted_proxy(text: str) -> bool:
    """Whether ``text`` is an address in TRUSTED_PROXIES."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    # As a socket that listens to both kinds of addresses writes those of the older kind.
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in settings.TRUSTED_PROXIES)


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection.

    After a refusal, what the client still sends is read and dropped for a while: a connection that is closed with bytes
    unread is reset, and a client or a proxy that is still sending then never sees the refusal.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.parser_class = partial(Parser, self)
        self.is_refusing = False
        self.drops_until: float | None = None

    def handle_close(self) -> None:
        """Close the connection; after a refusal only our end of it, the first time."""
        if self.is_refusing and self.drops_until is None:
            self.drops_until = time.monotonic() + SECONDS_TO_DROP
            self.will_close = False
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
                return
        super().handle_close()

    def readable(self) -> bool:
        return self.drops_until is not None or bool(super().readable())

    def handle_read(self) -> None:
        if self.drops_until is None:
            super().handle_read()
        else:
            # At the client's end of it, this closes the connection.
            self.recv(self.adj.recv_bytes)


class Server(TcpWSGIServer):  # type: ignore[misc]
    """The server, with a thread for health checks beside those for pages."""

    channel_class = Channel

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.health = ThreadedTaskDispatcher()
        self.health.set_thread_count(1)
        super().__init__(*arguments, **named)

    def add_task(self, task: Channel) -> None:
        """Let a thread answer the first request of a connection; what is refused already waits for no page either."""
        request = task.requests[0]
        is_quick = request.error is not None or request.path == HEALTH
        (self.health if is_quick else self.task_dispatcher).add_task(task)

    def has_room(self) -> bool:
        """Whether the bodies of all requests that are received or at work fit into ROOM_FOR_BODIES."""
        requests = [
            request
            for channel in list(self.active_channels.values())
            for request in (channel.request, *channel.requests)
            if request is not None and request.error is None
        ]
        needed: int = sum(request.room for request in requests)
        return needed <= ROOM_FOR_BODIES

    def maintenance(self, now: float) -> None:
        """Close connections that say nothing, and those whose request takes too long."""
        super().maintenance(now)
        for channel in self.active_channels.values():
            is_late = channel.request is not None and channel.request.is_late(time.monotonic())
            if is_late or (channel.drops_until is not None and time.monotonic() > channel.drops_until):
                channel.will_close = True


def main(arguments: Sequence[str]) -> None:
    """Serve until SIGTERM or Ctrl-C; requests at work then have five seconds to end."""
    parser = argparse.ArgumentParser(prog="python -m auditapp.serving", description="Serve the site.")
    parser.add_argument(
        "application", nargs="?", default=APPLICATION, help=f"a WSGI application (default: {APPLICATION})"
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="the port to listen on (default: 8000)")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, stop)
    module, name = given.application.split(":")
    try:
        application = getattr(importlib.import_module(module), name)
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    # A queue of requests is no reason for a warning each.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    try:
        server = Server(Forwarding(application), host=given.host, port=given.port, **LIMITS)
    except OSError as error:
        sys.exit(f"Cannot listen on {given.host}:{given.port} ({error.strerror}).")
    server.run()


def stop(*signal_and_frame: object) -> NoReturn:
    """End the loop of the server."""
    raise SystemExit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
