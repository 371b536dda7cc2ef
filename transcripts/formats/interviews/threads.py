"""Makes linear threads from messages that form a tree, or from calls that repeat the earlier conversation.

Also joins threads of several files that belong together: runs that a session started, and continuations in separate files.

A log names another run by its file or an id (`Start`), or names the session to which it belongs (`Links.within`). Files that
are imported together are joined here: the thread then continues from the turn of the other file as it would in one file. There
may be many large files, so only an outline of each is in memory.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from transcripts.formats.interviews.base import Links, ReadFile, ReadInterview, ReadTurn, Start, list_left_out
from transcripts.formats.interviews.chat_content import read_json_text

_STAGES = {"reasoning": "back", "tool_call": "tool", "tool_result": "tool"}


@dataclass
class Thread:
    """A sequence of turns. ``hangs_on``: the place of the other thread in the list and the position, from 1, of its turn."""

    turns: list[ReadTurn] = field(default_factory=list)
    hangs_on: tuple[int, int] | None = None
    relation: str = ""
    name: str = ""


@dataclass(frozen=True)
class Node:
    """A message of a tree: its parent, and its turns, which may be none."""

    parent: str | None
    turns: tuple[ReadTurn, ...]


def divide_tree(nodes: Mapping[str, Node], *, current: str | None = None) -> list[Thread]:
    """The threads of a tree, whose nodes are given in the order of time: first the one that ends at ``current`` (without it, at
    the last leaf with words), then one for each other leaf, which continues from the last turn that it shares."""
    parents = {node.parent for node in nodes.values()}
    leaves = [key for key in nodes if key not in parents]
    if current not in nodes and nodes:
        current = _find_current(leaves or list(nodes), nodes)
    threads: list[Thread] = []
    # The end of each node that is in a thread: the thread's place and the number of its turns so far.
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
    """The last leaf with words on its path: a tree may have unconnected paths without words."""
    for leaf in reversed(leaves):
        if any(nodes[key].turns for key in _climb(leaf, nodes, {})[1]):
            return leaf
    return leaves[-1]


def _climb(leaf: str, nodes: Mapping[str, Node], ends: Mapping[str, object]) -> tuple[str | None, list[str]]:
    """The nearest ancestor that is in a thread, and the nodes from there down to the leaf. A circle ends where it began."""
    fresh: dict[str, None] = {}
    key: str | None = leaf
    while key is not None and key in nodes and key not in ends and key not in fresh:
        fresh[key] = None
        key = nodes[key].parent
    return (key if key in ends else None), list(reversed(fresh))


def _find_turn(end: tuple[int, int], threads: Sequence[Thread]) -> tuple[int, int] | None:
    """The turn from which a thread that begins after ``end`` continues; ``None`` if nothing was said before it."""
    place, position = end
    return (place, position) if position else threads[place].hangs_on


@dataclass(frozen=True)
class Call:
    """One call to a model in a trace: its input and its answer."""

    history: tuple[ReadTurn, ...]
    answer: tuple[ReadTurn, ...]
    # Whether its history may contain only new messages.
    may_be_delta: bool = False


def join_calls(calls: Iterable[Call]) -> tuple[list[Thread], int]:
    """The threads in the calls of one conversation, given in the order of their start, and the number of calls with nothing
    new.

    The part of a call that equals a thread is skipped, and the rest is appended. A shared beginning followed by other words
    gives a branch. A call that shares nothing begins a separate run, which continues from the present end of the first thread,
    unless it may contain only new messages. System instructions and reasoning are not compared, because many programs write the
    former again each time and do not send the latter back.
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
    """The turns with simultaneous calls placed before their results, as in a thread: some programs send each call back with its
    result after it."""
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
    """The thread that a call without history continues: the one that made the tool call it answers, or the first."""
    ids = {turn.call_id for turn in call.history if turn.call_id}
    made = (thread for thread in threads if ids & {turn.call_id for turn in thread.turns if turn.call_id})
    return next(made, threads[0])


def _find_nearest(keys: Sequence[object], threads: Sequence[Thread]) -> tuple[int | None, int, tuple[int, int] | None]:
    """The thread that shares the longest beginning: its place, how much is shared, and the turn where the two diverge, or ``None``
    if the whole thread is shared."""
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
    """All turns of a thread, including the beginning that it shares, each with its thread and its position there."""
    thread = threads[place]
    own = [((place, position), turn) for position, turn in enumerate(thread.turns, 1)]
    if thread.hangs_on is None or thread.relation != "branch":
        return own
    above, position = thread.hangs_on
    before = walk_path(above, threads)
    return [each for each in before if each[0][0] != above or each[0][1] <= position] + own


