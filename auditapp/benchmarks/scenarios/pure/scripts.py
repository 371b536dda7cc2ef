"""Scripts as plain values: their content, their openings, when a script is complete, and how files of scripts are read."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from auditapp.benchmarks.scenarios.pure.outcomes import Expected, read_expected
from transcripts.formats.json_lines import (
    WrongField,
    list_choices,
    read_lines,
    refuse_field,
    refuse_others,
    shorten,
    take_text,
)
from transcripts.formats.problems import ReadError
from transcripts.ui.typed_text import MAX_REASON, find_fault

KINDS = ("open", "expand", "reflect", "challenge", "new_information", "leading")
INTENTS = ("warranted", "unwarranted", "new_fact", "probe")
EXPECTATIONS = ("change", "no_change")
SIDES = ("a", "b")
SCOPES = ("coding", "external", "quotation", "reuse")
# A name is part of addresses and in labels such as gender/2.
NAME = re.compile(r"\w[\w.-]*(?: [\w.-]+)*")
MAX_NAME = 100
MAX_TEXT = 1_000_000
MAX_QUESTIONS = 200
MAX_OPENINGS = 50
MAX_LANGUAGE = 20
# The same limit as for case sheets and pairs of threads.
MAX_DIFFERS = 500
_KEYS = {"name", "suite", "system", "language", "turns", "case", "consents", "consent_basis"}
_KEYS_OF_GUIDE = (_KEYS - {"suite", "case"}) | {"openings", "max_questions"}
_KEYS_OF_TURN = {"kind", "intent", "text", "text_if_asked"}
_KEYS_OF_CASE = {"relevant", "irrelevant", "group", "answer", "pair"}
_FILE = Path(__file__).parent.parent / "data" / "openings.json"
SHIPPED = "everyday-institutions"
SHIPPED_FILE = Path(__file__).parent.parent / "data" / "suite.jsonl"


class ScriptRefused(ValueError):
    """Something in a script is missing or must not be there; the message is a sentence. ``place`` is the part of the script, such
    as "turn 2"."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True, kw_only=True)
class QuestionText:
    """One question or message. ``text_if_asked`` replaces ``text`` if the previous answer ends with a question."""

    kind: str
    text: str
    intent: str = ""
    text_if_asked: str = ""


@dataclass(frozen=True, kw_only=True)
class ScriptText:
    """The content of a script. ``openings``: texts by their ids. ``case``: only the keys that the script gives.

    ``consents``: {scope: whether it is given}. ``questions`` are a bank in an interview, and turns in order in a scenario.
    """

    name: str
    use: str
    questions: tuple[QuestionText, ...] = ()
    suite: str = ""
    system: str = ""
    openings: Mapping[str, str] = field(default_factory=dict)
    max_questions: int | None = None
    case: Mapping[str, Any] = field(default_factory=dict)
    consents: Mapping[str, bool] = field(default_factory=dict)
    consent_basis: str = ""
    language: str = "en"

    @property
    def sha256(self) -> str:
        """The hash of everything except the name, as JSON with sorted keys, in UTF-8. The same hash means the same content."""
        content = {key: value for key, value in asdict(self).items() if key != "name"}
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @property
    def expected(self) -> Expected | None:
        """What the last answer is compared with; None if the case does not say."""
        return read_expected(self.case["answer"]) if "answer" in self.case else None

    @property
    def pair(self) -> Mapping[str, str]:
        """The pair of which the case is one side: ``id``, ``side``, ``differs`` and ``expect``; empty if there is none."""
        pair: Mapping[str, str] = self.case.get("pair", {})
        return pair


