"""Write the answers of a batch as lines of JSON, as the API does, and see how much memory that takes."""

from __future__ import annotations

import argparse
import json

from auditapp.api.answers import write_lines
from auditapp.batches.kinds import EVERYTHING
from auditapp.batches.models import Batch
from auditapp.batches.pages.attempts import read_answers
from perf.inside.memory import forget_peak, read_peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, required=True)
    given = parser.parse_args()
    batch = Batch.objects.get(pk=given.batch)
    count, peaks = batch.cells.count(), []
    # All of them first: the database's own cache is full then.
    for limit in (count, count // 2, count):
        forget_peak()
        for _ in write_lines(read_answers(batch, limit=limit, visibility=EVERYTHING)):
            pass
        peaks.append(read_peak())
    print(json.dumps({"peaks_mb": peaks[1:]}))


if __name__ == "__main__":
    main()
