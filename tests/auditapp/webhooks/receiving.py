"""A receiver of webhooks: a real server on this machine that keeps what it gets."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Receiver:
    """Answers with ``status``; ``answer`` and ``headers`` are what it says besides."""

    port: int = 0
    status: int = 204
    answer: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    received: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    # Answers only once it is set.
    goes_on: threading.Event = field(default_factory=threading.Event)

    @property
    def place(self):
        return f"127.0.0.1:{self.port}"

    @property
    def address(self):
        return f"http://{self.place}/hook/"

    @property
    def bodies(self):
        return [json.loads(body) for _, _, body in self.received]


@contextmanager
def receive():
    receiver = Receiver()
    receiver.goes_on.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.received.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            receiver.goes_on.wait(30)
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(receiver.answer)))
            self.end_headers()
            # Whoever has read enough hangs up.
            with suppress(OSError):
                self.wfile.write(receiver.answer)

        def log_message(self, format, *args):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.goes_on.set()
        server.shutdown()
        server.server_close()
        thread.join()


def sign_as_documented(secret, headers, body):
    """The signature that the reference says a receiver should find, written without the program's own code."""
    key = base64.b64decode(secret.split("_", 1)[1])
    signed = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body])
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