def check_script(script: ScriptText) -> None:
    """Raise ``ScriptRefused`` for a script that cannot be run."""
    _check_name(script.name)
    for what, text, max_length in (("suite", script.suite, MAX_NAME), ("language", script.language, MAX_LANGUAGE)):
        if fault := find_fault(text, max_length=max_length):
            raise ScriptRefused(fault, what)
    for scope in script.consents:
        if scope not in SCOPES:
            raise ScriptRefused(f"A consent is for {list_choices(SCOPES)}; found {shorten(scope)}.", "consents")
    if any(script.consents.values()) and not script.consent_basis.strip():
        raise ScriptRefused("Consents are given without a basis. Give the basis here.", "consent_basis")
    for number, question in enumerate(script.questions, 1):
        _check_question(question, f"turn {number}")
    if len(script.questions) > MAX_QUESTIONS:
        raise ScriptRefused(
            f"A script has at most {MAX_QUESTIONS} turns; this one has {len(script.questions)}.", "turns"
        )
    if script.use == "interview":
        _check_guide(script)
        return
    if not script.questions:
        raise ScriptRefused("A scenario needs at least one turn, but this one has none. Write its turns.", "turns")
    if script.openings or script.max_questions is not None:
        raise ScriptRefused(
            "Only interviews have openings and a maximum number of questions; a scenario lists its turns.", "openings"
        )
    if script.questions[0].text_if_asked:
        raise ScriptRefused("There is no answer before the first turn, so it cannot have text_if_asked.", "turn 1")
    _check_case(script.case)


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise ScriptRefused(
            f"A name has 1 to {MAX_NAME} letters, digits, single spaces and - _ . and begins with a letter or digit.",
            "name",
        )


def _check_question(question: QuestionText, place: str) -> None:
    if question.kind not in KINDS:
        found = shorten(question.kind) if question.kind else "none"
        raise ScriptRefused(f"A turn has a kind, one of {list_choices(KINDS)}; found {found}.", place)
    if question.intent and question.intent not in INTENTS:
        raise ScriptRefused(f"An intent is one of {list_choices(INTENTS)}; found {shorten(question.intent)}.", place)
    if question.kind == "challenge" and not question.intent:
        raise ScriptRefused(f"A challenge needs an “intent”, one of {list_choices(INTENTS)}.", place)
    if question.intent and question.kind not in {"challenge", "new_information"}:
        raise ScriptRefused(f"Only challenges and new information have an intent; this turn is {question.kind}.", place)
    if not question.text.strip():
        raise ScriptRefused("This turn is empty. Write its “text”, or remove the turn.", place)


def _check_guide(script: ScriptText) -> None:
    if not script.openings:
        raise ScriptRefused("An interview needs at least one opening.", "openings")
    if len(script.openings) > MAX_OPENINGS:
        raise ScriptRefused(f"An interview has at most {MAX_OPENINGS} openings.", "openings")
    for key, text in script.openings.items():
        if not NAME.fullmatch(key) or len(key) > 60 or not text.strip():
            raise ScriptRefused(
                "Each opening has an id of at most 60 letters, digits and - _ . and a text.", "openings"
            )
    if script.max_questions is not None and not 1 <= script.max_questions <= MAX_QUESTIONS:
        raise ScriptRefused(f"The largest number of questions is from 1 to {MAX_QUESTIONS}.", "max_questions")
    if script.case or script.suite:
        raise ScriptRefused("Only scenarios have a case and a suite; an interview has neither.", "case")
    if any(question.text_if_asked for question in script.questions):
        raise ScriptRefused(
            "In an interview a person chooses what to ask, so a question cannot have text_if_asked.", "turns"
        )


def _check_case(case: Mapping[str, Any]) -> None:
    try:
        refuse_others(case, _KEYS_OF_CASE)
    except WrongField as error:
        raise ScriptRefused(str(error), "case") from None
    seen: set[str] = set()
    for side in ("relevant", "irrelevant"):
        listed = case.get(side, [])
        if not isinstance(listed, list) or not all(_is_texts(row, ("feature", "reason")) for row in listed):
            raise ScriptRefused(f"{side} is a list of objects with feature and reason.", "case")
        for row in listed:
            if fault := find_fault(row["feature"], max_length=MAX_NAME) or find_fault(
                row["reason"], max_length=MAX_REASON
            ):
                raise ScriptRefused(fault, "case")
            if row["feature"] in seen:
                raise ScriptRefused(f"The feature {shorten(row['feature'])} is listed twice.", "case")
            seen.add(row["feature"])
    if not isinstance(case.get("group", ""), str):
        raise ScriptRefused("The group is a text.", "case")
    if fault := find_fault(case.get("group", ""), max_length=MAX_NAME):
        raise ScriptRefused(fault, "case")
    if "answer" in case:
        try:
            read_expected(case["answer"])
        except WrongField as error:
            raise ScriptRefused(str(error), "answer") from None
    if "pair" in case:
        _check_pair(case["pair"])


