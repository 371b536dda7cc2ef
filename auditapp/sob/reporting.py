"""The report of a batch: what it is computed from, computing it, and keeping the last one.

What is kept stands in Django's cache, compressed, and may be lost at any time: it is computed anew. A fingerprint of all
that the figures depend on says whether it still holds.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from django.core.cache import cache
from django.db.models import Count, Max, QuerySet

from auditapp.batches.ledger.clock import read_now
from auditapp.batches.models import Batch
from auditapp.sob.caveats import tell_unfinished
from auditapp.sob.counting import LEXICON_VERSION
from auditapp.sob.mappings import IN_FORCE, choose_table, find_mapping
from auditapp.sob.measures.mapping import TargetMapping
from auditapp.sob.measures.report import REPORT_VERSION, ReportOptions, build_report, write_report
from auditapp.sob.models import Judgment, Reading
from auditapp.sob.parsing import PARSER_VERSION
from auditapp.sob.queries.arms import AskedArm, find_families, find_pairs, read_arms
from auditapp.sob.queries.readers import find_parsers
from auditapp.sob.queries.snapshot import read_one_moment
from auditapp.sob.queries.standing import find_cell_range
from auditapp.sob.queries.tallying import tally_batch
from auditapp.sob.queries.targets import LOADED, TextTargets, find_target_table, read_targets

KEPT_SECONDS = 30 * 24 * 3600
GENERATION = "sob-report-generation"
# Another form of what is kept needs another name here: an upgrade does not empty the cache.
ENTRY = "sob-report-3"
# A batch that still gets answers has a new report this often at most, whoever looks.
OPEN_SECONDS = 10
DEFAULTS = ReportOptions()


@dataclass(frozen=True, slots=True)
class ReportChoice:
    """What whoever asks may choose. ``targets`` is "loaded", "published" or "table:N" of the study; ``mapping`` "published" or
    "table:N", and empty the one in force."""

    targets: str = LOADED
    seed: int = DEFAULTS.seed
    resamples: int = DEFAULTS.resamples
    mapping: str = IN_FORCE


class Fingerprint(NamedTuple):
    """What a report was computed from: the rules that hold, and the answers there are."""

    rules: str
    answers: str


class StoredReport(NamedTuple):
    """A report in the shape of ``measures.report.write_report``.

    It holds what was known at ``as_of``, from that many answers. ``is_current`` says that nothing has changed since.
    """

    report: dict[str, Any]
    as_of: datetime.datetime
    answers: int
    is_current: bool


class Kept(NamedTuple):
    """A report that was kept. ``will_do``: it is current, or some seconds old and of a batch that gets answers all the time."""

    stored: StoredReport
    will_do: bool


class ReportInputs(NamedTuple):
    """What a report is computed from, apart from the answers."""

    arms: Sequence[AskedArm]
    texts: TextTargets
    mapping: TargetMapping
    options: ReportOptions


def find_inputs(batch: Batch, choice: ReportChoice | None = None) -> ReportInputs:
    """What the choice comes to for this batch. Reads batch.project. Raises ``UnknownTargets`` and ``UnknownMapping``."""
    choice = choice or ReportChoice()
    arms = read_arms(batch)
    texts = read_targets(batch, choice.targets)
    mapping = find_mapping(batch.project, choice.mapping)
    options = ReportOptions(
        seed=choice.seed,
        resamples=choice.resamples,
        families=find_families(arms),
        pairs=find_pairs(arms),
        instruments=tuple(dict.fromkeys(arm.instrument for arm in arms)),
        targets_name=texts.name,
        mapping_name=mapping.name,
        warnings=(*filter(None, [tell_unfinished(batch)]), *texts.warnings),
    )
    return ReportInputs(arms, texts, mapping, options)


def compute_report(batch: Batch, choice: ReportChoice | None = None) -> StoredReport:
    """The report as of now. Reads batch.project. Raises ``UnknownTargets`` and ``UnknownMapping``."""
    as_of = read_now()
    with read_one_moment():
        found = find_inputs(batch, choice)
        tallies = tally_batch(batch, arms=found.arms, texts=found.texts, mapping=found.mapping)
        parsers = find_parsers(batch, found.arms)
    report = write_report(build_report(tallies, options=tell_parsers(found.options, parsers)))
    return StoredReport(report, as_of, tallies.groups.total() + tallies.verdicts.total(), is_current=True)


def tell_parsers(options: ReportOptions, parsers: Sequence[str]) -> ReportOptions:
    """The options with the rules that read the answers, and a warning where these are not those of today.

    A reading is never made again in place: evidence stays, and a bundle derives the figures by the rules of today.
    """
    if set(parsers) <= {PARSER_VERSION}:
        return options
    read_by = " and ".join(parsers)
    told = (
        f"These answers were read by {read_by} when they came, and their readings stay. The rules of today are {PARSER_VERSION}: "
        "`sob_report --bundle` reads a bundle of the batch by them and says what changes."
    )
    return replace(options, parser=read_by, warnings=(told, *options.warnings))


def refresh_report(batch: Batch, choice: ReportChoice) -> StoredReport:
    """Compute the report and keep it. The fingerprint is taken before: what arrives meanwhile makes the report old."""
    fingerprint = fingerprint_report(batch, choice)
    computed = compute_report(batch, choice)
    keep_report(batch, choice, fingerprint, computed)
    return computed


def keep_report(batch: Batch, choice: ReportChoice, fingerprint: Fingerprint, computed: StoredReport) -> None:
    """Keep a report as the last one of its batch and choice."""
    written = json.dumps(computed.report, separators=(",", ":")).encode()
    kept = {
        "fingerprint": tuple(fingerprint),
        "as_of": computed.as_of,
        "answers": computed.answers,
        "report": zlib.compress(written, 1),
    }
    cache.set(_name_entry(batch, choice), kept, KEPT_SECONDS)


def find_kept(batch: Batch, choice: ReportChoice, now: Fingerprint) -> Kept | None:
    """The last report that was kept, if any; current when it was computed from what ``now`` says."""
    kept = cache.get(_name_entry(batch, choice))
    if kept is None:
        return None
    before = Fingerprint(*kept["fingerprint"])
    report = json.loads(zlib.decompress(kept["report"]))
    stored = StoredReport(report, kept["as_of"], kept["answers"], is_current=before == now)
    age = (read_now() - stored.as_of).total_seconds()
    will_do = stored.is_current or (batch.is_open and before.rules == now.rules and 0 <= age < OPEN_SECONDS)
    return Kept(stored, will_do)


def fingerprint_report(batch: Batch, choice: ReportChoice) -> Fingerprint:
    """Hashes of all that the figures depend on: they change whenever these may. Reads batch.project."""
    mapping = choose_table(batch.project, choice.mapping)
    targets = find_target_table(batch, choice.targets)
    rules = [
        mapping and mapping.pk,
        targets and targets.pk,
        (PARSER_VERSION, LEXICON_VERSION, REPORT_VERSION),
        cache.get_or_set(GENERATION, _make_generation, None),
    ]
    # By the range of its cells, which an index knows: a million judgments need not be looked through for a few readings.
    first, last = find_cell_range(batch)
    of_batch = Reading.objects.filter(judgment__gte=first, judgment__lte=last)
    later = of_batch.aggregate(count=Count("pk"), last=Max("pk"))
    answers = [batch.state, str(batch.finished_at), batch.spent_nano, later, _count_outcomes(batch)]
    return Fingerprint(_hash(rules), _hash(answers))


def _count_outcomes(batch: Batch) -> list[tuple[int, str, int]]:
    """Judgments by arm and outcome, from an index alone. A failed answer that is asked again changes its outcome."""
    # Of rows, not of keys, which are not in that index.
    counts = _find_judgments(batch).values("arm_id", "outcome").annotate(n=Count("*"))
    return list(counts.order_by("arm_id", "outcome").values_list("arm_id", "outcome", "n"))


def count_answers(batch: Batch) -> int:
    """The judgments of a batch, from an index alone."""
    return _find_judgments(batch).count()


def _find_judgments(batch: Batch) -> QuerySet[Judgment]:
    return Judgment.objects.filter(arm__in=list(batch.arms.values_list("pk", flat=True)))


def _hash(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def outdate_reports() -> None:
    """No kept report counts as current any more: what they were counted from was counted anew."""
    cache.set(GENERATION, _make_generation(), None)


def _make_generation() -> str:
    return uuid.uuid4().hex


def digest_choice(choice: ReportChoice) -> str:
    """A short name for a choice, safe in the key of a cache."""
    return hashlib.sha256(json.dumps(asdict(choice)).encode()).hexdigest()[:32]


def _name_entry(batch: Batch, choice: ReportChoice) -> str:
    return f"{ENTRY}:{batch.pk}:{digest_choice(choice)}"
