"""The gender-cue probe: winnowing a file of reviews, and the report of many trials; each command from its start to its end."""

from __future__ import annotations

import csv
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from perf.corpus import SEED
from perf.results import Measured, Row, find_median
from perf.setup import Setup
from tests.support.instance import ROOT, Instance

MAX_WINNOWING = 15.0
MAX_MEGABYTES = 100.0
MAX_REPORT = 0.3
ROUNDS = 3
TRIALS = 800
TEXT = (
    "rude waiting doctor nurse staff the and to of my was were very condescending office phone time never again appointment told "
    "me that she he they us nobody looked up for an hour then left bill came promptly explanation did not kind care pain"
)
WORDS = TEXT.split()
RULES = {
    "name": "as the appendix names them",
    "steps": [
        {"name": "50 words", "rule": "length", "unit": "words", "at_least": 50},
        {"name": "one star", "rule": "equals", "column": "rating", "value": "1"},
        {"name": "disrespect", "rule": "contains", "terms": ["rude*", "condescend*", "disrespect*"]},
        {
            "name": "no kinship terms",
            "rule": "excludes",
            "terms": ["mother", "father", "son", "daughter", "wife", "husband"],
        },
    ],
}
# What nothing that reads the file can do without: Python and its reader of CSV over every row.
BARE = "import csv, sys\nfor row in csv.reader(open(sys.argv[1], encoding='utf-8', newline='')): pass"
# The report without the start of a process and of Django, which every command takes.
INSIDE = """
import sys, time
from auditapp.benchmarks.gender_cues.pure.outputs import make_report
from auditapp.benchmarks.gender_cues.pure.trials import read_trials
start = time.perf_counter()
with open(sys.argv[1], "rb") as lines:
    trials, themes = read_trials(lines, name="trials")
make_report(trials, themes)
print(time.perf_counter() - start)
"""


class Taken(NamedTuple):
    """Seconds of a program by the clock and of the processor, and its largest memory in megabytes."""

    seconds: float
    processor: float
    megabytes: float


def measure(setup: Setup) -> Measured:
    """Both commands; winnowing takes turns with a bare pass over the same file."""
    reviews = setup.sizes.reviews
    path, rules = setup.folder / "reviews.csv", setup.folder / "rules.json"
    write_reviews(path, reviews)
    rules.write_text(json.dumps(RULES), encoding="utf-8")
    environment = Instance(setup.folder / "probe").environment
    command = [sys.executable, "manage.py", "probe", "winnow", str(path), "--rules", str(rules), "--json"]
    taken: dict[str, list[Taken]] = {"winnow": [], "bare": []}
    setup.tell(f"probe_winnow: {reviews:,} reviews")
    for _ in range(ROUNDS):
        taken["bare"].append(_run([sys.executable, "-c", BARE, str(path)], environment))
        taken["winnow"].append(_run(command, environment))
    trials = setup.folder / "trials.jsonl"
    trials.write_text("".join(json.dumps(line) + "\n" for line in make_trials(TRIALS)), encoding="utf-8")
    setup.tell(f"probe_report: {TRIALS:,} trials")
    inside = [
        float(subprocess.check_output([sys.executable, "-c", INSIDE, str(trials)], cwd=Path(ROOT), env=environment))
        for _ in range(ROUNDS)
    ]
    whole = [
        _run([sys.executable, "manage.py", "probe", "report", str(trials), "--json"], environment)
        for _ in range(ROUNDS)
    ]
    seconds = find_median([each.seconds for each in taken["winnow"]])
    over = max(each.megabytes for each in taken["winnow"]) - min(each.megabytes for each in taken["bare"])
    ratios = [ours.processor / bare.processor for ours, bare in zip(taken["winnow"], taken["bare"], strict=True)]
    report = find_median(inside)
    rows = [
        Row(
            "probe_winnow",
            f"{seconds:.1f} s = {find_median(ratios):.1f} x bare; +{over:.0f} MB: {reviews:,} reviews",
            f"<= {MAX_WINNOWING:.0f} s, +{MAX_MEGABYTES:.0f} MB",
            seconds <= MAX_WINNOWING and over <= MAX_MEGABYTES,
            rounds=ratios,
        ),
        Row(
            "probe_report",
            f"{report * 1000:.0f} ms of {TRIALS:,} trials; the whole command {find_median([each.seconds for each in whole]):.1f} s",
            f"<= {MAX_REPORT} s",
            report <= MAX_REPORT,
        ),
    ]
    numbers = {name: [each._asdict() for each in found] for name, found in {**taken, "report": whole}.items()}
    return Measured(rows, {**numbers, "report_inside": inside, "megabytes": path.stat().st_size / 1e6})


def write_reviews(path: Path, count: int) -> None:
    """Invented reviews of 5 to 400 words, 80 on average."""
    chance = random.Random(SEED)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text", "rating", "category"])
        for number in range(count):
            words = chance.choices(WORDS, k=min(400, int(chance.expovariate(1 / 80)) + 5))
            (category,) = chance.choices(("woman", "man", "androgynous", "unknown"), (45, 30, 17, 8))
            rows.writerow([f"r{number}", " ".join(words), chance.randint(1, 5), category])


def make_trials(count: int) -> Iterator[dict[str, Any]]:
    """Invented answers under both conditions, and a theme for each primed one."""
    chance = random.Random(SEED)
    for number in range(count):
        condition = ("control", "primed")[number % 2]
        code = chance.choice(("Emotion", "Textual Style", "Medical Condition", "None"))
        gender = chance.choice(("Female", "Female", "Male"))
        yield {
            "trial": f"x{number}",
            "review": f"r{number // 2}",
            "condition": condition,
            "truth": ("woman", "man")[number // 2 % 2],
            "raw": f"1. {code}: invented\n**Gender:**\n-{gender}\n**Codes Applied:**\n-{code}",
        }
        if condition == "primed":
            yield {"record": "theme", "trial": f"x{number}", "theme": chance.choice(("Direct", "Capitals", "Warm"))}


def _run(command: Sequence[str], environment: dict[str, str]) -> Taken:
    """Run a program and wait for it: what it took, and the largest memory of it alone."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=Path(ROOT), env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = _wait(process)
    if status:
        raise subprocess.CalledProcessError(status, command)
    return Taken(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, int, resource.struct_rusage]:
    found = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(found[1])
    return found
