"""Converts the texts of a project file to interviews, names the things in it, and finds the sentences that a selection touches.

No Django, no database.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple
from unicodedata import normalize

from transcripts.formats.interviews.base import MAX_TURN_SIZE, ReadTurn, Source
from transcripts.formats.interviews.speaker_text import find_starts, is_dialogue, read_conversation
from transcripts.formats.problems import ReadError
from transcripts.formats.qdpx_content import QdpxSource
from transcripts.formats.refi import MAX_NAME_LENGTH, make_guid

CODEBOOK_ENTRY = "codebook.json"
"""The entry of the archive with everything that a codebook file of the standard cannot represent."""
INTERVIEW_KEY = "interview"
"""The attribute of a source that has the interview's identifier."""
FIELDS = {
    "model": "model_label",
    "vendor": "vendor",
    "surface": "surface",
    "period": "period",
    "interviewer": "interviewer",
    "tier": "tier",
    "inclusion": "inclusion",
    "inclusion_reason": "inclusion_reason",
    "opening_prompt": "opening_prompt",
    "language": "language",
}
"""Attributes of a source, and the corresponding fields of an interview."""
INTERPRETATION = "Interpretation"
"""The name of a note with a coding's interpretive line, before its number."""
LINK_NOTE = "auditapp link: "
"""The beginning of names of notes about links. Other programs keep names, so these notes are recognised in any file."""
SPEAKERS = {"interviewer": "Interviewer", "model": "Model", "system": "System", "tool": "Tool"}
"""The words for speakers in the headings of turns."""
CHANNELS = ("reasoning", "tool_call", "tool_result")
"""The words for channels other than utterances."""
MAX_ID_LENGTH = 200
MAX_TITLE_LENGTH = 300
# At least this many selections, and this share of them, must show that ends are inclusive.
MIN_ENDS = 3
MIN_SHARE = 0.8
# Keys of a line of an interview file; a variable of another program with such a name is renamed.
RESERVED = frozenset(
    {"id", "turns", "text", "title", "date", "kind", "run", "relation", "hangs_on", "consent", "consent_basis", *FIELDS}
)

AFTER_A_TURN = "\n\n"
_NAMED = rf"(?P<name>{'|'.join(SPEAKERS.values())})(?: \((?P<channel>{'|'.join(CHANNELS)})\))?: "
_HEADING = re.compile(rf"(?:\A|(?<=\n\n)){_NAMED}")
_HEADING_OF_A_LINE = re.compile(rf"^{_NAMED}", re.MULTILINE)
_ROLES = {name: role for role, name in SPEAKERS.items()}

PlacedTurn = tuple[int, ReadTurn]
"""A turn, with the place in the source's text where its own text begins."""


def name_heading(role: str, channel: str) -> str:
    """The heading before the words of a turn in a text."""
    return f"{SPEAKERS[role]}{f' ({channel})' if channel in CHANNELS else ''}: "


def name_user(username: str) -> str:
    return make_guid("user", username)


def name_code(slug: str, identifier: str) -> str:
    return make_guid("code", slug, identifier)


def name_interview(slug: str, external_id: str) -> str:
    return make_guid("interview", slug, external_id)


def name_selection(interview: str, coder: str, start: int, end: int, note: str) -> str:
    return make_guid("selection", interview, coder, str(start), str(end), *([note] if note else []))


def name_note(coding: str) -> str:
    """The name of the note with a coding's interpretive line."""
    return make_guid("note of coding", coding)


def name_link_note(link: str) -> str:
    """The name of the note that describes a link of a coding."""
    return make_guid("note of link", link)


def name_part(coding: str, number: int) -> str:
    """The name of the number-th coding if one selection covers several sentences; the first keeps its name."""
    return coding if number == 0 else make_guid("part of coding", coding, str(number))


def name_variable(key: str) -> str:
    """The variable for a key of an interview's metadata; "" for a key that cannot be the name of a variable."""
    if not key.strip() or len(key) > MAX_NAME_LENGTH:
        return ""
    return f"variable {key}" if key == INTERVIEW_KEY or key in FIELDS else key


