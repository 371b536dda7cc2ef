"""Parsing an annotator's answer. Nothing is taken that was not asked for: what names an unknown code or a foreign
sentence, says a thing twice, or has no evidence in the sentence, is kept aside with the reason. Plain Python, no database.

The answer is a JSON object. Anything around it (fences, prose, thinking, an object that contains it) is allowed. Only strict
JSON is read; nothing is repaired. Of an answer that was cut off the elements count that are whole.

The words that a machine quotes are found verbatim, except for white space, quotation marks, case and how accents are composed.

The JSON schema of an annotator's answers is what a server that honours schemas is made to answer with. It limits a model to the
sentences of its question, in order, and to the codes it was asked for. It cannot say whether a quote is in its sentence, so
answers are parsed and checked as any others.

Alarms say that a machine's answers are worth nothing: none could be read, or a critic never says no.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from auditapp.annotators.pure.prompts import asks_for_enactment, asks_for_level
from auditapp.batches.pure.estimates import describe_unreadable
from auditapp.llm.providers.base import make_storable
from auditapp.llm.pure.json_answers import (
    NOTHING,
    WORDS_BEHIND,
    Judged,
    find_json,
    goes_on,
    is_cut_off,
    is_withheld,
    make_object,
)
from transcripts.formats.thinking import drop_thinking

MAX_RATIONALE = 2_000
MAX_QUOTE = 5_000
MAX_SHOWN = 100
MAX_REJECTED = 200
SEMANTIC, LATENT = "semantic", "latent"
LEVELS = (SEMANTIC, LATENT)
ENACTMENTS = ("enacted", "demonstrated", "described")
# Short enough to be read at once; none that is written in two ways.
NOT_OFFERED = "answer is not one of those offered"
WRITTEN_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


class Proposal(NamedTuple):
    """A code for a sentence, both of which were asked about. ``quote``: its evidence, as a place in the sentence as it
    was sent; ``None`` only where none was asked for. ``answers``: to the code's own questions, by their keys."""

    sentence: int
    code: str
    rationale: str
    level: str = SEMANTIC
    enactment: str = ""
    quote: tuple[int, int] | None = None
    answers: Mapping[str, str] = {}


class ParsedAnswer(NamedTuple):
    """What an answer says. ``rejected``: the items that are not applied, as they are stored: sentence, code and reason; of an
    answer to a question of a code that is kept without it, the ``question`` too.

    ``missing``: the sentences it says nothing about, which is not "no code". ``problem`` is empty unless the answer as a
    whole is of no use; then all are missing.
    """

    proposals: list[Proposal]
    rejected: list[dict[str, object]]
    missing: list[int]
    problem: str


def parse_response(
    answer: str,
    *,
    sentences: Mapping[int, str],
    codes: Collection[str],
    reads_latent: bool = False,
    reads_enactment: bool = False,
    finish_reason: str = "",
    once: Collection[str] = (),
    controls: Collection[int] = (),
    questions: Mapping[str, Mapping[str, Collection[str]]] | None = None,
    judged: Judged = NOTHING,
) -> ParsedAnswer:
    """Take from ``answer`` what names one of ``sentences`` (their words as they were sent) and one of ``codes``.

    ``finish_reason`` and ``judged``, the texts that the model was shown, say what of the answer is its own (``find_answers``); two
    different lists are no answer. Of the codes in ``once`` the first is taken
    that has all it needs, and a second on another sentence is not; sentences that were ``controls`` are no part of the
    turn and do not count. ``questions``: by code, the answers that each of its own questions offers; one outside these is
    left out, and the code kept without it.
    """
    lists, problem = find_answers(answer, "sentences", finish_reason, judged)
    own = _leave_examples_out(lists, sentences)
    if problem or len(own) > 1:
        problem = problem or "two different answers"
        return ParsedAnswer([], [], sorted(sentences), problem)
    taking = _Taking(
        sentences,
        codes,
        reads_latent=reads_latent,
        reads_enactment=reads_enactment,
        once=once,
        controls=controls,
        questions=questions or {},
    )
    (items,) = own
    for item in items:
        taking.take_entry(item)
    missing = sorted(sentences.keys() - taking.answered)
    problem = "says nothing about any of the sentences" if sentences and len(missing) == len(sentences) else ""
    return ParsedAnswer(taking.proposals, _shorten(taking.rejected), missing, problem)


