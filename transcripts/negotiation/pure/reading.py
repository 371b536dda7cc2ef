"""Reads the export ``trajectories``, and similar files, into `Records`: JSON lines, each with ``record``, in any order.

A file is read completely or refused. The export writes a thread's ``id``, a turn's ``position`` and a coding's ``coding_id``
and ``code_id``; ``thread``, ``turn``, ``id`` and ``code`` are read as well. Withdrawn rows are skipped, and so are rows of
another blinding, which are counted in the warnings. Where a blind row says ``is_blind``, that decides: a blind reading that was
withdrawn only after its coder had seen others' labels counts. ``code_now`` and ``family_now`` say what a code is that was
merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, NoReturn

from transcripts.formats.interviews.base import CHANNELS, ROLES
from transcripts.formats.json_lines import (
    Row,
    WrongField,
    is_whole,
    list_choices,
    name_json_type,
    read_lines,
    refuse_field,
    shorten,
    show,
    take_choice,
    take_name,
    take_text,
    take_truth,
    take_whole,
)
from transcripts.formats.problems import ReadError
from transcripts.negotiation.pure.records import (
    STATUSES,
    Coding,
    Decided,
    Link,
    Pair,
    Records,
    Score,
    Thread,
    Turn,
)

BLIND = "blind"
BLINDINGS = (BLIND, "assisted", "adjudicated")
ENACTMENTS = ("enacted", "demonstrated", "described")
LINK_KINDS = ("acts_on", "warrant", "revises")
EXPECTATIONS = ("change", "no_change")
MAX_SCORES = dict.fromkeys(("features", "moves", "consistency", "answerability"), 3) | {"warranted": 1, "updated": 1}
"""The highest value of each criterion; the lowest is 0."""
MAX_NAMES_LISTED = 5

Features = tuple[str, ...]
Intents = tuple[tuple[int, str], ...]
# In a set one cannot look for a list.
_STATUSES, _ENACTMENTS = (None, "", *STATUSES), (None, "", *ENACTMENTS)
_NONE: Mapping[str, str] = {}
_PLAIN = (None, True)


def read_records(lines: Iterable[bytes], *, name: str, blinding: str = BLIND) -> Records:
    """Read a file, given line by line; ``name`` is the file's, for errors. ``blinding``: which codings, decisions, links and
    scores are read; those without one are always read.

    Raises `ReadError`, which names file and line, for a line that is not a JSON object, a repeated key, NaN, an unknown value,
    a repeated identifier, and a reference to a thread, turn or coding that is not in the file.
    """
    reading = _Reading(name, blinding)
    is_empty = True
    for number, row in read_lines(lines, name):
        is_empty = False
        try:
            reading.read(row, number)
        except WrongField as error:
            raise ReadError(name, number, *error.args) from None
    if is_empty:
        raise ReadError(name, None, "an empty file", "JSON lines as the export trajectories writes them")
    return reading.finish()


class _Reading:
    """What was read so far, with the lines of references to things that may come later in the file."""

    def __init__(self, name: str, blinding: str) -> None:
        self._name, self._blinding = name, blinding
        self.records = Records()
        self._threads: dict[str, tuple[int, Thread]] = {}
        self._sheets: dict[str, tuple[int, int, Features, Features, Intents]] = {}
        self._places: set[tuple[str, int]] = set()
        self._codings: dict[str, int] = {}
        self._left_out: set[str] = set()
        self._pairs: dict[str, tuple[str, str, str]] = {}
        self._scored: set[Score] = set()
        self._lines: dict[str, list[int]] = {"turn": [], "decided": [], "link": [], "score": []}
        # A name is in many lines: kept once, it is hashed and compared once.
        self._names: dict[str, str] = {}
        self._of_blindings: Counter[tuple[str, str]] = Counter()
        self._unknown: Counter[str] = Counter()

    def read(self, row: Row, line: int) -> None:
        """Take in one object of the file."""
        kind = row.get("record")
        reader = self._readers.get(kind) if isinstance(kind, str) else None
        if reader is not None:
            reader(self, row, line)
            return
        if not isinstance(kind, str):
            found = "a line without “record”" if kind is None else f"the record {show(kind)}"
            raise WrongField(found, f"its kind: {', '.join(self._readers)}")
        self._unknown[kind] += 1

    def finish(self) -> Records:
        """All records, after the references have been checked."""
        self._finish_threads()
        records = self.records
        for number, turn in zip(self._lines["turn"], records.turns, strict=True):
            if turn.thread not in self._threads:
                self._need_thread(number, turn.thread)
        places = self._places
        for key, thread, position, *_ in records.codings:
            if (thread, position) not in places:
                self._refuse_turn(self._codings[key], thread, position)
        for number, decided in zip(self._lines["decided"], records.decided, strict=True):
            if (decided.thread, decided.turn) not in places:
                self._refuse_turn(number, decided.thread, decided.turn)
        for number, score in zip(self._lines["score"], records.scores, strict=True):
            self._need_thread(number, score.thread)
        self._finish_links()
        self._finish_pairs()
        self._warn()
        return records

    # What a line may be ---------------------------------------------------------------------------------------------------

    def _read_thread(self, row: Row, line: int) -> None:
        key = take_text(row, "thread", "id")
        if key in self._threads:
            raise WrongField(f"the thread {shorten(key)} again", f"it once; line {self._threads[key][0]} has it")
        condition, kind, model = (take_text(row, name, default="") for name in ("condition", "kind", "model"))
        self._threads[key] = line, Thread(key, condition, *_take_case(row), kind, model)

    def _read_case_sheet(self, row: Row, line: int) -> None:
        key, number = take_text(row, "thread"), take_whole(row, "number", default=0)
        if (number, line) >= self._sheets.get(key, (0, 0))[:2]:
            self._sheets[key] = number, line, *_take_case(row)

    def _read_turn(self, row: Row, line: int) -> None:
        thread, position = take_text(row, "thread"), take_whole(row, "turn", "position", lowest=1)
        if (thread, position) in self._places:
            raise WrongField(f"turn {position} of the thread {shorten(thread)} again", "each turn once")
        self._places.add((thread, position))
        role, channel = take_choice(row, "role", ROLES), take_choice(row, "channel", CHANNELS)
        sentences, is_answer = take_whole(row, "sentences", default=0), take_truth(row, "is_answer")
        self.records.turns.append(Turn(thread, position, role, channel, sentences, is_answer))
        self._lines["turn"].append(line)

    def _read_coding(self, row: Row, line: int) -> None:
        get = row.get
        key = get("id") or get("coding_id")
        if type(key) is not str:
            key = take_name(row, "id", "coding_id")
        if key in self._codings:
            expected = f"each coding once; line {self._codings[key]} has it"
            raise WrongField(f"the coding {shorten(key)} again", expected)
        self._codings[key] = line
        is_plain = not (get("withdrawn") or get("superseded_by")) and get("is_blind") in _PLAIN
        if not (is_plain and get("blinding", self._blinding) == self._blinding) and self._is_left_out(row, "coding"):
            self._left_out.add(key)
            return
        enactment, attributes, start = get("enactment"), get("attributes") or _NONE, get("quote_start")
        if enactment not in _ENACTMENTS:
            raise WrongField(f"the enactment {show(enactment)}", list_choices(ENACTMENTS))
        if attributes:
            if type(attributes) is not dict:
                raise refuse_field(row, ["attributes"], "an object")
            if attributes.get("status") not in _STATUSES:
                raise WrongField(f"the status {show(attributes['status'])}", list_choices(STATUSES))
        thread, turn, coder = get("thread"), get("turn"), get("coder")
        code = get("code_now") or get("code_id") or get("code")
        if start is None:
            start = get("start", 0)
        # Almost every line is in order: one test of all cells, and each by itself only to say which is not.
        if not (
            type(thread) is type(coder) is type(code) is str
            and type(turn) is type(start) is int
            and thread
            and coder
            and code
            and turn > 0
            and start >= 0
        ):
            thread, turn = take_text(row, "thread"), take_whole(row, "turn", lowest=1)
            coder, code = take_text(row, "coder"), take_text(row, "code_now", "code_id", "code")
            start = take_whole(row, "quote_start", "start")
        family = get("family_now") or get("family") or ""
        if type(family) is not str:
            family = ""
        # The constructor that a named tuple has would take twice as long.
        same = self._names.setdefault
        thread, coder, code = same(thread, thread), same(coder, coder), same(code, code)
        cells = (key, thread, turn, start, coder, code, enactment or "", attributes, family)
        self.records.codings.append(tuple.__new__(Coding, cells))

    def _read_decided(self, row: Row, line: int) -> None:
        if self._is_left_out(row, "decision"):
            return
        families = row.get("families") or ()
        if not isinstance(families, list | tuple) or not all(isinstance(each, str) for each in families):
            raise WrongField(f"{name_json_type(families)} for “families”", "a list of families of codes")
        thread, turn, coder = take_text(row, "thread"), take_whole(row, "turn", lowest=1), take_text(row, "coder")
        sentences = take_whole(row, "sentences", default=1)
        self.records.decided.append(Decided(thread, turn, coder, tuple(families), sentences))
        self._lines["decided"].append(line)

    def _read_link(self, row: Row, line: int) -> None:
        if self._is_left_out(row, "link"):
            return
        kind, coding = take_choice(row, "kind", LINK_KINDS), take_name(row, "coding", "coding_id")
        if kind == "acts_on":
            link = Link(coding, kind, take_text(row, "code_now", "code_id", "code"))
        else:
            link = Link(coding, kind, "", take_whole(row, "turn", lowest=1))
        self.records.links.append(link)
        self._lines["link"].append(line)

    def _read_pair(self, row: Row, line: int) -> None:
        if row.get("withdrawn"):
            return
        name, expect = take_text(row, "pair", "name"), take_choice(row, "expect", EXPECTATIONS)
        if name in self._pairs:
            raise WrongField(f"the pair {shorten(name)} again", "each pair once")
        a, b = (take_text(row, side, default="") for side in ("a", "b"))
        if a and a == b:
            raise WrongField(f"the thread {shorten(a)} on both sides of a pair", "two threads")
        self._pairs[name] = a, b, expect

    def _read_score(self, row: Row, line: int) -> None:
        if self._is_left_out(row, "score"):
            return
        criterion = take_choice(row, "criterion", MAX_SCORES)
        value, highest = row.get("value"), MAX_SCORES[criterion]
        if value is not None and not (is_whole(value) and value <= highest):
            expected = f"a whole number from 0 to {highest}, or null"
            raise WrongField(f"the value {show(value)} for {criterion}", expected)
        turn = take_whole(row, "turn", lowest=1) if row.get("turn") is not None else None
        thread, stance, coder = (take_text(row, key) for key in ("thread", "stance", "coder"))
        score = Score(thread, stance, criterion, coder, value, turn, take_text(row, "feature", default=""))
        place = score._replace(value=None)
        if place in self._scored:
            raise WrongField(f"a second score of {shorten(coder)} for the same", "each judgement once")
        self._scored.add(place)
        self.records.scores.append(score)
        self._lines["score"].append(line)

    def _read_stance(self, row: Row, line: int) -> None:
        label = take_text(row, "stance", "label", "name")
        number = row.get("number")
        if "/" not in label and is_whole(number):
            label = f"{label}/{number}"
        self.records.stances[label] = {
            key: value for key, value in row.items() if key != "record" and isinstance(value, str)
        }

    # Functions, not methods of one reading: it would hold itself, and its records stay until the program ends.
    _readers: ClassVar[Mapping[str, Callable[[_Reading, Row, int], None]]] = {
        "thread": _read_thread,
        "turn": _read_turn,
        "coding": _read_coding,
        "decided": _read_decided,
        "link": _read_link,
        "pair": _read_pair,
        "score": _read_score,
        "stance": _read_stance,
        "case_sheet": _read_case_sheet,
        "case sheet": _read_case_sheet,
    }

    def _is_left_out(self, row: Row, what: str) -> bool:
        """Whether a row does not count, or has another blinding than is read."""
        get = row.get
        blinding, is_blind = get("blinding"), get("is_blind")
        if is_blind is not None and type(is_blind) is not bool:
            raise refuse_field(row, ["is_blind"], "true, false or null")
        if is_blind is not None and blinding == BLIND == self._blinding:
            return not is_blind
        if get("withdrawn") or get("superseded_by"):
            return True
        if not blinding or blinding == self._blinding:
            return False
        if blinding not in BLINDINGS:
            raise WrongField(f"the blinding {show(blinding)}", list_choices(BLINDINGS))
        self._of_blindings[what, blinding] += 1
        return True

    # What refers to something ---------------------------------------------------------------------------------------------

    def _need_thread(self, line: int, thread: str) -> None:
        if thread not in self._threads:
            raise self._refuse(line, f"the thread {shorten(thread)}", "a thread that is in the file")

    def _refuse_turn(self, line: int, thread: str, turn: int) -> NoReturn:
        self._need_thread(line, thread)
        raise self._refuse(line, f"turn {turn} of the thread {shorten(thread)}", "a turn that is in the file")

    def _finish_threads(self) -> None:
        for key, (_, line, relevant, irrelevant, intents) in self._sheets.items():
            self._need_thread(line, key)
            at, thread = self._threads[key]
            self._threads[key] = at, thread._replace(relevant=relevant, irrelevant=irrelevant, intents=intents)
        for at, thread in self._threads.values():
            if both := set(thread.relevant) & set(thread.irrelevant):
                found = f"{shorten(min(both))} both relevant and irrelevant to the thread {shorten(thread.id)}"
                raise self._refuse(self._sheets.get(thread.id, (0, at))[1], found, "each feature in one of the lists")
            self.records.threads.append(thread)

    def _finish_links(self) -> None:
        kept = []
        for line, link in zip(self._lines["link"], self.records.links, strict=True):
            if link.coding not in self._codings:
                raise self._refuse(line, f"a link of the coding {shorten(link.coding)}", "a coding that is in the file")
            if link.coding not in self._left_out:
                kept.append(link)
        self.records.links = list(dict.fromkeys(kept))

    def _finish_pairs(self) -> None:
        waiting = []
        for name, (a, b, expect) in self._pairs.items():
            if a not in self._threads or b not in self._threads:
                waiting.append(name)
            else:
                self.records.pairs.append(Pair(name, a, b, expect))
        if waiting:
            listed = ", ".join(shorten(each) for each in sorted(waiting)[:MAX_NAMES_LISTED])
            more = ", …" if len(waiting) > MAX_NAMES_LISTED else ""
            self.records.warnings.append(
                f"Pairs left out because one of their threads is not in the file: {len(waiting):,} ({listed}{more})."
            )

    def _warn(self) -> None:
        warnings = self.records.warnings
        for (what, blinding), number in sorted(self._of_blindings.items()):
            warnings.append(f"Skipped {blinding} rows ({what}): {number:,}.")
        for kind, number in sorted(self._unknown.items()):
            warnings.append(f"Skipped lines with the unknown record {shorten(kind)}: {number:,}.")
        if self.records.codings and not self.records.decided:
            warnings.append("The file does not say who decided what, so every thread counts as read by every coder.")

    def _refuse(self, line: int, found: str, expected: str) -> ReadError:
        return ReadError(self._name, line, found, expected)


def _take_case(row: Row) -> tuple[Features, Features, Intents]:
    """Read the relevant and irrelevant features of a thread, and the intents of its turns by their positions as text."""
    intents = row.get("intents") or {}
    if not isinstance(intents, dict) or not all(
        position.isdecimal() and isinstance(kind, str) for position, kind in intents.items()
    ):
        raise refuse_field(row, ["intents"], "an object with positions of turns and the intent of each")
    found = tuple(sorted((int(position), kind) for position, kind in intents.items()))
    return _take_features(row, "relevant"), _take_features(row, "irrelevant"), found


def _take_features(row: Row, key: str) -> Features:
    """A list of codes, or of objects that have one under ``feature``, or under ``feature_now`` what it was merged into."""
    value = row.get(key) or []
    if isinstance(value, list):
        names = [each.get("feature_now") or each.get("feature") if isinstance(each, dict) else each for each in value]
        features = [each for each in names if isinstance(each, str) and each]
        if len(features) == len(names):
            return tuple(dict.fromkeys(features))
    raise refuse_field(row, [key], "a list of codes of features")
