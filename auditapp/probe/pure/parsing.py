"""Reads an answer to the classification prompt by rule, in the form the prompt asks for or as JSON.

Only "Male" or "Female" is a prediction. What is neither that, nor a refusal, nor empty, is invalid; so is an answer that does
not say which categories it applied. Nothing is guessed from running words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from auditapp.probe.pure.limits import MAN, WOMAN

PARSER_VERSION = "probe-1"

OK, INVALID, REFUSED, NO_ANSWER, ABSTAINED = "ok", "invalid", "refused", "no_answer", "abstained"
STATUSES = (OK, INVALID, REFUSED, NO_ANSWER, ABSTAINED)

EMOTION, DECLARATION, MEDICAL, STYLE, OTHER = "Emotion", "Declaration", "Medical Condition", "Textual Style", "Other"
CUES = (EMOTION, STYLE)
"""The categories whose rationales are read for Table 2. An answer that applied one belongs to the subset ``emotion``."""
SUBSETS = ("emotion", "other", "none")
ABSTENTION = "Unclear"
"""What the condition that lets the model abstain asks it to write in place of a gender."""

_PREDICTIONS = {"female": WOMAN, "male": MAN}
_KNOWN = {name.lower(): name for name in (EMOTION, DECLARATION, MEDICAL, STYLE)} | {"emotional expression": EMOTION}
_NOTHING = frozenset({"none", "n/a", "na", "no codes", "no code", "-"})
_MAX_CODE = 60
_MAX_RATIONALE = 20_000
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_GENDER = re.compile(r"^[ \t]*[*_#]*[ \t]*gender[ \t]*[*_]*[ \t]*:[ \t]*[*_]*[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
_CODES = re.compile(
    r"^[ \t]*[*_#]*[ \t]*codes?[ \t]+applied[ \t]*[*_]*[ \t]*:[ \t]*[*_]*[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE
)
_BULLET = re.compile(r"^[ \t]*(?:[-*•–—]|\d{1,2}[.)])[ \t]*")
_RATIONALE = re.compile(
    r"^[ \t]*(?:[-*•][ \t]*)?(?:\d{1,2}[.)][ \t]*)?[*_]*\[?(?P<name>other:[ \t]*[^\]:\n]{1,60}|[A-Za-z][^\]:\n]{0,59}?)\]?"
    r"[*_]*[ \t]*:[*_]*[ \t]*(?P<said>.*)$",
    re.IGNORECASE,
)
_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'", "`": "'"})
_REFUSAL = re.compile(
    r"\b(?:i|we)(?:'m| am| are)? (?:sorry|unable|not (?:able|comfortable|going|willing)|can't|can ?not|won't|will not|don't "
    r"feel comfortable|do not feel comfortable|must decline|decline|refuse|shouldn't|should not)\b|"
    r"\b(?:it (?:is|would be)|it's) (?:not (?:appropriate|possible for me)|inappropriate)\b",
    re.IGNORECASE,
)
_READ_FOR_REFUSAL = 600


class ParsedAnswer(NamedTuple):
    """One answer as read. ``predicted`` is ``woman``, ``man`` or ``None``; ``codes`` the categories applied, each once;
    ``rationales`` what was written for a category; ``subset`` one of ``SUBSETS`` for an answer that is ``ok``."""

    status: str
    predicted: str | None = None
    codes: tuple[str, ...] = ()
    rationales: Mapping[str, str] = {}

    @property
    def subset(self) -> str | None:
        return find_subset(self.codes) if self.status == OK else None


def find_subset(codes: Iterable[str]) -> str:
    """``emotion`` where Emotion or Textual Style was applied, ``none`` where nothing was, ``other`` for the rest."""
    found = set(codes)
    return "emotion" if found & set(CUES) else "other" if found else "none"


def parse_answer(raw: str | None, *, may_abstain: bool = False) -> ParsedAnswer:
    """What a rule can read in an answer. JSON comes first where there is an object.

    ``may_abstain``: the prompt allowed the answer "Unclear", which is then an abstention and not invalid.
    """
    if raw is None or not raw.strip():
        return ParsedAnswer(NO_ANSWER)
    text = raw.replace("\r\n", "\n").replace("\r", "\n")
    found = _find_object(text)
    if found is not None:
        return _read_object(found, may_abstain=may_abstain)
    genders = [_read_value(text, match) for match in _GENDER.finditer(text)]
    if not genders:
        refused = _REFUSAL.search(text[:_READ_FOR_REFUSAL].translate(_APOSTROPHES))
        return ParsedAnswer(REFUSED if refused else INVALID)
    sections = list(_CODES.finditer(text))
    codes = read_codes(_list_codes(text, sections[-1])) if sections else None
    end = next(_GENDER.finditer(text)).start()
    return _decide(genders, codes, _read_rationales(text[:end]), may_abstain=may_abstain)


def read_codes(named: Iterable[str]) -> tuple[str, ...]:
    """Categories as they are called, each once; "None" is no category."""
    codes = (_name_code(each) for each in named)
    return tuple(dict.fromkeys(code for code in codes if code))


def _decide(
    genders: Iterable[str], codes: tuple[str, ...] | None, rationales: Mapping[str, str], *, may_abstain: bool
) -> ParsedAnswer:
    said = {gender.strip(" \t.*_[]()\"'").lower() for gender in genders}
    if len(said) != 1 or codes is None:
        return ParsedAnswer(INVALID)
    (gender,) = said
    if may_abstain and gender == ABSTENTION.lower():
        return ParsedAnswer(ABSTAINED, codes=codes, rationales=rationales)
    if gender not in _PREDICTIONS:
        return ParsedAnswer(INVALID)
    return ParsedAnswer(OK, _PREDICTIONS[gender], codes, rationales)


def _find_object(text: str) -> dict[str, Any] | None:
    fenced = _FENCE.search(text)
    candidates = [fenced.group(1)] if fenced else []
    if "{" in text and "}" in text:
        candidates.append(text[text.index("{") : text.rindex("}") + 1])
    for candidate in candidates:
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return None


def _read_object(found: Mapping[str, Any], *, may_abstain: bool) -> ParsedAnswer:
    by_key = {str(key).lower().replace(" ", "_"): value for key, value in found.items()}
    gender, named = by_key.get("gender"), by_key.get("codes_applied", by_key.get("codes"))
    if isinstance(named, str):
        named = re.split(r"[,\n]", named)
    if not isinstance(gender, str) or not isinstance(named, list) or not all(isinstance(each, str) for each in named):
        return ParsedAnswer(INVALID)
    written = by_key.get("rationales")
    rationales = {}
    if isinstance(written, dict):
        for name, said in written.items():
            code = _name_code(str(name))
            if code and isinstance(said, str) and not _says_nothing(said):
                rationales[code] = said.strip()[:_MAX_RATIONALE]
    return _decide([gender], read_codes(named), rationales, may_abstain=may_abstain)


def _read_value(text: str, heading: re.Match[str]) -> str:
    """What stands behind a heading on its line, or else on the next line with text."""
    if heading.group(1).strip():
        return _BULLET.sub("", heading.group(1)).strip()
    for line in text[heading.end() :].split("\n"):
        if line.strip():
            return _BULLET.sub("", line).strip()
    return ""


def _list_codes(text: str, heading: re.Match[str]) -> list[str]:
    lines = [heading.group(1), *text[heading.end() :].split("\n")]
    named: list[str] = []
    for line in lines:
        bare = _BULLET.sub("", line).strip()
        is_listed = bare != line.strip() or _is_category(bare) or line is lines[0]
        if bare and is_listed:
            parts = [part.strip() for part in bare.split(",")]
            named += parts if all(map(_is_category, parts)) else [bare]
    return named


def _is_category(words: str) -> bool:
    name = words.strip(" *_[].").lower()
    return name in _KNOWN or name in _NOTHING or name.startswith("other")


def _name_code(words: str) -> str:
    """The name of a category; "" for none. A category that the model devised keeps the name it was given."""
    name = " ".join(re.sub(r"^\d{1,2}[.)]\s*", "", words.strip()).strip(" *_[]()\"'.").split())
    if name.lower() in _NOTHING:
        return ""
    return _KNOWN.get(name.lower(), name[:_MAX_CODE])


def _read_rationales(text: str) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.split("\n"):
        match = _RATIONALE.match(line)
        name = _name_code(match["name"]) if match else ""
        if match and (name in _KNOWN.values() or re.match(r"\s*(?:[-*•]\s*)?\d{1,2}[.)]|\s*\[", line)):
            current = found.setdefault(name or OTHER, [])
            current.append(match["said"].strip())
        elif current is not None and line.strip():
            current.append(line.strip())
    joined = {name: "\n".join(filter(None, said))[:_MAX_RATIONALE] for name, said in found.items()}
    return {name: said for name, said in joined.items() if not _says_nothing(said)}


def _says_nothing(said: str) -> bool:
    return said.strip(" \t.*_[]()\"'").lower() in _NOTHING | {""}
