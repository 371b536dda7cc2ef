"""A sentence that a machine labelled, as a page shows it to whoever may see that: its words, its turn, the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from auditapp.preannotation.models import Suggestion
from auditapp.preannotation.suggestions.queries.boundary_edits import find_standing
from transcripts.corpus.models import Interview, Sentence
from transcripts.corpus.queries import read_questions

SHORT_QUESTION = 280


class Passage(NamedTuple):
    """A sentence in its turn. ``quote`` is the machine's evidence, "" where it gave none.

    Where breaks were corrected since, it is the sentence that holds the words of the suggestion now; ``is_unplaced``: no
    one sentence does, so it is shown as it was cut when the machine read it.
    """

    sentence: Sentence
    question: str
    before: str
    text: str
    after: str
    quote: str
    unit: str = "sentence"
    is_unplaced: bool = False

    @property
    def is_question_short(self) -> bool:
        """Whether the question can stand before the words without pushing them away."""
        return len(self.question) <= SHORT_QUESTION

    @property
    def interview(self) -> Interview:
        return self.sentence.turn.interview


def read_passages(suggestions: Sequence[Suggestion]) -> dict[int, Passage]:
    """By suggestion. Reads suggestion.sentence.turn.interview; two queries for the questions, two more where breaks were
    corrected."""
    questions = read_questions({each.sentence.turn_id: each.sentence.turn for each in suggestions}.values())
    standing = find_standing(suggestions)
    return {each.pk: _cut(each, standing[each.pk], questions.get(each.sentence.turn_id, "")) for each in suggestions}


def _cut(suggestion: Suggestion, standing: Sentence | None, question: str) -> Passage:
    sentence, text = standing or suggestion.sentence, suggestion.sentence.turn.text
    quote = ""
    if suggestion.quote_start is not None and suggestion.quote_end is not None:
        quote = text[suggestion.quote_start : suggestion.quote_end]
    start, end = sentence.start, sentence.end
    before, words, after = text[:start], text[start:end], text[end:]
    return Passage(sentence, question, before, words, after, quote, is_unplaced=standing is None)