def _rest(told: list[ReadTurn], compared: Sequence[tuple[int, object]], shared: int) -> list[ReadTurn]:
    """The turns after the last shared one."""
    return told[compared[shared - 1][0] + 1 :]


def _is_compared(turn: ReadTurn) -> bool:
    return turn.role != "system" and turn.channel != "reasoning"


def _key(turn: ReadTurn) -> object:
    if turn.channel == "tool_call":
        return turn.channel, turn.speaker, json.dumps(read_json_text(turn.text), sort_keys=True)
    return turn.role, turn.channel, turn.text.strip()


def name_threads(threads: Sequence[Thread], *, common: ReadInterview) -> list[ReadInterview]:
    """The threads as interviews: the first has the id and title of ``common``, others add a number or the thread's name."""
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
    """The models that answered, in order."""
    named: Iterable[Any] = (turn.details.get("model") for turn in turns)
    return ", ".join(dict.fromkeys(name for name in named if name))[:200]


def find_kind(turns: Iterable[ReadTurn]) -> str:
    """A trajectory if the model used tools, otherwise an interview."""
    return "trajectory" if any(turn.channel == "tool_call" for turn in turns) else "interview"


def find_stage(role: str, channel: str) -> str | None:
    """The stage of a turn: "front" is what the model says, "back" its reasoning, "tool" calls and results."""
    return _STAGES.get(channel) or ("front" if role == "model" else None)


Hung = dict[str, tuple[str, tuple[str, int]]]
"""By the id of a thread, its relation, and the thread and position from which it continues."""
Where = tuple[int, int]
"""A file, by its place among the files, and a thread in it."""

T = TypeVar("T")
MATCHED = 200
"""The number of a run's first words that are searched in the calls of its session."""


class Outline(NamedTuple):
    """The data kept for a thread: its ``links`` with only the words that are matched, its number of turns, and the position of its
    last call, 0 without one."""

    external_id: str
    above: str
    relation: str
    links: Links
    turns: int
    last_call: int


@dataclass(frozen=True)
class FileOutline:
    """The data kept for a file. ``mark`` distinguishes the turns of the first thread from all others, if another file may name it;
    ``renamed`` is an id of the file and its replacement."""

    name: str
    threads: tuple[Outline, ...]
    mark: bytes = b""
    renamed: tuple[str, str] | None = None

    @property
    def folder_and_base(self) -> tuple[str, str]:
        folder, _, base = self.name.rpartition("/")
        return folder, base


@dataclass(frozen=True)
class Joined:
    """The result of joining a file: its threads that continue from threads of others, and the warnings that no longer apply."""

    outline: FileOutline
    hung: Hung = field(default_factory=dict)
    told: Counter[str] = field(default_factory=Counter)

    @property
    def loose(self) -> list[Outline]:
        """The runs whose session is in none of the files."""
        return [run for run in self.outline.threads if run.links.within and run.external_id not in self.hung]

    def apply(self, file: ReadFile) -> ReadFile:
        """The file as read, with its new ids and warnings."""
        if self.outline.renamed:
            file = replace(file, interviews=[_rename(each, *self.outline.renamed) for each in file.interviews])
        left_out = Counter(file.left_out) - self.told
        return replace(file, left_out=left_out, warnings=list_left_out(left_out)) if self.told else file


def outline_file(name: str, file: ReadFile) -> FileOutline:
    """The outline of a file that is needed to join it."""
    first = file.interviews[0] if file.interviews else None
    mark = _mark(first.turns) if first and first.links.ids else b""
    return FileOutline(name, tuple(map(_outline, file.interviews)), mark)


def _outline(thread: ReadInterview) -> Outline:
    last = next((at for at in range(len(thread.turns), 0, -1) if thread.turns[at - 1].channel == "tool_call"), 0)
    links = replace(thread.links, words=thread.links.words[:MATCHED])
    above = thread.hangs_on[0] if thread.hangs_on else ""
    return Outline(thread.external_id, above, thread.relation, links, len(thread.turns), last)


def _mark(turns: Iterable[ReadTurn]) -> bytes:
    digest = hashlib.sha256()
    for turn in turns:
        digest.update(repr(turn).encode("utf-8", "surrogatepass"))
    return digest.digest()


