"""Conversations as plain text: one file is one interview, or several that are separated by lines of =.

    Interviewer: Why?                        Sara Lind  00:03                [id1] Why?
    Model A: It depends.                     Why?                            [id2] It depends.
    A second paragraph of the answer.

Left: a line that begins with a speaker and a colon starts a turn (``**Speaker:**`` too); lines up to the next speaker belong to
it. Middle: a line of a speaker, two spaces and a time is the head of a turn. Right: each turn begins with its speaker in
brackets. The text of a turn begins after the colon and the spaces that follow it, or on the next line if the rest of this one
is empty, and ends before the line breaks in front of the next speaker; it is not changed. A time before the speaker, or after
her name, is kept as the time of the turn.

Not everything before a colon is a speaker: "Note: …" inside an answer is text. The rules below decide who speaks, and which
other names are listed as text. Names show who the interviewer is; without such a name, the first to speak is the interviewer,
and a warning says so. Text before the first speaker is kept as metadata ("preamble"). The file's name is the id and title, with
a number if there are several interviews.

Also which words before a colon are a speaker's name, and which speaker is the interviewer.

A name that begins several lines is a speaker, and so is a usual one (Interviewer, Participant 2, Claude, …), however often it
comes. Other names that begin only one line could be either: they stay text and are listed in the preview, where a person marks
the speakers. If this finds fewer than two speakers, the first names of the text are taken.

The answers of chatbots are full of headings such as "Pros: …". If one answers, an unusual name must therefore look like the
usual ones (bold, and after an empty line, if all of those are) and occur both before and after one of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from transcripts.formats.interviews.base import (
    NOTHING_SAID,
    Naming,
    ReadFile,
    ReadInterview,
    ReadTurn,
    Source,
    say_times,
)
from transcripts.formats.json_lines import shorten
from transcripts.formats.problems import ReadError

FORMAT = "speaker_text"

_LINE_BREAK = r"(?:\r\n|\n|\r)"
# Marks of direction come before names that are written from right to left.
_LINE_START = r"(?<![^\r\n])[\u200e\u200f\u202a-\u202e\u2066-\u2069]*"
_GAP = r"[ \t\u00a0\u2002-\u200a\u202f\u3000]"
_TIME = r"(?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?"
SPAN = rf"{_TIME}(?:{_GAP}*(?:[-–]|-->){_GAP}*{_TIME})?"
_BEFORE = rf"(?:[\[(<#{{]?{SPAN}[\])>#}}]?{_GAP}*(?:[-–|]{_GAP}*)?)?"
_BEHIND = rf"(?:{_GAP}*[\[(]{SPAN}[\])]|{_GAP}+{SPAN})?"
_NAME = rf"[^\W\d_][^\s:：*]*(?:{_GAP}[^\s:：*]+){{0,4}}?"
# French puts a space before the colon; Chinese and Japanese have a wide one.
_COLON = rf"{_GAP}?[:：]"
_LABELLED = (
    rf"{_BEFORE}(?:\*\*(?P<bold>{_NAME}){_BEHIND}(?:{_COLON}\*\*|\*\*{_COLON})"
    rf"|\[(?P<square>{_NAME})\]{_BEHIND}:|(?P<plain>{_NAME}){_BEHIND}{_COLON})"
    rf"(?:{_GAP}*{_LINE_BREAK}|{_GAP}+|\Z|(?=[^\s\d:/\\]))"
)
_LABEL = re.compile(rf"{_LINE_START}{_LABELLED}")
# After an indentation: the number of the line or the sign of a list.
_SHIFTED = re.compile(
    rf"{_LINE_START}(?:{_GAP}{{0,20}}+(?:[-*•]|\d{{1,5}}+[.)]?){_GAP}{{1,20}}+|{_GAP}{{1,20}}+){_LABELLED}"
)
_HEAD = re.compile(
    rf"{_LINE_START}(?P<plain>{_NAME})(?:{_GAP}{{2,}}[(\[]?{_TIME}[)\]]?|{_GAP}[(\[]{_TIME}[)\]]){_GAP}*(?:{_LINE_BREAK}|\Z)"
)
_BRACKETED = re.compile(rf"{_LINE_START}{_BEFORE}\[(?P<plain>[^\W\d_][\w .-]{{0,39}})\]{_GAP}+(?=\S)")
_TIMED = re.compile(_TIME)
_PARTING = re.compile(rf"{_LINE_START}={{3,}}[ \t]*(?:{_LINE_BREAK}|\Z)")
_MAX_NAME_LENGTH = 60
WHOLE_FORMAT = "plain_text"
_EXPECTED = 'lines such as "Interviewer: …" and "Model: …", or "Name  00:15" above each turn'

Start = tuple[int, str, int]
"""The place where a turn's label begins, the speaker, and the place where the turn's text begins."""


def read_speaker_text(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError` when nobody speaks in it."""
    parts = _part(source.text)
    # A line of = within a conversation, such as below a heading, separates nothing.
    if sum(bool(find_starts(text, source.naming)) for _, text in parts) < 2:
        return read_conversation(source)
    interviews: list[ReadInterview] = []
    warnings: Counter[str] = Counter()
    texts: Counter[str] = Counter()
    for line, text in parts:
        if find_starts(text, source.naming):
            name = f"{source.stem}-{len(interviews) + 1}"
            read = _read_one(Source(source.name, text, naming=source.naming))
            [interview] = read.interviews
            interviews.append(replace(interview, external_id=name, title=name, line=interview.line + line))
            warnings.update(read.warnings)
            texts.update(read.read_as_text)
        elif text.strip():
            warnings["A part between lines of = in which nobody speaks was left out."] += 1
    told = [say_times(warning, times) for warning, times in warnings.items()]
    told = [f"Lines of = part the file into {len(interviews):,} interviews.", *told, *warn_of_texts(texts)]
    return ReadFile(FORMAT, interviews, told, read_as_text=texts)


