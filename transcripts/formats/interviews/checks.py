"""Checks for files in any format: sizes, characters, ids. Everything is checked before anything is passed on."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import (
    CHANNELS,
    KEPT_OF_RESULT,
    KINDS,
    MAX_TURN_SIZE,
    MAX_TURNS,
    RELATIONS,
    ROLES,
    ReadInterview,
    ReadTurn,
)
from transcripts.formats.json_lines import shorten
from transcripts.formats.problems import ReadError
from transcripts.formats.text_input import HIDDEN, drop_unseen

_MAX_LENGTHS = {
    "external_id": 200,
    "title": 300,
    "model_label": 200,
    "vendor": 200,
    "surface": 100,
    "period": 100,
    "interviewer": 200,
    "tier": 50,
    "inclusion": 50,
    "language": 20,
}
_MAX_TURN_LENGTHS = {"speaker": 200, "prompt_kind": 30, "call_id": 200}
_CLASHES_NAMED = 50
_HALF = re.compile("[\ud800-\udfff]")
_MORE_TEXTS = ("inclusion", "inclusion_reason", "opening_prompt")
_NAMES = ("external_id", "title", "model_label", "vendor", "surface", "period", "interviewer", "tier", "language")


def clear_names(interviews: Iterable[ReadInterview], dropped: Counter[str]) -> list[ReadInterview]:
    """The interviews without hidden characters in titles, ids and the names of speakers, tools and models; ``dropped`` counts
    them, in a sentence. In the text of turns they stay."""
    return [_clear_interview(interview, dropped) for interview in interviews]


def _clear_interview(interview: ReadInterview, dropped: Counter[str]) -> ReadInterview:
    changed: dict[str, Any] = {}
    for field in _NAMES:
        name = getattr(interview, field)
        if HIDDEN.search(name):
            changed[field] = _clear(name, dropped)
    speakers = {turn.speaker for turn in interview.turns}
    cleared = {name: _clear(name, dropped) for name in speakers if HIDDEN.search(name)}
    if cleared:
        changed["turns"] = tuple(
            replace(turn, speaker=cleared[turn.speaker]) if turn.speaker in cleared else turn
            for turn in interview.turns
        )
    if interview.hangs_on is not None and HIDDEN.search(interview.hangs_on[0]):
        # Counted where the id itself is cleared.
        changed["hangs_on"] = (drop_unseen(interview.hangs_on[0]), interview.hangs_on[1])
    return replace(interview, **changed) if changed else interview


def _clear(name: str, dropped: Counter[str]) -> str:
    clear = drop_unseen(name)
    if clear != name:
        dropped["A name or title had hidden characters, which were left out."] += 1
    return clear


def fit_tool_traffic(interviews: Iterable[ReadInterview], changed: Counter[str]) -> list[ReadInterview]:
    """The interviews with tool traffic that can be kept: of a result that is too large for a turn, the beginning is kept, with the
    size and hash of the whole. ``changed`` counts this, by sentence."""
    fitting = []
    for interview in interviews:
        turns = tuple(_fit_turn(turn, changed) for turn in interview.turns)
        is_same = all(new is old for new, old in zip(turns, interview.turns, strict=True))
        fitting.append(interview if is_same else replace(interview, turns=turns))
    return fitting


def _fit_turn(turn: ReadTurn, changed: Counter[str]) -> ReadTurn:
    short = _shorten_result(turn)
    if short is not turn:
        changed[
            f"A tool's result of more than {MAX_TURN_SIZE:,} bytes was cut to its beginning; its hash was kept."
        ] += 1
    return short


def mend_characters(interview: ReadInterview, changed: Counter[str]) -> ReadInterview:
    """The interview after replacing characters that no database keeps: U+0000 by its symbol, half of a surrogate pair by U+FFFD.
    ``changed`` counts the texts, and the details of a turn record it. The basis of a consent stays as it is."""
    told = {name: _mend(getattr(interview, name), changed) for name in (*_NAMES, *_MORE_TEXTS, "metadata", "run")}
    turns = tuple(_mend_turn(turn, changed) for turn in interview.turns)
    hangs_on = interview.hangs_on
    if hangs_on is not None:
        # Counted where the id itself is mended.
        hangs_on = (_mend(hangs_on[0], Counter()), hangs_on[1])
    return replace(interview, **told, turns=turns, hangs_on=hangs_on)


def _mend_turn(turn: ReadTurn, changed: Counter[str]) -> ReadTurn:
    marks = {"had_null": "\x00" in turn.text, "had_surrogate": _HALF.search(turn.text) is not None}
    told = {name: _mend(getattr(turn, name), changed) for name in ("speaker", "text", "prompt_kind", "call_id")}
    details = _mend(turn.details, changed) | {mark: True for mark, is_there in marks.items() if is_there}
    return replace(turn, **told, details=details)


def _mend(value: Any, changed: Counter[str]) -> Any:
    if isinstance(value, dict):
        return {_mend(key, changed): _mend(each, changed) for key, each in value.items()}
    if isinstance(value, list):
        return [_mend(each, changed) for each in value]
    if not isinstance(value, str):
        return value
    if "\x00" in value:
        changed["The character U+0000, which no database keeps, was replaced by its symbol, U+2400."] += 1
    if _HALF.search(value):
        changed["Half of a surrogate pair, which is not a character, was replaced by U+FFFD."] += 1
    return _HALF.sub("\ufffd", value.replace("\x00", "\u2400"))


def _shorten_result(turn: ReadTurn) -> ReadTurn:
    if turn.channel != "tool_result" or len(turn.text) * 4 <= MAX_TURN_SIZE:
        return turn
    whole = turn.text.encode("utf-8", "surrogatepass")
    if len(whole) <= MAX_TURN_SIZE:
        return turn
    truncated = {"bytes": len(whole), "sha256": hashlib.sha256(whole).hexdigest()}
    head = whole[:KEPT_OF_RESULT].decode("utf-8", "ignore")
    return replace(turn, text=head, details={**turn.details, "truncated": truncated})


class Unkept(ReadError):
    """A text with a character that no database keeps."""


class FileCheck:
    """Checks whether the interviews of a file can be kept: each when it is added, and in the end all together. Only the ids and
    places of added interviews are kept in memory. Every method raises `ReadError`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._ids: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        self._turns: dict[str, int] = {}
        self._hung: dict[str, tuple[str, int, int]] = {}

    def add(self, interview: ReadInterview) -> None:
        """Refuse an interview that cannot be kept; raises `Unkept` for what `mend_characters` repairs."""
        _check_interview(interview, self._name)
        external_id, line = interview.external_id, interview.line
        # Ids that differ only in case, white space or the way accents are composed are the same id to a reader.
        plain = " ".join(unicodedata.normalize("NFC", external_id).casefold().split())
        self._ids[plain].append((external_id, line))
        self._turns[external_id] = len(interview.turns)
        if interview.hangs_on is not None:
            self._hung[external_id] = (*interview.hangs_on, line)

    def finish(self) -> None:
        """Refuse interviews that cannot be kept together."""
        if not self._turns:
            raise ReadError(self._name, None, "no interview", "at least one")
        self._refuse_clashing_ids()
        self._check_threads()

    def _refuse_clashing_ids(self) -> None:
        clashes = [group for group in self._ids.values() if len(group) > 1]
        if not clashes:
            return
        named = [
            f"{shorten(group[0][0])} on lines {', '.join(str(line) for _, line in group)}"
            for group in clashes[:_CLASHES_NAMED]
        ]
        if len(clashes) > _CLASHES_NAMED:
            named.append(f"{len(clashes) - _CLASHES_NAMED} more")
        found = f"the same id more than once: {'; '.join(named)}"
        raise ReadError(
            self._name,
            clashes[0][1][1],
            found,
            "each id once (ids that differ only in capitals, spaces or composed accents count as the same)",
        )

    def _check_threads(self) -> None:
        """Check that every thread continues from a turn of another thread in the file, and that there is no circle."""
        for external_id, (thread, position, line) in self._hung.items():
            place = f"{shorten(external_id)} hangs on turn {position} of {shorten(thread)}"
            if not 1 <= position <= self._turns.get(thread, 0):
                raise ReadError(
                    self._name, line, f"{place}, which is not in the file", "a turn of another thread in it"
                )
            seen = {external_id}
            above = thread
            while above in self._hung and above not in seen:
                seen.add(above)
                above = self._hung[above][0]
            if above in seen:
                raise ReadError(self._name, line, f"{place}, and that on it", "threads that begin somewhere")


