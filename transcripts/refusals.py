"""The one way to refuse a request. Pages, the API and commands each report it in one place."""

from __future__ import annotations


class Refused(Exception):
    """A sentence for the person who asked: what was wrong, where, and what to do. Nothing was stored.

    ``field`` is the input that is wrong, "" for none. ``status`` is that of the answer: unless given, 422 where an input is
    wrong, and 409 where what is stored does not allow it. A subclass exists only where code tells its case apart.
    """

    def __init__(self, sentence: str, *, field: str = "", status: int | None = None) -> None:
        super().__init__(sentence)
        self.field = field
        self.status = status or (422 if field else 409)

    @property
    def faults(self) -> list[tuple[str, str]]:
        """Each thing that is wrong: its input and a sentence. Usually there is one."""
        return [(self.field, str(self))]


class WrongInput(Refused):
    """What was typed or chosen is not valid; ``field`` says where to put the message."""
