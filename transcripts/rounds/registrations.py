"""What rounds add to the overview and to the list of interviews."""

from __future__ import annotations

from transcripts.hooks import closing_reviewed, interviews_listed, leaving_reviewed, on
from transcripts.rounds.actions import list_assigned, list_notes
from transcripts.rounds.queries import place_all_work, read_notes, read_own_work, read_work
from transcripts.studies.queries import Card, register_overview

on(closing_reviewed, list_notes)
on(leaving_reviewed, list_assigned)
on(interviews_listed, read_work)
register_overview(
    Card(10, "rounds/_own_work_card.html", read_own_work),
    Card(30, "rounds/_all_work_card.html", place_all_work),
    note=read_notes,
)
