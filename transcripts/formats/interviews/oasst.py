"""Trees of Open Assistant: an object with ``message_tree_id`` and ``prompt``, whose ``replies`` hold one another.

The thread is the path of the replies that were ranked best (``rank``, without ranks the first); every other reply that nothing
answers ends a branch. ``prompter`` is the interviewer, ``assistant`` the model. Deleted messages are kept and marked. Ratings and
labels of a message are kept in the details of its turn.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import ReadFile, ReadInterview, ReadTurn, Source
from transcripts.formats.interviews.details import list_left_out, read_day, read_time
from transcripts.formats.interviews.threads import Node, divide_tree, find_models, name_threads
from transcripts.formats.json_lines import JsonLine, JsonObject, name_json_type, read_json_objects, shorten
from transcripts.formats.problems import ReadError

FORMAT = "oasst"

_ROLES = {"prompter": "interviewer", "assistant": "model"}
_KEPT = ("rank", "labels", "emojis", "deleted", "synthetic", "review_result", "review_count")


def read_oasst(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    read = [thread for line in read_json_objects(source) for thread in _read_tree(line, source)]
    return ReadFile(FORMAT, read, list_left_out(left_out), left_out)


def _read_tree(line: JsonLine, source: Source) -> list[ReadInterview]:
    number, content = line
    nodes: dict[str, Node] = {}
    path: list[str] = []
    waiting: list[tuple[Any, str | None, bool]] = [(content.get("prompt"), None, True)]
    while waiting:
        message, parent, is_best = waiting.pop(0)
        key, turn = _read_message(message, len(nodes) + 1, number, source)
        nodes[key] = Node(parent, (turn,))
        if is_best:
            path.append(key)
        replies = message.get("replies") or []
        if not isinstance(replies, list):
            found = f"{name_json_type(replies)} as the replies to message {len(nodes)} of the tree"
            raise ReadError(source.name, number, found, "a list of messages")
        best = min(range(len(replies)), key=lambda at: _rank(replies[at], at)) if replies else -1
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


def _rank(reply: Any, place: int) -> tuple[float, int]:
    rank = reply.get("rank") if isinstance(reply, dict) else None
    return (rank if isinstance(rank, int) else float("inf"), place)


def _read_message(message: Any, place: int, line: int, source: Source) -> tuple[str, ReadTurn]:
    role = message.get("role") if isinstance(message, dict) else None
    text = message.get("text") if isinstance(message, dict) else None
    if not isinstance(role, str) or not isinstance(text, str):
        raise ReadError(source.name, line, f"message {place} of the tree without its words", '"role" and "text"')
    if role not in _ROLES:
        raise ReadError(source.name, line, f"the role {shorten(role)} of message {place}", " or ".join(_ROLES))
    key = message.get("message_id")
    at, model = read_time(message.get("created_date")), message.get("model_name")
    other = {key: message[key] for key in _KEPT if message.get(key) not in (None, {}, [])}
    details = {
        **({"at": at} if at else {}),
        **({"model": model[:200]} if isinstance(model, str) and model and role == "assistant" else {}),
        **({"other": other} if other else {}),
    }
    return key if isinstance(key, str) else f"message {place}", ReadTurn(
        _ROLES[role], "utterance", "", text, details=details
    )
