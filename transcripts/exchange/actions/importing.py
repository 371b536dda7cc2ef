"""Taking in a project file of REFI-QDA: all of it, or nothing."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import BinaryIO

from django.db import transaction

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.rows import RowChange, row_made
from transcripts.codebook.actions import CodebookRefused, import_codebook, publish_version
from transcripts.codebook.models import Code
from transcripts.codebook.queries import current_version, find_open_draft
from transcripts.coding.models import Coding
from transcripts.coding.queries import hold_turns
from transcripts.corpus.actions import ImportRefused, import_files
from transcripts.corpus.models import Sentence, Turn
from transcripts.corpus.queries import list_contents, read_stored_turns
from transcripts.exchange.pure import refi_texts as texts
from transcripts.exchange.pure.refi_places import PlacedSentence, PlacedText
from transcripts.exchange.pure.refi_texts import DividedText
from transcripts.exchange.refi import people as persons
from transcripts.exchange.refi.codes import match_codes, read_own_codebook, write_content
from transcripts.exchange.refi.report import StudyReport
from transcripts.exchange.refi.storing_codings import CodingStore
from transcripts.exchange.refi.storing_memos import MemoStore
from transcripts.formats.problems import FileRefused
from transcripts.formats.qdpx_content import QdpxFile, QdpxSource
from transcripts.formats.qdpx_read import read_qdpx
from transcripts.formats.refi import ORIGIN
from transcripts.projects.models import Project

TURNS_IN_A_FILE = 20_000
BYTES_AT_A_TIME = 1 << 20
IDS_AT_A_TIME = 500


Watch = Callable[[str, int, int], object]
"""Is told the stage of an import, and how far it is: so much of so many."""


class StudyRefused(Exception):
    """A project file cannot be taken as it is; nothing was stored. ``problems`` are further sentences."""

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.problems = list(problems)


class TextIndex:
    """Finds the interviews of divided texts, and in each the sentences of the source's characters."""

    def __init__(self, project: Project, divided: Sequence[DividedText]) -> None:
        names = [each.external_id for each in divided]
        self._ids: dict[str, int] = {}
        for first in range(0, len(names), IDS_AT_A_TIME):
            found = project.interviews.filter(external_id__in=names[first : first + IDS_AT_A_TIME])
            self._ids |= dict(found.values_list("external_id", "pk"))

    def find_interview(self, divided: DividedText) -> int:
        """The number of a text's interview."""
        return self._ids[divided.external_id]

    def read(self, divided: DividedText, text: str) -> PlacedText:
        """The sentences of a text: two queries."""
        interview_id = self.find_interview(divided)
        turns = Turn.objects.filter(interview=interview_id).values_list("pk", "position")
        shift_of = {pk: divided.turns[position - 1][0] for pk, position in turns}
        rows = Sentence.objects.current().filter(turn__interview=interview_id)
        spans = rows.order_by().values_list("pk", "turn_id", "start", "end")
        return PlacedText(
            text,
            (
                PlacedSentence(shift_of[turn] + start, shift_of[turn] + end, pk, turn, shift_of[turn])
                for pk, turn, start, end in spans
            ),
        )


def import_qdpx(
    *,
    project: Project,
    stream: BinaryIO,
    name: str,
    by: trail.Actor,
    apart: Collection[str] = (),
    dry_run: bool = False,
    watch: Watch = lambda _stage, _done, _total: None,
    finish: Callable[[StudyReport], object] = lambda _report: None,
) -> StudyReport:
    """Bring in texts, codes, codings and memos of a project file; what came in before is left alone.

    New codes make a new version of the codebook, which is published, because codings need published codes.
    ``apart`` are GUIDs or names of people who bear a member's name and are not her. With ``dry_run`` everything is done and undone
    again. Raises ``StudyRefused``. The file is read before anything is locked. ``watch`` is told how far it is, and may
    raise to end it; ``finish`` is called in the transaction once all is stored.
    """
    try:
        watch("Reading the file", 0, 0)
        file = read_qdpx(stream, name=name)
        report = StudyReport(name, _hash(stream), file.origin, left_out=[*file.warnings])
        with transaction.atomic():
            _lock(project)
            _store(project, file, stream, report, by=by, apart=apart, watch=watch)
            if dry_run:
                transaction.set_rollback(True)
            else:
                finish(report)
    except FileRefused as error:
        raise StudyRefused(str(error), [str(problem) for problem in error.problems]) from error
    except CodebookRefused as error:
        raise StudyRefused(str(error), error.problems) from error
    except ImportRefused as error:
        raise StudyRefused(str(error)) from error
    return report


