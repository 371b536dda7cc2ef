"""An interview's turns as one text, as other programs show it, and the turns back out of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from transcripts.formats.qdpx_content import QdpxSource, QdpxTurn


class SpokenTurn(NamedTuple):
    """What one side said at one point."""

    role: str
    text: str
    channel: str = "utterance"
    speaker: str = ""
    prompt_kind: str = ""


class LaidOutText(NamedTuple):
    """A text with the places of the turns in it: character ``n`` of a turn is character ``turn.start + n`` of it."""

    text: str
    turns: tuple[QdpxTurn, ...]


def lay_out_turns(turns: Iterable[SpokenTurn]) -> LaidOutText:
    """One paragraph a turn, the speaker's name or the role before it, what was said unchanged behind it.

    A program that loses the places leaves a text that still reads as an interview, with speakers.
    """
    parts: list[str] = []
    placed: list[QdpxTurn] = []
    length = 0
    for turn in turns:
        name = " ".join(turn.speaker.split()) or turn.role.capitalize()
        channel = "" if turn.channel == "utterance" else f" ({turn.channel.replace('_', ' ')})"
        label = f"{name}{channel}: "
        start = length + len(label)
        end = start + len(turn.text)
        placed.append(QdpxTurn(start, end, turn.role, turn.channel, turn.speaker, turn.prompt_kind))
        parts += [label, turn.text, "\n\n"]
        length = end + 2
    return LaidOutText("".join(parts), tuple(placed))


def take_turns(source: QdpxSource) -> list[SpokenTurn]:
    """What ``lay_out_turns`` was given, of a source that was read with its turns."""
    text = source.text or ""
    return [
        SpokenTurn(turn.role, text[turn.start : turn.end], turn.channel, turn.speaker, turn.prompt_kind)
        for turn in source.turns
    ]