def read_whole(source: Source) -> ReadFile:
    """The whole text as one turn, for a document in which nobody is named."""
    interview = ReadInterview(source.stem[:200], source.stem[:300], (ReadTurn("model", "utterance", "", source.text),))
    return ReadFile(WHOLE_FORMAT, [interview], ["The whole text was read as one turn of the model, as you chose."])


def _part(text: str) -> list[tuple[int, str]]:
    """The parts between lines of =, each with the number of lines before it."""
    parts, begin, lines = [], 0, 0
    for end, after in [*(found.span() for found in _PARTING.finditer(text)), (len(text), len(text))]:
        parts.append((lines, text[begin:end]))
        lines += len(re.findall(_LINE_BREAK, text[begin:after]))
        begin = after
    return parts


def read_conversation(source: Source) -> ReadFile:
    """The whole text as one interview; raises `ReadError` when nobody speaks in it."""
    read = _read_one(source)
    return replace(read, warnings=[*read.warnings, *warn_of_texts(Counter(read.read_as_text))])


def _read_one(source: Source) -> ReadFile:
    """A conversation, without a warning of the names that are read as text."""
    starts, texts = _find_starts(source.text, source.naming)
    if not starts:
        raise ReadError(source.name, None, "no two speakers", _EXPECTED)
    roles, guesses = assign_roles(list(dict.fromkeys(speaker for _, speaker, _ in starts)))
    ends = [*(announced for announced, _, _ in starts[1:]), len(source.text)]
    turns = tuple(
        ReadTurn(
            roles[speaker],
            "utterance",
            speaker,
            source.text[begin:end].rstrip("\r\n"),
            details=_read_time(source.text[announced:begin]),
        )
        for (announced, speaker, begin), end in zip(starts, ends, strict=True)
    )
    before = source.text[: starts[0][0]]
    preamble = before.strip()
    warnings = ["The text before the first speaker was kept as metadata."] if preamble else []
    interview = ReadInterview(
        external_id=source.stem,
        title=source.stem,
        turns=turns,
        metadata={"preamble": preamble} if preamble else {},
        line=len(re.findall(_LINE_BREAK, before)) + 1,
    )
    return ReadFile(FORMAT, [interview], [*guesses, *warnings], read_as_text=texts)


