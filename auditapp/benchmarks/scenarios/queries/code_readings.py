"""The outcomes of cases that name a code: what people read in their threads."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from auditapp.benchmarks.scenarios.models import Script
from auditapp.benchmarks.scenarios.pure.outcomes import (
    BASES,
    UNREAD,
    ThreadReading,
    UnitReading,
    read_expected,
    read_thread,
)
from transcripts.accounts.models import User
from transcripts.agreement.models import Adjudication
from transcripts.agreement.queries import Selection, find_active, list_families
from transcripts.codebook.models import Code, CodeFamily
from transcripts.corpus.models import Sentence, Turn
from transcripts.refusals import Refused
from transcripts.studies.models import Study

if TYPE_CHECKING:
    from transcripts.coding.blind import BlindTable

THREADS_AT_A_TIME = 500
SETTLING = (Adjudication.Outcome.ONE, Adjudication.Outcome.NEITHER)


class CodeReadings(NamedTuple):
    """``outcomes``: by thread, whether its code holds; those without one are missing. ``counts``: how many threads have an
    outcome, or none, on which basis (``pure.readings.BASES``). ``coders``: who has decided something there blind, and in how many
    threads. ``unknown``: codes that the codebook of the study does not have."""

    outcomes: dict[int, bool]
    counts: dict[str, int]
    coders: dict[str, int]
    unknown: list[str]


def read_codes(study: Study, wanted: Mapping[int, str], *, coder: str = "") -> CodeReadings:
    """The outcomes of threads, each with the code that is looked for in it.

    Blind readings of people count, and what was adjudicated for one reading or another; of one ``coder`` her readings alone.
    Raises ``Refused`` for a coder who has decided nothing there.
    """
    families = _find_families(study, set(wanted.values()))
    of: dict[str, list[int]] = defaultdict(list)
    for thread, code in wanted.items():
        of[code].append(thread)
    found: dict[int, ThreadReading] = dict.fromkeys(wanted, ThreadReading(None, UNREAD))
    readers: Counter[int] = Counter()
    names = dict(User.objects.filter(username=coder).values_list("pk", "username")) if coder else {}
    for code, threads in of.items():
        if code in families:
            for first in range(0, len(threads), THREADS_AT_A_TIME):
                some = threads[first : first + THREADS_AT_A_TIME]
                found |= _read_code(study, families[code], code, some, coders=names if coder else None, seen=readers)
    coders = dict(User.objects.filter(pk__in=readers).values_list("pk", "username"))
    by_name = {coders[pk]: count for pk, count in readers.items()}
    if coder and coder not in by_name:
        raise Refused(
            f"{coder} has coded none of the threads of cases that name a code. Coders who have: "
            f"{', '.join(sorted(by_name)) or 'nobody'}.",
            field="coder",
        )
    counts = Counter(each.basis for each in found.values())
    return CodeReadings(
        {thread: each.holds for thread, each in found.items() if each.holds is not None},
        {basis: counts[basis] for basis in BASES},
        dict(sorted(by_name.items(), key=lambda each: (-each[1], each[0]))),
        sorted(set(of) - set(families)),
    )


def find_unknown_codes(study: Study, scripts: Iterable[Script]) -> list[str]:
    """The codes that cases name as their expected answer and the codebook, as it is now, does not have."""
    named = {read_expected(script.case["answer"]).code for script in scripts if "answer" in script.case} - {""}
    return sorted(named - set(_find_families(study, named))) if named else []


def _find_families(study: Study, codes: Collection[str]) -> dict[str, CodeFamily]:
    """The families of those of these codes that the codebook has, as it is now. Two queries."""
    families = {family.pk: family for family in list_families(study)}
    rows = Code.objects.filter(family__in=families, identifier__in=codes)
    return {code: families[family] for code, family in rows.values_list("identifier", "family")}


def _read_code(
    study: Study,
    family: CodeFamily,
    code: str,
    threads: Sequence[int],
    *,
    coders: Collection[int] | None,
    seen: Counter[int],
) -> dict[int, ThreadReading]:
    """What holds of a code in these threads, by all coders or by these alone. Counts in ``seen`` who has decided something."""
    from transcripts.agreement.label_tables import read_table

    table = read_table(study, Selection(family), interviews=threads)
    for row, coder in enumerate(table.coders):
        seen[coder] += len(set(table.interview_ids[table.decided[row]].tolist()))
    decisions = {} if coders is not None else find_active(study, family.identifier)
    needed = _find_needed(family, threads)
    units: dict[int, list[UnitReading]] = {thread: [] for thread in threads}
    for thread, unit in _list_units(table, code, decisions, coders, needed):
        units[thread].append(unit)
    return {thread: read_thread(own) for thread, own in units.items()}


def _list_units(
    table: BlindTable,
    code: str,
    decisions: Mapping[int, Adjudication],
    coders: Collection[int] | None,
    needed: Collection[int],
) -> Iterator[tuple[int, UnitReading]]:
    """The units of a table with their threads, as far as they say something of the code or have to."""
    rows = [row for row, coder in enumerate(table.coders) if coders is None or coder in coders]
    labels, decided = table.labels[table.codes.index(code)][rows], table.decided[rows]
    for place, (sentence, thread) in enumerate(
        zip(table.sentence_ids.tolist(), table.interview_ids.tolist(), strict=True)
    ):
        decision = decisions.get(sentence)
        holds = code in decision.codes if decision is not None and decision.outcome in SETTLING else None
        readings = labels[:, place][decided[:, place]].tolist()
        yield thread, UnitReading(readings, holds, sentence in needed)


def _find_needed(family: CodeFamily, threads: Sequence[int]) -> set[int]:
    """The sentences whose units have to be decided before a thread counts as read: those that the family is for, of the turns that
    coders are asked to decide."""
    sentences = Sentence.objects.current().filter(turn__interview__in=threads)
    if family.unit == CodeFamily.Unit.INTERVIEW:
        return set(sentences.values_list("pk", flat=True))
    if family.applies_to == CodeFamily.AppliesTo.INTERVIEWER:
        return set(sentences.filter(turn__role=Turn.Role.INTERVIEWER).values_list("pk", flat=True))
    return set(sentences.filter(turn__is_answer=True).values_list("pk", flat=True))
