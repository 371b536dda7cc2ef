"""Plans the texts and notes of a project file as interviews and memos of the study; the action stores them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple
from uuid import UUID

from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.coding.models import Memo
from transcripts.corpus.models import BoundaryEdit, Consent, Sentence, Turn
from transcripts.corpus.planning import Plan
from transcripts.corpus.pure.segmenting import prepare_interview
from transcripts.corpus.queries import list_consenting, list_contents, read_stored_turns
from transcripts.exchange import pure
from transcripts.exchange.pure import INTERPRETATION, DividedText, PlacedSentence, PlacedText
from transcripts.exchange.refi.details import StudyReport, guids_of_memos, is_link_note
from transcripts.exchange.refi.planned_codings import KnownNames
from transcripts.formats.interviews.speaker_text import find_texts, list_texts
from transcripts.formats.qdpx_content import QdpxNote, QdpxSource
from transcripts.formats.refi import QdcSet, make_guid
from transcripts.studies.models import Study

TURNS_IN_A_FILE = 20_000
IDS_AT_A_TIME = 500

Text = tuple[QdpxSource, DividedText]
MAX_KEY_LENGTH = 100
KINDS = {label: value for value, label in Memo.Kind.choices}
Subject = Memo.Subject
# A person has one memo for each of these.
KEPT_ONCE = (Subject.SENTENCE, Subject.INTERVIEW)

_INTERPRETATION = re.compile(rf"{INTERPRETATION}( \d+)?")

About = tuple[str, str, int | None, int | None]
"""The subject of a memo: its kind, the key of a code, the interview, the sentence."""


class PlannedTexts(NamedTuple):
    """The texts that are new to the study, and the existing ones."""

    new: list[Text]
    known: list[Text]


def plan_texts(study: Study, sources: Sequence[QdpxSource], report: StudyReport) -> PlannedTexts:
    """The texts as interviews, each with its identifier in this study."""
    names = pure.name_texts(sources)
    stored = read_stored_turns(study, list(names.values()))
    pairs = []
    for source in sources:
        divided = pure.divide(source, names[source.guid])
        if isinstance(divided, str):
            report.left_out.append(divided)
            continue
        if divided.external_id in stored and not _is_stored(divided, stored):
            other = pure.make_unique(divided.external_id, source.guid)
            report.notes.append(f"{divided.external_id} has another text in this study: it is imported as {other}.")
            divided = divided._replace(external_id=other)
        pairs.append((source, divided))
    how = Counter(divided.how for _, divided in pairs)
    report.add_note(how["whole"], "text", "no speakers are named; the text becomes one turn of the model.")
    report.add_note(how["headings"], "text", "who speaks was read from the headings that this program writes.")
    report.add_note(how["speakers"], "text", "the interviewer was recognised from the speakers' names.")
    if as_text := sum(
        (find_texts(source.text or "") for source, each in pairs if each.how == "speakers"), Counter[str]()
    ):
        report.notes.append(f"Read as text, although they begin lines as speakers do: {list_texts(as_text)}.")
    stored = read_stored_turns(study, [divided.external_id for _, divided in pairs])
    # An interview that exists with another text is refused with the file of interviews.
    known = [pair for pair in pairs if _is_stored(pair[1], stored)]
    report.known["interviews"] = len(known)
    there = {divided.external_id for _, divided in known}
    return PlannedTexts([pair for pair in pairs if pair[1].external_id not in there], known)


def _is_stored(divided: DividedText, stored: Mapping[str, list[tuple[str, ...]]]) -> bool:
    """Whether the study has this text under its identifier, ignoring kinds of prompts, which headings do not give."""
    there, here = stored.get(divided.external_id), list_contents(turn for _, turn in divided.turns)
    if there is None or divided.how != "headings":
        return there == here
    return [(role, channel, text) for role, channel, _, text in there] == [
        (role, channel, text) for role, channel, _, text in here
    ]


def write_files(new: Sequence[Text], name: str) -> list[tuple[str, bytes]]:
    """Texts as files of interviews of an acceptable size: names and contents."""
    return [
        (name if number == 1 else f"{name}, part {number}", "\n".join(lines).encode())
        for number, lines in enumerate(_batch(new), 1)
    ]


def _batch(new: Iterable[Text]) -> Iterator[list[str]]:
    batch: list[str] = []
    turns = 0
    for source, divided in new:
        if batch and turns + len(divided.turns) > TURNS_IN_A_FILE:
            yield batch
            batch, turns = [], 0
        batch.append(json.dumps(pure.make_line(source, divided), ensure_ascii=False))
        turns += len(divided.turns)
    if batch:
        yield batch


def place_read(pairs: Sequence[Text], plans: Iterable[Plan]) -> Iterator[tuple[Text, PlacedText]]:
    """New texts with their sentences. The ids of turns and sentences are temporary, below zero."""
    reads = {read.external_id: read for plan in plans for read in plan.new}
    numbers = count(-1, -1)
    for source, divided in pairs:
        read = reads[divided.external_id]
        turns = prepare_interview(read)
        sentences = []
        for (shift, _), of_turn, rows in zip(divided.turns, read.turns, turns, strict=True):
            turn = next(numbers)
            sentences += [
                PlacedSentence(shift + start, shift + end, next(numbers), turn, shift, of_turn.role)
                for _, start, end, *_ in rows
            ]
        yield (source, divided), PlacedText(source.text or "", sentences)


class StoredTexts:
    """Stored interviews, by the ids of the texts in a file."""

    def __init__(self, study: Study, ids: Mapping[str, int], names: Sequence[str] = ()) -> None:
        self._study = study
        self._ids = ids
        self._names = names
        self._edits = self._count_edits()
        self._codeable = self._list_codeable()

    @classmethod
    def find(cls, study: Study, pairs: Iterable[Text]) -> StoredTexts:
        """The interviews that count in the study."""
        names = [divided.external_id for _, divided in pairs]
        return cls(study, _find_ids(study, names), names)

    def get_interview(self, divided: DividedText) -> int:
        """The id of a text's interview."""
        return self._ids[divided.external_id]

    def find_interview(self, divided: DividedText) -> int | None:
        """The id of a text's interview; ``None`` if it is archived or excluded."""
        return self._ids.get(divided.external_id)

    def may_be_coded(self, interview_id: int) -> bool:
        """Whether the interview's consent allows people to code it."""
        return interview_id in self._codeable

    def place(self, pair: Text) -> PlacedText:
        """A text with its sentences: two queries."""
        source, divided = pair
        interview_id = self.get_interview(divided)
        turns = list(Turn.objects.filter(interview=interview_id).values_list("pk", "position", "role"))
        shift_of = {pk: divided.turns[position - 1][0] for pk, position, _ in turns}
        role_of = {pk: role for pk, _, role in turns}
        rows = Sentence.objects.current().filter(turn__interview=interview_id)
        spans = rows.order_by().values_list("pk", "turn_id", "start", "end")
        return PlacedText(
            source.text or "",
            (
                PlacedSentence(shift_of[turn] + start, shift_of[turn] + end, pk, turn, shift_of[turn], role_of[turn])
                for pk, turn, start, end in spans
            ),
        )

    def is_current(self) -> bool:
        """Whether the same interviews still count and may be coded, and no sentence has been split or merged since."""
        if self._edits != self._count_edits() or self._codeable != self._list_codeable():
            return False
        return self._ids == _find_ids(self._study, self._names)

    def _list_codeable(self) -> set[int]:
        return list_consenting(self._ids.values(), Consent.Scope.CODING)

    def _count_edits(self) -> int:
        return BoundaryEdit.objects.filter(turn__interview__study=self._study).count()


