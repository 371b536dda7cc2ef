"""Arguments of commands that name interviews."""

from __future__ import annotations

from collections.abc import Sequence

from transcripts.corpus.models import Interview
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.commands import Argument

INTERVIEW = Argument(
    "--interview",
    action="append",
    default=[],
    metavar="ID",
    help="an interview, by the identifier it was imported with; may be repeated (default: all)",
)


def find_interviews(study: Study, identifiers: Sequence[str]) -> list[Interview]:
    """The interviews of the study by their identifiers; all of them when none is named. Raises ``Refused``."""
    if not identifiers:
        return list(study.interviews.all())
    found = {each.external_id: each for each in study.interviews.filter(external_id__in=identifiers)}
    missing = sorted(set(identifiers) - set(found))
    if missing:
        named = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise Refused(f"There is no interview {named} in {study.slug}. Nothing was stored.")
    return list(found.values())
