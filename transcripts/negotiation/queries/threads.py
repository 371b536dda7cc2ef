"""Where threads hang together: what one begins with, and with which it is paired."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import Q

from transcripts.blinding.viewers import Viewer
from transcripts.corpus.models import Interview, Turn
from transcripts.negotiation.models import Pair
from transcripts.negotiation.queries.cases import PairView, list_pairs


def read_beginning(interview: Interview) -> dict[int, int]:
    """The threads before ``interview``, by number, each with the position of the last turn that belongs to its beginning.

    Empty where it hangs on none. A query for each thread before it.
    """
    ends: dict[int, int] = {}
    above = interview.hangs_on_id
    while above is not None:
        turn = Turn.objects.select_related("interview").get(pk=above)
        if turn.interview_id in ends:
            break
        ends[turn.interview_id] = turn.position
        above = turn.interview.hangs_on_id
    return ends


class Other(NamedTuple):
    """The other thread of a pair; what differs and is expected may be shown where the pair is open."""

    view: PairView
    interview: Interview


def list_other_threads(viewer: Viewer, interview: Interview) -> list[Other]:
    """The other thread of each pair of the interview, where the pair is open to the viewer."""
    pairs = Pair.objects.active().filter(Q(a=interview) | Q(b=interview), study=viewer.study)
    return [
        Other(view, view.pair.b if view.pair.a_id == interview.pk else view.pair.a)
        for view in list_pairs(viewer, pairs)
        if view.is_open
    ]
