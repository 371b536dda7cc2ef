"""A file of trajectories gives the figures of the study, also where coders went back on what they had said."""

import pytest
from django.utils import timezone

from tests.transcripts.negotiation.loading import load, read_check
from transcripts.codebook import actions as codebook
from transcripts.coding.actions.links import withdraw_link
from transcripts.coding.models import Coding, Decision, Link, Unblinding
from transcripts.corpus.models import Interview, Sentence
from transcripts.exchange.rows import Scope, find_export
from transcripts.negotiation.models import Score
from transcripts.negotiation.pure.reading import read_records as read_file
from transcripts.negotiation.pure.report import make_report
from transcripts.negotiation.queries.records import read_records

pytestmark = pytest.mark.django_db


def export(study, folder):
    path = folder / "x.jsonl"
    found = find_export("trajectories")
    assert found
    found.files["jsonl"](Scope(study, None), path)
    with path.open("rb") as stream:
        return read_file(stream, name="x.jsonl")


def compare(of_study, of_file):
    """The report of both, which has to be the same."""
    expected, found = (make_report(each) for each in (of_study, of_file))
    for report in (expected, found):
        report.pop("warnings")
    assert found == expected
    assert sorted(map(repr, of_file.links)) == sorted({repr(each) for each in of_study.links})
    assert len(of_file.codings) == len(of_study.codings)
    assert of_file.threads == of_study.threads
    return found


def list_loaded(study, owner):
    yield from load(study, owner, read_check("NC08")[0]).values()


def unblind_all(study, person):
    for interview in Interview.objects.filter(study=study):
        Unblinding.objects.create(interview=interview, user=person, unblinded_at=timezone.now(), where="desk")


def test_what_was_withdrawn_after_unblinding_counts_in_both_and_before_in_neither(study, owner, tmp_path):
    ana = next(list_loaded(study, owner))
    decided = Decision.objects.create(
        sentence=Sentence.objects.filter(turn__interview__study=study, turn__role="model").order_by("pk")[0],
        coder=ana,
        none_applies=False,
        idempotency_key="00000000-0000-4000-8000-000000000001",
        created_at=timezone.now(),
    )
    before = compare(read_records(study), export(study, tmp_path))
    early, late = Coding.objects.filter(coder=ana, code__identifier__startswith="move.").order_by("pk")[:2]
    Coding.objects.filter(pk=early.pk).update(withdrawn_at=timezone.now())
    now = compare(read_records(study), export(study, tmp_path))
    assert now != before
    unblind_all(study, ana)
    link = Link.objects.active().filter(coder=ana, kind="acts_on").order_by("pk")[0]
    withdraw_link(study=study, link=link, by=ana)
    Coding.objects.filter(pk=late.pk).update(withdrawn_at=timezone.now())
    Decision.objects.filter(pk=decided.pk).update(withdrawn_at=timezone.now())
    assert compare(read_records(study), export(study, tmp_path)) == now


def test_codes_that_were_merged_count_as_one_in_both(study, owner, lead, tmp_path):
    list(list_loaded(study, owner))
    draft = codebook.start_draft(study=study, by=lead)
    used = Link.objects.filter(code__isnull=False).values("code__identifier")
    into, other = draft.codes.filter(identifier__in=used).order_by("pk")[:2]
    codebook.merge_codes(version=draft, codes=[into, other], into=into, reason="One thing.", by=lead)
    codebook.publish_version(version=draft, by=lead)
    found = compare(read_records(study), export(study, tmp_path))
    features = {
        feature for each in found["by_coder"].values() for row in each["links"]["counts"].values() for feature in row
    }
    assert into.identifier in features
    assert other.identifier not in features


def test_a_score_withdrawn_after_unblinding_counts_in_both(study, owner, tmp_path):
    coders = load(study, owner, read_check("NC09")[0])
    for person in coders.values():
        unblind_all(study, person)
    one = Score.objects.order_by("pk")[0]
    Score.objects.filter(pk=one.pk).update(withdrawn_at=timezone.now())
    of_study, of_file = read_records(study), export(study, tmp_path)
    assert len(of_file.scores) == Score.objects.count()
    assert compare(of_study, of_file)["stances"]
