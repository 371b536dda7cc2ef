"""What several annotators said of the same sentences, code by code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from auditapp.preannotation.evaluation.pure.spread import compare_annotators
from auditapp.preannotation.models import Annotator
from transcripts.corpus.models import Sentence

if TYPE_CHECKING:
    from auditapp.preannotation.evaluation.pure.spread import Labels


def read_spread(
    annotators: Sequence[Annotator], *, seen: Collection[int] | None = None
) -> tuple[list[dict[str, Any]], set[int]]:
    """Each code that any of the annotators reads for, on the sentences all of them read for it, in the order of the codebook;
    and the interviews of which any of them read something.

    ``seen`` limits it to these interviews (None: all). A code is the same thing across versions of the codebook by its
    identifier; pages that show this say where versions differ.
    """
    import numpy as np

    from auditapp.preannotation.annotators.queries.machine_labels import read_machine_labels

    read: dict[str, dict[int, Labels]] = {}
    interviews: set[int] = set()
    placed = _place_sentences(annotators) if seen is not None else {}
    for each in annotators:
        said = read_machine_labels(each)
        is_seen = np.ones(len(said.sentence_ids), dtype=bool)
        if seen is not None:
            talks = np.array([placed[pk] for pk in said.sentence_ids.tolist()], dtype=np.int64)
            interviews.update(talks.tolist())
            is_seen = np.isin(talks, sorted(seen))
        for row, code in enumerate(said.codes):
            was_read = said.was_read[row] & is_seen
            if was_read.any():
                read.setdefault(code, {})[each.pk] = said.sentence_ids[was_read], said.labels[row][was_read]
    keys = [each.pk for each in annotators]
    return [compare_annotators(code, own, keys) for code, own in read.items()], interviews


def _place_sentences(annotators: Sequence[Annotator]) -> dict[int, int]:
    """The interview of each sentence of their studies: one query."""
    projects = {each.project_id for each in annotators}
    rows = Sentence.objects.filter(turn__interview__project__in=projects)
    return dict(rows.values_list("pk", "turn__interview_id"))
