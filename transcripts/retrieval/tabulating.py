"""The pages of counts: which rows and columns they have, and the search behind each cell."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from transcripts.codebook.models import CodeFamily
from transcripts.corpus.models import Interview, Turn
from transcripts.projects.models import Project
from transcripts.retrieval import counts
from transcripts.retrieval.asking import Search, Speaker, Together
from transcripts.retrieval.bars import BarChart, draw_bars
from transcripts.retrieval.bubbles import BubbleChart, draw_bubbles
from transcripts.retrieval.catalog import Catalog
from transcripts.retrieval.counts import Answers, Mark
from transcripts.retrieval.queries import Visibility
from transcripts.retrieval.score_sheet import Column, Picture, ScoreSheet, SheetCell, build_sheet, draw_sheet
from transcripts.retrieval.tables import Count, CountTable, Heading, Pair, PairTable

Sizes = Mapping[Hashable, Mapping[str, int]]


@dataclass(frozen=True)
class Wanted:
    """What a page of counts is about: one family of codes (or all), and whose codings."""

    project: Project
    catalog: Catalog
    family: str
    coder: str
    visibility: Visibility

    @property
    def headings(self) -> list[Heading]:
        """The codes as headings, those of the current version first."""
        codes = self.catalog.codes_in(self.family)
        return [Heading(code.identifier, code.name, code.family.identifier, code.family.unit) for code in codes]

    def search(self, *codes: str, **others: object) -> Search:
        """The search behind a count of these codes."""
        given = {"role": Speaker.MODEL.value, "coder": self.coder, **others}
        return Search(codes=codes, **given)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class CountCell:
    """A count, and the address of the sentences behind it."""

    count: Count
    heading: Heading
    query: str


class CountRow(NamedTuple):
    """An interview or a model with its counts."""

    name: str
    interview: Interview | None
    note: str
    cells: list[CountCell]


class CountPage(NamedTuple):
    """A table of counts, its totals and its picture."""

    headings: list[Heading]
    rows: list[CountRow]
    totals: list[CountCell]
    spread: list[str]
    chart: BarChart
    elsewhere: int
    answers: Answers
    interviews: int


class PairCell(NamedTuple):
    """Two codes together, and the address of the sentences."""

    one: Heading
    other: Heading
    pair: Pair
    query: str


class PairPage(NamedTuple):
    """A table of codes by codes."""

    headings: list[Heading]
    rows: list[tuple[Heading, list[PairCell]]]
    chart: BubbleChart
    by_turn: bool
    out_of: int


class SheetPage(NamedTuple):
    """One coder's score sheet of an interview."""

    coder: str
    sheet: ScoreSheet
    picture: Picture
    queries: dict[tuple[str, int], str]

    def query(self, heading: Heading, cell: SheetCell) -> str:
        return self.queries[heading.identifier, cell.column.turn]


def tabulate_by_interview(wanted: Wanted, interviews: Sequence[Interview]) -> CountPage:
    """Codes by interview: a row for each of ``interviews``, totals over the whole study."""
    answers = counts.count_answers(wanted.project, wanted.visibility)
    marks = list(_read_marks(wanted))
    sizes: Sizes = {pk: _sizes(said, 1) for pk, said in answers.items()}
    table = CountTable(wanted.headings, ((mark.interview_id, mark) for mark in marks), sizes)
    rows = []
    for interview in interviews:
        said = answers.get(interview.pk, Answers(0, 0))
        cells = [
            CountCell(table.count(interview.pk, each), each, _ask(wanted, each, interview=interview.pk))
            for each in table.headings
        ]
        rows.append(CountRow(interview.title, interview, _in_words(said), cells))
    totals = [table.total(heading) for heading in table.headings]
    return _finish(wanted, table, rows, answers, [("All interviews", totals)])


def tabulate_by_model(wanted: Wanted) -> CountPage:
    """Codes by model: a row for each model."""
    answers = counts.count_answers(wanted.project, wanted.visibility)
    model_of = dict(wanted.project.interviews.order_by("pk").values_list("pk", "model_label"))
    models = sorted({model_of[pk] for pk in answers})
    said = {
        model: [answers[pk] for pk, label in model_of.items() if label == model and pk in answers] for model in models
    }
    sizes: Sizes = {model: _sizes(_sum(parts), len(parts)) for model, parts in said.items()}
    table = CountTable(wanted.headings, ((mark.model, mark) for mark in _read_marks(wanted)), sizes)
    rows = []
    for model in models:
        cells = [CountCell(table.count(model, each), each, _ask(wanted, each, model=model)) for each in table.headings]
        note = f"{_plural(len(said[model]), 'interview')}, {_in_words(_sum(said[model]))}"
        rows.append(CountRow(model or "Model not known", None, note, cells))
    groups = [(row.name, [cell.count for cell in row.cells]) for row in rows]
    return _finish(wanted, table, rows, answers, groups)


