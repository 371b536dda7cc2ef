"""Count the database queries of opening the desk, on a long interview and on a short one."""

from __future__ import annotations

import json

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from perf.corpus import write_interviews
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview
from transcripts.studies.models import Study


def count_queries(client: Client, interview: Interview) -> int:
    """The queries of one request, of session and rights too."""
    url = reverse("desk:desk", args=[interview.study.slug, interview.pk])
    client.get(url)  # what is read once in the life of a process
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(url)
    assert answer.status_code == 200, answer.status_code
    return len(captured)


def main() -> None:
    study = Study.objects.get(slug="bench")
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(username="annotator"))
    long = study.interviews.order_by("pk")[0]
    data = write_interviews(1, name="short", questions=1)
    import_file(study=study, name="short.jsonl", data=data, by=trail.SYSTEM)
    short = study.interviews.get(external_id="short-0000")
    found = {each.sentence_count: count_queries(client, each) for each in (short, long)}
    print(json.dumps({"queries_by_sentences": found, "most": max(found.values())}))


if __name__ == "__main__":
    main()
