"""What became of sentences whose breaks were corrected."""

from __future__ import annotations

from collections.abc import Collection

from transcripts.corpus.models import Sentence
from transcripts.projects.models import Project

TURNS_AT_A_TIME = 5_000


def add_recut(project: Project, sentence_ids: Collection[int]) -> set[int]:
    """These sentences, and those that hold any of their words since: what people said of them is carried there, so who
    was taught by the one knows the other. One query more where none was cut again."""
    found = set(sentence_ids)
    retired = Sentence.objects.filter(turn__interview__project=project, retired_by__isnull=False).order_by()
    columns = ("pk", "turn_id", "start", "end")
    gone: dict[int, list[tuple[int, int]]] = {}
    for pk, turn_id, start, end in retired.values_list(*columns):
        if pk in found:
            gone.setdefault(turn_id, []).append((start, end))
    turns = sorted(gone)
    for first in range(0, len(turns), TURNS_AT_A_TIME):
        rows = Sentence.objects.filter(turn__in=turns[first : first + TURNS_AT_A_TIME]).order_by()
        found.update(
            pk
            for pk, turn_id, start, end in rows.values_list(*columns)
            if any(start < last and begin < end for begin, last in gone[turn_id])
        )
    return found
