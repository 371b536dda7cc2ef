"""The export of what plays of suites came to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import Q

from auditapp.scenarios.models import Play
from auditapp.scenarios.queries.run_report import read_outcomes
from auditapp.scenarios.queries.runs import KIND
from transcripts.exchange.registry import Export, Scope
from transcripts.exchange.rows import column, columns
from transcripts.projects.roles import Permission

COLUMNS = [
    *columns(
        Play,
        "project batch case model condition repeat",
        project="project__slug",
        batch="arm__batch_id",
        case=("script__name", "Name of the case."),
        model="arm__variant__label",
        condition=("", "Name of the condition; unprompted has no system text."),
    ),
    column("outcome", "", "Whether the last answer is the expected one; empty where it cannot be read.", bool),
    column("group", "", "The group that the case is about."),
    column("probability", "", "The probability that the answer states, from 0 to 1.", float),
    column("reasoning", "", "Whether the model was set to reason; empty where nothing was set.", bool),
    column(
        "pair",
        "",
        "Name of the pair whose two sides tell one case of two groups and expect the same answer; else empty.",
    ),
    column("base", "", "The model with its account and sampling, the same where variants differ in reasoning alone."),
]


def read_rows(scope: Scope) -> Iterator[Sequence[object]]:
    """A row for each play that has ended and whose thread is not masked. None for somebody who sees her own work alone.

    A play without a thread has no place in a file that is narrowed to some threads.
    """
    if scope.only is not None:
        return
    among = scope.within("interview") if scope.is_narrowed else scope.within("interview") | Q(interview__isnull=True)
    for batch in scope.project.batches.filter(kind=KIND).order_by("pk"):
        for play in read_outcomes(batch, among=among):
            yield (
                *(scope.project.slug, batch.pk, play.case, play.model, play.condition, play.repeat),
                *(play.outcome, play.group, play.probability, play.reasoning, play.pair, play.base),
            )


SCENARIO_OUTCOMES = Export(
    key="scenario_outcomes",
    name="Scenarios, outcomes",
    sentence="What plays of suites came to, of threads that are no longer masked. `scenario report --plays` reads its JSON lines.",
    row="a play of a script that has ended",
    columns=COLUMNS,
    permission=Permission.SEE_ALL_CODINGS,
    read_rows=read_rows,
)
