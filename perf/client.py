"""An HTTP client that costs next to nothing, for it runs on the machine it measures: ready-made bytes, open sockets."""

from __future__ import annotations

import heapq
import random
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

END_OF_HEADERS = b"\r\n\r\n"
PATIENCE_SECONDS = 60.0


class Unanswered(Exception):
    """A server closed the connection, or said what this client does not understand."""


@dataclass(frozen=True)
class Answer:
    """A response with header names in small letters; ``cookies`` are those it sets."""

    status: int
    headers: dict[str, str]
    cookies: dict[str, str]
    body: bytes


@dataclass
class Exchanges:
    """What came of many requests within ``lasted`` seconds: seconds until each answer, and what was no 200 or 201."""

    lasted: float = 0.0
    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def note(self, seconds: float, answer: Answer) -> None:
        """Count one answer."""
        self.seconds.append(seconds)
        if answer.status not in {200, 201}:
            self.failures.append(f"{answer.status}: {answer.body[:200].decode(errors='replace')}")


def build_get(path: str, headers: Mapping[str, str]) -> bytes:
    """A GET request."""
    return _build("GET", path, headers, b"")


def build_post(path: str, headers: Mapping[str, str], fields: Mapping[str, object]) -> bytes:
    """A POST request of form fields, as ``fetch`` sends ``URLSearchParams``."""
    body = urlencode(fields).encode()
    typed = {**headers, "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8", "Content-Length": len(body)}
    return _build("POST", path, typed, body)


def _build(method: str, path: str, headers: Mapping[str, object], body: bytes) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + END_OF_HEADERS + body


class Connection:
    """One open connection to 127.0.0.1, on which one request at a time is under way."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at = 0.0
        self._received = b""
        self._length: int | None = None

    def close(self) -> None:
        self.socket.close()

    def exchange(self, request: bytes) -> Answer:
        """Send a request and wait for its answer."""
        self.send(request)
        while (answer := self.receive()) is None:
            pass
        return answer

    def send(self, request: bytes) -> None:
        """Send a request; ``receive`` gives its answer."""
        self._received, self._length = b"", None
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> Answer | None:
        """Take what has come; the answer once it is whole."""
        received = self.socket.recv(1 << 18)
        if not received:
            raise Unanswered("The server closed the connection.")
        self._received += received
        end = self._received.find(END_OF_HEADERS)
        if end < 0:
            return None
        if self._length is None:
            self._length = end + len(END_OF_HEADERS) + _read_length(self._received[:end])
        return _read_answer(self._received, end) if len(self._received) >= self._length else None


def _read_length(head: bytes) -> int:
    lowered = head.lower()
    start = lowered.find(b"\r\ncontent-length:")
    if start < 0:
        if lowered.split(b"\r\n", 1)[0].endswith((b" 204", b" 304")) or b" 204 " in lowered.split(b"\r\n", 1)[0]:
            return 0
        raise Unanswered("The server gave no length.")
    return int(lowered[start + 17 :].split(b"\r\n", 1)[0])


def _read_answer(received: bytes, end: int) -> Answer:
    first, *lines = received[:end].decode("latin-1").split("\r\n")
    headers: dict[str, str] = {}
    cookies: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name.lower() == "set-cookie":
            key, _, rest = value.strip().partition("=")
            cookies[key] = rest.split(";", 1)[0]
        else:
            headers[name.lower()] = value.strip()
    return Answer(int(first.split(" ")[1]), headers, cookies, received[end + len(END_OF_HEADERS) :])


def exchange_in_turn(connection: Connection, make_request: Callable[[], bytes], count: int) -> Exchanges:
    """``count`` requests, each sent when the one before is answered."""
    exchanges = Exchanges()
    for _ in range(count):
        request = make_request()
        answer = connection.exchange(request)
        exchanges.note(time.perf_counter() - connection.sent_at, answer)
    return exchanges


def exchange_at_once(port: int, makers: list[Callable[[], bytes]], seconds: float) -> Exchanges:
    """As many clients as ``makers``, each sending its next request as soon as it is answered, for ``seconds``."""
    exchanges = Exchanges()
    connections = [Connection(port) for _ in makers]
    with selectors.DefaultSelector() as selector:
        start = time.perf_counter()
        for connection, make_request in zip(connections, makers, strict=True):
            selector.register(connection.socket, selectors.EVENT_READ, (connection, make_request))
            connection.send(make_request())
        while selector.get_map():
            ready = selector.select(PATIENCE_SECONDS)
            if not ready:
                raise Unanswered(f"No answer came within {PATIENCE_SECONDS:.0f} seconds.")
            for key, _ in ready:
                connection, make_request = key.data
                answer = connection.receive()
                if answer is None:
                    continue
                now = time.perf_counter()
                exchanges.note(now - connection.sent_at, answer)
                if now - start < seconds:
                    connection.send(make_request())
                else:
                    selector.unregister(connection.socket)
        exchanges.lasted = time.perf_counter() - start
    for connection in connections:
        connection.close()
    return exchanges


def exchange_with_pauses(
    port: int, makers: list[Callable[[], bytes]], *, pause: float, seconds: float, seed: int = 1
) -> Exchanges:
    """As many people as ``makers`` for ``seconds``: each thinks for ``pause`` seconds on average, sends, and waits.

    The pauses are drawn from an exponential distribution, so that people neither march in step nor spread evenly.
    """
    chance = random.Random(seed)
    exchanges = Exchanges()
    connections: dict[int, Connection] = {}
    start = time.perf_counter()
    due = [(start + chance.expovariate(1 / pause), number) for number in range(len(makers))]
    heapq.heapify(due)
    with selectors.DefaultSelector() as selector:
        waiting: set[int] = set()
        while due or waiting:
            while due and due[0][0] <= time.perf_counter():
                when, number = heapq.heappop(due)
                if when - start < seconds:
                    if number not in connections:
                        connections[number] = Connection(port)
                        selector.register(connections[number].socket, selectors.EVENT_READ, number)
                    connections[number].send(makers[number]())
                    waiting.add(number)
            if not due and not waiting:
                break
            for key, _ in selector.select(max(0.0, due[0][0] - time.perf_counter()) if due else PATIENCE_SECONDS):
                number = key.data
                try:
                    answer = connections[number].receive()
                except Unanswered:
                    # As a browser does: a connection that lay idle and was closed is opened anew for the next request.
                    if number in waiting:
                        raise
                    selector.unregister(key.fileobj)
                    connections.pop(number).close()
                    continue
                if answer is not None:
                    now = time.perf_counter()
                    exchanges.note(now - connections[number].sent_at, answer)
                    waiting.discard(number)
                    heapq.heappush(due, (now + chance.expovariate(1 / pause), number))
    exchanges.lasted = time.perf_counter() - start
    for connection in connections.values():
        connection.close()
    return exchanges