def _leave_examples_out(lists: Sequence[list[object]], sentences: Collection[int]) -> Sequence[list[object]]:
    """Those of several lists that name a sentence that was asked about; where none does, the first."""
    named = [each for each in lists if any(_read_number(raw) in sentences for raw in each)]
    return named or lists[:1]


def _reject(sentence: object, code: object, reason: str) -> dict[str, object]:
    return {"sentence": sentence, "code": code, "reason": reason}


def _shorten(rejected: list[dict[str, object]]) -> list[dict[str, object]]:
    if len(rejected) <= MAX_REJECTED:
        return rejected
    left_out = len(rejected) - MAX_REJECTED
    return [*rejected[:MAX_REJECTED], _reject(None, None, f"and {left_out} more")]


class _Taking:
    """What has been taken of an answer so far."""

    def __init__(
        self,
        sentences: Mapping[int, str],
        codes: Collection[str],
        *,
        reads_latent: bool,
        reads_enactment: bool,
        once: Collection[str],
        controls: Collection[int],
        questions: Mapping[str, Mapping[str, Collection[str]]],
    ) -> None:
        self.sentences = sentences
        self.codes = codes
        self.reads_latent = reads_latent
        self.reads_enactment = reads_enactment
        self.once = once
        self.controls = controls
        self.questions = questions
        self.proposals: list[Proposal] = []
        self.rejected: list[dict[str, object]] = []
        self.answered: set[int] = set()
        self._taken: set[tuple[int, str]] = set()
        self._taken_once: set[str] = set()

    def take_entry(self, raw: object) -> None:
        """What is said of one sentence."""
        number = _read_number(raw)
        codings = raw.get("codings") if isinstance(raw, dict) else None
        if number is None or not isinstance(codings, list):
            place = "entry" if not isinstance(raw, dict) else "sentence" if number is None else "codings"
            self._reject(_peek(raw, "sentence"), None, f"malformed: {place}")
        elif number not in self.sentences:
            self._reject(number, None, "sentence was not asked about")
        elif number in self.answered:
            self._reject(number, None, "sentence named twice")
        else:
            self.answered.add(number)
            for coding in codings:
                self._take_coding(number, coding)

    def _take_coding(self, number: int, raw: object) -> None:
        proposal = _read_coding(number, raw)
        if isinstance(proposal, str):
            self._reject(number, _peek(raw, "code"), proposal)
            return
        reason = self._find_fault(proposal) or self._find_fault_of_level(raw) or self._find_fault_of_enactment(raw)
        quote = None if reason else find_quote(_read_quote(raw), self.sentences[number])
        if not reason and quote is None:
            reason = "quote is not in the sentence" if _read_quote(raw).strip() else "no quote"
        if reason:
            self._reject(number, proposal.code, reason)
            return
        level = str(raw["level"]) if self.reads_latent and isinstance(raw, dict) else SEMANTIC
        enactment = str(raw["enactment"]) if self.reads_enactment and isinstance(raw, dict) else ""
        answers = self._read_answers(proposal, raw)
        self._take(proposal._replace(level=level, enactment=enactment, quote=quote, answers=answers))

    def _read_answers(self, proposal: Proposal, raw: object) -> dict[str, str]:
        """The answers offered to the code's own questions; what is not among them is kept aside, and the code stays."""
        asked = self.questions.get(proposal.code, {})
        given = raw.get("answers") if isinstance(raw, dict) else None
        found = given if isinstance(given, dict) else {}
        kept: dict[str, str] = {}
        for key, choices in asked.items():
            answer = found.get(key)
            if isinstance(answer, str) and answer in choices:
                kept[key] = answer
            elif answer not in (None, ""):
                item = _reject(_shorten_value(proposal.sentence), proposal.code, NOT_OFFERED)
                self.rejected.append(item | {"question": key})
        return kept

    def _find_fault(self, proposal: Proposal) -> str:
        if proposal.code not in self.codes:
            return "unknown code"
        if (proposal.sentence, proposal.code) in self._taken:
            return "named twice"
        is_second = proposal.code in self._taken_once and proposal.sentence not in self.controls
        return "second in this answer" if is_second else ""

    def _find_fault_of_level(self, raw: object) -> str:
        level = raw.get("level") if isinstance(raw, dict) else None
        if not self.reads_latent:
            return "latent was not asked for" if level == LATENT else ""
        if level is None:
            return "no level"
        return "" if level in LEVELS else "malformed: level"

    def _find_fault_of_enactment(self, raw: object) -> str:
        """A move that says no enactment cannot be kept as it is, so it is not taken (method brief R28)."""
        enactment = raw.get("enactment") if isinstance(raw, dict) else None
        if not self.reads_enactment or enactment in ENACTMENTS:
            return ""
        return "malformed: enactment" if enactment else "no enactment"

    def _take(self, proposal: Proposal) -> None:
        self._taken.add((proposal.sentence, proposal.code))
        if proposal.code in self.once and proposal.sentence not in self.controls:
            self._taken_once.add(proposal.code)
        self.proposals.append(proposal)

    def _reject(self, sentence: object, code: object, reason: str) -> None:
        self.rejected.append(_reject(_shorten_value(sentence), _shorten_value(code), reason))


