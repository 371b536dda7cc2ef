"""What an import of a project file stored, or would store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from transcripts.exchange.refi.people import FilePerson
from transcripts.formats.problems import show_count


@dataclass
class StudyReport:
    """``new`` and ``known`` count things by kind. ``left_out`` are sentences on what is not imported, ``notes`` on what
    is imported in another form. ``namesakes`` are names of codes that the study has under other GUIDs.
    """

    name: str
    sha256: str
    origin: str
    people: list[FilePerson] = field(default_factory=list)
    new: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    codebook_version: int | None = None
    namesakes: list[str] = field(default_factory=list)

    @property
    def is_new(self) -> bool:
        """Whether anything is new to the study."""
        return any(self.new.values())

    @property
    def kinds(self) -> list[tuple[str, int, int]]:
        """What was counted, each with how many are new and how many were known."""
        order = ["interviews", "sentences", "codes", "codings", "memos"]
        return [(kind, self.new[kind], self.known[kind]) for kind in order if self.new[kind] or self.known[kind]]

    def add_namesakes(self, *, are_same: bool) -> None:
        """Add the sentence on codes whose names the study has: whether they are those of the study was asked."""
        if not self.namesakes:
            return
        one = len(self.namesakes) == 1
        begin = "1 code has" if one else f"{len(self.namesakes):,} codes have"
        what = (
            f"{'it is' if one else 'they are'} taken for the study’s"
            if are_same
            else f"{'it is' if one else 'they are'} imported as {'a new code' if one else 'new codes'}"
        )
        self.notes.append(f"{begin} the name of a code of this study, but another GUID: {what}.")

    def leave_out(self, number: int, noun: str, why: str) -> None:
        """Add a sentence on things that are not imported."""
        if number:
            self.left_out.append(f"{show_count(number, noun)}: {why}")

    def add_note(self, number: int, noun: str, what: str) -> None:
        """Add a sentence on things that are imported in another form."""
        if number:
            self.notes.append(f"{show_count(number, noun)}: {what}")
