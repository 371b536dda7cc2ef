"""The texts of a project file as interviews: who says what, and where in the text. Knows nothing of Django."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from unicodedata import normalize

from transcripts.corpus.pure.readers.base import MAX_TURN_SIZE, ReadError, ReadTurn, Source
from transcripts.corpus.pure.readers.speaker_text import find_starts, is_dialogue, read_conversation
from transcripts.exchange.pure.refi_names import FIELDS, INTERVIEW_KEY
from transcripts.formats.qdpx_content import QdpxSource

MAX_ID_LENGTH = 200
MAX_TITLE_LENGTH = 300
# What a line of an interview file says of itself; a variable of another program with such a name is called otherwise.
RESERVED = frozenset(
    {"id", "turns", "text", "title", "date", "kind", "run", "relation", "hangs_on", "consent", "consent_basis", *FIELDS}
)


PlacedTurn = tuple[int, ReadTurn]
"""A turn, after the place in the source's text where its own text begins."""


class DividedText(NamedTuple):
    """A source as an interview. ``guid`` is the source's; ``how`` says how speakers were recognised."""

    guid: str
    external_id: str
    turns: list[PlacedTurn]
    how: str


def divide(source: QdpxSource, external_id: str) -> DividedText | str:
    """The turns of a source; a sentence where it cannot become an interview.

    Our own file says who says what. Of other texts lines with speakers are read as plain transcripts are; a text that is no
    conversation, such as an article, is one turn of the model, for that is what is coded here.
    """
    text = source.text
    if text is None:
        return f"{source.name}: its text is not in the file."
    if not text.strip():
        return f"{source.name}: its text is empty."
    turns, how = _find_turns(source, text)
    longest = max(len(turn.text.encode()) for _, turn in turns)
    if longest > MAX_TURN_SIZE:
        return f"{source.name}: a turn of {longest:,} bytes is more than {MAX_TURN_SIZE:,}; divide the text."
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
        # Heads of transcripts are coded too, so nothing in front of the first speaker is lost.
        turns.insert(0, (0, ReadTurn("system", "utterance", "", before.rstrip())))
    return turns, "speakers"


def name_texts(sources: Iterable[QdpxSource]) -> dict[str, str]:
    """An identifier for each source: our own, or its name, with the GUID where two are the same."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for source in sources:
        wanted = " ".join((source.attributes.get(INTERVIEW_KEY) or source.name).split())[:MAX_ID_LENGTH] or "text"
        external_id = wanted if _plain(wanted) not in taken else make_unique(wanted, source.guid)
        taken.add(_plain(external_id))
        found[source.guid] = external_id
    return found


def make_unique(external_id: str, guid: str) -> str:
    """An identifier of its own for a text whose name stands for another."""
    return f"{external_id[: MAX_ID_LENGTH - 11]} ({guid[:8]})"


def _plain(external_id: str) -> str:
    return normalize("NFC", external_id).casefold()


def _read_title(source: QdpxSource) -> str:
    """Our own title as it was; the white space of others is of the file, not of the name."""
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
