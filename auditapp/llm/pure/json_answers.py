"""Answers in JSON: the schemas that constrain them, and which part of an answer counts as the model's own verdict.

This part of JSON Schema is used: objects all of whose properties are required and no others allowed, lists, texts, whole numbers,
null, ``enum``, ``anyOf`` and ``$ref`` to the ``$defs`` of the whole; of limits ``maxLength``, ``minItems`` and ``maxItems``. A
list may have ``prefixItems``: exactly these items in this order.

One rule says what may be read as the model's verdict, for every reader of a machine's answer. A model that judges a text may
repeat what the text says. So an object that occurs whole in the judged text is not an answer; an answer that was cut off or
withheld gives no verdict; and if words follow the last object, the model may be taking it back, so nothing is read. If the prompt
asks for words after the answer, only words that refuse to answer take it back. Reasoning is removed first
(``transcripts.formats.thinking``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

LIMITS = ("maxLength", "minItems", "maxItems")

Schema = Mapping[str, Any]


def make_object(**properties: Schema) -> dict[str, Any]:
    """An object with exactly these properties, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def strip_limits(schema: Any) -> Any:
    """The schema without limits of length, for servers that refuse those."""
    if isinstance(schema, Mapping):
        # The names of properties are not keywords.
        return {
            name: {key: strip_limits(each) for key, each in value.items()}
            if name == "properties"
            else strip_limits(value)
            for name, value in schema.items()
            if name not in LIMITS
        }
    return [strip_limits(each) for each in schema] if isinstance(schema, list) else schema


def conforms(value: object, schema: Schema, root: Schema | None = None) -> bool:
    """Whether ``schema`` allows a JSON value. ``root``: the whole schema, if ``schema`` is a part of it."""
    root = root or schema
    schema = _resolve(schema, root)
    if "anyOf" in schema:
        return any(conforms(value, each, root) for each in schema["anyOf"])
    if "enum" in schema and value not in schema["enum"]:
        return False
    kind = schema.get("type")
    if kind == "object":
        own = schema["properties"]
        return (
            isinstance(value, dict)
            and value.keys() == own.keys()
            and all(conforms(value[key], own[key], root) for key in own)
        )
    if kind == "array":
        return (
            isinstance(value, list)
            and len(value) == len(schema.get("prefixItems", value))
            and schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
            and all(conforms(each, own, root) for each, own in zip(value, _list_items(schema, len(value)), strict=True))
        )
    if kind == "string":
        return isinstance(value, str) and len(value) <= schema.get("maxLength", len(value))
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return value is None if kind == "null" else True


def make_example(schema: Schema, root: Schema | None = None) -> Any:
    """The smallest value that ``schema`` allows; the first if there are several. ``root`` as for ``conforms``."""
    root = root or schema
    schema = _resolve(schema, root)
    if "anyOf" in schema:
        return make_example(schema["anyOf"][0], root)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {key: make_example(each, root) for key, each in schema["properties"].items()}
    if kind == "array":
        return [make_example(each, root) for each in _list_items(schema, schema.get("minItems", 0))]
    return {"string": "", "integer": 0}.get(str(kind))


def _resolve(schema: Schema, root: Schema) -> Schema:
    """The definition that a schema refers to, or itself."""
    found: Schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema
    return found


def _list_items(schema: Schema, count: int) -> list[Schema]:
    """The schemas of the items of a list of ``count``."""
    ordered: list[Schema] | None = schema.get("prefixItems")
    return [schema["items"]] * count if ordered is None else ordered


# The providers' own words for why an answer ended.
CUT_OFF = frozenset({"length", "max_tokens", "model_length"})
WITHHELD = frozenset({"content_filter", "refusal"})
WORDS_BEHIND = "words after the answer"

# The most that is read in search of JSON, over all tries: text that only looks like JSON costs no more than this.
MAX_READ = 8_000_000
MAX_TRIES = 5_000

_WORD = re.compile(r"[^\W_]")
_OBJECT, _OBJECT_OR_LIST = re.compile(r"\{"), re.compile(r"[{\[]")


def is_cut_off(finish_reason: str | None) -> bool:
    """Whether the provider says that the answer reached the limit of its length."""
    return finish_reason is not None and finish_reason.lower() in CUT_OFF


def is_withheld(finish_reason: str | None) -> bool:
    """Whether the provider says that the answer was withheld, by itself or by the model."""
    return finish_reason is not None and finish_reason.lower() in WITHHELD


def explain_end(finish_reason: str | None) -> str:
    """Why an answer with this end gives no verdict, in a few words; empty if it may give one."""
    if is_withheld(finish_reason):
        return "withheld by the provider"
    return "cut off" if is_cut_off(finish_reason) else ""


