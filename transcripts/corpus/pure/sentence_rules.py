"""What sentencex gets wrong, corrected: boundaries removed and added. Part of the segmenter: see `SEGMENTER_VERSION`.

Every rule looks at a few characters around a cut, so a line is read in time linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


def _read_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


BEFORE_NUMBER = _read_words(
    "abb approx art bd bl blz bz ca cap ch chap eq eqs est fig figs kap n no nos nr num núm p pag pág pp s sec secs"
    " sect sects vol vols"
)
"""Abbreviations in any language that end no sentence where a digit follows."""

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
"""Abbreviations that end no sentence, with their full stops, in lower case."""

ORDINAL_LANGUAGES = _read_words("cs da de et fi hr hu is lv nb nn no pl sk sl sr tr")
"""Where "3." before a word in lower case is "third"."""

_BEFORE_ORDINAL = _read_words("am ab beim bis das dem den der des die im seit vom zum zur")
"""German words after which "3." is "third" also before a noun."""

_CLOSERS = r")\]\"'”’»*_~`"
_OPENERS = "([\"'“‘„«¿¡*_~`"
_WORD = re.compile(r"[^\W_]")
_PLAIN_END = re.compile(rf"[.!?…][{_CLOSERS}]*\Z")
_NUMBERING = re.compile(r"\s*\(?\d{1,9}[.)]+\s*")
_POSSIBLE_END = re.compile(
    rf"(?P<end>[.!?…])(?P<closers>[{_CLOSERS}]*+)\s++(?P<openers>[{re.escape(_OPENERS)}]*+)(?P<word>I\b|\w)"
)
_PAIRS = {'"': '"', "“": "”", "‘": "’", "«": "»", "„": "“", "「": "」", "『": "』", "(": ")", "[": "]"}
_LESS_THAN = re.compile(r"<(?=[\s\d])")
_QUOTATIVES = ("と", "って", "なんて", "とか")
_FIRST_EAST_ASIAN = "\u2e80"
# Longer than any abbreviation with the word before it.
_TAIL = 32


def mask_misleading(line: str) -> str:
    """``line`` for sentencex, which cuts nothing between quotation marks or brackets; as long as ``line``.

    A pair around the whole line goes, or a quoted paragraph would be one unit; so does "<" where it means "less than".
    """
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
        # "!!", a smiley or a closing bracket goes with the sentence before; dots stuck to a word go with that word.
        are_leading_dots = not after.strip(".…") and cut + len(after) < len(line)
        return not are_leading_dots
    return not _WORD.search(line, start, cut) or _is_abbreviated(line, start, cut, after, language)


def find_missed_cuts(line: str, start: int, end: int) -> Iterator[int]:
    """Where the next sentence begins inside the unit ``line[start:end]``: after "…", and after brackets and emphasis.

    A capital letter must follow. Brackets count only when they enclose the whole sentence: "(It was late.) She left."
    """
    for possible in _POSSIBLE_END.finditer(line, start, end):
        word = possible["word"]
        if not word[0].isupper() or not _WORD.search(line, start, possible.start()):
            continue
        # The pronoun is written with a capital anywhere.
        if word != "I" if possible["end"] == "…" else _is_closed_sentence(line, start, possible):
            cut = possible.end("closers")
            yield cut
            start = cut


def _is_closed_sentence(line: str, start: int, possible: re.Match[str]) -> bool:
    closers = possible["closers"]
    # sentencex sees the end before a single quotation mark by itself.
    if len(closers) < 2 and not any(closer in ")]*_~`" for closer in closers):
        return False
    if ")" in closers or "]" in closers:
        opening = line[start : start + _TAIL].lstrip().lstrip("*_~`\"'“‘„«")
        if not opening.startswith(("(", "[")):
            return False
    if possible["end"] == ".":
        last = line[max(start, possible.start() - _TAIL) : possible.start()].split()
        word = last[-1].lstrip(_OPENERS) if last else ""
        # Not an end: "the **U.S.** Senate", and all there is in "**A.** Yes", "**1.** First".
        return "." not in word and (len(last) > 1 or (len(word) > 1 and not word.isdigit()))
    return True


def _is_inside_word(line: str, start: int, cut: int, language: str) -> bool:
    """A cut without white space: right after East Asian and Indic enders, wrong in "pandas.DataFrame"."""
    if language == "ja" and line[cut - 1] in "」』）" and line.startswith(_QUOTATIVES, cut):
        return True
    return line[cut] < _FIRST_EAST_ASIAN and bool(_PLAIN_END.search(line, max(start, cut - _TAIL), cut))


def _is_abbreviated(line: str, start: int, cut: int, after: str, language: str) -> bool:
    words = line[max(start, cut - _TAIL) : cut].split()
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
