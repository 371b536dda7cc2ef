"""Importing a project file of REFI-QDA: completely or not at all, and without blocking other people's coding for long.

New texts are stored in invisible parts (corpus/storing.py), with their codings. The last transaction makes these visible,
publishes new codes, and stores the codings on existing texts. These are computed before that transaction, and again if their
people have coded in the meantime.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import BinaryIO, NamedTuple

from django.db import transaction

from transcripts.audit_trail import trail
from transcripts.audit_trail.trail import row_made
from transcripts.codebook.actions import CodebookRefused, import_codebook, publish_kept_back
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.codebook.queries import current_version, find_open_draft
from transcripts.coding.models import Coding, Memo
from transcripts.coding.queries import hold_turns
from transcripts.corpus.actions import Staged, stage_plans
from transcripts.corpus.planning import Plan, plan_files
from transcripts.corpus.pure.previews import Choices
from transcripts.exchange.pure import measure_ends, take_in_last
from transcripts.exchange.refi import details as persons
from transcripts.exchange.refi.details import StudyReport, match_codes, read_own_codebook, write_content
from transcripts.exchange.refi.planned_codings import CodingPlan
from transcripts.exchange.refi.planned_texts import (
    MemoPlan,
    Noted,
    PlannedTexts,
    StoredTexts,
    Text,
    list_notes,
    place_read,
    plan_texts,
    write_files,
)
from transcripts.formats.codebook_rules import CodebookContent
from transcripts.formats.problems import FileRefused
from transcripts.formats.qdpx_content import QdpxFile, QdpxNote
from transcripts.formats.qdpx_read import read_qdpx
from transcripts.formats.refi import ORIGIN
from transcripts.jobs.runs import JobRun
from transcripts.refusals import Refused
from transcripts.studies.models import Study

BYTES_AT_A_TIME = 1 << 20
ROWS_AT_A_TIME = 500
TEXTS_AT_A_TIME = 100
# How often codings on existing texts are computed before the last transaction; after that, within it.
TRIES = 3


class StudyRefused(Refused):
    """A project file cannot be imported as it is; nothing was stored. ``problems`` are further sentences."""

    def __init__(self, message: str, problems: Collection[str] = ()) -> None:
        super().__init__(message)
        self.problems = list(problems)


class StudyCodes(NamedTuple):
    """The codes of a file by GUID, with their identifiers. ``version``, based on ``base`` and not yet published, has the new
    ones."""

    identifiers: dict[str, str]
    codes: dict[str, Code]
    base: CodebookVersion | None
    version: CodebookVersion | None


class CodedText(NamedTuple):
    """The stored part of one text: its interview, and what the audit event will say about its codings."""

    interview_id: int
    codings: int
    sealed: trail.SealedRows


class Merged(NamedTuple):
    """The codings on existing texts, and the memos of the whole file; not stored yet."""

    codings: CodingPlan
    rows: list[tuple[int, list[Coding]]]
    memos: MemoPlan
    stored: StoredTexts

    def is_current(self) -> bool:
        """Whether none of the file's people has done anything in the study since this was computed."""
        return all(part.is_current() for part in (self.codings, self.memos, self.stored))


