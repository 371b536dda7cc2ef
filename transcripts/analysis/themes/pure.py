"""Where a theme or a code occurs, comparisons of models by it, and quotations from its sentences.

Counts by model or interview state their denominators (method brief, R21). A sentence counts once in a cell, however many people
and codes it was coded by. It is decided if a coder whose work is counted coded or finished it, so a count never exceeds its
denominator. A move counts if it is enacted; other sentences with it have separate numbers. No statistic generalises across
models. The chart shows each cell's share of the decided sentences.

Models are compared on the questions that several of them were asked in the same words. Two answers are to the same question if
everything that the interviewer said so far, and the system prompt, are the same words. Answers from interviews that begin with
the same words belong to one case. Two models are compared question by question, each person's readings only with her own; the
independent unit is the case: docs/reference/method.md.

In edited quotations, omissions and additions are marked, and the rest is in the source (method brief, R20). The marks are an
ellipsis (``[…]``, ``[...]``, ``…``, ``...``) for omitted words, and square brackets for added or replaced words (``[the
model]``, ``[W]e``). Between marks, the words are in the same order as in the source. Spaces, the shape of quotation marks and
Markdown's marks of emphasis may differ.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from typing import Any, NamedTuple

from transcripts.charts import figures as charts
from transcripts.charts.figures import GridChart, GridRow, Missing, RowChart, Verdict
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
from transcripts.statistics.figures import FEW, MIN_CLUSTERS, Mark, explain_mark, explain_marks

PROMPTED, UNPROMPTED, UNCLEAR = "prompted", "unprompted", "unclear"
# "Unprompted" is the strongest claim, so a sentence counts as unprompted only if no coding of it says otherwise.
STRENGTH = {PROMPTED: 2, UNCLEAR: 1, UNPROMPTED: 0}
LATENT = "latent"
# Enactments that are never counted with enacted moves.
NOT_STATED = "not_stated"
APART = {"demonstrated": "demonstrated", "described": "described", NOT_STATED: "enactment not stated"}
Link = Callable[[str, str], str]


class Evidence(NamedTuple):
    """One coding. ``apart``: which of `APART` it is, for a move that is not enacted."""

    coding_id: int
    coder_id: int
    identifier: str
    level: str
    prompting: str
    sentence_id: int
    turn_id: int
    interview_id: int
    apart: str = ""


class Heading(NamedTuple):
    """A row: a theme or a code, with the identifiers of its codes; or a column: a model or an interview, with the ids of its
    interviews."""

    key: str
    name: str
    members: frozenset[Any]


@dataclass(frozen=True)
class Cell:
    """The counts of a row in a column, in sentences unless the name says otherwise.

    The three for prompting add up to ``sentences``. A sentence that two people read on two levels counts in both levels. The
    three for enactment count moves that are not enacted, which no other number here includes; a sentence may be in several.
    """

    sentences: int
    turns: int
    interviews: int
    prompted: int
    unprompted: int
    unclear: int
    semantic: int
    latent: int
    out_of: int
    demonstrated: int = 0
    described: int = 0
    not_stated: int = 0

    @property
    def apart(self) -> list[tuple[str, str, int]]:
        """The existing kinds of moves that are not enacted: the kind, its words and its number of sentences."""
        return [(kind, words, found) for kind, words in APART.items() if (found := getattr(self, kind))]

    @property
    def is_present(self) -> bool:
        return self.sentences > 0

    @property
    def is_read(self) -> bool:
        """Whether anything was decided there; otherwise absence says nothing."""
        return self.out_of > 0


PresenceRow = tuple[Heading, list[Cell], Cell]
"""A row with its cell in each column, and the cell over all columns."""


class Presence(NamedTuple):
    """The whole table; ``denominators`` are in the order of the columns, with the one over all columns last."""

    columns: list[Heading]
    denominators: list[dict[str, int]]
    rows: list[PresenceRow]


@dataclass
class _Tally:
    """The data collected for one cell before counting."""

    turns: set[int] = field(default_factory=set)
    interviews: set[int] = field(default_factory=set)
    prompting: dict[int, str] = field(default_factory=dict)
    semantic: set[int] = field(default_factory=set)
    latent: set[int] = field(default_factory=set)
    apart: dict[str, set[int]] = field(default_factory=lambda: {kind: set() for kind in APART})

    def add(self, evidence: Evidence) -> None:
        sentence, prompting = evidence.sentence_id, evidence.prompting
        if evidence.apart:
            self.apart[evidence.apart].add(sentence)
            return
        self.turns.add(evidence.turn_id)
        self.interviews.add(evidence.interview_id)
        if self.prompting.setdefault(sentence, prompting) != prompting:
            self.prompting[sentence] = combine_prompting(self.prompting[sentence], prompting)
        (self.latent if evidence.level == LATENT else self.semantic).add(sentence)

    def count(self, out_of: int) -> Cell:
        prompting = list(self.prompting.values())
        return Cell(
            sentences=len(prompting),
            turns=len(self.turns),
            interviews=len(self.interviews),
            prompted=prompting.count(PROMPTED),
            unprompted=prompting.count(UNPROMPTED),
            unclear=prompting.count(UNCLEAR),
            semantic=len(self.semantic),
            latent=len(self.latent),
            out_of=out_of,
            **{kind: len(found) for kind, found in self.apart.items()},
        )


def combine_prompting(one: str, other: str) -> str:
    """The prompting of a sentence whose codings differ: prompted before unclear before unprompted."""
    return max(one, other, key=lambda each: STRENGTH[each])


def count_presence(
    *,
    rows: Sequence[Heading],
    columns: Sequence[Heading],
    evidence: Iterable[Evidence],
    decided: Mapping[int, tuple[int, int]],
    said: Mapping[int, tuple[int, int]] | None = None,
) -> Presence:
    """The table. ``decided`` are the decided sentences and turns by interview, ``said`` all of them.

    Evidence from interviews that are in no column is left out.
    """
    keys_of_code: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for identifier in row.members:
            keys_of_code[identifier].append(row.key)
    column_of = {interview: column.key for column in columns for interview in column.members}
    tallies: dict[tuple[str, str], _Tally] = defaultdict(_Tally)
    for each in evidence:
        column_key = column_of.get(each.interview_id)
        if column_key is not None:
            for row_key in keys_of_code.get(each.identifier, ()):
                tallies[row_key, column_key].add(each)
    denominators = [_sum_up([column], decided, said or {}) for column in columns]
    overall = _sum_up(columns, decided, said or {})
    counted = []
    for row in rows:
        cells = [
            tallies[row.key, column.key].count(out_of["sentences"])
            for column, out_of in zip(columns, denominators, strict=True)
        ]
        counted.append((row, cells, _add_up(cells, overall["sentences"])))
    return Presence(list(columns), [*denominators, overall], counted)


def _add_up(cells: Sequence[Cell], out_of: int) -> Cell:
    """The cell over all columns: no interview is in two of them, so nothing is counted twice."""
    added = {each.name: sum(getattr(cell, each.name) for cell in cells) for each in fields(Cell)}
    return Cell(**{**added, "out_of": out_of})


def _sum_up(
    columns: Iterable[Heading], decided: Mapping[int, tuple[int, int]], said: Mapping[int, tuple[int, int]]
) -> dict[str, int]:
    """The denominators of these columns, and the undecided numbers. ``in_study`` is the number of all interviews; ``few`` is 1 if
    there are too few turns to conclude anything from a share."""
    interviews = [interview for column in columns for interview in column.members]
    read = [decided[interview] for interview in interviews if interview in decided]
    sentences, turns = sum(found for found, _ in read), sum(turns for _, turns in read)
    return {
        "sentences": sentences,
        "turns": turns,
        "few": int(0 < turns < FEW),
        "interviews": len(read),
        "in_study": len(interviews),
        "undecided": max(0, sum(said.get(interview, (0, 0))[0] for interview in interviews) - sentences),
    }


def draw_presence(
    presence: Presence, *, title: str, things: str, link: Link, missing: Missing, has_moves: bool = False
) -> GridChart:
    """The chart. ``things`` names the columns; ``link`` returns the address for the keys of a row and a column.

    Shares of fewer than `MIN_CLUSTERS` decided turns have no shade.
    """
    few = [
        column.name for column, out_of in zip(presence.columns, presence.denominators, strict=False) if out_of["few"]
    ]
    return GridChart(
        key="presence",
        title=title,
        columns=[column.name for column in presence.columns],
        rows=[
            GridRow(
                row.name,
                [
                    _draw_cell(row, column, cell, link, turns=out_of["turns"])
                    for column, out_of, cell in zip(presence.columns, presence.denominators, cells, strict=False)
                ],
                _judge(cells, things),
            )
            for row, cells, _ in presence.rows
        ],
        note=(
            "Sentences found / sentences decided. The larger the share, the stronger the colour. A dash: nothing is decided there, "
            "so absence says nothing. Unprompted: at least one sentence there came before the interviewer had raised it."
            + (f" {explain_mark(Mark.FEW, 'decided turns')} Here: {', '.join(few)}." if few else "")
            + (
                " Moves count where they are enacted; moves that are only described or demonstrated are in the table."
                if has_moves
                else ""
            )
        ),
        missing=missing,
    )


def _draw_cell(row: Heading, column: Heading, cell: Cell, link: Link, *, turns: int) -> charts.Cell:
    words = f"{row.name}, {column.name}: {describe_cell(cell)}"
    if not cell.is_read:
        return charts.Cell(None, label=words)
    href = link(row.key, column.key) if cell.is_present else ""
    share = cell.sentences / cell.out_of if turns >= MIN_CLUSTERS else None
    return charts.Cell(share, f"{cell.sentences}/{cell.out_of}", words, href)


def _judge(cells: Sequence[Cell], things: str) -> Verdict:
    read = [cell for cell in cells if cell.is_read]
    found = [cell for cell in read if cell.is_present]
    if not read:
        return Verdict("nothing decided")
    unprompted = sum(cell.unprompted > 0 for cell in found)
    return Verdict(f"in {len(found)} of {len(read)} {things}" + (f", unprompted in {unprompted}" if found else ""))


def describe_cell(cell: Cell) -> str:
    """A cell in words."""
    if not cell.is_read:
        return "nothing decided"
    apart = "".join(f", {found} {words}" for _, words, found in cell.apart)
    if not cell.is_present:
        return f"none of {cell.out_of} sentences{apart}"
    parts = (("unprompted", cell.unprompted), ("prompted", cell.prompted), ("unclear", cell.unclear))
    split = ", ".join(f"{number} {name}" for name, number in parts if number)
    return f"{cell.sentences} of {cell.out_of} sentences, {split}{apart}"


NOTHING_ASKED_ALIKE = (
    "No two models were asked the same question after the same words, so nothing can be compared question by question. Interviews "
    "held with the same script, or with the same opening, can be."
)
NOTHING_READ_ALIKE = (
    "Nobody has decided answers of two models to the same question, so there is nothing to compare yet. An answer is decided when "
    "each of its sentences is coded or finished."
)
ONE_MODEL = "The interviews are with fewer than two models, as far as these are known."


class Said(NamedTuple):
    """A turn in the comparison of questions: ``words`` are those of the interviewer, or of a prompt that ``is_system``; None if
    the model speaks, and then ``sentences`` are those of the answer."""

    words: str | None
    sentences: tuple[int, ...] = ()
    is_system: bool = False


class Answer(NamedTuple):
    """A model's answer to a question. ``question`` is the same if everything said before is the same, including system prompt and
    condition; ``case`` is the same if the interviewer began with the same words, under any condition. ``is_whole``: it is
    everything that the model said in an interview."""

    model: str
    case: str
    question: str
    sentences: tuple[int, ...]
    is_whole: bool = False


def read_answers(model: str, begins: Sequence[str], turns: Iterable[Said]) -> Iterator[Answer]:
    """The answers of an interview, and finally everything the model says as one answer. ``begins``: what distinguishes interviews
    before anything is said, such as the condition, and an opening prompt that is stored separately. Words before any question are
    not an answer."""
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
    """A hash of the words, ignoring white space."""
    return hashlib.sha256(f"{before}\n{' '.join(words.split())}".encode()).hexdigest()


class Row(NamedTuple):
    """A theme or a code, with the identifiers of its codes. ``deciding``: codes of turns or interviews of the same families; one
    of them on an answer decides it. ``is_whole``: its codes are of whole interviews."""

    heading: Heading
    deciding: frozenset[str] = frozenset()
    is_whole: bool = False


class Readings(NamedTuple):
    """People's readings: by coder, the decided sentences; by coder and code, the sentences with the code, and those where it
    counts (for a move, where it is enacted)."""

    decided: Mapping[int, set[int]]
    applied: Mapping[tuple[int, str], set[int]]
    counted: Mapping[tuple[int, str], set[int]]

    @property
    def coders(self) -> set[int]:
        return {*self.decided, *(coder for coder, _ in self.applied)}


def compare_models(answers: Sequence[Answer], rows: Sequence[Row], readings: Readings) -> dict[str, Any]:
    """Compare every two models for every row: the shares of their answers to the same questions that have it.

    A unit is a question as one person read it; the answers of a model to it that she has decided are averaged. Rows are those
    of ``compare_sides`` with ``readings`` (units) and ``cases``, one family; a row that neither model has is no part of it.
    ``asked`` counts questions that two or more models were asked, ``apart`` has a sentence for each two without a common
    question, and ``why`` says why there is no comparison at all.
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
        family += [
            each for each in sides if any(each.first_shares[unit] or each.second_shares[unit] for unit in each.common)
        ]
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
    """By model and unit, the share of the decided answers that have one of the codes of a row."""
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