def find_starts(text: str, naming: Naming = NOTHING_SAID) -> list[Start]:
    """Every place where a turn begins, in order; empty unless there are two speakers or one with a usual name."""
    return _find_starts(text, naming)[0]


def find_texts(text: str) -> Counter[str]:
    """The names that begin lines as speakers do and are read as text, each with the number of its lines."""
    return _find_starts(text, NOTHING_SAID)[1]


def _find_starts(text: str, naming: Naming) -> tuple[list[Start], Counter[str]]:
    heads = _find_all(_HEAD, text)
    if len(heads) > 1:
        return _list_starts(heads), Counter()
    bracketed = _find_all(_BRACKETED, text)
    if len({label.name for label in bracketed}) > 1 and not text[: bracketed[0].announced].strip():
        return _list_starts(bracketed), Counter()
    labels = _find_all(_LABEL, text)
    speakers, texts = choose_speakers(labels, naming)
    if not speakers and (shifted := _find_all(_SHIFTED, text)):
        speakers, told = choose_speakers(shifted, naming)
        starts = _list_starts(label for label in shifted if plain_name(label.name) in speakers)
        return (starts, told) if is_dialogue(text, starts) else ([], texts)
    return _list_starts(label for label in labels if plain_name(label.name) in speakers), texts


def is_dialogue(text: str, starts: list[Start]) -> bool:
    """Whether a text of unknown kind, given where turns begin in it, is a conversation and not an article with some colons.

    In a conversation, those who ask and those who answer have usual names, or at least two, including the first speaker, speak
    again after somebody else; and most of the text is theirs.
    """
    if not starts or starts[0][0] * 3 > len(text):
        return False
    if _HEAD.match(text, starts[0][0]) or _BRACKETED.match(text, starts[0][0]):
        return True
    names = [plain_name(speaker) for _, speaker, _ in starts]
    if any(map(is_asker, names)) and any(map(is_answerer, names)):
        return True
    changes = [name for name, before in zip(names, ["", *names], strict=False) if name != before]
    returning = {name for name, times in Counter(changes).items() if times > 1 and name not in SECTIONS}
    return len(returning) > 1 and names[0] in returning


def _find_all(pattern: re.Pattern[str], text: str) -> list[Label]:
    labels = []
    for found in pattern.finditer(text):
        parts = found.groupdict()
        name = parts.get("bold") or parts.get("square") or parts["plain"]
        if len(name) <= _MAX_NAME_LENGTH:
            above = text[max(0, found.start() - 100) : found.start()].replace("\r\n", "\n").replace("\r", "\n")
            is_apart = not above.removesuffix("\n").rpartition("\n")[2].strip()
            labels.append(Label(found.start(), name, found.end(), "**" in found[0], is_apart))
    return labels


def _list_starts(labels: Iterable[Label]) -> list[Start]:
    return [(label.announced, label.name, label.begin) for label in labels]


def _read_time(announcement: str) -> dict[str, str]:
    """The time of a turn, which is written before or after its speaker."""
    found = _TIMED.search(announcement)
    return {"from": found[0]} if found else {}


