"""Conversations as JSON: our own lines, collections, chat messages and OpenAI's Responses.

The docstring of each reader describes its format. The collections are ShareGPT, Open Assistant and HH-RLHF; chat messages are those
of OpenAI and Anthropic.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import (
    ReadFile,
    ReadInterview,
    ReadTurn,
    Source,
    describe_turn,
    list_left_out,
    read_day,
    read_id,
    read_named,
    read_objects,
    write_plain,
)
from transcripts.formats.interviews.chat_content import (
    MessageReader,
    name_results,
    read_whole_call,
    split_joined_results,
)
from transcripts.formats.interviews.threads import Node, Thread, divide_tree, find_kind, find_models, name_threads
from transcripts.formats.json_lines import JsonLine, JsonObject, list_keys, name_json_type, read_json_objects, shorten
from transcripts.formats.problems import ReadError

INTERVIEW_JSONL = "interview_jsonl"

_APART_OF_INTERVIEW = frozenset({"id", "turns", "text", "consent", "kind", "relation", "hangs_on", "run"})
# No kind, and those that the paper distinguishes.
PROMPT_KINDS = ("", "open", "expand", "reflect", "challenge", "new_information", "leading")
_KEYS_OF_INTERVIEW_TURN = frozenset({"role", "text", "channel", "speaker", "prompt_kind", "call_id"})


def read_interview_lines(source: Source) -> ReadFile:
    """Interviews, one JSON object on each line.

        {"id": "i-07", "turns": [{"role": "interviewer", "text": "Why?"}, {"role": "model", "text": "…"}], "model": "A"}

    ``id`` (text or whole number) and ``turns`` are needed. A turn needs ``role`` (interviewer, model, system or tool) and
    ``text``; it may have ``channel`` (utterance, reasoning, tool_call, tool_result; without it: utterance), ``speaker``,
    ``prompt_kind``, ``call_id``, which joins a tool's result with its call, and ``details``, an object; see `ReadTurn`. In place
    of ``turns`` a line may have ``text``: one turn of the model.

    ``kind`` is interview or trajectory. A thread that hangs on a turn of another of the same file has ``relation`` (branch,
    subagent, continuation) and ``hangs_on``, {"id": "i-07", "turn": 4}. ``run`` is an object, see `ReadInterview`.

    ``title``, ``model``, ``vendor``, ``surface``, ``period`` (or ``date``), ``interviewer``, ``tier``, ``inclusion``,
    ``inclusion_reason``, ``opening_prompt`` and ``language`` are text or null. ``consent`` is null or an object: true or
    false for any of coding, external, quotation and reuse, and ``basis``, a text. Every other key is kept as metadata.
    Without a title the id is the title.

    Raises `ReadError`.
    """
    return read_objects(INTERVIEW_JSONL, source, _read_interview)


def _read_interview(line: JsonLine, source: Source, left_out: Counter[str]) -> Iterator[ReadInterview]:
    number, content = line
    name = source.name
    if read_id(content) is None:
        found = f"no id among the keys {list_keys(content)}" if "id" not in content else "no id"
        raise ReadError(name, number, found, 'an "id" that is text or a whole number')
    named = read_named(line, source, apart=_APART_OF_INTERVIEW)
    yield ReadInterview(turns=_read_turns(line, name, left_out), **_read_thread(line, name), **named)


def _read_thread(line: JsonLine, name: str) -> dict[str, Any]:
    """Read the kind of a thread, the turn from which it continues, and the facts about its run."""
    number, content = line
    told: dict[str, Any] = {}
    for key in ("kind", "relation"):
        if content.get(key) is not None:
            if not isinstance(content[key], str):
                raise ReadError(name, number, f"{name_json_type(content[key])} as {shorten(key)}", "text")
            told[key] = content[key]
    for key in ("run", "hangs_on"):
        if content.get(key) is not None and not isinstance(content[key], dict):
            raise ReadError(name, number, f"{name_json_type(content[key])} as {shorten(key)}", "an object")
    if content.get("run"):
        told["run"] = content["run"]
    if hung := content.get("hangs_on"):
        thread, turn = read_id(hung), hung.get("turn")
        if thread is None or not isinstance(turn, int) or isinstance(turn, bool):
            raise ReadError(name, number, '"hangs_on" without thread or turn', '{"id": "…", "turn": 4}')
        told["hangs_on"] = (thread, turn)
    return told


def _read_turns(line: JsonLine, name: str, left_out: Counter[str]) -> tuple[ReadTurn, ...]:
    number, content = line
    turns, text = content.get("turns"), content.get("text")
    if (turns is None) == (text is None):
        found = 'neither "turns" nor "text"' if turns is None else 'both "turns" and "text"'
        raise ReadError(name, number, found, '"turns", a list, or "text", what the model said')
    if turns is None:
        if not isinstance(text, str):
            raise ReadError(name, number, f'{name_json_type(text)} as "text"', "text")
        return (ReadTurn("model", "utterance", "", text),)
    if not isinstance(turns, list):
        raise ReadError(name, number, f'{name_json_type(turns)} as "turns"', "a list of turns")
    return tuple(_read_interview_turn(turn, place, number, name, left_out) for place, turn in enumerate(turns, 1))


def _read_interview_turn(turn: Any, number: int, line: int, name: str, left_out: Counter[str]) -> ReadTurn:
    if not isinstance(turn, dict):
        raise ReadError(name, line, f"{name_json_type(turn)} as turn {number}", 'an object with "role" and "text"')
    for key in ("role", "text"):
        if key not in turn:
            raise ReadError(name, line, f"no {shorten(key)} in turn {number}", 'turns with "role" and "text"')
    parts: dict[str, Any] = {"channel": "utterance", "speaker": "", "prompt_kind": ""}
    for key, value in turn.items():
        if key == "details" and isinstance(value, dict):
            parts[key] = value
        elif key not in _KEYS_OF_INTERVIEW_TURN:
            left_out[f"The key {shorten(key)} of a turn was left out."] += 1
        elif isinstance(value, str):
            parts[key] = value
        elif value is not None or key in {"role", "text"}:
            raise ReadError(name, line, f"{name_json_type(value)} as {shorten(key)} in turn {number}", "text")
    if parts["prompt_kind"] not in PROMPT_KINDS:
        found = f"The prompt_kind {shorten(parts['prompt_kind'])} was kept, but no count knows it."
        left_out[f"{found} Known are {', '.join(filter(None, PROMPT_KINDS))}."] += 1
    return ReadTurn(**parts)


SHAREGPT = "sharegpt"

_SHAREGPT_SPEAKERS = {
    **dict.fromkeys(("human", "user"), ("interviewer", "utterance")),
    **dict.fromkeys(("gpt", "assistant", "model", "chatgpt", "bing", "bard"), ("model", "utterance")),
    "system": ("system", "utterance"),
    "function_call": ("model", "tool_call"),
    **dict.fromkeys(("tool", "observation", "function_response"), ("tool", "tool_result")),
}
_APART_OF_SHAREGPT = frozenset({"id", "conversations", "consent"})
_KEYS_OF_SHAREGPT_TURN = frozenset({"from", "value"})


def read_sharegpt(source: Source) -> ReadFile:
    """Conversations as ShareGPT's collections write them: a list, or an object on each line.

        [{"id": "a1", "conversations": [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "…"}]}]

    ``human`` and ``user`` are the interviewer; ``gpt``, ``assistant``, ``model``, ``chatgpt``, ``bing`` and ``bard`` the model;
    ``system`` is the system. ``function_call`` is a tool call of the model; ``tool``, ``observation`` and ``function_response``
    are results. ``model`` and the other keys that interview lines know have the same meaning here; every other key is kept as
    metadata.

    Raises `ReadError`.
    """
    return read_objects(SHAREGPT, source, _read_sharegpt_conversation)


def _read_sharegpt_conversation(line: JsonLine, source: Source, left_out: Counter[str]) -> Iterator[ReadInterview]:
    number, content = line
    said = content.get("conversations")
    if not isinstance(said, list):
        raise ReadError(source.name, number, f'{name_json_type(said)} as "conversations"', "a list of turns")
    named = read_named(line, source, apart=_APART_OF_SHAREGPT)
    turns = name_results(
        [_read_sharegpt_turn(each, place, line, source, left_out) for place, each in enumerate(said, 1)], left_out
    )
    yield ReadInterview(turns=turns, kind=find_kind(turns), **named)


def _read_sharegpt_turn(turn: Any, place: int, line: JsonLine, source: Source, left_out: Counter[str]) -> ReadTurn:
    number, _ = line
    speaker, text = (turn.get("from"), turn.get("value")) if isinstance(turn, dict) else (None, None)
    if not isinstance(speaker, str) or not isinstance(text, str):
        raise ReadError(source.name, number, f"turn {place} without its words", 'an object with "from" and "value"')
    if speaker not in _SHAREGPT_SPEAKERS:
        raise ReadError(
            source.name, number, f"{shorten(speaker)} as the speaker of turn {place}", " or ".join(_SHAREGPT_SPEAKERS)
        )
    for key in turn.keys() - _KEYS_OF_SHAREGPT_TURN:
        left_out[f"The key {shorten(key)} of a turn was left out."] += 1
    role, channel = _SHAREGPT_SPEAKERS[speaker]
    if channel == "tool_call":
        arguments, name = read_whole_call(text)
        return ReadTurn(role, channel, name, arguments)
    return ReadTurn(role, channel, "", text)


OASST = "oasst"

_OASST_ROLES = {"prompter": "interviewer", "assistant": "model"}
_KEPT_OF_OASST = ("rank", "labels", "emojis", "deleted", "synthetic", "review_result", "review_count")


def read_oasst(source: Source) -> ReadFile:
    """Trees of Open Assistant: an object with ``message_tree_id`` and ``prompt``, with nested ``replies``.

    The thread is the path of the best-ranked replies (``rank``; without ranks, the first). Every other reply without an answer
    ends a branch. ``prompter`` is the interviewer, ``assistant`` the model. Deleted messages are kept and marked. Ratings and
    labels of a message are kept in the details of its turn.

    Raises `ReadError`.
    """
    return read_objects(OASST, source, _read_tree)


def _read_tree(line: JsonLine, source: Source, _left_out: Counter[str]) -> list[ReadInterview]:
    number, content = line
    nodes: dict[str, Node] = {}
    path: list[str] = []
    waiting: list[tuple[Any, str | None, bool]] = [(content.get("prompt"), None, True)]
    while waiting:
        message, parent, is_best = waiting.pop(0)
        key, turn = _read_oasst_message(message, len(nodes) + 1, number, source)
        nodes[key] = Node(parent, (turn,))
        if is_best:
            path.append(key)
        replies = message.get("replies") or []
        if not isinstance(replies, list):
            found = f"{name_json_type(replies)} as the replies to message {len(nodes)} of the tree"
            raise ReadError(source.name, number, found, "a list of messages")
        best = min(range(len(replies)), key=lambda at: _rank_reply(replies[at], at)) if replies else -1
        waiting += [(reply, key, is_best and at == best) for at, reply in enumerate(replies)]
    prompt: JsonObject = content["prompt"]
    identity = content.get("message_tree_id")
    external_id = (identity if isinstance(identity, str) and identity else f"{source.stem}-{number}")[:150]
    state = content.get("tree_state")
    common = ReadInterview(
        external_id=external_id,
        title=external_id,
        turns=(),
        surface="Open Assistant",
        period=read_day(prompt.get("created_date")),
        language=prompt["lang"] if isinstance(prompt.get("lang"), str) else "",
        metadata={"tree_state": state} if isinstance(state, str) else {},
        line=number,
    )
    threads = divide_tree(nodes, current=path[-1])
    return [replace(each, model_label=find_models(each.turns)) for each in name_threads(threads, common=common)]


def _rank_reply(reply: Any, place: int) -> tuple[float, int]:
    rank = reply.get("rank") if isinstance(reply, dict) else None
    return (rank if isinstance(rank, int) else float("inf"), place)


def _read_oasst_message(message: Any, place: int, line: int, source: Source) -> tuple[str, ReadTurn]:
    role = message.get("role") if isinstance(message, dict) else None
    text = message.get("text") if isinstance(message, dict) else None
    if not isinstance(role, str) or not isinstance(text, str):
        raise ReadError(source.name, line, f"message {place} of the tree without its words", '"role" and "text"')
    if role not in _OASST_ROLES:
        raise ReadError(source.name, line, f"the role {shorten(role)} of message {place}", " or ".join(_OASST_ROLES))
    key = message.get("message_id")
    model = message.get("model_name") if role == "assistant" else ""
    other = {key: message[key] for key in _KEPT_OF_OASST if message.get(key) not in (None, {}, [])}
    details = {**describe_turn(message.get("created_date"), model), **({"other": other} if other else {})}
    return key if isinstance(key, str) else f"message {place}", ReadTurn(
        _OASST_ROLES[role], "utterance", "", text, details=details
    )


HH_RLHF = "hh_rlhf"

_HH_RLHF_ROLES = {"Human": "interviewer", "Assistant": "model"}
_HH_RLHF_TURN = re.compile(r"(?:\A|\n\n)(Human|Assistant):[ ]?")


def read_hh_rlhf(source: Source) -> ReadFile:
    """Pairs of conversations as HH-RLHF writes them: ``{"chosen": "\\n\\nHuman: …\\n\\nAssistant: …", "rejected": "…"}``.

    The chosen conversation is the thread; the rejected one is a branch, which continues from the last turn that both share. A
    line with only the chosen conversation is a thread. ``outcome`` in the metadata of each says which it is.

    Raises `ReadError`.
    """
    return read_objects(HH_RLHF, source, _read_pair)


def _read_pair(line: JsonLine, source: Source, _left_out: Counter[str]) -> Iterator[ReadInterview]:
    number, content = line
    chosen = _read_pair_text("chosen", line, source)
    threads, outcomes = [Thread(chosen)], ["chosen"]
    if content.get("rejected") is not None:
        rejected = _read_pair_text("rejected", line, source)
        shared = 0
        while shared < min(len(chosen), len(rejected)) and chosen[shared] == rejected[shared]:
            shared += 1
        if own := rejected[shared:]:
            threads.append(Thread(own, (0, shared) if shared else None, "branch" if shared else "", "rejected"))
            outcomes.append("rejected")
    external_id = f"{source.stem[:140]}-{number}"
    common = ReadInterview(external_id, external_id, (), line=number)
    for thread, outcome in zip(name_threads(threads, common=common), outcomes, strict=True):
        yield replace(thread, metadata={"outcome": outcome})


def _read_pair_text(key: str, line: JsonLine, source: Source) -> list[ReadTurn]:
    number, content = line
    text = content.get(key)
    if not isinstance(text, str):
        raise ReadError(source.name, number, f"{name_json_type(text)} as {shorten(key)}", "a conversation as text")
    begins = list(_HH_RLHF_TURN.finditer(text))
    if not begins or begins[0].start():
        raise ReadError(source.name, number, f"{shorten(key)} without speakers", "Human: … and Assistant: …")
    ends = [found.start() for found in begins[1:]] + [len(text)]
    return [
        ReadTurn(_HH_RLHF_ROLES[found[1]], "utterance", "", text[found.end() : end])
        for found, end in zip(begins, ends, strict=True)
    ]


CHAT_MESSAGES = "chat_messages"
MESSAGE_LIST = "message_list"

_APART = frozenset({"id", "messages", "consent", "system"})


def read_chat_lines(source: Source) -> ReadFile:
    """Chat messages as the interfaces of OpenAI and Anthropic write them: objects with ``messages``, or one list of messages.

        {"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "…"}]}

    Roles: ``system`` and ``developer`` are the system, ``user`` is the interviewer, ``assistant`` the model, ``tool`` and
    ``function`` a tool. ``content`` is text, null, or a list of typed parts; text parts that follow each other are joined
    by a line feed. A message that says several kinds of thing becomes several turns: reasoning (in a key of its own, in parts
    of that type, or in a ``<think>`` block that opens an assistant's content), utterance, and tool calls, each with its
    arguments as JSON for text and the tool's name as speaker. A tool's message, and the part of a user's message that bears a
    result, is a tool result; a tool's message that holds the results of several calls becomes one for each. Parts without text,
    such as pictures, are left out with a warning. A ``system`` next to the messages is the first turn. With tool calls a
    conversation is a trajectory.

    A file that is one list of messages is one conversation; in it a message that begins with ``<returncode>``, as mini-swe-agent
    writes what a command gave back, is a tool result.

    ``id`` names the conversation; without one it is the file's name and the line. ``title``, ``model`` and the other keys
    that interview lines know have the same meaning here; every other key is kept as metadata.

    Raises `ReadError`.
    """
    return read_objects(CHAT_MESSAGES, source, _read_conversation)


def read_message_list(source: Source) -> ReadFile:
    """Read a file that is one list of messages; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    reader = MessageReader(source.name, 1, left_out)
    messages = [content for _, content in read_json_objects(source)]
    turns = tuple(map(_mark_output, read_messages(messages, reader)))
    kind = "trajectory" if any(turn.role == "tool" for turn in turns) else find_kind(turns)
    interview = ReadInterview(source.stem[:200], source.stem[:300], turns, find_models(turns), kind=kind)
    return ReadFile(MESSAGE_LIST, [interview], list_left_out(left_out), left_out)


def _mark_output(turn: ReadTurn) -> ReadTurn:
    """Mark the output of a command that mini-swe-agent wrote among its words as a result, not a question."""
    if turn.role == "interviewer" and turn.text.startswith("<returncode>"):
        return replace(turn, role="tool", channel="tool_result")
    return turn


def read_messages(messages: list[Any], reader: MessageReader) -> tuple[ReadTurn, ...]:
    """The turns of messages, each result with the name of its tool. Raises `ReadError`."""
    turns = [turn for place, message in enumerate(messages, 1) for turn in reader.read(message, place)]
    return name_results([*split_joined_results(turns)], reader.left_out)


def read_system(content: object, reader: MessageReader) -> list[ReadTurn]:
    """The instructions next to the messages: text, or a list of parts."""
    if not content or not isinstance(content, str | list):
        return []
    return reader.read({"role": "system", "content": content}, 0)


def _read_conversation(line: JsonLine, source: Source, left_out: Counter[str]) -> Iterator[ReadInterview]:
    number, content = line
    messages = content.get("messages")
    if not isinstance(messages, list):
        found = f'{name_json_type(messages)} as "messages"' if "messages" in content else 'no "messages"'
        raise ReadError(source.name, number, found, "a list of messages")
    named = read_named(line, source, apart=_APART)
    if read_id(content) is None and content.get("id") is not None:
        raise ReadError(source.name, number, "an id that is empty or of another kind", "text or a whole number")
    reader = MessageReader(source.name, number, left_out)
    turns = (*read_system(content.get("system"), reader), *read_messages(messages, reader))
    yield ReadInterview(turns=turns, kind=find_kind(turns), **{"model_label": find_models(turns), **named})


RESPONSES = "openai_responses"

UNASKED = "An answer came without its question, which is not in the file."
_APART_OF_RESPONSE = frozenset({"id", "object", "created_at", "instructions", "input", "output", "consent"})
_ARGUMENTS = ("arguments", "input")
# Of a call that the provider ran, what is not among its arguments.
_OF_ITEM = frozenset({"id", "call_id", "type", "status", "name", "output", "error"})


def read_responses(source: Source) -> ReadFile:
    """Answers of OpenAI's Responses as its interface gives them: one object, a list, or an object on each line.

        {"id": "r1", "object": "response", "model": "m", "instructions": "Be brief.", "output": [
          {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "…"}]}]}

    ``instructions`` are the system, ``input`` is what was asked where the file has it, as text or as items; the items of ``output``
    follow. Messages, reasoning and calls are read as in chat messages; calls of tools that the provider runs itself (such as
    ``web_search_call``) are calls under the name of their type, with their contents as arguments. Items that are none of these
    are left out and counted. Every other key is kept as metadata.

    Raises `ReadError`.
    """
    return read_objects(RESPONSES, source, _read_response)


def _read_response(line: JsonLine, source: Source, left_out: Counter[str]) -> Iterator[ReadInterview]:
    number, content = line
    output = content.get("output")
    if content.get("object") != "response" or not isinstance(output, list):
        kind = content.get("object")
        found = (
            f'{name_json_type(output)} as "output"'
            if kind == "response"
            else f"an object of another kind, {shorten(str(kind))}"
        )
        raise ReadError(source.name, number, found, '"object": "response" and "output", a list of items')
    named = read_named(line, source, apart=_APART_OF_RESPONSE)
    named["metadata"] = {key: told for key, told in named["metadata"].items() if told not in {"", "[]", "{}"}}
    reader = MessageReader(source.name, number, left_out)
    asked = _read_items(content.get("input"), "user", reader)
    if not asked:
        left_out[UNASKED] += 1
    answered = [
        turn
        for place, item in enumerate(output, 1)
        for turn in _read_item(item, place, reader, {"created_at": content.get("created_at")})
    ]
    turns = name_results([*_read_items(content.get("instructions"), "system", reader), *asked, *answered], left_out)
    yield ReadInterview(turns=turns, kind=find_kind(turns), **{"period": read_day(content.get("created_at")), **named})


def _read_items(given: Any, role: str, reader: MessageReader) -> list[ReadTurn]:
    """Read what was said before the answer: a text of the role, or items that name their roles."""
    if isinstance(given, str):
        return reader.read({"role": role, "content": given}, 0) if given.strip() else []
    items = given if isinstance(given, list) else []
    return [turn for place, item in enumerate(items, 1) for turn in _read_item(item, place, reader, {})]


def _read_item(item: Any, place: int, reader: MessageReader, shared: JsonObject) -> list[ReadTurn]:
    kind = str(item.get("type") or "") if isinstance(item, dict) else ""
    if not isinstance(item, dict) or "role" in item:
        said = {key: item[key] for key in item if key not in {"id", "status"}} if isinstance(item, dict) else item
        return reader.read({**shared, **said} if isinstance(said, dict) else said, place)
    if kind == "reasoning":
        return reader.read({**shared, **item}, place)
    if kind.endswith("_call_output"):
        return reader.read({**shared, **item, "type": "function_call_output"}, place)
    if kind.endswith("_call"):
        return _read_call(item, kind, place, reader, shared)
    reader.left_out[
        f"An item of type {shorten(kind)} was left out because it is not a message, call or reasoning."
    ] += 1
    return []


def _read_call(item: JsonObject, kind: str, place: int, reader: MessageReader, shared: JsonObject) -> list[ReadTurn]:
    """Read the call and, if the item has it, its result."""
    arguments = next((item[key] for key in _ARGUMENTS if item.get(key) is not None), None)
    if arguments is None:
        arguments = {key: item[key] for key in item if key not in _OF_ITEM and item[key] is not None}
    name = item.get("name")
    call_id = item.get("call_id") or item.get("id")
    call = {
        "type": "function_call",
        "name": name if isinstance(name, str) and name else kind.removesuffix("_call"),
        "arguments": arguments,
        "call_id": call_id,
    }
    turns = reader.read({**shared, **call}, place)
    output = item.get("output")
    if output is None and item.get("error") is None:
        return turns
    given = "" if output is None else write_plain(output)
    result = {"type": "function_call_output", "call_id": call_id, "output": given, "error": item.get("error")}
    return [*turns, *reader.read({**shared, **result}, place)]
