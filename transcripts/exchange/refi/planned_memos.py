"""Notes of a project file as memos of the study. What is planned here is stored by the action."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from uuid import UUID

from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.coding.models import Memo
from transcripts.exchange.pure.refi_names import INTERPRETATION
from transcripts.exchange.pure.refi_places import PlacedText
from transcripts.exchange.refi.guids import guids_of_memos
from transcripts.exchange.refi.link_notes import is_link_note
from transcripts.exchange.refi.planned_codings import KnownNames
from transcripts.exchange.refi.report import StudyReport
from transcripts.formats.qdpx_content import QdpxNote, QdpxSource
from transcripts.formats.refi import make_guid
from transcripts.formats.refi_codes import QdcSet
from transcripts.projects.models import Project

MAX_KEY_LENGTH = 100
KINDS = {label: value for value, label in Memo.Kind.choices}
Subject = Memo.Subject
# Of these a person keeps one memo each.
KEPT_ONCE = (Subject.SENTENCE, Subject.INTERVIEW)


_INTERPRETATION = re.compile(rf"{INTERPRETATION}( \d+)?")


About = tuple[str, str, int | None, int | None]
"""What a memo is about: the kind of subject, the key of a code, the interview, the sentence."""
STUDY: About = (Subject.PROJECT, "", None, None)


Noted = tuple[About, Sequence[str], bool]
"""Notes of a file and what they are about; whether those of one person are one memo."""


def list_notes(source: QdpxSource, text: PlacedText, interview_id: int) -> Iterator[Noted]:
    """The notes on a text and on selections in it; those on no sentence are about the interview."""
    yield (Subject.INTERVIEW, "", interview_id, None), source.notes, True
    for selection in source.selections:
        if selection.notes:
            touched = text.touch(selection.start, selection.end)
            sentence_id = touched[0][0].id if touched else None
            subject = Subject.SENTENCE if touched else Subject.INTERVIEW
            yield (subject, "", interview_id, sentence_id), selection.notes, True


class MemoPlan:
    """Notes of a file as memos. Of a sentence or an interview a person keeps one memo, so several notes there become one.

    ``lines`` are what is written of codings in the file, on one line each. A note that only repeats one is no memo, nor is one
    that tells of a link.
    """

    def __init__(
        self,
        project: Project,
        notes: Mapping[str, QdpxNote],
        find_account: Callable[[str], User],
        *,
        is_own: bool,
        lines: Collection[str] = frozenset(),
    ) -> None:
        self.rows: list[Memo] = []
        self._known = 0
        self._taken = 0
        self._project = project
        self._notes = notes
        self._find_account = find_account
        self._is_own = is_own
        self._guids = guids_of_memos(project)
        self._links = {guid for guid, note in notes.items() if is_link_note(note)}
        self._repeating = {
            guid for guid, note in notes.items() if _INTERPRETATION.fullmatch(note.name) and _join(note.text) in lines
        }
        self._found: list[tuple[About, list[QdpxNote]]] = []
        self._place_of: dict[tuple[About, str], int] = {}
        self._used: set[str] = set()
        self._names: dict[int, KnownNames] = {}
        # By person: the interviews and the sentences on which she has a memo.
        self._has: dict[int, set[About]] = {}

    def add(self, noted: Iterable[Noted]) -> None:
        """Add notes on texts."""
        for about, guids, together in noted:
            self._add(about, guids, together=together)

    def add_codes(self, notes: Mapping[str, Iterable[str]], identifiers: Mapping[str, str]) -> None:
        """Add the notes on codes; those on families are about the study."""
        for guid, on_code in notes.items():
            key = identifiers.get(guid, "")[:MAX_KEY_LENGTH]
            self._add((Subject.CODE, key, None, None) if key else STUDY, on_code)

    def add_study(self, notes: Iterable[str], sets: Iterable[QdcSet]) -> None:
        """Add the notes on the whole and on sets, which are about the study."""
        self._add(STUDY, notes)
        for group in sets:
            self._add(STUDY, group.notes)

    def finish(self, *, but: Collection[str]) -> None:
        """Make rows of what was added, and of what nothing refers to, ``but`` for notes on codings: a memo on the study."""
        self._repeating -= set(but)
        self._add(STUDY, [guid for guid in self._notes if guid not in but])
        for about, notes in self._found:
            author = self._find_account(notes[0].user)
            self._load(author)
            name = self._names[author.pk].find_free(notes[0].guid)
            if name is None:
                self._known += 1
            elif about in self._has[author.pk]:
                self._taken += 1
            else:
                self.rows.append(self._make(about, notes, author, UUID(name)))
                if about[0] in KEPT_ONCE:
                    self._has[author.pk].add(about)

    def is_current(self) -> bool:
        """Whether nobody whose memos these are has written or withdrawn one since hers were read."""
        return all(names.is_current() for names in self._names.values())

    def add_counts(self, report: StudyReport) -> None:
        """Add what was counted to a report."""
        report.new["memos"], report.known["memos"] = len(self.rows), self._known
        report.leave_out(self._taken, "memo", "its author already has another one there.")
        report.leave_out(len(self._links), "link of a coding", "links are in the file to be read alone.")
        report.leave_out(
            len(self._repeating), "note", "only the words of an interpretation that is imported with its coding."
        )

    def _add(self, about: About, guids: Iterable[str], *, together: bool = False) -> None:
        for guid in guids:
            note = self._notes.get(guid)
            if note is None or guid in self._used or not note.text.strip():
                continue
            if guid in self._links or guid in self._repeating:
                continue
            self._used.add(guid)
            key = (about, note.user)
            if together and key in self._place_of:
                self._found[self._place_of[key]][1].append(note)
            else:
                self._place_of[key] = len(self._found)
                self._found.append((about, [note]))

    def _load(self, author: User) -> None:
        """What is known of a person's memos, read when she first comes up."""
        author_id = author.pk
        if author_id not in self._names:
            own = Memo.objects.filter(author=author_id)
            self._names[author_id] = KnownNames(
                self._project.slug, own.filter(project=self._project), own, guids=self._guids, person=author.username
            )
            active = own.filter(project=self._project, subject__in=KEPT_ONCE).active()
            places = active.values_list("subject", "interview", "sentence")
            self._has[author_id] = {(subject, "", interview, sentence) for subject, interview, sentence in places}

    def _make(self, about: About, notes: list[QdpxNote], author: User, name: UUID) -> Memo:
        first, now = notes[0], timezone.now()
        kind = KINDS.get(first.name.partition(" (")[0], "") if self._is_own else ""
        subject, key, interview_id, sentence_id = about
        stands_alone = subject not in KEPT_ONCE
        return Memo(
            project=self._project,
            kind=kind or Memo.Kind.READING,
            subject=subject,
            subject_key=key,
            interview_id=interview_id,
            sentence_id=sentence_id,
            thread=_make_thread(self._project, author, name) if stands_alone else None,
            author=author,
            text="\n\n".join(map(self._write, notes)),
            idempotency_key=name,
            created_at=min(first.created or now, now),
        )

    def _write(self, note: QdpxNote) -> str:
        """The words of a note; another program's title is a part of them."""
        if self._is_own or not note.name.strip() or note.name.strip() in note.text:
            return note.text
        return f"{note.name.strip()}\n{note.text}"


def _join(text: str) -> str:
    return " ".join(text.split())


def _make_thread(project: Project, author: User, name: UUID) -> UUID:
    """A thread of its own: no two active memos share one, in any study."""
    return UUID(make_guid("thread", project.slug, str(author.pk), str(name)))
