"""Why something was not done to a codebook: sentences for the person who asked."""

from __future__ import annotations

from collections.abc import Sequence

from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.codebook.pure.checking import Problem
from transcripts.refusals import Refused


class CodebookRefused(Refused):
    """A file or a draft was not taken; ``problems`` has a sentence for each thing that is wrong with it, ``note`` how a file was
    read."""

    def __init__(self, message: str, problems: list[str], note: str = "") -> None:
        super().__init__(message)
        self.problems = problems
        self.note = note


class WrongInput(Refused):
    """What was typed cannot be stored; each problem names the field it is in."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(" ".join(problem.sentence for problem in problems))
        self.problems = list(problems)

    @property
    def faults(self) -> list[tuple[str, str]]:
        return [(problem.field, problem.sentence) for problem in self.problems]


class DraftIsOpen(Refused):
    """A study has one open draft at a time; ``draft`` is the one there is."""

    def __init__(self, draft: CodebookVersion) -> None:
        super().__init__(
            f"{draft} is a draft that {draft.created_by_name} started. Continue with it, or publish or discard it first."
        )
        self.draft = draft


class DraftIsClosed(Refused):
    """The version is published or discarded, and never changes."""

    def __init__(self, version: CodebookVersion) -> None:
        state = version.get_status_display().lower()
        super().__init__(f"{version} is {state} now, so it can no longer be changed. Start a new draft.")
        self.version = version


class EditConflict(Refused):
    """Somebody else changed it since it was shown; ``current`` is how it is now."""

    def __init__(self, current: Code | CodeFamily) -> None:
        super().__init__(f"{current.name} was changed by somebody else since you opened it.")
        self.current = current


class CodeIsGone(Refused):
    """The code or family was taken out of the draft since it was shown."""
