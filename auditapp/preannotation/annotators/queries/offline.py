"""What annotators without a provider have read, have still to read, and found."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Collection

from django.db.models import Count, Q, QuerySet

from auditapp.preannotation.models import Annotator, OfflineReading, OfflineRun, Suggestion
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.codebook.quotes import SENTENCE_TEXT
from transcripts.corpus.models import Sentence, Turn
from transcripts.formats.numbers import round_percent
from transcripts.projects.models import Project

ACTIVE = (OfflineRun.State.PLANNED, OfflineRun.State.RUNNING)


def list_readable(interview_ids: Collection[int] | None, project: Project) -> QuerySet[Sentence]:
    """The current sentences that the models of a study say, in all or some interviews."""
    sentences = Sentence.objects.current().filter(
        turn__interview__project=project,
        turn__role=Turn.Role.MODEL,
        turn__channel=Turn.Channel.UTTERANCE,
    )
    return sentences if interview_ids is None else sentences.filter(turn__interview__in=interview_ids)


def find_unread(annotator: Annotator, interview_id: int) -> list[tuple[int, int, int, str]]:
    """Key, turn, start in it and words of each sentence of an interview that this annotator has not read yet, in order."""
    read = _find_read(annotator, interview_id)
    rows = list_readable([interview_id], annotator.project).annotate(text=SENTENCE_TEXT)
    ordered = rows.order_by("turn__position", "start").values_list("pk", "turn_id", "start", "text")
    return [row for row in ordered if row[0] not in read]


def find_unread_ids(annotator: Annotator, interview_id: int) -> set[int]:
    """The numbers of those sentences, without their words."""
    current = list_readable([interview_id], annotator.project).order_by()
    return set(current.values_list("pk", flat=True)) - _find_read(annotator, interview_id)


def find_proposed_once(annotator: Annotator, interview_id: int) -> set[tuple[int, str]]:
    """The turns of an interview for which it has proposed a code that is applied once per answer, with the code."""
    proposed = Suggestion.objects.filter(
        annotator=annotator, sentence__turn__interview=interview_id, code__family__once_per_answer=True
    )
    return set(proposed.order_by().values_list("sentence__turn_id", "code__identifier"))


def list_once_per_answer(version: CodebookVersion) -> frozenset[str]:
    """The codes that are applied to at most one sentence of an answer."""
    codes = Code.objects.filter(version=version, family__once_per_answer=True)
    return frozenset(codes.values_list("identifier", flat=True))


def _find_read(annotator: Annotator, interview_id: int) -> set[int]:
    readings = OfflineReading.objects.filter(run__annotator=annotator, interview=interview_id)
    return {number for numbers in readings.values_list("sentences", flat=True) for number in numbers}


def list_interviews_to_read(annotator: Annotator, interview_ids: Collection[int] | None) -> list[int]:
    """The interviews, of all or of these, in which it has something to read. Two queries, whatever their number."""
    read: dict[int, set[int]] = defaultdict(set)
    done = OfflineReading.objects.filter(run__annotator=annotator)
    for interview, numbers in done.values_list("interview_id", "sentences"):
        read[interview].update(numbers)
    rows = list_readable(interview_ids, annotator.project).order_by("turn__interview_id", "pk")
    left: dict[int, None] = {}
    for interview, pk in rows.values_list("turn__interview_id", "pk").iterator(chunk_size=5_000):
        if interview not in left and pk not in read[interview]:
            left[interview] = None
    return list(left)


def find_interviews_left(run: OfflineRun) -> list[int]:
    """The interviews of a run that it has not read yet, in order."""
    left = run.interviews.filter(project__isnull=False).exclude(offline_readings__run=run)
    return list(left.order_by("pk").values_list("pk", flat=True))


def read_run_progress(run: OfflineRun) -> dict[str, int]:
    """How many interviews there are and are done, and how many sentences and suggestions that makes. Two queries."""
    readings = list(run.readings.values_list("sentences", "accepted"))
    interviews, done = run.interviews.filter(project__isnull=False).count(), len(readings)
    # An interview may have been archived after it was read.
    interviews = max(interviews, done)
    return {
        "interviews": interviews,
        "done": done,
        "percent": round_percent(done, interviews, of_nothing=100),
        "sentences": sum(len(numbers) for numbers, _ in readings),
        "suggestions": sum(accepted for _, accepted in readings),
    }


def count_by_code(run: OfflineRun) -> dict[str, int]:
    """Suggestions of a run by the identifier of the code."""
    rows = run.suggestions.order_by().values_list("code__identifier").annotate(Count("pk"))
    return dict(rows)


def find_idle_runs(now: datetime.datetime) -> list[int]:
    """Runs that no worker is doing: not begun, or released."""
    free = Q(claimed_until__isnull=True) | Q(claimed_until__lt=now)
    return list(OfflineRun.objects.filter(free, state__in=ACTIVE).values_list("pk", flat=True))


def list_runs(project: Project) -> QuerySet[OfflineRun]:
    """The runs of a study, the latest first."""
    runs = OfflineRun.objects.filter(annotator__project=project).select_related("annotator__version")
    return runs.defer("annotator__recipe").order_by("-pk")


def list_rules(version: CodebookVersion) -> dict[str, list[str]]:
    """The keyword rules of the codes that are applied to sentences, in the order of the codebook; codes without are left out."""
    codes = Code.objects.filter(version=version, family__unit=CodeFamily.Unit.SENTENCE, is_category=False)
    rows = codes.order_by("family__position", "position").values_list("identifier", "keyword_rules")
    return {identifier: list(lines) for identifier, lines in rows if lines}
