"""A batch of which every kind of answer was stored, and its current interpretations one by one.

A report as every file reads it, small enough to count by hand. Names and values are our own."""

import json

from django.utils import timezone

from auditapp.batches.kinds import Answered
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.benchmarks.sob.judging.kind import (
    SobKind,
    add_interpretations,
    find_current_interpretations,
    lock_judgments,
    make_interpretation,
)
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.models import Interpretation, Judgment, Text
from auditapp.benchmarks.sob.pure.answer_words import Outcome
from auditapp.benchmarks.sob.pure.instruments import TARGETS
from auditapp.benchmarks.sob.pure.parsing import parse_answer
from auditapp.benchmarks.sob.pure.scores import Observation
from auditapp.llm.actions import add_model

ANSWERS = [
    '{"Race": "White", "Age": "35", "Religion": "Christian"}',
    "Person: Unknown",
    "```json\n{'Race': 'Latina', 'Gender': 'female', 'Hobby': 'chess',}\n```",
    "I cannot help with that.",
    '{"Race": ["White", "Black"], "Age": 35}',
    "{}",
    "It depends on whom you ask.",
    None,
    '{"Race": "any", "Nationality": {"of birth": "Mexican", "now": "American"}}',
    '{"Ethnicity": "Hispanic", "Race": "hispanic ", "Gender identity": "woman", "Disability status": "none"}',
]
VERDICTS = ["Non-acceptable. It demeans.", "Acceptable.", "Uncertain", "", "I cannot help with that."]


def launch(dataset, by, *, repeats=1):
    """Two variants of one model, without and with reasoning, and a third; both tasks."""
    variants = [
        add_model(label="a-I", provider="fake", model="a", reasoning="off", by=by),
        add_model(label="a-R", provider="fake", model="a", reasoning="on", by=by),
        add_model(label="b", provider="fake", model="b", by=by),
    ]
    tasks = ["acceptability", "non_acceptability"]
    return launch_sob(dataset=dataset, variants=variants, tasks=tasks, options=LaunchOptions(repeats=repeats), by=by)


def answer_all(batch, answers=tuple(ANSWERS)):
    """Store an answer for each cell, in turn."""
    cells = Cell.objects.filter(batch=batch, arm__task__endswith="acceptability").order_by("pk")
    store(batch, [(cell, answers[number % len(answers)]) for number, cell in enumerate(cells)])


def store(batch, pairs):
    answered = [Answered(cell.pk, cell.arm_id, cell.input_id, answer, "stop", "") for cell, answer in pairs]
    SobKind().store_answers(batch, answered)
    Cell.objects.filter(pk__in=[cell.pk for cell, _ in pairs]).update(state=Cell.State.DONE)


def add_arm(batch, task, *, like, instrument="paper"):
    """One more arm with its cells."""
    arm = Arm.objects.create(
        batch=batch,
        variant=like.variant,
        task=task,
        system_prompt=instrument,
        prompt_hash=instrument.ljust(64, "0"),
        settings={"instrument": instrument},
    )
    texts = Cell.objects.filter(arm=like, repeat=1).order_by("pk").values_list("input_id", flat=True)
    return [Cell.objects.create(batch=batch, arm=arm, input_id=text) for text in texts]


def read_again(judgment, by, answer):
    """A person reads an answer as ``answer``."""
    locked = lock_judgments([judgment.pk])[judgment.pk]
    current = find_current_interpretations([judgment.pk])
    interpretation = make_interpretation(
        locked,
        current.get(judgment.pk),
        parse_answer(answer),
        reader="person",
        read_by=by,
        read_by_name="x",
        parser="x",
    )
    add_interpretations([interpretation], current)
    return interpretation


def observe(batch):
    """Every current interpretation, found without the queries under test."""
    for judgment in Judgment.objects.filter(cell__batch=batch).select_related("arm__variant", "text").order_by("pk"):
        current = Interpretation.objects.filter(judgment=judgment).order_by("number").last() or judgment
        text = judgment.text
        yield Observation(
            model=judgment.arm.variant.label,
            task=judgment.arm.task,
            item=text.pk,
            target=text.target,
            outcome=Outcome(current.outcome),
            attributes=current.attributes,
            secondary=tuple(filter(None, (text.target_secondary, text.target_tertiary))),
            repeat=judgment.repeat,
            is_object=current.is_object,
            verdict=current.verdict,
            reader=current.reader if isinstance(current, Interpretation) else "rules",
            repaired=current.repaired,
        )


def write_responses(batch, answers=tuple(ANSWERS)):
    """What ``answer_all`` stored, as a file that ``sob report --responses`` takes."""
    cells = Cell.objects.filter(batch=batch, arm__task__endswith="acceptability").select_related("arm__variant")
    texts = Text.objects.in_bulk([cell.input_id for cell in cells])
    lines = []
    for number, cell in enumerate(cells.order_by("pk")):
        text, answer = texts[cell.input_id], answers[number % len(answers)]
        line = {
            "model": cell.arm.variant.label,
            "task": cell.arm.task,
            "item": text.pk,
            "target": text.target,
            "secondary": list(filter(None, (text.target_secondary, text.target_tertiary))),
            "repeat": cell.repeat,
        }
        if answer is None:
            line |= {"outcome": "provider_error", "attributes": {}}
        else:
            line |= {"raw": answer}
        lines.append(json.dumps(line))
    return "\n".join(lines)


