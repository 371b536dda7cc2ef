"""How well codes can be learnt from a file of codings: one half of its texts is learnt from, the other read.

A code that a study would not go by is scored all the same, from the share of examples that have it on: the figures are to
be seen as they are.

The file is CSV with the columns unit, group, text and codes (several between semicolons), or JSON lines of such objects.
A line with ``theme`` and ``turns`` or ``text`` instead is one excerpt, as papers publish them: every sentence of the model
in it has its theme, and one without a theme is left out. Knows nothing of Django.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from auditapp.preannotation.annotators.pure.learning import (
    MIN_INTERVIEWS,
    MIN_POSITIVES,
    Lesson,
    NothingToLearn,
    count_examples,
    fit,
    learn,
)
from transcripts.agreement.pure.label_files import find_separator
from transcripts.corpus.pure.segmenting import segment
from transcripts.formats.csv_input import read_csv
from transcripts.statistics.intervals import wilson_interval

COLUMNS = ("unit", "group", "text", "codes")
MAX_FILE = 64 * 1024 * 1024


class BadFile(ValueError):
    """What is wrong with the file, and in which line."""


class CodedText(NamedTuple):
    """A sentence that was decided about, the group (an interview, an excerpt) it is from, and its codes."""

    unit: str
    group: str
    text: str
    codes: frozenset[str]


def read_texts(path: Path) -> list[CodedText]:
    """The texts of a file. Raises ``BadFile`` and ``OSError``."""
    if path.stat().st_size > MAX_FILE:
        raise BadFile(f"The file is larger than {MAX_FILE // 1024 // 1024} MB.")
    try:
        lines = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile("The file is not in UTF-8.") from error
    rows = list(_read_csv(lines) if path.suffix == ".csv" else _read_lines(lines))
    repeated = [unit for unit, count in Counter(row.unit for row in rows).items() if count > 1]
    if repeated:
        raise BadFile(f"The unit {repeated[0]!r} occurs more than once.")
    if not rows:
        raise BadFile("There is no text in the file.")
    return rows


def _read_csv(lines: str) -> Iterator[CodedText]:
    reader = read_csv(lines.splitlines(keepends=True), strict=False)
    headings = next(reader, [])
    if parted := find_separator(headings):
        raise BadFile(f"The columns in line 1 are separated by {parted}, not by commas.")
    missing = [name for name in COLUMNS if name not in headings]
    if missing:
        raise BadFile(f"The column {missing[0]} is missing; there have to be {', '.join(COLUMNS)}.")
    for cells in filter(None, reader):
        row = dict.fromkeys(COLUMNS, "") | dict(zip(headings, cells, strict=False))
        codes = frozenset(code.strip() for code in row["codes"].split(";") if code.strip())
        yield CodedText(row["unit"], row["group"], row["text"], codes)


def _read_lines(lines: str) -> Iterator[CodedText]:
    for number, line in enumerate(lines.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            yield from _read_excerpt(row) if "theme" in row else [_read_row(row)]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadFile(
                f"Line {number} is no JSON object with {', '.join(COLUMNS)}, nor with id, theme and turns or text."
            ) from error


def _read_row(row: Mapping[str, Any]) -> CodedText:
    codes = row["codes"].split(";") if isinstance(row["codes"], str) else row["codes"]
    return CodedText(
        str(row["unit"]), str(row["group"]), str(row["text"]), frozenset(code.strip() for code in codes if code.strip())
    )


def _read_excerpt(row: Mapping[str, Any]) -> Iterator[CodedText]:
    if row["theme"] is None:
        return
    turns = row["turns"] if "turns" in row else [{"role": "model", "text": row["text"]}]
    said = [turn["text"] for turn in turns if turn["role"] == "model"]
    sentences = (text[span.start : span.end] for text in said for span in segment(text))
    for number, sentence in enumerate(sentences, 1):
        yield CodedText(f"{row['id']}.{number}", str(row["id"]), sentence, frozenset([row["theme"]]))


def halve(texts: Sequence[CodedText], *, seed: int) -> tuple[list[CodedText], list[CodedText]]:
    """Texts to learn from and texts to test on: two halves by group, of each code as even as can be.

    Groups are assigned in turn, code by code, in a seeded order.
    """
    codes_of: dict[str, Counter[str]] = {}
    for text in texts:
        codes_of.setdefault(text.group, Counter()).update(text.codes)
    order = sorted(codes_of)
    random.Random(seed).shuffle(order)  # noqa: S311 - a sample, not a secret
    dealt: dict[str, int] = {}
    counts: Counter[str] = Counter()
    for group in order:
        main = min(codes_of[group], key=lambda code: (-codes_of[group][code], code)) if codes_of[group] else ""
        dealt[group] = counts[main] % 2
        counts[main] += 1
    return (
        [text for text in texts if dealt[text.group] == 0],
        [text for text in texts if dealt[text.group] == 1],
    )


def make_lesson(texts: Sequence[CodedText], codes: Sequence[str]) -> Lesson:
    """Every text is decided for every code."""
    import numpy as np

    groups = {group: number for number, group in enumerate(dict.fromkeys(text.group for text in texts))}
    rows = np.arange(len(texts))
    return Lesson(
        [text.text for text in texts],
        np.array([groups[text.group] for text in texts], dtype=np.int64),
        {code: (rows, np.array([code in text.codes for text in texts], dtype=bool)) for code in codes},
    )


def report_file(
    texts: Sequence[CodedText],
    *,
    seed: int,
    minimum: int = MIN_POSITIVES,
    fewest_groups: int = MIN_INTERVIEWS,
) -> dict[str, Any]:
    """By code: what there was to learn, the threshold, and the 2x2 of the half that was not learnt from."""
    taught, tested = halve(texts, seed=seed)
    codes = sorted({code for text in texts for code in text.codes})
    lesson = make_lesson(taught, codes)
    outcomes = _judge(lesson, minimum=minimum, fewest_groups=fewest_groups, seed=seed)
    thresholds = dict(_choose_thresholds(lesson, outcomes))
    try:
        picked = fit(lesson, thresholds).read([text.text for text in tested])
    except NothingToLearn as error:
        raise BadFile(str(error)) from error
    said = [{pick.code for pick in picks} for picks in picked]
    return {
        "seed": seed,
        "minimum": minimum,
        "groups": fewest_groups,
        "taught": _count(taught),
        "read": _count(tested),
        "codes": {code: _score(code, found, thresholds.get(code), tested, said) for code, found in outcomes.items()},
    }


def _judge(lesson: Lesson, *, minimum: int, fewest_groups: int, seed: int) -> dict[str, dict[str, Any]]:
    try:
        return learn(lesson, minimum=minimum, fewest_interviews=fewest_groups, seed=seed)[1]
    except NothingToLearn:
        return {
            code: count_examples(*examples, lesson.interviews, minimum=minimum, fewest_interviews=fewest_groups)
            for code, examples in lesson.codes.items()
        }


def _choose_thresholds(lesson: Lesson, outcomes: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """That of a learnt code; of another the share of examples that have it, where some do and some do not."""
    for code, (rows, _) in lesson.codes.items():
        positives, threshold = outcomes[code]["positives"], outcomes[code]["threshold"]
        if threshold is not None:
            yield code, threshold
        elif 0 < positives < len(rows):
            yield code, positives / len(rows)


def _count(texts: Sequence[CodedText]) -> dict[str, int]:
    return {"units": len(texts), "groups": len({text.group for text in texts})}


def _score(
    code: str,
    outcome: Mapping[str, Any],
    threshold: float | None,
    texts: Sequence[CodedText],
    said: Sequence[set[str]],
) -> dict[str, Any]:
    """The figures of one code on the texts that were read, whether or not a study would go by it."""
    found: dict[str, Any] = {
        "taught_positives": outcome["positives"],
        "taught_groups": outcome["interviews"],
        "learnt": not outcome["reason"],
        "reason": outcome["reason"],
        "threshold": threshold,
        "n": len(texts),
        "positives": sum(code in text.codes for text in texts),
    }
    if threshold is None:
        return found | dict.fromkeys(("tp", "fp", "fn", "tn", "precision", "precision_ci", "recall", "recall_ci"))
    pairs = Counter((code in picked, code in text.codes) for picked, text in zip(said, texts, strict=True))
    tp, fp, fn, tn = pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False]
    cells = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    return found | cells | _share("precision", tp, tp + fp) | _share("recall", tp, tp + fn)


def _share(name: str, part: int, n: int) -> dict[str, Any]:
    interval = wilson_interval(part, n)
    return {name: part / n if n else None, f"{name}_ci": list(interval) if interval else None}
