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
LINK_NOTE = "auditapp link: "
"""How the names of notes begin that tell of links. Other programs keep names, so these notes are known again in any file."""


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
