"""Storing the rows of an import in short transactions: new interviews become visible all at once, others are appended to."""

from __future__ import annotations

import datetime
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from django.db import connection, transaction
from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from transcripts.audit_trail import trail
from transcripts.audit_trail.trail import Actor
from transcripts.corpus import masked, queries
from transcripts.corpus.consent import store_stated
from transcripts.corpus.models import (
    SAYS_EXCLUDED,
    Consent,
    ImportedFile,
    Interview,
    InterviewVersion,
    MaskedFacts,
    Sentence,
    Standing,
    Turn,
)
from transcripts.corpus.pure.markdown_lines import describe
from transcripts.corpus.pure.segmenting import SentenceRow, cut_turn
from transcripts.formats.interviews import ReadInterview, ReadTurn
from transcripts.hooks import interviews_given_up, send
from transcripts.studies.models import Study

# A transaction of a thousand rows takes 10 to 20 ms on SQLite, which lets one writer in at a time.
ROWS_AT_A_TIME = 1_000
# A row counts as one more for each this many characters of its text.
CHARACTERS_A_ROW = 500
IDS_NAMED = 5
# An import stores something every few seconds. After this time without a write, it is assumed to have been killed.
ABANDONED_AFTER = datetime.timedelta(minutes=10)

# An interview as it was read, with the sentences of each of its turns.
Prepared = tuple[ReadInterview, list[list[SentenceRow]]]
T = TypeVar("T")


class ImportInterrupted(Exception):
    """The files cannot become visible; the message is for the person who asked. What was stored of them must be removed."""


def claim(study: Study, files: Sequence[ImportedFile]) -> None:
    """Register files that are about to be stored. Raises ``ImportInterrupted``.

    Their interviews belong to no study until ``publish`` assigns them to it in one update; no page or count of a study can find
    them before. ``remove_abandoned`` removes the remains of killed imports. Files that an earlier run of the same job
    registered are taken over; ``find_whole`` then finds what is stored of them.
    """
    remove_abandoned(Q(study=study, sha256__in=[file.sha256 for file in files]))
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        for file in files:
            undone = ImportedFile.State.UNDONE
            other = study.imported_files.filter(sha256=file.sha256).exclude(state=undone).first()
            if other is not None and not _is_of_same_job(file, other):
                raise ImportInterrupted(_explain_other(file, other))
            file.state, file.touched_at = ImportedFile.State.STORING, timezone.now()
            file.pk = other.pk if other else None
            file.save(force_insert=other is None)


def _is_of_same_job(file: ImportedFile, other: ImportedFile) -> bool:
    return file.job_id is not None and file.job_id == other.job_id and other.state == ImportedFile.State.STORING


def find_whole(file: ImportedFile) -> dict[str, tuple[int, int, int]]:
    """The interviews of a file that are stored completely: by their id in the file, their database id and counts of turns and
    sentences. Incomplete ones are removed, in short transactions."""
    staged = Interview.objects.staged().filter(imported_file=file)
    turns = Counter(dict(_count_by_interview(Turn.objects.filter(interview__in=staged), "interview")))
    sentences = Counter(
        dict(_count_by_interview(Sentence.objects.filter(turn__interview__in=staged), "turn__interview"))
    )
    whole, torn = {}, []
    for pk, external_id, sealed_id, turn_count, sentence_count in staged.values_list(
        "pk", "external_id", "masked_facts__external_id", "turn_count", "sentence_count"
    ):
        if (turns[pk], sentences[pk]) == (turn_count, sentence_count):
            whole[sealed_id or external_id] = (pk, turn_count, sentence_count)
        else:
            torn.append(pk)
    for first in range(0, len(torn), ROWS_AT_A_TIME):
        for _ in _remove_rows(staged.filter(pk__in=torn[first : first + ROWS_AT_A_TIME]), [file]):
            pass
    return whole


def _count_by_interview(rows: QuerySet[Turn] | QuerySet[Sentence], interview: str) -> Iterable[tuple[int, int]]:
    return rows.order_by().values_list(interview).annotate(count=Count("pk"))


def _explain_other(file: ImportedFile, other: ImportedFile) -> str:
    if other.state == ImportedFile.State.STORED:
        return f"{file.name}: this file was imported by {other.imported_by_name} a moment ago. Nothing was added."
    return (
        f"{file.name}: this file is already being imported by {other.imported_by_name}. Wait until it is finished. If that import "
        f"was interrupted, it can be repeated {ABANDONED_AFTER.seconds // 60} minutes later."
    )


