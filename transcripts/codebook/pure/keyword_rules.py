"""Keyword rules: lines of words; any line that matches proposes a code for a sentence. Does not import Django.

A rule consists of words and of phrases in quotation marks. ``*`` at the end of a word means any ending. ``a & b`` requires both
in the sentence, ``- c`` that the sentence does not contain ``c``. For either of two, write two lines. There are no other
patterns, so that matching takes time in proportion to the text, whatever the codebook contains.

Words are compared whole, case-folded and in normal form KC (Unicode 3.13, 3.11), so a match always covers whole words as they
were written. Punctuation between the words of a phrase is ignored. In scripts without spaces each character is a word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, normalize

from transcripts.codebook.pure.comparing import UNSPACED

MAX_RULE_LENGTH = 200
MAX_RULES = 100
LETTER, MARK, HIDDEN, UNSPACED_LETTER, OTHER = "a", "m", "f", "c", " "
# Scripts without spaces that a comparison of two wordings need not know: Myanmar, Khmer.
SPACELESS = (*UNSPACED, ("\u1000", "\u109f"), ("\u1780", "\u17ff"))
# In the shape of a text (see ``_Shapes``): letters with their marks, and hidden characters only between them.
WORD_SHAPE = re.compile("a(?:f*[am])*|cm*")
PIECE = re.compile(r'"([^"]*)"|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»|(&)|((?<!\S)[-–−])|([^\s&"“”„«»]+)|(\S)')
ASCII_WORD = re.compile("[a-z0-9]+")
PATTERN_SIGNS = re.compile(r"[|()\[\]{}\\^$+?<>=]")
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class BadRule(ValueError):
    """A line that is not a rule; the message says why and what to write."""


class Word(NamedTuple):
    """A word in the form that is compared; ``is_open``: any ending may follow."""

    text: str
    is_open: bool = False


Term = tuple[Word, ...]
"""A word or a phrase: words that follow each other."""


class Rule(NamedTuple):
    """A parsed line: the sentence must contain every term of ``all_of`` and none of ``none_of``."""

    line: str
    all_of: tuple[Term, ...]
    none_of: tuple[Term, ...] = ()


Match = tuple[str, str, int, int]
"""A code that a rule proposes, the rule, and where its first term begins and ends, in code points of the text."""


def parse_rule(line: str) -> Rule:
    """Parse a line. Raises :class:`BadRule` with a message for its author."""
    line = " ".join(line.split(" ")).strip()
    if len(line) > MAX_RULE_LENGTH:
        raise BadRule(
            f"A rule has at most {MAX_RULE_LENGTH} characters; this one has {len(line)}. Write several lines."
        )
    if CONTROL.search(line):
        raise BadRule("A rule is one line of plain text; remove the control character.")
    wanted: list[Term] = []
    unwanted: list[Term] = []
    awaited = True
    target = wanted
    for piece in PIECE.finditer(line):
        *quoted, both, without, word, stray = piece.groups()
        if stray:
            raise BadRule(f"The quotation mark {stray} is not closed. Put one on both sides of a phrase.")
        if both or without:
            target, awaited = _begin_term(both or without, target if both else unwanted, awaited, bool(wanted))
            continue
        if not awaited:
            raise BadRule(
                f"“{piece.group()}” follows another word: put words that belong together in quotation marks, "
                "& between two that must both occur, or write two lines for either of them."
            )
        target.append(_read_term(word if word is not None else next(each for each in quoted if each is not None), word))
        target, awaited = wanted, False
    if awaited and wanted:
        raise BadRule("The rule ends with a sign. A word must follow & and -.")
    if not wanted:
        raise BadRule("The rule has no word.")
    return Rule(line, tuple(wanted), tuple(unwanted))


@lru_cache(maxsize=4096)
def check_rule(line: str) -> str:
    """The problem of a line, as a sentence; empty if it is a valid rule."""
    try:
        parse_rule(line)
    except BadRule as bad:
        return str(bad)
    return ""


def compile_rules(rules: Mapping[str, Sequence[str]]) -> Matcher:
    """A matcher for the rules of all codes, by the identifier of the code."""
    return Matcher([(code, parse_rule(line)) for code, lines in rules.items() for line in lines])


def _begin_term(sign: str, target: list[Term], awaited: bool, has_wanted: bool) -> tuple[list[Term], bool]:
    """The list to which the next term belongs, after a sign."""
    if not has_wanted:
        raise BadRule(f"A rule must begin with a word that must occur, not with {sign}.")
    if awaited:
        raise BadRule(f"A word is missing before {sign}.")
    return target, True


def _read_term(typed: str, bare: str | None) -> Term:
    if bare is not None and (sign := PATTERN_SIGNS.search(bare)):
        raise BadRule(
            f"{sign.group()} has no meaning in a rule. Use words, “phrases”, * at the end of a word, & and -. "
            "For either of two words write two lines."
        )
    words: list[Word] = []
    for written in typed.split():
        stem, star, rest = written.partition("*")
        found = find_words(stem)
        if rest.strip("*") or (star and not found):
            raise BadRule(f"In “{written}” the * is not at the end of a word. It is allowed only there.")
        words += [Word(each) for each in found[:-1]] + [Word(each, bool(star)) for each in found[-1:]]
    if not words:
        raise BadRule(f"“{typed}” has no word.")
    return tuple(words)


def find_words(text: str) -> list[str]:
    """The words of a text in the form that is compared."""
    if text.isascii():
        return ASCII_WORD.findall(text.lower())
    return [_fold(text[start:end]) for start, end in find_places(text)]


def find_places(text: str) -> list[tuple[int, int]]:
    """The place of each of those words, in code points."""
    if text.isascii():
        return [found.span() for found in ASCII_WORD.finditer(text.lower())]
    return [found.span() for found in WORD_SHAPE.finditer(text.translate(_SHAPES))]


@lru_cache(maxsize=50_000)
def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()
    shown = "".join(character for character in word if _SHAPES[ord(character)] != HIDDEN)
    return normalize("NFKC", normalize("NFKC", shown).casefold())


class _Shapes(dict[int, str]):
    """The role of each character in words, by its number, computed once. Characters map one to one, so that positions stay the
    same."""

    def __missing__(self, number: int) -> str:
        character = chr(number)
        kind = category(character)
        if any(first <= character <= last for first, last in SPACELESS) and character.isalnum():
            shape = UNSPACED_LETTER
        elif character.isalnum():
            shape = LETTER
        elif kind.startswith("M"):
            shape = MARK
        else:
            shape = HIDDEN if kind == "Cf" else OTHER
        self[number] = shape
        return shape


_SHAPES = _Shapes()


class Matcher:
    """Compiled rules. All terms are looked for at once, in time in proportion to the text, whatever their words.

    The words of all terms form one sequence, each with a bit in a whole number. At each word of a text, the number shows how
    far each term has matched: it is shifted by one, and the bits that this word does not match are masked out ("shift-and",
    Baeza-Yates and Gonnet 1992).
    """

    def __init__(self, rules: Sequence[tuple[str, Rule]]) -> None:
        self._numbers: dict[Term, int] = {}
        self._whole: dict[str, int] = {}
        self._open: dict[str, int] = {}
        self._first_bits = 0
        # The number of a term, by the bit of its last word.
        self._ends: dict[int, int] = {}
        self._last_bits = 0
        self._bits = 0
        self._rules = [
            (code, rule.line, self._number_terms(rule.all_of), self._number_terms(rule.none_of)) for code, rule in rules
        ]
        self._terms = list(self._numbers)
        self._by_first: dict[int, list[int]] = {}
        for place, (_, _, all_of, _) in enumerate(self._rules):
            self._by_first.setdefault(all_of[0], []).append(place)
        self._lengths = sorted({len(stem) for stem in self._open})
        # A corpus has few different words: each is looked up once.
        self._find_fitting = lru_cache(maxsize=10_000)(self._fit)

    def find(self, text: str) -> list[Match]:
        """The codes that rules propose for a sentence, each once, by the first of its rules that matches."""
        spans = self._find_terms(find_words(text))
        if not spans:
            return []
        held: dict[str, Match] = {}
        words: list[tuple[int, int]] = []
        for place in sorted(place for number in spans for place in self._by_first.get(number, ())):
            code, line, all_of, none_of = self._rules[place]
            if code in held or not all(number in spans for number in all_of) or not spans.keys().isdisjoint(none_of):
                continue
            words = words or find_places(text)
            first, last = spans[all_of[0]]
            held[code] = code, line, words[first][0], words[last][1]
        return list(held.values())

    def _number_terms(self, terms: Collection[Term]) -> tuple[int, ...]:
        return tuple(map(self._number_term, terms))

    def _number_term(self, term: Term) -> int:
        if term not in self._numbers:
            self._numbers[term] = len(self._numbers)
            self._first_bits |= 1 << self._bits
            for word in term:
                index = self._open if word.is_open else self._whole
                index[word.text] = index.get(word.text, 0) | 1 << self._bits
                self._bits += 1
            self._ends[self._bits - 1] = self._numbers[term]
            self._last_bits |= 1 << self._bits - 1
        return self._numbers[term]

    def _find_terms(self, words: Sequence[str]) -> dict[int, tuple[int, int]]:
        """The first and last word of the first match of each term in a text, by its number."""
        spans: dict[int, tuple[int, int]] = {}
        begun = 0
        awaited = self._last_bits
        for at, folded in enumerate(words):
            fitting = self._find_fitting(folded)
            begun = (begun << 1 | self._first_bits) & fitting
            ended = begun & awaited
            awaited ^= ended
            while ended:
                bit = ended.bit_length() - 1
                ended ^= 1 << bit
                number = self._ends[bit]
                spans[number] = (at - len(self._terms[number]) + 1, at)
        return spans

    def _fit(self, folded: str) -> int:
        """The bits of all words of terms that a word of a text matches."""
        bits = self._whole.get(folded, 0)
        for length in self._lengths:
            if length <= len(folded):
                bits |= self._open.get(folded[:length], 0)
        return bits
