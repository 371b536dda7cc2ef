"""Why something was not done: each a sentence for the person who asked."""

from __future__ import annotations


class ExperimentError(Exception):
    """A sentence for the person who asked; ``field`` is what it is about, where a form has a field for it."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field
