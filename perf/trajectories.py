"""The report on trajectories of a large file: the whole command, from its start to the last byte of JSON."""

from __future__ import annotations

import json
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

MAX_SECONDS = 3.0
ROUNDS = 3
TURNS = 12
CODERS = ("ana", "ben")
CODINGS_OF_A_CODER = 20
MOVES = ("elicit", "bracket", "quantify", "balance", "revise", "refuse", "contextualize", "redirect")
FEATURES = ("task", "stakeholders", "identity_cues", "relevance", "uncertainty", "power", "harm_omission", "policy")
STATUSES = ("silently assumed", "hypothesised", "elicited", "supported", "revised", "dropped")
CHALLENGES = ("warranted", "unwarranted", "new_fact", "probe")
RESPONSES = ("revised", "held", "conceded", "sidestepped")
# What nothing that reads the file can do without: Python, and its JSON parser over every line.
BARE = "import json, sys\nfor line in open(sys.argv[1], encoding='utf-8'): json.loads(line)"


class Taken(NamedTuple):
    """Seconds of a program by the clock, and of the processor."""

    seconds: float
    processor: float


def measure(setup: Setup) -> Measured:
    """The command on invented threads, taking turns with a bare pass over the same file."""
    threads = setup.sizes.threads
    path = setup.folder / "trajectories.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in make_lines(threads))
    environment = Instance(setup.folder / "negotiation").environment
    command = [sys.executable, "manage.py", "trajectory", "report", str(path), "--json"]
    taken: dict[str, list[Taken]] = {"command": [], "bare": []}
    setup.tell(f"trajectory_report: {threads:,} threads")
    for _ in range(ROUNDS):
        taken["bare"].append(_run([sys.executable, "-c", BARE, str(path)], environment))
        taken["command"].append(_run(command, environment))
    ratios = [ours.processor / bare.processor for ours, bare in zip(taken["command"], taken["bare"], strict=True)]
    seconds = find_median([each.seconds for each in taken["command"]])
    processor = find_median([each.processor for each in taken["command"]])
    codings = threads * len(CODERS) * CODINGS_OF_A_CODER
    row = Row(
        "trajectory_report",
        f"{seconds:.1f} s, {processor:.1f} of processor = {find_median(ratios):.1f} x bare: {codings:,} codings",
        f"<= {MAX_SECONDS:.0f} s",
        seconds <= MAX_SECONDS,
        rounds=ratios,
    )
    numbers = {name: [each._asdict() for each in found] for name, found in taken.items()}
    return Measured([row], {**numbers, "megabytes": path.stat().st_size / 1e6})


def make_lines(threads: int) -> Iterator[dict[str, Any]]:
    """Invented threads of four answers, each after reasoning, coded by two people, who link nothing."""
    chance = random.Random(SEED)
    number = 0
    for place in range(threads):
        thread = f"thread-{place:05}"
        yield {"record": "thread", "thread": thread, "relevant": ["feature.power"], "irrelevant": ["feature.policy"]}
        for turn in range(1, TURNS + 1):
            role = "interviewer" if turn % 3 == 1 else "model"
            channel = "reasoning" if turn % 3 == 2 else "utterance"
            yield {"record": "turn", "thread": thread, "turn": turn, "role": role, "channel": channel, "sentences": 4}
        for coder in CODERS:
            yield {"record": "decided", "thread": thread, "turn": 3, "coder": coder, "sentences": 4}
            for _ in range(CODINGS_OF_A_CODER):
                number += 1
                yield {
                    "record": "coding",
                    "id": f"k{number}",
                    "thread": thread,
                    "start": 40 * chance.randrange(3),
                    "coder": coder,
                    **_choose_code(chance),
                }
        if place % 2:
            before = f"thread-{place - 1:05}"
            yield {"record": "pair", "pair": f"p{place}", "a": before, "b": thread, "expect": "change"}


def _choose_code(chance: random.Random) -> dict[str, Any]:
    kind = chance.choices(("move", "feature", "challenge", "response"), (50, 30, 10, 10))[0]
    answered = chance.choice((3, 6, 9, 12, 2, 5))
    if kind == "move":
        enactment = chance.choice(("enacted", "enacted", "described"))
        return {"turn": answered, "code": f"move.{chance.choice(MOVES)}", "enactment": enactment}
    if kind == "feature":
        status = {"status": chance.choice(STATUSES)}
        return {"turn": answered, "code": f"feature.{chance.choice(FEATURES)}", "attributes": status}
    if kind == "challenge":
        return {"turn": chance.choice((4, 7, 10)), "code": f"challenge.{chance.choice(CHALLENGES)}"}
    return {"turn": chance.choice((6, 9, 12)), "code": f"response.{chance.choice(RESPONSES)}"}


def _run(command: Sequence[str], environment: dict[str, str]) -> Taken:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, cwd=Path(ROOT), env=environment, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Taken(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