def goes_on(text: str, end: int) -> bool:
    """Whether words or numbers follow ``end`` in ``text``; fences, brackets and full stops do not count."""
    return _WORD.search(text, end) is not None


_NOT_ABLE = r"(?:can't|cannot|can not|(?:not |un)able to)"
_NOT_WILLING = (
    r"(?:won't|will not|(?:refuse|decline) to|(?:not |un)willing to|not (?:going|allowed|permitted) to"
    r"|(?:don't|do not) (?:wish|want) to)"
)
_ANSWERING = (
    r"(?:answer|respond|reply|comply|help|assist|continue|proceed|complete|fulfil|do|process|discuss|analy[sz]e|engage|participate"
    r"|(?:give|provide|offer) (?:you )?(?:with )?(?:an |a |the |any |this |that )?"
    r"(?:answer|analysis|assessment|verdict|response|description|help)"
    r"|describe (?:anyone|anybody|any person|a person|this person|such a person))"
)
_DECIDING = r"(?:judge|decide|choose|say|tell|pick)"
_THE_TASK = (
    r"(?: (?:to |on |with |in |of |for )?(?:you )?(?:with )?(?:this|that|these|those|it|so|here|(?:(?:this|that|the|your"
    r"|such an?) )(?:question|request|task|prompt|text|kind of (?:question|request|text))))?"
)
_SENTENCE_ENDS = r"(?=\s*(?:[.!;)]|\Z|,? (?:as|because|since|due to|for it|and i|so i)\b))"
_TAKEN_BACK = re.compile(
    r"(?<![\"'“‘\w])i(?:'m|'ll| am| will| would| must| have to)? (?:\w+ ){0,2}?"
    rf"(?:(?:{_NOT_ABLE}|{_NOT_WILLING}) (?:\w+ly )?{_ANSWERING}{_THE_TASK}"
    rf"|{_NOT_WILLING} (?:\w+ly )?{_DECIDING}{_THE_TASK}"
    rf"|(?:refuse|decline)){_SENTENCE_ENDS}"
    rf"|(?:\A|[.!:] )\W{{0,3}}(?:(?:i'm |i am )?sorry,? (?:but )?)?i (?:just )?(?:can't|cannot|won't|will not){_SENTENCE_ENDS}"
)
_APOSTROPHES = str.maketrans(dict.fromkeys("’ʼ´`′＇", "'"))
_MOST_READ_BEHIND = 3_000


def takes_back(text: str, end: int = 0) -> bool:
    """Whether the words after ``end`` refuse, in the first person, to give the answer that seems to come before them.

    Closed forms of whole sentences in English: "I cannot answer that." A doubt about one detail ("I cannot tell the age") or a
    disagreement with the text ("I do not share this view") takes nothing back.
    """
    words = " ".join(text[end : end + _MOST_READ_BEHIND].translate(_APOSTROPHES).lower().split())
    return _TAKEN_BACK.search(words) is not None


class Judged:
    """The texts that a model judges or was shown. They are searched for parts of its answer that it only repeated."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = [_squeeze(text) for text in texts if "{" in text or "[" in text]

    def __bool__(self) -> bool:
        """Whether a text has anything that could be repeated as an object."""
        return bool(self._texts)

    def repeats(self, part: str) -> bool:
        """Whether ``part``, an object as it was written, is in one of the texts, whatever its white space."""
        wanted = _squeeze(part)
        return any(wanted in text for text in self._texts)


NOTHING = Judged()


def find_json(
    text: str,
    decoder: json.JSONDecoder,
    *,
    with_lists: bool = False,
    is_wanted: Callable[[Any], bool] = lambda value: True,
) -> Iterator[tuple[Any, int, int]]:
    """The JSON objects in a text, with or without its lists, in order, each with its place.

    Only what ``decoder`` accepts is JSON; nothing is repaired. An object that is not wanted is searched for others inside it. The
    search ends after ``MAX_TRIES``, or after reading ``MAX_READ`` characters, counting those read twice two times.
    """
    begins = _OBJECT_OR_LIST if with_lists else _OBJECT
    read, position = 0, 0
    for _ in range(MAX_TRIES):
        found = begins.search(text, position)
        if found is None or read > MAX_READ:
            return
        start = found.start()
        position = start + 1
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            # The error of a string that does not end names its beginning.
            read += (len(text) if error.msg.startswith("Unterminated") else error.pos) - start
            continue
        except (ValueError, RecursionError):
            read += len(text) - start
            continue
        read += end - start
        if is_wanted(value):
            position = end
            yield value, start, end


def _squeeze(text: str) -> str:
    return "".join(text.split())
