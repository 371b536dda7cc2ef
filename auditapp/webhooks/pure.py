"""The form in which a delivery is sent: signed according to the specification Standard Webhooks (docs/reference/webhooks.md)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping

SECRET_PREFIX = "whsec_"  # noqa: S105 - marks a secret, is none
SECRET_BYTES = 32
MINUTE, HOUR = 60, 3600
# The seconds to wait after each failed try; after the last one a delivery is given up, 23 hours after the first.
PAUSES = (10, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 8 * HOUR)
MAX_TRIES = len(PAUSES) + 1


def make_signing_secret() -> str:
    """A new secret, as it is shown to the person who sets up the receiver."""
    return SECRET_PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def write_headers(secret: str, *, delivery: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of one try: the id, the time, and the signature over these and the body. ``timestamp`` is in Unix seconds."""
    key = b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{delivery}.{timestamp}.".encode() + body
    signature = b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {
        "Content-Type": "application/json",
        "User-Agent": "auditapp",
        "webhook-id": delivery,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature}",
    }


def find_pause(tries: int) -> int | None:
    """The seconds to wait after ``tries`` failed tries; ``None``: give up."""
    return PAUSES[tries - 1] if tries <= len(PAUSES) else None


def shorten_answer(headers: Mapping[str, str], body: bytes, *, length: int) -> str:
    """The beginning of a receiver's answer in one line, to help a person find the error; "" if it is not text."""
    kind = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
    if not kind.startswith(("text/", "application/json")):
        return ""
    said = body[: 8 * length].decode("utf-8", errors="replace")
    return " ".join("".join(sign if sign.isprintable() else " " for sign in said).split())[:length]