def import_qdpx(
    *,
    study: Study,
    stream: BinaryIO,
    name: str,
    by: trail.Actor,
    apart: Collection[str] = (),
    same_names: bool = False,
    dry_run: bool = False,
    run: JobRun | None = None,
    finish: Callable[[StudyReport], object] = lambda _report: None,
) -> StudyReport:
    """Import texts, codes, codings and memos of a project file; whatever was imported before is left as it is.

    New codes make a new version of the codebook, which is published, because codings need published codes. ``apart`` are GUIDs
    or names of people who have a member's name but are not that member. With ``same_names``, codes with different GUIDs are
    matched with the study's codes by name. With ``dry_run`` nothing is stored. Raises ``StudyRefused``. The progress is
    reported to the ``run`` of a job, which may raise to end the import; ``finish`` is called in the transaction that makes
    everything visible.
    """
    tell = run.tell if run else _tell_nobody
    try:
        tell("Reading the file")
        file = read_qdpx(stream, name=name)
        report = StudyReport(name, _hash(stream), file.origin, left_out=[*file.warnings])
        _check_draft(study)
        file = _read_ends(file, report)
        texts = plan_texts(study, file.sources, report)
        plans = plan_files(study, write_files(texts.new, name), Choices("interview_jsonl"))
        report.new["interviews"] = len(texts.new)
        report.people = persons.match_people(study, file.project.users)
        accounts = persons.Accounts(report.people, apart=apart, by=by, rehearsal=dry_run)
        incoming = _Incoming(study, file, read_own_codebook(stream), texts, report, accounts, by, tell, same_names)
        if dry_run:
            incoming.rehearse(plans)
        else:
            with stage_plans(study=study, plans=plans, by=by, run=run) as staged:
                incoming.bring_in(staged, finish)
    except FileRefused as error:
        raise StudyRefused(str(error), [str(problem) for problem in error.problems]) from error
    except CodebookRefused as error:
        raise StudyRefused(str(error), error.problems) from error
    except StudyRefused:
        raise
    except Refused as error:
        raise StudyRefused(str(error)) from error
    return report


def _read_ends(file: QdpxFile, report: StudyReport) -> QdpxFile:
    """The file with ends in our convention, the character after the last one; and the measurement."""
    if file.origin == ORIGIN:
        return file
    ends = measure_ends(file.sources)
    counted = sum(ends)
    if ends.are_inclusive:
        report.add_note(
            sum(len(source.selections) for source in file.sources),
            "selection",
            f"their last position was read as their last character: so {ends.inclusive:,} of {counted:,} end at the end of a "
            "word, and otherwise would end before its last letter.",
        )
        return file._replace(sources=tuple(take_in_last(file.sources)))
    if counted:
        report.add_note(
            counted,
            "selection",
            f"their last position was read as the character after their last one: so {ends.exclusive:,} of {counted:,} end at "
            "the end of a word.",
        )
    return file


def _tell_nobody(_stage: str, _done: int = 0, _total: int = 0) -> None:
    pass


def _check_draft(study: Study) -> None:
    if (draft := find_open_draft(study)) is not None:
        raise StudyRefused(f"The draft {draft} of the codebook is open. Publish or discard it before you import.")


