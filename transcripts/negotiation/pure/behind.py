"""The turns behind a number of a report: which of a coder's codings, episodes or threads it counts. Knows nothing of Django."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from transcripts.negotiation.pure.episodes import UNWARRANTED, list_episodes
from transcripts.negotiation.pure.intents import list_meant
from transcripts.negotiation.pure.ledger import ASSUMED, ThreadLedger, read_ledger
from transcripts.negotiation.pure.links import list_acted_on, list_moves
from transcripts.negotiation.pure.pairing import list_pairs
from transcripts.negotiation.pure.records import FEATURES, MOVES, Coding
from transcripts.negotiation.pure.sequences import NOT_STATED
from transcripts.negotiation.pure.study import ALL_STAGES, ENACTED, FRONT, Study, Work


class Behind(NamedTuple):
    """A turn that a number counts; ``turn`` is ``None`` where it counts the whole thread. ``codes``: what is coded there;
    ``words``: what else is to be said of it. ``coding``: the id of the coding, where there is one."""

    thread: str
    turn: int | None
    codes: tuple[str, ...] = ()
    words: str = ""
    coding: str = ""


def find_behind(
    study: Study,
    work: Work,
    figure: str,
    keys: Sequence[str],
    *,
    stages: Collection[str],
    outcomes: Collection[str] = (),
) -> list[Behind]:
    """What stands behind the number ``keys`` of a ``figure``, by thread and turn; empty for a number that there is not."""
    finders = {
        "presence": lambda: _of_presence(study, work, keys),
        "transitions": lambda: _of_transitions(study, work, keys, stages),
        "episodes": lambda: _of_episodes(study, work, keys, stages),
        "pressure": lambda: _of_pressure(study, work, keys, stages),
        "intents": lambda: _of_intents(study, work, keys),
        "ledger": lambda: _of_ledger(study, work, keys),
        "links": lambda: _of_links(study, work, keys, stages),
        "pairs": lambda: _of_pairs(study, work, keys, outcomes, ALL_STAGES if stages == ALL_STAGES else {FRONT}),
        "agreement": lambda: _of_agreement(study, keys),
    }
    finder = finders.get(figure)
    found = list(finder()) if finder and keys else []
    return sorted(found, key=lambda each: (each.thread, each.turn or 0))


def _show(coding: Coding, words: str = "") -> Behind:
    return Behind(coding.thread, coding.turn, (coding.code,), words or coding.enactment, coding.id)


def _of_presence(study: Study, work: Work, keys: Sequence[str]) -> Iterator[Behind]:
    """Keys: a move; with an enactment and a stage of that number alone, without them of what is enacted."""
    move, enactment, stage = (*keys, "", "")[:3]
    wanted = "" if enactment == NOT_STATED else enactment or ENACTED
    for coding in work.iterate(MOVES):
        where = study.find_stage(coding)
        if coding.code == move and coding.enactment == wanted and where and stage in {"", where}:
            yield _show(coding)


def _of_transitions(study: Study, work: Work, keys: Sequence[str], stages: Collection[str]) -> Iterator[Behind]:
    """Keys: the move that a step leaves and the one that it arrives at."""
    here, there = (*keys, "")[:2]
    for thread in study.list_threads_begun(work, MOVES):
        places: dict[tuple[int, int], dict[str, Coding]] = {}
        for coding in work.list_codings(MOVES, thread):
            if coding.enactment == ENACTED and study.find_stage(coding) in stages:
                places.setdefault((coding.turn, coding.start), {})[coding.code] = coding
        for left, right in pairwise(places.values()):
            if here in left and there in right:
                share = 1 / (len(left) * len(right))
                words = f"then in turn {right[there].turn}" + (f"; counts as {share:.2f}" if share < 1 else "")
                yield Behind(thread, left[here].turn, (here, there), words, left[here].id)


def _of_episodes(study: Study, work: Work, keys: Sequence[str], stages: Collection[str]) -> Iterator[Behind]:
    """Keys: a kind of challenge, and an outcome or "explained"."""
    kind, outcome = (*keys, "")[:2]
    for each in list_episodes(study, work, stages):
        is_meant = each.is_explained if outcome == "explained" else outcome in {"", each.outcome}
        if each.kind == kind and is_meant:
            yield Behind(each.thread, each.turn, (f"challenge.{kind}",), each.outcome)


def _of_pressure(study: Study, work: Work, keys: Sequence[str], stages: Collection[str]) -> Iterator[Behind]:
    """Key: a thread."""
    for each in list_episodes(study, work, stages):
        if each.thread == keys[0] and each.kind == UNWARRANTED:
            yield Behind(each.thread, each.turn, (f"challenge.{each.kind}",), each.outcome)


def _of_intents(study: Study, work: Work, keys: Sequence[str]) -> Iterator[Behind]:
    """Keys: the kind of challenge that was intended and the one that was coded; of one that is "", turns that the other alone
    names."""
    intended, coded = (*keys, "")[:2]
    for each in list_meant(study, work):
        if each.intended == intended and each.coded == ((coded,) if coded else ()):
            codes = tuple(f"challenge.{kind}" for kind in each.coded)
            yield Behind(each.thread, each.turn, codes, f"meant: {each.intended.replace('_', ' ')}")


def _of_ledger(study: Study, work: Work, keys: Sequence[str]) -> Iterator[Behind]:
    """Key: a share of the ledger, or with "_of" behind it what that is a share of."""
    for thread in study.list_threads_read(work, FEATURES):
        yield from _of_thread_ledger(study, thread, read_ledger(study, work, thread), keys[0])


def _of_thread_ledger(study: Study, thread: str, ledger: ThreadLedger, key: str) -> Iterator[Behind]:
    sheet = study.threads[thread]
    if key.removesuffix("_of") in {"coverage", "over_raising"}:
        features = sheet.relevant if key.startswith("coverage") else sheet.irrelevant
        for feature in features:
            track = ledger.conduct.get(feature)
            turn = track.first_raised if track else None
            is_assumed = track is not None and any(entry.status == ASSUMED for entry in track.entries)
            if turn is not None or key.endswith("_of"):
                words = "raised" if turn is not None else "silently assumed" if is_assumed else "not raised"
                yield Behind(thread, turn, (feature,), words)
    elif key.removesuffix("_of") == "disclosure":
        for feature, track in ledger.back.items():
            if track.first_raised is None:
                continue
            conduct = ledger.conduct.get(feature)
            is_disclosed = conduct is not None and conduct.is_raised_from(track.first_raised)
            if is_disclosed or key.endswith("_of"):
                words = "raised in its conduct too" if is_disclosed else "in its reasoning alone"
                yield Behind(thread, track.first_raised, (feature,), words)
    elif key in {"elicit_first", "elicit_first_of"}:
        yield from _of_asking(thread, ledger, key)


def _of_asking(thread: str, ledger: ThreadLedger, key: str) -> Iterator[Behind]:
    if ledger.elicit_first or (ledger.elicit_first is False and key.endswith("_of")):
        yield Behind(thread, None, (), "asks first" if ledger.elicit_first else "commits first")


def _of_links(study: Study, work: Work, keys: Sequence[str], stages: Collection[str]) -> Iterator[Behind]:
    """Keys: a move and a feature."""
    move, feature = (*keys, "")[:2]
    for coding in list_moves(study, work, stages):
        if coding.code == move:
            for each in list_acted_on(study, work, coding):
                if each.feature == feature:
                    words = "" if each.has_entry else "the feature has no entry yet"
                    yield Behind(coding.thread, coding.turn, (move, feature), words, coding.id)


def _of_pairs(
    study: Study, work: Work, keys: Sequence[str], outcomes: Collection[str], stages: Collection[str]
) -> Iterator[Behind]:
    """Keys: what is expected, and a cell."""
    expect, sides = (*keys, "")[:2]
    for each in list_pairs(study, work, outcomes, stages):
        if each.pair.expect == expect and sides in {"", each.sides}:
            for number, thread in enumerate((each.pair.a, each.pair.b)):
                shows = each.sides == "both" or each.sides == ("a_only", "b_only")[number]
                yield Behind(
                    thread, None, (), f"pair {each.pair.name}: the outcome {'shows' if shows else 'does not show'}"
                )


def _of_agreement(study: Study, keys: Sequence[str]) -> Iterator[Behind]:
    """Keys: two coders. The entries that both made, with the status that each gave."""
    a, b = (*keys, "")[:2]
    if a not in study.work or b not in study.work:
        return
    entries: list[dict[tuple[str, int, str], Coding]] = []
    for coder in (a, b):
        codings = study.work[coder].iterate(FEATURES)
        entries.append({(each.thread, each.turn, each.code): each for each in codings if each.attributes.get("status")})
    for place, coding in entries[0].items():
        other = entries[1].get(place)
        if other is not None and study.find_stage(coding) not in {None, "back"}:
            words = f"{a}: {coding.attributes['status']}; {b}: {other.attributes['status']}"
            yield Behind(coding.thread, coding.turn, (coding.code,), words, coding.id)