def _check_interview(interview: ReadInterview, name: str) -> None:
    line = interview.line
    if not interview.turns:
        raise ReadError(name, line, "an interview without turns", "at least one turn")
    if len(interview.turns) > MAX_TURNS:
        found = f"the conversation {shorten(interview.external_id)} of {len(interview.turns):,} turns"
        raise ReadError(
            name, line, found, f"at most {MAX_TURNS:,} turns in one conversation (divide it, or take it out)"
        )
    if not any(turn.text.strip() for turn in interview.turns):
        raise ReadError(name, line, "an interview without text", "at least one turn with text")
    for field, max_length in _MAX_LENGTHS.items():
        _refuse_longer(getattr(interview, field), max_length, field, name, line)
    if interview.kind not in KINDS or interview.relation not in RELATIONS:
        found = f"the kind {shorten(interview.kind)} or the relation {shorten(interview.relation)}"
        raise ReadError(name, line, found, f"one of {', '.join(KINDS)}, and none or one of {', '.join(RELATIONS[1:])}")
    if bool(interview.relation) != (interview.hangs_on is not None):
        raise ReadError(name, line, "a relation without the turn it hangs on, or the reverse", "both or neither")
    for number, turn in enumerate(interview.turns, 1):
        _check_turn(turn, number, name, line)
    for place, text in _pieces(interview):
        _measure(text, place, name, line)


