"""What a command says of a launch before anything is sent."""

from __future__ import annotations

from auditapp.batches.models import Batch
from auditapp.preannotation.models import Annotator

BY = {Annotator.Mode.FAMILY: "by family", Annotator.Mode.CODE: "by code"}


def tell_launch(batch: Batch) -> str:
    """Who is asked, under which number, how, and how many cells there are."""
    annotator = Annotator.objects.get(pk=batch.parameters["annotators"][0])
    cells = batch.cells.count()
    reads = "what is said and what is implied" if annotator.reads_latent else "only what is said"
    return (
        f"Batch {batch.pk}: {annotator.name} number {annotator.number}, asked {BY[Annotator.Mode(annotator.mode)]}, reads "
        f"{reads}: {cells:,} cell{'' if cells == 1 else 's'}."
    )
