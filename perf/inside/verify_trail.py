"""Record many codings of the study as the desk does, verify the trail, and compare the rows with it; nothing stays."""

from __future__ import annotations

import argparse
import json
import uuid
from dataclasses import asdict

from django.db import transaction
from django.utils import timezone

from perf.inside.memory import forget_peak, read_peak
from perf.inside.times import Times
from transcripts.audit_trail import trail
from transcripts.audit_trail.replay import compare_rows
from transcripts.audit_trail.rows import row_made
from transcripts.coding.models import Coding
from transcripts.studies.models import Project


def record_codings(project: Project, stream: str, count: int) -> None:
    """Copies of a coding of the study, withdrawn, each with its event."""
    codings = Coding.objects.filter(sentence__turn__interview__project=project, note="")
    like = codings.select_related("code__version", "coder").order_by("pk")[0]
    now = timezone.now()
    rows = [
        Coding(
            sentence_id=like.sentence_id,
            code=like.code,
            coder=like.coder,
            idempotency_key=uuid.uuid4(),
            created_at=now,
            withdrawn_at=now,
        )
        for _ in range(count)
    ]
    for row in Coding.objects.bulk_create(rows, batch_size=5_000):
        details: dict[str, object] = {"sentence": row.sentence_id, "code": row.code_id, "level": row.level}
        trail.record("coding.added", target=row, by=like.coder, stream=stream, details=details, rows=[row_made(row)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    given = parser.parse_args()
    project = Project.objects.get(slug="bench")
    stream = trail.project_stream(project.pk)
    verified, compared = Times(), Times()
    with transaction.atomic():
        record_codings(project, stream, given.count)
        for _ in range(given.rounds):
            with verified.measure():
                [(_, events, first_break)] = trail.verify_streams([stream])
        assert first_break is None
        forget_peak()
        before = read_peak()
        with compared.measure():
            comparison = compare_rows([stream], project_id=project.pk)
        rise = read_peak() - before
        transaction.set_rollback(True)
    rows = sum(counts.total() for counts in comparison.counts.values())
    answer = {"events": events, "rows": rows, "verified": asdict(verified), "compared": asdict(compared)}
    print(json.dumps({**answer, "rise_mb": rise}))


if __name__ == "__main__":
    main()