def _check_turn(turn: ReadTurn, number: int, name: str, line: int) -> None:
    for what, value, known in (("role", turn.role, ROLES), ("channel", turn.channel, CHANNELS)):
        if value not in known:
            raise ReadError(name, line, f"the {what} {shorten(value)} in turn {number}", f"one of {', '.join(known)}")
    for field, max_length in _MAX_TURN_LENGTHS.items():
        _refuse_longer(getattr(turn, field), max_length, f"{field} in turn {number}", name, line)
    size = _measure(turn.text, f"turn {number}", name, line)
    if size > MAX_TURN_SIZE:
        raise ReadError(name, line, f"turn {number} of {size:,} bytes", f"at most {MAX_TURN_SIZE:,} bytes in a turn")


def _refuse_longer(text: str, max_length: int, what: str, name: str, line: int) -> None:
    if len(text) > max_length:
        label = what.replace("_", " ")
        raise ReadError(name, line, f"a {label} of {len(text):,} characters", f"at most {max_length}")


def _pieces(interview: ReadInterview) -> Iterator[tuple[str, str]]:
    """Every text except those of turns, with its place in words."""
    for field in (*_MAX_LENGTHS, "inclusion_reason", "opening_prompt"):
        yield (f"the {field.replace('_', ' ')}", getattr(interview, field))
    yield ("the basis of the consent", interview.consent_basis)
    for key, value in interview.metadata.items():
        yield (f"the key {shorten(key)}", key)
        yield (f"the value of {shorten(key)}", value)
    for number, turn in enumerate(interview.turns, 1):
        yield (f"the speaker of turn {number}", turn.speaker + turn.prompt_kind + turn.call_id)
        if turn.details:
            yield (f"the details of turn {number}", _list_texts(turn.details))
    yield ("what is known of the run", _list_texts(interview.run))


def _list_texts(value: object) -> str:
    """Every key and text within a JSON value, to check that a database can store them."""
    if isinstance(value, dict):
        return "".join(map(_list_texts, value)) + "".join(map(_list_texts, value.values()))
    if isinstance(value, list):
        return "".join(map(_list_texts, value))
    return value if isinstance(value, str) else ""


def _measure(text: str, place: str, name: str, line: int) -> int:
    """The number of bytes in UTF-8; refuses the null character and halves of surrogate pairs, which JSON can contain."""
    odd = "\x00" if "\x00" in text else None
    size = 0
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        odd = text[error.start]
    if odd is not None:
        found = f"{place} with the character U+{ord(odd):04X}"
        raise Unkept(name, line, found, "text that every database can store (remove the character)")
    return size
