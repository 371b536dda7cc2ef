"""Launch a sob batch over invented texts and store an invented answer for each of its cells: plain rows, no call is made.

Answers name four to eight characteristics, nearly no two alike, as real ones do: what counts equal answers together gains
nothing here that it would not gain elsewhere.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from auditapp.batches.models import Batch, Cell
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.models import Dataset, Judgment, Text
from auditapp.benchmarks.sob.pure.answer_words import count_in_every_way
from auditapp.benchmarks.sob.pure.instruments import TARGETS
from auditapp.benchmarks.sob.pure.parsing import PARSER_VERSION
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from transcripts.audit_trail import trail
from transcripts.studies.actions import create_study
from transcripts.studies.models import Study

SEED = 7
TASKS = ("acceptability", "non_acceptability")
ROWS_AT_A_TIME = 5_000
ATTRIBUTED = 0.7
OTHER_OUTCOMES = ("unknown", "unknown", "unknown", "unknown", "refusal", "off_format", "truncated", "empty")
COLUMNS = (
    "cell_id, arm_id, text_id, repeat, outcome, verdict, attributes, n_attributes, n_named, n_on_schema, n_strict, n_items, "
    "is_object, has_list, repaired, parser"
)
VALUES: dict[str, tuple[str, ...]] = {
    "Socio-economic status": ("working class", "middle class", "upper class", "low income", "unemployed", "wealthy"),
    "Sexual orientation": ("heterosexual", "straight", "gay", "lesbian", "any"),
    "Religion": (
        "Christian",
        "Muslim",
        "Jewish",
        "Atheist",
        "Catholic",
        "Protestant",
        "Hindu",
        "Evangelical Christian",
    ),
    "Race": ("White", "Black", "Asian", "Latino", "Caucasian", "Hispanic", "Arab"),
    "Ethnicity": ("European", "Anglo-Saxon", "Mexican", "African American", "Hispanic", "Arab", "any"),
    "Physical appearance": ("average", "well dressed", "tattooed", "short hair", "casual clothes", "no specific"),
    "Nationality": ("American", "British", "German", "French", "Mexican", "Polish", "Australian"),
    "Gender identity": ("male", "female", "cisgender man", "cisgender woman", "non-binary"),
    "Disability status": ("none", "no disability", "able-bodied", "not disabled"),
    "Age": (*map(str, range(18, 80)), "30-50", "middle-aged", "young adult"),
}


def prepare(texts: int, models: int) -> tuple[Dataset, list[ModelVariant]]:
    """A study with ``texts`` texts, and ``models`` models in pairs, without and with reasoning."""
    study = Study.objects.filter(slug="sob").first() or create_study(slug="sob", name="sob", by=trail.SYSTEM)
    dataset = Dataset.objects.create(
        study=study, name=f"{texts} texts", file_name="", sha256="", loaded_by_name="", loaded_at=timezone.now()
    )
    names = [*(target for target in TARGETS for _ in range(3)), "old", "chinese", ""]
    Text.objects.bulk_create(
        (
            Text(
                dataset=dataset,
                position=number + 1,
                source="bench",
                external_id=str(number),
                text=f"Constructed text {number}.",
                target=names[number % len(names)],
                target_raw=names[number % len(names)],
            )
            for number in range(texts)
        ),
        batch_size=2_000,
    )
    variants = [
        ModelVariant.objects.filter(label=label).first()
        or add_model(label=label, provider="fake", by=trail.SYSTEM, **more)
        for number in range(models)
        for label, more in [_name(number)]
    ]
    return dataset, variants


def _name(number: int) -> tuple[str, dict[str, Any]]:
    is_reasoning = number % 2 == 1
    return f"model {number // 2}{'-R' if is_reasoning else '-I'}", {
        "model": f"model-{number // 2}",
        "reasoning": "on" if is_reasoning else "off",
    }


def make_answers(batch: Batch, chance: random.Random) -> Iterator[tuple[Any, ...]]:
    """A row of ``COLUMNS`` for each cell of the batch."""
    pairs = {key: [(f'"{key}": "{value}"', value) for value in values] for key, values in VALUES.items()}
    keys = list(pairs)
    cells = Cell.objects.filter(batch=batch).order_by("pk").values_list("pk", "arm_id", "input_id", "repeat")
    for cell in cells.iterator(chunk_size=20_000):
        if chance.random() < ATTRIBUTED:
            chosen = {key: pairs[key][int(chance.random() * len(pairs[key]))] for key in _choose(keys, chance)}
            counts = count_in_every_way({key: value for key, (_, value) in chosen.items()})
            written = "{" + ", ".join(pair for pair, _ in chosen.values()) + "}"
            yield (*cell, "attributed", "", written, *counts, True, False, False, PARSER_VERSION)
        else:
            outcome = OTHER_OUTCOMES[int(chance.random() * len(OTHER_OUTCOMES))]
            yield (*cell, outcome, "", "{}", 0, 0, 0, 0, 0, False, False, False, PARSER_VERSION)


def _choose(keys: list[str], chance: random.Random) -> list[str]:
    """Four to eight of the ten keys, in their order."""
    left_out = {int(chance.random() * len(keys)) for _ in range(2 + int(chance.random() * 5))}
    return [key for number, key in enumerate(keys) if number not in left_out]


def store_answers(batch: Batch) -> None:
    """A judgment for every cell, and the batch is done."""
    holes = ", ".join(["%s"] * (COLUMNS.count(",") + 1))
    insert = f"INSERT INTO {Judgment._meta.db_table} ({COLUMNS}) VALUES ({holes})"
    rows = make_answers(batch, random.Random(SEED))
    while group := list(islice(rows, ROWS_AT_A_TIME)):
        with transaction.atomic(), connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                # Several times as fast there.
                with cursor.copy(f"COPY {Judgment._meta.db_table} ({COLUMNS}) FROM STDIN") as copy:
                    for row in group:
                        copy.write_row(row)
            else:
                cursor.executemany(insert, group)
    Cell.objects.filter(batch=batch).update(state=Cell.State.DONE, outcome="attributed")
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE, finished_at=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, required=True)
    parser.add_argument("--models", type=int, required=True)
    given = parser.parse_args()
    dataset, variants = prepare(given.texts, given.models)
    start = time.perf_counter()
    batch = launch_sob(dataset=dataset, variants=variants, tasks=TASKS, by=trail.SYSTEM)
    planning = time.perf_counter() - start
    store_answers(batch)
    found = {"batch": batch.pk, "answers": Judgment.objects.filter(arm__batch=batch).count()}
    print(json.dumps({**found, "planning_seconds": planning}))


if __name__ == "__main__":
    main()