MARK = re.compile(r"\[[^\[\]]*\]|…|\.\.\.|\. \. \.")
ELLIPSES = frozenset({"", "…", "...", ". . ."})
EMPHASIS = re.compile(r"\*+|`+|(?<!\w)_+|_+(?!\w)")
QUOTATION_MARKS = str.maketrans("‘’‚‛“”„‟\u00a0", "''''\"\"\"\" ")
# An unmarked edit must not cut a word of these characters; scripts without spaces or capitals have no such edges.
CASED_OR_DIGIT = frozenset({"Lu", "Ll", "Lt", "Nd"})
MAX_SHOWN = 80


class Unfaithful(Exception):
    """An edited quotation does not match its source; ``words`` are those that are not in the source."""

    def __init__(self, message: str, words: list[str]) -> None:
        super().__init__(message)
        self.words = words


Piece = tuple[str, bool, bool]
"""Words between two marks, and whether their start and end are open: they touch a bracket, so the word may continue there."""


def check_quotation(edited: str, source: str) -> None:
    """Check that ``edited``, without its marked edits, is in ``source`` in the same order. Raises ``Unfaithful``."""
    if edited == source:
        return
    plain = _flatten(source)
    pieces = [piece for piece in _cut(_flatten(edited)) if any(map(str.isalnum, piece[0]))]
    if not pieces:
        raise Unfaithful(
            "Nothing of the original sentence is left: keep at least one of its words outside the brackets.", []
        )
    if words := [word for piece in pieces for word in _find_strange(piece, plain)]:
        raise Unfaithful(
            f"Not in the sentence: {', '.join(map(_show, words))}. Put words of your own in square brackets.", words
        )
    end = 0
    for piece in pieces:
        text = piece[0]
        start = _find(piece, plain, end)
        if start is None:
            raise Unfaithful(
                f"The sentence does not continue this way: {_show(text)}. Mark what you left out with […].", []
            )
        end = start + len(text)


