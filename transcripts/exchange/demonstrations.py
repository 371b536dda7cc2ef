"""The export of threads as examples for training: what people settled of them, under which normative stance, with which
scores; and which of two threads people scored higher."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from transcripts.coding.models import Coding
from transcripts.corpus.models import Consent, Interview, Relation, Turn
from transcripts.corpus.queries import list_consenting, list_scopes
from transcripts.exchange.registry import Scope
from transcripts.exchange.settled import ADJUDICATED, AGREED, Settled, SettledCoding, read_settled
from transcripts.formats.interviews.threads import find_stage
from transcripts.formats.tabular import encode_json
from transcripts.negotiation.models import Score
from transcripts.negotiation.pure.records import CRITERIA, FAMILIES_OF_NEGOTIATION
from transcripts.negotiation.queries.codes import read_code_book

Given = Mapping[tuple[str, str], int]
"""The values of a thread, by criterion and coder."""
Line = dict[str, Any]


class Preference(NamedTuple):
    """``sign``: 1 where the first thread is preferred, -1 where the second is, 0 where neither is. ``means``: by criterion, of
    the first and of the second."""

    sign: int
    means: dict[str, tuple[float, float]]


def find_preference(first: Given, second: Given) -> Preference | None:
    """Compare two threads by the people who scored both on a criterion; ``None`` where they gave nothing different.

    A thread is preferred if its mean is higher on a criterion, and lower on none. Criteria are never added up: nobody said what
    one weighs against another.
    """
    both: dict[str, list[tuple[int, int]]] = {}
    for key in sorted(first.keys() & second.keys()):
        both.setdefault(key[0], []).append((first[key], second[key]))
    means = {
        criterion: (fmean(one for one, _ in given), fmean(other for _, other in given))
        for criterion, given in both.items()
    }
    signs = {(one > other) - (one < other) for one, other in means.values()} - {0}
    if not signs:
        return None
    return Preference(signs.pop() if len(signs) == 1 else 0, means)


class NoDemonstrations(Exception):
    """A sentence for the person who asked."""


def write_demonstrations(scope: Scope, path: Path) -> int:
    """Write the records; returns how many. Raises ``NoDemonstrations`` for one person's rows, which there are none of.

    JSON lines, each with ``record``: first what is in the file and what is left out, then the normative stances, every thread
    with its turns, and preferences between two threads. Only threads with consent to reuse are in it, and of codings only blind
    ones of people on which coders agree or that were adjudicated; machines' labels are never read.
    """
    if scope.only is not None:
        raise NoDemonstrations(
            "Demonstrations hold what coders settled together, so there are no rows of one person. Take all rows."
        )
    with path.open("w", encoding="utf-8", newline="\n") as file:
        written = 0
        for line in _list_records(scope):
            file.write(encode_json(line) + "\n")
            written += 1
            scope.watch(written, 0)
    return written


def find_threads(scope: Scope) -> set[int]:
    """The threads that people coded for negotiation, or scored."""
    book = read_code_book(scope.project)
    codes = [pk for pk, row in book.rows.items() if row.family in FAMILIES_OF_NEGOTIATION]
    interviews = scope.project.interviews.filter(scope.within()).order_by()
    coded = Coding.objects.blind().filter(code__in=codes, sentence__turn__interview__in=interviews.values("pk"))
    scored = Score.objects.blind().filter(interview__in=interviews.values("pk"))
    return {
        *coded.order_by().values_list("sentence__turn__interview", flat=True).distinct(),
        *scored.order_by().values_list("interview", flat=True).distinct(),
    }


def _list_records(scope: Scope) -> Iterator[Line]:
    found = find_threads(scope)
    allowed = list_consenting(found, Consent.Scope.REUSE)
    settled = read_settled(scope.project, allowed)
    interviews = [
        each
        for each in Interview.objects.filter(pk__in=allowed).select_related("hangs_on__interview").order_by("pk")
        if settled.has(each.external_id)
    ]
    names = {each.external_id for each in interviews}
    preferences = list(_list_preferences(settled, interviews, names))
    made = [each for each in preferences if each["chosen"]]
    yield {
        "record": "demonstrations",
        "project": scope.project.slug,
        "threads": len(interviews),
        "preferences": len(made),
        "left_out": {
            "threads_without_consent": len(found) - len(allowed),
            "threads_without_anything_settled": len(allowed) - len(interviews),
            "comparisons_without_order": len(preferences) - len(made),
        },
    }
    stances = settled.study.records.stances
    used = {score.stance for score in settled.study.records.scores if score.thread in names}
    yield from ({"record": "stance", **stances[label]} for label in sorted(used))
    for interview in interviews:
        yield _describe_thread(interview, settled, names)
    yield from made


def _describe_thread(interview: Interview, settled: Settled, names: set[str]) -> Line:
    thread, turn = interview.external_id, interview.hangs_on
    hangs_on = None
    if turn is not None and turn.interview.external_id in names:
        hangs_on = {"thread": turn.interview.external_id, "turn": turn.position}
    return {
        "record": "thread",
        "thread": thread,
        "title": interview.title,
        "kind": interview.kind,
        "relation": interview.relation,
        "hangs_on": hangs_on,
        "beginning_left_out": turn is not None and hangs_on is None,
        "model": interview.model_label,
        "consent": _describe_consent(interview),
        "not_settled": settled.open_units[thread],
        "turns": [_describe_turn(thread, each, settled) for each in interview.turns.order_by("position")],
        "episodes": [
            {
                "turn": each.turn,
                "kind": each.kind,
                "outcome": each.outcome,
                "answers": list(each.answers),
                "explained": each.is_explained,
            }
            for each in settled.episodes
            if each.thread == thread
        ],
        "scores": [
            {
                "stance": each.stance,
                "criterion": each.criterion,
                "value": each.value,
                "turn": each.turn,
                "feature": each.feature,
                "coder": each.coder,
            }
            for each in settled.study.records.scores
            if each.thread == thread
        ],
    }


def _describe_consent(interview: Interview) -> Line:
    """What holds in each scope, and the basis of the latest record: for reuse, what a licence is."""
    bases = dict(interview.consents.order_by("pk").values_list("scope", "basis"))
    return {
        each["scope"]: {"state": each["state"], "basis": bases.get(each["scope"], "")}
        for each in list_scopes(interview)
    }


def _describe_turn(thread: str, turn: Turn, settled: Settled) -> Line:
    return {
        "position": turn.position,
        "role": turn.role,
        "channel": turn.channel,
        "stage": find_stage(turn.role, turn.channel),
        "speaker": turn.speaker,
        "text": turn.text,
        "codings": [_describe_coding(each) for each in settled.list_at(thread, turn.position)],
    }


def _describe_coding(settled: SettledCoding) -> Line:
    coding = settled.coding
    return {
        "family": coding.family,
        "code": coding.code,
        "settled": ADJUDICATED if settled.is_adjudicated else AGREED,
        "sentence_id": settled.sentence,
        "start": coding.start,
        "enactment": coding.enactment,
        "status": coding.attributes.get("status", ""),
        "attributes": dict(coding.attributes),
        "links": [{"kind": each.kind, "feature": each.code, "turn": each.turn} for each in settled.links],
    }


class _Compared(NamedTuple):
    """Two threads that can be preferred one to the other, and why."""

    a: str
    b: str
    because: Line


def _list_preferences(settled: Settled, interviews: Sequence[Interview], names: set[str]) -> Iterator[Line]:
    """Every comparison of two threads that the same people scored differently under one normative stance; without an order
    between them ``chosen`` is empty."""
    values: dict[tuple[str, str], dict[tuple[str, str], int]] = defaultdict(dict)
    for score in settled.study.records.scores:
        if score.criterion in CRITERIA and score.value is not None:
            values[score.stance, score.thread][score.criterion, score.coder] = score.value
    stances = sorted({stance for stance, _ in values})
    for a, b, because in _list_compared(settled, interviews, names):
        for stance in stances:
            found = find_preference(values.get((stance, a), {}), values.get((stance, b), {}))
            if found is not None:
                chosen, rejected = ("", "") if not found.sign else (a, b) if found.sign > 0 else (b, a)
                yield {
                    "record": "preference",
                    "stance": stance,
                    "chosen": chosen,
                    "rejected": rejected,
                    **because,
                    "criteria": {
                        name: {"chosen": max(means) if found.sign else means[0], "rejected": min(means)}
                        for name, means in found.means.items()
                    },
                }


def _list_compared(settled: Settled, interviews: Sequence[Interview], names: set[str]) -> Iterator[_Compared]:
    """The threads of each pair, and those that part at one turn: its branches, and the thread itself where it goes on."""
    for pair in settled.study.records.pairs:
        if {pair.a, pair.b} <= names:
            yield _Compared(pair.a, pair.b, {"pair": pair.name, "parts_at": None})
    for (parent, position), threads in sorted(_group_branches(interviews).items()):
        goes_on = parent in names and any(turn.position > position for turn in settled.study.turns[parent])
        members = [parent, *threads] if goes_on else threads
        for place, a in enumerate(members):
            for b in members[place + 1 :]:
                yield _Compared(a, b, {"pair": "", "parts_at": {"thread": parent, "turn": position}})


def _group_branches(interviews: Iterable[Interview]) -> Mapping[tuple[str, int], list[str]]:
    grouped: dict[tuple[str, int], list[str]] = defaultdict(list)
    for each in interviews:
        if each.relation == Relation.BRANCH and each.hangs_on is not None:
            grouped[each.hangs_on.interview.external_id, each.hangs_on.position].append(each.external_id)
    return grouped
