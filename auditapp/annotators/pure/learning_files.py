"""How well codes can be learnt from a file of codings: one half of its texts is learnt from, the other read.

A code that a study would not go by is scored all the same, from the share of examples that have it on: the figures are to
be seen as they are.

The file is CSV with the columns unit, group, text and codes (several between semicolons), or JSON lines of such objects.
A line with ``theme`` and ``turns`` or ``text`` instead is one excerpt, as papers publish them: every sentence of the model
in it has its theme, and one without a theme is left out. Knows nothing of Django.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from auditapp.annotators.pure.learning import (
    MIN_INTERVIEWS,
    MIN_POSITIVES,
    Lesson,
    NothingToLearn,
    count_examples,
    fit,
    learn,
)
from transcripts.corpus.pure.segmenting import segment
from transcripts.formats.json_fields import Row, read_each, refuse_field, take_name, take_text
from transcripts.formats.json_lines import read_lines
from transcripts.formats.problems import ReadError, quote
from transcripts.formats.strict_table import StrictTable
from transcripts.statistics.intervals import wilson_interval

COLUMNS = ("unit", "group", "text", "codes")
MAX_FILE = 64 * 1024 * 1024


class CodedText(NamedTuple):
    """A sentence that was decided about, the group (an interview, an excerpt) it is from, and its codes."""

    unit: str
    group: str
    text: str
    codes: frozenset[str]


def read_texts(path: Path) -> list[CodedText]:
    """The texts of a file. Raises ``ReadError`` and ``OSError``."""
    if path.stat().st_size > MAX_FILE:
        raise ReadError(path.name, None, f"more than {MAX_FILE // 1024 // 1024} MB", "a smaller file")
    name = path.name
    texts: list[CodedText] = []
    seen: dict[str, int] = {}
    with path.open("rb") as lines:
        is_csv = path.suffix == ".csv"
        rows = StrictTable(lines, name=name, needed=COLUMNS).read_objects() if is_csv else read_lines(lines, name)
        for line, found in read_each(rows, name, _read_row if is_csv else _read_object):
            for text in found:
                if (first := seen.setdefault(text.unit, line)) != line:
                    raise ReadError(name, line, f"the unit {quote(text.unit)} of line {first} again", "each unit once")
            texts += found
    if not texts:
        raise ReadError(name, None, "no text", "at least one")
    return texts


def _read_object(row: Row) -> list[CodedText]:
    return list(_read_excerpt(row)) if "theme" in row else _read_row(row)


def _read_row(row: Row) -> list[CodedText]:
    codes = row.get("codes")
    named = codes.split(";") if isinstance(codes, str) else codes
    if not isinstance(named, list) or not all(isinstance(code, str) for code in named):
        raise refuse_field(row, ["codes"], "codes with semicolons between them, or a list of codes")
    unit, group, text = take_name(row, "unit"), take_name(row, "group"), take_text(row, "text")
    return [CodedText(unit, group, text, frozenset(filter(None, map(str.strip, named))))]


def _read_excerpt(row: Row) -> Iterator[CodedText]:
    if row["theme"] is None:
        return
    group, theme = take_name(row, "id"), take_text(row, "theme")
    turns = row["turns"] if "turns" in row else [{"role": "model", "text": take_text(row, "text")}]
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise refuse_field(row, ["turns"], "a list of objects with role and text")
    said = [take_text(turn, "text", default="") for turn in turns if turn.get("role") == "model"]
    sentences = (text[span.start : span.end] for text in said for span in segment(text))
    for number, sentence in enumerate(sentences, 1):
        yield CodedText(f"{group}.{number}", group, sentence, frozenset([theme]))


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
    """By code: what there was to learn, the threshold, and the 2x2 of the half that was not learnt from.

    Raises ``NothingToLearn``."""
    taught, tested = halve(texts, seed=seed)
    codes = sorted({code for text in texts for code in text.codes})
    lesson = make_lesson(taught, codes)
    outcomes = _judge(lesson, minimum=minimum, fewest_groups=fewest_groups, seed=seed)
    thresholds = dict(_choose_thresholds(lesson, outcomes))
    picked = fit(lesson, thresholds).read([text.text for text in tested])
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
