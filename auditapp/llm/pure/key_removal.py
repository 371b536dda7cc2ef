"""Keeps keys of providers out of logs, failure reports and error messages.

A process registers every key it uses. From then on the key is replaced wherever it appears, also in base64, hexadecimal
or URL encoding. Anything that looks like a key is replaced too. No Django here: logging is set up before it.
"""

from __future__ import annotations

import base64
import logging
import re
from urllib.parse import quote

REMOVED = "[key removed]"
# Shorter ones are no secrets (local servers accept any word), and removing them would damage other words.
MIN_KEY_LENGTH = 8
LOOKS_LIKE_A_KEY = re.compile(
    r"(?P<before>\b(?:bearer|basic)\s+"
    r"|\b(?:x-api-key|api[-_]?key|authorization)(?:[\"']|&\#x27;|&quot;)?\s*[:=]\s*(?:[\"']|&\#x27;|&quot;)?(?!bearer|basic))"
    r"[A-Za-z0-9._~+/=-]{8,}"
    r"|\bsk-[A-Za-z0-9_-]{8,}",
    re.IGNORECASE,
)

_forms: dict[str, tuple[str, ...]] = {}


def remember_key(key: str) -> None:
    """Register ``key``, so that this process removes it from everything it logs or reports."""
    if len(key) >= MIN_KEY_LENGTH and key not in _forms:
        _forms[key] = tuple(sorted(list_forms(key), key=len, reverse=True))


def list_forms(key: str) -> set[str]:
    """The key itself, in hexadecimal, URL-encoded, and in base64 at each of the three alignments."""
    data = key.encode()
    forms = {key, data.hex(), data.hex().upper(), quote(key, safe="")}
    for shift in range(3):
        # Three bytes make four characters: leave out those that depend on neighbouring bytes too.
        encoded = base64.b64encode(b"\x00" * shift + data)
        whole = encoded[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6].decode()
        forms |= {whole, whole.replace("+", "-").replace("/", "_")}
    return forms


def remove_keys(text: str) -> str:
    """The text without registered keys and without anything that looks like a key."""
    for forms in tuple(_forms.values()):
        for form in forms:
            if form in text:
                text = text.replace(form, REMOVED)
    return LOOKS_LIKE_A_KEY.sub(lambda found: (found["before"] or "") + REMOVED, text)


class KeyFilter(logging.Filter):
    """Removes keys from a log record and its traceback before a handler writes it."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            said = record.getMessage()
        except (TypeError, ValueError, KeyError, IndexError):
            # A message whose arguments do not fit is logged as it is; logging must not fail.
            record.msg, record.args = f"{record.msg} {record.args!r}", ()
            said = record.getMessage()
        clean = remove_keys(said)
        if clean != said:
            record.msg, record.args = clean, ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = remove_keys(record.exc_text)
        if record.stack_info:
            record.stack_info = remove_keys(record.stack_info)
        return True
