"""Actions on texts: a file of interviews is imported completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.corpus import changes, masked, queries, storing
from transcripts.corpus.changes import Migrate, SentenceRetired
from transcripts.corpus.models import BoundaryEdit, Consent, ImportedFile, Interview, Sentence, Turn
from transcripts.corpus.planning import READING, ImportReport, Plan, plan_files
from transcripts.corpus.pure.boundaries import BoundaryEditRefused, Extent, name_pieces, split_extent
from transcripts.corpus.pure.markdown_lines import describe
from transcripts.corpus.pure.previews import Choices
from transcripts.corpus.pure.redacting import MASKED
from transcripts.corpus.pure.segmenting import SEGMENTER, SEGMENTER_VERSION, SentenceRow, prepare_interview
from transcripts.corpus.storing import Prepared
from transcripts.formats.interviews import READERS_VERSION, ReadInterview
from transcripts.jobs.runs import JobPaused, JobRun
from transcripts.refusals import Refused
from transcripts.studies.models import Study

ROWS_IN_A_GROUP = 5_000
# At most this much is stored in one transaction, so that others wait for only about 20 ms.
SMALL_ROWS = 1_500
SMALL_CHARACTERS = 200_000
# Each field of an interview that was read has a column of the same name, except these.
APART = {"turns", "line", "consent", "consent_basis", "relation", "hangs_on", "links"}
COPIED = [field.name for field in fields(ReadInterview) if field.name not in APART]


def import_file(*, study: Study, name: str, data: bytes, by: trail.Actor, format: str = "auto") -> ImportReport:
    """Store one file of interviews; see ``import_files``."""
    return import_files(study=study, files=[(name, data)], by=by, format=format)[0]


def import_files(
    *,
    study: Study,
    files: Sequence[tuple[str, bytes | Path]],
    by: trail.Actor,
    format: str = "auto",
    choices: Choices | None = None,
    run: JobRun | None = None,
) -> list[ImportReport]:
    """Store files of interviews with their turns and sentences: all of them, or none if one cannot be imported.

    ``files`` are names and contents, or paths. A file that was imported before and an interview that the study has word for
    word are skipped; if an interview of the study continues in a file, the new turns are appended to it. ``format`` is one of
    the readers' formats or ``auto``; ``choices`` contain it and other decisions of a person, such as that the threads are
    imported masked. Raises ``Refused`` with a sentence that names file and line. Others can write in the meantime, unless the
    files are small or the caller has begun a transaction.

    For the ``run`` of a job, what an earlier run has stored is kept, and the job is finished in the transaction that makes the
    interviews visible. Raises ``JobStopped`` and ``JobPaused`` too.
    """
    chosen = choices or Choices(format)
    plans = plan_files(study, files, chosen, run=run)
    if chosen.mask:
        labels = masked.MaskLabels(study)
        plans = [plan._replace(new=masked.MaskedThreads(plan.new, labels)) for plan in plans]
    fresh = [plan for plan in plans if plan.report.created]
    if not fresh and run is None:
        return [plan.report for plan in plans]
    small = _find_small(fresh) if run is None else None
    if small is not None or connection.in_atomic_block:
        with transaction.atomic():
            return _store_plans(study, plans, small, by=by, run=run)
    return _store_plans(study, plans, None, by=by, run=run)


def plan_imports(
    *,
    study: Study,
    files: Sequence[tuple[str, bytes | Path]],
    format: str = "auto",
    choices: Choices | None = None,
    run: JobRun | None = None,
    left_out: Mapping[str, str] = MappingProxyType({}),
) -> list[ImportReport]:
    """What ``import_files`` would report or refuse; stores nothing. Finishes the job of ``run``, if there is one, and stores
    with it which files are ``left_out``, and why.

    The sentences of a very large file are not counted.
    """
    plans = plan_files(study, files, choices or Choices(format), counts_sentences=True, run=run)
    reports = [plan.report for plan in plans]
    if run is not None:
        with transaction.atomic():
            run.finish({**describe_reports(reports), "left_out": dict(left_out)})
    return reports


def find_refused(
    *, study: Study, files: Sequence[tuple[str, bytes | Path]], choices: Choices, run: JobRun | None = None
) -> dict[str, str]:
    """The files that cannot be imported even alone, with the problem of each; empty if this is true of all files."""
    found = {}
    for name, data in files:
        if run is not None:
            run.tell(READING)
        try:
            plan_files(study, [(name, data)], choices)
        except Refused as error:
            found[name] = str(error)
    return found if len(found) < len(files) else {}


def describe_reports(reports: Sequence[ImportReport], *, hides: bool = False) -> dict[str, object]:
    """The outcome of a job: its reports without the ids of the interviews, which are in the audit event.

    ``hides``: interviews were imported masked, so the report gives only the amounts.
    """
    if hides:
        reports = [
            replace(report, name=f"Masked file {number}", format=MASKED, warnings=[], preview={}, interview_ids=[])
            for number, report in enumerate(reports, 1)
        ]
    return {
        "roles": [[str(value), str(label)] for value, label in Turn.Role.choices],
        "scopes": [[str(value), str(label)] for value, label in Consent.Scope.choices if value != Consent.Scope.CODING],
        "reports": [
            {**asdict(replace(report, interview_ids=[])), "format_label": report.format_label} for report in reports
        ],
    }


def _make_teller(plans: Sequence[Plan], run: JobRun | None) -> Callable[[int], None]:
    """A function that adds to the number of stored turns, out of all new turns in these files, and reports it to the run."""
    total = sum(plan.report.turns for plan in plans)
    done = 0

    def tell(turns: int) -> None:
        nonlocal done
        done += turns
        if run is not None:
            run.tell("Storing", done, total)

    return tell


def _find_small(plans: Sequence[Plan]) -> list[list[Prepared]] | None:
    """The prepared interviews of each file, if all together are small enough for one transaction."""
    if sum(plan.report.turns for plan in plans) > SMALL_ROWS:
        return None
    read = [list(plan.new) for plan in plans]
    if sum(len(turn.text) for file in read for interview in file for turn in interview.turns) > SMALL_CHARACTERS:
        return None
    prepared = [masked.mix([(interview, prepare_interview(interview)) for interview in file]) for file in read]
    rows = sum(_count_rows(interview) for file in prepared for interview in file)
    return prepared if rows <= SMALL_ROWS else None


def _store_plans(
    study: Study,
    plans: Sequence[Plan],
    small: Sequence[list[Prepared]] | None,
    *,
    by: trail.Actor,
    run: JobRun | None = None,
) -> list[ImportReport]:
    """Store what is new of these files, and make it visible in a last step. Returns the report of each file."""
    with stage_plans(study=study, plans=plans, small=small, by=by, run=run) as staged, transaction.atomic():
        staged.publish(by=by)
        if run is not None:
            is_masked = any(isinstance(plan.new, masked.MaskedThreads) for plan in plans)
            hides = is_masked or any(file.format == MASKED for file in staged.files)
            run.finish(describe_reports(staged.reports, hides=hides), hides_files=hides)
    return staged.reports


@dataclass(frozen=True)
class Staged:
    """Files of interviews that are stored but not yet visible. ``reports`` has one for each file; ``hung`` has the threads of each
    file that continue from others."""

    study: Study
    files: list[ImportedFile]
    reports: list[ImportReport]
    consents: list[int]
    grown: list[Sequence[tuple[ReadInterview, int]]]
    hung: list[list[ReadInterview]]

    def find_interviews(self) -> dict[str, int]:
        """The numbers of the interviews, by their ids in the files."""
        rows = Interview.objects.staged().filter(imported_file__in=self.files)
        return dict(rows.values_list("external_id", "pk"))

    def transaction(self) -> AbstractContextManager[None]:
        """A short transaction, after which other writers get as much time. Raises ``ImportInterrupted``."""
        return storing.short_transaction(self.files)

    def publish(self, *, by: trail.Actor) -> None:
        """Make the interviews visible, with their events. Part of a transaction of the caller."""
        storing.publish(self.study, self.files)
        stored = [report for report in self.reports if report.created]
        for file, report, grown in zip(self.files, stored, self.grown, strict=True):
            told = masked.FileFacts(report.name, report.format)
            for read, there in grown:
                storing.append_turns(self.study, file, read, there=there, told=told, by=by)
        if any(self.grown):
            for file, hung in zip(self.files, self.hung, strict=True):
                storing.hang_on_grown(file, hung)
        for file, report, consents in zip(self.files, stored, self.consents, strict=True):
            _record_import(file, report, consents, by=by)


@contextmanager
def stage_plans(
    *,
    study: Study,
    plans: Sequence[Plan],
    by: trail.Actor,
    small: Sequence[list[Prepared]] | None = None,
    run: JobRun | None = None,
) -> Iterator[Staged]:
    """Store the new parts of these files invisibly until the caller publishes them.

    If an exception leaves the block, what was stored is removed, except after ``JobPaused``, when another run of the job
    continues. Raises ``Refused``, also for an ``ImportInterrupted`` in the block.
    """
    fresh = [plan for plan in plans if plan.report.created]
    files = [_enter(plan, study=study, by=by, run=run) for plan in fresh]
    tell = _make_teller(fresh, run)
    try:
        storing.claim(study, files)
        try:
            if run is not None:
                storing.remove_work(files)
            parts = [
                _store(file, plan, [small[number]] if small else None, beside=files, by=by, tell=tell)
                for number, (file, plan) in enumerate(zip(files, fresh, strict=True))
            ]
            stored = iter(parts)
            reports = [next(stored)[0] if plan.report.created else plan.report for plan in plans]
            # Last, because a thread may continue from one of another file.
            for file, (_, _, hung) in zip(files, parts, strict=True):
                storing.hang_threads(file, hung, beside=files)
            yield Staged(
                study,
                files,
                reports,
                [consents for _, consents, _ in parts],
                [plan.grown for plan in fresh],
                [hung for _, _, hung in parts],
            )
        except JobPaused:
            # The next run goes on with what is stored.
            raise
        except BaseException:
            # A transaction around all of this takes everything back by itself.
            if not connection.in_atomic_block:
                storing.remove(files)
            raise
    except storing.ImportInterrupted as error:
        raise Refused(str(error)) from error


def _enter(plan: Plan, *, study: Study, by: trail.Actor, run: JobRun | None) -> ImportedFile:
    report = plan.report
    return ImportedFile(
        job=run.job if run else None,
        runner=run.job.runner if run else "",
        study=study,
        name=MASKED if plan.is_masked else report.name,
        sha256=report.sha256,
        size=plan.size,
        format=MASKED if plan.is_masked else report.format,
        reader_version=READERS_VERSION,
        imported_by=by if isinstance(by, User) else None,
        imported_by_name=by.get_username(),
        imported_at=timezone.now(),
    )


def _store(
    imported: ImportedFile,
    plan: Plan,
    prepared: Sequence[list[Prepared]] | None,
    *,
    beside: Sequence[ImportedFile],
    by: trail.Actor,
    tell: Callable[[int], None],
) -> tuple[ImportReport, int, list[ReadInterview]]:
    """Store the ``new`` parts of one file, a few thousand rows at a time, so that memory use stays small.

    Returns the report, the number of records of consent, and the threads that continue from others, without their turns.
    """
    whole = storing.find_whole(imported) if imported.job_id else {}
    ids = [pk for pk, _, _ in whole.values()]
    sentences = sum(count for _, _, count in whole.values())
    consents = Consent.objects.filter(interview__in=ids).count() if ids else 0
    tell(sum(turns for _, turns, _ in whole.values()))
    hung: list[ReadInterview] = []
    told = masked.FileFacts(plan.report.name, plan.report.format)
    groups = prepared or _prepare(read for read in _note_hung(plan.new, hung) if masked.find_own_id(read) not in whole)
    for group in groups:
        made = [(_make_interview(read, cut, imported), (read, cut)) for read, cut in group]
        consents += storing.store_group(imported, made, beside=beside, told=told, by=by)
        ids += [interview.pk for interview, _ in made]
        sentences += sum(interview.sentence_count for interview, _ in made)
        tell(sum(len(read.turns) for read, _ in group))
    if prepared:
        hung = [masked.drop_turns(read) for group in prepared for read, _ in group if read.hangs_on]
    return replace(plan.report, sentences=sentences, interview_ids=sorted(ids)), consents, hung


def _record_import(imported: ImportedFile, report: ImportReport, consents: int, *, by: trail.Actor) -> None:
    trail.record(
        "corpus.file.imported",
        target=imported,
        by=by,
        details={
            "sha256": imported.sha256,
            "format": imported.format,
            "interviews": report.interview_ids,
            "turns": report.turns,
            "sentences": report.sentences,
            **({"consents": consents} if consents else {}),
            **({"grown": report.grown} if report.grown else {}),
        },
    )


def _note_hung(interviews: Iterable[ReadInterview], hung: list[ReadInterview]) -> Iterator[ReadInterview]:
    """The same interviews; those that continue from another one are added to ``hung``, without their turns."""
    for interview in interviews:
        if interview.hangs_on:
            hung.append(masked.drop_turns(interview))
        yield interview


def _prepare(interviews: Iterable[ReadInterview]) -> Iterator[list[Prepared]]:
    """Interviews cut into sentences, in groups of about ``ROWS_IN_A_GROUP`` rows."""
    group: list[Prepared] = []
    size = 0
    for interview in interviews:
        group.append((interview, prepare_interview(interview)))
        size += _count_rows(group[-1])
        if size >= ROWS_IN_A_GROUP:
            yield masked.mix(group)
            group, size = [], 0
    if group:
        yield masked.mix(group)


def _count_rows(prepared: Prepared) -> int:
    read, sentences = prepared
    return 1 + len(read.turns) + _count_sentences(sentences)


def _make_interview(
    read: ReadInterview, sentences: Sequence[Sequence[SentenceRow]], imported: ImportedFile
) -> Interview:
    described = describe(read.turns)
    return Interview(
        **{name: getattr(read, name) for name in COPIED},
        mask_label=masked.find_label(read),
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
    *, study: Study, sentence: Sentence, at: int, by: User, idempotency_key: UUID, migrate: Migrate | None = None
) -> BoundaryEdit:
    """Split a sentence before the code point ``at`` of its turn's text; the sentence is retired.

    ``migrate`` migrates the work on it, in the same transaction. Raises ``BoundaryEditRefused`` or ``SentenceRetired``.
    """
    turn = changes.lock_turn(study, sentence)
    if (stored := changes.find_boundary_edit(idempotency_key, turn, BoundaryEdit.Kind.SPLIT, by)) is not None:
        return stored
    old = changes.lock_current(sentence.pk)
    first, second = split_extent(turn.text, old.extent, at)
    edit = changes.retire([old], turn=turn, kind=BoundaryEdit.Kind.SPLIT, by=by, idempotency_key=idempotency_key)
    pieces = changes.find_merged(old, second.start)
    if not pieces:
        suffixes = name_pieces(old.suffix, taken=changes.read_suffixes(turn.pk, old.position))
        pieces = [
            Sentence(start=extent.start, end=extent.end, position=old.position, suffix=suffix, kind=old.kind)
            for extent, suffix in zip((first, second), suffixes, strict=True)
        ]
    for piece in pieces:
        changes.make_sentence(edit, piece)
    return _record_boundary_edit(edit, study=study, added=1, migrate=migrate)


@transaction.atomic
def merge_sentences(
    *,
    study: Study,
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
    turn = changes.lock_turn(study, first)
    if (stored := changes.find_boundary_edit(idempotency_key, turn, BoundaryEdit.Kind.MERGE, by)) is not None:
        return stored
    above = changes.lock_current(first.pk)
    next_id = queries.find_next_in_turn(above)
    if next_id is None:
        raise BoundaryEditRefused(
            f"Sentence {above.label} is the last of its turn, and only sentences of the same turn can be merged."
        )
    if second_id not in {None, next_id}:
        raise SentenceRetired("The sentence below has since changed. Reload the page.")
    below = changes.lock_current(next_id)
    extent = Extent(above.start, below.end)
    edit = changes.retire(
        [above, below], turn=turn, kind=BoundaryEdit.Kind.MERGE, by=by, idempotency_key=idempotency_key
    )
    like_above = Sentence(
        start=extent.start, end=extent.end, position=above.position, suffix=above.suffix, kind=above.kind
    )
    [whole] = changes.find_whole(turn.pk, extent) or [like_above]
    changes.make_sentence(edit, whole)
    return _record_boundary_edit(edit, study=study, added=-1, migrate=migrate)


def _record_boundary_edit(edit: BoundaryEdit, *, study: Study, added: int, migrate: Migrate | None) -> BoundaryEdit:
    """Update the count of sentences, migrate the work on the retired ones, and write the one audit event."""
    changes.change_sentence_count(edit, by=added)
    migrated, rows = migrate(edit) if migrate else ({}, [])
    trail.record(
        f"corpus.sentence.{edit.kind}",
        target=edit,
        by=edit.edited_by,
        stream=trail.study_stream(study.pk),
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
