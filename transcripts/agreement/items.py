"""Units with the readings of their coders, as pages show them: the words, the question before, the codes, the notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from transcripts.accounts.models import User
from transcripts.agreement.letters import name_letter, order_readings
from transcripts.codebook.models import Code, CodeFamily
from transcripts.coding.models import Coding, Layer, Memo
from transcripts.corpus.models import Interview, Sentence
from transcripts.corpus.queries import read_questions

if TYPE_CHECKING:
    from transcripts.coding.blind import BlindTable


SHORT_QUESTION = 280
Place = tuple[int, dict[int, tuple[str, ...]]]
"""A unit by its sentence, and what each coder read in it: the codes by the coder's number."""


@dataclass
class Item:
    """A unit as a page shows it. ``before`` and ``after`` are the rest of the turn around the sentence.

    ``readings`` are what the templates show of each: the coder, a letter that stands for her, her codes, and whether the
    reading is the viewer's own.
    """

    sentence: Sentence
    unit: str
    question: str
    before: str
    text: str
    after: str
    readings: list[dict[str, object]]
    memo: str

    @property
    def is_question_short(self) -> bool:
        """Whether the question can stand before the words without pushing them away."""
        return len(self.question) <= SHORT_QUESTION

    @property
    def interview(self) -> Interview:
        return self.sentence.turn.interview


def list_places(table: BlindTable, places: Iterable[int]) -> list[Place]:
    """The units at these places of a table, with their readings."""
    return [(int(table.sentence_ids[place]), table.list_readings(place)) for place in places]


def read_items(family: CodeFamily, places: Sequence[Place], *, viewer: User) -> list[Item]:
    """What a page shows of these units, in their order: six queries, whatever their number."""
    rows = Sentence.objects.select_related("turn__interview").in_bulk([sentence_id for sentence_id, _ in places])
    sentences = [rows[sentence_id] for sentence_id, _ in places]
    coders = User.objects.in_bulk({coder for _, readings in places for coder in readings})
    codes = {code.identifier: code for code in family.codes.select_related("family").order_by("position")}
    questions = read_questions({sentence.turn_id: sentence.turn for sentence in sentences}.values())
    put = _read_codings(family, places, sentences)
    memos = dict(Memo.objects.active().filter(sentence__in=rows, author=viewer).values_list("sentence", "text"))
    items = []
    for (_, readings), sentence in zip(places, sentences, strict=True):
        before, text, after = _cut(sentence, family.unit)
        shown: list[dict[str, object]] = [
            {
                "coder": coders[reading.coder],
                "letter": name_letter(number),
                "codes": [
                    _show_code(codes.get(code), code, put.get((sentence.pk, reading.coder, code), ("", "", "")))
                    for code in reading.codes
                ],
                "is_own": reading.coder == viewer.pk,
            }
            for number, reading in enumerate(order_readings(sentence.pk, readings))
        ]
        question = questions.get(sentence.turn_id, "")
        items.append(Item(sentence, family.unit, question, before, text, after, shown, memos.get(sentence.pk, "")))
    return items


def _show_code(code: Code | None, identifier: str, given: tuple[str, str, str]) -> dict[str, object]:
    """A code as a coder applied it to a unit, with its level, its enactment and her note."""
    level, enactment, note = given
    name = code.name if code else identifier
    return {"code": code, "name": name, "level": level, "enactment": enactment, "note": note}


def _cut(sentence: Sentence, unit: str) -> tuple[str, str, str]:
    """The turn as what comes before, the unit's own words, and what comes after. An interview shows none of itself."""
    text = sentence.turn.text
    if unit == CodeFamily.Unit.SENTENCE:
        return text[: sentence.start], text[sentence.start : sentence.end], text[sentence.end :]
    return "", text if unit == CodeFamily.Unit.TURN else "", ""


def _read_codings(
    family: CodeFamily, places: Sequence[Place], sentences: Sequence[Sentence]
) -> dict[tuple[int, int, str], tuple[str, str, str]]:
    """Level, enactment and note of the blind codings, by sentence, coder and code: what stands, or stood last."""
    coders = {coder for _, readings in places for coder in readings}
    rows = Coding.objects.filter(coder__in=coders, layer=Layer.BLIND)
    if family.unit == CodeFamily.Unit.SENTENCE:
        rows, keys = rows.filter(sentence__in=sentences), {each.pk: each.pk for each in sentences}
        key = "sentence"
    elif family.unit == CodeFamily.Unit.TURN:
        keys, key = {each.turn_id: each.pk for each in sentences}, "sentence__turn"
        rows = rows.filter(sentence__turn__in=keys, code__family__unit=family.unit)
    else:
        keys, key = {each.turn.interview_id: each.pk for each in sentences}, "sentence__turn__interview"
        rows = rows.filter(sentence__turn__interview__in=keys, code__family__unit=family.unit)
    found: dict[tuple[int, int, str], tuple[str, str, str]] = {}
    columns = ("coder", "code__identifier", "level", "enactment", "note", "withdrawn_at", key)
    for coder, code, level, enactment, note, withdrawn, where in rows.order_by("pk").values_list(*columns):
        place = (keys[where], coder, code)
        if withdrawn is None or place not in found:
            found[place] = (level, enactment, note)
    return found
