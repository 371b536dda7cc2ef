"""How far the reading is, in counts of sentences the model says.

The tables of codings and decisions are read by name: their room is above this one, because it asks here whether an
interview is open. A sentence counts as decided as the desk counts it: with a decision, or with a coding of a family of
sentences.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from django.db import connection

from transcripts.formats.numbers import round_percent

TOTALS = """
SELECT t.interview_id, COUNT(*) AS number
FROM corpus_turn t JOIN corpus_sentence s ON s.turn_id = t.id
WHERE t.interview_id IN (:interviews) AND t.is_answer AND s.retired_by_id IS NULL
GROUP BY t.interview_id
"""
# How many each person decided, and when she added the last label.
LABELLED = """
SELECT interview_id, coder_id, COUNT(DISTINCT sentence_id) AS number, MAX(made) FROM (
  SELECT t.interview_id, d.coder_id, s.id AS sentence_id, d.created_at AS made
  FROM corpus_turn t
  JOIN corpus_sentence s ON s.turn_id = t.id
  JOIN coding_decision d ON d.sentence_id = s.id AND d.withdrawn_at IS NULL
  WHERE t.interview_id IN (:interviews) AND t.is_answer AND s.retired_by_id IS NULL
    :one
  UNION ALL
  SELECT t.interview_id, d.coder_id, s.id, d.created_at
  FROM corpus_turn t
  JOIN corpus_sentence s ON s.turn_id = t.id
  JOIN coding_coding d ON d.sentence_id = s.id AND d.withdrawn_at IS NULL
  JOIN codebook_code k ON k.id = d.code_id
  JOIN codebook_codefamily f ON f.id = k.family_id
  WHERE t.interview_id IN (:interviews) AND t.is_answer AND s.retired_by_id IS NULL
    AND f.unit = 'sentence' :one
) labelled GROUP BY interview_id, coder_id
"""
# Both in one query; rows without a coder are totals.
BOTH = """
SELECT interview_id, NULL, number FROM (:totals) totals
UNION ALL
SELECT interview_id, coder_id, number FROM (:labelled) counted
"""
INTERVIEWS_AT_A_TIME = 500


class Progress(NamedTuple):
    """Of how many sentences of an interview a coder has decided."""

    decided: int
    total: int

    @property
    def undecided(self) -> int:
        return self.total - self.decided

    @property
    def percent(self) -> int:
        """Whole per cent; 100 means all."""
        return round_percent(self.decided, self.total, of_nothing=100)


class ProgressTable:
    """The progress of every coder in some interviews."""

    def __init__(self, totals: dict[int, int], decided: dict[tuple[int, int], int]) -> None:
        self._totals, self._decided = totals, decided

    def list_coders(self) -> set[int]:
        """Everybody who decided anything there."""
        return {coder for _, coder in self._decided}

    def find(self, interview_id: int, coder_id: int) -> Progress:
        return Progress(self._decided.get((interview_id, coder_id), 0), self._totals.get(interview_id, 0))


def read_progress(interview_ids: Collection[int], *, coder_id: int | None = None) -> ProgressTable:
    """Progress in these interviews: of everybody, or of one coder alone. One query for every 500."""
    totals: dict[int, int] = {}
    decided: dict[tuple[int, int], int] = {}
    ids = sorted(interview_ids)
    for start in range(0, len(ids), INTERVIEWS_AT_A_TIME):
        some = ids[start : start + INTERVIEWS_AT_A_TIME]
        places = ", ".join(["%s"] * len(some))
        one = [] if coder_id is None else [coder_id]
        condition = "" if coder_id is None else "AND d.coder_id = %s"
        both = BOTH.replace(":totals", TOTALS).replace(":labelled", LABELLED)
        sql = both.replace(":interviews", places).replace(":one", condition)
        with connection.cursor() as cursor:
            cursor.execute(sql, [*some, *some, *one, *some, *one])
            for interview, coder, number in cursor.fetchall():
                if coder is None:
                    totals[interview] = number
                else:
                    decided[interview, coder] = number
    return ProgressTable(totals, decided)
