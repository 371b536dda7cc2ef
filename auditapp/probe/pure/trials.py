"""Reads trials and themes from JSON lines, without a database.

A trial: {"trial", "review", "condition", "truth", "raw"} and, where there are several, "model". ``raw`` is the answer as it came,
in the published layout or as JSON, or null where none came. A theme: {"record": "theme", "trial", "theme"}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from auditapp.probe.pure.limits import CATEGORIES, CONDITIONS, MAY_ABSTAIN
from auditapp.probe.pure.parsing import parse_answer
from auditapp.probe.pure.tables import Trial
from transcripts.formats.json_fields import Row, WrongField, refuse_field, take_choice, take_text
from transcripts.formats.json_lines import read_lines, shorten
from transcripts.formats.problems import ReadError

THEME = "theme"


def read_trials(lines: Iterable[bytes], *, name: str) -> tuple[list[Trial], dict[str, list[str]]]:
    """The trials of a file and the themes that stand in it as well, by trial. Raises `ReadError`, which names file and line."""
    trials: dict[str, Trial] = {}
    rows: list[tuple[int, Row]] = []
    for number, row in read_lines(lines, name):
        if row.get("record") == THEME:
            rows.append((number, row))
            continue
        try:
            trial = _read_trial(row)
        except WrongField as error:
            raise ReadError(name, number, *error.args) from None
        if trial.key in trials:
            raise ReadError(name, number, f"the trial {shorten(str(trial.key))} a second time", "each trial once")
        trials[str(trial.key)] = trial
    if not trials:
        raise ReadError(name, None, "no trials", "JSON lines, each with trial, review, condition, truth and raw")
    return list(trials.values()), sort_themes(rows, trials, name=name)


def read_themes(lines: Iterable[bytes], trials: Iterable[Trial], *, name: str) -> dict[str, list[str]]:
    """The themes of a file by trial. Raises `ReadError` for a theme of a trial that there is not."""
    return sort_themes(read_lines(lines, name), {str(trial.key): trial for trial in trials}, name=name)


def sort_themes(rows: Iterable[tuple[int, Row]], trials: Mapping[str, Trial], *, name: str) -> dict[str, list[str]]:
    """Rows with their line numbers as themes by trial, each as often as it stands there."""
    themes: dict[str, list[str]] = {}
    for number, row in rows:
        try:
            trial, theme = take_text(row, "trial"), take_text(row, THEME)
        except WrongField as error:
            raise ReadError(name, number, *error.args) from None
        if trial not in trials:
            raise ReadError(name, number, f"a theme of {shorten(trial)}", "a trial of the trials that were given")
        themes.setdefault(trial, []).append(theme)
    return themes


def _read_trial(row: Row) -> Trial:
    condition, truth = take_choice(row, "condition", CONDITIONS), take_choice(row, "truth", CATEGORIES)
    raw = row.get("raw")
    if raw is not None and not isinstance(raw, str):
        raise refuse_field(row, ["raw"], "the answer as it came, or null")
    parsed = parse_answer(raw, may_abstain=condition == MAY_ABSTAIN)
    key, model, review = take_text(row, "trial"), take_text(row, "model", default=""), take_text(row, "review")
    return Trial(key, model, condition, review, truth, parsed.status, parsed.predicted, parsed.codes)
