"""Conversations that went on: what a later file tells beyond what the study has is appended to the interview."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Max

from transcripts.audit_trail import trail
from transcripts.corpus import masked, queries
from transcripts.corpus.models import ImportedFile, Interview, InterviewVersion, Sentence, Turn
from transcripts.corpus.pure.descriptives import describe
from transcripts.corpus.pure.preparing import cut_turn
from transcripts.corpus.pure.readers import ReadInterview, ReadTurn
from transcripts.corpus.storing import ImportInterrupted
from transcripts.projects.models import Project


def append_turns(
    project: Project,
    imported: ImportedFile,
    read: ReadInterview,
    *,
    there: int,
    told: masked.FileFacts,
    by: trail.Actor,
) -> None:
    """Append the turns of ``read`` behind its first ``there``, which the study has word for word, as the next version.

    What is there keeps its sentences, codings and decisions; the new sentences wait to be decided. Turns of a masked interview
    are masked too, and what the file was ``told`` to be is sealed with them. Part of a transaction of the caller. Raises
    ``ImportInterrupted`` when the interview has changed meanwhile.
    """
    kept = project.every_interview.kept()
    found = queries.find_threads(kept, [read.external_id])
    interview = kept.select_for_update().filter(pk__in=found.values()).first()
    if interview is None or interview.turn_count != there:
        raise ImportInterrupted(
            f"The interview {read.external_id} was changed by another import meanwhile. Nothing was stored; import the files "
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
    """How many interviews that were there before a file has added turns to."""
    return Interview.objects.filter(versions__imported_file=file).count()
