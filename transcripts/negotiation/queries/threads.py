"""Where a thread begins: in the threads that it hangs on, up to the turn where it leaves each."""

from __future__ import annotations

from transcripts.corpus.models import Interview, Turn


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