def _flatten(text: str) -> str:
    """The text in the form that is compared: one kind of spaces and quotation marks, no marks of emphasis."""
    plain = unicodedata.normalize("NFC", text).translate(QUOTATION_MARKS)
    return " ".join(EMPHASIS.sub("", plain).split())


def _cut(edited: str) -> Iterator[Piece]:
    """The stretches of an edited quotation between its marks."""
    start, touches = 0, False
    for mark in MARK.finditer(edited):
        puts_in = mark[0].strip("[] ") not in ELLIPSES
        yield _make_piece(edited[start : mark.start()], touches, puts_in)
        start, touches = mark.end(), puts_in
    yield _make_piece(edited[start:], touches, touched=False)


def _make_piece(text: str, touches: bool, touched: bool) -> Piece:
    return (text.strip(), touches and text[:1] != " ", touched and text[-1:] != " ")


def _find_strange(piece: Piece, source: str) -> Iterator[str]:
    """The words of a piece that are not in the source."""
    text, open_start, open_end = piece
    words = text.split()
    last = len(words) - 1
    for place, word in enumerate(words):
        alone = (word, open_start and place == 0, open_end and place == last)
        if any(map(str.isalnum, word)) and _find(alone, source, 0) is None:
            yield word


def _find(piece: Piece, source: str, start: int) -> int | None:
    """Where the piece first occurs in the source from ``start`` on, without cutting a word."""
    text, open_start, open_end = piece
    found = source.find(text, start)
    while found >= 0:
        end = found + len(text)
        cuts_start = not open_start and found > 0 and _is_one_word(source[found - 1], text[0])
        cuts_end = not open_end and end < len(source) and _is_one_word(text[-1], source[end])
        if not (cuts_start or cuts_end):
            return found
        found = source.find(text, found + 1)
    return None


def _is_one_word(before: str, after: str) -> bool:
    return {unicodedata.category(before), unicodedata.category(after)} <= CASED_OR_DIGIT


def _show(text: str) -> str:
    return f"“{text}”" if len(text) <= MAX_SHOWN else f"“{text[:MAX_SHOWN].rstrip()} …”"
