"""Reading the records of a study: what a file says is what the database gives back."""

import datetime
import uuid
from collections import Counter
from uuid import uuid4

import pytest
from django.utils import timezone

from tests.transcripts.negotiation.loading import load, read_check
from transcripts.blinding.viewers import Viewer
from transcripts.codebook import actions as codebook
from transcripts.codebook.models import Code, CodeFamily
from transcripts.coding.actions.links import withdraw_link
from transcripts.coding.models import Coding, Link, StageOpening, Unblinding
from transcripts.negotiation.models import NormativeStance, Score
from transcripts.negotiation.pure import records
from transcripts.negotiation.pure.report import make_report
from transcripts.negotiation.queries.cases import list_features
from transcripts.negotiation.queries.records import read_records, read_score_records
from transcripts.studies.roles import READER

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("number", ["NC04", "NC05", "NC06", "NC07", "NC08", "NC09"])
def test_a_study_gives_back_the_records_it_was_loaded_from(study, owner, number):
    lines, _, _ = read_check(number)
    load(study, owner, lines)
    found = read_records(study)
    said = Counter(line["record"] for line in lines)
    assert len(found.threads) == said["thread"]
    assert len(found.turns) >= said["turn"]
    assert len(found.codings) == said["coding"]
    assert len(found.links) == said["link"]
    assert len(found.pairs) == said["pair"]
    assert len(found.scores) == said["score"]
    asked = [
        (line["thread"], line["turn"], line["start"], line["coder"], line["code"], line.get("enactment", ""))
        for line in lines
        if line["record"] == "coding"
    ]
    assert sorted(each[1:7] for each in found.codings) == sorted(asked)


def test_reading_takes_as_many_queries_for_many_threads_as_for_few(study, owner, django_assert_max_num_queries):
    load(study, owner, read_check("NC07")[0])
    with django_assert_max_num_queries(11):
        read_records(study)


def make_thread(*lines):
    """A question and an answer, with codings of ana and their links."""
    turns = [
        {"record": "turn", "thread": "t1", "turn": turn, "role": role, "channel": "utterance"}
        for turn, role in ((1, "interviewer"), (2, "model"))
    ]
    thread = {"record": "thread", "thread": "t1", "relevant": ["feature.power", "feature.stakeholders"]}
    return [thread, *turns, *lines]


def make_coding(key, code):
    return {"record": "coding", "id": key, "thread": "t1", "turn": 2, "coder": "ana", "code": code, "start": 0}


def make_link(coding, code):
    return {"record": "link", "coding": coding, "kind": "acts_on", "code": code}


def test_a_link_withdrawn_after_its_coder_saw_others_labels_is_still_a_blind_reading(study, owner):
    lines = make_thread(
        {**make_coding("m", "move.elicit"), "enactment": "enacted"},
        make_link("m", "feature.power"),
        make_link("m", "feature.stakeholders"),
    )
    ana = load(study, owner, lines)["ana"]
    before, after = Link.objects.select_related("coding__sentence__turn__interview").order_by("pk")
    withdraw_link(study=study, link=before, by=ana)
    assert before.code is not None
    assert after.code is not None
    talk = before.coding.sentence.turn.interview
    Unblinding.objects.create(interview=talk, user=ana, unblinded_at=timezone.now(), where="desk")
    withdraw_link(study=study, link=after, by=ana)
    assert list(Link.objects.blind()) == [after]
    assert [each.code for each in read_records(study).links] == [after.code.identifier]
    assert read_records(study, is_blind=False).links == []
    # Made once more, now with others' labels in sight, it is no blind reading, and the first still is.
    Link.objects.create(
        coding=after.coding,
        coder=ana,
        kind=after.kind,
        code=before.code,
        blinding="assisted",
        idempotency_key=uuid.uuid4(),
        created_at=after.created_at,
    )
    assert [each.code for each in read_records(study).links] == [after.code.identifier]
    assert [each.code for each in read_records(study, is_blind=False).links] == [before.code.identifier]