def _lock(project: Project) -> None:
    # What is read of a person's codings stays true until hers are stored, also while she codes at the desk.
    hold_turns(project.pk)
    Project.objects.select_for_update().get(pk=project.pk)
    if (draft := find_open_draft(project)) is not None:
        raise StudyRefused(f"The draft {draft} of the codebook is open. Publish or discard it before you import.")


def _store(
    project: Project,
    file: QdpxFile,
    stream: BinaryIO,
    report: StudyReport,
    *,
    by: trail.Actor,
    apart: Collection[str],
    watch: Watch,
) -> None:
    sources = {source.guid: source for source in file.sources}
    divided = _divide(project, file.sources, report)
    _store_texts(project, [(sources[each.guid], each) for each in divided], report, by=by, watch=watch)
    identifiers = _store_codes(project, file, stream, report, by=by)
    report.people = persons.match_people(project, file.project.users)
    accounts = persons.Accounts(report.people, apart=apart, by=by)
    codes = _read_codes(project, identifiers)
    index = TextIndex(project, divided)
    notes = {note.guid: note for note in file.notes}
    codings = CodingStore(project, codes, notes, accounts.find)
    memos = MemoStore(project, notes, accounts.find, is_own=file.origin == ORIGIN)
    for number, each in enumerate(divided):
        watch("Storing codings", number, len(divided))
        source = sources[each.guid]
        placed = index.read(each, source.text or "")
        interview_id = index.find_interview(each)
        rows = codings.store(source, placed)
        if rows:
            _record_codings(project, interview_id, rows, by=by)
        memos.add_source(source, placed, interview_id)
    memos.add_codes({code.guid: code.notes for code in file.project.codes}, identifiers)
    memos.add_study(file.project.notes, file.project.sets)
    memos.store(report, but=codings.used_notes)
    codings.add_counts(report)
    report.leave_out(len(file.project.sets), "set of codes", "themes are created in the study, with reasons.")
    if report.is_new:
        _record(project, report, accounts.found.values(), memos.rows, by=by)


def _divide(project: Project, sources: Sequence[QdpxSource], report: StudyReport) -> list[DividedText]:
    """The texts as interviews, each under the identifier that it has or gets in this study."""
    names = texts.name_texts(sources)
    stored = read_stored_turns(project, list(names.values()))
    found = []
    for source in sources:
        divided = texts.divide(source, names[source.guid])
        if isinstance(divided, str):
            report.left_out.append(divided)
            continue
        if stored.get(divided.external_id) not in (None, _content(divided)):
            other = texts.make_unique(divided.external_id, source.guid)
            report.notes.append(f"{divided.external_id} has another text in this study: it is imported as {other}.")
            divided = divided._replace(external_id=other)
        found.append(divided)
    how = Counter(each.how for each in found)
    report.add_note(how["whole"], "text", "no speakers are named; the text becomes one turn of the model.")
    report.add_note(how["speakers"], "text", "the interviewer was recognised from the speakers' names.")
    return found


def _content(divided: DividedText) -> list[tuple[str, ...]]:
    return list_contents(turn for _, turn in divided.turns)


