"""Check a file of interviews as a worker does, then import it; each with the most memory that this process has held."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from django.core.files.uploadedfile import UploadedFile

from perf.inside.memory import forget_peak, read_memory, read_peak
from perf.inside.times import Times
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.corpus.import_jobs import INTERVIEWS
from transcripts.corpus.models import Sentence
from transcripts.jobs.actions import import_checked, start_job
from transcripts.jobs.models import ImportJob
from transcripts.jobs.running import run_job
from transcripts.studies.actions import invite_person


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    project = start_study(slug="large", name="Large", by=trail.SYSTEM)
    invite_person(project=project, username="importer", role="lead", by=trail.SYSTEM)
    by = User.objects.get(username="importer")
    with given.file.open("rb") as stream:
        upload = UploadedFile(stream, given.file.name, size=given.file.stat().st_size)
        job = start_job(project=project, kind=INTERVIEWS.name, files=[upload], check_only=True, by=by)
    found: dict[str, object] = {}
    for name in ("check", "import"):
        if name == "import":
            import_checked(job=job, by=by)
        forget_peak()
        before, times = read_memory(), Times()
        with times.measure():
            run_job(job.pk)
        job.refresh_from_db()
        assert job.state in {ImportJob.State.CHECKED, ImportJob.State.DONE}, job.problem
        found[name] = {
            "seconds": times.seconds[0],
            "processor_seconds": times.processor_seconds[0],
            "before_mb": before,
            "peak_mb": read_peak(),
        }
    [report] = job.outcome["reports"]
    found["interviews"], found["turns"] = report["interviews"], report["turns"]
    found["sentences"] = Sentence.objects.filter(turn__interview__project=project).count()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
