"""Splitting and joining of stored sentences."""

import json
from uuid import uuid4

import pytest

from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.actions import start_study
from transcripts.corpus import queries
from transcripts.corpus.actions import import_file, merge_sentences, split_sentence
from transcripts.corpus.changes import SentenceRetired
from transcripts.corpus.models import BoundaryEdit, Interview, Sentence, Turn
from transcripts.corpus.pure.boundaries import BoundaryEditRefused
from transcripts.corpus.pure.segmenting import hash_quote


@pytest.fixture
def run_on(study, owner):
    """An interview whose answer has three sentences: 2, 3 and 4."""
    turns = [
        {"role": "interviewer", "text": "Why?"},
        {"role": "model", "text": "One and two and three. Second thing.\n- Third thing"},
        {"role": "model", "text": "Another turn."},
    ]
    line = json.dumps({"id": "r", "title": "Run on", "turns": turns})
    import_file(study=study, name="r.jsonl", data=line.encode(), by=owner)
    return Interview.objects.get(external_id="r")


def find(interview, label):
    return next(each for each in standing(interview) if each.label == label)


def standing(interview):
    rows = Sentence.objects.filter(turn__interview=interview, retired_by__isnull=True).select_related("turn")
    return list(rows.order_by("position", "start"))


def show(interview):
    interview.refresh_from_db()
    rows = standing(interview)
    assert interview.sentence_count == len(rows)
    assert all(row.text_hash == hash_quote(row.read_text()) for row in rows)
    return [f"{row.label} {row.read_text()}" for row in rows]


def split(interview, label, before, by, idempotency_key=None):
    sentence = find(interview, label)
    at = sentence.turn.text.index(before, sentence.start)
    return split_sentence(
        study=interview.study, sentence=sentence, at=at, by=by, idempotency_key=idempotency_key or uuid4()
    )


def join(interview, label, by, idempotency_key=None):
    return merge_sentences(
        study=interview.study, first=find(interview, label), by=by, idempotency_key=idempotency_key or uuid4()
    )


def test_split_makes_two_numbered_pieces_and_retires_the_sentence(run_on, lead):
    old = find(run_on, "2")
    edit = split(run_on, "2", " and two", lead)
    assert show(run_on) == [
        "1 Why?",
        "2a One",
        "2b and two and three.",
        "3 Second thing.",
        "4 Third thing",
        "5 Another turn.",
    ]
    old.refresh_from_db()
    assert old.retired_by == edit
    assert {piece.made_by for piece in standing(run_on) if piece.suffix} == {edit}
    assert {piece.kind for piece in standing(run_on) if piece.suffix} == {old.kind}
    assert (edit.kind, edit.edited_by) == ("split", lead)


def test_piece_can_be_split_again(run_on, lead):
    split(run_on, "2", "and three", lead)
    split(run_on, "2a", "and two", lead)
    assert show(run_on)[1:4] == ["2aa One", "2ab and two", "2b and three."]


def test_join_takes_the_number_of_the_first(run_on, lead):
    edit = join(run_on, "2", lead)
    assert show(run_on) == ["1 Why?", "2 One and two and three. Second thing.", "4 Third thing", "5 Another turn."]
    assert edit.retired.count() == 2
    assert find(run_on, "2").made_by == edit


def test_joined_sentence_holds_what_stood_between(run_on, lead):
    join(run_on, "3", lead)
    assert "3 Second thing.\n- Third thing" in show(run_on)
    assert find(run_on, "3").kind == "prose"


@pytest.mark.parametrize("label", ["2", "3"])
def test_undoing_a_join_brings_the_sentences_back_as_they_were(run_on, lead, label):
    before = show(run_on)
    second = standing(run_on)[int(label)]
    join(run_on, label, lead)
    sentence = find(run_on, label)
    split_sentence(study=run_on.study, sentence=sentence, at=second.start, by=lead, idempotency_key=uuid4())
    assert show(run_on) == before
    assert standing(run_on)[int(label)].kind == second.kind


def test_undoing_a_split_brings_the_number_back(run_on, lead):
    before = show(run_on)
    split(run_on, "2", "and three", lead)
    split(run_on, "2a", "and two", lead)
    join(run_on, "2aa", lead)
    assert show(run_on)[1:3] == ["2a One and two", "2b and three."]
    join(run_on, "2a", lead)
    assert show(run_on) == before


def test_no_two_standing_sentences_share_a_number(run_on, lead):
    steps = [
        ("2", "and two"),
        ("2b", ""),
        ("2b", "Second"),
        ("2a", ""),
        ("2", "and three"),
        ("3", ""),
        ("2a", "and two"),
    ]
    for label, before in steps:
        if before:
            split(run_on, label, before, lead)
        else:
            join(run_on, label, lead)
        labels = [line.split()[0] for line in show(run_on)]
        assert len(set(labels)) == len(labels)


def test_same_request_twice_cuts_once(run_on, lead):
    number, old = uuid4(), find(run_on, "2")
    first = split(run_on, "2", "and two", lead, number)
    lines, events = show(run_on), AuditEvent.objects.count()
    again = split_sentence(study=run_on.study, sentence=old, at=old.start + 4, by=lead, idempotency_key=number)
    assert (again, show(run_on), AuditEvent.objects.count()) == (first, lines, events)
    number, old = uuid4(), find(run_on, "3")
    join(run_on, "3", lead, number)
    lines = show(run_on)
    assert merge_sentences(study=run_on.study, first=old, by=lead, idempotency_key=number).kind == "merge"
    assert show(run_on) == lines


