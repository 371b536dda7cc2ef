"""What rounds add to the overview and to the list of interviews."""

from __future__ import annotations

from transcripts.corpus.queries import register_work_reader
from transcripts.rounds.actions import list_assigned
from transcripts.rounds.queries import place_all_work, read_notes, read_own_work, read_work
from transcripts.studies.actions import register_leaving
from transcripts.studies.overview import register_card, register_note

register_card("rounds/_own_work_card.html", read_own_work, rank=10)
register_card("rounds/_all_work_card.html", place_all_work, rank=30)
register_note(read_notes)
register_leaving(list_assigned)
register_work_reader(read_work)
