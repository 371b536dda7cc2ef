"""Divides a turn's text into the units that people and models code, and prepares interviews for storage.

Errors of sentencex are corrected: boundaries are removed and added. These rules are part of the segmenter: see
`SEGMENTER_VERSION`. Every rule looks at only a few characters around a cut, so the time is linear in the length of a line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import sentencex

from transcripts.corpus.pure.markdown_lines import PICTURE, Kind, Span, find_lines
from transcripts.formats.interviews import ReadInterview, ReadTurn


def _read_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


BEFORE_NUMBER = _read_words(
    "abb approx art bd bl blz bz ca cap ch chap eq eqs est fig figs kap n no nos nr num núm p pag pág pp s sec secs"
    " sect sects vol vols"
)
"""Abbreviations in any language that do not end a sentence if a digit follows."""

ABBREVIATIONS: dict[str, frozenset[str]] = {
    language: _read_words(words)
    for language, words in {
        "ar": "د. أ. م. أ.د.",
        "de": "bzw. ca. vgl. z.b. d.h. u.a. nr.",
        "en": "resp. viz.",
        "es": "ej. núm. pág. sr. sra. srta. dr. dra. ud. uds.",
        "fr": "m. mm. mme. mmes. mlle. mlles. me. dr. pr. c.-à-d. p.ex.",
        "hi": "डॉ. श्री. प्रो.",
        "it": "dott. sig. prof. avv. ing.",
        "nl": "dhr. mevr. bijv. o.a. d.w.z.",
        "pl": "dr. prof. np. tj. ul. im.",
        "pt": "sr. sra. dr. dra. exa. pág.",
        "ru": "т.е. е. т.к. т.н. им. см. напр. ул.",
    }.items()
}
"""Abbreviations that do not end a sentence, with their full stops, in lower case."""

_TITLES = re.compile(r"\b(?:Ms|Mx)(?=\.\s)")
"""English titles that sentencex does not know before a long name. In small letters "ms." is milliseconds."""
_KNOWN_TITLE = "Mr"
_EMPHASISED_TITLE = re.compile(r"[*_]+(?:Mrs?|Ms|Mx|Dr|Prof)\.\s*\Z")
"""sentencex knows titles, but not after signs of emphasis: "**Ms. Lee**"."""

_PLAIN_WORDS = re.compile(
    r"\b(?<![.'’-])(?:art|id|may|me|miss|no|ok)(?=\.[^\w\s]*\s+[^\w\s]*(?![IVXLC]{2}|[VXLC]\b)[^\W\d_a-z])"
)
"""English words that sentencex mistakes for abbreviations (Maine, number, Oklahoma), if a capital but no Roman number
follows: "Trust me. You’ll see."."""
_PLAIN_WORD = "hers"

ORDINAL_LANGUAGES = _read_words("cs da de et fi hr hu is lv nb nn no pl sk sl sr tr")
"""Where "3." before a word in lower case is "third"."""

_BEFORE_ORDINAL = _read_words("am ab beim bis das dem den der des die im seit vom zum zur")
"""German words after which "3." is "third" also before a noun."""

_NOTE_SIGNS = "¹²³⁰⁴⁵⁶⁷⁸⁹†‡"
_CLOSERS = rf")\]\"'”’»*_~`{_NOTE_SIGNS}"
_NOTE = r"\[\^?[\w*]{1,4}\]"
_NOTES = re.compile(rf"{_NOTE}|[{_NOTE_SIGNS}]")
_OPENERS = "([\"'“‘„«¿¡*_~`"
_WORD = re.compile(r"[^\W_]")
_PLAIN_END = re.compile(rf"[.!?…][{_CLOSERS}]*\Z")
_ROMAN = r"(?=[IVX]{2})X{0,3}(?:IX|IV|V?I{0,3})|(?=[ivx]{2})x{0,3}(?:ix|iv|v?i{0,3})"
_NUMBERING = re.compile(rf"\s*\(?(?:\d{{1,9}}|{_ROMAN})[.)]+\s*")
_POSSIBLE_END = re.compile(
    rf"(?P<end>[.!?…])(?P<closers>(?:{_NOTE}|[{_CLOSERS}])*+)\s++(?P<openers>[{re.escape(_OPENERS)}]*+)(?P<word>I\b|\w)"
)
_PAIRS = {'"': '"', "“": "”", "‘": "’", "«": "»", "„": "“", "「": "」", "『": "』", "(": ")", "[": "]"}
_LESS_THAN = re.compile(r"<(?=[\s\d])")
_QUOTATIVES = ("と", "って", "なんて", "とか")
_FIRST_EAST_ASIAN = "\u2e80"
# Longer than any abbreviation together with the word before it.
_TAIL = 32

_UNSEEN_SPACES = str.maketrans(dict.fromkeys("\u200b\ufeff", " "))
_ENDERS = str.maketrans(dict.fromkeys(".!?…。！？", ","))
# Short code between backticks, and short formulas. An amount of money is not a formula.
_LITERAL = re.compile(
    r"(?P<code>`+[^`]*`+)|\\\(.{1,300}?\\\)|\\\[.{1,300}?\\\]|\$\$[^$]{1,300}\$\$"
    r"|\$(?![\s$])(?:(?!\d)|(?=[^$]{0,200}[\\^_=+<>*]))[^$]{0,199}[^\s$]\$(?!\d)"
)

_TIME_OF_DAY = re.compile(r"(?<![^\W\d_])[ap]\.\s?m\.\s*\Z", re.IGNORECASE)
_AFTER_TIME = re.compile(
    r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?s?"
    r"|January|February|March|April|June|July|August|September|October|November|December"
    r"|Eastern|Central|Mountain|Pacific|Atlantic|Greenwich|UTC|GMT|BST|CES?T|EE?[SD]?T|[CMP][SD]?T)\b"
)

_EMOJI_BEHIND = re.compile(rf"\s*{PICTURE}(?:\s?{PICTURE})*(?=\s)")
# Arrows, ticks and coloured shapes precede what they point to.
_POINTERS = re.compile("[\u2190-\u21ff\u25a0-\u25ff\u2600-\u27bf\u2b00-\u2bff👉👇💡📌📍🔹🔸🔴🔵🟠🟡🟢🟣🚨🛑]")

# An end without a space after it: "it was late.She left".
_TIGHT_END = re.compile(r"(?P<end>[.!?])(?P<closers>[)\]\"”’»*]*)(?P<opener>[“„«]?)(?=[^\W\d_])")
_TIGHT_LEFT = re.compile(r"(?:[^\W\d_]+[-'’])*[^\W\d_]{2,}")
_TIGHT_RIGHT = re.compile(r"(?P<word>[^\W\d_]+)(?=(?:['’][^\W\d_]+)?[,;:.!?…]*[\"”’»)]*(?:\s|\Z))")
_STARTERS: dict[str, frozenset[str]] = {
    language: _read_words(words)
    for language, words in {
        "de": "aber also auch auf bei da damit dann das dass denn der deshalb die dies diese dieser doch ein eine er es"
        " für ich ihr im in ja jede jeder man mit nach natürlich nein oder sie so und viele von wann warum was weil wenn"
        " wer wie wir wo zu zum zur",
        "en": "also although although and because but can could does did each even every finally furthermore he her here"
        " his how however i if instead it its many maybe moreover my no of our overall perhaps please she should so"
        " sometimes thanks thank that the their then there therefore these they this those though thus what whether"
        " which while who why will would yes yet you your we",
        "es": "a además al algunos aunque así como con cuando de después el ella ellos en entonces es esta este esto la"
        " las lo los muchos no nosotros para pero por porque que se si sin su también todo un una y yo",
        "fr": "ainsi alors aussi avec bien ce ces cela cette chaque comme dans de des donc elle elles en enfin et il ils"
        " je la le les leur mais même nous on par parce pour pourquoi puis quand que qui sans ses si son sur un une vous",
        "it": "allora anche che come con così dal del di e ecco gli i il in io la le lei lo loro lui ma molti noi non"
        " per perché poi quando questa questo se si sono tutti un una",
        "nl": "als daarom dan dat de deze die dit een en er het hij hoe ik in maar met nee of omdat ook op toen waarom"
        " want wat we wij ze zij zo",
        "pt": "a além ao as assim com como de depois do e ela ele eles em então essa esse esta este eu isso mas muitos"
        " não nós o os para pois por porque quando que se sem também todos um uma você",
    }.items()
}
"""Words that often begin a sentence, but rarely a part of a name in code, of a file or of a site."""
_NO_END = BEFORE_NUMBER | _read_words(
    "bzw ca cf dott dr dra ed eds eg evtl ex exa ff ggf hr ie incl inkl jr mlle mm mme mr mrs ms mt np núm prof resp sig"
    " sog sr sra srta st sta sto ud uds usw vgl viz vs"
)
"""Abbreviations in any language, without their full stops, that do not end a sentence if no space follows."""


def mask_literals(line: str) -> str:
    """``line`` without anything in code and formulas that looks like an end, and with a space for a zero-width one; as long as
    ``line``."""
    if "\u200b" in line or "\ufeff" in line:
        line = line.translate(_UNSEEN_SPACES)
    return _LITERAL.sub(_hide_ends, line) if "`" in line or "$" in line or "\\" in line else line


def _hide_ends(found: re.Match[str]) -> str:
    literal = found[0]
    if found["code"] is None:
        return literal.translate(_ENDERS)
    # "`Done.` Next": the last sign of code may be an end.
    last = len(literal.rstrip("`")) - 1
    return literal[:last].translate(_ENDERS) + literal[last:]


def mask_misleading(line: str, language: str) -> str:
    """``line`` prepared for sentencex, which does not cut between quotation marks or brackets; as long as ``line``.

    A pair around the whole line is removed, because otherwise a quoted paragraph would be one unit; so is "<" if it means "less
    than". English titles and words that sentencex misreads are replaced by others of the same length that it knows.
    """
    if language == "en":
        line = _TITLES.sub(_KNOWN_TITLE, line)
        line = _PLAIN_WORDS.sub(lambda found: _PLAIN_WORD[: len(found[0])], line)
    closer = _PAIRS.get(line[:1])
    if closer is not None and line.find(closer, 1) == len(line.rstrip(".!?…*_")) - 1:
        line = f" {line[1:]}"
    return _LESS_THAN.sub(" ", line) if "<" in line else line


def is_taken_back(line: str, start: int, cut: int, after: str, language: str) -> bool:
    """Whether the cut at ``line[cut]`` is wrong.

    The unit so far is ``line[start:cut]``; ``after`` is the piece up to the next cut, with its white space.
    """
    if not line[cut - 1].isspace() and _is_inside_word(line, start, cut, language):
        return True
    if not _WORD.search(after):
        # "!!", a smiley or a closing bracket belongs to the previous sentence; dots attached to a word belong to that word.
        are_leading_dots = not after.strip(".…") and cut + len(after) < len(line)
        return not are_leading_dots
    return (
        not _WORD.search(line, start, cut)
        or _is_abbreviated(line, start, cut, after, language)
        or _is_time_of_day(line, start, cut, after, language)
    )


def skip_emoji(line: str, cut: int) -> int:
    """Move the cut behind the emoji that follow it: they belong to the previous sentence, unless they point to the next."""
    found = _EMOJI_BEHIND.match(line, cut)
    return found.end() if found and not _POINTERS.search(found[0]) else cut


def find_missed_cuts(line: str, start: int, end: int, language: str) -> Iterator[int]:
    """The places inside the unit ``line[start:end]`` at which further sentences begin."""
    for tight in _find_tight_cuts(line, start, end, language):
        yield from _find_loose_cuts(line, start, tight)
        yield tight
        start = tight
    yield from _find_loose_cuts(line, start, end)


def _find_tight_cuts(line: str, start: int, end: int, language: str) -> Iterator[int]:
    """The places at which a sentence begins without a space before it."""
    for found in _TIGHT_END.finditer(line, start, end):
        if _is_tight_end(line, start, found, language):
            start = found.start("opener")
            yield start


def _is_tight_end(line: str, start: int, found: re.Match[str], language: str) -> bool:
    """Whether a sentence ends here, as opposed to a part of an address, of a name of a file or in code, or an abbreviation.

    A capital letter must follow. After a bare full stop, the next word must be one with which sentences often begin.
    """
    before = line[max(start, found.start() - _TAIL) : found.start()].split()
    right = _TIGHT_RIGHT.match(line, found.end())
    if not before or not right or line[found.start() - 1].isspace():
        return False
    left, word = before[-1].lstrip(_OPENERS), right["word"]
    if not _TIGHT_LEFT.fullmatch(left) or not word[0].isupper() or not (len(word) == 1 or word[1:].islower()):
        return False
    if found["closers"] or found["opener"]:
        return True
    if found["end"] == ".":
        return word.casefold() in _STARTERS.get(language, ()) and left.casefold() not in _NO_END
    return found["end"] == "?" or left.islower()


def _find_loose_cuts(line: str, start: int, end: int) -> Iterator[int]:
    """Sentence ends after "…", brackets, emphasis and signs of footnotes.

    A capital letter must follow. Brackets count only if they enclose the whole sentence: "(It was late.) She left."
    """
    for possible in _POSSIBLE_END.finditer(line, start, end):
        word = possible["word"]
        if not word[0].isupper() or not _WORD.search(line, start, possible.start()):
            continue
        # The pronoun "I" is always a capital.
        if word != "I" if possible["end"] == "…" else _is_closed_sentence(line, start, possible):
            cut = possible.end("closers")
            yield cut
            start = cut


def _is_closed_sentence(line: str, start: int, possible: re.Match[str]) -> bool:
    closers = _NOTES.sub("", possible["closers"])
    has_note = closers != possible["closers"]
    # sentencex finds the end before a single quotation mark itself.
    if not has_note and len(closers) < 2 and not any(closer in ")]*_~`" for closer in closers):
        return False
    if ")" in closers or "]" in closers:
        opening = line[start : start + _TAIL].lstrip().lstrip("*_~`\"'“‘„«")
        if not opening.startswith(("(", "[")):
            return False
    if possible["end"] == ".":
        last = line[max(start, possible.start() - _TAIL) : possible.start()].split()
        word = last[-1].lstrip(_OPENERS) if last else ""
        # Not ends: "the **U.S.** Senate", "**A.** Yes", "**1.** First".
        return "." not in word and (len(last) > 1 or (len(word) > 1 and not word.isdigit()))
    return True


def _is_inside_word(line: str, start: int, cut: int, language: str) -> bool:
    """Whether a cut without white space is wrong, as in "pandas.DataFrame"; right after East Asian and Indic enders it is
    correct."""
    if language == "ja" and line[cut - 1] in "」』）" and line.startswith(_QUOTATIVES, cut):
        return True
    return line[cut] < _FIRST_EAST_ASIAN and bool(_PLAIN_END.search(line, max(start, cut - _TAIL), cut))


def _is_time_of_day(line: str, start: int, cut: int, after: str, language: str) -> bool:
    """Whether the sentence continues after "a.m." or "p. m.": with a lower-case letter or, in English, a day, a month or a time
    zone."""
    if not _TIME_OF_DAY.search(line, max(start, cut - _TAIL), cut):
        return False
    following = after.lstrip()
    return following[:1].islower() or (language == "en" and bool(_AFTER_TIME.match(following)))


def _is_abbreviated(line: str, start: int, cut: int, after: str, language: str) -> bool:
    words = line[max(start, cut - _TAIL) : cut].split()
    if language == "en" and _EMPHASISED_TITLE.search(line, max(start, cut - _TAIL), cut):
        return True
    last = words[-1].lstrip(_OPENERS).casefold() if words else ""
    if not last.endswith((".", ")")):
        return False
    if _NUMBERING.fullmatch(line, start, cut):
        return True
    word = last[:-1]
    if after[0].isdigit():
        return word in BEFORE_NUMBER
    if word.isdigit():
        before = words[-2].casefold() if len(words) > 1 else ""
        is_ordinal = language in ORDINAL_LANGUAGES and len(word) <= 2
        return is_ordinal and (after[0].islower() or (language == "de" and before in _BEFORE_ORDINAL))
    return last in ABBREVIATIONS.get(language, ())


__all__ = ["SEGMENTER", "SEGMENTER_VERSION", "Kind", "Span", "segment"]

SEGMENTER = "markdown-sentencex"
# Boundaries are fixed when a text is imported, so a change of a rule needs a new version.
SEGMENTER_VERSION = "4"

# Characters. A longer sentence or quotation may be cut where it would not be in a shorter line.
_WINDOW = 8_000
# White space of more than one byte.
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")
# A tool call and its result are one unit each: a call is coded, a result is cited.
TOOL_KINDS = {"tool_call": "call", "tool_result": "result"}

SentenceRow = tuple[int, int, int, str, str]
"""The position of a sentence, which counts from 1 over the whole interview, its start and end in the turn, its kind and
the hash of its text, as in ``models.Sentence``."""


def segment(text: str, language: str = "en") -> list[Span]:
    """The units of ``text`` in order; they do not overlap, none is empty, none begins or ends with white space.

    ``language`` is an IETF tag ("en", "pt-BR"); an unknown one is cut by general rules. Headings, table rows, lines of code and
    lines that are no Markdown block ("other": a link definition, a line of tags or of emoji) are one unit each. White space and
    markers belong to no unit: those of lists, headings, quotes, rules, fences (with the name of a language after one) and the
    line under a table's head or a heading. The same text and language give the same result.

    There are two stages. ``markdown_lines`` finds lines and their kinds; a line break always ends a unit, also a soft wrap. Inside
    lines of prose, quotes and list items sentencex finds sentences, and the rules above correct what it is known to get wrong.
    Known limits: an ellipsis is an end only before a capital letter, so in scripts without case it never is; a line that starts
    with a number of up to two digits and a full stop is a list item, also "3. Oktober" and a wrapped "14. May".
    """
    language = _read_language(language)
    spans: list[Span] = []
    for start, end, kind in find_lines(text):
        if kind is Kind.PROSE or kind is Kind.LIST_ITEM:
            spans += _cut_line(text[start:end], start, kind, language)
        else:
            spans.append(Span(start, end, kind))
    return spans


@lru_cache(maxsize=256)
def _read_language(tag: str) -> str:
    return re.split("[-_]", tag.strip().lower(), maxsplit=1)[0] or "en"


def _cut_line(line: str, offset: int, kind: Kind, language: str) -> Iterator[Span]:
    line = mask_literals(line)
    pieces = _find_pieces(mask_misleading(line, language), language)
    start = 0
    for end in _find_ends(line, pieces, language):
        for cut in (*find_missed_cuts(line, start, end, language), end):
            unit = line[start:cut]
            words = unit.strip()
            if words:
                begin = offset + start + len(unit) - len(unit.lstrip())
                yield Span(begin, begin + len(words), kind)
            start = cut


def _find_pieces(line: str, language: str) -> list[str]:
    """sentencex's pieces of ``line``; a long line is read through a window that moves by whole pieces.

    Its time grows with the square of the length for text without spaces and for sequences of quotation marks.
    """
    pieces: list[str] = []
    start = 0
    is_open = False
    while len(line) - start > _WINDOW:
        found = _ask_sentencex(line[start : start + _WINDOW], language)
        closed = found[:-1] or found
        start += sum(map(len, closed))
        if is_open:
            pieces[-1] += closed.pop(0)
        pieces += closed
        is_open = len(found) == 1
    rest = _ask_sentencex(line[start:], language)
    if is_open and rest:
        pieces[-1] += rest.pop(0)
    return pieces + rest


def _ask_sentencex(text: str, language: str) -> list[str]:
    """The pieces of ``text``.

    sentencex 1.0.32 fails on a capital letter, wide white space and a full stop ("plan B", a no-break space, "."): it takes all
    white space for one byte. Such a text is divided as if its white space were plain.
    """
    try:
        found: list[str] = sentencex.segment(language, text)
    except BaseException as error:
        # A class of the extension that cannot be imported and is not an ``Exception``, so it would end a request or a worker.
        if type(error).__name__ != "PanicException":
            raise
        found = sentencex.segment(language, _WIDE_SPACE.sub(" ", text))
    return found


def _find_ends(line: str, pieces: list[str], language: str) -> Iterator[int]:
    """The ends of sentencex's pieces, except those that the rules remove."""
    start = end = 0
    for piece, after in pairwise(pieces):
        end += len(piece)
        if not is_taken_back(line, start, end, after, language):
            start = skip_emoji(line, end)
            yield start
    yield len(line)


