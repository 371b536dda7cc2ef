"""The web server of the site: ``python -m auditapp.site.serving --port 8000``.

Waitress reads a whole request before a thread works on it, so that a slow or silent client occupies a connection but no thread.
Added here:

- A request can be refused because of its size, before its body is read, and because it takes too long. Large bodies are received
  only from people with a session or a token, which is looked up in a separate thread.
- A response is written as fast as the thread makes it. What the client has not read yet waits in a file, and the thread goes on.
- Nobody has more than three of the eight threads. A person's further requests wait in a separate queue.
- /livez has a separate thread, so that it answers even if all others are busy.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import ipaddress
import logging
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, NoReturn

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http.cookie import parse_cookie
from django.urls import Resolver404, resolve
from waitress.adjustments import Adjustments
from waitress.buffers import ReadOnlyFileBasedBuffer
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.proxy_headers import proxy_headers_middleware
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher, WSGITask
from waitress.utilities import Error, RequestEntityTooLarge

from auditapp.site.clients import CLIENT, Claim, read_claim
from transcripts.ui.forms import MEGABYTE, USUAL_BYTES, read_largest_request

logger = logging.getLogger(__name__)

APPLICATION = "auditapp.wsgi:application"
HEALTH = "/livez"
# The largest body of a request without a session or a token. The sign-in form needs less.
STRANGERS_BYTES = MEGABYTE
# The total size of all large requests that are being received or worked on. Their bodies are in the folder for temporary files.
ROOM_FOR_BODIES = 640 * MEGABYTE
HEADER_SECONDS = 15
BODY_SECONDS = 30
SLOWEST_BYTES_PER_SECOND = 50_000
SECONDS_TO_DROP = 30
# How many requests of one person are worked on at once: those that only read, and all.
READING_AT_ONCE, WORKED_ON_AT_ONCE = 2, 3
# How many large files are sent to one person at once, and to all.
FILES_AT_ONCE, ALL_FILES_AT_ONCE = 3, 40
# The total size of responses that clients have not read yet, which are kept in the folder for temporary files, and the free space
# that must remain there.
ROOM_FOR_ANSWERS = 2_048 * MEGABYTE
ROOM_LEFT = 64 * MEGABYTE
# How long a thread waits for that space. Then the connection is closed, because the client has not read for so long.
SECONDS_FOR_ROOM = 30
# The connection of a client that reads more slowly than this is closed.
READING_SECONDS = 60
SLOWEST_READ_PER_SECOND = 5_000
PIECE = MEGABYTE
# How long the server remembers whose a session or token is, or that it is nobody's.
KNOWN_SECONDS, UNKNOWN_SECONDS = 600, 30
MOST_KNOWN = 10_000
LIMITS = {
    "threads": 8,
    "connection_limit": 1_000,
    "asyncore_use_poll": True,
    "channel_timeout": 60,
    "cleanup_interval": 5,
    "max_request_header_size": 64 * 1024,
    "max_request_body_size": USUAL_BYTES,
    # The headers of proxies are handled by Forwarding.
    "clear_untrusted_proxy_headers": False,
    "ident": "",
}


class Known(NamedTuple):
    """The person to whom a claim belongs, ``None`` for nobody, and the time until which this is remembered."""

    person: int | None
    until: float


class Place(NamedTuple):
    """A request that is being worked on: who sent it, and whether it only reads."""

    sender: Sender
    reads: bool


Sender = int | Claim


class Busy(Error):  # type: ignore[misc]
    """A response that says to try again."""

    code = 503
    reason = "Service Unavailable"


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """A request while it is being received."""

    adj: Adjustments
    error: Error | None
    expect_continue: bool

    def __init__(self, channel: Channel, adjustments: Adjustments) -> None:
        super().__init__(adjustments)
        self.channel, self.begun = channel, time.monotonic()
        self.claim: Claim | None = None
        # Whether the sender is being looked up. Nothing more is read until this is done.
        self.is_being_looked_up = self.waits_to_continue = False

    def parse_header(self, header_plus: bytes) -> None:
        """Read the header, and find out how large the body may be."""
        super().parse_header(header_plus)
        cookies = parse_cookie(self.headers.get("COOKIE", ""))
        self.claim = read_claim(cookies, self.headers.get("AUTHORIZATION", ""))
        self.adj = copy.copy(self.adj)
        # Waitress also refuses a body that has exactly as many bytes as its limit.
        self.adj.max_request_body_size = self._find_limit() + 1

    def received(self, data: bytes) -> int:
        """Receive a part of the request; returns how many bytes of it were used."""
        had_header = self.headers_finished
        used: int = super().received(data)
        if isinstance(self.error, RequestEntityTooLarge):
            self._say_limit()
        elif self.headers_finished and not had_header and self.is_large:
            self._look_up()
        if self.error is not None:
            self._refuse(self.error)
        return used

    def _look_up(self) -> None:
        """Find out who wants to send a large body; if this is not known yet, in the thread for lookups."""
        if self.claim is None:
            self.learn(None)
        elif known := self.channel.server.recall(self.claim):
            self.learn(known.person)
        else:
            self.is_being_looked_up = True
            self.waits_to_continue, self.expect_continue = self.expect_continue, False
            self.channel.server.lookups.add_task(Lookup(self.channel, self, self.claim))

    def learn(self, person: int | None, *, has_failed: bool = False) -> None:
        """Receive the body or refuse it, now that the sender is known (``None``: a stranger)."""
        self.is_being_looked_up = False
        if has_failed:
            self._refuse(Busy("The database is not answering at the moment. Try again in a few seconds."))
            return
        if person is None:
            self.adj.max_request_body_size = STRANGERS_BYTES + 1
        if person is None and not self.chunked:
            self._say_limit()
        elif not self.channel.server.has_room():
            self.error = Busy("Several large files are being received. Try again in a minute.")
        if self.error is not None:
            self._refuse(self.error)

    def _say_limit(self) -> None:
        limit = (self.adj.max_request_body_size - 1) / MEGABYTE
        self.error = RequestEntityTooLarge(
            f"This address takes requests of up to {limit:.0f} MB, and this one is larger. Nothing of it was stored."
        )

    def _refuse(self, error: Error) -> None:
        self.error, self.completed = error, True
        # The client is not told to go on sending.
        self.expect_continue = False
        self.channel.is_refusing = True

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
        if self.claim is None:
            return STRANGERS_BYTES
        if not self.is_large:
            return USUAL_BYTES
        try:
            return read_largest_request(resolve(self.path.encode("latin-1").decode("utf-8", "replace")).func)
        except Resolver404:
            return USUAL_BYTES


class Forwarding:
    """An application that takes the client's address and the scheme from a trusted proxy (TRUSTED_PROXIES), and from nobody else.

    In a list of addresses only the last one counts, which the proxy itself has seen. The host is never taken from such a header.
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
    # A socket that listens for both IPv4 and IPv6 writes IPv4 addresses in this form.
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in settings.TRUSTED_PROXIES)


