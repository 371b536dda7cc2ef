"""Measure the report of a sob batch: computed from the database, and as a page that a person opens."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from django.test import Client
from django.urls import reverse

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import StoredReport
from auditapp.benchmarks.sob.report.stored_reports import await_report, compute_report
from perf.inside.times import Times, forget_peak, read_peak
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.studies.actions import set_member_role
from transcripts.studies.models import Study

READER = "reader"


def open_client(study: Study) -> Client:
    """A browser in which somebody who may look at the study is signed in."""
    user = User.objects.filter(username=READER).first()
    if user is None:
        user = User.objects.create_user(username=READER, password=None)
        set_member_role(study=study, user=user, role="reader", by=trail.SYSTEM)
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user)
    return client


def measure_report(batch: Batch, rounds: int) -> dict[str, object]:
    """Times of the whole report, nothing kept, and the memory it takes at most."""
    times = Times()
    forget_peak()
    before = read_peak()
    for _ in range(rounds):
        with times.measure():
            found = compute_report(batch)
    return {**asdict(times), "answers": found.n_answers, "rise_mb": read_peak() - before}


def measure_page(batch: Batch, rounds: int) -> dict[str, object]:
    """Times of the page with the heat map, of a batch in which nothing changes."""
    client, times = open_client(batch.study), Times()
    address = reverse("sob:report", args=[batch.study.slug, batch.pk])
    StoredReport.objects.all().delete()
    await_report(batch)
    client.get(address)  # what is read once in the life of a process
    for _ in range(rounds):
        with times.measure():
            answer = client.get(address)
        assert answer.status_code == 200, answer.status_code
    return {**asdict(times), "kilobytes": len(answer.content) / 1000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    given = parser.parse_args()
    batch = Batch.objects.select_related("study").get(pk=given.batch)
    print(json.dumps({"report": measure_report(batch, given.rounds), "page": measure_page(batch, given.rounds * 3)}))


if __name__ == "__main__":
    main()
