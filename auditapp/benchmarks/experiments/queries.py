"""Experiments with their reports and samples."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import starmap
from typing import Any, NamedTuple

from auditapp.benchmarks.experiments.models import Experiment, SampledUnit
from auditapp.benchmarks.experiments.pure.effects import (
    NoSuchCoder,
    Tally,
    compare_moves,
    list_marks,
    report_experiment,
    tally_units,
    write_bounds,
    write_effect,
    write_interaction,
    write_loads,
    write_srm,
)
from auditapp.benchmarks.experiments.pure.plans import Plan, Unit, make_plan
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.blinding.viewers import Viewer
from transcripts.corpus.queries import find_threads
from transcripts.negotiation.pure.records import MOVES
from transcripts.negotiation.queries.records import Asked, read
from transcripts.refusals import Refused
from transcripts.statistics.figures import write_out_of
from transcripts.studies.models import Study

IDS_AT_A_TIME = 500

LOADED = "experiments.units.loaded"
"""The event of a file of units."""


class Sample(NamedTuple):
    """The sample of an experiment: its units in the order of the list, the thread of each unit as far as the study has it, and how
    many of these threads are masked."""

    units: list[SampledUnit]
    threads: dict[str, int]
    masked: int

    @property
    def found(self) -> int:
        """How many of the units have a thread in the study."""
        return len(self.threads)

    @property
    def is_open(self) -> bool:
        """Whether the arms of its units may be shown: threads of the sample were imported, and none of them is masked any more."""
        return bool(self.threads) and not self.masked


def read_stored_plan(experiment: Experiment) -> Plan:
    """The plan that was locked."""
    return make_plan(experiment.plan)


def list_experiments(study: Study) -> list[Experiment]:
    """The experiments of a study by name. One query."""
    return list(study.experiments.order_by("name"))


def read_report(experiment: Experiment, *, viewer: Viewer | None = None, coder: str = "") -> dict[str, Any]:
    """The report of an experiment (see ``effects.report_experiment``), with ``loads`` (see ``count_loads``) and the ``moves`` of
    the sample's threads, None if no sample was drawn (see ``read_moves``, also for ``viewer`` and ``coder``). Raises ``Refused``.
    """
    return {
        **report_experiment(read_tally(experiment), read_stored_plan(experiment)),
        "loads": count_loads(experiment),
        "moves": read_moves(experiment, viewer=viewer, coder=coder),
    }


def count_loads(experiment: Experiment) -> int:
    """How many files changed the units of an experiment, according to the audit trail. The differences could be read after
    each of them."""
    events = AuditEvent.objects.filter(
        stream=trail.study_stream(experiment.study_id), target=trail.describe_target(experiment), action=LOADED
    )
    return sum(bool(details["new"] or details["completed"]) for details in events.values_list("details", flat=True))


def read_moves(experiment: Experiment, *, viewer: Viewer | None = None, coder: str = "") -> dict[str, Any] | None:
    """The moves of the sample's threads by arm, as ``effects.compare_moves`` returns them; None if no sample was drawn.

    ``drawn`` is the number of units drawn, ``found`` the number of these whose thread the study has, and ``masked`` the number of
    masked threads among them. While any thread is masked, neither arms nor effects are shown, because with few threads in an arm
    the effects would reveal the arm of each. The moves are from the blind readings of ``coder``, as far as ``viewer`` may see them;
    without a viewer, all are used. Raises ``Refused`` for a coder who has read none of the threads.
    """
    sample = read_sample(experiment)
    if not sample.units:
        return None
    about = {"drawn": len(sample.units), "found": sample.found, "masked": sample.masked}
    if not sample.is_open:
        return {**about, "readers": {}, "coder": "", "read": {}, "effects": {}, "unused": 0}
    found = read(Asked(experiment.study, viewer, interviews=set(sample.threads.values())))
    arm_of_unit = {each.unit: each.arm for each in sample.units}
    arm_of_number = {number: arm_of_unit[unit] for unit, number in sample.threads.items()}
    names = {move: found.code_book.name(move) for move in found.code_book.list_codes(MOVES)}
    try:
        moves = compare_moves(
            found.records,
            read_stored_plan(experiment),
            arms={thread: arm_of_number[number] for thread, number in found.numbers.items()},
            names=names,
            coder=coder,
        )
    except NoSuchCoder as error:
        raise Refused(str(error), field="coder") from None
    return {**about, **moves}


def read_tally(experiment: Experiment) -> Tally:
    """Count the units of an experiment."""
    rows = experiment.enrolments.current().values_list("unit", "arm", "group", "outcomes")
    return tally_units(starmap(Unit, rows.iterator(chunk_size=5_000)))


def read_sample(experiment: Experiment) -> Sample:
    """The sample, with the threads that the study has: a unit's thread is the one with the unit's id in its file, masked or not."""
    units = list(experiment.sampled.order_by("place"))
    names = [unit.unit for unit in units]
    threads: dict[str, int] = {}
    for start in range(0, len(names), IDS_AT_A_TIME):
        threads |= find_threads(experiment.study.interviews.all(), names[start : start + IDS_AT_A_TIME])
    masked = experiment.study.interviews.masked().filter(pk__in=list(threads.values())).count() if threads else 0
    return Sample(units, threads, masked)


def describe_experiment(experiment: Experiment, report: Mapping[str, Any], sample: Sample) -> dict[str, Any]:
    """The facts of an experiment for its sentences in a paper. Moves are not included, because they are one person's codings."""
    plan = read_stored_plan(experiment)
    threads = experiment.study.interviews.filter(pk__in=list(sample.threads.values()))
    return {
        "experiment": experiment,
        "plan": plan,
        "arms": report["arms"],
        "assigned": sum(arm["assigned"] for arm in report["arms"].values()),
        "srm": {**report["srm"], "words": write_srm(report["srm"])},
        "missing": [
            (
                name,
                ", ".join(f"{write_out_of(*counts)} in {arm}" for arm, counts in found["arms"].items()),
                write_bounds(found) if found["bounds"] else "",
            )
            for name, found in report["missing"].items()
            if any(lost for lost, _ in found["arms"].values())
        ],
        "interaction": write_interaction(report["interaction"]),
        "loads": write_loads(report["loads"]),
        "marks": " ".join(list_marks({**report, "moves": None})),
        "effect": write_effect(report["effect"]),
        "groups": [(name, write_effect(effect)) for name, effect in report["groups"].items()],
        "others": [(name, write_effect(effect)) for name, effect in report["others"].items()],
        "sample": sample,
        "per_arm": len(sample.units) // len(plan.allocation),
        "came_masked": threads.exclude(mask_label="").count(),
    }


def read_notes(study: Study) -> dict[str, Any]:
    """Every experiment of a study, for its methods paragraph. Empty if there are none."""
    experiments = list_experiments(study)
    if not experiments:
        return {}
    described = []
    for each in experiments:
        report = report_experiment(read_tally(each), read_stored_plan(each))
        described.append(describe_experiment(each, {**report, "loads": count_loads(each)}, read_sample(each)))
    return {"experiments": described}
