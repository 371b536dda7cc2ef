"""Look into large files in a process of its own, so that neither its memory nor its time is taken from people at the desk.

The request and the answer are JSON; the file itself follows the line of the request.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from auditapp.benchmarks.sob.pure.loading.dataset_texts import DatasetText
from auditapp.benchmarks.sob.pure.loading.normalising import Draw, SampleError, TargetLabels, make_labels
from auditapp.benchmarks.sob.pure.loading.opening import make_environment
from auditapp.benchmarks.sob.pure.loading.previewing import Plan, Preview, plan_file, preview_file
from auditapp.benchmarks.sob.pure.loading.published_sources import Provenance, find_published_source
from transcripts.formats.problems import ReadError

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[5]
# A smaller one is read sooner than a process starts.
LARGE_BYTES = 500_000
SECONDS = 120
MEMORY = 1536 * 1024 * 1024
# Each takes a processor, and as much memory as the whole web server.
_ROOM = threading.BoundedSemaphore(2)
WAIT_SECONDS = 20


def preview(data: bytes, name: str) -> Preview:
    """``preview_file``, for a large file apart."""
    if len(data) <= LARGE_BYTES:
        return preview_file(data, name)
    answer = _ask(data, {"name": name})
    columns = tuple((own, shown, tuple(labels)) for own, shown, labels in answer["columns"])
    return Preview(
        **{**answer, "columns": columns, "provenance": Provenance(*answer["provenance"])},
        source=find_published_source([own for own, *_ in columns]),
    )


def plan(data: bytes, name: str, *, label_rows: list[dict[str, str]] | None = None, **how: Any) -> Plan:
    """``plan_file``, for a large file apart. ``label_rows`` are the rows of a table of targets."""
    if len(data) <= LARGE_BYTES:
        return plan_file(data, name, labels=_make_labels(label_rows), **how)
    answer = _ask(data, {"name": name, "how": {**how, "label_rows": label_rows}})
    counts = Counter({(target, source): count for target, source, count in answer["counts"]})
    shown = tuple(DatasetText(**text) for text in answer["shown"])
    return Plan(tuple(answer["warnings"]), answer["sampling"], counts, shown)


def _ask(data: bytes, request: dict[str, Any]) -> Any:
    name = request["name"]
    if not _ROOM.acquire(timeout=WAIT_SECONDS):
        raise ReadError(
            name, None, found="other large files being read at this moment", expected="a second attempt in a minute"
        )
    try:
        reader = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "auditapp.benchmarks.sob.pure.loading.apart"],
            input=json.dumps(request).encode() + b"\n" + data,
            capture_output=True,
            timeout=SECONDS,
            cwd=ROOT,
            env=make_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ReadError(
            name, None, found=f"a file not read in {SECONDS} s", expected="a smaller one; split it"
        ) from None
    finally:
        _ROOM.release()
    if reader.returncode < 0 or b"MemoryError" in reader.stderr:
        raise ReadError(
            name, None, found="a file that takes too much memory to read", expected="a smaller one; split it"
        )
    if reader.returncode != 0:
        logger.error("The reader of large files ended with %s: %s", reader.returncode, _find_place(reader.stderr))
        raise ReadError(
            name,
            None,
            found="a file at which the program that reads it failed; the server's log says where",
            expected="a file that a spreadsheet can open and save again, or a report of this fault to the site’s administrator",
        )
    answer = json.loads(reader.stdout)
    if "refusal" in answer:
        raise ReadError(*answer["refusal"])
    if "no_sample" in answer:
        raise SampleError(answer["no_sample"])
    return answer


def _find_place(told: bytes) -> str:
    """Where a program failed and with which error. The error's own words are left out: they may quote the file."""
    lines = told.decode(errors="replace").splitlines()
    places = [line.strip() for line in lines if line.lstrip().startswith("File ")]
    return " < ".join([*(line.partition(":")[0] for line in lines[-1:]), *reversed(places[-3:])])


def main() -> None:
    """The program of that process: a request and a file on standard input, the answer on standard output."""
    request = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    _limit_itself()
    try:
        answer = _describe_plan(data, **request) if "how" in request else _describe_preview(data, **request)
    except ReadError as error:
        answer = {"refusal": error.args}
    except SampleError as error:
        answer = {"no_sample": str(error)}
    json.dump(answer, sys.stdout)


def _describe_preview(data: bytes, name: str) -> dict[str, object]:
    found = preview_file(data, name)
    told = {field: getattr(found, field) for field in ("name", "sha256", "format", "n_rows", "columns", "provenance")}
    return {**told, "mapping": dict(found.mapping)}


def _describe_plan(data: bytes, name: str, how: dict[str, Any]) -> dict[str, object]:
    labels = _make_labels(how.pop("label_rows"))
    draw = Draw(*how.pop("draw")) if how["draw"] else how.pop("draw")
    found = plan_file(data, name, labels=labels, draw=draw, **how)
    return {
        "warnings": found.warnings,
        "sampling": found.sampling,
        "counts": [[target, source, count] for (target, source), count in found.counts.items()],
        "shown": [asdict(text) for text in found.shown],
    }


def _make_labels(rows: list[dict[str, str]] | None) -> TargetLabels | None:
    return None if rows is None else make_labels(rows)


def _limit_itself() -> None:
    """Memory, where the system can limit it; elsewhere the size of the file has to do."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    main()