INTERVIEWERS = frozenset(
    {
        *("interviewer", "user", "human", "author", "researcher", "q", "moderator", "i", "facilitator", "int", "iv"),
        *("interviewerin", "interviewende", "moderatorin", "forscher", "forscherin", "fragende", "fragender"),
        *("enquêteur", "enquêtrice", "enquêteur·rice", "intervieweur", "intervieweuse", "modérateur", "modératrice"),
        *("entrevistador", "entrevistadora", "moderador", "moderadora", "intervistatore", "intervistatrice"),
        *("interviewster", "intervjuare", "haastattelija", "ankieter", "ankieterka", "badacz", "badaczka", "görüşmeci"),
        *("интервьюер", "модератор", "המראיין", "מראיין", "מראיינת", "المحاور", "الباحث", "الباحثة"),
        *(
            "采访者",
            "採訪者",
            "访谈者",
            "訪談者",
            "主持人",
            "问",
            "問",
            "聞き手",
            "インタビュアー",
            "面接者",
            "면접자",
            "질문자",
        ),
    }
)
BOTS = frozenset({"model", "assistant", "ai", "bot", "chatbot", "llm"})
MODELS = BOTS | frozenset(
    {
        *(
            "a",
            "answer",
            "respondent",
            "participant",
            "interviewee",
            "informant",
            "befragte",
            "befragter",
            "befragte/r",
        ),
        *("befragte person", "interviewte", "interviewter", "interviewpartner", "interviewpartnerin", "teilnehmer"),
        *("teilnehmerin", "teilnehmende", "proband", "probandin", "enquêté", "enquêtée", "interviewé", "interviewée"),
        *("participante", "répondant", "répondante", "entrevistado", "entrevistada", "intervistato", "intervistata"),
        *("partecipante", "respondente", "geïnterviewde", "deelnemer", "haastateltava", "katılımcı", "респондент"),
        *("המרואיין", "מרואיין", "מרואיינת", "المشارك", "المشاركة", "المستجيب"),
        *("受访者", "受訪者", "参与者", "參與者", "答", "話し手", "回答者", "参加者", "응답자", "참여자"),
    }
)
OTHERS = frozenset({"system", "tool"})
_MODEL_FAMILY = re.compile(r"(?:chatgpt|gpt|claude|llama|gemini|deepseek|deepthink|mistral|qwen|grok)(?![a-z])")
# A remark about how or when somebody speaks: "GUEST (laughs)", "Anna [00:12]".
_REMARK = re.compile(r"[ \t]*[(\[（【][^()\[\]（）【】]*[)\]）】]\Z")
# Names that programs give to the voices that they distinguish.
_VOICES = frozenset(
    {"speaker", "spk", "sprecher", "sprecherin", "locuteur", "hablante", "falante", "parlante", "spreker"}
)
_NUMBER = re.compile(r"[ \t._#-]*\d{1,3}\Z")
# Labels in the head of a document and between its parts, which are not speakers.
_FIELDS = frozenset(
    {
        *("abstract", "summary", "keywords", "key words", "introduction", "background", "objective", "objectives"),
        *("purpose", "aim", "aims", "method", "methods", "materials and methods", "results", "findings", "discussion"),
        *("limitations", "conclusion", "conclusions", "references", "acknowledgements", "acknowledgments", "funding"),
        *("note", "notes", "figure", "table", "box", "appendix", "title", "date", "time", "place", "location"),
        *("doi", "url", "copyright", "correspondence", "warning", "example", "definition", "cc", "p.s.", "ps"),
        *("duration", "length", "language", "recording", "recorded", "transcript", "transcription", "transcribed by"),
        *("interview", "interview no", "file", "study", "version", "topic", "setting"),
        *("titel", "datum", "uhrzeit", "ort", "dauer", "sprache", "aufnahme", "transkript", "transkription", "datei"),
        *("thema", "projekt", "hinweis", "anmerkung", "beispiel", "zusammenfassung", "ergebnis"),
        *("titre", "lieu", "durée", "langue", "remarque", "exemple", "résumé", "título", "fecha", "lugar", "duración"),
        *("idioma", "nota", "ejemplo", "data", "local", "duração", "titolo", "luogo", "durata", "esempio"),
    }
)
# Headings inside the answers of chatbots.
_HEADINGS = frozenset(
    {
        *("pros", "cons", "pro", "con", "advantages", "disadvantages", "strengths", "weaknesses", "benefits", "risks"),
        *("tip", "tips", "step", "steps", "option", "options", "answer key", "key points", "key takeaway", "takeaway"),
        *("for example", "in short", "overall", "however", "important", "remember", "reason", "reasons", "why", "how"),
        *(
            "what",
            "when",
            "where",
            "input",
            "output",
            "solution",
            "explanation",
            "question",
            "hint",
            "verdict",
            "bottom line",
        ),
        *("vorteile", "nachteile", "tipp", "schritt", "fazit", "wichtig", "avantages", "inconvénients", "étape"),
        *("ventajas", "desventajas", "paso", "vantagens", "desvantagens", "passo", "vantaggi", "svantaggi"),
    }
)
# A speaker may have one of these names, but no conversation consists of these alone.
SECTIONS = _FIELDS | frozenset({"source", "sources", "subject", "from", "to", "contact", "participants", "speakers"})
_MAX_WORDS = 3


