"""The block stage of segmentation: the lines of a text, their kinds, where each begins after its markers, and counts.

Markdown (CommonMark and tables, by markdown-it-py) decides what is a heading, a list item, a row, code. Raw HTML
blocks are off: models write ``<think>`` or ``<p>`` at the start of a line, and the words after it are to be coded.
A line break is ``\\r\\n``, ``\\n`` or ``\\r``, nothing else. Offsets count code points of the exact text.

The counts describe interviews, as in Tables A2 and A3 of "From Bias Mitigation to Bias Negotiation" (2026). The paper names the
measures but does not define them. Our definitions:

- a question is a turn of the interviewer, whatever it says;
- a word is a longest run of characters without white space, after Markdown markers are removed: those that segmentation
  leaves out (of lists, headings, quotes, rules, fences), the bars of a table, and runs of emphasis marks alone. Scripts
  without spaces have few words by this rule;
- only what was said counts: no reasoning, no tool traffic, no system prompt;
- the average response is the model's words divided by the questions, undefined without a question.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from statistics import fmean
from typing import NamedTuple, Protocol

from markdown_it import MarkdownIt
from markdown_it.token import Token


class Kind(StrEnum):
    """The kind of a unit of text."""

    PROSE = "prose"
    HEADING = "heading"
    LIST_ITEM = "list_item"
    TABLE_ROW = "table_row"
    CODE = "code"
    OTHER = "other"


class Span(NamedTuple):
    """``text[start:end]``, counted in code points, and its kind: the content of a line, or a unit of it."""

    start: int
    end: int
    kind: Kind


Bounds = tuple[int, int]
"""Where a line begins and where its line break begins."""

_LINE_BREAK = re.compile(r"\r\n|\n|\r")

# Markers that people and chat pages write and Markdown does not know, and numbers of up to two digits where Markdown
# requires a list to start with 1. Longer numbers ("1984. A year.") and letters with a full stop ("A. Smith") are
# more often text.
_PLAIN_MARKER = re.compile(
    r"[•‣⁃◦▪●○■□∙]\s*"
    r"|(?:[-+*]|\d{1,2}[.)]|\((?:[A-Za-z]|\d{1,2}|[ivx]{2,4})\)\.?|(?:[A-Za-z]|[ivx]{2,4})\)\.?)[ \t]+(?=\S)"
)
_EMOJI = (
    "[\u203c\u2049\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
# With joiners, variation selectors, key caps and the tags of flags.
PICTURE = rf"{_EMOJI}[\u200d\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f]*"
_ONLY_EMOJI = re.compile(rf"(?:{PICTURE}\s*)+\Z")
_ONLY_TAGS = re.compile(r"(?:</?[A-Za-z][^<>]*>\s*|<!--(?:(?!-->).)*-->\s*)+\Z")

_BULLET = re.compile(r"[ \t]*[-+*](?=[ \t]|\Z)")
_NUMBER = re.compile(r"[ \t]*\d{1,3}[.)](?=[ \t]+\S)")
_QUOTE = re.compile(r"[ \t]*> ?")
_TOO_DEEP = re.compile(r"(?:[ \t]*(?:>|[-+*](?=[ \t])))*")
_HEADING = re.compile(r"[ \t]*#{1,6}(?=[ \t]|\Z)")
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})")
_SENTENCE_END = re.compile(r"[.!?:;…。！？]['\"”’)\]*_]*\s*\Z")
_HEADING_END = re.compile(r"[ \t]#+[ \t]*\Z")

# Beginnings of a line that no block rule of Markdown can take for anything other than words.
_WORDS = r"(?:[*_]{1,3}[^\s*_]|`{1,2}[^`]|[^\s`~>#+=|\[\-*_\d]|\d(?!\d{0,8}[.)](?:\s|\Z)))"
_SIMPLE_LINE = re.compile(
    rf"(?P<blank>[ \t]*\Z)"
    rf"|(?P<words>{_WORDS})"
    rf"|(?P<item>[ ]{{0,3}}(?:[-+*]|\d{{1,2}}[.)])[ ]{{1,4}}){_WORDS}"
    rf"|(?P<heading>[ ]{{0,3}}#{{1,6}})[ ]"
    rf"|(?P<rule>(?:-{{3,}}|\*{{3,}}|_{{3,}})[ ]*\Z)"
)


def find_lines(text: str) -> list[Span]:
    """The non-empty content lines of ``text`` in order, without white space around them."""
    source = _LINE_BREAK.sub("\n", text) if "\r" in text else text
    bounds = find_bounds(text)
    lines = read_simple_lines(source, bounds)
    if lines is None:
        lines = read_markdown_lines(source, bounds)
    return [content for line in lines if (content := strip_plain_markers(text, line)).start < content.end]


def find_bounds(text: str) -> list[Bounds]:
    """Every line of ``text``, blank ones and the last included."""
    bounds = []
    start = 0
    for line_break in _LINE_BREAK.finditer(text):
        bounds.append((start, line_break.start()))
        start = line_break.end()
    bounds.append((start, len(text)))
    return bounds


def strip_plain_markers(text: str, line: Span) -> Span:
    """``line`` without the white space and the markers that Markdown left at its beginning; may be empty."""
    start, end, kind = line
    content = text[start:end]
    end = start + len(content.rstrip())
    start += len(content) - len(content.lstrip())
    if kind is Kind.PROSE or kind is Kind.LIST_ITEM:
        while marker := _PLAIN_MARKER.match(text, start, end):
            start, kind = marker.end(), Kind.LIST_ITEM
        only = _ONLY_TAGS if text.startswith("<", start) else _ONLY_EMOJI if text[start:end] > "\u2000" else None
        if only and only.match(text, start, end):
            kind = Kind.OTHER
    return Span(start, end, kind)


def read_simple_lines(source: str, bounds: list[Bounds]) -> list[Span] | None:
    """The same lines as `read_markdown_lines` without its parser, or None if that is not certain.

    It is certain if every line is unambiguous: words without indentation, list items and headings indented by at most three
    spaces (so that nothing is code), rules that cannot underline a heading, and no ``|``.
    """
    if "|" in source:
        return None
    lines = []
    after_blank = True
    for content, (start, end) in zip(source.split("\n"), bounds, strict=True):
        found = _SIMPLE_LINE.match(content)
        if found is None:
            return None
        what = found.lastgroup
        if what == "words":
            lines.append(Span(start, end, Kind.PROSE))
        elif what == "item":
            lines.append(Span(start + found.end("item"), end, Kind.LIST_ITEM))
        elif what == "heading":
            lines.append(_cut_heading(content, start, found.end("heading")))
        elif what == "rule" and content.startswith("-") and not after_blank:
            return None
        after_blank = what == "blank"
    return lines


def _cut_heading(content: str, offset: int, begin: int) -> Span:
    closing = _HEADING_END.search(content, begin)
    return Span(offset + begin, offset + (closing.start() if closing else len(content)), Kind.HEADING)


def read_markdown_lines(source: str, bounds: list[Bounds]) -> list[Span]:
    """Content lines as CommonMark sees them; ``source`` is the text with ``\\n`` for every line break.

    A line that no block of Markdown claims (a link reference definition, or text nested too deeply) is "other".
    """
    reading = _MarkdownReading(source.split("\n"), bounds)
    tokens: list[Token] = []
    parser = _load_parser()
    parser.block.parse(source, parser, {}, tokens)
    for token in tokens:
        reading.take(token)
    reading.take_unclaimed()
    return [reading.lines[number] for number in sorted(reading.lines)]


@cache
def _load_parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table").disable("html_block")


class _MarkdownReading:
    """Collects lines from block tokens, by line number. Containers come before their contents, so the markers of a line are known,
    outermost first, when its leaf block is read."""

    def __init__(self, contents: list[str], bounds: list[Bounds]) -> None:
        self.lines: dict[int, Span] = {}
        self._contents = contents
        self._bounds = bounds
        self._markers: defaultdict[int, list[str]] = defaultdict(list)
        self._claimed: set[int] = set()
        self._item_depth = 0

    def take(self, token: Token) -> None:
        """Record what ``token`` says about its lines."""
        if token.type == "list_item_close":
            self._item_depth -= 1
        if token.map is None:
            return
        first, stop = token.map
        match token.type:
            case "list_item_open":
                self._item_depth += 1
                self._markers[first].append("item")
            case "blockquote_open":
                for number in range(first, stop):
                    self._markers[number].append("quote")
            case "paragraph_open":
                self._take_paragraph(first, stop)
            case "heading_open":
                self._take_heading(token, first, stop)
            case "fence":
                self._take_fence(token, first, stop)
            case "code_block":
                self._take_lines(first, stop, Kind.CODE)
            case "tr_open":
                self._take_rows(first, stop)
            case "hr" | "table_open":
                self._claimed.update(range(first, stop))

    def take_unclaimed(self) -> None:
        """Make every line that no token claimed a separate unit, so that no text is lost."""
        for number in range(len(self._contents)):
            if number not in self._claimed:
                rest = _TOO_DEEP.match(self._contents[number], self._strip_markers(number))
                self._put(number, rest.end() if rest else 0, Kind.OTHER)

    def _take_lines(self, first: int, stop: int, kind: Kind) -> None:
        for number in range(first, stop):
            self._put(number, self._strip_markers(number), kind)

    def _put(self, number: int, begin: int, kind: Kind) -> None:
        start, end = self._bounds[number]
        self._claimed.add(number)
        self.lines[number] = Span(start + begin, end, kind)

    def _strip_markers(self, number: int) -> int:
        """Where the content of a line begins: after the markers of its containers."""
        content = self._contents[number]
        begin = 0
        for marker in self._markers.get(number, ()):
            pattern = _QUOTE if marker == "quote" else _BULLET
            found = pattern.match(content, begin) or (marker == "item" and _NUMBER.match(content, begin))
            if found:
                begin = found.end()
        return begin

    def _take_paragraph(self, first: int, stop: int) -> None:
        """For Markdown, an unindented line of a list item is a soft wrap; in chats it is the next paragraph."""
        for number in range(first, stop):
            begin = self._strip_markers(number)
            starts_item = begin > 0 and "item" in self._markers.get(number, ())
            indented = self._contents[number].startswith((" ", "\t"), begin)
            in_item = self._item_depth > 0 and (starts_item or indented)
            self._put(number, begin, Kind.LIST_ITEM if in_item else Kind.PROSE)

    def _take_heading(self, token: Token, first: int, stop: int) -> None:
        if token.markup.startswith("#"):
            begin = self._strip_markers(first)
            opening = _HEADING.match(self._contents[first], begin)
            self._claimed.add(first)
            self.lines[first] = _cut_heading(
                self._contents[first], self._bounds[first][0], opening.end() if opening else begin
            )
            return
        self._claimed.add(stop - 1)
        # For Markdown, a paragraph directly above a line of dashes is a heading. Chat models mean a rule.
        is_heading = token.markup == "=" or (stop - first == 2 and not _SENTENCE_END.search(self._contents[first]))
        if is_heading:
            self._take_lines(first, stop - 1, Kind.HEADING)
        else:
            self._take_paragraph(first, stop - 1)

    def _take_rows(self, first: int, stop: int) -> None:
        """For Markdown, text directly below a table is a row; without a ``|`` it is read as a paragraph here."""
        for number in range(first, stop):
            if "|" in self._contents[number]:
                self._take_lines(number, number + 1, Kind.TABLE_ROW)
            else:
                self._take_paragraph(number, number + 1)

    def _take_fence(self, token: Token, first: int, stop: int) -> None:
        """One word after the opening fence names a language and is part of the marker; more is text."""
        opening = _FENCE.match(self._contents[first], self._strip_markers(first))
        self._claimed.add(first)
        if opening and len(self._contents[first][opening.end() :].split()) > 1:
            self._put(first, opening.end(), Kind.OTHER)
        last = self._contents[stop - 1][self._strip_markers(stop - 1) :].strip()
        if stop - 1 > first and last.startswith(token.markup) and not last.strip(token.markup[0]):
            self._claimed.add(stop - 1)
            stop -= 1
        self._take_lines(first + 1, stop, Kind.CODE)


_EMPHASIS = "*_~`"
_SPOKEN = "utterance"


class SpokenTurn(Protocol):
    """An object with the role, the channel and the text of a turn."""

    @property
    def role(self) -> str: ...
    @property
    def channel(self) -> str: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True)
class InterviewCounts:
    """One interview, a row of Table A2."""

    questions: int
    author_words: int
    model_words: int

    @property
    def average_response(self) -> float | None:
        """The model's words for each question; None without a question."""
        return self.model_words / self.questions if self.questions else None


