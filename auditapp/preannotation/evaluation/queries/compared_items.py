"""Sentences with what a machine and people said of one code, as pages show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from auditapp.preannotation.models import Suggestion
from auditapp.preannotation.suggestions.queries.boundary_edits import map_moved, match_current
from transcripts.agreement.queries import Place, read_items
from transcripts.codebook.models import CodeFamily

if TYPE_CHECKING:
    from auditapp.preannotation.evaluation.queries.calibration import Compared, ComparedCode
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
    readings: dict[int, tuple[str, ...]] = {
        coder: (labels.code,) if labels.people[row, place] else ()
        for row, coder in enumerate(compared.coders)
        if labels.counts[row, place]
    }
    return int(compared.sentence_ids[place]), readings


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
