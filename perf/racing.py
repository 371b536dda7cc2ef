"""A batch of the benchmark against the inference step of its released pipeline, at the same fake paid API, in turn.

The pipeline's own program is not ours to ship: ``pipeline_loop`` has its shape and runs in an environment of its own with
the vendor's client. Where that environment cannot be made, the race says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from perf.bare_loop import build_bodies
from perf.results import Measured, Row, find_median
from perf.setup import Setup
from perf.yard import LATENCY_SECONDS, TASK, Round, Yard, open_yard

# Its own setting, and the most that the engine is measured with.
IN_FLIGHT = (30, 300)
NEEDS = ("openai", "tenacity")
RESUME = "the pipeline resumes nothing: a kill pays for every open bucket again"


def measure(setup: Setup) -> Measured:
    """From launch to the last stored answer, against the pipeline's first call to its written file."""
    python = make_environment(setup.folder / "pipeline-env")
    if python is None:
        return Measured([Row("sob race", f"not run: {', '.join(NEEDS)} cannot be installed here")])
    rows: list[Row] = []
    numbers: dict[str, object] = {}
    with open_yard(setup.folder / "race", calls=setup.sizes.calls, servers=None) as yard:
        yard.start_worker()
        # The first batch finds out what the provider bears; the pipeline has its number by setting.
        yard.run_batch(max(IN_FLIGHT))
        for in_flight in IN_FLIGHT:
            product, pipeline = [], []
            for number in range(setup.sizes.batch_rounds):
                setup.tell(f"sob race: {in_flight} in flight, round {number + 1} of {setup.sizes.batch_rounds}")
                pipeline.append(run_pipeline(python, yard, in_flight))
                product.append(yard.run_batch(in_flight))
            times_as_fast = [there.wall / here.wall for here, there in zip(product, pipeline, strict=True)]
            faster = find_median(times_as_fast)
            clean = not any(here.paid_twice or here.without_answer for here in product)
            rows.append(
                Row(
                    f"sob race, {in_flight} in flight",
                    f"{faster:.2f} x as fast as the pipeline's inference",
                    "> 1 x, with resume",
                    faster > 1 and clean,
                    RESUME,
                    rounds=times_as_fast,
                    higher_is_better=True,
                )
            )
            numbers[f"rounds_{in_flight}"] = {
                "product": list(map(asdict, product)),
                "pipeline": list(map(asdict, pipeline)),
            }
    return Measured(rows, numbers)


def make_environment(folder: Path) -> Path | None:
    """The Python of a fresh environment with what the pipeline needs; ``None`` where that cannot be had."""
    python = folder / "bin" / "python"
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", *NEEDS],
    ):
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            return None
    return python


def run_pipeline(python: Path, yard: Yard, in_flight: int) -> Round:
    """The same calls by a program of the pipeline's shape."""
    yard.provider.order(reset=True, latency=LATENCY_SECONDS)
    bodies, output = yard.instance.folder / "bodies.jsonl", yard.instance.folder / "pipeline.json"
    texts = [json.loads(line)["text"] for line in yard.texts.read_text(encoding="utf-8").splitlines()]
    bodies.write_text("".join(json.dumps(body) + "\n" for body in build_bodies(texts, TASK)), encoding="utf-8")
    loop = Path(__file__).with_name("pipeline_loop.py")
    given = ["--base-url", yard.provider.base_url, "--in-flight", str(in_flight), "--output", str(output)]
    done = subprocess.run([str(python), str(loop), str(bodies), *given], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    return Round(yard.provider.stats()["span_seconds"], answer["seconds"], without_answer=answer["failed"])
