"""Keeps keys of providers out of whatever is written down: logs, failure reports, error texts.

A process registers every key it opens or is given; from then on the key, and the forms it takes in base64, hexadecimal
and addresses, are replaced. What merely looks like a key is replaced too. No Django here: the log is set up before it.
"""

from __future__ import annotations

import base64
import logging
import re
from urllib.parse import quote

REMOVED = "[key removed]"
# Shorter ones are no secrets (local servers take any word), and taking them out would tear words apart.
SHORTEST = 8
LOOKS_LIKE_A_KEY = re.compile(
    r"(?P<before>\b(?:bearer|basic)\s+"
    r"|\b(?:x-api-key|api[-_]?key|authorization)(?:[\"']|&\#x27;|&quot;)?\s*[:=]\s*(?:[\"']|&\#x27;|&quot;)?(?!bearer|basic))"
    r"[A-Za-z0-9._~+/=-]{8,}"
    r"|\bsk-[A-Za-z0-9_-]{8,}",
    re.IGNORECASE,
)

_forms: dict[str, tuple[str, ...]] = {}


def remember_key(key: str) -> None:
    """From now on, take ``key`` out of whatever this process writes down."""
    if len(key) >= SHORTEST and key not in _forms:
        _forms[key] = tuple(sorted(list_forms(key), key=len, reverse=True))


def list_forms(key: str) -> set[str]:
    """The key as it stands, in hexadecimal, in an address, and in base64 wherever in a text it begins."""
    data = key.encode()
    forms = {key, data.hex(), data.hex().upper(), quote(key, safe="")}
    for shift in range(3):
        # Three bytes make four characters: cut off those that the bytes before and after have a part in.
        encoded = base64.b64encode(b"\x00" * shift + data)
        whole = encoded[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6].decode()
        forms |= {whole, whole.replace("+", "-").replace("/", "_")}
    return forms


def remove_keys(text: str) -> str:
    """The text without the keys this process knows and without anything that looks like one."""
    for forms in tuple(_forms.values()):
        for form in forms:
            if form in text:
                text = text.replace(form, REMOVED)
    return LOOKS_LIKE_A_KEY.sub(lambda found: (found["before"] or "") + REMOVED, text)


class KeyFilter(logging.Filter):
    """Takes keys out of a log record before its handler writes it, its traceback included."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            said = record.getMessage()
        except (TypeError, ValueError, KeyError, IndexError):
            # A message whose arguments do not fit it is written as it is, and stops nobody.
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
