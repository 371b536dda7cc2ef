"""Measure agreement on invented labels of many coders: all coefficients, with and without intervals."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

import numpy as np

from perf.inside.times import Times, forget_peak, read_peak
from transcripts.agreement.pure.measuring import LabelTable, measure_agreement

SEED = 7
SENTENCES_A_TURN = 20
PREVALENCE = 0.05
ERRORS = 0.02


def make_table(coders: int, sentences: int, codes: int, decided: float) -> LabelTable:
    """Labels of a rare code each, on which coders err now and then; every coder decided a share of the sentences."""
    chance = np.random.default_rng(SEED)
    truth = chance.random((codes, 1, sentences)) < PREVALENCE
    labels = truth ^ (chance.random((codes, coders, sentences)) < ERRORS)
    has_decided = chance.random((coders, sentences)) < decided
    turns = np.arange(sentences, dtype=np.intp) // SENTENCES_A_TURN
    names = tuple(f"coder {number}" for number in range(coders))
    return LabelTable(
        names, tuple(f"code {number}" for number in range(codes)), labels & has_decided, has_decided, turns
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coders", type=int, required=True)
    parser.add_argument("--sentences", type=int, required=True)
    parser.add_argument("--codes", type=int, required=True)
    parser.add_argument("--decided", type=float, default=1.0)
    parser.add_argument("--resamples", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    given = parser.parse_args()
    table = make_table(given.coders, given.sentences, given.codes, given.decided)
    forget_peak()
    before = read_peak()
    plain, drawn = Times(), Times()
    for _ in range(given.rounds):
        with plain.measure():
            measure_agreement(table, seed=SEED, resamples=0)
        with drawn.measure():
            measure_agreement(table, seed=SEED, resamples=given.resamples)
    found = {"coefficients": asdict(plain), "with_intervals": asdict(drawn)}
    print(json.dumps({**found, "rise_mb": read_peak() - before}))


if __name__ == "__main__":
    main()
