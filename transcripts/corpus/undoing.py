"""Undoing the import of a file while nobody has worked with what it brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db import models, transaction
from django.db.models import Count

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.corpus.growing import count_grown
from transcripts.corpus.models import BoundaryEdit, ImportedFile, Interview, Sentence, Standing, Turn
from transcripts.corpus.standing import store_standings
from transcripts.projects.models import Project
from transcripts.refusals import Refused

# Plans, which say what is to be done with a text and nothing of it.
PLANS = {"rounds.assignment", "preannotation.turnarm"}
PATHS: dict[type[models.Model], str] = {Interview: "", Turn: "__interview", Sentence: "__turn__interview"}


class Work(NamedTuple):
    """How many records of a person, or of machines (""), there are on an interview."""

    person: str
    interview: str
    records: int


class UndoRefused(Refused):
    """Somebody has worked with the interviews; ``work`` says who and where, and nothing of what."""

    def __init__(self, work: list[Work]) -> None:
        self.work = work
        super().__init__("The import cannot be undone, because there is work on its interviews. Archive them instead.")


def count_work(file: ImportedFile) -> list[Work]:
    """What refers to the interviews of a file, their turns and sentences, by person and interview: labels, memos, quotes,
    suggestions and whatever else any room keeps, withdrawn or not. No label is told of."""
    found: Counter[tuple[str, int]] = Counter()
    for model, path in _list_references():
        owner = next((each.name for each in model._meta.fields if each.related_model is User), None)
        rows = model._base_manager.filter(**{f"{path}__imported_file": file}).order_by()  # noqa: SLF001
        columns = [f"{path}__pk", *([f"{owner}__username"] if owner else [])]
        for interview, *person, count in rows.values_list(*columns).annotate(count=Count("pk")):
            found[person[0] or "" if person else "", interview] += count
    titles = dict(file.interviews.values_list("pk", "title"))
    return [Work(person, titles[interview], count) for (person, interview), count in sorted(found.items())]


def _list_references() -> Iterator[tuple[type[models.Model], str]]:
    """Every model that refers to texts, once, with the path to the interview."""
    seen: set[Any] = {BoundaryEdit}
    yield BoundaryEdit, "turn__interview"
    for of, path in PATHS.items():
        for relation in of._meta.related_objects:
            model: Any = relation.related_model
            is_own = model._meta.app_label == Interview._meta.app_label
            if is_own or model in seen or relation.many_to_many or model._meta.label_lower in PLANS:
                continue
            seen.add(model)
            yield model, f"{relation.field.name}{path}"


@transaction.atomic
def undo_import(*, file: ImportedFile, by: User) -> int:
    """Take back what a file brought: its interviews are in no list and no archive, and the file can be imported again.

    The rows stay, for the history. Returns how many interviews there were. Raises ``UndoRefused``.
    """
    project = Project.objects.select_for_update(no_key=True).get(pk=file.project_id)
    if grown := count_grown(file):
        raise Refused(
            f"The import cannot be undone, because it added turns to {grown:,} interviews that were there before. Archive what "
            "it should not have brought."
        )
    stored = ImportedFile.objects.filter(pk=file.pk, state=ImportedFile.State.STORED)
    if not stored.update(state=ImportedFile.State.UNDONE):
        raise Refused("This import was undone before.")
    rows = Interview.objects.filter(imported_file=file, study=project).order_by("pk")
    interviews = list(rows.only("pk", "study", "project", "standing", "inclusion"))
    store_standings(interviews, to=Standing.UNDONE, reason="", by=by)
    if work := count_work(file):
        raise UndoRefused(work)
    trail.record(
        "corpus.import.undone",
        target=file,
        by=by,
        details={"sha256": file.sha256, "interviews": [row.pk for row in interviews]},
    )
    return len(interviews)
