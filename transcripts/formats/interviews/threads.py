"""From messages that form a tree, or calls that repeat what was said before, to threads that run in one line each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from transcripts.formats.interviews.base import ReadInterview, ReadTurn
from transcripts.formats.interviews.calls import read_json_text

_STAGES = {"reasoning": "back", "tool_call": "tool", "tool_result": "tool"}


@dataclass
class Thread:
    """A line of turns. ``hangs_on``: the place of the other thread in the list and the position, from 1, of its turn."""

    turns: list[ReadTurn] = field(default_factory=list)
    hangs_on: tuple[int, int] | None = None
    relation: str = ""
    name: str = ""


@dataclass(frozen=True)
class Node:
    """A message of a tree: what came before it, and its turns, which may be none."""

    parent: str | None
    turns: tuple[ReadTurn, ...]


def divide_tree(nodes: Mapping[str, Node], *, current: str | None = None) -> list[Thread]:
    """The threads of a tree, whose nodes are given in the order of time: first the one that ends at ``current`` (without it:
    at the leaf that comes last and has words), then one for each other leaf, which hangs on the last turn that it shares."""
    parents = {node.parent for node in nodes.values()}
    leaves = [key for key in nodes if key not in parents]
    if current not in nodes and nodes:
        current = _find_current(leaves or list(nodes), nodes)
    threads: list[Thread] = []
    # Where each node that is in a thread ends: the thread's place and the number of its turns so far.
    ends: dict[str, tuple[int, int]] = {}
    for leaf in [current, *leaves] if current else []:
        known, fresh = _climb(leaf, nodes, ends)
        turns = [turn for key in fresh for turn in nodes[key].turns]
        if not turns:
            continue
        hangs_on = _find_turn(ends[known], threads) if known else None
        thread = Thread([], hangs_on, "branch" if hangs_on else "")
        for key in fresh:
            thread.turns += nodes[key].turns
            ends[key] = (len(threads), len(thread.turns))
        threads.append(thread)
    return threads


def _find_current(leaves: Sequence[str], nodes: Mapping[str, Node]) -> str:
    """The last leaf with something said above it: a tree may have lines without words that belong to nothing."""
    for leaf in reversed(leaves):
        if any(nodes[key].turns for key in _climb(leaf, nodes, {})[1]):
            return leaf
    return leaves[-1]


def _climb(leaf: str, nodes: Mapping[str, Node], ends: Mapping[str, object]) -> tuple[str | None, list[str]]:
    """The nearest node above that is in a thread, and the nodes below it down to the leaf. A circle ends where it began."""
    fresh: dict[str, None] = {}
    key: str | None = leaf
    while key is not None and key in nodes and key not in ends and key not in fresh:
        fresh[key] = None
        key = nodes[key].parent
    return (key if key in ends else None), list(reversed(fresh))


def _find_turn(end: tuple[int, int], threads: Sequence[Thread]) -> tuple[int, int] | None:
    """The turn that something hangs on that begins behind ``end``; ``None`` where nothing was said before it."""
    place, position = end
    return (place, position) if position else threads[place].hangs_on


@dataclass(frozen=True)
class Call:
    """One call to a model as a trace tells it: what it was sent, what it answered."""

    history: tuple[ReadTurn, ...]
    answer: tuple[ReadTurn, ...]
    # Whether its history may hold only what is new.
    may_be_delta: bool = False


def join_calls(calls: Iterable[Call]) -> tuple[list[Thread], int]:
    """The threads that calls of one conversation tell, given in the order of their start, and how many calls told nothing new.

    What equals a thread so far is passed over and the rest appended. A shared beginning that is followed by other words
    gives a branch. A call that shares nothing begins a run of its own, which hangs on where the first thread then was;
    except where it may hold new messages alone. Instructions to the system and reasoning are not compared, because many
    programs write the first anew each time and do not send the second back.
    """
    threads: list[Thread] = []
    copies = 0
    for call in calls:
        told = _gather_calls([*call.history, *call.answer], threads)
        compared = [(at, _key(turn)) for at, turn in enumerate(told) if _is_compared(turn)]
        place, shared, owner = _find_nearest([key for _, key in compared], threads)
        if compared and shared == len(compared):
            copies += 1
        elif place is not None and shared and owner is None:
            threads[place].turns += _rest(told, compared, shared)
        elif place is not None and shared:
            threads.append(Thread(_rest(told, compared, shared), owner, "branch"))
        elif threads and (call.may_be_delta or not call.history or call.history[0].channel == "tool_result"):
            last = _find_waiting(call, threads)
            last.turns += [turn for turn in told if turn.role != "system" or turn not in last.turns]
        elif threads:
            threads.append(Thread(told, (0, len(threads[0].turns)), "subagent"))
        elif told:
            threads.append(Thread(told))
    return threads, copies


def _gather_calls(told: list[ReadTurn], threads: Sequence[Thread]) -> list[ReadTurn]:
    """The turns with calls that were made at once, as a thread has them, before their results: some programs send each call back
    with its result after it."""
    # Many programs make one call at a time; then nothing of this long list is compared.
    places: dict[object, int] | None = None
    for thread in threads:
        for is_call, run in groupby(thread.turns, lambda turn: turn.channel == "tool_call"):
            made = list(run)
            if not is_call or len(made) < 2:
                continue
            if places is None:
                places = {_key(turn): at for at, turn in reversed(list(enumerate(told)))}
            group = [_key(turn) for turn in made]
            if (first := places.get(group[0])) is None:
                continue
            calls, results, at = [told[first]], list[ReadTurn](), first + 1
            while len(calls) < len(group) and at < len(told):
                if _key(told[at]) == group[len(calls)]:
                    calls.append(told[at])
                elif told[at].channel == "tool_result":
                    results.append(told[at])
                else:
                    break
                at += 1
            if len(calls) == len(group):
                told, places = [*told[:first], *calls, *results, *told[at:]], None
    return told


def _find_waiting(call: Call, threads: Sequence[Thread]) -> Thread:
    """The thread that a call without its history goes on with: the one that made the tool call it answers, or the first."""
    ids = {turn.call_id for turn in call.history if turn.call_id}
    made = (thread for thread in threads if ids & {turn.call_id for turn in thread.turns if turn.call_id})
    return next(made, threads[0])


def _find_nearest(keys: Sequence[object], threads: Sequence[Thread]) -> tuple[int | None, int, tuple[int, int] | None]:
    """The thread that shares the longest beginning: its place, how much is shared, and the turn where the two part, or
    ``None`` when the whole thread is shared."""
    best: tuple[int | None, int, tuple[int, int] | None] = (None, 0, None)
    for place in range(len(threads)):
        path = [(owner, _key(turn)) for owner, turn in walk_path(place, threads) if _is_compared(turn)]
        shared = 0
        while shared < min(len(path), len(keys)) and path[shared][1] == keys[shared]:
            shared += 1
        if shared > best[1]:
            best = (place, shared, None if shared == len(path) else path[shared - 1][0])
    return best


def walk_path(place: int, threads: Sequence[Thread]) -> list[tuple[tuple[int, int], ReadTurn]]:
    """All turns of a thread, with the beginning that it shares, each after the thread and the position where it stands."""
    thread = threads[place]
    own = [((place, position), turn) for position, turn in enumerate(thread.turns, 1)]
    if thread.hangs_on is None or thread.relation != "branch":
        return own
    above, position = thread.hangs_on
    before = walk_path(above, threads)
    return [each for each in before if each[0][0] != above or each[0][1] <= position] + own


def _rest(told: list[ReadTurn], compared: Sequence[tuple[int, object]], shared: int) -> list[ReadTurn]:
    """What stands behind the last turn that is shared."""
    return told[compared[shared - 1][0] + 1 :]


def _is_compared(turn: ReadTurn) -> bool:
    return turn.role != "system" and turn.channel != "reasoning"


def _key(turn: ReadTurn) -> object:
    if turn.channel == "tool_call":
        return turn.channel, turn.speaker, json.dumps(read_json_text(turn.text), sort_keys=True)
    return turn.role, turn.channel, turn.text.strip()


def name_threads(threads: Sequence[Thread], *, common: ReadInterview) -> list[ReadInterview]:
    """The threads as interviews: the first has the id and title of ``common``, the others those with a number behind, or
    with the thread's own name."""
    ids = [common.external_id]
    for number, thread in enumerate(threads[1:], 2):
        behind = thread.name or f"{thread.relation or 'thread'}-{number}"
        ids.append(f"{common.external_id[:150]}/{behind}"[:200])
    named = []
    for place, thread in enumerate(threads):
        behind = ids[place].removeprefix(common.external_id[:150]).removeprefix("/") if place else ""
        named.append(
            replace(
                common,
                external_id=ids[place],
                title=f"{common.title[:250]} ({behind})"[:300] if behind else common.title,
                turns=tuple(thread.turns),
                relation=thread.relation,
                hangs_on=(ids[thread.hangs_on[0]], thread.hangs_on[1]) if thread.hangs_on else None,
            )
        )
    return named


def find_models(turns: Iterable[ReadTurn]) -> str:
    """The models that answered, in the order in which they did."""
    named: Iterable[Any] = (turn.details.get("model") for turn in turns)
    return ", ".join(dict.fromkeys(name for name in named if name))[:200]


def find_kind(turns: Iterable[ReadTurn]) -> str:
    """A trajectory where the model used tools, else an interview."""
    return "trajectory" if any(turn.channel == "tool_call" for turn in turns) else "interview"


def find_stage(role: str, channel: str) -> str | None:
    """Where something took place: "front" is what the model says, "back" what it reasons, "tool" calls and results."""
    return _STAGES.get(channel) or ("front" if role == "model" else None)
