"""What rounds add to the overview and to the list of interviews."""

from __future__ import annotations

from transcripts.corpus.listing import register_work_reader
from transcripts.rounds.closing import list_assigned
from transcripts.rounds.overview import place_all_work, read_notes, read_own_work
from transcripts.rounds.queries import read_work
from transcripts.studies.overview import register_card, register_note
from transcripts.studies.role_changes import register_leaving

register_card("rounds/_own_work_card.html", read_own_work, rank=10)
register_card("rounds/_all_work_card.html", place_all_work, rank=30)
register_note(read_notes)
register_leaving(list_assigned)
register_work_reader(read_work)
