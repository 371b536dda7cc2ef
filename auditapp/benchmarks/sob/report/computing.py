"""Compute the report of a batch from one snapshot of the database, and find out whether a stored report is still current."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

from django.db import connection, transaction
from django.db.models import Count, Max

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import Judgment, Reading, StoredReport
from auditapp.benchmarks.sob.pure.counting import LEXICON_VERSION
from auditapp.benchmarks.sob.pure.measures.mapping import TargetMapping
from auditapp.benchmarks.sob.pure.measures.report import REPORT_VERSION, ReportOptions, build_report
from auditapp.benchmarks.sob.pure.parsing import PARSER_VERSION
from auditapp.benchmarks.sob.queries import (
    AskedArm,
    count_invented,
    describe_unfinished,
    find_cell_range,
    find_families,
    find_pairs,
    find_parsers,
    list_notices,
    read_arms,
)
from auditapp.benchmarks.sob.report.tallying import tally_batch
from auditapp.benchmarks.sob.tables.queries import (
    IN_FORCE,
    LOADED,
    TextTargets,
    find_mapping,
    find_table,
    find_target_table,
    read_targets,
)
from auditapp.outbound.clock import read_now

DEFAULTS = ReportOptions()
ONE_MOMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


@dataclass(frozen=True, slots=True)
class ReportChoice:
    """What a reader may choose. ``targets`` is "loaded", "published" or "table:N" of the study; ``mapping`` is "published",
    "table:N", or empty for the one in force."""

    targets: str = LOADED
    seed: int = DEFAULTS.seed
    resamples: int = DEFAULTS.resamples
    mapping: str = IN_FORCE

    @property
    def digest(self) -> str:
        """A short name for the choice."""
        return hash_json(asdict(self))


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """What a request needs of a batch to know whether its stored report is current, and to describe it; read once and passed on.

    ``cells`` is the range of the batch's cells. ``rules`` and ``answers`` are fingerprints: of the tables and versions that the
    figures depend on, and of the state of the batch and its answers. Either changes whenever the figures may.
    """

    batch: Batch
    choice: ReportChoice
    arms: list[AskedArm]
    cells: tuple[int, int]
    n_answers: int
    rules: str
    answers: str


def read_inputs(batch: Batch, choice: ReportChoice | None = None) -> ReportInputs:
    """What a request needs of a batch. Reads batch.project. Raises ``UnknownTargets`` and ``UnknownMapping``."""
    choice = choice or ReportChoice()
    arms, cells = read_arms(batch), find_cell_range(batch)
    # By the range of its cells, which an index knows: a million judgments need not be looked through for a few readings.
    of_batch = Reading.objects.filter(judgment__gte=cells[0], judgment__lte=cells[1])
    readings = of_batch.aggregate(count=Count("pk"), last=Max("pk"))
    # A failed answer that is asked for again changes its outcome. Counts rows, because keys are not in the index.
    judgments = Judgment.objects.filter(arm__in=[arm.arm_id for arm in arms]).values("arm_id", "outcome")
    counts = judgments.annotate(n=Count("*")).order_by("arm_id", "outcome")
    outcomes = list(counts.values_list("arm_id", "outcome", "n"))
    tables = find_table(batch.project, choice.mapping), find_target_table(batch, choice.targets)
    return ReportInputs(
        batch,
        choice,
        arms,
        cells,
        n_answers=sum(n for *_, n in outcomes),
        rules=fingerprint_versions() + hash_json([table and table.pk for table in tables])[:48],
        answers=hash_json([batch.state, str(batch.finished_at), batch.spent_nano, readings, outcomes]),
    )


Sources = tuple[list[AskedArm], TextTargets, TargetMapping, ReportOptions]


def find_sources(batch: Batch, choice: ReportChoice | None = None) -> Sources:
    """What the report of this batch is computed from, apart from the answers.

    Reads batch.project. Raises ``UnknownTargets`` and ``UnknownMapping``.
    """
    choice = choice or ReportChoice()
    arms = read_arms(batch)
    texts = read_targets(batch, choice.targets)
    mapping = find_mapping(batch.project, choice.mapping)
    unfinished = list(filter(None, [describe_unfinished(batch)]))
    options = ReportOptions(
        seed=choice.seed,
        resamples=choice.resamples,
        families=find_families(arms),
        pairs=find_pairs(arms),
        instruments=tuple(dict.fromkeys(arm.instrument for arm in arms)),
        targets_name=texts.name,
        mapping_name=mapping.name,
        warnings=(*unfinished, *texts.warnings),
        providers={arm.model: arm.variant.account.provider for arm in arms},
        limits={arm.model: arm.variant.max_tokens for arm in arms if arm.variant.max_tokens},
        notices=(*unfinished, *list_notices(arms)),
        invented_readings=count_invented(batch, [arm.arm_id for arm in arms]),
    )
    return arms, texts, mapping, options


def compute_report(batch: Batch, choice: ReportChoice | None = None) -> StoredReport:
    """The report as of now, not saved. Reads batch.project. Raises ``UnknownTargets`` and ``UnknownMapping``."""
    choice = choice or ReportChoice()
    computed = StoredReport(batch=batch, choice=choice.digest, as_of=read_now())
    with read_snapshot():
        arms, texts, mapping, options = find_sources(batch, choice)
        tallies = tally_batch(batch, arms=arms, texts=texts, mapping=mapping)
        parsers = find_parsers(batch, arms)
    computed.report = build_report(tallies, options=_name_parsers(options, parsers))
    computed.n_answers = tallies.groups.total() + tallies.verdicts.total()
    return computed


def _name_parsers(options: ReportOptions, parsers: Sequence[str]) -> ReportOptions:
    """The options with the parser versions that read the answers, and a warning if an older one did.

    A reading is evidence and is never replaced in place; a bundle derives the figures with the current parser.
    """
    if set(parsers) <= {PARSER_VERSION}:
        return options
    read_by = " and ".join(parsers)
    warning = (
        f"These answers were read by {read_by} when they arrived, and these readings are kept. The current rules are "
        f"{PARSER_VERSION}: `sob report --bundle` applies them to a bundle of the batch and shows what changes."
    )
    return replace(options, parser=read_by, warnings=(warning, *options.warnings))


def fingerprint_versions() -> str:
    """A hash of the versions that the figures depend on: how ``ReportInputs.rules`` begin."""
    return hash_json([PARSER_VERSION, LEXICON_VERSION, REPORT_VERSION])[:16]


def hash_json(value: object) -> str:
    """SHA-256 of a value as JSON."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


@contextmanager
def read_snapshot() -> Iterator[None]:
    """Everything read inside comes from one snapshot, taken at the first read; do not write inside.

    It blocks no writer, however long it takes. Inside a transaction that has already begun, the rules of that one apply.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic():
            _execute(ONE_MOMENT)
            yield
    else:
        # By hand: a transaction of Django's would keep everybody else from writing here (``transaction_mode``).
        _execute("BEGIN")
        try:
            yield
        finally:
            _execute("ROLLBACK")


def _execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