@dataclass(frozen=True)
class _Incoming:
    """The content of a file during its import."""

    study: Study
    file: QdpxFile
    codebook: CodebookContent | None
    texts: PlannedTexts
    report: StudyReport
    accounts: persons.Accounts
    by: trail.Actor
    tell: Callable[[str, int, int], object]
    same_names: bool

    def rehearse(self, plans: Sequence[Plan]) -> None:
        """Count everything and store nothing: new codes are stored and rolled back."""
        with transaction.atomic():
            codes = self._store_codes()
            transaction.set_rollback(True)
        codings = self._start_codings(codes)
        noted: list[Noted] = []
        for number, ((source, _), placed) in enumerate(place_read(self.texts.new, plans)):
            self.tell("Placing codings", number, len(self.texts.new))
            self.report.new["sentences"] += placed.count
            codings.add(source, placed)
            noted += list_notes(source, placed, -1 - number)
        self._add_counts(self._merge(codes, codings, noted))

    def bring_in(self, staged: Staged, finish: Callable[[StudyReport], object]) -> None:
        """Store everything; new texts are already stored, but not yet visible."""
        self.report.new["sentences"] = sum(each.sentences or 0 for each in staged.reports if each.created)
        # The study is locked before its files, as everywhere.
        with transaction.atomic():
            self._hold_codebook()
            with staged.transaction():
                codes = self._store_codes()
        codings = self._start_codings(codes)
        coded, noted = self._store_on_new(staged, codings)
        for tries_left in reversed(range(TRIES + 1)):
            merged = self._merge(codes, codings.copy(), noted) if tries_left else None
            with transaction.atomic():
                self._lock()
                if merged is None:
                    merged = self._merge(codes, codings.copy(), noted)
                elif not merged.is_current():
                    continue
                _check_codebook(self.study, codes)
                staged.publish(by=self.by)
                if codes.version is not None:
                    publish_kept_back(version=codes.version, by=self.by)
                self._store_merged(merged)
                self._record(coded, merged)
                finish(self.report)
                return

    def _lock(self) -> None:
        # A person's codings, once read, stay the same until the imported ones are stored, even while she codes at the desk.
        hold_turns(self.study.pk)
        self._hold_codebook()

    def _hold_codebook(self) -> None:
        Study.objects.select_for_update().get(pk=self.study.pk)
        _check_draft(self.study)

    def _store_codes(self) -> StudyCodes:
        """Match the codes of the file with those of the study; store new ones in a version that is kept back."""
        base = current_version(self.study)
        if not self.file.project.codes:
            return StudyCodes({}, {}, base, None)
        report, version = self.report, None
        applied = {
            coding.code
            for source in self.file.sources
            for codings in (source.codings, *(selection.codings for selection in source.selections))
            for coding in codings
        }
        found = match_codes(self.study, self.file.project.codes, self.codebook, applied, by_name=self.same_names)
        report.new["codes"], report.known["codes"] = found.new, found.known
        report.namesakes = found.namesakes
        report.add_namesakes(are_same=self.same_names)
        if reworded := found.reworded:
            have = "1 code has" if reworded == 1 else f"{reworded:,} codes have"
            report.notes.append(f"{have} another definition in the study, which is kept.")
        if found.new:
            version, _, _ = import_codebook(
                study=self.study,
                data=write_content(found.content),
                name=report.name,
                by=self.by,
                effect="wording",
                keep_missing=True,
                kept_back=True,
            )
            report.codebook_version = version.number
            report.notes.append(f"The new codes are in version {version.number} of the codebook, which is published.")
        rows = Code.objects.filter(version=version or base).select_related("family", "version")
        of_identifier = {code.identifier: code for code in rows}
        codes = {
            guid: of_identifier[identifier]
            for guid, identifier in found.identifiers.items()
            if identifier in of_identifier
        }
        return StudyCodes(found.identifiers, codes, base, version)

    def _start_codings(self, codes: StudyCodes) -> CodingPlan:
        return CodingPlan(self.study, codes.codes, self._notes, self.accounts.find)

    @cached_property
    def _notes(self) -> dict[str, QdpxNote]:
        return {note.guid: note for note in self.file.notes}

    def _store_on_new(self, staged: Staged, codings: CodingPlan) -> tuple[list[CodedText], list[Noted]]:
        """Store the codings of new texts, which are not visible yet, in short transactions; and collect the notes on them."""
        stored = StoredTexts(self.study, staged.find_interviews())
        coded: list[CodedText] = []
        noted: list[Noted] = []
        for number, group in _group(self.texts.new, stored, codings):
            self.tell("Storing codings", number, len(self.texts.new))
            with staged.transaction():
                Coding.objects.bulk_create(row for _, rows, _ in group for row in rows)
            for interview_id, rows, notes in group:
                noted += notes
                if rows:
                    coded.append(CodedText(interview_id, len(rows), trail.seal_rows([row_made(row) for row in rows])))
        return coded, noted

    def _merge(self, codes: StudyCodes, codings: CodingPlan, noted: Iterable[Noted]) -> Merged:
        """Compute the codings on existing texts, after those on new texts. Stores nothing."""
        self.tell("Comparing with the study", 0, len(self.texts.known))
        stored = StoredTexts.find(self.study, self.texts.known)
        lines = {" ".join(each.description.split()) for source in self.file.sources for each in source.selections} - {
            ""
        }
        memos = MemoPlan(self.study, self._notes, self.accounts.find, is_own=self.file.origin == ORIGIN, lines=lines)
        memos.add(noted)
        rows: list[tuple[int, list[Coding]]] = []
        for number, text in enumerate(self.texts.known, 1):
            self.tell("Comparing with the study", number, len(self.texts.known))
            source, divided = text
            interview_id = stored.find_interview(divided)
            if interview_id is None:
                codings.leave_out(source)
                continue
            if not stored.may_be_coded(interview_id):
                codings.refuse(source)
                continue
            placed = stored.place(text)
            rows.append((interview_id, codings.add(source, placed)))
            memos.add(list_notes(source, placed, interview_id))
        memos.add_codes({code.guid: code.notes for code in self.file.project.codes}, codes.identifiers)
        memos.add_study(self.file.project.notes, self.file.project.sets)
        memos.finish(but=codings.used_notes)
        return Merged(codings, rows, memos, stored)

    def _store_merged(self, merged: Merged) -> None:
        Coding.objects.bulk_create((row for _, rows in merged.rows for row in rows), batch_size=ROWS_AT_A_TIME)
        Memo.objects.bulk_create(merged.memos.rows, batch_size=ROWS_AT_A_TIME)
        self._add_counts(merged)

    def _add_counts(self, merged: Merged) -> None:
        merged.codings.add_counts(self.report)
        merged.memos.add_counts(self.report)
        sets = len(self.file.project.sets)
        self.report.leave_out(sets, "set of codes", "themes are created in the study, with reasons.")

    def _record(self, coded: Iterable[CodedText], merged: Merged) -> None:
        on_known = (
            CodedText(interview_id, len(rows), trail.seal_rows([row_made(row) for row in rows]))
            for interview_id, rows in merged.rows
            if rows
        )
        stream = trail.study_stream(self.study.pk)
        for interview_id, number, sealed in chain(coded, on_known):
            trail.record(
                "exchange.codings.imported",
                target=f"corpus.interview:{interview_id}",
                by=self.by,
                stream=stream,
                details={"count": number},
                rows=sealed,
            )
        report = self.report
        if not report.is_new:
            return
        trail.record(
            "exchange.study.imported",
            target=f"qdpx:{report.sha256}",
            by=self.by,
            stream=stream,
            details={
                "sha256": report.sha256,
                "new": dict(report.new),
                "known": dict(report.known),
                "people": sorted({account.pk for account in self.accounts.found.values()}),
                "left_out": len(report.left_out),
                "codebook_version": report.codebook_version,
            },
            rows=[row_made(memo) for memo in merged.memos.rows],
        )


