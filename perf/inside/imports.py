"""Import one file of interviews through the import action, a few times, each time into a study of its own."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from perf.inside.times import Times, read_peak
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.corpus.actions import import_file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, required=True)
    given = parser.parse_args()
    times, sentences, data = Times(), 0, given.file.read_bytes()
    for number in range(given.rounds):
        study = start_study(slug=f"round-{number}", name=f"Round {number}", by=trail.SYSTEM)
        with times.measure():
            sentences = import_file(study=study, name=given.file.name, data=data, by=trail.SYSTEM).sentences or 0
    print(json.dumps({"sentences": sentences, **asdict(times), "peak_mb": read_peak()}))


if __name__ == "__main__":
    main()
