"""The sentences of imported texts, by where they stand in the source."""

from __future__ import annotations

from collections.abc import Sequence

from transcripts.corpus.models import Sentence, Turn
from transcripts.exchange.pure.refi_places import PlacedSentence, PlacedText
from transcripts.exchange.pure.refi_texts import DividedText
from transcripts.projects.models import Project

IDS_AT_A_TIME = 500


class TextIndex:
    """Finds the interviews of divided texts, and in each the sentences of the source's characters."""

    def __init__(self, project: Project, divided: Sequence[DividedText]) -> None:
        names = [each.external_id for each in divided]
        self._ids: dict[str, int] = {}
        for first in range(0, len(names), IDS_AT_A_TIME):
            found = project.interviews.filter(external_id__in=names[first : first + IDS_AT_A_TIME])
            self._ids |= dict(found.values_list("external_id", "pk"))

    def find_interview(self, divided: DividedText) -> int:
        """The number of a text's interview."""
        return self._ids[divided.external_id]

    def read(self, divided: DividedText, text: str) -> PlacedText:
        """The sentences of a text: two queries."""
        interview_id = self.find_interview(divided)
        turns = Turn.objects.filter(interview=interview_id).values_list("pk", "position")
        shift_of = {pk: divided.turns[position - 1][0] for pk, position in turns}
        rows = Sentence.objects.current().filter(turn__interview=interview_id)
        spans = rows.order_by().values_list("pk", "turn_id", "start", "end")
        return PlacedText(
            text,
            (
                PlacedSentence(shift_of[turn] + start, shift_of[turn] + end, pk, turn, shift_of[turn])
                for pk, turn, start, end in spans
            ),
        )
