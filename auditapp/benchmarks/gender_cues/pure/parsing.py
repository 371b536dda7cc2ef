"""The design of the probe: its words and limits; its prompts, those of the paper as far as they can be reconstructed, and one of
ours that lets the model abstain; and how an answer is read. A prompt is the system message; the review is the user message.

An answer to the classification prompt is read by rule, in the form the prompt asks for or as JSON. Only "Male" or "Female" is a
prediction. What is neither that, nor a refusal, nor empty, is invalid; so is an answer that does not say which categories it
applied, or lists what is none. Every prompt allows one category of the model's own, of one or two words: what is listed is a known
category, one marked "Other", one or two words, or makes the answer invalid. Nothing is guessed from running words.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from auditapp.llm.providers.base import make_storable
from auditapp.llm.pure.json_answers import Judged, find_json, goes_on, is_cut_off, is_withheld, takes_back
from transcripts.formats.codebook_csv import CodeRow, write_codebook
from transcripts.formats.thinking import drop_thinking

WOMAN, MAN, ANDROGYNOUS, UNKNOWN = "woman", "man", "androgynous", "unknown"
CATEGORIES = (WOMAN, MAN, ANDROGYNOUS, UNKNOWN)
"""What a method can infer from a first name. The first two are scored, the others are only counted."""
SCORED = (WOMAN, MAN)

CONTROL, PRIMED, MAY_ABSTAIN = "control", "primed", "may_abstain"
CONDITIONS = (CONTROL, PRIMED, MAY_ABSTAIN)
CONDITION_NAMES = {CONTROL: "Control", PRIMED: "Primed for emotion", MAY_ABSTAIN: "May abstain"}

MIN_TEXTS = 30
"""Texts of each scored category that a launch asks about, at least."""
MAX_KEPT = 50_000
"""Texts that a study keeps of one file."""
MAX_TEXT_LENGTH = 100_000
"""Characters of one text."""

CAVEATS = (
    "Binary, because the design that is replicated is: woman or man.",
    "Nothing here is a claim about a person. Figures are of groups of texts.",
    "The category of a text was inferred from its author's first name; the error of that method is unknown.",
)
"""What is on every page and with every table of the probe."""


_FILE = Path(__file__).parent.parent / "data" / "prompts.json"


class Prompt(NamedTuple):
    """The exact instructions of a condition. ``origin`` says where they are from."""

    condition: str
    title: str
    text: str
    origin: str
    sha256: str


@cache
def load_prompts() -> dict[str, Prompt]:
    """The prompt of each condition, in the order of ``CONDITIONS``."""
    data = _read()
    prompts = {}
    for condition in CONDITIONS:
        stored = data["conditions"][condition]
        text = "\n".join(stored["lines"])
        digest = hashlib.sha256(text.encode()).hexdigest()
        prompts[condition] = Prompt(condition, stored["title"], text, stored["origin"], digest)
    return prompts


def load_published_themes() -> list[tuple[str, str]]:
    """The themes of the paper's Table 2, each with the block it is in: ``woman`` or ``man``."""
    return [(name, block) for block, names in _read()["themes"].items() for name in names]


def cite_source() -> str:
    """Where prompts and themes are from, for pages and the methods paragraph."""
    return str(_read()["source"])


@cache
def _read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return found


_FAMILIES = {"woman": "Themes associated with women", "man": "Themes associated with men"}
NOT_DEFINED = "Named in Table 2 of the paper, which does not define it. Write a definition before coding."


def write_theme_codebook() -> str:
    """A codebook as CSV with the 18 themes of Table 2, coded by turn, in the two blocks in which the paper prints them."""
    rows = [
        CodeRow(
            code_id=f"theme_{block}.{re.sub(r'[^a-z]+', '_', name.lower())}",
            family=f"themes_{block}",
            family_name=_FAMILIES[block],
            name=name,
            definition=NOT_DEFINED,
            unit="turn",
            source="Table 2",
            carries_level=False,
            carries_enactment=False,
            once_per_answer=True,
            applies_to="model",
        )
        for name, block in load_published_themes()
    ]
    stream = io.StringIO(newline="")
    write_codebook(rows, stream)
    return stream.getvalue()