def prepare_interview(read: ReadInterview) -> list[list[SentenceRow]]:
    """Cut every turn into sentences, in the order of the turns."""
    position = 0
    sentences = []
    for turn in read.turns:
        cut = list(cut_turn(turn, language=read.language, after=position))
        position += len(cut)
        sentences.append(cut)
    return sentences


def cut_turn(turn: ReadTurn, *, language: str, after: int) -> Iterator[SentenceRow]:
    """The sentences of one turn, numbered from ``after`` on; a tool's call or result is one sentence."""
    text = turn.text
    if turn.channel in TOOL_KINDS:
        if words := text.strip():
            start = len(text) - len(text.lstrip())
            yield after + 1, start, start + len(words), TOOL_KINDS[turn.channel], hash_quote(words)
        return
    for position, span in enumerate(segment(text, language), after + 1):
        quote = text[span.start : span.end]
        yield position, span.start, span.end, str(span.kind), hash_quote(quote)


def is_answer(turn: ReadTurn, *, kind: str) -> bool:
    """Whether coders decide on a turn in a thread of this ``kind``: what models say and, in trajectories, their calls."""
    return turn.role == "model" and (
        turn.channel == "utterance" or (turn.channel == "tool_call" and kind == "trajectory")
    )


def hash_quote(text: str) -> str:
    """The first 32 hex digits of the SHA-256 of a quoted text: enough to show that an offset has shifted."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
