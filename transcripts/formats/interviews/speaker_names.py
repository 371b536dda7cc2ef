"""Which words before a colon are the name of somebody who speaks, and who of those asks.

A name that begins several lines is a speaker, and so is a usual one (Interviewer, Participant 2, Claude, …), however often it
comes. Of other names that begin one line only nobody can tell: they stay text, are listed in the preview, and a person says who
of them speaks. Where fewer than two are found so, the first names of the text are taken.

The answers of chatbots are full of headings such as "Pros: …". Where one answers, a name that is not usual therefore has to
look like the usual ones: as bold, after an empty line if all of those are, and in more than one of their turns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from transcripts.formats.interviews.base import NOTHING_SAID, Naming
from transcripts.formats.json_lines import shorten

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
# What is said of how somebody speaks: "GUEST (laughs)", "Anna [00:12]".
_REMARK = re.compile(r"[ \t]*[(\[（【][^()\[\]（）【】]*[)\]）】]\Z")
# What programs call those whose voices they tell apart.
_VOICES = frozenset(
    {"speaker", "spk", "sprecher", "sprecherin", "locuteur", "hablante", "falante", "parlante", "spreker"}
)
_NUMBER = re.compile(r"[ \t._#-]*\d{1,3}\Z")
# What a document says of itself, in its head and between its parts, and is nobody.
_FIELDS = frozenset(
    {
        *("abstract", "summary", "keywords", "key words", "introduction", "background", "objective", "objectives"),
        *("purpose", "aim", "aims", "method", "methods", "materials and methods", "results", "findings", "discussion"),
        *("limitations", "conclusion", "conclusions", "references", "acknowledgements", "acknowledgments", "funding"),
        *("note", "notes", "figure", "table", "box", "appendix", "title", "date", "time", "place", "location"),
        *("doi", "url", "copyright", "correspondence", "warning", "example", "definition", "cc", "p.s.", "ps"),
        *("duration", "length", "language", "recording", "recorded", "transcript", "transcription", "transcribed by"),
        *("interview", "interview no", "file", "project", "version", "topic", "setting"),
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
# Somebody may be called so, but no document has a conversation of these alone.
SECTIONS = _FIELDS | frozenset({"source", "sources", "subject", "from", "to", "contact", "participants", "speakers"})
_MAX_WORDS = 3


class Label(NamedTuple):
    """A name and a colon at the head of a line: where the line begins, the name, where the words begin; whether it is bold and
    whether it is the first line or one after an empty line."""

    announced: int
    name: str
    begin: int
    is_bold: bool = False
    is_apart: bool = False


@lru_cache(maxsize=4_096)
def plain_name(name: str) -> str:
    """A name by which a speaker is known again: in small letters, without a remark after it in brackets."""
    plain = name.strip().casefold()
    while (without := _REMARK.sub("", plain)) != plain and without:
        plain = without
    return plain


@lru_cache(maxsize=4_096)
def is_asker(name: str) -> bool:
    """Whether this is a usual name of who asks, with a number or without."""
    return _without_number(name) in INTERVIEWERS


@lru_cache(maxsize=4_096)
def is_answerer(name: str) -> bool:
    """Whether this is a usual name of who answers, or the name of a model."""
    return _without_number(name) in MODELS or _MODEL_FAMILY.match(plain_name(name)) is not None


@lru_cache(maxsize=4_096)
def is_usual(name: str) -> bool:
    """Whether a name says by itself that it speaks."""
    return is_asker(name) or is_answerer(name) or _without_number(name) in OTHERS


def choose_speakers(labels: Sequence[Label], naming: Naming = NOTHING_SAID) -> tuple[set[str], Counter[str]]:
    """Who speaks, as ``plain_name`` writes them, given every label of a text in order; and the names that are read as text,
    as they are written, each with the number of lines that it begins."""
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
        # A person may have said that the others are text.
        others = dict.fromkeys(
            label.name for label in labels if plain_name(label.name) not in speakers | refused | SECTIONS
        )
        likely = dict.fromkeys(map(plain_name, sorted(others, key=lambda name: not may_be_name(name))))
        speakers |= set(list(likely)[: 2 - len(speakers)])
    elif not (any(map(is_asker, usual)) and any(map(is_answerer, usual))) and names[1] in speakers:
        # Who opens a conversation may have nothing more to say; the head of a document does not end at the first speaker.
        speakers |= set(names[:1]) - SECTIONS - refused
    # Who has a number among others of the same name is one of them: P1, P2.
    series = {_without_number(name) for name in speakers if _without_number(name) != name}
    speakers |= {name for name in times if _without_number(name) in series and _without_number(name) != name} - refused
    if len(speakers) < 2 and not usual | chosen:
        speakers = set()
    return speakers, _list_texts(labels, speakers, times)


def _list_texts(labels: Sequence[Label], speakers: set[str], times: Counter[str]) -> Counter[str]:
    """The names that may be those of speakers and were not taken as such."""
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
    """Whether words are few and written as a name is."""
    plain = plain_name(name)
    words = plain.split()
    return len(words) <= _MAX_WORDS and not name[0].islower() and plain not in SECTIONS | _HEADINGS


def _is_like_usual(name: str, labels: Sequence[Label], names: Sequence[str], usual: set[str]) -> bool:
    """Whether a name begins lines as the usual names of a conversation with a chatbot do."""
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
    """Whether a program that tells voices apart gave this name, such as SPEAKER_00."""
    bare = _without_number(name)
    return bare != name and bare in _VOICES


@lru_cache(maxsize=4_096)
def _without_number(name: str) -> str:
    plain = plain_name(name)
    return _NUMBER.sub("", plain) or plain


def warn_of_texts(texts: Counter[str]) -> list[str]:
    """A warning that names what was read as text though it begins lines as a speaker does."""
    if not texts:
        return []
    why = (
        "which begins a line as a speaker does. Make it a speaker if somebody is called so."
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
    """Roles of speakers, given in the order in which they first speak; and warnings on what was guessed."""
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
