"""Texts of a project file as interviews of the study: which are new, and where their sentences are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from transcripts.corpus.models import BoundaryEdit, Consent, Sentence, Turn
from transcripts.corpus.planning import Plan
from transcripts.corpus.pure.preparing import prepare_interview
from transcripts.corpus.pure.readers.speaker_names import list_texts
from transcripts.corpus.pure.readers.speaker_text import find_texts
from transcripts.corpus.queries import list_consenting, list_contents, read_stored_turns
from transcripts.exchange.pure import refi_texts as texts
from transcripts.exchange.pure.refi_places import PlacedSentence, PlacedText
from transcripts.exchange.pure.refi_texts import DividedText
from transcripts.exchange.refi.report import StudyReport
from transcripts.formats.qdpx_content import QdpxSource
from transcripts.projects.models import Project

TURNS_IN_A_FILE = 20_000
IDS_AT_A_TIME = 500

Text = tuple[QdpxSource, DividedText]


class PlannedTexts(NamedTuple):
    """The texts that are new to the study, and those that it has."""

    new: list[Text]
    known: list[Text]


def plan_texts(project: Project, sources: Sequence[QdpxSource], report: StudyReport) -> PlannedTexts:
    """The texts as interviews, each under the identifier that it has or gets in this study."""
    names = texts.name_texts(sources)
    stored = read_stored_turns(project, list(names.values()))
    pairs = []
    for source in sources:
        divided = texts.divide(source, names[source.guid])
        if isinstance(divided, str):
            report.left_out.append(divided)
            continue
        if divided.external_id in stored and not _is_stored(divided, stored):
            other = texts.make_unique(divided.external_id, source.guid)
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
    stored = read_stored_turns(project, [divided.external_id for _, divided in pairs])
    # One that is there with another text is refused with the file of interviews.
    known = [pair for pair in pairs if _is_stored(pair[1], stored)]
    report.known["interviews"] = len(known)
    there = {divided.external_id for _, divided in known}
    return PlannedTexts([pair for pair in pairs if pair[1].external_id not in there], known)


def _is_stored(divided: DividedText, stored: Mapping[str, list[tuple[str, ...]]]) -> bool:
    """Whether the study has this text under its identifier. What kinds the prompts are, no heading says."""
    there, here = stored.get(divided.external_id), list_contents(turn for _, turn in divided.turns)
    if there is None or divided.how != "headings":
        return there == here
    return [(role, channel, text) for role, channel, _, text in there] == [
        (role, channel, text) for role, channel, _, text in here
    ]


def write_files(new: Sequence[Text], name: str) -> list[tuple[str, bytes]]:
    """Texts as files of interviews, of a size that is taken: names and contents."""
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
        batch.append(json.dumps(texts.make_line(source, divided), ensure_ascii=False))
        turns += len(divided.turns)
    if batch:
        yield batch


def place_read(pairs: Sequence[Text], plans: Iterable[Plan]) -> Iterator[tuple[Text, PlacedText]]:
    """New texts with the sentences that they are cut into. The numbers of turns and sentences are made up, below zero."""
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
    """Interviews that are stored, by the ids that the texts of a file have."""

    def __init__(self, project: Project, ids: Mapping[str, int], names: Sequence[str] = ()) -> None:
        self._project = project
        self._ids = ids
        self._names = names
        self._edits = self._count_edits()
        self._codeable = self._list_codeable()

    @classmethod
    def find(cls, project: Project, pairs: Iterable[Text]) -> StoredTexts:
        """The interviews that count in the study."""
        names = [divided.external_id for _, divided in pairs]
        return cls(project, _find_ids(project, names), names)

    def get_interview(self, divided: DividedText) -> int:
        """The number of a text's interview."""
        return self._ids[divided.external_id]

    def find_interview(self, divided: DividedText) -> int | None:
        """The number of a text's interview; ``None`` where that is archived or excluded."""
        return self._ids.get(divided.external_id)

    def may_be_coded(self, interview_id: int) -> bool:
        """Whether the interview's consent lets people code it."""
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
        """Whether the same interviews count in the study and may be coded, and no sentence has been split or merged since."""
        if self._edits != self._count_edits() or self._codeable != self._list_codeable():
            return False
        return self._ids == _find_ids(self._project, self._names)

    def _list_codeable(self) -> set[int]:
        return list_consenting(self._ids.values(), Consent.Scope.CODING)

    def _count_edits(self) -> int:
        return BoundaryEdit.objects.filter(turn__interview__project=self._project).count()


def _find_ids(project: Project, names: Sequence[str]) -> dict[str, int]:
    ids: dict[str, int] = {}
    for first in range(0, len(names), IDS_AT_A_TIME):
        found = project.interviews.filter(external_id__in=names[first : first + IDS_AT_A_TIME])
        ids |= dict(found.values_list("external_id", "pk"))
    return ids
