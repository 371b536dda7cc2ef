"""Models compared on the questions that several of them were asked in the same words.

Two answers are to the same question where all that the interviewer said so far, and the system prompt, are the same words.
Answers of interviews that begin with the same words lie in one case. Two models are compared question by question, each person's
readings with her own alone, and what is independent is the case: docs/reference/method.md.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from transcripts.analysis.themes.pure.presence import Heading
from transcripts.charts.figures import RowChart
from transcripts.formats.comparisons import (
    Share,
    Sides,
    compare_sides,
    declare_comparisons,
    describe_comparisons,
    draw_comparisons,
    name_apart,
    take_share,
)
from transcripts.formats.problems import show_count
from transcripts.statistics.figures import explain_marks

NOTHING_ASKED_ALIKE = (
    "No two models were asked the same question after the same words, so nothing can be compared question by question. Interviews "
    "that were held by one script, or begin with the same opening, can be."
)
NOTHING_READ_ALIKE = (
    "Nobody has decided answers of two models to the same question, so there is nothing to compare yet. An answer is decided when "
    "each of its sentences is coded or finished."
)
ONE_MODEL = "The interviews are with fewer than two models, as far as these are known."


class Said(NamedTuple):
    """A turn as far as it says what was asked: ``words`` are those of the interviewer, or of a prompt that ``is_system``, None
    where the model speaks; ``sentences`` are then those of the answer."""

    words: str | None
    sentences: tuple[int, ...] = ()
    is_system: bool = False


class Answer(NamedTuple):
    """What a model said to a question. ``question`` is the same where all that was said before is, system prompt and condition
    included; ``case`` where the interviewer began with the same words, under whatever condition. ``is_whole``: it is all that the
    model said in an interview."""

    model: str
    case: str
    question: str
    sentences: tuple[int, ...]
    is_whole: bool = False


def read_answers(model: str, begins: Sequence[str], turns: Iterable[Said]) -> Iterator[Answer]:
    """The answers of an interview, and last all it says as one answer. ``begins``: what distinguishes interviews before anything is
    said, such as the condition, and an opening prompt that is kept apart. What is said before any question is no answer."""
    opening = begins[-1] if begins else ""
    chain, case, has_question = _hash("", "\n".join(begins)), _hash("", opening) if opening else "", bool(opening)
    answers: list[Answer] = []
    for words, sentences, is_system in turns:
        if words is not None:
            chain, has_question = _hash(chain, words), True
            if not (answers or is_system):
                case = _hash(case, words)
        elif has_question and answers and answers[-1].question == chain:
            answers[-1] = answers[-1]._replace(sentences=answers[-1].sentences + sentences)
        elif has_question:
            answers.append(Answer(model, case, chain, sentences))
    yield from answers
    if answers:
        every = tuple(sentence for answer in answers for sentence in answer.sentences)
        yield Answer(model, case, chain, every, is_whole=True)


def _hash(before: str, words: str) -> str:
    """White space makes no difference."""
    return hashlib.sha256(f"{before}\n{' '.join(words.split())}".encode()).hexdigest()


class Row(NamedTuple):
    """A theme or a code, with the identifiers of its codes. ``deciding``: codes of turns or interviews of the same families: one on
    an answer decides it. ``is_whole``: its codes are of whole interviews."""

    heading: Heading
    deciding: frozenset[str] = frozenset()
    is_whole: bool = False


class Readings(NamedTuple):
    """What people read: by coder the sentences that each has decided; by coder and code those that have the code, and those where
    it counts: of a move, where it is enacted."""

    decided: Mapping[int, set[int]]
    applied: Mapping[tuple[int, str], set[int]]
    counted: Mapping[tuple[int, str], set[int]]

    @property
    def coders(self) -> set[int]:
        return {*self.decided, *(coder for coder, _ in self.applied)}


def compare_models(answers: Sequence[Answer], rows: Sequence[Row], readings: Readings) -> dict[str, Any]:
    """Every two models, for every row: how large a share of their answers to the same questions has it.

    A unit is a question as one person read it; the answers of a model to it that she has decided are averaged. Rows are those of
    ``compare_sides`` with ``readings`` (units) and ``cases``, one family; a row that neither model has is no part of it. ``asked``
    counts questions that two models or more were asked, ``apart`` has a sentence for each two without a common one, and ``why``
    says why there is no comparison at all.
    """
    models = sorted({answer.model for answer in answers})
    asked: dict[tuple[str, bool], set[str]] = defaultdict(set)
    for answer in answers:
        asked[answer.question, answer.is_whole].add(answer.model)
    shared = [answer for answer in answers if len(asked[answer.question, answer.is_whole]) > 1]
    clusters = {(answer.question, coder): answer.case for answer in shared for coder in readings.coders}
    decided = {
        coder: {
            place for place, answer in enumerate(shared) if answer.sentences and sentences.issuperset(answer.sentences)
        }
        for coder, sentences in readings.decided.items()
    }
    family, compared = [], []
    for row in rows:
        shares = _share(row, shared, decided, readings)
        sides = [
            Sides(
                {"row": row.heading.key, "name": row.heading.name},
                one,
                other,
                shares.get(one, {}),
                shares.get(other, {}),
            )
            for one, other in combinations(models, 2)
        ]
        compared += sides
        family += [each for each in sides if _occurs(each)]
    found = compare_sides(family, "cases", units="readings", clusters=clusters)
    questions = {question for (question, is_whole), who in asked.items() if len(who) > 1 and not is_whole}
    is_joined = any(each.common for each in compared)
    return {
        "models": models,
        "asked": len(questions),
        "comparisons": found,
        "apart": name_apart(compared, "no decided answers to a common question") if is_joined else [],
        "why": "" if is_joined else _explain_nothing(models, asked, rows),
        "unused": len({each.about["row"] for each in compared}) - len({each["row"] for each in found}),
    }


def _share(
    row: Row, answers: Sequence[Answer], decided: Mapping[int, Collection[int]], readings: Readings
) -> dict[str, dict[tuple[str, int], Share]]:
    """By model and unit, the share of the decided answers that has one of the codes of a row."""
    counts: dict[str, dict[tuple[str, int], list[bool]]] = defaultdict(lambda: defaultdict(list))
    for coder in readings.coders:
        having = _gather(readings.counted, coder, row.heading.members)
        deciding = _gather(readings.applied, coder, row.deciding)
        through = decided.get(coder, ())
        for place, answer in enumerate(answers):
            if answer.is_whole != row.is_whole:
                continue
            if place in through or not deciding.isdisjoint(answer.sentences):
                counts[answer.model][answer.question, coder].append(not having.isdisjoint(answer.sentences))
    return {model: {unit: take_share(each) for unit, each in units.items()} for model, units in counts.items()}


def _gather(sentences: Mapping[tuple[int, str], set[int]], coder: int, codes: Iterable[str]) -> set[int]:
    return set().union(*(sentences.get((coder, code), ()) for code in codes))


def _occurs(sides: Sides) -> bool:
    return any(sides.first_shares[unit] or sides.second_shares[unit] for unit in sides.common)


def _explain_nothing(
    models: Sequence[str], asked: Mapping[tuple[str, bool], Collection[str]], rows: Sequence[Row]
) -> str:
    if len(models) < 2:
        return ONE_MODEL
    wanted = {row.is_whole for row in rows}
    is_asked = any(len(who) > 1 and is_whole in wanted for (_, is_whole), who in asked.items())
    return NOTHING_READ_ALIKE if is_asked else NOTHING_ASKED_ALIKE


def describe_models(report: Mapping[str, Any]) -> Iterator[str]:
    """The comparisons as lines for a terminal."""
    asked, interviews = show_count(report["asked"], "question"), show_count(report["interviews"], "interview")
    yield f"{interviews} with a known model; {asked} asked of two models or more."
    yield from describe_comparisons(report["comparisons"], "cases", lambda each: str(each["name"]))
    yield from filter(None, [report["why"], *report["notes"]])
    yield from explain_marks((each["mark"] for each in report["comparisons"]), "cases")


def draw_models(rows: Sequence[Mapping[str, Any]], missing: str) -> RowChart:
    """The comparisons as a chart."""
    return draw_comparisons(
        rows,
        "cases",
        lambda each: str(each["name"]),
        key="compared",
        title="Differences between two shares of answers to the same questions, with 95 % intervals",
        missing=missing,
        by_pair=len({(each["first"], each["second"]) for each in rows}) == 1,
    )


COMPARISONS = declare_comparisons(
    "Two models on the questions that both were asked in the same words: shares of answers with a code or a theme, first minus "
    "second.",
    "row name",
    "cases",
    units="readings",
    heads={"row": "Code or theme", "name": "Name", "readings": "Readings"},
)