def _read_number(raw: object) -> int | None:
    """The number of a sentence; digits in quotation marks are the number that they write."""
    number = raw.get("sentence") if isinstance(raw, dict) else None
    if isinstance(number, str):
        return int(number) if WRITTEN_NUMBER.fullmatch(number) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _read_coding(number: int, raw: object) -> Proposal | str:
    """A coding with the types that count, or what is wrong with it."""
    if not isinstance(raw, dict):
        return "malformed: item"
    code, rationale = raw.get("code"), raw.get("rationale", "")
    if not isinstance(code, str):
        return "malformed: code"
    if not isinstance(rationale, str):
        return "malformed: rationale"
    if not isinstance(raw.get("quote", ""), str):
        return "malformed: quote"
    return Proposal(number, code, make_storable(rationale[:MAX_RATIONALE]))


def _read_quote(raw: object) -> str:
    quote = raw.get("quote", "") if isinstance(raw, dict) else ""
    return quote[:MAX_QUOTE] if isinstance(quote, str) else ""


def _peek(raw: object, key: str) -> object:
    """A value that was not understood, short enough to be kept."""
    value = raw.get(key) if isinstance(raw, dict) else raw
    if isinstance(value, (dict, list)):
        # Not spelt out: it may be nested as deeply as can be read, and writing it takes one level more.
        return "(an object)" if isinstance(value, dict) else "(a list)"
    return _shorten_value(value)


def _shorten_value(value: object) -> object:
    """A number that databases and programs agree on, or few characters of anything else."""
    if value is None or (isinstance(value, int) and abs(value) < 2**53):
        return value
    return make_storable(str(value)[:MAX_SHOWN])


QUOTATION_MARKS = {
    **dict.fromkeys("‘’‚‛′`´ʼ‹›", "'"),
    **dict.fromkeys("“”„‟″«»「」『』＂", '"'),
}
AROUND = "\"' "


def find_quote(quote: str, sentence: str) -> tuple[int, int] | None:
    """Where the words first occur in the sentence; ``None`` if they do not, or have no letter or digit."""
    words = quote.strip()
    if not any(map(str.isalnum, words)):
        return None
    start = sentence.find(words)
    if start >= 0:
        return start, start + len(words)
    (folded, starts, ends), wanted = _fold_once(sentence), fold(words)[0].strip()
    for looked_for in (wanted, wanted.strip(AROUND)):
        place = folded.find(looked_for)
        if place >= 0 and looked_for:
            return starts[place], ends[place + len(looked_for) - 1]
    return None