def _store_texts(
    project: Project,
    pairs: Sequence[tuple[QdpxSource, DividedText]],
    report: StudyReport,
    *,
    by: trail.Actor,
    watch: Watch,
) -> None:
    stored = read_stored_turns(project, [divided.external_id for _, divided in pairs])
    new = []
    for source, divided in pairs:
        if divided.external_id in stored:
            if stored[divided.external_id] != _content(divided):
                raise StudyRefused(f"{divided.external_id} is already in the study with another text.")
            report.known["interviews"] += 1
        else:
            new.append(texts.make_line(source, divided))
    stored_so_far = 0
    for number, lines in enumerate(_batch(new), 1):
        watch("Storing texts", stored_so_far, len(new))
        stored_so_far += len(lines)
        data = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()
        file_name = report.name if number == 1 else f"{report.name}, part {number}"
        [stored_file] = import_files(project=project, files=[(file_name, data)], by=by, format="interview_jsonl")
        report.new["interviews"] += stored_file.interviews
        report.new["sentences"] += stored_file.sentences


def _batch(lines: Sequence[dict[str, object]]) -> Iterator[list[dict[str, object]]]:
    """Interviews in files of a size that is taken."""
    batch: list[dict[str, object]] = []
    turns = 0
    for line in lines:
        size = len(line["turns"])  # type: ignore[arg-type]
        if batch and turns + size > TURNS_IN_A_FILE:
            yield batch
            batch, turns = [], 0
        batch.append(line)
        turns += size
    if batch:
        yield batch


def _store_codes(
    project: Project, file: QdpxFile, stream: BinaryIO, report: StudyReport, *, by: trail.Actor
) -> dict[str, str]:
    """The identifiers of the file's codes by GUID; new ones are in a new, published version."""
    if not file.project.codes:
        return {}
    identifiers, content, counts = match_codes(project, file.project.codes, read_own_codebook(stream))
    report.new["codes"], report.known["codes"] = counts["new"], counts["known"]
    if reworded := counts["reworded"]:
        have = "1 code has" if reworded == 1 else f"{reworded:,} codes have"
        report.notes.append(f"{have} another definition in the study, which is kept.")
    if counts["new"]:
        version, _, _ = import_codebook(
            project=project, data=write_content(content), name=report.name, by=by, effect="wording", keep_missing=True
        )
        publish_version(version=version, by=by)
        report.codebook_version = version.number
        report.notes.append(f"The new codes are in version {version.number} of the codebook, which is published.")
    return identifiers


def _read_codes(project: Project, identifiers: dict[str, str]) -> dict[str, Code]:
    """The current codes of the study, by the GUIDs that they have in the file."""
    version = current_version(project)
    codes = {code.identifier: code for code in Code.objects.filter(version=version).select_related("family")}
    return {guid: codes[identifier] for guid, identifier in identifiers.items() if identifier in codes}


def _record(
    project: Project, report: StudyReport, accounts: Iterable[User], rows: Sequence[RowChange], *, by: trail.Actor
) -> None:
    trail.record(
        "exchange.study.imported",
        target=f"qdpx:{report.sha256}",
        by=by,
        stream=trail.project_stream(project.pk),
        details={
            "sha256": report.sha256,
            "new": dict(report.new),
            "known": dict(report.known),
            "people": sorted({account.pk for account in accounts}),
            "left_out": len(report.left_out),
            "codebook_version": report.codebook_version,
        },
        rows=rows,
    )


def _record_codings(project: Project, interview_id: int, rows: Sequence[Coding], *, by: trail.Actor) -> None:
    """The codings of one text, so that those of a large file are never held together."""
    trail.record(
        "exchange.codings.imported",
        target=f"corpus.interview:{interview_id}",
        by=by,
        stream=trail.project_stream(project.pk),
        details={"count": len(rows)},
        rows=[row_made(row) for row in rows],
    )


def _hash(stream: BinaryIO) -> str:
    stream.seek(0)
    digest = hashlib.sha256()
    while chunk := stream.read(BYTES_AT_A_TIME):
        digest.update(chunk)
    stream.seek(0)
    return digest.hexdigest()
