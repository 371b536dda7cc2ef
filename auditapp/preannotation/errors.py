"""What the actions of pre-annotation refuse with."""

from __future__ import annotations


class PreannotationError(Exception):
    """A sentence for the person who asked; ``field`` says which of a form's it is about, "" for none."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field