def tabulate_pairs(wanted: Wanted, *, by_turn: bool) -> PairPage:
    """Codes together on the same sentence, or in the same turn."""
    headings = wanted.headings
    table = PairTable(headings, _read_marks(wanted), by_turn=by_turn)
    together = Together.TURN if by_turn else Together.SENTENCE
    rows = []
    for n, one in enumerate(headings):
        cells = []
        for m, other in enumerate(headings):
            codes = (one.identifier,) if n == m else (one.identifier, other.identifier)
            query = wanted.search(*codes, together="" if n == m else together.value).as_query()
            cells.append(PairCell(one, other, table.count(n, m), query))
        rows.append((one, cells))
    answers = _sum(counts.count_answers(wanted.project, wanted.visibility).values())
    chart = draw_bubbles(headings, table.count, table.highest)
    return PairPage(headings, rows, chart, by_turn, answers.turns if by_turn else answers.sentences)


def build_score_sheet(wanted: Wanted, interview: Interview, columns: Sequence[Column]) -> SheetPage:
    """Codes by turn of one interview."""
    family = wanted.catalog.families.get(wanted.family)
    marks = counts.read_marks(
        wanted.project, wanted.catalog, wanted.visibility, family=wanted.family, interview_id=interview.pk
    )
    headings = wanted.headings
    sheet = build_sheet(headings, columns, marks, enactment=bool(family and family.carries_enactment))
    queries = {
        (heading.identifier, column.turn): _ask(wanted, heading, interview=interview.pk, turn=column.turn)
        for heading in headings
        for column in columns
    }
    return SheetPage(wanted.coder, sheet, draw_sheet(sheet), queries)


def read_columns(interview: Interview) -> list[Column]:
    """The model's turns, each with the kind of the question it answers."""
    turns = Turn.objects.filter(interview=interview, channel=Turn.Channel.UTTERANCE).order_by("position")
    columns, asked = [], ""
    for position, role, prompt_kind in turns.values_list("position", "role", "prompt_kind"):
        if role == Turn.Role.INTERVIEWER:
            asked = prompt_kind
        elif role == Turn.Role.MODEL:
            columns.append(Column(position, asked))
            asked = ""
    return columns


def choose_family(catalog: Catalog, *, with_enactment: bool = False) -> str:
    """The family a page begins with, for a table of every code is hard to read."""
    fitting = [each for each in catalog.families.values() if each.carries_enactment or not with_enactment]
    return next((each.identifier for each in (*fitting, *catalog.families.values())), "")


def _read_marks(wanted: Wanted) -> Iterator[Mark]:
    return counts.read_marks(wanted.project, wanted.catalog, wanted.visibility, family=wanted.family)


def _ask(wanted: Wanted, heading: Heading, **others: object) -> str:
    return wanted.search(heading.identifier, **others).as_query()


def _finish(
    wanted: Wanted,
    table: CountTable,
    rows: list[CountRow],
    answers: Mapping[int, Answers],
    groups: Sequence[tuple[str, Sequence[Count]]],
) -> CountPage:
    interviews = len(answers)
    return CountPage(
        headings=list(table.headings),
        rows=rows,
        totals=[CountCell(table.total(each), each, _ask(wanted, each)) for each in table.headings],
        spread=[f"{table.count_interviews(each)} of {_plural(interviews, 'interview')}" for each in table.headings],
        chart=draw_bars(table.headings, groups),
        elsewhere=counts.count_elsewhere(wanted.project, wanted.catalog, wanted.visibility, family=wanted.family),
        answers=_sum(answers.values()),
        interviews=interviews,
    )


def _sizes(answers: Answers, interviews: int) -> dict[str, int]:
    return {
        CodeFamily.Unit.SENTENCE.value: answers.sentences,
        CodeFamily.Unit.TURN.value: answers.turns,
        CodeFamily.Unit.INTERVIEW.value: interviews,
    }


def _sum(parts: Iterable[Answers]) -> Answers:
    found = list(parts)
    return Answers(sum(each.sentences for each in found), sum(each.turns for each in found))


def _in_words(said: Answers) -> str:
    return f"{_plural(said.sentences, 'sentence')}, {_plural(said.turns, 'turn')}"


def _plural(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
