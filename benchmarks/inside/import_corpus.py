"""Import one file of interviews through the import action, a few times, each time into a study of its own."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from benchmarks.inside.memory import read_peak
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.corpus.actions import import_file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, required=True)
    given = parser.parse_args()
    seconds, sentences = [], 0
    for number in range(given.rounds):
        project = start_study(slug=f"round-{number}", name=f"Round {number}", by=trail.SYSTEM)
        start = time.perf_counter()
        report = import_file(project=project, name=given.file.name, data=given.file.read_bytes(), by=trail.SYSTEM)
        seconds.append(time.perf_counter() - start)
        sentences = report.sentences
    print(json.dumps({"seconds": seconds, "sentences": sentences, "peak_mb": read_peak()}))


if __name__ == "__main__":
    main()
