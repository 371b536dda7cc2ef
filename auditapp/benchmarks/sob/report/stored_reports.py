"""Compute the report of a batch from one snapshot of the database, and find out whether a stored report is still current, who may
compute the next one, and why the last attempt failed. Read the report for pages, files and programs, and request a new one from a
worker.

A worker is asked for a report when a batch ends, when an interpretation changes, and when a page of a large batch needs one. For
batches that have ended, a sweep asks again, and so does any reader of a stale report.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, connection, transaction
from django.db.models import Aggregate, Count, Exists, F, Max, OuterRef, Q, Sum, TextField, Value

from auditapp.batches.ledger.leases import SILENT_AFTER, is_worker_alive, name_host
from auditapp.batches.models import OPEN_STATES, Batch, WorkerSign
from auditapp.benchmarks.sob.judging.kind import FORMATTER_KIND
from auditapp.benchmarks.sob.models import Interpretation, Judgment, StoredReport
from auditapp.benchmarks.sob.pure.answer_words import LEXICON_VERSION, NO_ATTRIBUTES, OVERALL, Counts, Outcome
from auditapp.benchmarks.sob.pure.attributions import AttributionTally, TargetMapping
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK
from auditapp.benchmarks.sob.pure.parsing import PARSER_VERSION
from auditapp.benchmarks.sob.pure.report import REPORT_VERSION, ReportOptions, build_report
from auditapp.benchmarks.sob.pure.scores import USABLE, Group, ItemMatrix, Repeats, Tallies
from auditapp.benchmarks.sob.queries import (
    IN_FORCE,
    KIND,
    LOADED,
    AskedArm,
    TextTargets,
    UnknownMapping,
    UnknownTargets,
    count_readers,
    describe_unfinished,
    find_cell_range,
    find_chosen_targets,
    find_families,
    find_mapping,
    find_pairs,
    find_parsers,
    find_table,
    hash_asked_texts,
    list_notices,
    read_arms,
    read_asked_texts,
    read_targets,
)
from auditapp.outbound.clock import read_now

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


DEFAULTS = ReportOptions()
ONE_MOMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


@dataclass(frozen=True, slots=True)
class ReportChoice:
    """What a reader of a report may choose. ``targets`` is "loaded", "published" or "table:N" of the study; ``mapping`` is
    "published", "table:N", or empty for the one in force."""

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

    ``cells`` is the range of the batch's cells. ``rules`` is a fingerprint of the tables and versions on which the figures depend,
    ``answers`` one of the state of the batch and its answers. At least one of them changes whenever the figures may change.
    """

    batch: Batch
    choice: ReportChoice
    arms: list[AskedArm]
    cells: tuple[int, int]
    n_answers: int
    rules: str
    answers: str


def read_inputs(batch: Batch, choice: ReportChoice | None = None) -> ReportInputs:
    """What a request needs of a batch. Reads batch.study. Raises ``UnknownTargets`` and ``UnknownMapping``."""
    choice = choice or ReportChoice()
    arms, cells = read_arms(batch), find_cell_range(batch)
    # The range of cells has an index, so a million judgments need not be searched for a few interpretations.
    of_batch = Interpretation.objects.filter(judgment__gte=cells[0], judgment__lte=cells[1])
    interpretations = of_batch.aggregate(count=Count("pk"), last=Max("pk"))
    # Includes outcomes, because that of a failed call changes if it is asked again. Counts rows, because keys are not in the index.
    judgments = Judgment.objects.filter(arm__in=[arm.arm_id for arm in arms]).values("arm_id", "outcome")
    counts = judgments.annotate(n=Count("*")).order_by("arm_id", "outcome")
    outcomes = list(counts.values_list("arm_id", "outcome", "n"))
    tables = find_table(batch.study, choice.mapping), find_chosen_targets(batch, choice.targets)
    return ReportInputs(
        batch,
        choice,
        arms,
        cells,
        n_answers=sum(n for *_, n in outcomes),
        rules=fingerprint_versions() + hash_json([table and table.pk for table in tables])[:48],
        answers=hash_json([batch.state, str(batch.finished_at), batch.spent_nano, interpretations, outcomes]),
    )


