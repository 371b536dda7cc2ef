"""Text that people type: as it is stored, and why it cannot be."""

from __future__ import annotations


def clean_text(text: str) -> str:
    """The text as it is stored: line ends alike, no white space around it."""
    return text.replace("\r\n", "\n").strip()


def find_fault(text: str, *, max_length: int, needed: str = "") -> str:
    """Why a cleaned text cannot be stored, as a sentence for the person who typed it; "" where it can.

    ``max_length`` counts characters; ``needed`` is what to say when the text is empty, if it may not be.
    """
    if not text:
        return needed
    if len(text) > max_length:
        return f"This text has {len(text):,} characters; the limit is {max_length:,}."
    if "\x00" in text or (not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)):
        return "This contains a character that cannot be stored, such as a null character. Remove it."
    return ""
