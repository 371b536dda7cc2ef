"""Answers about sentences whose boundaries were edited since, followed to the current sentences, as arrays.

After a boundary edit a sentence counts as annotated if every word of it was in sentences that the answer named. A
suggestion belongs to the sentence that holds all of its words; about the other sentences with words of its old one the
answer says nothing for that code, because what it would say of the part alone is not known. Loads numpy; pages import this
inside functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditapp.preannotation.suggestions.pure.placing import EditedTurn
from transcripts.corpus.pure.boundaries import Extent

Numbers = NDArray[np.int64]
Turns = Mapping[int, EditedTurn]

# Suggestions for sentences that were retired since; `:origin` and `:critic` as in machine_labels.py.
MOVED = """
SELECT s.:origin, s.sentence_id, s.code_id, COALESCE(s.quote_start, -1), COALESCE(s.quote_end, -1)
FROM preannotation_suggestion s JOIN corpus_sentence g ON g.id = s.sentence_id AND g.retired_by_id IS NOT NULL
WHERE s.annotator_id = %s AND s.:origin IS NOT NULL :critic
"""


def list_retired(turns: Turns) -> Numbers:
    """The retired sentences of these turns, ascending."""
    gone = [pk for turn in turns.values() for pk, each in turn.sentences.items() if each.retired_by is not None]
    return np.array(sorted(gone), dtype=np.int64)


def follow_answers(order: Numbers, sentences: Numbers, turns: Turns) -> tuple[Numbers, Numbers]:
    """Which answer covers which sentence, with sentences made by boundary edits since; in the order of answers."""
    turn_of = {pk: turn for turn in turns.values() for pk in turn.sentences}
    concerned = np.isin(sentences, np.fromiter(turn_of, np.int64, len(turn_of)))
    answered_in: dict[tuple[int, EditedTurn], set[int]] = {}
    for answer, pk in zip(order[concerned].tolist(), sentences[concerned].tolist(), strict=True):
        answered_in.setdefault((answer, turn_of[pk]), set()).add(pk)
    covered: dict[tuple[EditedTurn, frozenset[int]], list[int]] = {}
    more: list[tuple[int, int]] = []
    for (answer, turn), answered in answered_in.items():
        # The answers about a turn, one for each family or code, mostly cover the same sentences.
        key = turn, frozenset(answered)
        if key not in covered:
            covered[key] = [each.pk for each in turn.made if turn.is_covered(each.pk, answered)]
        more += [(answer, pk) for pk in covered[key] if pk not in answered]
    if not more:
        return order, sentences
    added = np.array(more, dtype=np.int64)
    order, sentences = np.concatenate([order, added[:, 0]]), np.concatenate([sentences, added[:, 1]])
    in_time = np.argsort(order, kind="stable")
    return order[in_time], sentences[in_time]


def follow_suggestions(moved: Numbers, turns: Turns) -> tuple[Numbers, Numbers]:
    """Of the rows of ``MOVED``, as origin, current sentence and code: where each is read now, and where nothing is known."""
    turn_of = {pk: turn for turn in turns.values() for pk in turn.sentences}
    placed: list[tuple[int, int, int]] = []
    unknown: list[tuple[int, int, int]] = []
    for origin, sentence, code, first, last in moved.tolist():
        turn = turn_of[sentence]
        whole = turn.sentences[sentence].extent
        place = turn.find_place(whole if last < 0 else Extent(first, last))
        if place is not None:
            placed.append((origin, place, code))
        unknown += [(origin, each, code) for each in turn.list_touched(whole) if each != place]
    return _as_rows(placed), _as_rows(unknown)


def _as_rows(rows: list[Any]) -> Numbers:
    return np.array(rows, dtype=np.int64).reshape(-1, 3)
