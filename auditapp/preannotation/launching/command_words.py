"""What a command says of a launch before anything is sent."""

from __future__ import annotations

from auditapp.batches.models import Batch
from auditapp.preannotation.annotators.queries.planted import find_planted
from auditapp.preannotation.annotators.runner.kind import KIND
from auditapp.preannotation.evaluation.queries.check_state import tell_checked_in_words
from auditapp.preannotation.models import Annotator

BY = {Annotator.Mode.FAMILY: "by family", Annotator.Mode.CODE: "by code"}


def tell_launch(batch: Batch) -> str:
    """Who is asked, under which number, how, how many cells there are, what is asked again, and whether it was checked
    (a check asks nothing again and is one)."""
    annotator = Annotator.objects.select_related("project").get(pk=batch.parameters["annotators"][0])
    cells = batch.cells.count()
    reads = "what is said and what is implied" if annotator.reads_latent else "only what is said"
    told = (
        f"Batch {batch.pk}: {annotator.name} number {annotator.number}, asked {BY[Annotator.Mode(annotator.mode)]}, reads "
        f"{reads}: {cells:,} cell{'' if cells == 1 else 's'}."
    )
    if batch.kind != KIND:
        return told
    return f"{told} {_tell_again(batch)} {tell_checked_in_words(annotator)}"


def _tell_again(batch: Batch) -> str:
    turns, planted = batch.parameters["asked_again"], find_planted(batch.project).count()
    again = f"{turns:,} turn{'' if turns == 1 else 's'} of them asked again" if turns else "nothing is asked again"
    return (
        f"{again[:1].upper()}{again[1:]}; {planted or 'no'} planted sentence{'' if planted == 1 else 's'} in the study."
    )