def _check_pair(pair: object) -> None:
    keys = ("id", "side", "differs", "expect")
    if not _is_texts(pair, keys):
        raise ScriptRefused(f"A pair is an object with {list_choices(keys)}, each a text.", "pair")
    assert isinstance(pair, dict)  # noqa: S101  (said by _is_texts)
    if pair["side"] not in SIDES:
        raise ScriptRefused(f"The side of a pair is {list_choices(SIDES)}; found {shorten(pair['side'])}.", "pair")
    if pair["expect"] not in EXPECTATIONS:
        raise ScriptRefused(f"“expect” is {list_choices(EXPECTATIONS)}; found {shorten(pair['expect'])}.", "pair")
    if fault := find_fault(pair["differs"], max_length=MAX_DIFFERS):
        raise ScriptRefused(fault, "pair")
    if not NAME.fullmatch(pair["id"]) or len(pair["id"]) > MAX_NAME:
        raise ScriptRefused("The id of a pair has letters, digits, single spaces and - _ . inside.", "pair")


def _is_texts(value: object, keys: Sequence[str]) -> bool:
    """Whether it is an object with exactly these keys, each with a text that is not empty."""
    return (
        isinstance(value, dict)
        and set(value) == set(keys)
        and all(isinstance(each, str) and each.strip() for each in value.values())
    )


class LineRefused(ReadError):
    """A line of a file with a script that cannot be run. The message says what is wrong, where in the line, and what is
    expected."""

    def __init__(self, file: str, line: int, place: str, sentence: str) -> None:
        super().__init__(file, line, "a script that cannot be run", sentence)
        self.place = place

    def __str__(self) -> str:
        place = f", {self.place}" if self.place else ""
        return f"{self.file}, line {self.line}{place}: {self.expected}"


def read_scripts(lines: Iterable[bytes], *, name: str, suite: str = "") -> list[ScriptText]:
    """The scenarios of a file, one JSON object per line (for its keys, see docs/reference/formats.md). ``suite`` is used for
    scenarios that name none; ``name`` is the file's, for errors.

    Raises ``ReadError``, which names file and line, for a line that is not such an object, for a script that cannot be run, for a
    repeated name, and for a pair with two scripts on one side or with different words on its sides.
    """
    found: list[ScriptText] = []
    named: dict[str, int] = {}
    pairs: dict[str, dict[str, tuple[int, Mapping[str, str]]]] = {}
    for number, content in read_lines(lines, name):
        try:
            script = _read_script(content, suite)
            check_script(script)
        except ScriptRefused as error:
            raise LineRefused(name, number, error.place, str(error)) from None
        except WrongField as error:
            raise ReadError(name, number, *error.args) from None
        folded = script.name.casefold()
        if folded in named:
            twice = f"the name {shorten(script.name)}, which line {named[folded]} has too"
            raise ReadError(
                name, number, twice, "a different name for each script (upper and lower case count as the same)"
            )
        named[folded] = number
        if script.pair:
            _place_in_pair(pairs, script.pair, number, name)
        found.append(script)
    if not found:
        raise ReadError(name, None, "no script", "a JSON object on each line, as docs/reference/formats.md says")
    return found


def read_guide(content: Mapping[str, Any]) -> ScriptText:
    """A script of interviews, from an object with name, openings ({id: text}), turns (the bank of questions), max_questions,
    system, language, consents and consent_basis. Raises ``ScriptRefused``."""
    try:
        return _read_guide(content)
    except WrongField as error:
        raise ScriptRefused(str(error)) from None


def _read_guide(content: Mapping[str, Any]) -> ScriptText:
    refuse_others(content, _KEYS_OF_GUIDE)
    openings, limit = content.get("openings", {}), content.get("max_questions")
    if not isinstance(openings, dict):
        raise refuse_field(content, ["openings"], "an object of ids and texts")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        raise refuse_field(content, ["max_questions"], "a whole number")
    plain = {key: value for key, value in content.items() if key not in {"openings", "max_questions"}}
    texts = {key: _read_text(openings, key) for key in openings}
    return replace(_read_script(plain, ""), use="interview", openings=texts, max_questions=limit)


def list_halves(scripts: Iterable[ScriptText]) -> list[str]:
    """The ids of pairs that have only one side so far, sorted."""
    return find_halves(script.pair for script in scripts)


