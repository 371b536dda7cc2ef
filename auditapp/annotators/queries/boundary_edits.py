"""How boundary edits changed sentences and where machines' answers about them now belong; and a sentence that a machine
labelled, as pages show it.

Suggestions stay at the sentence they were made for. If the words of a suggestion (its quote or, without a quote, its whole
sentence) are inside one current sentence, it is shown at that sentence. Any other suggestion is shown nowhere, but counted. A
suggestion for a whole turn is shown at the first sentence of the turn.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from auditapp.annotators.models import Annotator, Suggestion
from transcripts.codebook.models import CodeFamily
from transcripts.corpus.models import BoundaryEdit, Sentence
from transcripts.corpus.pure.boundaries import EditedSentence, EditedTurn, Extent
from transcripts.corpus.queries import read_questions
from transcripts.studies.models import Study

AT_A_TIME = 5_000
# Coder, sentence, the suggestions shown, and when.
Look = tuple[int, int, Sequence[int], datetime.datetime]


def read_edited_turns(study_id: int) -> dict[int, EditedTurn]:
    """The turns of a study with boundary edits, with all of their current and retired sentences. One query."""
    edited = BoundaryEdit.objects.filter(turn__interview__study=study_id).order_by().values("turn")
    return _gather(Sentence.objects.filter(turn__in=edited))


def read_turns(turn_ids: Collection[int]) -> dict[int, EditedTurn]:
    """These turns with all of their current and retired sentences. One query for each few thousand turns."""
    found: dict[int, EditedTurn] = {}
    ids = sorted(turn_ids)
    for first in range(0, len(ids), AT_A_TIME):
        found |= _gather(Sentence.objects.filter(turn__in=ids[first : first + AT_A_TIME]))
    return found


def _gather(sentences: QuerySet[Sentence]) -> dict[int, EditedTurn]:
    found: dict[int, list[EditedSentence]] = {}
    columns = ("turn_id", "pk", "start", "end", "made_by_id", "retired_by_id")
    for turn, *row in sentences.order_by().values_list(*columns):
        found.setdefault(turn, []).append(EditedSentence(*row))
    return {turn: EditedTurn(sentences) for turn, sentences in found.items()}


def find_words(suggestion: Suggestion) -> Extent:
    """The words that determine where a suggestion is shown: its quote, or its whole sentence; for a whole turn, its first
    character. Reads suggestion.sentence and suggestion.code.family."""
    if suggestion.code.family.unit == CodeFamily.Unit.TURN:
        return Extent(suggestion.sentence.start, suggestion.sentence.start + 1)
    if suggestion.quote_start is not None and suggestion.quote_end is not None:
        return Extent(suggestion.quote_start, suggestion.quote_end)
    return Extent(suggestion.sentence.start, suggestion.sentence.end)


def find_current_sentences(suggestions: Iterable[Suggestion]) -> dict[int, Sentence | None]:
    """By number of the suggestion: the sentence at which it is shown now, ``None`` if it is shown nowhere. Reads
    suggestion.sentence.turn.

    Two queries if boundaries were edited, else none.
    """
    rows = list(suggestions)
    turns = read_turns({each.sentence.turn_id for each in rows if each.sentence.retired_by_id is not None})
    places = {
        each.pk: turns[each.sentence.turn_id].find_place(find_words(each))
        for each in rows
        if each.sentence.retired_by_id is not None
    }
    wanted = {place for place in places.values() if place is not None}
    current = Sentence.objects.select_related("turn__interview").in_bulk(wanted) if wanted else {}
    return {each.pk: current.get(places[each.pk] or 0) if each.pk in places else each.sentence for each in rows}


def map_moved(suggestions: QuerySet[Suggestion]) -> dict[int, int | None]:
    """Those of these suggestions whose sentence is no longer current, by number: the sentence at which each is shown now, or
    None.

    One query, and another if there are any.
    """
    columns = (
        "pk",
        "sentence__turn_id",
        "sentence__start",
        "sentence__end",
        "quote_start",
        "quote_end",
        "code__family__unit",
    )
    rows = list(suggestions.filter(sentence__retired_by__isnull=False).order_by("pk").values_list(*columns))
    turns = read_turns({row[1] for row in rows})
    return {
        pk: turns[turn].find_place(
            Extent(start, start + 1)
            if unit == CodeFamily.Unit.TURN
            else Extent(start, end)
            if last is None
            else Extent(first, last)
        )
        for pk, turn, start, end, first, last, unit in rows
    }


def count_moved(
    annotator: Annotator, *, batch: int | None = None, interviews: Collection[int] | None = None
) -> dict[str, int]:
    """How many of the annotator's suggestions, in one batch or in some interviews, are for sentences that have been split or
    merged since, and how many of those are now shown elsewhere (``placed``) or nowhere (``unplaced``)."""
    suggestions = Suggestion.objects.filter(annotator=annotator)
    if interviews is not None:
        suggestions = suggestions.filter(sentence__turn__interview__in=interviews)
    if batch is not None:
        suggestions = suggestions.filter(cell__batch=batch)
    places = list(map_moved(suggestions).values())
    unplaced = places.count(None)
    return {"total": len(places), "placed": len(places) - unplaced, "unplaced": unplaced}


def follow_looks(study_id: int, looks: Iterable[Look]) -> Iterator[Look]:
    """Each look at suggestions, placed at the sentences that contain the words of the sentence looked at now. One query."""
    gone = {
        pk: turn.list_touched(each.extent)
        for turn in read_edited_turns(study_id).values()
        for pk, each in turn.sentences.items()
        if each.retired_by is not None
    }
    for coder, sentence, suggestions, at in looks:
        for place in gone.get(sentence, [sentence]):
            yield coder, place, suggestions, at


def match_current(sentence_ids: Collection[int], moved: Mapping[int, int | None]) -> Q:
    """The suggestions that are shown at these sentences, including those of ``moved``."""
    wanted = set(sentence_ids)
    return Q(sentence__in=wanted) | Q(pk__in=[pk for pk, place in moved.items() if place in wanted])


def add_edited(study: Study, sentence_ids: Collection[int]) -> set[int]:
    """These sentences, and current sentences that contain any of their words. People's codings were migrated there, so
    training on the old sentences is training on these. Only one query if no boundary was edited."""
    found = set(sentence_ids)
    for turn in read_edited_turns(study.pk).values():
        for pk in found & turn.sentences.keys():
            if turn.sentences[pk].retired_by is not None:
                start, end = turn.sentences[pk].extent
                found |= {each.pk for each in turn.sentences.values() if each.start < end and start < each.end}
    return found


# A longer one is folded, so that it does not push the sentence away.
SHORT_QUESTION = 280


def read_passages(suggestions: Sequence[Suggestion]) -> dict[int, dict[str, Any]]:
    """By suggestion, what ``agreement/_item.html`` shows of its sentence; and its ``quote``, "" if it has none.

    After a boundary edit, this is the sentence that now contains the words of the suggestion; ``is_unplaced``: no single sentence
    contains them, so the sentence is shown as it was when the machine annotated it. Reads suggestion.sentence.turn.interview; two
    queries for the questions, two more after boundary edits.
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