class Label(NamedTuple):
    """A name and a colon at the beginning of a line: where the line begins, the name, where the words begin; whether it is bold,
    and whether it is the first line or follows an empty line."""

    announced: int
    name: str
    begin: int
    is_bold: bool = False
    is_apart: bool = False


@lru_cache(maxsize=4_096)
def plain_name(name: str) -> str:
    """The form by which a speaker's name is recognised: in lower case, without a remark in brackets after it."""
    plain = name.strip().casefold()
    while (without := _REMARK.sub("", plain)) != plain and without:
        plain = without
    return plain


@lru_cache(maxsize=4_096)
def is_asker(name: str) -> bool:
    """Whether this is a usual name for the person who asks, with or without a number."""
    return _without_number(name) in INTERVIEWERS


@lru_cache(maxsize=4_096)
def is_answerer(name: str) -> bool:
    """Whether this is a usual name for the one who answers, or the name of a model."""
    return _without_number(name) in MODELS or _MODEL_FAMILY.match(plain_name(name)) is not None


@lru_cache(maxsize=4_096)
def is_usual(name: str) -> bool:
    """Whether a name alone shows that it is a speaker."""
    return is_asker(name) or is_answerer(name) or _without_number(name) in OTHERS


def choose_speakers(labels: Sequence[Label], naming: Naming = NOTHING_SAID) -> tuple[set[str], Counter[str]]:
    """The speakers, in the form of ``plain_name``, given every label of a text in order; and the names that are read as text, as
    they are written, each with the number of lines that it begins."""
    names = [plain_name(label.name) for label in labels]
    times = Counter(names)
    chosen = set(map(plain_name, naming.speakers)) & times.keys()
    refused = set(map(plain_name, naming.texts))
    usual = {name for name in times if is_usual(name) or is_voice(name)} - refused
    often = {name for name, number in times.items() if number > 1 and name not in _FIELDS} - refused
    if any(map(_is_bot, usual)):
        often = {name for name in often if name in usual or _is_like_usual(name, labels, names, usual)}
    speakers = usual | often | chosen
    if len(speakers) < 2:
        # A person may have decided that the others are text.
        others = dict.fromkeys(
            label.name for label in labels if plain_name(label.name) not in speakers | refused | SECTIONS
        )
        likely = dict.fromkeys(map(plain_name, sorted(others, key=lambda name: not may_be_name(name))))
        speakers |= set(list(likely)[: 2 - len(speakers)])
    elif not (any(map(is_asker, usual)) and any(map(is_answerer, usual))) and names[1] in speakers:
        # The person who opens a conversation may not speak again; the head of a document does not end at the first speaker.
        speakers |= set(names[:1]) - SECTIONS - refused
    # A numbered name among others of the same name is a speaker too: P1, P2.
    series = {_without_number(name) for name in speakers if _without_number(name) != name}
    speakers |= {name for name in times if _without_number(name) in series and _without_number(name) != name} - refused
    if len(speakers) < 2 and not usual | chosen:
        speakers = set()
    return speakers, _list_texts(labels, speakers, times)