Sources = tuple[list[AskedArm], TextTargets, TargetMapping, ReportOptions]


def find_sources(batch: Batch, choice: ReportChoice | None = None) -> Sources:
    """Everything from which the report of this batch is computed, except the answers.

    Reads batch.study. Raises ``UnknownTargets`` and ``UnknownMapping``.
    """
    choice = choice or ReportChoice()
    arms = read_arms(batch)
    texts = read_targets(batch, choice.targets)
    mapping = find_mapping(batch.study, choice.mapping)
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
        invented_interpretations=count_readers([arm.arm_id for arm in arms], find_cell_range(batch)).invented,
    )
    return arms, texts, mapping, options


def compute_report(batch: Batch, choice: ReportChoice | None = None) -> StoredReport:
    """Compute the current report without saving it. Reads batch.study. Raises ``UnknownTargets`` and ``UnknownMapping``."""
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
    """The options with the versions of the parser that read the answers, and a warning if any of these is not the current one.

    An interpretation is evidence and is never overwritten; figures by the current parser can be derived from a bundle.
    """
    if set(parsers) <= {PARSER_VERSION}:
        return options
    read_by = " and ".join(parsers)
    warning = (
        f"These answers were read by {read_by} when they arrived, and these interpretations are kept. The current rules are "
        f"{PARSER_VERSION}: `sob report --bundle` applies them to a bundle of the batch and shows what changes."
    )
    return replace(options, parser=read_by, warnings=(warning, *options.warnings))


def fingerprint_versions() -> str:
    """A hash of the versions on which the figures depend: the beginning of ``ReportInputs.rules``."""
    return hash_json([PARSER_VERSION, LEXICON_VERSION, REPORT_VERSION])[:16]


def hash_json(value: object) -> str:
    """SHA-256 of a value as JSON."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


@contextmanager
def read_snapshot() -> Iterator[None]:
    """Everything that is read inside comes from one snapshot, taken at the first read; do not write inside.

    It blocks no writer, however long it takes. Inside a transaction that has already begun, that transaction's rules apply.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic():
            _execute(ONE_MOMENT)
            yield
    else:
        # Begun with SQL, because Django's transactions on SQLite keep everybody else from writing (``transaction_mode``).
        _execute("BEGIN")
        try:
            yield
        finally:
            _execute("ROLLBACK")


def _execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


CELLS_AT_A_TIME = 60_000
COUNTS = ("n_attributes", "n_named", "n_on_schema", "n_strict", "n_items")
"""The stored counts in the order of ``Counts``."""


def tally_batch(
    batch: Batch,
    *,
    arms: Sequence[AskedArm] | None = None,
    texts: TextTargets | None = None,
    mapping: TargetMapping | None = None,
) -> Tallies:
    """The current interpretations of a batch; ``arms`` and ``texts`` are read from the database unless they are given.

    Raises ``LookupError`` for an answer on a text that is not among ``texts``.
    """
    arms = read_arms(batch) if arms is None else arms
    texts = read_targets(batch) if texts is None else texts
    scored = [arm for arm in arms if arm.task != BASE_TASK]
    answers = _Answers(scored, texts, AttributionTally(mapping))
    if scored:
        for arm_id, rows in groupby(_group_interpretations(batch), key=itemgetter(0)):
            answers.add(arm_id, rows)
    columns = answers.join()
    return Tallies(
        groups=Counter({group: n for of_arm in answers.groups for group, n in of_arm.items()}),
        matrices=_fill_matrices(scored, texts, columns),
        repeats=_sum_repeats(scored, texts, columns),
        attributions=answers.attributions,
        verdicts=count_verdicts([arm for arm in arms if arm.task == BASE_TASK], texts),
    )


