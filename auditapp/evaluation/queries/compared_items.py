"""Sentences with what a machine and people said of one code, as pages show them; and what several annotators said of the same
sentences, code by code.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from auditapp.annotators.models import Annotator, Suggestion
from auditapp.annotators.queries.boundary_edits import map_moved, match_current
from auditapp.evaluation.pure.spread import compare_annotators
from transcripts.agreement.queries import Place, read_items
from transcripts.codebook.models import CodeFamily
from transcripts.corpus.models import Sentence

if TYPE_CHECKING:
    from auditapp.evaluation.pure.spread import Labels
    from auditapp.evaluation.queries.calibration import Compared, ComparedCode
    from transcripts.accounts.models import User


def read_compared_items(
    compared: Compared, wanted: Sequence[tuple[int, ComparedCode]], *, viewer: User
) -> list[dict[str, Any]]:
    """What a page shows of these places and codes, in their order: the ``item`` with people's labels, the ``code``,
    whether the ``machine`` applied it, and its ``rationale``. Seven queries for each family among them."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    families: dict[int, list[tuple[int, ComparedCode]]] = {}
    for place, code in wanted:
        families.setdefault(code.code.family_id, []).append((place, code))
    rationales = _read_rationales(compared, wanted)
    for pairs in families.values():
        family: CodeFamily = pairs[0][1].code.family
        items = read_items(family, [_make_place(compared, *pair) for pair in pairs], viewer=viewer)
        for (place, code), item in zip(pairs, items, strict=True):
            found[place, code.code.identifier] = {
                "item": item,
                "code": code,
                "machine": bool(code.labels.machine[place]),
                "rationale": rationales.get((item.sentence.pk, code.code.pk), ""),
            }
    return [found[place, code.code.identifier] for place, code in wanted]


def _make_place(compared: Compared, place: int, code: ComparedCode) -> Place:
    """Who decided about the sentence, and whether each applied this code."""
    labels = code.labels
    turn_answers: dict[int, tuple[str, ...]] = {
        coder: (labels.code,) if labels.people[row, place] else ()
        for row, coder in enumerate(compared.coders)
        if labels.counts[row, place]
    }
    return int(compared.sentence_ids[place]), turn_answers


def _read_rationales(compared: Compared, wanted: Sequence[tuple[int, ComparedCode]]) -> dict[tuple[int, int], str]:
    """The machine's last reason, by sentence and code."""
    sentences = {int(compared.sentence_ids[place]) for place, _ in wanted}
    codes = {code.code.pk for _, code in wanted}
    own = Suggestion.objects.filter(annotator=compared.annotator, code__in=codes)
    moved = map_moved(own)
    rows = own.filter(match_current(sentences, moved)).order_by("pk")
    return {
        (moved.get(pk) or sentence, code): text
        for pk, sentence, code, text in rows.values_list("pk", "sentence", "code", "rationale")
    }


def read_spread(
    annotators: Sequence[Annotator], *, seen: Collection[int] | None = None
) -> tuple[list[dict[str, Any]], set[int]]:
    """Each code that any of the annotators reads for, on the sentences all of them read for it, in the order of the codebook;
    and the interviews of which any of them read something.

    ``seen`` limits it to these interviews (None: all). A code is the same thing across versions of the codebook by its
    identifier; pages that show this say where versions differ.
    """
    import numpy as np

    from auditapp.annotators.queries.machine_labels import read_machine_labels

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
    studies = {each.study_id for each in annotators}
    rows = Sentence.objects.filter(turn__interview__study__in=studies)
    return dict(rows.values_list("pk", "turn__interview_id"))