class Lookup:
    """A query of the database for the person who wants to send a large body."""

    def __init__(self, channel: Channel, request: Parser, claim: Claim) -> None:
        self.channel, self.request, self.claim = channel, request, claim

    def service(self) -> None:
        """Run the query, and let the connection continue."""
        channel, request, server = self.channel, self.request, self.channel.server
        claim, known = self.claim, None
        try:
            known = server.recall(claim) or server.remember(claim, server.find_person(claim))
        except Exception:
            logger.warning("Who sends a large request could not be found out, so it was refused.", exc_info=True)
        with channel.requests_lock:
            # A small body without a size may have arrived whole with its header.
            if channel.request is request:
                request.learn(None if known is None else known.person, has_failed=known is None)
                if request.completed:
                    channel.request = None
                    channel.requests.append(request)
                    server.add_task(channel)
                elif request.waits_to_continue:
                    request.expect_continue = True
                    channel.send_continue()
        server.pull_trigger()

    def cancel(self) -> None:
        self.channel.cancel()


class Task(WSGITask):  # type: ignore[misc]
    """A request for the site, which gets the connection on which it arrived."""

    channel: Channel

    def get_environment(self) -> dict[str, Any]:
        self.channel.is_sending_file = False
        environ: dict[str, Any] = super().get_environment()
        environ[CLIENT] = self.channel
        return environ


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection.

    After a refusal, what the client still sends is read and dropped for a while. If a connection were closed with unread bytes, it
    would be reset, and a client or a proxy that is still sending would never see the refusal.
    """

    server: Server
    will_close: bool
    connected: bool
    task_class = Task

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.parser_class = partial(Parser, self)
        self.is_refusing = False
        self.drops_until: float | None = None
        # The request that a thread is working on, and its sender.
        self.place: Place | None = None
        self.claim: Claim | None = None
        self.is_sending_file = False
        self.sent = 0
        # Since when the client has had something to read, and how many bytes had been sent by then.
        self.unread_since: tuple[float, int] | None = None

    def set_person(self, person: int) -> None:
        """Remember to whom this session or token belongs."""
        if self.claim is not None:
            self.server.remember(self.claim, person)

    def begin_file(self) -> str:
        """Reserve a place for sending a large file. Returns "", or the reason why no place is free."""
        return self.server.begin_file(self)

    def service(self) -> None:
        """Work on a request, then give the place to the next request of the same person."""
        place = self.place
        try:
            super().service()
        finally:
            if place is not None:
                self.server.release(place)

    def has_hung_up(self) -> bool:
        """Whether the client no longer waits for an answer."""
        try:
            return not self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def send(self, data: bytes, do_close: bool = True) -> int:
        sent: int = super().send(data, do_close=do_close)
        self.sent += sent
        return sent

    def write_soon(self, data: Any) -> int:
        """Send the data, at once or when the client reads on. In pieces, so that little of it is in memory twice."""
        if isinstance(data, ReadOnlyFileBasedBuffer) or len(data) <= PIECE:
            return int(super().write_soon(data))
        view = memoryview(data)
        return sum(
            int(super(Channel, self).write_soon(bytes(view[at : at + PIECE]))) for at in range(0, len(view), PIECE)
        )

    def _flush_outbufs_below_high_watermark(self) -> None:
        """Go on writing as long as there is space for what the client has not read. Waitress would wait for the client."""
        if self.total_outbufs_len <= self.adj.outbuf_high_watermark:
            return
        late = time.monotonic() + SECONDS_FOR_ROOM
        with self.outbuf_lock:
            while self.connected:
                _, failed = self._flush_exception(self._flush_some, do_close=False)
                is_read = self.total_outbufs_len <= self.adj.outbuf_high_watermark
                if not failed and (is_read or self.server.has_room_for_answers()):
                    return
                if failed or time.monotonic() > late:
                    # The thread that writes then stops.
                    self.will_close, self.connected = True, False
                self.server.pull_trigger()
                if self.connected:
                    self.outbuf_lock.wait(1)

    def is_too_slow(self, now: float) -> bool:
        """Whether the client reads more slowly than any honest client."""
        if not self.total_outbufs_len:
            self.unread_since = None
            return False
        since, sent = self.unread_since = self.unread_since or (now, self.sent)
        return now - since > READING_SECONDS + (self.sent - sent) / SLOWEST_READ_PER_SECOND

    def handle_close(self) -> None:
        """Close the connection; after a refusal, the first call closes only our end of it."""
        if self.is_refusing and self.drops_until is None:
            self.drops_until = time.monotonic() + SECONDS_TO_DROP
            self.will_close = False
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
                return
        super().handle_close()

    def readable(self) -> bool:
        if self.request is not None and self.request.is_being_looked_up:
            return False
        return self.drops_until is not None or bool(super().readable())

    def handle_read(self) -> None:
        if self.drops_until is None:
            super().handle_read()
        else:
            # Reads and drops the data; if the client has closed its end, this closes the connection.
            self.recv(self.adj.recv_bytes)


class Server(TcpWSGIServer):  # type: ignore[misc]
    """The server, with a thread for health checks, a thread for lookups in the database, and the threads for pages."""

    channel_class = Channel

    def __init__(self, *arguments: Any, find_person: Callable[[Claim], int | None], **named: Any) -> None:
        self.find_person = find_person
        self.health, self.lookups = ThreadedTaskDispatcher(), ThreadedTaskDispatcher()
        for each in (self.health, self.lookups):
            each.set_thread_count(1)
        self.lock = threading.Lock()
        self.known: dict[Claim, Known] = {}
        self.working: dict[Sender, list[Place]] = defaultdict(list)
        self.waiting: dict[Sender, deque[Channel]] = defaultdict(deque)
        super().__init__(*arguments, **named)

    def add_task(self, task: Channel) -> None:
        """Let a thread answer the first request of a connection once its sender has a place. Requests that are already refused do
        not wait."""
        request = task.requests[0]
        task.place, task.claim = None, request.claim
        if request.error is not None or request.path == HEALTH:
            self.health.add_task(task)
        elif request.claim is None or request.path.startswith(settings.STATIC_URL):
            self.task_dispatcher.add_task(task)
        else:
            with self.lock:
                sender = self._find_sender(request.claim)
                self.waiting[sender].append(task)
                self._begin_waiting(sender)

    def release(self, place: Place) -> None:
        """Note that a request has been answered, and begin the next one of the same sender."""
        with self.lock:
            self.working[place.sender].remove(place)
            self._begin_waiting(place.sender)
            if not self.working[place.sender]:
                del self.working[place.sender]

    def _begin_waiting(self, sender: Sender) -> None:
        """Give places to waiting requests in order, except that requests that change something do not wait for pages."""
        waiting, working = self.waiting[sender], self.working[sender]
        while waiting and len(working) < WORKED_ON_AT_ONCE:
            may_read = sum(place.reads for place in working) < READING_AT_ONCE
            task = next((each for each in waiting if may_read or not _reads(each)), None)
            if task is None:
                break
            waiting.remove(task)
            if _reads(task) and task.has_hung_up():
                task.connected = False
            task.place = Place(sender, _reads(task))
            working.append(task.place)
            self.task_dispatcher.add_task(task)
        if not waiting:
            del self.waiting[sender]

    def recall(self, claim: Claim) -> Known | None:
        """What was recently found out about a claim; ``None`` if nothing was."""
        known = self.known.get(claim)
        return known if known is not None and known.until > time.monotonic() else None

    def remember(self, claim: Claim, person: int | None) -> Known:
        """Remember to whom a claim belongs; ``None`` means nobody."""
        known = Known(person, time.monotonic() + (UNKNOWN_SECONDS if person is None else KNOWN_SECONDS))
        if len(self.known) > MOST_KNOWN:
            self.known = {}
        self.known[claim] = known
        return known

    def _find_sender(self, claim: Claim) -> Sender:
        """The person, so that all her sessions and tokens count together; if she is not known yet, her claim."""
        known = self.known.get(claim)
        return claim if known is None or known.person is None else known.person

    def begin_file(self, channel: Channel) -> str:
        """Reserve a place for sending a large file on this connection. Returns "", or the reason why no place is free."""
        if channel.claim is None:
            return ""
        with self.lock:
            others = [
                each
                for each in list(self.active_channels.values())
                if each is not channel and each.is_sending_file and (each.requests or each.total_outbufs_len)
            ]
            sender = self._find_sender(channel.claim)
            own = [each for each in others if each.claim is not None and self._find_sender(each.claim) == sender]
            if len(own) >= FILES_AT_ONCE:
                return (
                    f"{FILES_AT_ONCE} large files are being sent to you at this moment. Wait until one of them has arrived, "
                    "then try again."
                )
            if len(others) >= ALL_FILES_AT_ONCE or not self.has_room_for_answers():
                return "Many large files are being sent at this moment. Try again in a few minutes."
            channel.is_sending_file = True
            return ""

    def has_room_for_answers(self) -> bool:
        """Whether there is space to keep more data that clients have not read yet."""
        kept = sum(each.total_outbufs_len for each in list(self.active_channels.values()))
        return kept < ROOM_FOR_ANSWERS and shutil.disk_usage(tempfile.gettempdir()).free > ROOM_LEFT

    def has_room(self) -> bool:
        """Whether the bodies of all requests that are being received or worked on fit into ROOM_FOR_BODIES."""
        requests = [
            request
            for channel in list(self.active_channels.values())
            for request in (channel.request, *channel.requests)
            if request is not None and request.error is None
        ]
        needed: int = sum(request.room for request in requests)
        return needed <= ROOM_FOR_BODIES

    def maintenance(self, now: float) -> None:
        """Close connections that are silent, and those whose request takes too long."""
        super().maintenance(now)
        for channel in self.active_channels.values():
            is_late = channel.request is not None and channel.request.is_late(time.monotonic())
            is_late = is_late or channel.is_too_slow(time.monotonic())
            if is_late or (channel.drops_until is not None and time.monotonic() > channel.drops_until):
                channel.will_close = True


def _reads(task: Channel) -> bool:
    return task.requests[0].command in {"GET", "HEAD"}


def main(arguments: Sequence[str]) -> None:
    """Serve until SIGTERM or Ctrl-C; requests that are being worked on then have five seconds to end."""
    parser = argparse.ArgumentParser(prog="python -m auditapp.site.serving", description="Serve the site.")
    parser.add_argument(
        "application", nargs="?", default=APPLICATION, help=f"a WSGI application (default: {APPLICATION})"
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="the port to listen on (default: 8000)")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, stop)
    module, name = given.application.split(":")
    try:
        site = importlib.import_module(module)
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    # Waitress would log a warning for each request that waits in a queue.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    try:
        server = Server(
            Forwarding(getattr(site, name)),
            find_person=site.find_person,
            host=given.host,
            port=given.port,
            **LIMITS,
        )
    except OSError as error:
        sys.exit(f"Cannot listen on {given.host}:{given.port} ({error.strerror}).")
    server.run()


def stop(*signal_and_frame: object) -> NoReturn:
    """Stop the loop of the server."""
    raise SystemExit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