def tally_texts(arms: Sequence[AskedArm]) -> dict[str, Any]:
    """Tallies of the texts that the arms ask about, as JSON. ``asked`` is the result of ``hash_asked_texts``. ``targets`` has the
    target of each text by a hash of its words; the same words are one text. ``sums`` has, by the key of each scored arm with a
    usable answer, two lists in the order of ``targets``: the number of usable answers, and their attributes in paper counting."""
    texts = read_asked_texts([arm.arm_id for arm in arms])
    keys = {pk: hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest() for pk, words, _ in texts}
    targets = {keys[pk]: target for pk, _, target in texts}
    places = {key: place for place, key in enumerate(targets)}
    scored = [arm.arm_id for arm in arms if arm.task != BASE_TASK]
    judgments = Judgment.objects.filter(arm__in=scored, superseded_by=None, outcome__in=USABLE)
    interpretations = Interpretation.objects.filter(judgment__arm__in=scored, superseded_by=None, outcome__in=USABLE)
    given = Sum("n_attributes", filter=Q(outcome=Outcome.ATTRIBUTED), default=0)
    sums: dict[str, tuple[list[int], list[int]]] = {}
    for rows in (
        judgments.order_by().values_list("arm_id", "text_id"),
        interpretations.order_by().values_list("judgment__arm_id", "judgment__text_id"),
    ):
        for arm_id, text_id, n, attributes in rows.annotate(n=Count("pk"), given=given):
            of_arm = sums.setdefault(str(arm_id), ([0] * len(places), [0] * len(places)))
            place = places[keys[text_id]]
            of_arm[0][place] += n
            of_arm[1][place] += attributes
    return {"asked": hash_asked_texts([arm.arm_id for arm in arms]), "targets": targets, "sums": sums}


def count_verdicts(arms: Sequence[AskedArm], texts: TextTargets) -> Counter[tuple[str, str, str]]:
    """The number of answers to the base task by model, target, and verdict, or outcome if there is no verdict."""
    counts: Counter[tuple[str, str, str]] = Counter()
    if not arms:
        return counts
    models = {arm.arm_id: arm.model for arm in arms}
    targets = dict(zip(texts.ids, texts.targets, strict=True))
    judgments = Judgment.objects.filter(arm__in=models, superseded_by=None)
    interpretations = Interpretation.objects.filter(judgment__arm__in=models, superseded_by=None)
    for rows in (
        judgments.values_list("arm_id", "text_id", "outcome", "verdict"),
        interpretations.values_list("judgment__arm_id", "judgment__text_id", "outcome", "verdict"),
    ):
        for arm_id, text_id, outcome, verdict, n in rows.order_by().annotate(n=Count("pk")):
            counts[models[arm_id], targets[text_id], verdict or outcome] += n
    # The database returns rows in any order; a report has its models in the order of the launch.
    order = list(models.values())
    return Counter(dict(sorted(counts.items(), key=lambda counted: order.index(counted[0][0]))))


class _JoinedText(Aggregate):
    """The values of a group as text, separated by commas. Several in one query list the rows in the same order."""

    function = "GROUP_CONCAT"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "STRING_AGG((%(expressions)s)::text, ',')"
        return self.as_sql(compiler, connection, template=template, **context)


def _group_interpretations(batch: Batch) -> Iterator[tuple[Any, ...]]:
    """The current interpretations, with those that count alike in one row: arm, reader, outcome, counts, flags; then the texts,
    repeats and attributes of these interpretations, each joined by commas.

    One GROUP BY for each range of the batch's cells, which have adjacent keys: joined text is faster than a row per interpretation,
    and ranges limit the memory (`python -m perf sob`).
    """
    first, last = find_cell_range(batch)
    columns = ("reader", "outcome", *COUNTS, "is_object", "repaired")
    joined = {"attribute_list": _JoinedText("attributes")}
    for start in range(first, last + 1, CELLS_AT_A_TIME):
        end = min(last + 1, start + CELLS_AT_A_TIME)
        judgments = Judgment.objects.filter(cell__gte=start, cell__lt=end, superseded_by=None)
        yield from (
            judgments.annotate(reader=Value("rules"))
            .order_by("arm_id")
            .values_list("arm_id", *columns)
            .annotate(text_ids=_JoinedText("text_id"), repeats=_JoinedText("repeat"), **joined)
        )
        interpretations = Interpretation.objects.filter(judgment__gte=start, judgment__lt=end, superseded_by=None)
        yield from (
            interpretations.order_by("judgment__arm_id")
            .values_list("judgment__arm_id", *columns)
            .annotate(text_ids=_JoinedText("judgment__text_id"), repeats=_JoinedText("judgment__repeat"), **joined)
        )