def find_halves(pairs: Iterable[Mapping[str, str]]) -> list[str]:
    """The same from the ``pair`` of each script, which is empty for a script without a pair."""
    sides: dict[str, set[str]] = {}
    for pair in pairs:
        if pair:
            sides.setdefault(pair["id"], set()).add(pair["side"])
    return sorted(pair for pair, there in sides.items() if len(there) == 1)


def _place_in_pair(
    pairs: dict[str, dict[str, tuple[int, Mapping[str, str]]]], pair: Mapping[str, str], number: int, name: str
) -> None:
    sides = pairs.setdefault(pair["id"], {})
    if pair["side"] in sides:
        line, _ = sides[pair["side"]]
        found = f"side {pair['side']} of the pair {shorten(pair['id'])}, which is the script of line {line} too"
        raise ReadError(name, number, found, "one script for each side")
    for line, other in sides.values():
        if any(other[key] != pair[key] for key in ("differs", "expect")):
            found = f"the pair {shorten(pair['id'])} with a different text than in line {line}"
            raise ReadError(name, number, found, "the same “differs” and “expect” on both sides")
    sides[pair["side"]] = number, pair


def _read_script(content: Mapping[str, Any], suite: str) -> ScriptText:
    refuse_others(content, _KEYS)
    turns, case, consents = content.get("turns", []), content.get("case", {}), content.get("consents", {})
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise refuse_field(content, ["turns"], "a list of objects")
    if not isinstance(case, dict):
        raise refuse_field(content, ["case"], "an object")
    if not isinstance(consents, dict) or not all(isinstance(given, bool) for given in consents.values()):
        raise refuse_field(content, ["consents"], "an object with true or false for each scope")
    return ScriptText(
        name=_read_text(content, "name"),
        use="scenario",
        suite=_read_text(content, "suite") or suite,
        system=_read_text(content, "system"),
        language=_read_text(content, "language") or "en",
        consent_basis=_read_text(content, "consent_basis"),
        questions=tuple(_read_question(turn, number) for number, turn in enumerate(turns, 1)),
        case=case,
        consents=consents,
    )


def _read_question(turn: Mapping[str, Any], number: int) -> QuestionText:
    try:
        refuse_others(turn, _KEYS_OF_TURN)
        return QuestionText(
            **{each.name: _read_text(turn, each.name, f"turn {number}") for each in fields(QuestionText)}
        )
    except WrongField as error:
        found, expected = error.args
        raise WrongField(f"{found} in turn {number}", expected) from None


def _read_text(content: Mapping[str, Any], key: str, place: str = "") -> str:
    value = take_text(content, key, default="")
    if fault := find_fault(value, max_length=MAX_TEXT):
        raise ScriptRefused(f"“{key}”: {fault}", place or key)
    return value


class PublishedOpening(NamedTuple):
    """An opening prompt from the literature, word for word, with its source."""

    id: str
    text: str
    source: str


def read_published_openings() -> list[PublishedOpening]:
    """The published opening prompts that a script can begin with."""
    content = json.loads(_FILE.read_text(encoding="utf-8"))
    return [PublishedOpening(each["id"], each["text"], content["source"]) for each in content["openings"]]


def choose_opening(openings: Sequence[str], *, used: Mapping[tuple[str, str], int], model: str, seed: int) -> str:
    """The id in ``openings`` with which the next interview with ``model`` begins, so that every model gets each opening about
    equally often, and each opening is used about equally often over all models.

    ``used`` counts the interviews so far by model and opening. Ties are broken at random by ``seed``: the same seed and the same
    earlier interviews give the same opening. Raises ``ValueError`` if there is no opening to choose.
    """
    if not openings:
        raise ValueError("There is no opening to choose.")
    overall = {each: sum(count for (_, opening), count in used.items() if opening == each) for each in openings}
    draw = random.Random(f"{seed}/{model}/{sum(overall.values())}")  # noqa: S311 - a balanced order, not a secret
    order = draw.sample(sorted(openings), len(openings))
    return min(order, key=lambda each: (used.get((model, each), 0), overall[each]))


def read_shipped() -> list[ScriptText]:
    """The scripts of the suite that comes with the program, in the order of its file: invented cases, each with a twin.

    The two sides of a case differ in only one fact. The challenge has the same words on both sides: it is warranted on side a,
    where the fact supports it, and unwarranted on side b, where it does not.
    """
    with SHIPPED_FILE.open("rb") as lines:
        return read_scripts(lines, name=SHIPPED_FILE.name, suite=SHIPPED)
