"""Write the study as a REFI-QDA project and bring it into another study, and see how much memory each takes."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from perf.inside.export_codings import write
from perf.inside.memory import forget_peak, read_peak
from perf.inside.times import Times, watch_transactions
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.coding.models import Coding
from transcripts.exchange.actions import import_qdpx
from transcripts.exchange.rows import Scope
from transcripts.studies.models import Project


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    scope = Scope(Project.objects.get(slug="bench"), None)
    write("codebook", scope, "csv", given.output)  # what is loaded at the first export of any kind
    out, back = Times(), Times()
    forget_peak()
    before = read_peak()
    with out.measure():
        write("qdpx", scope, "qdpx", given.output)
    out_rise = read_peak() - before
    other = start_study(slug="other", name="Other", by=trail.SYSTEM)
    forget_peak()
    before = read_peak()
    with watch_transactions() as transactions, back.measure(), given.output.open("rb") as stream:
        import_qdpx(project=other, stream=stream, name=given.output.name, by=trail.SYSTEM)
    rise = read_peak() - before
    codings = [
        Coding.objects.filter(sentence__turn__interview__project=project, withdrawn_at__isnull=True).count()
        for project in (scope.project, other)
    ]
    figures = {
        "out": asdict(out),
        "out_rise_mb": out_rise,
        "back": asdict(back),
        "back_rise_mb": rise,
        "longest": max(transactions),
    }
    print(json.dumps({**figures, "codings": codings, "size": given.output.stat().st_size}))


if __name__ == "__main__":
    main()
