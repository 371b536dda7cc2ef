"""Parsing an annotator's answer. Nothing is accepted that was not asked for: an item that names an unknown code or another
sentence, repeats an earlier item, or has no evidence in the sentence, is set aside with the reason. Plain Python, no database.

The answer is a JSON object. Anything around it (fences, prose, thinking, an object that contains it) is allowed. Only strict JSON
is read; nothing is repaired. Of an answer that was cut off, complete elements count.

The words that a machine quotes must occur verbatim, except for white space, quotation marks, case and the composition of accents.

The JSON schema of an annotator's answers is what a server that honours schemas is made to answer with. It limits a model to the
sentences of its question, in order, and to the requested codes. It cannot express that a quote must be in its sentence, so these
answers are parsed and checked like any others.

Alarms say that a machine's answers are worthless: none could be read, or a critic never rejects anything.
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
    """A code for a sentence; both were asked about. ``quote``: its evidence, as a position in the sentence as it was sent;
    ``None`` only if none was requested. ``answers``: the answers to the code's own questions, by their keys."""

    sentence: int
    code: str
    rationale: str
    level: str = SEMANTIC
    enactment: str = ""
    quote: tuple[int, int] | None = None
    answers: Mapping[str, str] = {}


class ParsedAnswer(NamedTuple):
    """The content of an answer. ``rejected``: the items that are not applied, as they are stored: sentence, code and reason;
    and also the ``question`` if only the answer to a question of a code is rejected and the code is kept.

    ``missing``: the sentences that the answer leaves out, which is not the same as "no code". ``problem`` is empty unless the
    whole answer is unusable; then all sentences are missing.
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
    """Take from ``answer`` the items that name one of ``sentences`` (whose words are given as they were sent) and one of
    ``codes``.

    ``finish_reason`` and ``judged``, the texts that the model was shown, decide which part of the answer is the model's own
    (``find_answers``); two different lists are not a valid answer. For a code in ``once``, the first complete item is taken, and
    a second one on another sentence is not; sentences in ``controls`` do not belong to the turn and do not count. ``questions``:
    by code, the answers that each of its own questions offers; any other answer is left out, and the code is kept without it.
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
    """Of several lists, those that name a sentence that was asked about; if none does, the first list."""
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
    """The items taken from an answer so far."""

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
        """The items about one sentence."""
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
        """The valid answers to the code's own questions. Any other answer is set aside, and the code is kept."""
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
        """A move without an enactment cannot be stored, so it is not accepted (method brief R28)."""
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
    """The number of a sentence; digits in quotation marks count as a number."""
    number = raw.get("sentence") if isinstance(raw, dict) else None
    if isinstance(number, str):
        return int(number) if WRITTEN_NUMBER.fullmatch(number) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _read_coding(number: int, raw: object) -> Proposal | str:
    """A coding with the required types, or what is wrong with it."""
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
    """A value that was not understood, shortened for storing."""
    value = raw.get(key) if isinstance(raw, dict) else raw
    if isinstance(value, (dict, list)):
        # Not spelt out: it may be nested as deeply as can be read, and writing it takes one level more.
        return "(an object)" if isinstance(value, dict) else "(a list)"
    return _shorten_value(value)


def _shorten_value(value: object) -> object:
    """A number that databases and programs agree on, or a few characters of anything else."""
    if value is None or (isinstance(value, int) and abs(value) < 2**53):
        return value
    return make_storable(str(value)[:MAX_SHOWN])


QUOTATION_MARKS = {
    **dict.fromkeys("‘’‚‛′`´ʼ‹›", "'"),
    **dict.fromkeys("“”„‟″«»「」『』＂", '"'),
}
AROUND = "\"' "


def find_quote(quote: str, sentence: str) -> tuple[int, int] | None:
    """Where the words first occur in the sentence; ``None`` if they do not occur, or contain no letter or digit."""
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
    """The text with a single kind of space and of quotation marks, in one case, with composed accents; and for each of its
    characters, where the original that it replaces starts and ends."""
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
    """The end of a group that is folded into one character: a run of white space, or a character with its combining marks."""
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
"""From this number of verdicts on, a critic that rejected nothing raises an alarm. A critic that rejects one suggestion in
seven upholds this many in a row in fewer than 5 of 100 cases."""


def list_annotator_alarms(outcomes: Mapping[str, int]) -> list[str]:
    """The alarms of an annotator, from the number of its answers with each outcome, as they came."""
    return _list_unreadable(outcomes, readable=outcomes.get("valid", 0) + outcomes.get("partial", 0))


def list_critic_alarms(outcomes: Mapping[str, int]) -> list[str]:
    """The alarms of a critic, from the number of its answers with each outcome."""
    upheld, rejected = outcomes.get("upheld", 0), outcomes.get("rejected", 0)
    never = describe_never_rejected(upheld + rejected, rejected)
    return [*_list_unreadable(outcomes, readable=upheld + rejected), *([never] if never else [])]


def describe_never_rejected(tested: int, rejections: int) -> str:
    """The alarm that a critic upheld everything; "" if it did not, or if it tested too few suggestions."""
    if rejections or tested < MIN_VERDICTS:
        return ""
    return (
        f"as a critic it upheld all of the {tested:,} suggestions that it tested. A critic that never rejects anything does not "
        "show which suggestions are right. Have people check some of them in an audit."
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
    """Every different list under ``key`` in ``text``, without reasoning; if there is none, the problem in a few words.

    The rule of ``json_answers`` applies: a list that is repeated from ``judged`` does not count, and if words follow the last
    list, or the answer was withheld, nothing is read. Of a list that was cut off, the complete elements count if no other list
    comes before it.
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
    """An answer without the reasoning before it. An answer that is JSON from beginning to end has no reasoning: marks in it
    are quoted words."""
    answer, _ = drop_thinking(text)
    if answer == text:
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return answer
    return text


def _explain(finish_reason: str) -> str:
    """Why a call ended without an answer, if its end says so."""
    if "tool" in finish_reason:
        return TOOL_CALL
    return REFUSED if is_withheld(finish_reason) else ""


def _read_constant(name: str) -> object:
    """NaN and infinities are not JSON; an answer that contains one is not used."""
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
    """The list under ``key`` in an object or in an object inside it, or a bare list of entries."""
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
    """The complete elements of a list that does not end; ``None`` if no such list begins."""
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
    """The position after white space and at most one comma."""
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

    ``is_ordered``: each sentence exactly once and in order. Without it, for servers that accept no limits of length, any of the
    sentences can occur any number of times. ``questions``: the answers offered, by the key of the codes' own questions.
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
