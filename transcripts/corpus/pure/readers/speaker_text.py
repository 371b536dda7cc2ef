"""Conversations as plain text: one file is one interview, or several that lines of = part.

    Interviewer: Why?                        Sara Lind  00:03                [id1] Why?
    Model A: It depends.                     Why?                            [id2] It depends.
    A second paragraph of the answer.

Left: a line that begins with a speaker and a colon starts a turn (``**Speaker:**`` too); lines up to the next speaker
belong to it. Middle: a line of a speaker, two spaces and a time is the head of a turn. Right: each turn begins with its
speaker in brackets. The text of a turn begins behind the colon and the spaces after it, or on the next line if nothing else
is there, and ends before the line breaks in front of the next speaker; in between nothing is changed.

Not everything before a colon is a speaker: "Note: …" inside an answer is text. When a usual name for who asks
(Interviewer, User, …) and one for who answers (Model, Assistant, Claude, …) occur, the speakers are those with
usual names. Otherwise those who speak first or at least twice are too, and if that is still only one, the next.
Names decide who asks; where none tells, the first to speak does, and a warning says so. Text before the first speaker
is kept as metadata ("preamble"). Id and title are the file's name, of several with a number behind it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from transcripts.corpus.pure.readers.base import ReadError, ReadFile, ReadInterview, ReadTurn, Source
from transcripts.corpus.pure.readers.details import say_times
from transcripts.corpus.pure.readers.json_lines import shorten

FORMAT = "speaker_text"

INTERVIEWERS = frozenset({"interviewer", "user", "human", "author", "researcher", "q", "moderator", "i"})
MODELS = frozenset(
    {"model", "assistant", "ai", "bot", "chatbot", "llm", "a", "answer", "respondent", "participant", "interviewee"}
)
_OTHERS = frozenset({"system", "tool"})
_MODEL_FAMILY = re.compile(r"(?:chatgpt|gpt|claude|llama|gemini|deepseek|deepthink|mistral|qwen|grok)(?![a-z])")

_LINE_BREAK = r"(?:\r\n|\n|\r)"
_LINE_START = r"(?<![^\r\n])"
_NAME = r"[^\W\d_][^\s:*]*(?:[ \t][^\s:*]+){0,4}"
_LABEL = re.compile(
    rf"{_LINE_START}(?:\*\*(?P<bold>{_NAME})(?::\*\*|\*\*:)|(?P<plain>{_NAME}):)"
    rf"(?:[ \t]*{_LINE_BREAK}|[ \t]+|\Z|(?=[^\W\d_]))"
)
_HEAD = re.compile(
    rf"{_LINE_START}(?P<plain>{_NAME})[ \t]{{2,}}[(\[]?(?:\d{{1,2}}:)?\d{{1,2}}:\d{{2}}[)\]]?[ \t]*(?:{_LINE_BREAK}|\Z)"
)
_BRACKETED = re.compile(rf"{_LINE_START}\[(?P<plain>[^\W\d_][\w .-]{{0,39}})\][ \t]+(?=\S)")
_PARTING = re.compile(rf"{_LINE_START}={{3,}}[ \t]*(?:{_LINE_BREAK}|\Z)")
_MAX_NAME_LENGTH = 60
# What stands before a colon in articles and letters, and is nobody.
_SECTIONS = frozenset(
    {
        *("abstract", "summary", "keywords", "key words", "introduction", "background", "objective", "objectives"),
        *("purpose", "aim", "aims", "method", "methods", "materials and methods", "results", "findings", "discussion"),
        *("limitations", "conclusion", "conclusions", "references", "acknowledgements", "acknowledgments", "funding"),
        *("note", "notes", "source", "sources", "figure", "table", "box", "appendix", "title", "subject", "date"),
        *(
            "from",
            "to",
            "cc",
            "doi",
            "url",
            "copyright",
            "contact",
            "correspondence",
            "warning",
            "example",
            "definition",
        ),
    }
)
WHOLE_FORMAT = "plain_text"
_EXPECTED = 'lines such as "Interviewer: …" and "Model: …", or "Name  00:15" above each turn'


Start = tuple[int, str, int]
"""Where a turn is announced, by whom, and where its text begins."""


def read_speaker_text(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError` when nobody speaks in it."""
    parts = _part(source.text)
    # A line of = inside of one conversation, such as below a heading, parts nothing.
    if sum(bool(find_starts(text)) for _, text in parts) < 2:
        return read_conversation(source)
    interviews: list[ReadInterview] = []
    warnings: Counter[str] = Counter()
    for line, text in parts:
        if find_starts(text):
            name = f"{source.stem}-{len(interviews) + 1}"
            read = read_conversation(Source(source.name, text))
            [interview] = read.interviews
            interviews.append(replace(interview, external_id=name, title=name, line=interview.line + line))
            warnings.update(read.warnings)
        elif text.strip():
            warnings["A part between lines of = in which nobody speaks was left out."] += 1
    told = [say_times(warning, times) for warning, times in warnings.items()]
    return ReadFile(FORMAT, interviews, [f"Lines of = part the file into {len(interviews):,} interviews.", *told])


