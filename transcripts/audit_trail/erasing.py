"""Erasing what people typed, where somebody has a right to it. The trail keeps that there was a text, and when it went."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.db import models, transaction

from transcripts.audit_trail.models import AuditText
from transcripts.audit_trail.rows import ERASED, RecordedModel, list_changes, list_recorded
from transcripts.audit_trail.trail import Actor, read_entries, record, study_stream

ACTION = "audit.texts.erased"


class NothingToErase(Exception):
    """A sentence for the person who asked."""


@transaction.atomic
def erase_texts(row: str, *, reason: str, by: Actor) -> list[str]:
    """Erase the texts of a row ("coding.memo:12") and their copies beside the trail; returns the columns.

    Other rows are left as they are, also those that say the same: earlier versions of a memo, or a coding that a boundary
    edit made of another. Raises ``NothingToErase``.
    """
    recorded, stored = _find(row)
    held = [
        name for name in recorded.texts if getattr(stored, name) not in ("", ERASED, {})
    ]  # a dict is no member of a set
    if not held:
        raise NothingToErase(f"{row} holds no text.")
    emptied = {name: ERASED if isinstance(getattr(stored, name), str) else {} for name in held}
    recorded.model._base_manager.filter(pk=stored.pk).update(**emptied)  # noqa: SLF001
    stream = study_stream(_find_study(stored, recorded))
    hashes = _find_hashes(stream, row)
    AuditText.objects.filter(hash__in=list(hashes)).update(salt="", content="")
    details: dict[str, object] = {"columns": held, "hashes": sorted(hashes), "reason": reason}
    record(ACTION, target=row, by=by, stream=stream, details=details)
    return held


def _find(row: str) -> tuple[RecordedModel, models.Model]:
    label, _, key = row.partition(":")
    recorded = next((each for each in list_recorded() if each.label == label), None)
    if recorded is None:
        labels = ", ".join(each.label for each in list_recorded())
        raise NothingToErase(f"{row} is not a row with a text. Name one as MODEL:NUMBER, with a model of {labels}.")
    stored = recorded.model._base_manager.filter(pk=key).first() if key.isdecimal() else None  # noqa: SLF001
    if stored is None:
        raise NothingToErase(f"There is no {row}.")
    return recorded, stored


def _find_study(stored: models.Model, recorded: RecordedModel) -> int:
    path = recorded.study.replace(".", "__")
    found = recorded.model._base_manager.filter(pk=stored.pk).values_list(path, flat=True)  # noqa: SLF001
    return int(found[0])


def _find_hashes(stream: str, row: str) -> set[str]:
    """The hashes of everything that events say of the texts of a row. Reads the whole stream."""
    hashes: set[str] = set()
    for link, _, _ in read_entries(stream):
        if row in (details := str(link.details)):
            for change in list_changes(json.loads(details)):
                texts: Mapping[str, str] = change.get("texts", {}) if change["row"] == row else {}
                hashes.update(texts.values())
    return hashes
