"""What pages tell of suggestions whose sentences were cut anew."""

from __future__ import annotations

from auditapp.preannotation.evaluation.views.calibration_sight import find_seen
from auditapp.preannotation.models import Annotator
from auditapp.preannotation.suggestions.queries.boundary_edits import count_cut_anew
from transcripts.projects.access import ProjectRequest


def tell_cut_anew(request: ProjectRequest, annotator: Annotator, *, batch: int | None = None) -> dict[str, object]:
    """The counts, to whoever may code of the interviews she opened: few breaks are corrected, so that a count over all
    would tell her of single sentences that a machine put something there."""
    seen = find_seen(request)
    counts = count_cut_anew(annotator, batch=batch, interviews=seen)
    return {"cut_anew": counts, "is_of_opened": seen is not None}
