"""Write the codings of the study to a file through the export action, and see how much memory that takes."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from perf.inside.times import Times, forget_peak, read_peak
from transcripts.audit_trail import trail
from transcripts.exchange.actions import write_export
from transcripts.exchange.rows import Scope, find_export
from transcripts.studies.models import Study


def write(what: str, scope: Scope, format_: str, path: Path) -> int:
    """One export; how many rows it has."""
    export = find_export(what)
    assert export is not None
    rows, *_ = write_export(export=export, scope=scope, format=format_, path=path, by=trail.SYSTEM)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    given = parser.parse_args()
    scope = Scope(Study.objects.get(slug="bench"), None)
    write("codebook", scope, given.format, given.output)  # what is loaded at the first export of any size
    forget_peak()
    before, after, rows = read_peak(), 0.0, 0
    times = Times()
    for _ in range(given.rounds):
        with times.measure():
            rows = write("codings", scope, given.format, given.output)
        after = after or read_peak()
    print(json.dumps({"rows": rows, **asdict(times), "rise_mb": after - before, "peak_mb": after}))


if __name__ == "__main__":
    main()