def test_number_of_another_request_is_refused(run_on, lead, owner):
    number = uuid4()
    split(run_on, "2", "and two", lead, number)
    with pytest.raises(BoundaryEditRefused, match="same idempotency key as an earlier request"):
        join(run_on, "3", lead, number)
    with pytest.raises(BoundaryEditRefused, match="same idempotency key as an earlier request"):
        split(run_on, "3", "thing", owner, number)


def test_retired_sentence_is_refused_and_told_why(run_on, lead):
    old, below = find(run_on, "2"), find(run_on, "3")
    split(run_on, "2", "and two", lead)
    with pytest.raises(SentenceRetired, match="Sentence 2 has since been split"):
        split_sentence(study=run_on.study, sentence=old, at=old.start + 4, by=lead, idempotency_key=uuid4())
    join(run_on, "2b", lead)
    with pytest.raises(SentenceRetired, match="Sentence 3 has since been merged with another"):
        merge_sentences(study=run_on.study, first=below, by=lead, idempotency_key=uuid4())


def test_join_with_another_sentence_than_the_one_seen_below_is_refused(run_on, lead):
    seen = find(run_on, "3")
    split(run_on, "3", "thing", lead)
    with pytest.raises(SentenceRetired, match="has since changed"):
        merge_sentences(
            study=run_on.study, first=find(run_on, "2"), by=lead, idempotency_key=uuid4(), second_id=seen.pk
        )


@pytest.mark.parametrize("label", ["1", "4", "5"])
def test_last_sentence_of_a_turn_is_not_joined_with_the_next_turn(run_on, lead, label):
    with pytest.raises(BoundaryEditRefused, match=f"Sentence {label} is the last of its turn"):
        join(run_on, label, lead)


def test_refused_cut_leaves_nothing_behind(run_on, lead):
    before, events = show(run_on), AuditEvent.objects.count()
    sentence = find(run_on, "2")
    for at in (sentence.start, sentence.end, 0, 10_000):
        with pytest.raises(BoundaryEditRefused):
            split_sentence(study=run_on.study, sentence=sentence, at=at, by=lead, idempotency_key=uuid4())
    assert (show(run_on), AuditEvent.objects.count(), BoundaryEdit.objects.count()) == (before, events, 0)


def test_sentence_of_another_study_is_refused(run_on, lead, owner):
    other = start_study(slug="other", name="Other", by=owner)
    sentence = find(run_on, "2")
    with pytest.raises(BoundaryEditRefused, match="not part of this study"):
        split_sentence(study=other, sentence=sentence, at=sentence.start + 4, by=lead, idempotency_key=uuid4())
    with pytest.raises(BoundaryEditRefused, match="not part of this study"):
        merge_sentences(study=other, first=sentence, by=lead, idempotency_key=uuid4())


def test_tool_traffic_is_refused(run_on, lead):
    sentence = find(run_on, "2")
    Turn.objects.filter(pk=sentence.turn_id).update(channel="tool_result")
    with pytest.raises(BoundaryEditRefused, match="Tool traffic"):
        merge_sentences(study=run_on.study, first=sentence, by=lead, idempotency_key=uuid4())


def test_each_cut_leaves_one_event_with_ids_and_what_was_carried(run_on, lead):
    old = find(run_on, "2")
    events = AuditEvent.objects.count()
    edit = split_sentence(
        study=run_on.study,
        sentence=old,
        at=old.start + 4,
        by=lead,
        idempotency_key=uuid4(),
        migrate=lambda edit: ({"codings": edit.made.count()}, []),
    )
    event = AuditEvent.objects.latest("pk")
    assert AuditEvent.objects.count() == events + 1
    assert (event.action, event.target, event.actor_name) == (
        "corpus.sentence.split",
        f"corpus.boundaryedit:{edit.pk}",
        "lead",
    )
    assert event.details == {
        "interview": run_on.pk,
        "turn": old.turn_id,
        "retired": [old.pk],
        "made": [piece.pk for piece in standing(run_on) if piece.suffix],
        "codings": 2,
    }


def test_what_is_carried_stands_or_falls_with_the_cut(run_on, lead):
    def fall(edit):
        raise BoundaryEditRefused("Locked.")

    before = show(run_on)
    sentence = find(run_on, "2")
    with pytest.raises(BoundaryEditRefused, match="Locked"):
        split_sentence(
            study=run_on.study,
            sentence=sentence,
            at=sentence.start + 4,
            by=lead,
            idempotency_key=uuid4(),
            migrate=fall,
        )
    assert show(run_on) == before
    assert not BoundaryEdit.objects.exists()


def test_history_tells_both_states(run_on, lead):
    split(run_on, "2", "and two", lead)
    join(run_on, "2b", lead)
    (_, before_join, after_join), (_, before_split, after_split) = queries.list_boundary_edits(run_on)
    assert [each.label for each in before_split] == ["2"]
    assert [(each.label, each.retired_by_id is None) for each in after_split] == [("2a", True), ("2b", False)]
    assert [each.read_text() for each in before_join] == ["and two and three.", "Second thing."]
    assert [each.read_text() for each in after_join] == ["and two and three. Second thing."]


def test_only_a_standing_sentence_can_be_held(run_on, lead):
    old = find(run_on, "2")
    assert queries.hold_sentence(old.pk)
    split(run_on, "2", "and two", lead)
    assert not queries.hold_sentence(old.pk)
    assert not queries.hold_sentence(10**9)
    assert queries.explain_retired(find(run_on, "3").pk) == ""
