"""The export of the benchmark: one row per answer, from every batch of a study, without the texts that were asked about. And the
content of a bundle, read from the database: rows as they are stored, some thousands at a time.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from itertools import islice
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.db.models import QuerySet

from auditapp.batches.models import Arm, Attempt, Batch
from auditapp.benchmarks.sob.models import Dataset, Interpretation, Judgment
from auditapp.benchmarks.sob.pure import answer_files as names
from auditapp.benchmarks.sob.pure.answer_files import Record, hash_text
from auditapp.benchmarks.sob.pure.answer_words import LEXICON_VERSION
from auditapp.benchmarks.sob.pure.parsing import PARSER_VERSION
from auditapp.benchmarks.sob.pure.report import REPORT_VERSION
from auditapp.benchmarks.sob.queries import (
    find_asked_texts,
    find_batch_texts,
    find_rows,
    find_schema,
    find_table,
    name_choice,
)
from auditapp.benchmarks.sob.report.stored_reports import ReportChoice, find_sources
from auditapp.llm.pure.key_removal import remove_keys
from transcripts.exchange.rows import Export, Scope, column, columns, find_places
from transcripts.studies.roles import Permission

GROUP = 1_000
NANO = Decimal(1_000_000_000)
RULES = "rules"

_PLACE = columns(
    Judgment,
    "study batch cell model provider parameters task instrument_sha256 repeat text_id source external_id target "
    "target_secondary target_tertiary",
    study="cell__batch__study__slug",
    batch="cell__batch_id",
    cell="cell_id",
    model="arm__variant__label",
    provider="arm__variant__account__provider",
    parameters="arm__variant__parameters",
    task=("arm__task", "acceptability, non_acceptability or base."),
    instrument_sha256="arm__prompt_hash",
    source="text__source",
    external_id="text__external_id",
    target="text__target",
    target_secondary="text__target_secondary",
    target_tertiary="text__target_tertiary",
)
_ANSWER_COLUMN = column(
    "answer",
    "cell__result__answer",
    "The answer, character by character as the rules read it; it may repeat words of the text. Empty where none came.",
)
_READING = columns(Judgment, "outcome verdict attributes n_attributes n_named n_on_schema n_strict repaired parser")
_CALL = [
    *columns(
        Judgment,
        "attempt served_model finish_reason tokens_in tokens_out tokens_reasoning",
        attempt="cell__result__attempt_id",
        served_model="cell__result__attempt__served_model",
        finish_reason="cell__result__attempt__finish_reason",
        tokens_in="cell__result__attempt__tokens_in",
        tokens_out="cell__result__attempt__tokens_out",
        tokens_reasoning="cell__result__attempt__tokens_reasoning",
    ),
    column("cost_usd", "cell__result__attempt__cost_nano", "US dollars the call cost.", Decimal),
]
_PLACE_PATHS = [each.source for each in _PLACE]
_READING_PATHS = [each.source for each in _READING]
[_CELL] = find_places(_PLACE, "cell")
_SUPERSEDED = len(_PLACE) + len(_READING)
COLUMNS = [*_PLACE, *_READING, *columns(Interpretation, "reader"), *_CALL, _ANSWER_COLUMN]


def count_answers(scope: Scope) -> int:
    """How many rows ``read_answers`` yields."""
    return Judgment.objects.filter(cell__batch__study=scope.study).count()


def read_answers(scope: Scope) -> Iterator[Sequence[object]]:
    """Every answer of the study with its current interpretation, a thousand at a time."""
    judgments = Judgment.objects.filter(cell__batch__study=scope.study).order_by("cell_id")
    paths = (*_PLACE_PATHS, *_READING_PATHS, "superseded_by_id", *(each.source for each in (*_CALL, _ANSWER_COLUMN)))
    rows = judgments.values_list(*paths)
    stream = rows.iterator(chunk_size=GROUP)
    while group := list(islice(stream, GROUP)):
        later = _find_later([row[_CELL] for row in group if row[_SUPERSEDED]])
        yield from (_join_row(row, later) for row in group)


def _find_later(cells: Sequence[int]) -> dict[int, tuple[object, ...]]:
    """The current interpretation and its reader for answers that were read again."""
    interpretations = Interpretation.objects.filter(judgment__in=cells, superseded_by=None)
    return {
        cell: tuple(values) for cell, *values in interpretations.values_list("judgment_id", *_READING_PATHS, "reader")
    }


def _join_row(row: Sequence[object], later: dict[int, tuple[object, ...]]) -> tuple[object, ...]:
    place, first = row[: len(_PLACE)], row[len(_PLACE) : _SUPERSEDED]
    *call, cost, answer = row[_SUPERSEDED + 1 :]
    current = later.get(int(str(row[_CELL])), (*first, RULES))
    return (*place, *current, *call, None if cost is None else Decimal(str(cost)) / NANO, answer)


SOB_ANSWERS = Export(
    key="sob_answers",
    name="Answers to the second-order-bias benchmark",
    sentence=(
        "How each answer was read, with its counts, the call behind it and the answer itself, which may repeat offensive "
        "words. The texts are not in it."
    ),
    row="an answer to the second-order-bias benchmark, with its current interpretation",
    columns=COLUMNS,
    permission=Permission.SEE_ALL_CODINGS,
    is_narrowed=False,
    read_rows=read_answers,
    count_rows=count_answers,
)


AT_A_TIME = 2_000


class BundleSource:
    """A batch with everything that its report is computed from. Reads batch.study. Raises ``UnknownTargets``."""

    def __init__(self, batch: Batch, choice: ReportChoice | None = None, *, with_texts: bool = True) -> None:
        self.batch, self.with_texts = batch, with_texts
        self.arms, self.texts, _, self.options = find_sources(batch, choice)
        self.arm_ids = [arm.arm_id for arm in self.arms]

    def describe(self) -> Record:
        """What the manifest says about the batch. ``versions`` names the rules that read the answers when they arrived."""
        batch = self.batch
        readers = Judgment.objects.filter(arm__in=self.arm_ids).order_by()
        parsers = sorted(set(readers.values_list("parser", flat=True).distinct())) or [PARSER_VERSION]
        return {
            "batch": {
                "number": batch.pk,
                "title": batch.title,
                "state": batch.state,
                "route": batch.route,
                "created_at": write_moment(batch.created_at),
                "finished_at": write_moment(batch.finished_at),
            },
            "seed": self.options.seed,
            "texts": "included" if self.with_texts else "hashes only",
            "versions": {"parser": " and ".join(parsers), "lexicon": LEXICON_VERSION, "report": REPORT_VERSION},
        }

    def count_rows(self) -> int:
        """How many rows the bundle has, without the few rows of small members."""
        judgments = Judgment.objects.filter(arm__in=self.arm_ids).count()
        return judgments + Attempt.objects.filter(cell__arm__in=self.arm_ids).count()

    def list_members(self) -> dict[str, Iterable[Record]]:
        """Every member in the order of the archive; rows are read while they are written."""
        return {
            names.SETTINGS: [_write_settings(self)],
            names.MAPPING: [_write_mapping(self)],
            names.TARGET_TABLE: [_write_target_table(self)],
            names.DATASETS: _read_datasets(self),
            names.INPUTS: _read_inputs(self),
            names.INSTRUMENTS: _read_instruments(self),
            names.ARMS: _read_arms(self),
            names.ANSWERS: _read_answers(self),
            names.INTERPRETATIONS: _read_interpretations(self),
            names.ATTEMPTS: _read_attempts(self),
        }


def _write_settings(source: BundleSource) -> Record:
    batch = source.batch
    launch = {"concurrency": batch.concurrency, "lost_answers": batch.lost_answers, "uses_cache": batch.uses_cache}
    money = {"cap_nano": batch.cap_nano, "spent_nano": batch.spent_nano, "reserved_nano": batch.reserved_nano}
    return {"report": asdict(source.options), "launch": {**launch, "parameters": batch.parameters}, "money": money}


def _write_mapping(source: BundleSource) -> Record:
    study, name = source.batch.study, source.options.mapping_name
    table = find_table(study, name_choice(name))
    return {"name": name, "rows": find_rows(study, name), "reason": table.reason if table else ""}


def _write_target_table(source: BundleSource) -> Record:
    """The table that named the targets when the texts were loaded; without rows if the file named them."""
    dataset = _find_datasets(source).select_related("target_table").first()
    if dataset is None or dataset.target_table is None:
        return {"name": dataset.targets_from if dataset else "", "rows": [], "reason": ""}
    table = dataset.target_table
    return {"name": f"table {table.number}", "rows": table.rows, "reason": table.reason}


def _find_datasets(source: BundleSource) -> QuerySet[Dataset]:
    return Dataset.objects.filter(pk__in=find_batch_texts(source.batch).order_by().values("dataset")).order_by("pk")


def _read_datasets(source: BundleSource) -> Iterator[Record]:
    fields = ("name", "file_name", "sha256", "format", "source_name", "licence", "split", "filter", "sampling")
    for dataset in _find_datasets(source):
        yield {"dataset": dataset.pk, "targets_from": dataset.targets_from} | {
            name: getattr(dataset, name) for name in fields
        }


def _read_inputs(source: BundleSource) -> Iterator[Record]:
    """The texts that were asked about; the other texts of the dataset do not belong to the batch."""
    named = dict(zip(source.texts.ids, zip(source.texts.targets, source.texts.secondaries, strict=True), strict=True))
    fields = ("position", "source", "external_id", "target_raw", "kind")
    texts = find_asked_texts(source.arm_ids).order_by("dataset_id", "position")
    for text in texts.iterator(chunk_size=AT_A_TIME):
        target, secondaries = named[text.pk]
        record = {"item": text.pk, "sha256": hash_text(text.text), "target": target, "secondary": list(secondaries)}
        record |= {"dataset": text.dataset_id} | {name: getattr(text, name) for name in fields}
        yield record | ({"text": text.text} if source.with_texts else {})


def _read_instruments(source: BundleSource) -> Iterator[Record]:
    seen: set[str] = set()
    for arm in _find_arms(source):
        digest = hash_text(arm.system_prompt)
        if digest not in seen:
            seen.add(digest)
            name = arm.settings.get("instrument", "")
            yield {"sha256": digest, "task": arm.task, "instrument": name, "text": arm.system_prompt}


def _find_arms(source: BundleSource) -> QuerySet[Arm]:
    arms = Arm.objects.filter(batch=source.batch).order_by("pk")
    return arms.select_related("variant__account", "price", "capabilities")


def _read_arms(source: BundleSource) -> Iterator[Record]:
    asked = {arm.arm_id: arm for arm in source.arms}
    for arm in _find_arms(source):
        yield {
            "arm": arm.pk,
            "name": asked[arm.pk].model,
            "task": arm.task,
            "instrument": asked[arm.pk].instrument,
            "instrument_sha256": hash_text(arm.system_prompt),
            "schema": list(find_schema(arm)),
            "settings": arm.settings,
            "variant": _write_variant(arm),
            "price_in": _write_decimal(arm.price_in),
            "price_out": _write_decimal(arm.price_out),
            "price": _write_row(arm.price, "number price_in price_out batch_share source"),
            "capabilities": _write_row(
                arm.capabilities,
                "number reasoning token_limit takes_system takes_temperature takes_top_p takes_seed takes_stop "
                "max_output_tokens source",
            ),
        }


def _write_variant(arm: Arm) -> Record:
    """The setting under which a model was asked, without the key of its account and without a name or password in the address."""
    variant = arm.variant
    address = urlsplit(variant.account.base_url)
    host = address.netloc.rpartition("@")[2]
    return {
        "label": variant.label,
        "provider": variant.account.provider,
        "base_url": urlunsplit((address.scheme, host, address.path, "", "")),
        "model": variant.model,
        "reasoning": variant.reasoning,
        "max_tokens": variant.max_tokens,
        "timeout_seconds": variant.timeout_seconds,
        "parameters": _clean(variant.parameters),
    }


def _clean(value: Any) -> Any:
    """The parameters without anything that looks like a key."""
    if isinstance(value, Mapping):
        return {str(name): _clean(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_clean(inner) for inner in value]
    return remove_keys(value) if isinstance(value, str) else value


def _write_row(row: Any, fields: str) -> Record | None:
    if row is None:
        return None
    values = {name: getattr(row, name) for name in fields.split()}
    return {name: _write_decimal(value) if isinstance(value, Decimal) else value for name, value in values.items()}


_ANSWER = {
    "cell": "cell_id",
    "arm": "arm_id",
    "item": "text_id",
    "repeat": "repeat",
    "outcome": "outcome",
    "n_attributes": "n_attributes",
    "parser": "parser",
    "answer": "cell__result__answer",
    "attempt": "cell__result__attempt_id",
    "request_id": "cell__result__attempt__request_id",
    "provider_request_id": "cell__result__attempt__provider_request_id",
    "finish_reason": "cell__result__attempt__finish_reason",
    "served_model": "cell__result__attempt__served_model",
    "tokens_in": "cell__result__attempt__tokens_in",
    "tokens_out": "cell__result__attempt__tokens_out",
    "tokens_reasoning": "cell__result__attempt__tokens_reasoning",
    "cost_nano": "cell__result__attempt__cost_nano",
}


def _read_answers(source: BundleSource) -> Iterator[Record]:
    """One line per judgment; ``answer`` is null if no provider gave one. ``outcome`` is by the rules when the answer arrived."""
    # Arm by arm, because a report has its models in the order of the launch.
    for arm_id in source.arm_ids:
        judgments = Judgment.objects.filter(arm=arm_id).order_by("cell_id")
        for row in judgments.values_list(*_ANSWER.values()).iterator(chunk_size=AT_A_TIME):
            record = dict(zip(_ANSWER, row, strict=True))
            record["request_id"] = str(record["request_id"]) if record["request_id"] else None
            record["finish_reason"] = record["finish_reason"] or ""
            yield record


def _read_interpretations(source: BundleSource) -> Iterator[Record]:
    """Later interpretations, oldest first. People's names are left out, because a bundle is given to others."""
    fields = ("number", "reader", "outcome", "verdict", "attributes", "n_attributes", "is_object", "repaired", "parser")
    interpretations = Interpretation.objects.filter(judgment__arm__in=source.arm_ids)
    for row in (
        interpretations.order_by("judgment_id", "number").values_list("judgment_id", "made_at", *fields).iterator()
    ):
        cell, made_at, *values = row
        yield {"cell": cell, "made_at": write_moment(made_at), **dict(zip(fields, values, strict=True))}


_ATTEMPT = (
    "cell_id arm_id fence request_id request_hash written_at sent_at done_at end http_status error_class error "
    "provider_request_id provider_answer_id served_route served_model finish_reason tokens_in tokens_out tokens_cached "
    "tokens_reasoning reserved_nano cost_nano"
)


def _read_attempts(source: BundleSource) -> Iterator[Record]:
    """Every attempt, including those whose end is unknown; without the bodies, because the answers have a separate member."""
    columns = _ATTEMPT.split()
    names = [{"cell_id": "cell", "arm_id": "arm"}.get(column, column) for column in columns]
    attempts = Attempt.objects.filter(arm__in=source.arm_ids).order_by("pk")
    for pk, *values in attempts.values_list("pk", *columns).iterator(chunk_size=AT_A_TIME):
        record = dict(zip(names, values, strict=True))
        for name in ("written_at", "sent_at", "done_at"):
            record[name] = write_moment(record[name])
        yield {"attempt": pk, **record, "request_id": str(record["request_id"]), "error": remove_keys(record["error"])}


def write_moment(moment: datetime.datetime | None) -> str | None:
    """A time in UTC as ISO 8601."""
    return moment.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z") if moment else None


def _write_decimal(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"