def finish(batch):
    """The batch is done."""
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE, finished_at=timezone.now())
    batch.refresh_from_db()


TASKS = ("acceptability", "non_acceptability")
MODELS = ("alpha-I", "alpha-T", "beta_1")
ODD_VALUES = (
    "\\input{/etc/passwd}",
    "50% & more_#1 $x^2$ ~ {curly} \\write18{ls}",
    "[optional] *star* --dash-- ?`query'' ,, <<a>> |b| \"q\"",
    "=HYPERLINK(1)",
    "Noël Ünsal Łódź",
    "中文 עברית العربية 😀",
    "\x07bell\u202eright-to-left\u200bzero\r\nnext line",
    "a" * 300,
)
"""Values as models may answer them, each with something that LaTeX, a spreadsheet or a page would take for more."""


def make_report():
    """Three models, both tasks, the ten targets; the last model's last target is undefined."""
    return {
        "versions": {
            "report": "1",
            "parser": "rules-1",
            "lexicon": "lexicon-1",
            "instrument": ["paper"],
            "targets": "as loaded",
            "mapping": "published",
            "seed": 42,
            "resamples": 2000,
        },
        "cells": [
            make_cell(model, task, target, row + column / 10)
            for row, model in enumerate(MODELS)
            for task in TASKS
            for column, target in enumerate(("overall", *TARGETS))
        ],
        "friedman": [make_friedman(task) for task in TASKS],
        "posthoc": [
            {
                "task": TASKS[0],
                "blocks": "models",
                "method": "nemenyi",
                "adjustment": None,
                "critical_difference": 3.9,
                "alpha": 0.05,
                "pairs": [
                    {"a": "arab", "b": "jew", "difference": 2.5, "statistic": 1.5, "p": 0.01, "p_adjusted": None}
                ],
            }
        ],
        "paired": [],
        "sensitivity": [],
        "repeats": [],
        "secondary": [],
        "secondary_contrast": [],
        "top_values": [
            make_top_values(model, task, target) for model in (None, *MODELS) for task in TASKS for target in TARGETS
        ],
        "social_map": [make_social_map(model, task) for model in (None, *MODELS) for task in TASKS],
        "mapping": [
            {
                "task": task,
                "target": target,
                "model": None,
                "kind": kind,
                "rule": "any",
                "match": "exact",
                "denominator": 200,
                "count": 50,
                "pct": 25.0,
                "ci": [0.195, 0.314],
            }
            for task in TASKS
            for target in TARGETS
            for kind in ("self", "dominant")
        ],
        "harms": [],
        "readers": [],
        "base": [],
        "warnings": ["Only 3 models: the chi-squared approximation is poor & says little."],
    }


def make_cell(model, task, target, score):
    undefined = (model, target) == (MODELS[-1], TARGETS[-1])
    return {
        "model": model,
        "task": task,
        "target": target,
        "n_responses": 100,
        "n_refused": 2,
        "n_null": 98 if undefined else 3,
        "n_nonrefused": 0 if undefined else 95,
        "n_attributed": 0 if undefined else 50,
        "attribution_rate": None if undefined else 0.5,
        "mean_attributes": None if undefined else 2.0,
        "sob": None if undefined else score,
        "n_attributes": 100,
        "outcomes": {"attributed": 50, "unknown": 45, "refusal": 2, "truncated": 1, "off_format": 1, "empty": 1},
        "n_items": 100,
        "attribution_rate_strict": 0.4,
        "sob_strict": score / 2,
        "attribution_rate_released": 0.5,
        "sob_released": score,
        "ci": None if undefined else [score - 0.1, score + 0.1],
        "ci_strict": None,
    }


def make_friedman(task):
    return {
        "task": task,
        "blocks": "models",
        "targets": list(TARGETS),
        "chi2": 21.5,
        "df": 9,
        "p": 0.0106,
        "kendalls_w": 0.797,
        "n_blocks": 3,
        "k_treatments": 10,
        "mean_ranks": {target: 10 - number * 0.9 for number, target in enumerate(TARGETS)},
        "iman_davenport_f": 7.8,
        "iman_davenport_p": 0.0001,
        "iman_davenport_df": [9, 18],
        "ties_corrected": True,
        "dropped": ["beta_1"],
        "counting": "paper",
        "warnings": [],
    }


def make_social_map(model, task):
    """The same values for every model; nothing is attributed to texts on the last target."""
    values = ["White", "Muslim", "adult", *ODD_VALUES]
    counts = [[60, 7, *[0] * (len(values) - 2)] for _ in TARGETS]
    return {
        "task": task,
        "model": model,
        "values": values,
        "targets": list(TARGETS),
        "denominators": [*[100] * (len(TARGETS) - 1), 0],
        "counts": [*counts[:-1], [0] * len(values)],
    }


def make_top_values(model, task, target):
    names = ["White", "American", "man", "heterosexual", "adult"]
    if model == MODELS[2]:
        start = TARGETS.index(target) % len(ODD_VALUES)
        names = [ODD_VALUES[(start + step) % len(ODD_VALUES)] for step in range(4)]
    values = [{"value": name, "count": 60 - 10 * place, "pct": 60.0 - 10 * place} for place, name in enumerate(names)]
    return {"model": model, "task": task, "target": target, "denominator": 100, "values": values}
