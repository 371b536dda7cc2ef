"""Prepare an empty data folder: a study, its interviews, people who code it, and codes on it."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

from django.core.management import call_command

from perf.inside.codings import find_codes, insert_codings, insert_entries
from transcripts.accounts.queries import sign_in_address
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence, Turn
from transcripts.studies.actions import invite_person
from transcripts.studies.models import Study

ANNOTATORS = ("annotator", "second_annotator")


def list_answers(study: Study) -> dict[int, list[int]]:
    """The sentences of the model, by interview."""
    sentences = Sentence.objects.filter(turn__interview__study=study, turn__role=Turn.Role.MODEL)
    found: dict[int, list[int]] = {}
    for interview, sentence in sentences.order_by("pk").values_list("turn__interview", "pk"):
        found.setdefault(interview, []).append(sentence)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--coders", type=int, required=True)
    parser.add_argument("--codings", type=int, required=True)
    parser.add_argument("--entries", type=int, default=0, help="features and moves on so many answers of each thread")
    given = parser.parse_args()
    call_command("prepare", no_demo=True, stdout=io.StringIO())
    study = start_study(slug="bench", name="Bench", by=trail.SYSTEM)
    import_file(study=study, name=given.file.name, data=given.file.read_bytes(), by=trail.SYSTEM)
    names = [*ANNOTATORS, *(f"coder{number}" for number in range(given.coders))]
    links = {}
    for name in names:
        _, secret = invite_person(study=study, username=name, role="coder", by=trail.SYSTEM)
        links[name] = sign_in_address(secret)
    _, secret = invite_person(study=study, username="importer", role="lead", by=trail.SYSTEM)
    links["importer"] = sign_in_address(secret)
    insert_codings(study, coder=ANNOTATORS[0], count=given.codings)
    insert_entries(study, coder=ANNOTATORS[0], count=given.entries)
    codes = [(code.pk, "described" if code.family.carries_enactment else "") for code in find_codes(study)]
    print(json.dumps({"slug": study.slug, "links": links, "answers": list_answers(study), "codes": codes}))


if __name__ == "__main__":
    main()
