"""Reads trials and themes from JSON lines, without a database.

A trial: {"trial", "review", "condition", "truth", "raw"} and, where there are several, "model". ``raw`` is the answer as it came,
in the published layout or as JSON, or null where none came. A theme: {"record": "theme", "trial", "theme"}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from auditapp.benchmarks.gender_cues.pure.design import CATEGORIES, CONDITIONS, MAY_ABSTAIN
from auditapp.benchmarks.gender_cues.pure.parsing import parse_answer
from auditapp.benchmarks.gender_cues.pure.tables import Trial
from transcripts.formats.json_lines import Row, read_each, read_lines, shorten, take_choice, take_text, take_words
from transcripts.formats.problems import ReadError

THEME = "theme"
RAW = "the answer as it came, or null"


def read_trials(lines: Iterable[bytes], *, name: str) -> tuple[list[Trial], dict[str, list[str]]]:
    """The trials of a file and the themes that stand in it as well, by trial. Raises `ReadError`, which names file and line."""
    trials: dict[str, Trial] = {}
    themes: list[tuple[int, tuple[str, str]]] = []
    for number, made in read_each(read_lines(lines, name), name, _read_record):
        if not isinstance(made, Trial):
            themes.append((number, made))
            continue
        if made.key in trials:
            raise ReadError(name, number, f"the trial {shorten(str(made.key))} a second time", "each trial once")
        trials[str(made.key)] = made
    if not trials:
        raise ReadError(name, None, "no trials", "JSON lines, each with trial, review, condition, truth and raw")
    return list(trials.values()), _sort_themes(themes, trials, name=name)


def read_themes(lines: Iterable[bytes], trials: Iterable[Trial], *, name: str) -> dict[str, list[str]]:
    """The themes of a file by trial. Raises `ReadError` for a theme of a trial that there is not."""
    themes = read_each(read_lines(lines, name), name, _read_theme)
    return _sort_themes(themes, {str(trial.key): trial for trial in trials}, name=name)


def _sort_themes(
    themes: Iterable[tuple[int, tuple[str, str]]], trials: Mapping[str, Trial], *, name: str
) -> dict[str, list[str]]:
    """Trials and themes with their line numbers as themes by trial, each as often as it is there."""
    found: dict[str, list[str]] = {}
    for number, (trial, theme) in themes:
        if trial not in trials:
            raise ReadError(name, number, f"a theme of {shorten(trial)}", "a trial of the trials that were given")
        found.setdefault(trial, []).append(theme)
    return found


def _read_record(row: Row) -> Trial | tuple[str, str]:
    return _read_theme(row) if row.get("record") == THEME else _read_trial(row)


def _read_theme(row: Row) -> tuple[str, str]:
    return take_text(row, "trial"), take_text(row, THEME)


def _read_trial(row: Row) -> Trial:
    condition, truth = take_choice(row, "condition", CONDITIONS), take_choice(row, "truth", CATEGORIES)
    parsed = parse_answer(take_words(row, "raw", RAW), may_abstain=condition == MAY_ABSTAIN)
    key, model, review = take_text(row, "trial"), take_text(row, "model", default=""), take_text(row, "review")
    return Trial(key, model, condition, review, truth, parsed.status, parsed.predicted, parsed.codes)