@dataclass(frozen=True)
class Spread:
    """A measure over interviews; the mean gives every interview the same weight."""

    minimum: float
    maximum: float
    mean: float


@dataclass(frozen=True)
class Summary:
    """Several interviews, Table A3. A measure that no interview has is None.

    ``average_response`` is over the interviews with a question: smallest, largest, and the unweighted mean of the
    interviews' averages. ``pooled_average`` is all words of the model in these interviews divided by all questions,
    so long interviews weigh more; the two differ, and a page that shows one says which.
    """

    interviews: int
    questions: Spread | None
    author_words: Spread | None
    model_words: Spread | None
    average_response: Spread | None
    pooled_average: float | None


def count_words(text: str) -> int:
    """The number of words of ``text`` by the rule above."""
    return sum(_count_line(text[start:end], kind) for start, end, kind in find_lines(text))


def _count_line(content: str, kind: Kind) -> int:
    if kind is Kind.TABLE_ROW:
        content = content.replace("|", " ")
    words = content.split()
    if any(mark in content for mark in _EMPHASIS):
        return sum(1 for word in words if word.strip(_EMPHASIS))
    return len(words)


def describe(turns: Iterable[SpokenTurn]) -> InterviewCounts:
    """Count the questions and words of one interview."""
    questions = author_words = model_words = 0
    for turn in turns:
        if turn.channel != _SPOKEN:
            continue
        if turn.role == "interviewer":
            questions += 1
            author_words += count_words(turn.text)
        elif turn.role == "model":
            model_words += count_words(turn.text)
    return InterviewCounts(questions, author_words, model_words)


def summarise(interviews: Sequence[InterviewCounts]) -> Summary:
    """Smallest, largest and unweighted mean of each measure, and the pooled average of responses."""
    asked = [counts for counts in interviews if counts.questions]
    questions = sum(counts.questions for counts in asked)
    return Summary(
        interviews=len(interviews),
        questions=_measure_spread([counts.questions for counts in interviews]),
        author_words=_measure_spread([counts.author_words for counts in interviews]),
        model_words=_measure_spread([counts.model_words for counts in interviews]),
        average_response=_measure_spread([counts.model_words / counts.questions for counts in asked]),
        pooled_average=sum(counts.model_words for counts in asked) / questions if questions else None,
    )


def _measure_spread(values: Sequence[float]) -> Spread | None:
    return Spread(min(values), max(values), fmean(values)) if values else None