def test_merged_codes_count_as_the_code_they_went_into(study, owner, lead):
    lines = make_thread(
        make_coding("p", "feature.power"),
        make_coding("s", "feature.stakeholders"),
        {**make_coding("m", "move.elicit"), "enactment": "enacted"},
        make_link("m", "feature.power"),
        make_link("m", "feature.stakeholders"),
    )
    load(study, owner, lines)
    found = read_records(study)
    assert sorted(each.code for each in found.codings) == ["feature.power", "feature.stakeholders", "move.elicit"]
    draft = codebook.start_draft(study=study, by=lead)
    power, stakeholders = (draft.codes.get(identifier=f"feature.{name}") for name in ("power", "stakeholders"))
    codebook.merge_codes(version=draft, codes=[power, stakeholders], into=power, reason="One thing.", by=lead)
    codebook.publish_version(version=draft, by=lead)
    found = read_records(study)
    assert sorted(each.code for each in found.codings) == ["feature.power", "move.elicit"]
    assert [each.code for each in found.links] == ["feature.power"]
    case = ("feature.power",), ()
    assert found.threads == [records.Thread("t1", "", *case, kind="interview", model="Model A")]


def test_what_is_linked_after_reasoning_was_opened_is_left_out_with_what_is_coded_then(study, owner):
    lines, _, _ = read_check("NC08")
    coders = load(study, owner, lines)
    coder = next(iter(coders.values()))
    early, late = Link.objects.filter(coder=coder, kind="acts_on").order_by("pk")[:2]
    opened = timezone.now()
    for interview in study.interviews.all():
        StageOpening.objects.create(turn=interview.turns.all()[0], coder=coder, opened_at=opened)
    before = len(read_records(study, before_reasoning=True).links)
    hour = datetime.timedelta(hours=1)
    # The boundaries of a sentence moved: the link moves along, stored anew. It is still what she linked before.
    Link.objects.filter(pk=early.pk).update(withdrawn_at=opened + hour)
    Link.objects.create(
        coding=early.coding,
        coder=coder,
        kind=early.kind,
        code=early.code,
        idempotency_key=uuid4(),
        created_at=opened + hour,
    )
    assert len(read_records(study, before_reasoning=True).links) == before
    Link.objects.filter(pk=late.pk).update(created_at=opened + 2 * hour)
    assert len(read_records(study, before_reasoning=True).links) == before - 1
    assert len(read_records(study).links) == before


def test_a_determination_of_an_entry_that_was_removed_counts_no_more(study, owner):
    lines, _, _ = read_check("NC04")
    coders = load(study, owner, lines)
    entry = Coding.objects.filter(coder=coders["ana"], code__identifier="feature.power").order_by("pk")[0]
    stance = NormativeStance.objects.create(
        study=study, name="care", number=1, author="A", sha256="0" * 64, written_at=timezone.now(), written_by=owner
    )
    Score.objects.create(
        stance=stance,
        interview=entry.sentence.turn.interview,
        criterion="warranted",
        coder=coders["ana"],
        value=1,
        turn=entry.sentence.turn,
        feature="feature.power",
        idempotency_key=uuid4(),
        created_at=timezone.now(),
    )
    viewer = Viewer(study, owner, READER)
    assert len(read_records(study).scores) == 1
    assert (len(read_score_records(viewer)[0].scores), read_score_records(viewer)[2]) == (1, 0)
    Coding.objects.filter(pk=entry.pk).update(withdrawn_at=timezone.now())
    found = read_records(study)
    assert found.scores == []
    assert any("has since been removed: 1" in each for each in found.warnings)
    assert (read_score_records(viewer)[0].scores, read_score_records(viewer)[2]) == ([], 1)


def test_a_feature_counts_as_one_in_whatever_family_it_stands(study, owner):
    lines, _, _ = read_check("NC04")
    load(study, owner, lines)
    before = make_report(read_records(study))["by_coder"]["ana"]["ledger"]
    power = Code.objects.get(version__study=study, identifier="feature.power")
    own = CodeFamily.objects.create(
        version=power.version, identifier="power_features", name="Power", unit="turn", position=90
    )
    Code.objects.filter(pk=power.pk).update(family=own, position=900)
    assert make_report(read_records(study))["by_coder"]["ana"]["ledger"] == before
    assert "feature.power" in list_features(study)
