"""The export of enrolments: which unit was assigned to which arm, and its outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from auditapp.benchmarks.experiments.models import Enrolment, Experiment
from auditapp.benchmarks.experiments.queries import list_experiments, read_sample, read_stored_plan
from transcripts.corpus.masked import list_sealed_ids
from transcripts.exchange.rows import CHUNK, Export, Scope, column, columns
from transcripts.studies.roles import Permission

COLUMNS = [
    *columns(
        Enrolment,
        "study experiment plan_sha256 unit",
        study="experiment__study__slug",
        experiment="experiment__name",
        plan_sha256="experiment__sha256",
    ),
    column("sampled", "", "Whether its thread was drawn to be read.", bool),
    column("masked", "", "Whether arm, group and outcomes are empty because the unit's thread is read masked.", bool),
    *columns(Enrolment, "arm group"),
    column("outcome", "", "The primary outcome of the plan, where it is yes or no; empty where it is not known.", bool),
    column(
        "outcome_number",
        "",
        "The primary outcome of the plan, where it is a number; empty where it is not known.",
        float,
    ),
    column("others", "", "The other outcomes that are known, by name."),
    *columns(Enrolment, "loaded"),
]


def read_rows(scope: Scope) -> Iterator[Sequence[object]]:
    """Every unit of every experiment, ordered by name, because the order of the loaded file may reveal the arms. Empty for a person
    who sees only her own work.

    For a unit whose thread is masked, the row says only that the unit was assigned. This applies to all units of a sample, from the
    draw until none of its threads is masked any more, and to units whose threads may still be imported.
    """
    if scope.only is not None:
        return
    sealed = list_sealed_ids(scope.study)
    for experiment in list_experiments(scope.study):
        yield from _read_experiment(scope, experiment, sealed)


def _read_experiment(scope: Scope, experiment: Experiment, sealed: set[str]) -> Iterator[Sequence[object]]:
    plan = read_stored_plan(experiment)
    outcome = plan.outcome
    sample = read_sample(experiment)
    sampled = {each.unit for each in sample.units}
    closed = sealed | (sampled - sample.threads.keys() if sample.is_open else sampled)
    about = (scope.study.slug, experiment.name, experiment.sha256)
    rows = experiment.enrolments.current().order_by("unit")
    for row in rows.iterator(chunk_size=CHUNK):
        masked = row.unit in closed
        others = {name: value for name, value in sorted(row.outcomes.items()) if name != outcome}
        primary = row.outcomes.get(outcome)
        kinds = (None, primary) if outcome in plan.numbers else (primary, None)
        told = ("", "", None, None, {}) if masked else (row.arm, row.group, *kinds, others)
        yield (*about, row.unit, row.unit in sampled, masked, *told, row.loaded_at)


def count_rows(scope: Scope) -> int:
    """How many units there are."""
    return 0 if scope.only else Enrolment.objects.current().filter(experiment__study=scope.study).count()


ENROLMENTS = Export(
    key="enrolments",
    name="Experiments, enrolments",
    sentence="The units of experiments with their arms and outcomes; of units whose threads are read masked, without these.",
    row="a unit of an experiment",
    columns=COLUMNS,
    permission=Permission.SEE_ALL_CODINGS,
    is_narrowed=False,
    read_rows=read_rows,
    count_rows=count_rows,
)