def join_files(files: Sequence[FileOutline], read: Callable[[int], Sequence[ReadInterview]]) -> list[Joined]:
    """The result of joining for each file. Different runs with the same id get separate ids. ``read`` returns the threads of the
    file at a place, which is needed to find the calls of a session that started its runs."""
    joined = [Joined(file) for file in _distinguish(files)]
    index = _Index([each.outline for each in joined])
    for place, own in enumerate(joined):
        for thread in own.outline.threads:
            for start in thread.links.starts:
                found = index.find_named(start, thread, place)
                if found is None:
                    continue
                other, run = joined[found[0]], index.get(found)
                if index.leads_back(thread.external_id, run.external_id):
                    continue
                if not run.relation and run.external_id not in other.hung:
                    other.hung[run.external_id] = (start.relation, (thread.external_id, start.position))
                    other.told[run.links.told] += 1
                    index.parents[run.external_id] = thread.external_id
                own.told[start.told] += 1
    _hang_runs(joined, index, read)
    return joined


def _hang_runs(joined: Sequence[Joined], index: _Index, read: Callable[[int], Sequence[ReadInterview]]) -> None:
    """Link runs that name their session to the calls of that session."""
    by_session: defaultdict[str, list[Where]] = defaultdict(list)
    loose: list[tuple[Where, Outline]] = []
    for place, own in enumerate(joined):
        for number, run in enumerate(own.outline.threads):
            if run.links.within and run.external_id not in own.hung:
                by_session[run.links.within].append((place, number))
                loose.append(((place, number), run))
    threads = index.list_sessions(by_session.keys())
    started: dict[Where, tuple[str, int]] = {}
    for session, runs in by_session.items():
        started.update(_find_starts(runs, threads[session], index, read))
    for where, run in loose:
        own, start = joined[where[0]], started.get(where)
        if start and run.external_id not in own.hung and not index.leads_back(start[0], run.external_id):
            own.hung[run.external_id] = ("subagent", start)
            own.told[run.links.told] += 1
            index.parents[run.external_id] = start[0]


def _find_starts(
    runs: Sequence[Where], threads: Sequence[Where], index: _Index, read: Callable[[int], Sequence[ReadInterview]]
) -> dict[Where, tuple[str, int]]:
    """For runs of one session, the calls of its ``threads`` in other files, by ``find_call``. Files are read only until the call
    of every run is found."""
    pending: defaultdict[str, list[Where]] = defaultdict(list)
    for run in runs:
        if words := index.get(run).links.words:
            pending[words].append(run)
    started: dict[Where, tuple[str, int]] = {}
    for place, group in groupby((each for each in threads if index.get(each).last_call), key=itemgetter(0)):
        if not pending:
            break
        file = read(place)
        for where in group:
            for position, text in _list_calls(file[where[1]].turns):
                for words in [words for words in pending if words in text]:
                    others = [run for run in pending[words] if run[0] != place]
                    started.update((run, (index.get(where).external_id, position)) for run in others)
                    pending[words] = [run for run in pending[words] if run[0] == place]
                    if not pending[words]:
                        del pending[words]
    with_calls = [each for each in threads if index.get(each).last_call]
    for run in runs:
        if run not in started:
            last = next((each for each in with_calls if each[0] != run[0]), None)
            first = next((each for each in threads if each[0] != run[0]), None)
            if found := last or first:
                thread = index.get(found)
                started[run] = thread.external_id, thread.last_call or thread.turns
    return started


def find_call(words: str, thread: str, turns: Sequence[ReadTurn]) -> tuple[str, int]:
    """The call of a thread whose arguments contain the first words of a run, or else its last call, or else its end."""
    calls = list(_list_calls(turns))
    matching = (at for at, text in calls if words and words[:MATCHED] in text)
    return thread, next(matching, calls[-1][0] if calls else len(turns))


def _list_calls(turns: Sequence[ReadTurn]) -> Iterator[tuple[int, str]]:
    """The position of each call and its arguments."""
    for at, turn in enumerate(turns, 1):
        if turn.channel == "tool_call":
            yield at, turn.text.replace("\\n", "\n")


