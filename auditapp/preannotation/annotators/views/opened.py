"""The interviews that whoever looks at a page has opened, and what the page may tell of them."""

from __future__ import annotations

from auditapp.preannotation.models import Annotator
from auditapp.preannotation.suggestions.queries.boundary_edits import count_moved
from transcripts.blinding.viewers import get_viewer
from transcripts.projects.access import ProjectRequest


def tell_cut_anew(request: ProjectRequest, annotator: Annotator, *, batch: int | None = None) -> dict[str, object]:
    """The counts, to whoever may code of the interviews she opened: few breaks are corrected, so that a count over all
    would tell her of single sentences that a machine put something there."""
    seen = get_viewer(request).visible_interviews
    counts = count_moved(annotator, batch=batch, interviews=seen)
    return {"cut_anew": counts, "is_of_opened": seen is not None}
