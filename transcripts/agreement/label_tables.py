"""Blind readings as tables of labels, limited to a selection. Loads numpy, so pages import this inside functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from transcripts.agreement.pure.measuring import LabelTable
from transcripts.agreement.queries import Selection, find_interviews
from transcripts.codebook.models import CodebookVersion
from transcripts.coding.blind import BlindTable, VersionSpan, read_blind
from transcripts.rounds.models import Assignment
from transcripts.studies.models import Study


def read_table(study: Study, selection: Selection, *, interviews: Collection[int] | None = None) -> BlindTable:
    """The blind readings of the selection, or of some ``interviews`` in it, for the present codes of the family.

    Within a round, an interview counts only for the coders to whom it is assigned.
    """
    if interviews is None:
        interviews = find_interviews(study, selection)
    readings = read_blind(study, interviews=interviews, span=_find_span(study, selection))
    family = selection.family
    codes = list(family.codes.order_by("position").values_list("identifier", flat=True))
    table = readings.arrange(family.identifier, family.unit, codes)
    if selection.round is not None:
        table = _keep_assigned(table, selection)
    return _keep_coders(table, selection.coders)


def make_label_table(table: BlindTable, names: Mapping[int, str]) -> LabelTable:
    """The table from which agreement is computed; turns are the clusters."""
    _, clusters = np.unique(table.turn_ids, return_inverse=True)
    coders = tuple(names[coder] for coder in table.coders)
    return LabelTable(coders, table.codes, table.labels, table.decided, clusters.reshape(-1))


def count_uses(table: BlindTable) -> dict[str, int]:
    """How often each code was applied to units that two or more decided."""
    shared = table.decided.sum(axis=0) > 1
    uses = (table.labels & shared).sum(axis=(1, 2))
    return {code: int(number) for code, number in zip(table.codes, uses, strict=True)}


def count_turns(table: BlindTable) -> dict[str, int]:
    """For each code, the number of turns in which somebody applied it to a unit that two or more decided, the basis of its
    figures."""
    shared = table.decided.sum(axis=0) > 1
    applied = (table.labels & shared).any(axis=1)
    return {code: len(np.unique(table.turn_ids[row])) for code, row in zip(table.codes, applied, strict=True)}


def count_shared(table: BlindTable) -> dict[int, int]:
    """How many units two or more decided in each interview that has some."""
    interviews, units = np.unique(table.interview_ids[table.decided.sum(axis=0) > 1], return_counts=True)
    return dict(zip(interviews.tolist(), units.tolist(), strict=True))


def find_shared_interviews(table: BlindTable) -> set[int]:
    """The interviews in which two or more coders decided about a unit: those whose readings are compared."""
    return set(count_shared(table))


def keep_interviews(table: BlindTable, interview_ids: Collection[int]) -> BlindTable:
    """The same table with the readings of only these interviews."""
    kept = np.flatnonzero(np.isin(table.interview_ids, list(interview_ids)))
    return table._replace(
        unit_ids=table.unit_ids[kept],
        sentence_ids=table.sentence_ids[kept],
        turn_ids=table.turn_ids[kept],
        interview_ids=table.interview_ids[kept],
        decided=table.decided[:, kept],
        labels=table.labels[:, :, kept],
    )


def find_cell(table: BlindTable, code: str, a: int, b: int, cell: str) -> list[int]:
    """The places of the units in one count of two coders: both, only_a, only_b or neither."""
    if code not in table.codes or a not in table.coders or b not in table.coders:
        return []
    row_a, row_b = table.coders.index(a), table.coders.index(b)
    labels = table.labels[table.codes.index(code)]
    put_a, put_b = labels[row_a], labels[row_b]
    wanted = {"both": put_a & put_b, "only_a": put_a & ~put_b, "only_b": put_b & ~put_a, "neither": ~put_a & ~put_b}
    chosen = wanted.get(cell, put_a | put_b | ~put_a) & table.decided[row_a] & table.decided[row_b]
    return list(map(int, np.flatnonzero(chosen)))


def find_shared(table: BlindTable, code: str = "") -> list[int]:
    """The places of the units that two or more decided; with a code, of those to which somebody applied it."""
    shared = table.decided.sum(axis=0) > 1
    if code in table.codes:
        shared &= table.labels[table.codes.index(code)].any(axis=0)
    return list(map(int, np.flatnonzero(shared)))


def _keep_coders(table: BlindTable, wanted: Collection[int]) -> BlindTable:
    """The rows of these coders, or of all, without those who decided nothing here."""
    rows = [
        row for row, coder in enumerate(table.coders) if (not wanted or coder in wanted) and table.decided[row].any()
    ]
    coders = tuple(table.coders[row] for row in rows)
    return table._replace(coders=coders, decided=table.decided[rows], labels=table.labels[:, rows])


def _keep_assigned(table: BlindTable, selection: Selection) -> BlindTable:
    rows = Assignment.objects.counted().filter(round=selection.round)
    assigned: dict[int, list[int]] = {}
    for coder, interview in rows.values_list("coder", "interview"):
        assigned.setdefault(coder, []).append(interview)
    kept = np.array([np.isin(table.interview_ids, assigned.get(coder, [])) for coder in table.coders])
    kept = kept.reshape(table.decided.shape)
    return table._replace(decided=table.decided & kept, labels=table.labels & kept)


def _find_span(study: Study, selection: Selection) -> VersionSpan | None:
    """The requested versions, and the period in which people coded with them."""
    if not selection.has_span:
        return None
    published = CodebookVersion.objects.filter(study=study, published_at__isnull=False).order_by("number")
    moments = list(published.values_list("number", "published_at"))
    first = selection.first_version if selection.first_version is not None else 0
    last = selection.last_version if selection.last_version is not None else max(number for number, _ in moments)
    since = next((at for number, at in moments if number >= first), None)
    until = next((at for number, at in moments if number > last), None)
    return VersionSpan(first, last, since if first > moments[0][0] else None, until)
