"""A study as a REFI-QDA project: 50,000 codings out, and in again."""

from __future__ import annotations

from perf.results import Measured, Row, find_median
from perf.searching import INTERVIEWS
from perf.setup import Setup
from perf.study import prepare_study, run_inside

CODINGS = 50_000
SLOWEST_OUT, SLOWEST_BACK = 30.0, 60.0
MOST_MEMORY_MB = 150.0
# What others wait for at most, of the time that the file takes to come in.
LONGEST_SHARE = 0.15


def measure(setup: Setup) -> Measured:
    """Seconds and the rise of memory, each way; whether as many codings came in as went out."""
    setup.tell(f"exchange: a study of {INTERVIEWS} interviews, {CODINGS:,} codings")
    study = prepare_study(setup.folder / "exchange", interviews=INTERVIEWS, coders=0, codings=CODINGS)
    file = setup.folder / "study.qdpx"
    found = run_inside("exchange_project", "--output", str(file), environment=study.instance.environment)
    size = found["size"] / 1e6
    out, back = (find_median(found[name]["seconds"]) for name in ("out", "back"))
    is_whole = found["codings"][0] == found["codings"][1]
    rows = [
        Row(
            "project out (.qdpx)",
            f"{CODINGS:,} codings in {out:.1f} s, {size:.1f} MB; memory +{found['out_rise_mb']:.0f} MB",
            f"<= {SLOWEST_OUT:.0f} s, +{MOST_MEMORY_MB:.0f} MB",
            out <= SLOWEST_OUT and found["out_rise_mb"] <= MOST_MEMORY_MB,
        ),
        Row(
            "project in again",
            f"{found['codings'][1]:,} codings in {back:.1f} s; memory +{found['back_rise_mb']:.0f} MB",
            f"<= {SLOWEST_BACK:.0f} s, +{MOST_MEMORY_MB:.0f} MB, all",
            back <= SLOWEST_BACK and found["back_rise_mb"] <= MOST_MEMORY_MB and is_whole,
        ),
        Row(
            "longest transaction of a project",
            f"{found['longest']:.2f} s, {found['longest'] / back:.0%} of the time it takes to come in",
            f"<= {LONGEST_SHARE:.0%}",
            found["longest"] <= LONGEST_SHARE * back,
        ),
    ]
    return Measured(rows, found)
