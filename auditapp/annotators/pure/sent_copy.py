"""The copy of a text that is sent to a machine, and how positions in the copy lead back to the original. Knows nothing of
Django.

In the copy, the words of the study's redaction list are replaced; invisible characters are removed (direction and tag characters,
zero widths, variation selectors, controls); and signs that some models take for the edge of a message, of a code block or of our
own material are replaced by similar-looking ones. The text itself never changes.

The patterns in a text that look as if they address a machine. Knows nothing of Django.

A flag hides nothing: it warns people who see the machine's answer that the text may have influenced it. Instructions in plain
words that match no known pattern are not found; docs/reference/pre-annotation.md says which payloads those are.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from transcripts.corpus.pure.redacting import Entry, find_places
from transcripts.formats.text_input import HIDDEN

OTHER_BREAKS = str.maketrans("\x85\u2028\u2029", "\n\n\n")
LOOK_ALIKES = str.maketrans("<>[]`~:#|", "‹›()'∼：＃¦")
# What every text with an edge contains, so that others are not searched.
SIGNS_OF_EDGES = ("<", "[", "]]", "```", "~~~", ">>>")
ROLES = "system|assistant|user|human|developer|model|tool|ai"
EDGES = re.compile(
    r"<{1,2}/?sys>{1,2}|<[|｜]|[|｜]>|<{2,}|>{3,}|\[\[|\]\]|`{3,}|~{3,}"
    rf"|</?\s{{0,9}}(?:{ROLES}|s|bos|eos|inst|instructions?|think(?:ing)?|(?:start|end)_of_turn|turn|message|im_(?:start|end)"
    r"|tool_\w+|function\w*|invoke|parameter|antml:\w+|material|answer|output|data)\b[^<>\n]{0,200}>"
    r"|\[/?(?:inst|sys|system|assistant|user|available_tools|tool_calls|tool_results)\]",
    re.IGNORECASE,
)
ROLE_LINES = re.compile(
    rf"^[ \t>*_]*(?:{ROLES})[*_ \t]*:|^#{{2,}}[ \t]*(?:{ROLES}|instructions?|input|response|new instructions?)\b",
    re.IGNORECASE | re.MULTILINE,
)


class Stretch(NamedTuple):
    """A part of the copy and the part of the original that it replaces: character by character, or only as a whole."""

    start: int
    end: int
    original_start: int
    original_end: int
    is_verbatim: bool


class SentCopy(NamedTuple):
    """``text`` is what is sent. ``stretches`` are in order and without gaps; there are none if every position is the same in
    both texts."""

    text: str
    stretches: tuple[Stretch, ...] = ()

    def find_original(self, start: int, end: int) -> tuple[int, int]:
        """The smallest part of the original that contains everything that ``text[start:end]`` replaces (at least one
        character)."""
        if not self.stretches:
            return start, end
        first = self.stretches[bisect_right(self.stretches, start, key=lambda each: each.end)]
        last = self.stretches[bisect_left(self.stretches, end, key=lambda each: each.end)]
        return (
            first.original_start + (start - first.start if first.is_verbatim else 0),
            last.original_start + (end - last.start) if last.is_verbatim else last.original_end,
        )

    def find_copy(self, start: int, end: int) -> tuple[int, int]:
        """The part of the copy that replaces a part of the original. A part that was replaced as a whole is located at its
        beginning."""
        return self._find_place(start), self._find_place(end)

    def _find_place(self, original: int) -> int:
        if not self.stretches:
            return original
        index = bisect_right(self.stretches, original, key=lambda each: each.original_end)
        if index == len(self.stretches):
            return len(self.text)
        stretch = self.stretches[index]
        if stretch.is_verbatim:
            return stretch.start + original - stretch.original_start
        return stretch.start if original == stretch.original_start else stretch.end


# Start and end of a part of the original, and the text in its place in the copy.
Change = tuple[int, int, str]


def make_copy(text: str, entries: Sequence[Entry]) -> SentCopy:
    """The copy of ``text``, with the entries of a redaction list (``redacting.read_stored``) applied."""
    dropped = [] if _is_plain(text) else [(*found.span(), "") for found in HIDDEN.finditer(text)]
    changes = _find_replaced(text, entries, dropped) if entries else dropped
    if not changes:
        return SentCopy(_blunt(text))
    copy = _change(text, changes)
    return SentCopy(_blunt(copy.text), copy.stretches)


def _is_plain(text: str) -> bool:
    """Whether a quick test finds nothing hidden in a text."""
    return text.isascii() and text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable()


def _find_replaced(text: str, entries: Sequence[Entry], dropped: Sequence[Change]) -> list[Change]:
    """The replacements, searched for in the text without hidden characters, which could separate the parts of a word; and the
    characters that are removed elsewhere."""
    shown = _change(text, dropped)
    changes: list[Change] = []
    for found_start, found_end, entry in find_places(shown.text, entries):
        start, end = shown.find_original(found_start, found_end)
        changes.append((start, end, entries[entry].replacement))
    if not changes or not dropped:
        return changes or list(dropped)
    apart: list[Change] = []
    for change in sorted([*changes, *dropped]):
        if not apart or change[0] >= apart[-1][1]:
            apart.append(change)
    return apart


def _change(text: str, changes: Sequence[Change]) -> SentCopy:
    """The text with the changes made; they are in order and do not overlap."""
    pieces: list[str] = []
    stretches: list[Stretch] = []
    original = place = 0
    for start, end, replacement in [*changes, (len(text), len(text), "")]:
        if start > original:
            pieces.append(text[original:start])
            stretches.append(Stretch(place, place + start - original, original, start, True))
            place += start - original
        if end > start:
            pieces.append(replacement)
            stretches.append(Stretch(place, place + len(replacement), start, end, False))
            place += len(replacement)
        original = end
    return SentCopy("".join(pieces), tuple(stretches) if changes else ())


def _blunt(text: str) -> str:
    """The text with similar-looking characters instead of those that could be taken for an edge. Its length does not change."""
    if not text.isascii():
        text = text.translate(OTHER_BREAKS)
    if any(sign in text for sign in SIGNS_OF_EDGES):
        text = EDGES.sub(_write_look_alikes, text)
    if ":" in text or "##" in text:
        text = ROLE_LINES.sub(_write_look_alikes, text)
    return text


def _write_look_alikes(found: re.Match[str]) -> str:
    return found[0].translate(LOOK_ALIKES)


MAX_SEARCHED = 100_000
# Words for what was said before, and for what sets it aside, in the languages we have them in. Between the two at most a
# few words.
SET_ASIDE = {
    "en": r"(?:ignore|disregard|forget|override|bypass|skip|do not follow|don't follow|stop following)",
    "de": r"(?:ignorier\w*|vergiss|vergessen sie|missachte\w*|übergehe\w*)",
    "fr": r"(?:ignore[zr]?|oublie[zr]?|ne tiens pas compte|ne tenez pas compte)",
    "es": r"(?:ignor[ae]\w*|olvid[ae]\w*|haz caso omiso)",
    "pt": r"(?:ignor[ae]\w*|esque[çc]a\w*|desconsider\w*)",
    "it": r"(?:ignora\w*|dimentica\w*|trascura\w*)",
    "nl": r"(?:negeer|vergeet)",
    "pl": r"(?:zignoruj|ignoruj|zapomnij)",
    "tr": r"(?:yok say\w*|unut\w*|görmezden gel\w*|dikkate alma\w*)",
    "ru": r"(?:игнорируй\w*|проигнорируй\w*|забудь\w*)",
    "uk": r"(?:ігноруй\w*|проігноруй\w*|забудь\w*)",
}
SAID_BEFORE = (
    r"(?:instruction|direction|prompt|rules?\b|guideline|codebook|what (?:you were|was) told|everything above|all (?:of )?the above"
    r"|anweisung|vorgabe|anleitung|regeln|consigne|r[èe]gle|instruc|istruzion|regole|instructie|regels|polece|instrukcj"
    r"|talimat|yönerge|инструкц|указани|інструкц|вказівк)"
)
IGNORE = re.compile(rf"\b(?:{'|'.join(SET_ASIDE.values())})\b[^.!?\n]{{0,60}}{SAID_BEFORE}", re.IGNORECASE)
# In languages that put the verb last, or no spaces between words.
IGNORE_REVERSED = re.compile(
    r"(?:talimat|yönerge)[^.!?\n]{0,40}(?:yok say|unut|görmezden gel|dikkate alma)"
    r"|(?:निर्देश|अनुदेश)[^।.!?\n]{0,40}(?:अनदेखा|भूल|नज़रअंदाज़|नजरअंदाज)"
    r"|(?:忽略|无视|無視|忘记|忘記|不要理会)[^。！？\n]{0,20}(?:指令|指示|说明|說明|规则|規則|提示)"
    r"|(?:指示|命令|ルール|規則|プロンプト)[^。！？\n]{0,20}(?:無視|忘れ|従わない)"
    r"|(?:지시|명령|규칙|지침)[^.!?\n]{0,20}(?:무시|잊)"
    r"|(?:تجاهل|انس|اهمل)[^.!؟\n]{0,40}(?:التعليمات|تعليمات|القواعد|الأوامر)"
    r"|(?:התעלם|התעלמי|תתעלם|שכח)[^.!?\n]{0,40}(?:הוראות|ההוראות|הכללים)",
    re.IGNORECASE,
)
NEW_ROLE = re.compile(
    r"\byou are (?:now|no longer)\b[^.!?\n]{0,40}\b(?:assistant|mode|model|agent|coder|annotator|bot|ai|unrestricted|root)"
    r"|\b(?:developer|debug|god|admin|maintenance|jailbreak|dan) mode\b|\bnew (?:system )?(?:instructions?|prompt|rules)\s*:"
    r"|\b(?:note|message|instructions?|attention|reminder) (?:to|for) (?:the )?"
    r"(?:ai|llm|model|annotator|coder|assistant|machine|language model)\b"
    r"|\b(?:as|dear|hey|attention,?) (?:the |an? )?(?:ai |automated |machine )?(?:annotator|coding assistant)\b"
    r"|\bact as (?:the |an? )?(?:system|admin|root|unrestricted|annotator)\b",
    re.IGNORECASE,
)
# Up to the end of a sentence; a full stop inside a name is none.
ON = r"(?:[^.!?\n]|\.(?=\w))"
ORDERS = re.compile(
    rf"\b(?:apply|assign|use|put|give|mark|code|label|tag|choose|select|output|return|answer)\b{ON}{{0,50}}"
    rf"\b(?:to|for|on|with|as|in)\b{ON}{{0,30}}\b(?:every|all|each|any)\b{ON}{{0,30}}"
    r"\b(?:sentences?|turns?|interviews?|entr(?:y|ies)|rows?)\b"
    rf"|\b(?:code|label|mark|tag)\b{ON}{{0,20}}\b(?:every|all|each)\b{ON}{{0,20}}\b(?:sentences?|turns?|interviews?)\b"
    rf"|\b(?:answer|respond|reply|output|return|print)\b{ON}{{0,25}}\b(?:only|exactly|nothing but|verbatim|the following)\b"
    rf"|\b(?:do not|don't|never) (?:apply|use|assign|code|flag|report|mention)\b{ON}{{0,40}}"
    r"\b(?:codes?|instructions?|labels?|sentences?)\b"
    rf"|\b(?:reveal|print|repeat|show|output|leak|send)\b{ON}{{0,30}}"
    r"\b(?:system prompt|your instructions|api[ _-]?keys?|password|the codebook)\b",
    re.IGNORECASE,
)
JSON_CLOSE = re.compile(
    r"[\"'”]\s*[}\]]\s*[,}\]]|[}\]]\s*,\s*\{\s*[\"'“]|[\"'“](?:sentences?|codings?|rationale|quote|question|turn|context|codes?|level|verdict)[\"'”]\s*:"
    r"|\\u00(?:22|7[bd]|5[bd])",
    re.IGNORECASE,
)
BOUNDARY = re.compile(
    r"<{3,}|>{3,}|\b(?:begin|end)[ _](?:of[ _])?(?:turn|material|transcript|data|document|input)\b"
    r"|\bMATERIAL [0-9a-f]{6,}|\b[0-9a-f]{6,} MATERIAL",
    re.IGNORECASE,
)
CODE_NAME = re.compile(
    r"\b(?:themes?|moves?|features?|repertoires?|failures?|codes?)\.[a-z][a-z_]{2,}\b|^[ \t]{0,20}code [\w.-]{1,100}[ \t]{0,5}:"
    r"|\b(?:new|additional|extra|hidden|secret) codes?\b[^.!?\n]{0,30}[:=]",
    re.IGNORECASE | re.MULTILINE,
)
SENTENCE_NUMBER = re.compile(
    r"\b(?:sentences?|interview)[ _]?(?:ids?|numbers?|no\.?|#)?\s{0,5}[:=#]?\s{0,5}\d{2,}|^[ \t]{0,20}\[\d{2,}\]",
    re.IGNORECASE | re.MULTILINE,
)
OUTSIDE_IMAGE = re.compile(
    r"!\[[^\]\n]{0,200}\]\(\s{0,9}(?:https?:)?//|!\[[^\]\n]{0,200}\]\[|<img\b[^>\n]{0,300}\bsrc\s*=|url\(\s*['\"]?https?:",
    re.IGNORECASE,
)
OUTSIDE_LINK = re.compile(
    r"https?://[^\s)\"']{0,300}[?&][\w-]{1,30}=(?:[{<\[]|%7b)|\b(?:fetch|request|call|post to|send|load)\b[^.!?\n]{0,40}https?://",
    re.IGNORECASE,
)
MARKUP = re.compile(
    r"<\s{0,9}/?\s{0,9}(?:script|iframe|object|embed|svg|math|style|link|meta|form|template|base)\b|\bon(?:error|load|click|mouseover|focus)\s*="
    r"|javascript:|\bhx-(?:get|post|on|put|delete)\b|<!--",
    re.IGNORECASE,
)
TOOL_CALL = re.compile(
    r"[\"'](?:tool_calls?|function_call|tool_use|arguments)[\"']\s*:|</?(?:invoke|tool_call|function_calls?|function|tool_use)\b"
    r"|\b(?:call|use|invoke|run|execute)\b[^.!?\n]{0,15}\b(?:tool|function)\b[^.!?\n]{0,40}(?:\w+_\w+|\w+\()",
    re.IGNORECASE,
)
LONG_RUN = re.compile(r"(\S)\1{2000,}|\b(\w{1,20})(?:\s+\2){200,}")
ENCODED_RUN = re.compile(
    r"(?<![\w/+=-])(?:[A-Za-z0-9+/_-]{24,}={0,2}|(?:[0-9a-fA-F]{2}[ :]?){16,}|(?:%[0-9a-fA-F]{2}){8,})(?![\w/+])"
)
SPACED = re.compile(r"(?:\b\w[ ._*-]){7,}\w\b")
NOT_HIDING = frozenset("\u00ad\ufe0e\ufe0f\u200d")
# Invisible doubles of the signs from space to tilde.
TAGS = re.compile("[\U000e0020-\U000e007e]")
# Letters of other alphabets that look like Latin ones.
LATIN_LOOKS = str.maketrans("аеорсухіјѕԁһԛԝνοα", "aeopcyxijsdhqwvoa")
MIXED_WORD = re.compile(r"\b(?=\w*[A-Za-z])(?=\w*[\u0370-\u03ff\u0400-\u04ff])\w{4,}\b")


def find_instructions(text: str) -> list[str]:
    """The names of the patterns found in the text, in a fixed order."""
    text = text[:MAX_SEARCHED]
    found = {name for name, is_there in HOW_IT_IS_SENT.items() if is_there(text)}
    for readable in _list_turn_answers(text):
        found.update(name for name, is_there in WHAT_IS_SAID.items() if is_there(readable))
    return [name for name in (*WHAT_IS_SAID, *HOW_IT_IS_SENT) if name in found]


def _list_turn_answers(text: str) -> Iterator[str]:
    """The text in all forms in which a machine could read it: unchanged, without hidden characters, with hidden words made
    visible, in normalised spelling, and decoded."""
    yield text
    plain = unicodedata.normalize("NFKC", HIDDEN.sub("", text)).translate(OTHER_BREAKS)
    if plain != text:
        yield plain
    if not text.isascii():
        if tagged := "".join(chr(ord(each) - 0xE0000) for each in TAGS.findall(text)):
            yield tagged
        if MIXED_WORD.search(plain):
            yield plain.lower().translate(LATIN_LOOKS)
    if SPACED.search(plain):
        yield SPACED.sub(lambda run: re.sub(r"(?<=\w)[ ._*-](?=\w)", "", run[0]), plain.replace("  ", "\n"))
    yield from _decode(plain)


def _decode(text: str) -> Iterator[str]:
    """The content of encoded runs, if it is text."""
    for found in ENCODED_RUN.finditer(text):
        for decode in (_read_base64, _read_hexadecimal, _read_percent):
            words = decode(found[0])
            if words and sum(each.isalpha() or each.isspace() for each in words) > 0.7 * len(words):
                yield words


def _read_base64(run: str) -> str:
    run = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(run + "=" * (-len(run) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _read_hexadecimal(run: str) -> str:
    try:
        return bytes.fromhex(run.replace(":", " ")).decode()
    except ValueError:
        return ""


def _read_percent(run: str) -> str:
    return unquote(run, errors="strict") if run.startswith("%") else ""


def _is_hiding(text: str) -> bool:
    return any(found[0] not in NOT_HIDING for found in HIDDEN.finditer(text))


def _is_encoded(text: str) -> bool:
    return any(True for _ in _decode(text))


def _has_turn(text: str) -> bool:
    """Whether a text contains the edges of messages. Code fences and doubled brackets are not counted, because they occur in
    many answers."""
    return ROLE_LINES.search(text) is not None or any(found[0].strip("`~[]<>") for found in EDGES.finditer(text))


def _search(*patterns: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: any(pattern.search(text) for pattern in patterns)


WHAT_IS_SAID: dict[str, Callable[[str], bool]] = {
    "ignore previous": _search(IGNORE, IGNORE_REVERSED),
    "new role": _search(NEW_ROLE),
    "orders to the reader": _search(ORDERS),
    "fake turn": _has_turn,
    "json close": _search(JSON_CLOSE),
    "boundary": _search(BOUNDARY),
    "code name": _search(CODE_NAME),
    "sentence number": _search(SENTENCE_NUMBER),
    "tool call": _search(TOOL_CALL),
    "outside image": _search(OUTSIDE_IMAGE),
    "outside link": _search(OUTSIDE_LINK),
    "markup": _search(MARKUP),
}
HOW_IT_IS_SENT: dict[str, Callable[[str], bool]] = {
    "hidden characters": _is_hiding,
    "look-alike letters": lambda text: not text.isascii() and MIXED_WORD.search(text) is not None,
    "spelt apart": _search(SPACED),
    "encoded": _is_encoded,
    "very long run": _search(LONG_RUN),
}
