"""A sentence that a machine labelled, as pages show it: its words, its turn and the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from auditapp.preannotation.models import Suggestion
from auditapp.preannotation.suggestions.queries.boundary_edits import find_current_sentences
from transcripts.corpus.models import Sentence
from transcripts.corpus.queries import read_questions

# A longer one is folded, so that it does not push the sentence away.
SHORT_QUESTION = 280


def read_passages(suggestions: Sequence[Suggestion]) -> dict[int, dict[str, Any]]:
    """By suggestion, what ``agreement/_item.html`` shows of its sentence; and its ``quote``, "" where it has none.

    After a boundary edit it is the sentence that holds the words of the suggestion now; ``is_unplaced``: no single
    sentence does, so the sentence is shown as the machine had it. Reads suggestion.sentence.turn.interview; two queries
    for the questions, two more after boundary edits.
    """
    questions = read_questions({each.sentence.turn_id: each.sentence.turn for each in suggestions}.values())
    current = find_current_sentences(suggestions)
    return {each.pk: _cut(each, current[each.pk], questions.get(each.sentence.turn_id, "")) for each in suggestions}


def _cut(suggestion: Suggestion, current: Sentence | None, question: str) -> dict[str, Any]:
    sentence, text = current or suggestion.sentence, suggestion.sentence.turn.text
    quote = ""
    if suggestion.quote_start is not None and suggestion.quote_end is not None:
        quote = text[suggestion.quote_start : suggestion.quote_end]
    return {
        "sentence": sentence,
        "interview": sentence.turn.interview,
        "unit": "sentence",
        "question": question,
        "is_question_short": len(question) <= SHORT_QUESTION,
        "before": text[: sentence.start],
        "text": text[sentence.start : sentence.end],
        "after": text[sentence.end :],
        "quote": quote,
        "is_unplaced": current is None,
    }
