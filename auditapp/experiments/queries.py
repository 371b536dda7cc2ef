"""What is read of experiments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from auditapp.experiments.models import Experiment, SampledUnit
from auditapp.experiments.pure.effects import Tally, report_experiment, tally_units
from auditapp.experiments.pure.plans import Plan, make_plan
from auditapp.experiments.pure.units import Unit
from transcripts.corpus.models import Interview, MaskedFacts
from transcripts.projects.models import Project

IDS_AT_A_TIME = 500


class Sample(NamedTuple):
    """The sample of an experiment: its units in the order in which they are listed, and how many of each have a thread."""

    units: list[SampledUnit]
    threads: dict[str, int]

    @property
    def found(self) -> int:
        """How many of the units have their thread in the study."""
        return len(self.threads)


def read_stored_plan(experiment: Experiment) -> Plan:
    """The plan that was locked."""
    return make_plan(experiment.plan)


def list_experiments(project: Project) -> list[Experiment]:
    """The experiments of a study by name. One query."""
    return list(project.experiments.order_by("name"))


def read_report(experiment: Experiment) -> dict[str, Any]:
    """The report of an experiment; see ``effects.report_experiment``. One query, read row by row."""
    return report_experiment(read_tally(experiment), read_stored_plan(experiment))


def read_tally(experiment: Experiment) -> Tally:
    """Its units counted."""
    return tally_units(_read_units(experiment))


def _read_units(experiment: Experiment) -> Iterator[Unit]:
    rows = experiment.enrolments.current().values_list("unit", "arm", "group", "outcomes")
    for unit, arm, group, outcomes in rows.iterator(chunk_size=5_000):
        yield Unit(unit, arm, group, outcomes)


def read_sample(experiment: Experiment) -> Sample:
    """The sample, with the thread of each unit that the study has: the one whose id in its file is the unit's, masked or not."""
    units = list(experiment.sampled.order_by("place"))
    names = [unit.unit for unit in units]
    threads: dict[str, int] = {}
    for start in range(0, len(names), IDS_AT_A_TIME):
        some = names[start : start + IDS_AT_A_TIME]
        open_ones = Interview.objects.filter(project=experiment.project_id, external_id__in=some, mask_label="")
        threads |= dict(open_ones.values_list("external_id", "pk"))
        facts = MaskedFacts.objects.filter(interview__project=experiment.project_id, external_id__in=some)
        threads |= dict(facts.values_list("external_id", "interview_id"))
    return Sample(units, threads)