def _find_ids(study: Study, names: Sequence[str]) -> dict[str, int]:
    ids: dict[str, int] = {}
    for first in range(0, len(names), IDS_AT_A_TIME):
        found = study.interviews.filter(external_id__in=names[first : first + IDS_AT_A_TIME])
        ids |= dict(found.values_list("external_id", "pk"))
    return ids


STUDY: About = (Subject.STUDY, "", None, None)

Noted = tuple[About, Sequence[str], bool]
"""Notes of a file and their subjects; and whether one person's notes on a subject become one memo."""


def list_notes(source: QdpxSource, text: PlacedText, interview_id: int) -> Iterator[Noted]:
    """The notes on a text and on selections in it; notes on no sentence are about the interview."""
    yield (Subject.INTERVIEW, "", interview_id, None), source.notes, True
    for selection in source.selections:
        if selection.notes:
            touched = text.touch(selection.start, selection.end)
            sentence_id = touched[0][0].id if touched else None
            subject = Subject.SENTENCE if touched else Subject.INTERVIEW
            yield (subject, "", interview_id, sentence_id), selection.notes, True


class MemoPlan:
    """Notes of a file as memos. A person has one memo per sentence or interview, so several notes there become one.

    ``lines`` are the interpretive lines of codings in the file. A note that only repeats one is no memo, nor one about a link.
    """

    def __init__(
        self,
        study: Study,
        notes: Mapping[str, QdpxNote],
        find_account: Callable[[str], User],
        *,
        is_own: bool,
        lines: Collection[str] = frozenset(),
    ) -> None:
        self.rows: list[Memo] = []
        self._known = 0
        self._taken = 0
        self._study = study
        self._notes = notes
        self._find_account = find_account
        self._is_own = is_own
        self._guids = guids_of_memos(study)
        self._links = {guid for guid, note in notes.items() if is_link_note(note)}
        self._repeating = {
            guid
            for guid, note in notes.items()
            if _INTERPRETATION.fullmatch(note.name) and " ".join(note.text.split()) in lines
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
        """Make rows of the added notes, and of notes to which nothing refers, which become memos on the study; ``but`` has the
        notes on codings."""
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
        """Whether none of the memos' authors has written or withdrawn one since hers were read."""
        return all(names.is_current() for names in self._names.values())

    def add_counts(self, report: StudyReport) -> None:
        """Add what was counted to a report."""
        report.new["memos"], report.known["memos"] = len(self.rows), self._known
        report.leave_out(self._taken, "memo", "its author already has a different one there.")
        report.leave_out(len(self._links), "link of a coding", "links are in the file only for reading.")
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
        """A person's memos, read at her first memo."""
        author_id = author.pk
        if author_id not in self._names:
            own = Memo.objects.filter(author=author_id)
            self._names[author_id] = KnownNames(
                self._study.slug, own.filter(study=self._study), own, guids=self._guids, person=author.username
            )
            active = own.filter(study=self._study, subject__in=KEPT_ONCE).active()
            places = active.values_list("subject", "interview", "sentence")
            self._has[author_id] = {(subject, "", interview, sentence) for subject, interview, sentence in places}

    def _make(self, about: About, notes: list[QdpxNote], author: User, name: UUID) -> Memo:
        first, now = notes[0], timezone.now()
        kind = KINDS.get(first.name.partition(" (")[0], "") if self._is_own else ""
        subject, key, interview_id, sentence_id = about
        stands_alone = subject not in KEPT_ONCE
        return Memo(
            study=self._study,
            kind=kind or Memo.Kind.READING,
            subject=subject,
            subject_key=key,
            interview_id=interview_id,
            sentence_id=sentence_id,
            thread=_make_thread(self._study, author, name) if stands_alone else None,
            author=author,
            text="\n\n".join(map(self._write, notes)),
            idempotency_key=name,
            created_at=min(first.created or now, now),
        )

    def _write(self, note: QdpxNote) -> str:
        """The text of a note, including another program's title."""
        if self._is_own or not note.name.strip() or note.name.strip() in note.text:
            return note.text
        return f"{note.name.strip()}\n{note.text}"


def _make_thread(study: Study, author: User, name: UUID) -> UUID:
    """A separate thread id, because no two active memos share one, in any study."""
    return UUID(make_guid("thread", study.slug, str(author.pk), str(name)))