def read_whole(source: Source) -> ReadFile:
    """The whole text as one turn, for a document in which nobody is named."""
    interview = ReadInterview(source.stem[:200], source.stem[:300], (ReadTurn("model", "utterance", "", source.text),))
    return ReadFile(WHOLE_FORMAT, [interview], ["The whole text was read as one turn of the model, as you chose."])


def _part(text: str) -> list[tuple[int, str]]:
    """What lies between lines of =, each with the number of lines before it."""
    parts, begin, lines = [], 0, 0
    for end, after in [*(found.span() for found in _PARTING.finditer(text)), (len(text), len(text))]:
        parts.append((lines, text[begin:end]))
        lines += len(re.findall(_LINE_BREAK, text[begin:after]))
        begin = after
    return parts


def read_conversation(source: Source) -> ReadFile:
    """The whole text as one interview; raises `ReadError` when nobody speaks in it."""
    starts = find_starts(source.text)
    if not starts:
        raise ReadError(source.name, None, "no two speakers", _EXPECTED)
    roles, guesses = assign_roles(list(dict.fromkeys(speaker for _, speaker, _ in starts)))
    ends = [*(announced for announced, _, _ in starts[1:]), len(source.text)]
    turns = tuple(
        ReadTurn(roles[speaker], "utterance", speaker, source.text[begin:end].rstrip("\r\n"))
        for (_, speaker, begin), end in zip(starts, ends, strict=True)
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
    return ReadFile(FORMAT, [interview], [*guesses, *warnings])


def find_starts(text: str) -> list[Start]:
    """Every place where a turn begins, in order; none when these are not two speakers or one with a usual name."""
    heads = _find_all(_HEAD, text)
    if len(heads) > 1:
        return heads
    bracketed = _find_all(_BRACKETED, text)
    if len({speaker for _, speaker, _ in bracketed}) > 1 and not text[: bracketed[0][0]].strip():
        return bracketed
    labels = _find_all(_LABEL, text)
    speakers = _choose_speakers([speaker.casefold() for _, speaker, _ in labels])
    return [label for label in labels if label[1].casefold() in speakers]


def is_dialogue(text: str, starts: list[Start]) -> bool:
    """Whether a text of unknown kind is a conversation, given where turns begin in it, and no article with some colons.

    In a conversation those who ask and those who answer bear usual names, or at least two speak twice, the first to
    speak among them; and most of the text is theirs.
    """
    if not starts or starts[0][0] * 3 > len(text):
        return False
    if _HEAD.match(text, starts[0][0]) or _BRACKETED.match(text, starts[0][0]):
        return True
    names = [speaker.casefold() for _, speaker, _ in starts]
    if set(names) & INTERVIEWERS and any(map(_is_model, names)):
        return True
    often = {name for name, times in Counter(names).items() if times > 1 and name not in _SECTIONS}
    return len(often) > 1 and names[0] in often


def _find_all(pattern: re.Pattern[str], text: str) -> list[Start]:
    starts = []
    for found in pattern.finditer(text):
        parts = found.groupdict()
        speaker = parts.get("bold") or parts["plain"]
        if len(speaker) <= _MAX_NAME_LENGTH:
            starts.append((found.start(), speaker, found.end()))
    return starts


def _choose_speakers(names: list[str]) -> set[str]:
    asks = set(names) & INTERVIEWERS
    answers = {name for name in names if _is_model(name)}
    usual = asks | answers | (set(names) & _OTHERS)
    if asks and answers:
        return usual
    speakers = usual | set(names[:1]) | {name for name, times in Counter(names).items() if times > 1}
    if len(speakers) == 1:
        speakers |= set([name for name in names if name not in speakers][:1])
    return speakers if len(speakers) > 1 or usual else set()


def _is_model(name: str) -> bool:
    return name in MODELS or _MODEL_FAMILY.match(name) is not None


def assign_roles(speakers: list[str]) -> tuple[dict[str, str], list[str]]:
    """Roles of speakers, given in the order in which they first speak; and warnings on what was guessed."""
    names = {speaker: speaker.casefold() for speaker in speakers}
    asks = {speaker for speaker, name in names.items() if name in INTERVIEWERS}
    warnings = []
    if not asks:
        first = next((speaker for speaker, name in names.items() if not _is_model(name) and name not in _OTHERS), None)
        if first is not None and len(speakers) > 1:
            asks = {first}
            warnings.append(
                f"The names do not show who the interviewer is. {shorten(first)} was assumed to be the interviewer."
            )
        else:
            warnings.append("The names do not show who the interviewer is. Every turn was assumed to be the model's.")
    roles = {
        speaker: "interviewer" if speaker in asks else name if name in _OTHERS else "model"
        for speaker, name in names.items()
    }
    if not all(speaker in asks or _is_model(names[speaker]) or names[speaker] in _OTHERS for speaker in speakers):
        named = ", ".join(f"{shorten(speaker)} ({role})" for speaker, role in roles.items())
        warnings.append(f"Names recognised as speakers: {named}.")
    return roles, warnings