def _list_texts(labels: Sequence[Label], speakers: set[str], times: Counter[str]) -> Counter[str]:
    """The names that may be those of speakers but were not read as such."""
    written: dict[str, str] = {}
    for label in labels:
        written.setdefault(plain_name(label.name), label.name)
    return Counter(
        {
            name: times[plain]
            for plain, name in written.items()
            if plain not in speakers and (times[plain] > 1 or may_be_name(name))
        }
    )


def may_be_name(name: str) -> bool:
    """Whether the words are few and look like a name."""
    plain = plain_name(name)
    words = plain.split()
    return len(words) <= _MAX_WORDS and not name[0].islower() and plain not in SECTIONS | _HEADINGS


def _is_like_usual(name: str, labels: Sequence[Label], names: Sequence[str], usual: set[str]) -> bool:
    """Whether a name begins lines in the same way as the usual names in a conversation with a chatbot."""
    if name in _HEADINGS:
        return False
    theirs = [label for label, plain in zip(labels, names, strict=True) if plain in usual]
    own = [label for label, plain in zip(labels, names, strict=True) if plain == name]
    bold = {label.is_bold for label in theirs}
    if len(bold) == 1:
        own = [label for label in own if label.is_bold in bold]
    if all(label.is_apart for label in theirs):
        own = [label for label in own if label.is_apart]
    return len(own) > 1 and any(own[0].announced < label.announced < own[-1].announced for label in theirs)


def _is_bot(name: str) -> bool:
    return _without_number(name) in BOTS or _MODEL_FAMILY.match(name) is not None


def is_voice(name: str) -> bool:
    """Whether a program that distinguishes voices gave this name, such as SPEAKER_00."""
    bare = _without_number(name)
    return bare != name and bare in _VOICES


@lru_cache(maxsize=4_096)
def _without_number(name: str) -> str:
    plain = plain_name(name)
    return _NUMBER.sub("", plain) or plain


def warn_of_texts(texts: Counter[str]) -> list[str]:
    """A warning that names labels which were read as text although they begin lines as speakers do."""
    if not texts:
        return []
    why = (
        "which begins a line as a speaker does. Make it a speaker if it is the name of one."
        if len(texts) == 1
        else "which begin lines as speakers do. Make those speakers who are."
    )
    return [f"Read as text: {list_texts(texts)}, {why}"]


def list_texts(texts: Counter[str]) -> str:
    """The names that are read as text, the most frequent first."""
    shown = [
        f"{_shorten(name)}:" + (f" ({number:,} lines)" if number > 1 else "") for name, number in texts.most_common(5)
    ]
    return ", ".join(shown) + (f" and {len(texts) - len(shown):,} more" if len(texts) > len(shown) else "")


def _shorten(name: str) -> str:
    return shorten(name)[1:-1]


def is_guess(warning: str) -> bool:
    """Whether a warning is about roles that were guessed, which no longer applies once a person has said who is who."""
    return warning.startswith(("The names do not show who the interviewer is.", "Names recognised as speakers:"))


def assign_roles(speakers: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The roles of speakers, given in the order in which they first speak; and warnings about guesses."""
    asks = {plain_name(speaker) for speaker in speakers if is_asker(speaker)}
    warnings = []
    if not asks:
        first = next((speaker for speaker in speakers if not is_usual(speaker)), None)
        if first is not None and len(set(map(plain_name, speakers))) > 1:
            asks = {plain_name(first)}
            warnings.append(
                f"The names do not show who the interviewer is. {shorten(first)} was assumed to be the interviewer."
            )
        else:
            warnings.append("The names do not show who the interviewer is. Every turn was assumed to be the model's.")
    roles = {speaker: _find_role(speaker, asks) for speaker in speakers}
    if not all(map(is_usual, speakers)):
        named = ", ".join(f"{shorten(speaker)} ({role})" for speaker, role in roles.items())
        warnings.append(f"Names recognised as speakers: {named}.")
    return roles, warnings


def _find_role(speaker: str, asks: set[str]) -> str:
    if plain_name(speaker) in asks:
        return "interviewer"
    bare = _without_number(speaker)
    return bare if bare in OTHERS else "model"