def fold(text: str) -> tuple[str, list[int], list[int]]:
    """The text with one kind of space and of quotation marks, in one case, accents composed; and for each of its
    characters where the original that it replaces starts and ends."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    place = 0
    while place < len(text):
        end = _find_end(text, place)
        written = _fold_cluster(text[place:end])
        pieces.append(written)
        starts.extend([place] * len(written))
        ends.extend([end] * len(written))
        place = end
    return "".join(pieces), starts, ends


# An answer may quote one sentence thousands of times.
_fold_once = lru_cache(maxsize=8)(fold)


def _find_end(text: str, place: int) -> int:
    """The end of what is folded together: a run of white space, or a character with its combining marks."""
    end = place + 1
    if text[place].isspace():
        while end < len(text) and text[end].isspace():
            end += 1
        return end
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return end


def _fold_cluster(cluster: str) -> str:
    if cluster.isspace():
        return " "
    if len(cluster) == 1:
        return QUOTATION_MARKS.get(cluster) or cluster.casefold()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", cluster).casefold())


MIN_VERDICTS = 20
"""From this many verdicts on, a critic that rejected none sets off an alarm. One that rejects a suggestion in seven upholds as
many in a row in fewer than 5 of 100 cases."""


def list_annotator_alarms(outcomes: Mapping[str, int]) -> list[str]:
    """The alarms of an annotator, from how many of its answers have which outcome, as they came."""
    return _list_unreadable(outcomes, readable=outcomes.get("valid", 0) + outcomes.get("partial", 0))


def list_critic_alarms(outcomes: Mapping[str, int]) -> list[str]:
    """The alarms of a critic, from how many of its answers have which outcome."""
    upheld, rejected = outcomes.get("upheld", 0), outcomes.get("rejected", 0)
    never = describe_never_rejected(upheld + rejected, rejected)
    return [*_list_unreadable(outcomes, readable=upheld + rejected), *([never] if never else [])]


def describe_never_rejected(tested: int, rejections: int) -> str:
    """That a critic upheld everything; "" where it did not, or tested too little."""
    if rejections or tested < MIN_VERDICTS:
        return ""
    return (
        f"as a critic it upheld all of the {tested:,} suggestions it tested. A critic that never says no does not show which "
        "suggestions are right. Have people check some of them in an audit."
    )


def _list_unreadable(outcomes: Mapping[str, int], *, readable: int) -> list[str]:
    no_room = outcomes.get("no_room", 0)
    unreadable = outcomes.get("invalid", 0) + outcomes.get("not_storable", 0) + no_room
    said = describe_unreadable(readable + unreadable, readable, no_room)
    return [said] if said else []


MAX_LISTS = 20
MAX_WRAPPER_DEPTH = 3
CALLED = frozenset({"arguments", "input", "parameters"})
CALLS = frozenset({"tool_calls", "function_call", "tool_call", "function_calls"})
TOOL_CALL, REFUSED, EMPTY, CUT_OFF = "a tool call instead of an answer", "the model refused", "empty answer", "cut off"


def find_answers(
    text: str, key: str, finish_reason: str = "", judged: Judged = NOTHING
) -> tuple[list[list[object]], str]:
    """Every different list under ``key`` in ``text``, thoughts left out; without any, the problem in a few words.

    By the rule of ``json_answers``: a list that is repeated from ``judged`` is none, and where words follow the last list, or the
    answer was withheld, nothing is read. Of a list that was cut off the whole elements count, if no other list comes before it.
    """
    text = drop_reasoning(text)
    if not text.strip():
        return [], _explain(finish_reason) or EMPTY
    if is_withheld(finish_reason):
        return [], REFUSED
    lists: list[list[object]] = []
    has_call, last = False, 0
    for value, start, end in find_json(text, _DECODER, with_lists=True):
        has_call = has_call or _is_call(value)
        found = None if _is_call(value) else _unwrap(value, key)
        if found is None:
            continue
        last = end
        if found not in lists[:MAX_LISTS] and not judged.repeats(text[start:end]):
            lists.append(found)
    if last and goes_on(text, last):
        return [], WORDS_BEHIND
    if lists:
        return ([], CUT_OFF) if is_cut_off(finish_reason) else (lists, "")
    if has_call:
        return [], TOOL_CALL
    # What follows a list that was only repeated has no words, so it is no list that was cut off either.
    rest = None if last else _read_cut_list(text, key)
    if rest:
        return [rest], ""
    if rest is not None:
        return [], "cut off before the first complete item"
    return [], _explain(finish_reason) or f"no JSON object with a list of {key}"


def drop_reasoning(text: str) -> str:
    """An answer without the reasoning before it. One that is JSON from end to end has none: marks in it are quoted words."""
    answer, _ = drop_thinking(text)
    if answer == text:
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return answer
    return text


def _explain(finish_reason: str) -> str:
    """Why the end of a call left no answer, where it says so."""
    if "tool" in finish_reason:
        return TOOL_CALL
    return REFUSED if is_withheld(finish_reason) else ""


def _read_constant(name: str) -> object:
    """NaN and the infinities are not JSON; an answer with one has no value."""
    return None


_DECODER = json.JSONDecoder(parse_constant=_read_constant)


def _is_call(value: object) -> bool:
    """Whether an object asks for a tool, or each object of a list."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, dict) and _is_call(each) for each in value)
    if not isinstance(value, dict):
        return False
    return bool(CALLS & value.keys()) or ("name" in value and bool(CALLED & value.keys()))


