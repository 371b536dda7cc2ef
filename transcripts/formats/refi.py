"""What codebook files and project files of REFI-QDA have in common: names, GUIDs, colours, times, characters.

XML 1.0 cannot hold most control characters. Where a text has one we write ``_xHHHH_`` (its code in hexadecimal) and
put ``_x005F_`` for an underscore that would begin such a sequence; files of other tools are not read in this way.
"""

from __future__ import annotations

import json
import re
import uuid
from datetime import UTC, datetime

from transcripts.formats.problems import quote

ORIGIN = "auditapp"
"""The name by which our files say who wrote them."""

CODEBOOK_NAMESPACE = "urn:QDA-XML:codebook:1.0"
PROJECT_NAMESPACE = "urn:QDA-XML:project:1.0"
# Some exporters part the number of the version by a colon. MAXQDA 24 and ATLAS.ti name the draft 0:4 for codebooks, also for
# the codebook inside a project.
_VERSIONS = ("1.0", "1:0", "0.4", "0:4")
CODEBOOK_NAMESPACES = frozenset(f"urn:QDA-XML:codebook:{version}" for version in _VERSIONS)
PROJECT_NAMESPACES = CODEBOOK_NAMESPACES | {f"urn:QDA-XML:project:{version}" for version in _VERSIONS}

_GUID_SPACE = uuid.UUID("6d0f6f0e-9a55-5c5b-8f5e-0b6f2d1c7a43")
_GUID = re.compile(r"\s*\{?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\}?\s*", re.IGNORECASE)
_COLOR = re.compile(r"\s*#([0-9a-f]{6}|[0-9a-f]{3})\s*", re.IGNORECASE)
_TRUTH = {"true": True, "1": True, "false": False, "0": False}

_UNHELD = "\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff"
_TO_ESCAPE = re.compile(f"[{_UNHELD}]|_(?=x[0-9A-F]{{4}}[_{_UNHELD}])")
_ESCAPED = re.compile("_x([0-9A-F]{4})_")
_HELD_AGAIN = re.compile(f"[_{_UNHELD}]")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def make_guid(*parts: str) -> str:
    """The GUID of what these stable names stand for: the same in every export, such as ("code", study, identifier)."""
    return str(uuid.uuid5(_GUID_SPACE, json.dumps(parts)))


def read_guid(text: str | None) -> str | None:
    """In lower case and without braces; None for what is no GUID."""
    match = _GUID.fullmatch(text or "")
    return match[1].lower() if match else None


def read_color(text: str) -> str | None:
    """As "#rrggbb"; None for what is no colour."""
    match = _COLOR.fullmatch(text)
    if match is None:
        return None
    digits = match[1].lower()
    return "#" + (digits if len(digits) == 6 else "".join(digit * 2 for digit in digits))


def read_truth(text: str) -> bool | None:
    """None for what is neither true nor false."""
    return _TRUTH.get(text.strip())


def read_moment(text: str) -> datetime | None:
    """A date-time in UTC, which is also assumed where no time zone is given; None for what is no date-time."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def show_moment(moment: datetime) -> str:
    """As in ``2024-11-05T09:30:00Z``. Raises ``ValueError`` for a date-time without a time zone."""
    if moment.tzinfo is None:
        raise ValueError(f"The date-time {moment} has no time zone.")
    return moment.astimezone(UTC).isoformat()[:-6] + "Z"


def refuse_unstorable(text: str) -> None:
    """Raise ``ValueError`` for NUL and lone surrogates, which neither a file nor a database can hold."""
    if unstorable := _UNSTORABLE.search(text):
        raise ValueError(f"the character U+{ord(unstorable[0]):04X} in {quote(_UNSTORABLE.sub('', text))}")


def escape(text: str) -> str:
    """The text as XML 1.0 can hold it. Raises ``ValueError`` as ``refuse_unstorable`` does."""
    refuse_unstorable(text)
    return _TO_ESCAPE.sub(lambda match: f"_x{ord(match[0]):04X}_", text)


def unescape(text: str) -> str:
    """What ``escape`` was given: ``unescape(escape(x)) == x``."""
    return _ESCAPED.sub(_unescape_one, text)


def _unescape_one(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if _HELD_AGAIN.fullmatch(character) else match[0]
