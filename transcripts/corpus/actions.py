"""What is done to texts: files of interviews come in whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.corpus import boundary_edits, queries, storing
from transcripts.corpus.boundary_edits import Migrate, SentenceRetired
from transcripts.corpus.models import BoundaryEdit, Consent, ImportedFile, Interview, Sentence
from transcripts.corpus.pure.boundaries import BoundaryEditRefused, Extent, name_pieces, split_extent
from transcripts.corpus.pure.descriptives import describe
from transcripts.corpus.pure.preparing import SentenceRow, prepare_interview
from transcripts.corpus.pure.readers import (
    FORMATS,
    READERS_VERSION,
    ReadError,
    ReadFile,
    ReadInterview,
    expand,
    read_bytes,
)
from transcripts.corpus.pure.segmenting import SEGMENTER, SEGMENTER_VERSION
from transcripts.corpus.storing import Prepared
from transcripts.imports.runs import JobPaused, JobRun
from transcripts.projects.models import Project

ROWS_IN_A_GROUP = 5_000
# So little comes in at once: it keeps others waiting for some 20 ms.
SMALL_ROWS = 1_500
SMALL_CHARACTERS = 200_000
IDS_NAMED = 5
# Each field of an interview that was read has a column of the same name, except these.
APART = {"turns", "line", "consent", "consent_basis", "relation", "hangs_on"}
COPIED = [field.name for field in fields(ReadInterview) if field.name not in APART]


class CorpusError(Exception):
    """A sentence for the person who asked."""


class ImportRefused(CorpusError):
    """A file cannot be taken as it is. Nothing was stored, of it or of the files given with it."""


@dataclass(frozen=True)
class ImportReport:
    """What an import of one file stored, or would store.

    ``created``: something was (would be) stored; ``skipped``: nothing was new. ``interviews``, ``turns`` and
    ``sentences`` count what is new; for a file that was imported before they count what it brought then, and
    ``interview_ids`` names it. ``already_there`` counts interviews that the study has word for word.
    """

    name: str
    format: str
    sha256: str
    interviews: int = 0
    turns: int = 0
    sentences: int = 0
    already_there: int = 0
    warnings: list[str] = field(default_factory=list)
    created: bool = False
    skipped: bool = False
    interview_ids: list[int] = field(default_factory=list)

    @property
    def format_label(self) -> str:
        """The format in words; its key, when the reader that read the file is no more."""
        return FORMATS[self.format].label if self.format in FORMATS else self.format


Plan = tuple[ImportReport, int, Sequence[ReadInterview]]
"""A file that was read and found fit, its size, and what of it is new to the study."""


def import_file(*, project: Project, name: str, data: bytes, by: trail.Actor, format: str = "auto") -> ImportReport:
    """Store one file of interviews; see ``import_files``."""
    return import_files(project=project, files=[(name, data)], by=by, format=format)[0]


def import_files(
    *,
    project: Project,
    files: Sequence[tuple[str, bytes]],
    by: trail.Actor,
    format: str = "auto",
    run: JobRun | None = None,
) -> list[ImportReport]:
    """Store files of interviews with their turns and sentences: all of them, or none when one cannot be taken.

    ``files`` are names and contents. A file that came in before and an interview that the study has word for word are
    skipped. ``format`` is one of the readers' or ``auto``. Raises ``ImportRefused`` with a sentence that names file and
    line. Others can write meanwhile, unless the files are small or the caller has begun a transaction.

    For the ``run`` of a job, what an earlier run has stored is kept, and the job is finished in the transaction that makes
    the interviews visible. Raises ``JobStopped`` and ``JobPaused`` too.
    """
    plans = plan_files(project, files, format)
    fresh = [plan for plan in plans if plan[2]]
    if not fresh and run is None:
        return [report for report, _, _ in plans]
    small = _find_small(fresh) if run is None else None
    if small is not None or connection.in_atomic_block:
        with transaction.atomic():
            return _store_plans(project, plans, small, by=by, run=run)
    return _store_plans(project, plans, None, by=by, run=run)


def plan_import(*, project: Project, name: str, data: bytes, format: str = "auto") -> ImportReport:
    """What ``import_file`` would report or refuse; stores nothing."""
    return plan_imports(project=project, files=[(name, data)], format=format)[0]


def plan_imports(
    *,
    project: Project,
    files: Sequence[tuple[str, bytes]],
    format: str = "auto",
    run: JobRun | None = None,
) -> list[ImportReport]:
    """What ``import_files`` would report or refuse; stores nothing. Finishes the job of ``run``, if there is one."""
    plans = plan_files(project, files, format)
    tell = _make_teller(plans, run, "Splitting into sentences")
    reports = []
    for report, _, new in plans:
        sentences = 0
        for interview in new:
            sentences += _count_sentences(prepare_interview(interview))
            tell(len(interview.turns))
        reports.append(replace(report, sentences=sentences) if new else report)
    if run is not None:
        with transaction.atomic():
            run.finish(describe_reports(reports))
    return reports


def describe_reports(reports: Sequence[ImportReport]) -> dict[str, object]:
    """The outcome of a job: its reports without the numbers of the interviews, which are in the audit event."""
    return {
        "reports": [
            {**asdict(replace(report, interview_ids=[])), "format_label": report.format_label} for report in reports
        ]
    }


def _make_teller(plans: Sequence[Plan], run: JobRun | None, stage: str) -> Callable[[int], None]:
    """What adds to the turns that are done, of all in these files, and tells it to the run."""
    total = sum(report.turns for report, _, new in plans if new)
    done = 0

    def tell(turns: int) -> None:
        nonlocal done
        done += turns
        if run is not None:
            run.tell(stage, done, total)

    return tell


def plan_files(project: Project, files: Sequence[tuple[str, bytes]], wanted: str) -> list[Plan]:
    """Read and check every file, each against the study and against the files before it. Raises ``ImportRefused``."""
    plans: list[Plan] = []
    beside: dict[str, list[tuple[str, ...]]] = {}
    for name, data in _expand(files):
        plan = _plan_file(project, name, data, wanted, beside)
        beside.update({interview.external_id: queries.list_contents(interview.turns) for interview in plan[2]})
        plans.append(plan)
    return plans


def _expand(files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """The files, with those of an archive of several in its place."""
    for name, data in files:
        try:
            yield from expand(name, data)
        except ReadError as error:
            raise ImportRefused(str(error)) from error


def _plan_file(
    project: Project, name: str, data: bytes, wanted: str, beside: Mapping[str, list[tuple[str, ...]]]
) -> Plan:
    sha256 = hashlib.sha256(data).hexdigest()
    if (earlier := queries.find_imported_file(project, sha256)) is not None:
        return _report_earlier(name, earlier), len(data), []
    try:
        read = read_bytes(data, name=name, format=wanted)
    except ReadError as error:
        raise ImportRefused(str(error)) from error
    stored = queries.read_stored_turns(project, [interview.external_id for interview in read.interviews])
    new = _choose_new(name, read, {**beside, **stored})
    report = ImportReport(
        name=name,
        format=read.format,
        sha256=sha256,
        interviews=len(new),
        turns=sum(len(interview.turns) for interview in new),
        already_there=len(read.interviews) - len(new),
        warnings=[*read.warnings, *_warn_of_known(read, new)],
        created=bool(new),
        skipped=not new,
    )
    return report, len(data), new


def _choose_new(name: str, read: ReadFile, known: Mapping[str, list[tuple[str, ...]]]) -> list[ReadInterview]:
    """The interviews whose id is new. A known id with another text is refused."""
    for interview in read.interviews:
        if known.get(interview.external_id) not in (None, queries.list_contents(interview.turns)):
            raise ImportRefused(
                f"{name}, line {interview.line}: found an interview {interview.external_id} whose text differs "
                "from the one stored under this id; expected a new id for a changed text. (If a file has no ids, "
                "they are made from its name and the line: rename the file.)"
            )
    return [interview for interview in read.interviews if interview.external_id not in known]


def _warn_of_known(read: ReadFile, new: Sequence[ReadInterview]) -> list[str]:
    fresh = {interview.external_id for interview in new}
    known = [interview.external_id for interview in read.interviews if interview.external_id not in fresh]
    if not known:
        return []
    named = ", ".join(known[:IDS_NAMED]) + (f" and {len(known) - IDS_NAMED} more" if len(known) > IDS_NAMED else "")
    warnings = [f"{len(known)} of {len(read.interviews)} interviews are already in the study, word for word: {named}."]
    if any(interview.consent for interview in read.interviews if interview.external_id not in fresh):
        warnings.append("Their consent in the file was not imported; record it on the page Consent.")
    return warnings


def _report_earlier(name: str, earlier: ImportedFile) -> ImportReport:
    interview_ids, turns, sentences = queries.count_contents(earlier)
    day = timezone.localtime(earlier.imported_at)
    return ImportReport(
        name=name,
        format=earlier.format,
        sha256=earlier.sha256,
        interviews=len(interview_ids),
        turns=turns,
        sentences=sentences,
        already_there=len(interview_ids),
        warnings=[f"Already imported on {day:%d %B %Y} as {earlier.name}; nothing was added."],
        skipped=True,
        interview_ids=interview_ids,
    )


def _find_small(plans: Sequence[Plan]) -> list[list[Prepared]] | None:
    """The prepared interviews of each file, if all together are few enough for one transaction."""
    every = [turn for _, _, new in plans for interview in new for turn in interview.turns]
    if len(every) > SMALL_ROWS or sum(len(turn.text) for turn in every) > SMALL_CHARACTERS:
        return None
    prepared = [[(read, prepare_interview(read)) for read in new] for _, _, new in plans]
    rows = sum(_count_rows(interview) for file in prepared for interview in file)
    return prepared if rows <= SMALL_ROWS else None


def _store_plans(
    project: Project,
    plans: Sequence[Plan],
    small: Sequence[list[Prepared]] | None,
    *,
    by: trail.Actor,
    run: JobRun | None = None,
) -> list[ImportReport]:
    """Store what is new of these files, and make it visible in a last step. Returns the report of each file."""
    with stage_plans(project=project, plans=plans, small=small, by=by, run=run) as staged, transaction.atomic():
        staged.publish(by=by)
        if run is not None:
            run.finish(describe_reports(staged.reports))
    return staged.reports


@dataclass(frozen=True)
class Staged:
    """Files of interviews that are stored, and that nobody sees. ``reports`` has one for each file that was given."""

    project: Project
    files: list[ImportedFile]
    reports: list[ImportReport]
    consents: list[int]

    def find_interviews(self) -> dict[str, int]:
        """The numbers of the interviews, by their ids in the files."""
        rows = Interview.objects.staged().filter(imported_file__in=self.files)
        return dict(rows.values_list("external_id", "pk"))

    def transaction(self) -> AbstractContextManager[None]:
        """A short transaction, after which other writers get as much time. Raises ``ImportInterrupted``."""
        return storing.short_transaction(self.files)

    def publish(self, *, by: trail.Actor) -> None:
        """Make the interviews visible, with their events. Part of a transaction of the caller."""
        storing.publish(self.project, self.files)
        stored = [report for report in self.reports if report.created]
        for file, report, consents in zip(self.files, stored, self.consents, strict=True):
            _record_import(file, report, consents, by=by)


@contextmanager
def stage_plans(
    *,
    project: Project,
    plans: Sequence[Plan],
    by: trail.Actor,
    small: Sequence[list[Prepared]] | None = None,
    run: JobRun | None = None,
) -> Iterator[Staged]:
    """Store what is new of these files so that nobody sees it, until the caller publishes it.

    When an exception leaves the block, what was stored is removed; except for ``JobPaused``, after which another run of the
    job goes on. Raises ``ImportRefused``, also for an ``ImportInterrupted`` in the block.
    """
    fresh = [plan for plan in plans if plan[2]]
    files = [_enter(report, size, project=project, by=by, run=run) for report, size, _ in fresh]
    tell = _make_teller(fresh, run, "Storing")
    try:
        storing.claim(project, files)
        try:
            if run is not None:
                storing.remove_work(files)
            parts = [
                _store(file, report, [small[number]] if small else None, new, beside=files, by=by, tell=tell)
                for number, (file, (report, _, new)) in enumerate(zip(files, fresh, strict=True))
            ]
            stored = iter(parts)
            reports = [next(stored)[0] if new else report for report, _, new in plans]
            yield Staged(project, files, reports, [consents for _, consents in parts])
        except JobPaused:
            # The next run goes on with what is stored.
            raise
        except BaseException:
            # A transaction around all of this takes everything back by itself.
            if not connection.in_atomic_block:
                storing.remove(files)
            raise
    except storing.ImportInterrupted as error:
        raise ImportRefused(str(error)) from error


def _enter(report: ImportReport, size: int, *, project: Project, by: trail.Actor, run: JobRun | None) -> ImportedFile:
    return ImportedFile(
        job=run.job if run else None,
        runner=run.job.runner if run else "",
        project=project,
        name=report.name,
        sha256=report.sha256,
        size=size,
        format=report.format,
        reader_version=READERS_VERSION,
        imported_by=by if isinstance(by, User) else None,
        imported_by_name=by.get_username(),
        imported_at=timezone.now(),
    )


def _store(
    imported: ImportedFile,
    report: ImportReport,
    prepared: Iterable[list[Prepared]] | None,
    new: Sequence[ReadInterview],
    *,
    beside: Sequence[ImportedFile],
    by: trail.Actor,
    tell: Callable[[int], None],
) -> tuple[ImportReport, int]:
    """Store what is ``new`` of one file, a few thousand rows at a time, so that memory stays small.

    Returns the report and the number of records of consent.
    """
    whole = storing.find_whole(imported) if imported.job_id else {}
    ids = [pk for pk, _ in whole.values()]
    sentences = sum(count for _, count in whole.values())
    consents = Consent.objects.filter(interview__in=ids).count() if ids else 0
    tell(sum(len(read.turns) for read in new if read.external_id in whole))
    groups = prepared or _prepare(read for read in new if read.external_id not in whole)
    for group in groups:
        made = [(_make_interview(read, cut, imported), (read, cut)) for read, cut in group]
        consents += storing.store_group(imported, made, beside=beside, by=by)
        ids += [interview.pk for interview, _ in made]
        sentences += sum(interview.sentence_count for interview, _ in made)
        tell(sum(len(read.turns) for read, _ in group))
    storing.hang_threads(imported, new, beside=beside)
    return replace(report, sentences=sentences, interview_ids=sorted(ids)), consents


def _record_import(imported: ImportedFile, report: ImportReport, consents: int, *, by: trail.Actor) -> None:
    trail.record(
        "corpus.file.imported",
        target=imported,
        by=by,
        stream=trail.project_stream(imported.project_id),
        details={
            "sha256": imported.sha256,
            "format": imported.format,
            "interviews": report.interview_ids,
            "turns": report.turns,
            "sentences": report.sentences,
            **({"consents": consents} if consents else {}),
        },
    )


def _prepare(interviews: Iterable[ReadInterview]) -> Iterator[list[Prepared]]:
    """Interviews cut into sentences, in groups of about ``ROWS_IN_A_GROUP`` rows."""
    group: list[Prepared] = []
    size = 0
    for interview in interviews:
        group.append((interview, prepare_interview(interview)))
        size += _count_rows(group[-1])
        if size >= ROWS_IN_A_GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def _count_rows(prepared: Prepared) -> int:
    read, sentences = prepared
    return 1 + len(read.turns) + _count_sentences(sentences)


def _make_interview(
    read: ReadInterview, sentences: Sequence[Sequence[SentenceRow]], imported: ImportedFile
) -> Interview:
    described = describe(read.turns)
    return Interview(
        **{name: getattr(read, name) for name in COPIED},
        imported_file=imported,
        segmenter=f"{SEGMENTER} {SEGMENTER_VERSION}",
        turn_count=len(read.turns),
        sentence_count=_count_sentences(sentences),
        questions=described.questions,
        author_words=described.author_words,
        model_words=described.model_words,
    )


def _count_sentences(turns: Iterable[Sequence[SentenceRow]]) -> int:
    return sum(map(len, turns))


@transaction.atomic
def split_sentence(
    *, project: Project, sentence: Sentence, at: int, by: User, idempotency_key: UUID, migrate: Migrate | None = None
) -> BoundaryEdit:
    """Split a sentence before the code point ``at`` of its turn's text; the sentence is retired.

    ``migrate`` migrates the work on it, in the same transaction. Raises ``BoundaryEditRefused`` or ``SentenceRetired``.
    """
    turn = boundary_edits.lock_turn(project, sentence)
    if (stored := boundary_edits.find_boundary_edit(idempotency_key, turn, BoundaryEdit.Kind.SPLIT, by)) is not None:
        return stored
    old = boundary_edits.lock_current(sentence.pk)
    first, second = split_extent(turn.text, boundary_edits.extent_of(old), at)
    edit = boundary_edits.retire([old], turn=turn, kind=BoundaryEdit.Kind.SPLIT, by=by, idempotency_key=idempotency_key)
    pieces = boundary_edits.find_merged(old, second.start)
    if not pieces:
        suffixes = name_pieces(old.suffix, taken=boundary_edits.read_suffixes(turn.pk, old.position))
        pieces = [
            Sentence(start=extent.start, end=extent.end, position=old.position, suffix=suffix, kind=old.kind)
            for extent, suffix in zip((first, second), suffixes, strict=True)
        ]
    for piece in pieces:
        boundary_edits.make_sentence(edit, piece)
    return _record_boundary_edit(edit, project=project, added=1, migrate=migrate)


@transaction.atomic
def merge_sentences(
    *,
    project: Project,
    first: Sentence,
    by: User,
    idempotency_key: UUID,
    second_id: int | None = None,
    migrate: Migrate | None = None,
) -> BoundaryEdit:
    """Merge ``first`` and the next sentence of its turn into one; both are retired.

    ``second_id`` is the sentence that the person saw below; for ``migrate`` see ``split_sentence``. Raises
    ``BoundaryEditRefused`` or ``SentenceRetired``.
    """
    turn = boundary_edits.lock_turn(project, first)
    if (stored := boundary_edits.find_boundary_edit(idempotency_key, turn, BoundaryEdit.Kind.MERGE, by)) is not None:
        return stored
    above = boundary_edits.lock_current(first.pk)
    next_id = queries.find_next_in_turn(above)
    if next_id is None:
        raise BoundaryEditRefused(
            f"Sentence {above.label} is the last of its turn: only sentences of one turn can be merged."
        )
    if second_id not in {None, next_id}:
        raise SentenceRetired("The sentence below has changed since. Reload the page.")
    below = boundary_edits.lock_current(next_id)
    extent = Extent(above.start, below.end)
    edit = boundary_edits.retire(
        [above, below], turn=turn, kind=BoundaryEdit.Kind.MERGE, by=by, idempotency_key=idempotency_key
    )
    like_above = Sentence(
        start=extent.start, end=extent.end, position=above.position, suffix=above.suffix, kind=above.kind
    )
    [whole] = boundary_edits.find_whole(turn.pk, extent) or [like_above]
    boundary_edits.make_sentence(edit, whole)
    return _record_boundary_edit(edit, project=project, added=-1, migrate=migrate)


def _record_boundary_edit(edit: BoundaryEdit, *, project: Project, added: int, migrate: Migrate | None) -> BoundaryEdit:
    """Update the count of sentences, migrate the work on the retired ones, and write the one audit event."""
    boundary_edits.change_sentence_count(edit, by=added)
    migrated, rows = migrate(edit) if migrate else ({}, [])
    trail.record(
        f"corpus.sentence.{edit.kind}",
        target=edit,
        by=edit.edited_by,
        stream=trail.project_stream(project.pk),
        details={
            "interview": edit.turn.interview_id,
            "turn": edit.turn_id,
            "retired": list(edit.retired.order_by("start").values_list("pk", flat=True)),
            "made": list(edit.made.order_by("start").values_list("pk", flat=True)),
            **migrated,
        },
        rows=rows,
    )
    return edit