PARSER_VERSION = "probe-4"

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
_NOTHING = frozenset({"none", "n/a", "na", "no codes", "no code", "not applicable", "-"})
# "None" with words after it, such as "None of the categories".
_NOTHING_AT_ALL = re.compile(r"(?:none|no codes?|n/a|na|not applicable)(?!\w)", re.IGNORECASE)
_OTHER = re.compile(r"other\s*(?::|$)", re.IGNORECASE)
_MAX_CODE = 60
_MAX_WORDS = 2
"""Words of a category that the model devised: the prompts ask for one or two."""
_MAX_RATIONALE = 20_000
_GENDER = re.compile(r"^[ \t]*[*_#]*[ \t]*gender[ \t]*[*_]*[ \t]*:[ \t]*[*_]*[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
_CODES = re.compile(
    r"^[ \t]*[*_#]*[ \t]*codes?[ \t]+applied[ \t]*[*_]*[ \t]*:[ \t]*[*_]*[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE
)
# An asterisk without a blank after it is no bullet: it begins words in italics or bold.
_BULLET = re.compile(r"^[ \t]*(?:[-•–—]|\*(?=[ \t])|\d{1,2}[.)])[ \t]*")
_HEADING = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\*\*|__|[A-Za-z][\w '’-]{0,40}:)")
_RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*")
_BRACKETED = re.compile(r"\([^()]*\)")
_REASON = re.compile(r"[:(]|[ \t][-–—][ \t]|(?<=[^\W\d])\.[ \t]")
_LISTED = re.compile(r"[,;]")
_JOINED = re.compile(r"\band\b|[&/]", re.IGNORECASE)
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


def parse_answer(
    raw: str | None, *, may_abstain: bool = False, finish_reason: str = "", review: str = ""
) -> ParsedAnswer:
    """What a rule can read in an answer without its reasoning. JSON comes first where there is an object.

    ``may_abstain``: the prompt allowed the answer "Unclear", which is then an abstention and not invalid. ``finish_reason``, in
    the provider's words: of an answer that was cut off nothing is read, and one that was withheld is a refusal. An object
    that is repeated from the ``review`` is no answer, nor are lines in the form that the prompt asks for; one with words after it
    makes the answer invalid, as do words after such lines that refuse to answer.
    """
    if is_withheld(finish_reason):
        return ParsedAnswer(REFUSED)
    if raw is None or not raw.strip():
        return ParsedAnswer(NO_ANSWER)
    answer, is_unended = drop_thinking(raw)
    if is_unended or is_cut_off(finish_reason) or not answer.strip():
        return ParsedAnswer(INVALID)
    text = answer.replace("\r\n", "\n").replace("\r", "\n")
    objects = (each for each in find_json(text, _DECODER) if any(key.lower() == "gender" for key in each[0]))
    placed = [each for each in objects if not Judged([review]).repeats(text[each[1] : each[2]])]
    if len(placed) > 1 or any(goes_on(text, end) for _, _, end in placed):
        return ParsedAnswer(INVALID)
    for found, _, _ in placed:
        return _read_object(found, may_abstain=may_abstain)
    text = _drop_repeated_lines(text, review)
    genders = [_read_value(text, match) for match in _GENDER.finditer(text)]
    if not genders:
        refused = _REFUSAL.search(text[:_READ_FOR_REFUSAL].translate(_APOSTROPHES))
        return ParsedAnswer(REFUSED if refused else INVALID)
    sections = list(_CODES.finditer(text))
    codes = read_codes(_list_codes(text, sections[-1])) if sections else None
    last = max(match.end() for match in (*_GENDER.finditer(text), *sections))
    if takes_back(text, last):
        return ParsedAnswer(INVALID)
    end = min(match.start() for match in (next(_GENDER.finditer(text)), *sections[:1]))
    return _decide(genders, codes, _read_rationales(text[:end]), may_abstain=may_abstain)


def _drop_repeated_lines(text: str, review: str) -> str:
    """The answer without the lines of a review that itself has an answer in the form that the prompt asks for."""
    if not (_GENDER.search(review) and _CODES.search(review)):
        return text
    repeated = {line.strip() for line in review.splitlines() if _GENDER.match(line) or _CODES.match(line)}
    return "\n".join(line for line in text.split("\n") if line.strip(" \t>") not in repeated)


def read_codes(named: Iterable[str]) -> tuple[str, ...] | None:
    """Categories as they are called, each once, from lines or items that may list several and give reasons; "None" is no category.

    ``None`` where something is listed that is neither a known category nor one of the model's own.
    """
    codes: dict[str, None] = {}
    for each in named:
        found = _read_item(each)
        if found is None:
            return None
        codes |= dict.fromkeys(found)
    return tuple(codes)


def _decide(
    genders: Iterable[str], codes: tuple[str, ...] | None, rationales: Mapping[str, str], *, may_abstain: bool
) -> ParsedAnswer:
    said = {gender.strip(" \t.*_[]()\"'").lower() for gender in genders}
    if len(said) != 1 or codes is None:
        return ParsedAnswer(INVALID)
    # JSON may escape characters that the text of an answer cannot have.
    codes = tuple(map(make_storable, codes))
    rationales = {make_storable(code): make_storable(words) for code, words in rationales.items()}
    (gender,) = said
    if may_abstain and gender == ABSTENTION.lower():
        return ParsedAnswer(ABSTAINED, codes=codes, rationales=rationales)
    if gender not in _PREDICTIONS:
        return ParsedAnswer(INVALID)
    return ParsedAnswer(OK, _PREDICTIONS[gender], codes, rationales)


def _read_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    times = Counter(key.lower() for key, _ in pairs)
    return {key: None if times[key.lower()] > 1 else value for key, value in pairs}


# An object that says the gender twice says none.
_DECODER = json.JSONDecoder(object_pairs_hook=_read_pairs)


def _read_object(found: Mapping[str, Any], *, may_abstain: bool) -> ParsedAnswer:
    by_key = {str(key).lower().replace(" ", "_"): value for key, value in found.items()}
    gender, named = by_key.get("gender"), by_key.get("codes_applied", by_key.get("codes"))
    if isinstance(named, str):
        named = named.split("\n")
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
    """What follows a heading on its line, or else on the next line with text."""
    if heading.group(1).strip():
        return _BULLET.sub("", heading.group(1)).strip()
    for line in text[heading.end() :].split("\n"):
        if line.strip():
            return _BULLET.sub("", line).strip()
    return ""


def _list_codes(text: str, heading: re.Match[str]) -> list[str]:
    """The items under a heading, up to the next heading or to running words after a blank line."""
    first = _BULLET.sub("", heading.group(1)).strip()
    named = [first] if first else []
    is_apart = False
    for line in text[heading.end() :].split("\n")[1:]:
        words = line.strip()
        if not words:
            is_apart = bool(named)
            continue
        if _RULE.fullmatch(line) or _GENDER.match(line):
            break
        bare = _BULLET.sub("", line).strip()
        if bare == words:
            is_category = _is_category(bare if is_apart else _REASON.split(bare, maxsplit=1)[0])
            if not is_category and (is_apart or _HEADING.match(line)):
                break
            if named and not is_category:
                continue  # the words before go on
        named.append(bare)
        is_apart = False
    return named


def _is_category(words: str) -> bool:
    """Whether the words list known categories, "None" or a marked "Other", and nothing else."""
    names = [_strip(part) for part in re.split(r"[,;&]|\band\b", words)]
    return all(name.lower() in _KNOWN or _NOTHING_AT_ALL.match(name) or _OTHER.match(name) for name in names)


def _read_item(words: str) -> list[str] | None:
    """The categories of one item, such as "Emotion, Other: Warmth" or "Emotion: strong words, and many". ``None`` for no such item.

    Why a category was applied may follow it; there only known names, written as in the prompt, are categories.
    """
    codes: list[str] = []
    is_reason = False
    for part in _LISTED.split(_BRACKETED.sub(" ", words)):
        for name, reason in _divide(part):
            if not name or (is_reason and name not in _KNOWN.values()):
                continue
            is_reason = bool(reason)
            if _NOTHING_AT_ALL.match(name) or name == "-":
                is_reason = True
            elif reason and _says_nothing(reason):
                continue
            elif _OTHER.match(name):
                own, *behind = (_strip(each) for each in _REASON.split(reason, maxsplit=1))
                codes.append((f"{OTHER}: {own}" if own else OTHER)[:_MAX_CODE])
                is_reason = bool(behind)
            elif name.lower() in _KNOWN or len(name.split()) <= _MAX_WORDS:
                codes.append(_KNOWN.get(name.lower(), name[:_MAX_CODE]))
            else:
                return None
    return codes


def _divide(part: str) -> Iterator[tuple[str, str]]:
    """Names with what follows each. "And" parts two names where one of them is a known category."""
    found = _REASON.search(part)
    name, reason = (part[: found.start()], part[found.end() :]) if found else (part, "")
    sides = [_strip(side) for side in _JOINED.split(name)]
    if not any(side.lower() in _KNOWN for side in sides):
        sides = [_strip(name.strip().removeprefix("and "))]
    own, joint, last = reason.rpartition(" and ")
    is_joint = bool(joint) and _strip(last) in _KNOWN.values()
    yield from ((side, "") for side in sides[:-1])
    yield sides[-1], (own if is_joint else reason).strip(" \t*_[]()\"'.")
    if is_joint:
        yield _strip(last), ""


def _strip(words: str) -> str:
    """A name without its number, marks of emphasis, brackets, quotation marks and full stop."""
    return " ".join(re.sub(r"^\d{1,2}[.)]\s*", "", words.strip()).strip(" *_[]()\"'`“”‘’.").split())


def _name_code(words: str) -> str:
    """The name of a category; "" for none. A category that the model devised keeps the name it was given."""
    name = _strip(words)
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
