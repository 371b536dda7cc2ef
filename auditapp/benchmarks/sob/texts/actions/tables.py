"""Write the study's own tables: the normalised target of each label of a source, and the mapping of targets to lists of values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from django.db import transaction

from auditapp.benchmarks.sob.models import MappingTable, TargetTable, Text
from auditapp.benchmarks.sob.pure.answer_words import OVERALL
from auditapp.benchmarks.sob.pure.attributions import (
    MAX_VALUE_LENGTH,
    MappingError,
    Rows,
    check_rows,
    compare_rows,
    list_empty,
    list_new_targets,
    name_value,
)
from auditapp.benchmarks.sob.pure.dataset_texts import (
    TargetsError,
    make_labels,
)
from auditapp.benchmarks.sob.queries import find_rows
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.models import Study


def save_targets(
    *, study: Study, rows: Iterable[Mapping[str, object]], reason: str, by: trail.Actor, based_on: int | None = None
) -> TargetTable:
    """Store the study's next table of targets; earlier tables and the datasets made with them do not change.

    ``rows`` are objects {"raw", "target", "secondary", "tertiary"}; ``based_on`` is the number of the table that the person saw,
    0 for the published one. Raises ``Refused`` if there is no reason, if the rows are not a valid table or are the same as in the
    newest table, or if somebody else has saved another table in the meantime.
    """
    try:
        labels = make_labels(rows)
    except TargetsError as error:
        raise Refused(str(error)) from error
    table = TargetTable(study=study, rows=labels.rows, sha256=labels.hash(), reason=reason.strip())
    return table.write(by=by, based_on=based_on)


MAX_TARGETS = 200
MAX_VALUES = 500
MAX_TARGET_LENGTH = 100


@transaction.atomic
def save_mapping(
    *, study: Study, rows: Rows, reason: str, by: trail.Actor, based_on: int | None = None
) -> tuple[MappingTable, list[str]]:
    """Store the study's next mapping, and return it with warnings. Earlier ones are kept, and figures name the mapping they use.

    ``rows`` is {target: {"self": [value, …], "dominant": [value, …]}}; ``based_on`` is the number of the mapping that the person
    saw, 0 for the published one. Raises ``Refused`` if there is no reason, if a value is in both lists of a target, if the mapping
    counts in the same way as the one in force, or if somebody else has saved another mapping in the meantime.
    """
    tidied = _tidy_rows(rows)
    canonical = json.dumps(tidied, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    sha256 = hashlib.sha256(canonical.encode()).hexdigest()
    table = MappingTable(study=study, rows=tidied, sha256=sha256, reason=reason.strip())
    newest = table.find_latest(based_on)
    before = find_rows(study)
    if not (compare_rows(before, tidied) or list_new_targets(before, tidied) or list_new_targets(tidied, before)):
        name = newest or "the published mapping (Table 12)"
        raise Refused(f"This gives the same counts as {name}. Nothing has changed.")
    return table.store_after(newest, by=by), _list_warnings(study, tidied)


def _tidy_rows(rows: Rows) -> dict[str, dict[str, list[str]]]:
    """The rows without white space around values, and without empty or repeated values. Raises ``Refused``."""
    if len(rows) > MAX_TARGETS:
        raise Refused(f"A mapping can have up to {MAX_TARGETS} targets; this one has {len(rows):,}.")
    try:
        check_rows(rows)
    except MappingError as error:
        raise Refused(str(error)) from error
    for target in rows:
        if name_value(target) == OVERALL:
            raise Refused(
                "Overall is the score over all texts and cannot be a target. Remove its row or give it another name."
            )
        if "\x00" in target or len(target.strip()) > MAX_TARGET_LENGTH:
            raise Refused(f"A target is plain text of up to {MAX_TARGET_LENGTH} characters, as the texts name it.")
    return {
        target.strip(): {kind: _tidy_values(target, lists.get(kind, ())) for kind in ("self", "dominant")}
        for target, lists in rows.items()
    }


def _tidy_values(target: str, values: Sequence[str]) -> list[str]:
    kept: dict[str, str] = {}
    for value in values:
        if "\x00" in value or len(value.strip()) > MAX_VALUE_LENGTH:
            raise Refused(f"{target}: a value is plain text of up to {MAX_VALUE_LENGTH} characters, one per line.")
        if value.strip():
            kept.setdefault(name_value(value), value.strip())
    if len(kept) > MAX_VALUES:
        raise Refused(f"{target}: a list can have up to {MAX_VALUES} values; this one has {len(kept):,}.")
    return list(kept.values())


def _list_warnings(study: Study, rows: Rows) -> list[str]:
    known = set(Text.objects.filter(dataset__study=study).values_list("target", flat=True).distinct().order_by())
    known = {name_value(target) for target in known}
    warnings = [
        f"No text in the study has the target {target}, so this row has no effect yet."
        for target in rows
        if name_value(target) not in known
    ]
    warnings += [
        f"{target}: the list of {kind} values is empty, so that cell has no figure."
        for target, kind in list_empty(rows)
    ]
    return warnings
