"""Sessions of Claude Code: an object on each line with ``sessionId``, ``uuid``, ``parentUuid`` and ``message``.

Lines of ``user`` and ``assistant`` are messages; the others (titles, snapshots of files, progress) are counted and left out, as
are messages that the program wrote for itself (``isMeta``). Parents form a tree, which includes lines without words: its
current path is the session, other paths are branches. Side chains (``isSidechain``) are runs of sub-agents and continue from
the call that started them, if the file names it. A side chain in a separate file has the id of its session and of its agent,
and is linked to the call if the session's file is imported with it. After a summary that replaced the conversation
(``isCompactSummary``), the session goes on in a continuation. An answer that is written over several lines is read in their
order, and its tokens are counted once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from transcripts.formats.interviews.base import (
    Links,
    ReadFile,
    ReadInterview,
    ReadTurn,
    Source,
    Start,
    find_list,
    find_object,
    list_left_out,
    read_day,
)
from transcripts.formats.interviews.chat_content import MessageReader, name_results
from transcripts.formats.interviews.threads import Node, Thread, divide_tree, find_models, name_threads
from transcripts.formats.json_lines import JsonLine, JsonObject, read_json_objects, shorten
from transcripts.formats.problems import ReadError

FORMAT = "claude_code"

_SAID = frozenset({"user", "assistant"})
_TOKENS = {"input_tokens": "input", "output_tokens": "output"}
_MESSAGE_KEYS = ("role", "content", "model")
_METADATA = {"version": "version", "slug": "slug", "entrypoint": "entrypoint"}
_BOUNDARY = "compact_boundary"
_CHAIN = "subagent-"
_STARTS_AGENT = frozenset({"Task", "Agent"})


def read_claude_code(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    sessions: dict[str, list[JsonLine]] = {}
    for number, content in read_json_objects(source):
        if not _is_said(content):
            if content.get("subtype") != _BOUNDARY:
                left_out[f"A line of type {shorten(str(content.get('type')))} was left out."] += 1
            if not isinstance(content.get("uuid"), str):
                continue
        session = content.get("sessionId")
        sessions.setdefault(session if isinstance(session, str) else source.stem, []).append((number, content))
    read: list[ReadInterview] = []
    for session, lines in sessions.items():
        read += _read_session(session, lines, source, left_out)
    if not read:
        raise ReadError(source.name, None, "a session without any messages", "lines of the types user and assistant")
    return ReadFile(FORMAT, read, list_left_out(left_out), left_out)


def _read_session(session: str, lines: list[JsonLine], source: Source, left_out: Counter[str]) -> list[ReadInterview]:
    chains: dict[str, list[JsonLine]] = {"": []}
    for line in lines:
        chains.setdefault(_name_chain(line[1]), []).append(line)
    # The call that started each agent, if its result names it.
    agents = dict(filter(None, (_read_agent(content) for _, content in lines)))
    threads = _divide(chains.pop(""), source, left_out)
    if not threads:
        # A file of a sub-agent alone.
        return [
            each
            for name, chain in ((name if name != "subagent" else source.stem, chain) for name, chain in chains.items())
            for each in _read_apart(session, name, _divide(chain, source, left_out), chain, left_out)
        ]
    main = len(threads)
    for name, chain in chains.items():
        own = _divide(chain, source, left_out)
        for thread in own:
            if thread.hangs_on:
                thread.hangs_on = (thread.hangs_on[0] + len(threads), thread.hangs_on[1])
            else:
                call_id = agents.get(name.removeprefix(_CHAIN), "")
                thread.hangs_on, thread.relation = _find_start(threads[:main], thread, call_id), "subagent"
                thread.name = name[:60]
        threads += own
    return _name(threads, session[:150], lines, agents, left_out)


def _read_apart(
    session: str, name: str, threads: list[Thread], lines: list[JsonLine], left_out: Counter[str]
) -> list[ReadInterview]:
    """The threads of a sub-agent whose session is in another file."""
    if not threads:
        return []
    agents = dict(filter(None, (_read_agent(content) for _, content in lines)))
    first, *others = _name(threads, f"{session[:90]}/{name[:60]}", lines, agents, left_out)
    told = f"A run of a sub-agent of the session {shorten(session)} is a separate thread. Import it with its session's file."
    left_out[told] += 1
    links = replace(
        first.links,
        ids=(name.removeprefix(_CHAIN),),
        within=session[:150],
        words=_find_words(threads[0]),
        told=told,
    )
    return [replace(first, links=links), *others]


def _name(
    threads: list[Thread], external_id: str, lines: list[JsonLine], agents: Mapping[str, str], left_out: Counter[str]
) -> list[ReadInterview]:
    """The threads as interviews, each with the agents that its calls started."""
    first = lines[0][1]
    common = ReadInterview(
        external_id=external_id,
        title=external_id[:250],
        turns=(),
        surface="Claude Code",
        period=next(filter(None, (read_day(content.get("timestamp")) for _, content in lines)), ""),
        metadata={key: str(first[name]) for name, key in _METADATA.items() if isinstance(first.get(name), str)},
        line=lines[0][0],
        kind="trajectory",
        run={"agent": "Claude Code"},
    )
    for thread in threads:
        thread.turns = list(name_results(thread.turns, left_out))
    agent_of = {call_id: agent for agent, call_id in agents.items()}
    named = []
    for each in name_threads(threads, common=common):
        starts = tuple(
            Start("subagent", position, (agent_of[turn.call_id],))
            for position, turn in enumerate(each.turns, 1)
            if turn.channel == "tool_call" and turn.call_id in agent_of
        )
        named.append(replace(each, model_label=find_models(each.turns), links=Links(starts=starts)))
    return named


def _is_said(content: JsonObject) -> bool:
    return str(content.get("type")) in _SAID and isinstance(content.get("message"), dict)


def _read_agent(content: JsonObject) -> tuple[str, str] | None:
    """The agent whose work a result describes, and the id of the call that started it."""
    agent = find_object(content, "toolUseResult").get("agentId")
    for part in find_list(content.get("message"), "content"):
        if isinstance(part, dict) and isinstance(part.get("tool_use_id"), str) and isinstance(agent, str):
            return agent, part["tool_use_id"]
    return None


def _name_chain(content: JsonObject) -> str:
    """The sub-agent that a line belongs to; "" for the session itself."""
    if content.get("isSidechain") is not True:
        return ""
    agent = content.get("agentId")
    return f"{_CHAIN}{agent}" if isinstance(agent, str) and agent else "subagent"


def _find_words(thread: Thread) -> str:
    return next((turn.text.strip() for turn in thread.turns if turn.role == "interviewer"), "")


def _find_start(threads: list[Thread], started: Thread, call_id: str) -> tuple[int, int]:
    """The call that started a run: the one with the id, or else the one whose arguments contain its first words, or else the last
    call that starts agents."""
    words = _find_words(started)
    calls = [
        ((place, position), turn)
        for place, thread in enumerate(threads)
        for position, turn in enumerate(thread.turns, 1)
        if turn.channel == "tool_call" and turn.speaker in _STARTS_AGENT
    ]
    for where, turn in calls:
        if call_id and turn.call_id == call_id:
            return where
    for where, turn in calls:
        if words and words[:200] in turn.text.replace("\\n", "\n"):
            return where
    return calls[-1][0] if calls else (0, len(threads[0].turns))


def _divide(lines: list[JsonLine], source: Source, left_out: Counter[str]) -> list[Thread]:
    """The threads of one chain: a tree, divided where a summary replaced the conversation."""
    nodes: dict[str, Node] = {}
    summaries: set[str] = set()
    told: set[str] = set()
    last: str | None = None
    for number, content in lines:
        key = content["uuid"] if isinstance(content.get("uuid"), str) else f"line {number}"
        # A compaction begins without a parent and names the message that it follows.
        parents = (content.get(name) for name in ("parentUuid", "logicalParentUuid"))
        parent = next((each for each in parents if isinstance(each, str)), None)
        is_summary = content.get("isCompactSummary") is True
        if (is_summary or content.get("subtype") == _BOUNDARY) and parent not in nodes:
            parent = last
        if not _is_said(content):
            turns: list[ReadTurn] = []
        elif content.get("isMeta") is True:
            left_out["A message that the program wrote for itself was left out."] += 1
            turns = []
        else:
            turns = _read_line(content, number, source, left_out, told)
        if is_summary:
            summaries.add(key)
            turns = [replace(turn, details={**turn.details, "is_summary": True}) for turn in turns]
        nodes[key] = Node(parent, tuple(turns))
        last = key if turns else last
    threads = divide_tree(nodes)
    return _cut_summaries(threads) if summaries else threads


def _cut_summaries(threads: list[Thread]) -> list[Thread]:
    """Divide every thread that continues after a summary: the second part continues from the last turn before the summary."""
    cut = list(threads)
    for place, thread in enumerate(threads):
        at = next((at for at, turn in enumerate(thread.turns) if at and turn.details.get("is_summary")), None)
        if at is None:
            continue
        behind = Thread(thread.turns[at:], (place, at), "continuation")
        thread.turns = thread.turns[:at]
        for other in cut:
            if other.hangs_on and other.hangs_on[0] == place and other.hangs_on[1] > at:
                other.hangs_on = (len(cut), other.hangs_on[1] - at)
        cut.append(behind)
    # A continuation may be compacted again.
    return _cut_summaries(cut) if len(cut) > len(threads) else cut


def _read_line(
    content: JsonObject, number: int, source: Source, left_out: Counter[str], told: set[str]
) -> list[ReadTurn]:
    message = content["message"]
    plain: dict[str, Any] = {key: message[key] for key in _MESSAGE_KEYS if message.get(key) is not None}
    plain["timestamp"] = content.get("timestamp")
    turns = [
        turn
        for turn in MessageReader(source.name, number, left_out).read(plain, 1)
        if turn.text.strip() or turn.channel in {"tool_call", "tool_result"} or "redacted" in turn.details
    ]
    usage, identity = message.get("usage"), str(message.get("id"))
    if turns and isinstance(usage, dict) and identity not in told:
        told.add(identity)
        tokens = {word: usage[key] for key, word in _TOKENS.items() if isinstance(usage.get(key), int)}
        turns[0] = replace(turns[0], details={**turns[0].details, "tokens": tokens})
    return turns