class _Answers:
    """The answers read so far: arrays for the matrices, counts for everything else."""

    def __init__(self, arms: Sequence[AskedArm], texts: TextTargets, attributions: AttributionTally) -> None:
        import numpy as np

        self.arms, self.attributions = arms, attributions
        self.arm_numbers = {arm.arm_id: number for number, arm in enumerate(arms)}
        self.text_numbers = {text_id: number for number, text_id in enumerate(texts.ids)}
        self.targets = list(dict.fromkeys(texts.targets))
        numbers = {target: number for number, target in enumerate(self.targets)}
        self.target_of_text = np.array([numbers[target] for target in texts.targets], np.int64)
        self.groups: list[Counter[Group]] = [Counter() for _ in arms]
        self.parts: list[NDArray[np.int64]] = []

    def add(self, arm_id: int, rows: Iterable[tuple[Any, ...]]) -> None:
        """Count rows of ``_group_interpretations`` of one arm, unless the arm belongs to another batch. Raises ``LookupError``."""
        import numpy as np

        number = self.arm_numbers.get(arm_id)
        if number is None:
            return
        arm = self.arms[number]
        attributed: dict[int, list[Mapping[str, object]]] = defaultdict(list)
        for _, reader, name, *counted, is_object, repaired, text_ids, repeats, attribute_list in rows:
            try:
                texts = np.array([self.text_numbers[text_id] for text_id in json.loads(f"[{text_ids}]")])
            except KeyError:
                raise LookupError("This batch has answers on texts of another set than it names.") from None
            outcome, counts = Outcome(name), Counts(*counted)
            is_attributed = outcome is Outcome.ATTRIBUTED
            targets = self.target_of_text[texts]
            for target, n in enumerate(np.bincount(targets).tolist()):
                if n:
                    group = Group(
                        model=arm.model,
                        task=arm.task,
                        target=self.targets[target],
                        # An answer that gives no known value counts as Unknown, whatever its stored outcome.
                        outcome=Outcome.UNKNOWN if is_attributed and not counts.paper else outcome,
                        counts=counts if is_attributed else NO_ATTRIBUTES,
                        is_object=is_attributed or is_object,
                        reader=reader,
                        repaired=repaired,
                    )
                    self.groups[number][group] += n
            part = np.zeros((6, len(texts)), np.int64)
            part[0], part[1], part[2], part[3] = number, texts, json.loads(f"[{repeats}]"), outcome in USABLE
            if is_attributed:
                part[4], part[5] = counts.paper, counts.strict
                for target, attributes in zip(targets.tolist(), json.loads(f"[{attribute_list}]"), strict=True):
                    attributed[target].append(attributes)
            self.parts.append(part)
        for target, answers in attributed.items():
            self.attributions.add_answers(arm.model, arm.task, self.targets[target], answers)

    def join(self) -> NDArray[np.int64]:
        """Every answer as a column of six numbers: arm, text, repeat, usable or not, attributes, strict attributes."""
        import numpy as np

        return np.concatenate([np.empty((6, 0), np.int64), *self.parts], axis=1)


def _fill_matrices(
    arms: Sequence[AskedArm], texts: TextTargets, columns: NDArray[np.int64]
) -> Mapping[str, ItemMatrix]:
    """One matrix per task, with the models and texts that have answers."""
    import numpy as np

    tasks = np.array([arm.task for arm in arms], object)
    matrices: dict[str, ItemMatrix] = {}
    for task in dict.fromkeys(arm.task for arm in arms):
        of_task = columns[:, tasks[columns[0]] == task]
        if not of_task.size:
            continue
        asked, column = np.unique(of_task[0], return_inverse=True)
        items, row = np.unique(of_task[1], return_inverse=True)
        shape = (len(items), len(asked))
        usable, paper, strict = (
            np.bincount(row * shape[1] + column, weights, shape[0] * shape[1]).astype(np.int64).reshape(shape)
            for weights in of_task[3:]
        )
        matrices[task] = ItemMatrix(
            models=[arms[arm].model for arm in asked.tolist()],
            items=[texts.ids[item] for item in items.tolist()],
            targets=[texts.targets[item] for item in items.tolist()],
            secondaries=[texts.secondaries[item] for item in items.tolist()],
            usable=usable,
            paper=paper,
            strict=strict,
        )
    return matrices


