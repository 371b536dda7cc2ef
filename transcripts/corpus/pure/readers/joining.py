"""Threads of several files that belong together: runs that a session started, and what goes on in a file of its own.

A log names another run by its file or by an id (`Start`), or says whose run it is itself (`Links.within`). Files that are
imported together are joined here: the thread then hangs on the turn of the other file as it would in one file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from transcripts.corpus.pure.readers.base import ReadFile, ReadInterview, ReadTurn, Start
from transcripts.corpus.pure.readers.details import list_left_out

Hung = dict[str, tuple[str, tuple[str, int]]]
"""By the id of a thread its relation, and the thread and the position that it hangs on."""


def join_files(files: Sequence[tuple[str, ReadFile]]) -> list[tuple[ReadFile, Hung]]:
    """The files, given with their names, without the warnings that no longer apply; and for each what of it hangs on a thread of
    another. Files whose runs have one id and differ get ids of their own."""
    named = _distinguish(files)
    hung: list[Hung] = [{} for _ in named]
    joined: list[Counter[str]] = [Counter() for _ in named]
    for place, (_, file) in enumerate(named):
        for thread in file.interviews:
            for start in thread.links.starts:
                found = _find_named(start, thread, place, named)
                if found is None or _leads_back(thread.external_id, found[1].external_id, named, hung):
                    continue
                other, run = found
                if not run.relation and run.external_id not in hung[other]:
                    hung[other][run.external_id] = (start.relation, (thread.external_id, start.position))
                    joined[other][run.links.told] += 1
                joined[place][start.told] += 1
    for place, (_, file) in enumerate(named):
        for run in file.interviews:
            if not run.links.within or run.external_id in hung[place]:
                continue
            above = _list_session(run.links.within, place, named)
            start_of = find_call(run.links.words, ((each.external_id, each.turns) for each in above))
            if start_of and not _leads_back(start_of[0], run.external_id, named, hung):
                hung[place][run.external_id] = ("subagent", start_of)
                joined[place][run.links.told] += 1
    return [(drop_told(file, told), own) for (_, file), told, own in zip(named, joined, hung, strict=True)]


def find_call(words: str, threads: Iterable[tuple[str, Sequence[ReadTurn]]]) -> tuple[str, int] | None:
    """The call whose arguments have the first words of a run: its thread and position. Else the last call of the first
    thread that has calls, else the end of the first thread; ``None`` without threads."""
    last: tuple[str, int] | None = None
    end: tuple[str, int] | None = None
    for thread, turns in threads:
        end = end or (thread, len(turns))
        calls = [(thread, at) for at, turn in enumerate(turns, 1) if turn.channel == "tool_call"]
        for _, at in calls:
            if words and words[:200] in turns[at - 1].text.replace("\\n", "\n"):
                return thread, at
        last = last or (calls[-1] if calls else None)
    return last or end


def _distinguish(files: Sequence[tuple[str, ReadFile]]) -> list[tuple[str, ReadFile]]:
    """The files; where the run of one has the id of another's run and differs, the name of its file is added to its ids."""
    seen: dict[str, ReadInterview] = {}
    named = []
    for name, file in files:
        first = file.interviews[0] if file.interviews else None
        if first and first.links.ids and seen.setdefault(first.external_id, first).turns != first.turns:
            old = first.external_id
            stem = name.rpartition("/")[2].removesuffix(".json")
            new = f"{old[:130]}/{stem}"[:200]
            named.append((name, replace(file, interviews=[_rename(each, old, new) for each in file.interviews])))
        else:
            named.append((name, file))
    return named


def _rename(thread: ReadInterview, old: str, new: str) -> ReadInterview:
    def change(given: str) -> str:
        return new + given[len(old) :] if given == old or given.startswith(f"{old}/") else given

    hangs_on = (change(thread.hangs_on[0]), thread.hangs_on[1]) if thread.hangs_on else None
    return replace(
        thread, external_id=change(thread.external_id)[:200], title=change(thread.title)[:300], hangs_on=hangs_on
    )


def _find_named(
    start: Start, thread: ReadInterview, place: int, files: Sequence[tuple[str, ReadFile]]
) -> tuple[int, ReadInterview] | None:
    """The run that a turn names, by an id or by the name of its file; ``None`` where none or several can be meant."""
    by_id: list[tuple[int, ReadInterview]] = []
    by_file: list[tuple[int, ReadInterview]] = []
    for other, (name, file) in enumerate(files):
        if other == place:
            continue
        for run in file.interviews:
            is_within = run.links.within in {"", thread.external_id.partition("/")[0], thread.external_id}
            if is_within and not run.relation and {run.external_id, *run.links.ids} & set(start.names):
                by_id.append((other, run))
        if file.interviews and name.rpartition("/")[2] in start.names:
            by_file.append((other, file.interviews[0]))
    folder = files[place][0].rpartition("/")[0]
    beside = [each for each in by_file if files[each[0]][0].rpartition("/")[0] == folder]
    alike = [each for each in by_file if each[1].external_id.startswith(thread.external_id)]
    return next((found[0] for found in (by_id, by_file, beside, alike) if len(found) == 1), None)


def _list_session(session: str, place: int, files: Sequence[tuple[str, ReadFile]]) -> Iterator[ReadInterview]:
    """The threads of a session that are in other files, the session itself first."""
    threads = [
        thread
        for other, (_, file) in enumerate(files)
        for thread in file.interviews
        if other != place and (thread.external_id == session or thread.external_id.startswith(f"{session}/"))
    ]
    yield from sorted(threads, key=lambda thread: thread.external_id != session)


def _leads_back(above: str, run: str, files: Sequence[tuple[str, ReadFile]], hung: Sequence[Hung]) -> bool:
    """Whether a thread hangs, in the end, on the run that is to hang on it."""
    parents = {
        thread.external_id: thread.hangs_on[0] for _, file in files for thread in file.interviews if thread.hangs_on
    }
    parents |= {thread: where[0] for own in hung for thread, (_, where) in own.items()}
    seen: set[str] = set()
    while above not in seen:
        if above == run:
            return True
        seen.add(above)
        above = parents.get(above, above)
    return False


def drop_told(file: ReadFile, joined: Counter[str]) -> ReadFile:
    """The file without the warnings that joining has answered, as often as each was."""
    left_out = Counter(file.left_out) - joined
    return replace(file, left_out=left_out, warnings=list_left_out(left_out)) if joined else file
