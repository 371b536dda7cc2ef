"""Make the database of a data folder larger by so many megabytes of text that packs as interviews do."""

from __future__ import annotations

import json
import sys

from django.utils import timezone

from perf.corpus import write_interviews
from transcripts.accounts.models import User
from transcripts.jobs.models import ImportJob, UploadPart
from transcripts.studies.models import Study

MEGABYTE = 1_000_000


def main() -> None:
    """As the upload of an import that nobody has gone on with."""
    now = timezone.now()
    job = ImportJob.objects.create(
        study=Study.objects.get(),
        kind="interviews",
        files=[{"name": "filler.jsonl", "size": 0}],
        options={"format": "auto"},
        check_only=True,
        asked_by=User.objects.all()[0],
        asked_at=now,
        touched_at=now,
        state=ImportJob.State.CHECKED,
    )
    text = write_interviews(200, name="filler")
    for number in range(int(sys.argv[1])):
        start = number * 7_919 % max(len(text) - MEGABYTE, 1)
        data = (text[start:] + text)[:MEGABYTE]
        UploadPart.objects.create(job=job, file=0, position=number, data=data)
    print(json.dumps({"parts": int(sys.argv[1])}))


if __name__ == "__main__":
    main()
