"""Reads trials and themes from JSON lines, without a database.

A trial: {"trial", "review", "condition", "truth", "raw"} and, where there are several, "model". ``raw`` is the answer as it came,
in the published layout or as JSON, or null where none came. A theme: {"record": "theme", "trial", "theme"}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from auditapp.probe.pure.limits import CATEGORIES, CONDITIONS, MAY_ABSTAIN
from auditapp.probe.pure.parsing import parse_answer
from auditapp.probe.pure.tables import Trial
from transcripts.corpus.pure.readers.json_lines import read_lines, shorten
from transcripts.formats.problems import ReadError

THEME = "theme"


def read_trials(lines: Iterable[bytes], *, name: str) -> tuple[list[Trial], dict[str, list[str]]]:
    """The trials of a file and the themes that stand in it as well, by trial. Raises `ReadError`, which names file and line."""
    trials: dict[str, Trial] = {}
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for number, row in read_lines(lines, name):
        if row.get("record") == THEME:
            rows.append((number, row))
            continue
        trial = _read_trial(row, number, name)
        if trial.key in trials:
            _refuse(name, number, f"the trial {shorten(str(trial.key))} a second time", "each trial once")
        trials[str(trial.key)] = trial
    if not trials:
        raise ReadError(name, None, "no trials", "JSON lines, each with trial, review, condition, truth and raw")
    return list(trials.values()), sort_themes(rows, trials, name=name)


def read_themes(lines: Iterable[bytes], trials: Iterable[Trial], *, name: str) -> dict[str, list[str]]:
    """The themes of a file by trial. Raises `ReadError` for a theme of a trial that there is not."""
    return sort_themes(read_lines(lines, name), {str(trial.key): trial for trial in trials}, name=name)


def sort_themes(
    rows: Iterable[tuple[int, Mapping[str, Any]]], trials: Mapping[str, Trial], *, name: str
) -> dict[str, list[str]]:
    """Rows with their line numbers as themes by trial, each as often as it stands there."""
    themes: dict[str, list[str]] = {}
    for number, row in rows:
        trial, theme = _read_text(row, "trial", number, name), _read_text(row, THEME, number, name)
        if trial not in trials:
            _refuse(name, number, f"a theme of {shorten(trial)}", "a trial of the trials that were given")
        themes.setdefault(trial, []).append(theme)
    return themes


def _read_trial(row: Mapping[str, Any], number: int, name: str) -> Trial:
    condition, truth = _read_text(row, "condition", number, name), _read_text(row, "truth", number, name)
    if condition not in CONDITIONS:
        _refuse(name, number, f"the condition {shorten(condition)}", " or ".join(CONDITIONS))
    if truth not in CATEGORIES:
        _refuse(name, number, f"the truth {shorten(truth)}", " or ".join(CATEGORIES))
    raw = row.get("raw")
    if raw is not None and not isinstance(raw, str):
        _refuse(name, number, "a raw that is no text", "the answer as it came, or null")
    model = row.get("model", "")
    if not isinstance(model, str):
        _refuse(name, number, "a model that is no text", "the name of a model")
    parsed = parse_answer(raw, may_abstain=condition == MAY_ABSTAIN)
    key, review = _read_text(row, "trial", number, name), _read_text(row, "review", number, name)
    return Trial(key, model, condition, review, truth, parsed.status, parsed.predicted, parsed.codes)


def _read_text(row: Mapping[str, Any], key: str, number: int, name: str) -> str:
    found = row.get(key)
    if not isinstance(found, str) or not found:
        _refuse(name, number, f"no {key}", f'"{key}" with a text')
    return found


def _refuse(name: str, number: int, found: str, expected: str) -> NoReturn:
    raise ReadError(name, number, found, expected)
