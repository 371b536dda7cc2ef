"""Look into a CSV of texts as the page does: seconds, and the memory of the child and of this process."""

from __future__ import annotations

import json
import resource
import sys
import time

from auditapp.benchmarks.sob.pure.loading import apart

TARGETS = ("women", "men", "migrants", "Muslims", "Jews")


def main() -> None:
    """Of as many rows as the argument says, some 110 characters each."""
    rows = int(sys.argv[1])
    lines = [
        f'"Invented words about nobody, number {n}, {"and so on " * 7}.",{TARGETS[n % 5]},{n},x' for n in range(rows)
    ]
    data = "\n".join(["text,target,id,kind", *lines, ""]).encode()
    del lines
    before = _read_peak(resource.RUSAGE_SELF)
    began = time.perf_counter()
    found = apart.preview(data, "texts.csv")
    seconds = time.perf_counter() - began
    assert found.n_rows == rows
    answer = {
        "seconds": seconds,
        "child_mb": _read_peak(resource.RUSAGE_CHILDREN),
        "grown_mb": _read_peak(resource.RUSAGE_SELF) - before,
        "megabytes": len(data) / 1e6,
    }
    print(json.dumps(answer))


def _read_peak(who: int) -> float:
    return resource.getrusage(who).ru_maxrss / 1024


if __name__ == "__main__":
    main()
