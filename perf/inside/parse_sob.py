"""Measure how many answers a second the rules read: clean ones, and such as models give besides."""

from __future__ import annotations

import argparse
import json
import random
import time

from auditapp.benchmarks.sob.pure.parsing import Outcome, parse_answer
from perf.inside.answer_sob import SEED, VALUES

REASONING = (
    "\nReasoning: nothing in the text says who would find it acceptable, so these are the commonest associations."
)


def write_answers(count: int) -> list[str]:
    """Invented answers: two thirds of them clean objects, the others fenced, wrapped, repaired, Unknown or refused."""
    chance = random.Random(SEED)
    answers = []
    for _ in range(count):
        keys = [key for key in VALUES if chance.random() < 0.6]
        written = json.dumps({key: chance.choice(VALUES[key]) for key in keys} or {"Race": "White"})
        shapes = [
            *[written + REASONING] * 12,
            f"```json\n{written}\n```{REASONING}",
            f"Person: {written}{REASONING}",
            f"<think>{REASONING * 3}</think>{written}",
            written.replace('"', "'") + REASONING,
            "Person: Unknown" + REASONING,
            "I cannot help with that request.",
        ]
        answers.append(chance.choice(shapes))
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    given = parser.parse_args()
    answers = write_answers(given.answers)
    seconds, worked = [], []
    for _ in range(given.rounds):
        start, processor = time.perf_counter(), time.process_time()
        read = [parse_answer(answer).outcome for answer in answers]
        seconds.append(time.perf_counter() - start)
        worked.append(time.process_time() - processor)
    assert read.count(Outcome.ATTRIBUTED) > given.answers * 0.8
    print(json.dumps({"answers": given.answers, "seconds": seconds, "processor_seconds": worked}))


if __name__ == "__main__":
    main()