class Ends(NamedTuple):
    """The ends of the selections in a file: how many are at the end of a word if the last position is the character after the last
    one (``exclusive``), and how many if it is the last one (``inclusive``). Each selection counts for at most one."""

    exclusive: int
    inclusive: int

    @property
    def are_inclusive(self) -> bool:
        """Whether the file clearly means the last character. In doubt it means the character after it."""
        return self.inclusive >= MIN_ENDS and self.inclusive >= MIN_SHARE * (self.exclusive + self.inclusive)


def measure_ends(sources: Iterable[QdpxSource]) -> Ends:
    """Which end convention a file uses: REFI-QDA 1.5 (10.2) can be read both ways, and people mostly select whole words."""
    exclusive = inclusive = 0
    for source in sources:
        text = source.text or ""
        for selection in source.selections:
            before, at, after = (text[place : place + 1] for place in range(selection.end - 1, selection.end + 2))
            if selection.start >= selection.end or before.isspace():
                continue
            if not at or at.isspace():
                exclusive += 1
            elif not after or after.isspace():
                inclusive += 1
    return Ends(exclusive, inclusive)


def take_in_last(sources: Iterable[QdpxSource]) -> Sequence[QdpxSource]:
    """Convert the ends of a file that means the last character to the character after it."""
    return [
        source._replace(
            selections=tuple(each._replace(end=min(each.end + 1, len(source.text or ""))) for each in source.selections)
        )
        for source in sources
    ]


class DividedText(NamedTuple):
    """A source as an interview. ``guid`` is the source's; ``how`` says how speakers were recognised."""

    guid: str
    external_id: str
    turns: list[PlacedTurn]
    how: str


def divide(source: QdpxSource, external_id: str) -> DividedText | str:
    """Divide a source into turns; returns a sentence if it cannot become an interview.

    Our own files name the speakers. In other texts, lines with speakers are read as in plain transcripts; a text that is not a
    conversation, such as an article, becomes one turn of the model, because turns of the model are coded here.
    """
    text = source.text
    if text is None:
        return f"{source.name}: its text is not in the file."
    if not text.strip():
        return f"{source.name}: its text is empty."
    turns, how = _find_turns(source, text)
    longest = max(len(turn.text.encode()) for _, turn in turns)
    if longest > MAX_TURN_SIZE:
        return f"{source.name}: a turn of {longest:,} bytes is longer than {MAX_TURN_SIZE:,}. Divide the text."
    return DividedText(source.guid, external_id, turns, how)


def _find_turns(source: QdpxSource, text: str) -> tuple[list[PlacedTurn], str]:
    if source.turns:
        own = [
            (
                each.start,
                ReadTurn(each.role, each.channel, each.speaker, text[each.start : each.end], each.prompt_kind),
            )
            for each in source.turns
        ]
        return own, "own"
    if headed := read_headings(text, is_ours=INTERVIEW_KEY in source.attributes):
        return headed, "headings"
    starts = find_starts(text)
    if not is_dialogue(text, starts):
        starts = []
    try:
        [interview] = read_conversation(Source("text.txt", text)).interviews if starts else [None]
    except ReadError:
        interview = None
    if interview is None:
        return [(0, ReadTurn("model", "utterance", "", text))], "whole"
    turns = [(begin, turn) for (_, _, begin), turn in zip(starts, interview.turns, strict=True)]
    before = text[: starts[0][0]]
    if before.strip():
        # The head of a transcript may be coded too, so the text before the first speaker is kept.
        turns.insert(0, (0, ReadTurn("system", "utterance", "", before.rstrip())))
    return turns, "speakers"


def read_headings(text: str, *, is_ours: bool) -> list[PlacedTurn]:
    """The turns of a text with the headings that we write, such as "Model (reasoning): "; empty for another text.

    Other programs keep the text and drop our own part, which names the speakers. ``is_ours``: something else in the file shows
    that we wrote the text.
    """
    found = list(_HEADING.finditer(text))
    if not found or found[0].start() > 0:
        return []
    # "Interviewer: " and "Model: " alone also occur in texts of others, which are read as plain transcripts.
    looks_ours = text.endswith(AFTER_A_TURN) and len(found) == len(_HEADING_OF_A_LINE.findall(text))
    if not (is_ours or looks_ours or any(match["channel"] for match in found)):
        return []
    turns = []
    for match, end in zip(found, [*(each.start() for each in found[1:]), len(text)], strict=True):
        words = text[match.end() : end].removesuffix(AFTER_A_TURN)
        turns.append((match.end(), ReadTurn(_ROLES[match["name"]], match["channel"] or "utterance", "", words)))
    return turns