def _unwrap(value: object, key: str, depth: int = 0) -> list[object] | None:
    """The list under ``key`` in an object, in an object inside it, or a list of entries by itself."""
    if isinstance(value, list):
        is_bare = bool(value) and all(isinstance(each, dict) and "sentence" in each for each in value)
        if is_bare:
            return value
        return _unwrap(value[0], key, depth + 1) if len(value) == 1 and depth < MAX_WRAPPER_DEPTH else None
    if not isinstance(value, dict) or _is_call(value):
        return None
    if isinstance(value.get(key), list):
        return list(value[key])
    if depth >= MAX_WRAPPER_DEPTH or "sentence" in value:
        return None
    inner = (_unwrap(each, key, depth + 1) for each in value.values() if isinstance(each, dict))
    return next((each for each in inner if each is not None), None)


def _read_cut_list(text: str, key: str) -> list[object] | None:
    """The whole elements of a list that does not end; ``None`` where no such list begins."""
    begun = re.search(rf'"{key}"\s*:\s*\[', text)
    if begun is None:
        return None
    items: list[object] = []
    position = begun.end()
    while True:
        position = _skip(text, position)
        try:
            item, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return items
        items.append(item)


def _skip(text: str, position: int) -> int:
    """The place after white space and at most one comma."""
    found = re.compile(r"\s*,?\s*").match(text, position)
    return found.end() if found else position


SCHEMA_VERSION = "schema-1"
SCHEMA_RATIONALE = 300
SCHEMA_QUOTE = 200
# Where the instructions are shown, before there is a turn.
EXAMPLE_NUMBERS = (1, 2)


def write_answer_schema(
    system_prompt: str,
    codes: Sequence[str],
    numbers: Sequence[int],
    *,
    is_ordered: bool = True,
    questions: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """The schema of an answer about the sentences of these numbers, in the order of the keys that the instructions ask for.

    ``is_ordered``: each sentence exactly once and in order. Without it, for servers that take no limits of length, any of
    them any number of times. ``questions``: the answers offered, by the key of the codes' own questions.
    """
    level = {"level": {"type": "string", "enum": list(LEVELS)}} if asks_for_level(system_prompt) else {}
    asks_it = asks_for_enactment(system_prompt)
    enactment = {"enactment": {"type": "string", "enum": list(ENACTMENTS)}} if asks_it else {}
    offered = {key: {"type": "string", "enum": list(choices)} for key, choices in (questions or {}).items()}
    answers = {"answers": make_object(**offered)} if offered else {}
    coding = make_object(
        rationale={"type": "string", "maxLength": SCHEMA_RATIONALE},
        **level,
        **enactment,
        **answers,
        quote={"type": "string", "maxLength": SCHEMA_QUOTE},
        code={"type": "string", "enum": list(codes)},
    )
    codings = {"type": "array", "items": coding, "maxItems": len(codes)}
    if not is_ordered:
        entry = make_object(sentence={"type": "integer", "enum": list(numbers)}, codings=codings)
        return make_object(sentences={"type": "array", "items": entry})
    # Defined once: a schema is paid for as input.
    shared = {"$ref": "#/$defs/codings"}
    entries = [make_object(sentence={"type": "integer", "enum": [number]}, codings=shared) for number in numbers]
    count = {"minItems": len(numbers), "maxItems": len(numbers)}
    return make_object(sentences={"type": "array", "prefixItems": entries, **count}) | {"$defs": {"codings": codings}}


def read_numbers(user_prompt: str) -> list[int]:
    """The numbers of the sentences that a user message asks about, as ``write_user_prompt`` wrote them."""
    material = json.loads(user_prompt.split("\n")[1])
    return [piece["sentence"] for piece in material["turn"] if "sentence" in piece]