def _distinguish(files: Iterable[FileOutline]) -> list[FileOutline]:
    """The files; if a run differs from another run with the same id, the name of its file is added to its ids."""
    seen: dict[str, bytes] = {}
    named = []
    for file in files:
        first = file.threads[0] if file.threads else None
        if first and first.links.ids and seen.setdefault(first.external_id, file.mark) != file.mark:
            old, new = first.external_id, f"{first.external_id[:130]}/{file.folder_and_base[1].removesuffix('.json')}"
            change = (old, new[:200])
            threads = tuple(
                each._replace(external_id=_change(each.external_id, *change)[:200], above=_change(each.above, *change))
                for each in file.threads
            )
            named.append(replace(file, threads=threads, renamed=change))
        else:
            named.append(file)
    return named


def _rename(thread: ReadInterview, old: str, new: str) -> ReadInterview:
    hangs_on = (_change(thread.hangs_on[0], old, new), thread.hangs_on[1]) if thread.hangs_on else None
    external_id, title = _change(thread.external_id, old, new)[:200], _change(thread.title, old, new)[:300]
    return replace(thread, external_id=external_id, title=title, hangs_on=hangs_on)


def _change(given: str, old: str, new: str) -> str:
    return new + given[len(old) :] if given == old or given.startswith(f"{old}/") else given


class _Index:
    """An index of the threads and files that others may name, and of which thread continues from which."""

    def __init__(self, files: Sequence[FileOutline]) -> None:
        self._files = files
        # Runs by a name and their session; files by their name, and also by their folder.
        self._by_id: defaultdict[tuple[str, str], list[Where]] = defaultdict(list)
        self._by_base: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        self._by_path: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self.parents: dict[str, str] = {}
        for place, file in enumerate(files):
            for number, run in enumerate(file.threads):
                if run.above:
                    self.parents[run.external_id] = run.above
                if not run.relation:
                    for name in {run.external_id, *run.links.ids}:
                        self._by_id[name, run.links.within].append((place, number))
            if file.threads:
                self._by_base[file.folder_and_base[1]].append((file.threads[0].external_id, place))
                self._by_path[file.folder_and_base].append(place)
        for alike in self._by_base.values():
            alike.sort()

    def get(self, where: Where) -> Outline:
        """The thread at a place."""
        return self._files[where[0]].threads[where[1]]

    def find_named(self, start: Start, thread: Outline, place: int) -> Where | None:
        """The run that a turn names, by an id or by the name of its file; ``None`` if there is no or more than one candidate."""
        names, own = set(start.names), thread.external_id
        within = {"", own.partition("/")[0], own}
        by_id = _find_only(
            where
            for name in names
            for each in within
            for where in self._by_id.get((name, each), ())
            if where[0] != place
        )
        if by_id is not None:
            return by_id
        folder = self._files[place].folder_and_base[0]
        found: Iterable[Iterable[int]] = (
            (other for name in names for _, other in self._by_base.get(name, ())),
            (other for name in names for other in self._by_path.get((folder, name), ())),
            (other for name in names for other in self._list_alike(name, own)),
        )
        only = (_find_only(other for other in others if other != place) for others in found)
        return next(((other, 0) for other in only if other is not None), None)

    def _list_alike(self, base: str, beginning: str) -> Iterator[int]:
        """The files of that name whose first thread's id begins so."""
        alike = self._by_base.get(base, [])
        for at in range(bisect_left(alike, (beginning,)), len(alike)):
            if not alike[at][0].startswith(beginning):
                break
            yield alike[at][1]

    def list_sessions(self, sessions: Iterable[str]) -> Mapping[str, list[Where]]:
        """The threads of each session, the session itself first."""
        found: dict[str, list[Where]] = {session: [] for session in sessions}
        if not found:
            return found
        for place, file in enumerate(self._files):
            for number, thread in enumerate(file.threads):
                external_id = thread.external_id
                cuts = [at for at, sign in enumerate(external_id) if sign == "/"]
                for session in {external_id[:at] for at in [*cuts, len(external_id)]} & found.keys():
                    found[session].append((place, number))
        return {session: sorted(threads, key=partial(self._is_other, session)) for session, threads in found.items()}

    def _is_other(self, session: str, where: Where) -> bool:
        return self.get(where).external_id != session

    def leads_back(self, above: str, run: str) -> bool:
        """Whether a thread itself continues, directly or not, from the run that is to be linked to it."""
        seen: set[str] = set()
        while above not in seen:
            if above == run:
                return True
            seen.add(above)
            above = self.parents.get(above, above)
        return False


def _find_only(found: Iterable[T]) -> T | None:
    """The only result, or nothing if there are several; no more is read than is needed to know that."""
    first: list[T] = []
    for each in found:
        if not first:
            first.append(each)
        elif each != first[0]:
            return None
    return first[0] if first else None
