"""A report as every file reads it, small enough to count by hand. Names and values are our own."""

from __future__ import annotations

from typing import Any

from auditapp.benchmarks.sob.pure.instruments import TARGETS

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


def make_report() -> dict[str, Any]:
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


def make_cell(model: str, task: str, target: str, score: float) -> dict[str, Any]:
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


def make_friedman(task: str) -> dict[str, Any]:
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


def make_social_map(model: str | None, task: str) -> dict[str, Any]:
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


def make_top_values(model: str | None, task: str, target: str) -> dict[str, Any]:
    names = ["White", "American", "man", "heterosexual", "adult"]
    if model == MODELS[2]:
        start = TARGETS.index(target) % len(ODD_VALUES)
        names = [ODD_VALUES[(start + step) % len(ODD_VALUES)] for step in range(4)]
    values = [{"value": name, "count": 60 - 10 * place, "pct": 60.0 - 10 * place} for place, name in enumerate(names)]
    return {"model": model, "task": task, "target": target, "denominator": 100, "values": values}