def _check_codebook(study: Study, codes: StudyCodes) -> None:
    if current_version(study) != codes.base:
        raise StudyRefused(
            "A version of the codebook was published during the import. Nothing was stored; import the file again."
        )


def _group(
    texts: Iterable[Text], stored: StoredTexts, codings: CodingPlan
) -> Iterator[tuple[int, list[tuple[int, list[Coding], list[Noted]]]]]:
    """The interviews of new texts with their codings and notes, some at a time, each group with the number of texts before it."""
    group: list[tuple[int, list[Coding], list[Noted]]] = []
    size = before = 0
    for text in texts:
        source, divided = text
        placed, interview_id = stored.place(text), stored.get_interview(divided)
        rows = codings.add(source, placed)
        group.append((interview_id, rows, list(list_notes(source, placed, interview_id))))
        size += len(rows)
        # Texts with few codings form groups too, because each transaction shows that the import is still running.
        if size >= ROWS_AT_A_TIME or len(group) >= TEXTS_AT_A_TIME:
            yield before, group
            before += len(group)
            group, size = [], 0
    if group:
        yield before, group


def _hash(stream: BinaryIO) -> str:
    stream.seek(0)
    digest = hashlib.sha256()
    while chunk := stream.read(BYTES_AT_A_TIME):
        digest.update(chunk)
    stream.seek(0)
    return digest.hexdigest()
