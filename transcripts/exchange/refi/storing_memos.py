"""Notes of a project file as memos of the study."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from uuid import UUID

from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail.rows import RowChange, row_made
from transcripts.coding.models import Memo
from transcripts.exchange.pure.refi_places import PlacedText
from transcripts.exchange.refi.report import StudyReport
from transcripts.exchange.refi.storing_codings import KnownNames
from transcripts.formats.qdpx_content import QdpxNote, QdpxSource
from transcripts.formats.refi import make_guid
from transcripts.formats.refi_codes import QdcSet
from transcripts.projects.models import Project

ROWS_AT_A_TIME = 2_000
MAX_KEY_LENGTH = 100
KINDS = {label: value for value, label in Memo.Kind.choices}
Subject = Memo.Subject


About = tuple[str, str, int | None, int | None]
"""What a memo is about: the kind of subject, the key of a code, the interview, the sentence."""
STUDY: About = (Subject.PROJECT, "", None, None)


class MemoStore:
    """Collects what notes are about, then stores them. Of a sentence or an interview a person keeps one memo, so several
    notes there become one.
    """

    def __init__(
        self, project: Project, notes: Mapping[str, QdpxNote], find_account: Callable[[str], User], *, is_own: bool
    ) -> None:
        self.rows: list[RowChange] = []
        self._project = project
        self._notes = notes
        self._find_account = find_account
        self._is_own = is_own
        self._found: list[tuple[About, list[QdpxNote]]] = []
        self._place_of: dict[tuple[About, str], int] = {}
        self._used: set[str] = set()
        self._names: dict[int, KnownNames] = {}

    def add_source(self, source: QdpxSource, text: PlacedText, interview_id: int) -> None:
        """The notes on a text and on selections in it; those on no sentence are about the interview."""
        self._add((Subject.INTERVIEW, "", interview_id, None), source.notes, together=True)
        for selection in source.selections:
            if selection.notes:
                touched = text.touch(selection.start, selection.end)
                sentence_id = touched[0][0].id if touched else None
                subject = Subject.SENTENCE if touched else Subject.INTERVIEW
                self._add((subject, "", interview_id, sentence_id), selection.notes, together=True)

    def add_codes(self, notes: Mapping[str, Iterable[str]], identifiers: Mapping[str, str]) -> None:
        """The notes on codes; those on families are about the study."""
        for guid, on_code in notes.items():
            key = identifiers.get(guid, "")[:MAX_KEY_LENGTH]
            self._add((Subject.CODE, key, None, None) if key else STUDY, on_code)

    def add_study(self, notes: Iterable[str], sets: Iterable[QdcSet]) -> None:
        """The notes on the whole and on sets, which are about the study."""
        self._add(STUDY, notes)
        for group in sets:
            self._add(STUDY, group.notes)

    def store(self, report: StudyReport, *, but: Collection[str]) -> None:
        """Store what was collected, and ``but`` for notes on codings, what nothing refers to as memos on the study."""
        self._add(STUDY, [guid for guid in self._notes if guid not in but])
        rows, taken = [], 0
        for about, notes in self._found:
            author = self._find_account(notes[0].user)
            name = self._find_name(author, notes[0].guid)
            if name is None:
                report.known["memos"] += 1
            elif self._has_one(about, author):
                taken += 1
            else:
                rows.append(self._make(about, notes, author, UUID(name)))
        Memo.objects.bulk_create(rows, batch_size=ROWS_AT_A_TIME)
        self.rows += [row_made(row) for row in rows]
        report.new["memos"] += len(rows)
        report.leave_out(taken, "memo", "its author already has another one there.")

    def _add(self, about: About, guids: Iterable[str], *, together: bool = False) -> None:
        for guid in guids:
            note = self._notes.get(guid)
            if note is None or guid in self._used or not note.text.strip():
                continue
            self._used.add(guid)
            key = (about, note.user)
            if together and key in self._place_of:
                self._found[self._place_of[key]][1].append(note)
            else:
                self._place_of[key] = len(self._found)
                self._found.append((about, [note]))

    def _find_name(self, author: User, guid: str) -> str | None:
        if author.pk not in self._names:
            own = Memo.objects.filter(author=author)
            self._names[author.pk] = KnownNames(self._project.slug, own.filter(project=self._project), own)
        return self._names[author.pk].find_free(guid)

    def _make(self, about: About, notes: list[QdpxNote], author: User, name: UUID) -> Memo:
        first, now = notes[0], timezone.now()
        kind = KINDS.get(first.name.partition(" (")[0], "") if self._is_own else ""
        subject, key, interview_id, sentence_id = about
        stands_alone = subject not in {Subject.SENTENCE, Subject.INTERVIEW}
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

    def _has_one(self, about: About, author: User) -> bool:
        """Whether a person keeps a memo where she keeps one only."""
        subject, _, interview_id, sentence_id = about
        active = Memo.objects.active().filter(author=author, subject=subject)
        if subject == Subject.SENTENCE:
            return active.filter(sentence=sentence_id).exists()
        if subject == Subject.INTERVIEW:
            return active.filter(interview=interview_id).exists()
        return False


def _make_thread(project: Project, author: User, name: UUID) -> UUID:
    """A thread of its own: no two active memos share one, in any study."""
    return UUID(make_guid("thread", project.slug, str(author.pk), str(name)))