def store_group(
    imported: ImportedFile,
    group: Sequence[tuple[Interview, Prepared]],
    *,
    beside: Sequence[ImportedFile],
    told: masked.FileFacts,
    by: Actor,
) -> int:
    """Store interviews of one file with their turns and sentences; returns the number of records of consent.

    ``beside``: all files that are imported together, including this one; if any of them was given up, nothing is stored.
    ``told`` has the facts of the file to seal if its interviews are imported masked.
    """
    consents = 0
    for part in _cut(group, weigh=lambda each: 1 + len(each[1][0].consent) + len(each[0].opening_prompt) // 500):
        with short_transaction(beside):
            interviews = Interview.objects.bulk_create(interview for interview, _ in part)
            masked.store_facts(interviews, [read for _, (read, _) in part], file=imported, told=told)
            consents += store_stated(interviews, [read for _, (read, _) in part], file=imported.name, by=by)
    turns = (
        row
        for interview, (read, _) in group
        for row in queries.list_turn_rows(interview.pk, read.turns, kind=read.kind)
    )
    for rows in _cut(turns, weigh=lambda row: 1 + (len(row[-1]) + len(row[3])) // CHARACTERS_A_ROW):
        with short_transaction(beside):
            queries.insert_turns(rows)
    # Inside the transaction, because turns of an import that was given up may be gone.
    with short_transaction(beside):
        turn_of = queries.read_turn_ids([interview.pk for interview, _ in group])
    sentences = (
        (turn_of[interview.pk, position], *sentence)
        for interview, (_, turns) in group
        for position, cut in enumerate(turns, 1)
        for sentence in cut
    )
    for sentence_rows in _cut(sentences, weigh=lambda _: 1):
        with short_transaction(beside):
            queries.insert_sentences(sentence_rows)
    return consents


def hang_threads(imported: ImportedFile, read: Iterable[ReadInterview], *, beside: Sequence[ImportedFile]) -> None:
    """Link the stored threads of a file to the turns from which they continue, in threads of these files or of the study. If that
    turn is about to be appended to a thread of the study, ``hang_on_grown`` does it."""
    for rows in _find_hung(imported, read, beside=beside):
        for part in _cut(rows, weigh=lambda _: 4):
            with short_transaction(beside):
                Interview.objects.bulk_update(part, ["hangs_on", "relation"])


def hang_on_grown(imported: ImportedFile, read: Iterable[ReadInterview]) -> None:
    """Link threads of a published file to turns that it has appended to the study. Part of a transaction of the caller."""
    for rows in _find_hung(imported, read, beside=[imported]):
        Interview.objects.bulk_update(rows, ["hangs_on", "relation"], batch_size=ROWS_AT_A_TIME)


def _find_hung(
    imported: ImportedFile, read: Iterable[ReadInterview], *, beside: Sequence[ImportedFile]
) -> Iterator[list[Interview]]:
    """The stored threads of a file that are not linked yet, some at a time, each with the turn from which it continues."""
    hung = {masked.find_own_id(thread): thread for thread in read if thread.hangs_on}
    if not hung:
        return
    own = Interview.objects.filter(imported_file=imported, hangs_on=None)
    ids = {
        sealed_id or external_id: pk
        for external_id, sealed_id, pk in own.values_list("external_id", "masked_facts__external_id", "pk")
    }
    staged = Interview.objects.staged().filter(imported_file__in=beside)
    above = sorted({thread.hangs_on[0] for thread in hung.values() if thread.hangs_on})
    for first in range(0, len(above), ROWS_AT_A_TIME):
        some = above[first : first + ROWS_AT_A_TIME]
        known = imported.study.every_interview.kept()
        parents = {**queries.find_threads(known, some), **queries.find_threads(staged, some)}
        turn_of = queries.read_turn_ids(list(parents.values()))
        rows = []
        for external_id, thread in hung.items():
            if thread.hangs_on and thread.hangs_on[0] in parents and external_id in ids:
                turn = turn_of.get((parents[thread.hangs_on[0]], thread.hangs_on[1]))
                if turn is not None:
                    rows.append(Interview(pk=ids[external_id], hangs_on_id=turn, relation=thread.relation))
        yield rows


def publish(study: Study, files: Sequence[ImportedFile]) -> None:
    """Make the interviews of these files visible. Part of a transaction of the caller, which writes the events.

    Raises ``ImportInterrupted`` if another import has stored one of their ids in the meantime.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    entered = ImportedFile.objects.filter(pk__in=[file.pk for file in files], state=ImportedFile.State.STORING)
    staged = Interview.objects.staged().filter(imported_file__in=files)
    if named := masked.find_taken(study, staged, limit=IDS_NAMED):
        raise ImportInterrupted(
            f"In the meantime, another import stored interviews of these files, such as {', '.join(named)}. Nothing was stored. "
            "Import the files again. What is already stored is then compared and left out."
        )
    now = timezone.now()
    mine = entered.filter(runner__in={file.runner for file in files})
    if mine.update(state=ImportedFile.State.STORED, touched_at=None, imported_at=now) != len(files):
        raise ImportInterrupted(_STOPPED)
    excluded = reduce(or_, (Q(inclusion__iexact=word) for word in SAYS_EXCLUDED))
    staged.filter(excluded).update(owning_study=study, standing=Standing.EXCLUDED)
    staged.update(owning_study=study, study=study)
    for file in files:
        file.state, file.touched_at, file.imported_at = ImportedFile.State.STORED, None, now


_STOPPED = "The import paused for many minutes and was given up. Nothing was stored; import the files again."


def remove(files: Iterable[ImportedFile], *, seconds: float = math.inf) -> None:
    """Remove the stored rows of files that are not visible, in short transactions. Safe to repeat.

    After this many ``seconds`` the rest is left for the next time.
    """
    end = time.monotonic() + seconds
    for file in files:
        # Not files that another run of the job has taken over.
        entered = ImportedFile.objects.filter(pk=file.pk, runner=file.runner)
        given_up = entered.filter(state__in=(ImportedFile.State.STORING, ImportedFile.State.ABANDONED))
        # From here on the import stores nothing more, even if it is still running.
        if given_up.update(state=ImportedFile.State.ABANDONED):
            for _ in _remove_rows(Interview.objects.staged().filter(imported_file=file)):
                if time.monotonic() > end:
                    return
            given_up.delete()


def remove_abandoned(which: Q | None = None, *, seconds: float = math.inf) -> None:
    """Remove the remains of killed imports."""
    late = Q(state=ImportedFile.State.STORING, touched_at__lt=timezone.now() - ABANDONED_AFTER)
    found = ImportedFile.objects.filter(late | Q(state=ImportedFile.State.ABANDONED), which or Q()).order_by("pk")
    remove(found, seconds=seconds)


def _remove_rows(interviews: QuerySet[Interview], files: Sequence[ImportedFile] = ()) -> Iterator[None]:
    """Remove interviews that belong to no study, with all their rows; yields between two transactions.

    ``files`` are those that this run stores, unless they were given up: if another run has taken them over, nothing is removed.
    """
    hung = interviews.filter(hangs_on__isnull=False)
    while ids := list(hung.order_by("pk").values_list("pk", flat=True)[:ROWS_AT_A_TIME]):
        with short_transaction(files):
            Interview.objects.staged().filter(pk__in=ids).update(hangs_on=None, relation="")
        yield
    while ids := list(interviews.order_by("pk").values_list("pk", flat=True)[:ROWS_AT_A_TIME]):
        yield from _remove_work(ids, files)
        turns = Turn.objects.filter(interview__in=ids)
        while turn_ids := list(turns.order_by("pk").values_list("pk", flat=True)[:ROWS_AT_A_TIME]):
            yield from _delete_by_parts(Sentence.objects.filter(turn__in=turn_ids), files)
            yield from _delete_by_parts(Turn.objects.filter(pk__in=turn_ids), files)
        yield from _delete_by_parts(Consent.objects.filter(interview__in=ids), files)
        yield from _delete_by_parts(MaskedFacts.objects.filter(interview__in=ids), files)
        yield from _delete_by_parts(Interview.objects.staged().filter(pk__in=ids), files)


def remove_work(files: Sequence[ImportedFile]) -> None:
    """Remove what other rooms have stored on the interviews of files that are being imported. Raises ``ImportInterrupted`` if
    another run has taken them over."""
    ids = list(Interview.objects.staged().filter(imported_file__in=files).values_list("pk", flat=True))
    for first in range(0, len(ids), ROWS_AT_A_TIME):
        for _ in _remove_work(ids[first : first + ROWS_AT_A_TIME], files):
            pass


def _remove_work(interviews: Sequence[int], files: Sequence[ImportedFile]) -> Iterator[None]:
    for rows in send(interviews_given_up, interviews=interviews):
        yield from _delete_by_parts(rows, files)


def _delete_by_parts(rows: QuerySet[Any], files: Sequence[ImportedFile] = ()) -> Iterator[None]:
    """Delete rows to which nothing refers, without Django's search for references."""
    while ids := list(rows.order_by().values_list("pk", flat=True)[:ROWS_AT_A_TIME]):
        with short_transaction(files):
            rows.model._base_manager.filter(pk__in=ids)._raw_delete(connection.alias)  # noqa: SLF001
        yield


@contextmanager
def short_transaction(files: Sequence[ImportedFile] = ()) -> Iterator[None]:
    """A transaction after which other writers get as much time as it took.

    Raises ``ImportInterrupted`` if one of the files, all of one run, has been given up in the meantime.
    """
    with transaction.atomic():
        began = time.perf_counter()
        if files:
            entered = ImportedFile.objects.filter(pk__in=[file.pk for file in files], runner=files[0].runner)
            if entered.filter(state=ImportedFile.State.STORING).update(touched_at=timezone.now()) != len(files):
                raise ImportInterrupted(_STOPPED)
        yield
    # Inside a larger transaction a pause would only keep the others waiting.
    if not connection.in_atomic_block:
        rest(time.perf_counter() - began)


def rest(seconds: float) -> None:
    """Pause so that others can write. On PostgreSQL they can write at any time."""
    if connection.vendor == "sqlite":
        time.sleep(seconds)


def _cut(rows: Iterable[T], *, weigh: Callable[[T], int]) -> Iterator[list[T]]:
    """Divide the rows into lists with about the weight ``ROWS_AT_A_TIME``."""
    part: list[T] = []
    weight = 0
    for row in rows:
        part.append(row)
        weight += weigh(row)
        if weight >= ROWS_AT_A_TIME:
            yield part
            part, weight = [], 0
    if part:
        yield part


def append_turns(
    study: Study,
    imported: ImportedFile,
    read: ReadInterview,
    *,
    there: int,
    told: masked.FileFacts,
    by: trail.Actor,
) -> None:
    """Append the turns of ``read`` after its first ``there``, which the study has word for word, as the next version.

    Existing turns keep their sentences, codings and decisions; the new sentences are undecided. Turns of a masked interview are
    masked too, and the facts ``told`` about the file are sealed with them. Part of a transaction of the caller. Raises
    ``ImportInterrupted`` if the interview has changed in the meantime.
    """
    kept = study.every_interview.kept()
    found = queries.find_threads(kept, [read.external_id])
    interview = kept.select_for_update().filter(pk__in=found.values()).first()
    if interview is None or interview.turn_count != there:
        raise ImportInterrupted(
            f"The interview {read.external_id} was changed by another import in the meantime. Nothing was stored; import the files "
            "again."
        )
    rest: Sequence[ReadTurn] = read.turns[there:]
    if interview.is_masked:
        rest = masked.seal_more(interview, read, there=there, file=imported, told=told)
    queries.insert_turns(queries.list_turn_rows(interview.pk, rest, kind=interview.kind, after=there))
    turn_of = queries.read_turn_ids([interview.pk])
    last = Sentence.objects.filter(turn__interview=interview).aggregate(last=Max("position"))["last"] or 0
    rows = []
    for position, turn in enumerate(rest, there + 1):
        cut = list(cut_turn(turn, language=interview.language, after=last))
        rows += [(turn_of[interview.pk, position], *sentence) for sentence in cut]
        last += len(cut)
    queries.insert_sentences(rows)
    described = describe(read.turns)
    interview.turn_count = len(read.turns)
    interview.sentence_count += len(rows)
    interview.questions, interview.author_words, interview.model_words = (
        described.questions,
        described.author_words,
        described.model_words,
    )
    interview.save(update_fields=["turn_count", "sentence_count", "questions", "author_words", "model_words"])
    version = InterviewVersion.objects.create(
        interview=interview,
        number=interview.versions.count() + 2,
        imported_file=imported,
        first_turn=Turn.objects.get(pk=turn_of[interview.pk, there + 1]),
        turns=len(rest),
        sentences=len(rows),
    )
    trail.record(
        "corpus.interview.grown",
        target=interview,
        by=by,
        details={
            "version": version.number,
            "sha256": imported.sha256,
            "first_turn": there + 1,
            "turns": len(rest),
            "sentences": len(rows),
        },
    )


def count_grown(file: ImportedFile) -> int:
    """The number of existing interviews to which a file has added turns."""
    return Interview.objects.filter(versions__imported_file=file).count()