def name_texts(sources: Iterable[QdpxSource]) -> dict[str, str]:
    """An identifier for each source: our own, or its name, with the GUID added if two are the same."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for source in sources:
        wanted = " ".join((source.attributes.get(INTERVIEW_KEY) or source.name).split())[:MAX_ID_LENGTH] or "text"
        external_id = wanted if _plain(wanted) not in taken else make_unique(wanted, source.guid)
        taken.add(_plain(external_id))
        found[source.guid] = external_id
    return found


def make_unique(external_id: str, guid: str) -> str:
    """A unique identifier for a text whose name is taken by another."""
    return f"{external_id[: MAX_ID_LENGTH - 11]} ({guid[:8]})"


def _plain(external_id: str) -> str:
    return normalize("NFC", external_id).casefold()


def _read_title(source: QdpxSource) -> str:
    """The title: our own unchanged, others without surrounding white space."""
    title = source.name if source.turns else " ".join(source.name.split())
    return title[:MAX_TITLE_LENGTH] if title.strip() else ""


def make_line(source: QdpxSource, divided: DividedText) -> dict[str, object]:
    """The interview as a line of an interview file."""
    facts: Mapping[str, str] = source.attributes
    line: dict[str, object] = {
        "id": divided.external_id,
        "title": _read_title(source) or divided.external_id,
        "turns": [turn.__dict__ for _, turn in divided.turns],
    }
    for name, value in facts.items():
        if name in FIELDS and source.turns:
            line[name] = value
        elif name != INTERVIEW_KEY:
            line[f"variable {name}" if name in RESERVED else name] = value
    if source.description:
        line["description"] = source.description
    return line


class PlacedSentence(NamedTuple):
    """A sentence in the text of a source; ``shift`` is the beginning of its turn there, ``role`` the speaker's role."""

    start: int
    end: int
    id: int
    turn: int
    shift: int
    role: str = ""


Touch = tuple[PlacedSentence, tuple[int, int] | None]
"""A sentence that a selection touches, and the selected words, counted in the turn's text; None for the whole sentence."""


class PlacedText:
    """A text with its sentences."""

    def __init__(self, text: str, sentences: Iterable[PlacedSentence]) -> None:
        self._text = text
        self._sentences = sorted(sentences, key=attrgetter("start"))
        self._starts = [sentence.start for sentence in self._sentences]
        self._first_of: dict[int, PlacedSentence] = {}
        for sentence in self._sentences:
            self._first_of.setdefault(sentence.turn, sentence)

    def touch(self, start: int, end: int) -> list[Touch]:
        """The sentences of which the characters from ``start`` to ``end`` contain more than white space, in order."""
        first = max(bisect_right(self._starts, start) - 1, 0)
        found = []
        for sentence in self._sentences[first:]:
            if sentence.start >= end:
                break
            inside = self._trim(max(start, sentence.start), min(end, sentence.end))
            if inside is not None:
                whole = inside == (sentence.start, sentence.end)
                quote = None if whole else (inside[0] - sentence.shift, inside[1] - sentence.shift)
                found.append((sentence, quote))
        return found

    def find_firsts(self, touched: Iterable[Touch]) -> Iterator[Touch]:
        """The first sentence of every touched turn, on which the codes of the whole turn are stored."""
        for turn in dict.fromkeys(sentence.turn for sentence, _ in touched):
            yield self._first_of[turn], None

    @property
    def count(self) -> int:
        """How many sentences there are."""
        return len(self._sentences)

    @property
    def first(self) -> PlacedSentence | None:
        """The first sentence of the text."""
        return self._sentences[0] if self._sentences else None

    def _trim(self, start: int, end: int) -> tuple[int, int] | None:
        inside = self._text[start:end]
        if start >= end or not inside.strip():
            return None
        return start + len(inside) - len(inside.lstrip()), end - (len(inside) - len(inside.rstrip()))