def _sum_repeats(arms: Sequence[AskedArm], texts: TextTargets, columns: NDArray[np.int64]) -> Repeats:
    """Usable answers and their attributes by arm, target and repeat."""
    import numpy as np

    targets = list(dict.fromkeys(texts.targets))
    numbers = {target: number for number, target in enumerate(targets)}
    target_of_text = np.array([numbers[target] for target in texts.targets], np.int64)
    arm, text, repeat, usable, paper, _ = columns
    size = int(repeat.max(initial=0)) + 1
    keys, row = np.unique((arm * len(targets) + target_of_text[text]) * size + repeat, return_inverse=True)
    sums = [np.bincount(row, each, len(keys)).astype(np.int64).tolist() for each in (usable, paper)]
    found: dict[tuple[str, str, str, int], tuple[int, int]] = {}
    for key, answered, given in zip(keys.tolist(), *sums, strict=True):
        place, number = divmod(key, size)
        asked, own = arms[place // len(targets)], targets[place % len(targets)]
        for target in {own, OVERALL} - {""}:
            name = (asked.model, asked.task, target, number)
            before = found.get(name, (0, 0))
            found[name] = (before[0] + answered, before[1] + given)
    return found


# While answers still arrive, the report of a batch is computed at most once in this time.
OPEN_SECONDS = 10
# After this time, the process that took the lock is assumed to be dead.
LOCK_TIME = datetime.timedelta(seconds=300)
FIRST_WAIT = datetime.timedelta(seconds=10)
MAX_WAIT = datetime.timedelta(minutes=10)
# After this many failures in a row, the report is computed again only if a person asks for it.
MAX_FAILURES = 3
# Stored instead of a choice for the tallies by text from which comparisons are made.
TEXTS = "texts"
WORKER_ENDED = "The worker that was computing it has ended, perhaps because it ran out of memory."


def find_report(inputs: ReportInputs) -> StoredReport:
    """The stored report with ``is_current`` set. Its ``content`` is ``None`` if no report has been computed yet."""
    found = StoredReport.objects.filter(batch=inputs.batch, choice=inputs.choice.digest).first()
    if found is None:
        return StoredReport(batch=inputs.batch, choice=inputs.choice.digest)
    found.is_current = found.content is not None and (found.rules, found.answers) == (inputs.rules, inputs.answers)
    return found


def is_recent(stored: StoredReport, inputs: ReportInputs) -> bool:
    """Whether the report of a batch in which answers still arrive is recent enough to be shown as it is."""
    if stored.as_of is None or not inputs.batch.is_open or stored.rules != inputs.rules:
        return False
    return 0 <= (read_now() - stored.as_of).total_seconds() < OPEN_SECONDS


def refresh_report(inputs: ReportInputs) -> StoredReport:
    """Compute the report and store it. ``inputs`` were read before, so answers that arrive meanwhile make the report stale."""
    stored = compute_report(inputs.batch, inputs.choice)
    stored.rules, stored.answers, stored.is_current = inputs.rules, inputs.answers, True
    stored.set_report(stored.report)
    values = {name: getattr(stored, name) for name in ("rules", "answers", "as_of", "n_answers", "content")}
    # This attempt succeeded, so earlier failures no longer count.
    values |= {"failures": 0, "retry_at": None}
    StoredReport.objects.update_or_create(batch=inputs.batch, choice=inputs.choice.digest, defaults=values)
    return stored


def read_texts(inputs: ReportInputs) -> dict[str, Any]:
    """The tallies of a batch by text (``tally_texts``), for comparisons: the stored ones if no answer of the batch has changed
    since, otherwise new ones, which are stored if the batch has ended."""
    rules = fingerprint_versions()
    found = StoredReport.objects.filter(batch=inputs.batch, choice=TEXTS).first()
    if found is not None and (found.rules, found.answers) == (rules, inputs.answers):
        return found.report
    found = StoredReport(batch=inputs.batch, choice=TEXTS, as_of=read_now())
    found.set_report(tally_texts(inputs.arms))
    if not inputs.batch.is_open:
        values = {"rules": rules, "answers": inputs.answers, "as_of": found.as_of, "content": found.content}
        StoredReport.objects.update_or_create(batch=inputs.batch, choice=TEXTS, defaults=values)
    return found.report


def find_unreported() -> Batch | None:
    """The newest batch that has ended and has no default report computed since then with the current versions; with its study.

    Batches whose report is being computed, may not be tried again yet, or failed ``MAX_FAILURES`` times are left out. One query,
    for a sweep.
    """
    reports = StoredReport.objects.filter(batch=OuterRef("pk"), choice=ReportChoice().digest)
    of_end = reports.filter(as_of__gte=OuterRef("finished_at"), rules__startswith=fingerprint_versions())
    now = read_now()
    failed = reports.filter(Q(locked_until__gt=now) | Q(retry_at__gt=now) | Q(failures__gte=MAX_FAILURES))
    ended = Batch.objects.filter(kind=KIND, finished_at__isnull=False).exclude(state__in=OPEN_STATES)
    found = ended.filter(~Exists(of_end.exclude(content=None)), ~Exists(failed))
    return found.select_related("study").order_by("-pk").first()


def outdate_reports() -> None:
    """Mark all stored reports as out of date, because stored interpretations were counted again."""
    StoredReport.objects.update(rules="")


def take_lock(batch: Batch, choice: ReportChoice) -> bool:
    """Whether the caller may compute a report of this batch now. A lock whose worker has ended is released as a failure."""
    now = read_now()
    reports = StoredReport.objects.filter(batch=batch)
    own, _ = StoredReport.objects.get_or_create(batch=batch, choice=choice.digest)
    held = reports.filter(locked_until__gt=now)
    holder = held.exclude(pk=own.pk).first()
    if holder is None:
        free = reports.filter(pk=own.pk).filter(Q(locked_until=None) | Q(locked_until__lte=now))
        if free.update(locked_until=now + LOCK_TIME, locked_by=""):
            return True
        holder = held.filter(pk=own.pk).first()
    alive = WorkerSign.objects.filter(seen_at__gt=now - SILENT_AFTER)
    if holder is not None and holder.locked_by and not alive.filter(name=holder.locked_by).exists():
        _store_failure(holder, WORKER_ENDED)
        _release(holder)
    return False


def find_start(batch: Batch, choice: ReportChoice) -> datetime.datetime | None:
    """When the report began to be computed, or to wait for a worker; ``None`` if it was not requested."""
    locked = StoredReport.objects.filter(batch=batch, choice=choice.digest, locked_until__gt=read_now())
    until = locked.values_list("locked_until", flat=True).first()
    return until - LOCK_TIME if until else None


def begin_computing(batch: Batch, choice: ReportChoice) -> None:
    """Take over the lock as a worker; it lasts as long as that worker's heartbeat."""
    values = {"locked_until": read_now() + LOCK_TIME, "locked_by": _find_own_worker()}
    StoredReport.objects.update_or_create(batch=batch, choice=choice.digest, defaults=values)


def release_lock(batch: Batch, choice: ReportChoice) -> None:
    """Release the lock: at once, or when it expires if the database is too busy."""
    with suppress(DatabaseError):
        _release(StoredReport.objects.get(batch=batch, choice=choice.digest))


def _release(stored: StoredReport) -> None:
    StoredReport.objects.filter(pk=stored.pk).update(locked_until=None, locked_by="")


def note_failure(batch: Batch, choice: ReportChoice, error: Exception) -> None:
    """Store why a report could not be computed. Only the type of an unexpected error is shown."""
    is_known = isinstance(error, UnknownMapping | UnknownTargets)
    reason = str(error) if is_known else f"It ended with {type(error).__name__}; the worker’s log says where."
    _store_failure(StoredReport.objects.get_or_create(batch=batch, choice=choice.digest)[0], reason)


def _store_failure(stored: StoredReport, reason: str) -> None:
    wait = min(MAX_WAIT, FIRST_WAIT * 2 ** min(stored.failures, 10))
    StoredReport.objects.filter(pk=stored.pk).update(
        failures=F("failures") + 1, failure_reason=reason, retry_at=read_now() + wait
    )


def find_failure(batch: Batch, choice: ReportChoice) -> StoredReport | None:
    """The report that could not be computed, as long as it is too early to try again; otherwise ``None``."""
    return StoredReport.objects.filter(batch=batch, choice=choice.digest, retry_at__gt=read_now()).first()


def forget_failures(batch: Batch, choice: ReportChoice | None = None) -> None:
    """Clear failures so that a report can be requested again: for one choice, or for all of a batch."""
    reports = StoredReport.objects.filter(batch=batch)
    if choice is not None:
        reports = reports.filter(choice=choice.digest)
    reports.update(failures=0, failure_reason="", retry_at=None)


def _find_own_worker() -> str:
    """The name under which this process's worker sends its heartbeat: that of this process, or of the process that started it."""
    names = [f"{name_host()}:{pid}" for pid in (os.getpid(), os.getppid())]
    return WorkerSign.objects.filter(name__in=names).values_list("name", flat=True).first() or ""


# A report on this many answers takes about a second, so a page computes it itself if no worker has.
MAX_IN_A_REQUEST = 100_000


def request_report(batch: Batch, choice: ReportChoice) -> bool:
    """Have a worker compute the report, at most one at a time per batch. Returns whether the broker accepted the message."""
    from kombu.exceptions import OperationalError

    from auditapp.batches.runner.tasks import connect_at_once
    from auditapp.benchmarks.sob.report import tasks  # loads Celery, which a page seldom needs

    if not take_lock(batch, choice):
        return True
    try:
        with connect_at_once() as connection:
            tasks.compute_report.apply_async((batch.pk, asdict(choice)), connection=connection, retry=False)  # type: ignore[call-arg]
    except (OperationalError, OSError):
        release_lock(batch, choice)
        return False
    return True


def request_after_change(batch: Batch) -> None:
    """After this transaction, have a worker compute the default report, if there is a worker."""
    # Robust, because the change has been stored by then and must not fail if the request does.
    transaction.on_commit(lambda: _request_if_alive(batch), robust=True)


def request_when_ended(batch: Batch) -> None:
    """Request a report when a batch has ended: its own if it is a batch of judgments; for a formatter's batch, that of the source
    batch, whose interpretations it changed."""
    if batch.kind == KIND:
        request_after_change(batch)
    elif batch.kind == FORMATTER_KIND:
        source = Batch.objects.select_related("study").filter(pk=batch.parameters.get("source_batch")).first()
        if source is not None:
            request_after_change(source)


def _request_if_alive(batch: Batch) -> None:
    if is_worker_alive():
        request_report(batch, ReportChoice())


def request_missing_report() -> None:
    """In a sweep, have a worker compute the report of a batch that ended while there was no worker or under older rules, or whose
    request was lost. One batch per sweep, the newest first."""
    batch = find_unreported()
    if batch is not None:
        request_report(batch, ReportChoice())


def read_report(inputs: ReportInputs) -> StoredReport | None:
    """The report of a batch.

    If the stored report is stale, that of a small batch is computed now. For a large batch, a worker is asked, and the last report
    is returned with ``is_current`` false, or ``None`` while the first one is being computed. After a failure (``find_failure``), no
    worker is asked for a while. Without a worker, the report is computed here.
    """
    batch, choice = inputs.batch, inputs.choice
    stored = find_report(inputs)
    # A report of another version may lack values that pages and files show now.
    last = stored if stored.content is not None and stored.report["versions"]["report"] == REPORT_VERSION else None
    if last is not None and (last.is_current or is_recent(last, inputs)):
        return last
    if (
        inputs.n_answers > MAX_IN_A_REQUEST
        and is_worker_alive()
        and (find_failure(batch, choice) or request_report(batch, choice))
    ):
        return last
    has_lock = take_lock(batch, choice)
    if last is not None and not has_lock:
        return last
    try:
        return refresh_report(inputs)
    finally:
        if has_lock:
            release_lock(batch, choice)


def await_report(batch: Batch, *, options: ReportChoice | None = None) -> StoredReport:
    """Like ``read_report``, but computes the first report here if there is none. For commands and the API. Reads batch.study.

    Raises ``UnknownTargets`` and ``UnknownMapping``.
    """
    inputs = read_inputs(batch, options)
    return read_report(inputs) or refresh_report(inputs)
