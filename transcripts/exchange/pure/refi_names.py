"""The names by which things are found again in a project file. GUIDs of the same thing are the same in every export."""

from __future__ import annotations

from transcripts.formats.refi import make_guid
from transcripts.formats.refi_codes import MAX_NAME_LENGTH

CODEBOOK_ENTRY = "codebook.json"
"""The entry of the archive that holds all that a codebook file of the standard has no place for."""
INTERVIEW_KEY = "interview"
"""The attribute of a source that holds the interview's identifier."""
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
"""Attributes of a source, and the fields of an interview that they are."""
INTERPRETATION = "Interpretation"
"""The name of a note with a coding's interpretive line, before its number."""
LINK_NOTE = "auditapp link: "
"""How the names of notes begin that tell of links. Other programs keep names, so these notes are known again in any file."""


SPEAKERS = {"interviewer": "Interviewer", "model": "Model", "system": "System", "tool": "Tool"}
"""Who speaks, as the headings of turns in a text say it."""
CHANNELS = ("reasoning", "tool_call", "tool_result")
"""How, where it is no utterance."""


def name_heading(role: str, channel: str) -> str:
    """What comes before the words of a turn in a text."""
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
    """The note that holds a coding's interpretive line."""
    return make_guid("note of coding", coding)


def name_link_note(link: str) -> str:
    """The note that tells of a link of a coding."""
    return make_guid("note of link", link)


def name_part(coding: str, number: int) -> str:
    """The number-th of the codings that one selection over several sentences becomes; the first keeps its name."""
    return coding if number == 0 else make_guid("part of coding", coding, str(number))


def name_variable(key: str) -> str:
    """The variable for a key of an interview's metadata; "" for a key that no variable can be named."""
    if not key.strip() or len(key) > MAX_NAME_LENGTH:
        return ""
    return f"variable {key}" if key == INTERVIEW_KEY or key in FIELDS else key
