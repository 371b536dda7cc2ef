"""What one person did, newest first: nobody else's acts, and nothing that the program did with her rows."""

import json
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tests.support.masked_threads import bring_in_masked, make_thread
from tests.transcripts.coding.cast import decide, find_code, put, restore, take_off
from tests.transcripts.negotiation.cast import add_challenges, score, write
from transcripts.blinding.actions import open_condition, unblind_former_reader, unblind_interview
from transcripts.coding import actions
from transcripts.coding.actions import boundary_edits
from transcripts.coding.models import Link, Reveal
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence
from transcripts.corpus.pure.boundaries import Extent
from transcripts.desk.history import list_history
from transcripts.negotiation.actions import Evidence, withdraw_score

pytestmark = pytest.mark.django_db

TURNS = [
    {"role": "interviewer", "text": "She asks for a raise. Help her appeal."},
    {"role": "model", "channel": "reasoning", "text": "Was she qualified? I assume so."},
    {"role": "model", "text": "Her manager decides. I would appeal first, and then wait."},
    {"role": "interviewer", "text": "You assume she was qualified. She was not."},
    {"role": "model", "text": "Then I take back the appeal. Talk to her manager."},
]


@pytest.fixture
def run(study, owner):
    """A trajectory with reasoning and a challenge."""
    line = json.dumps({"id": "run", "kind": "trajectory", "title": "A run", "turns": TURNS})
    import_file(study=study, name="run.jsonl", data=line.encode(), by=owner)
    return Interview.objects.get(external_id="run")


def said(interview):
    """What the model says, reasoning aside."""
    rows = (
        Sentence.objects.current()
        .filter(turn__interview=interview, turn__role="model")
        .exclude(turn__channel="reasoning")
    )
    return list(rows.select_related("turn__interview__study").order_by("position", "start"))


def entries(study, user):
    return list_history(study, user)[0]


def kinds(study, user):
    return [entry.kind for entry in entries(study, user)]


def link_to(coding, sentence, by, quote=None):
    """Have an entry rest on a sentence."""
    study = sentence.turn.interview.study
    return actions.add_link(
        study=study, coding=coding, kind="warrant", sentence=sentence, quote=quote, by=by, idempotency_key=uuid4()
    )


def test_newest_comes_first_and_only_ones_own(study, interview, coder, second_coder):
    first, *_ = said(interview)
    balance = find_code(study, "theme.balance")
    put(first, balance, second_coder)
    coding = put(first, balance, coder)
    put(first, balance, coder, level="latent", note="Weighs")
    decision = decide(first, coder)
    actions.reopen_sentence(study=study, decision=decision, by=coder)
    take_off(put(first, find_code(study, "theme.compassion"), coder), coder)
    actions.write_memo(study=study, interview=interview, sentence=None, text="x", by=coder, idempotency_key=uuid4())
    acts = entries(study, coder)
    labels = [entry.act.sentence.label if entry.act.sentence else "" for entry in acts]
    assert [(entry.kind, entry.act.about, label) for entry, label in zip(acts, labels, strict=True)] == [
        ("memo", "", ""),
        ("removed", "Compassion", "2"),
        ("applied", "Compassion", "2"),
        ("reopened", "", "2"),
        ("decided", "", "2"),
        ("changed", "Balance", "2"),
        ("applied", "Balance", "2"),
    ]
    assert acts[-1].at == coding.created_at
    assert acts[-2].act.details == "latent"


def test_boundary_edits_are_acts_and_what_they_carried_is_not(study, interview, lead, coder):
    first = said(interview)[1]
    put(first, find_code(study, "theme.balance"), lead)
    put(first, find_code(study, "theme.balance"), coder)
    decide(first, coder)
    Reveal.objects.create(sentence=first, coder=coder, revealed_at=timezone.now())
    boundary_edits.split_sentence(study=study, sentence=first, at=first.start + 16, by=lead, idempotency_key=uuid4())
    assert kinds(study, lead) == ["split", "applied"]
    hers = entries(study, coder)
    assert [entry.kind for entry in hers] == ["machine", "decided", "applied"]
    assert all(entry.act.sentence and entry.act.sentence.retired_by_id for entry in hers)
    [piece, _] = Sentence.objects.filter(suffix__in="ab").order_by("start").select_related("turn__interview")
    boundary_edits.merge_sentences(study=study, first=piece, by=lead, idempotency_key=uuid4())
    assert kinds(study, lead) == ["merge", "split", "applied"]
    assert kinds(study, coder) == ["machine", "decided", "applied"]


def test_status_of_an_entry_is_told_with_its_other_answers(study, run, coder):
    put(said(run)[0], find_code(study, "feature.power"), coder, attributes={"status": "elicited"})
    [entry] = entries(study, coder)
    assert entry.act.details == "elicited"


def test_links_are_acts_and_those_that_go_along_with_a_coding_are_not(study, run, coder, lead):
    asked = Sentence.objects.current().filter(turn__interview=run).select_related("turn__interview__study").first()
    assert asked is not None
    power = find_code(study, "feature.power")
    entry = put(said(run)[1], power, coder)
    link = link_to(entry, asked, coder)
    assert kinds(study, coder) == ["linked", "applied"]
    changed = put(said(run)[1], power, coder, note="Said outright.")
    take_off(changed, coder)
    back = restore(changed, changed.sentence, coder)
    assert kinds(study, coder) == ["applied", "removed", "changed", "linked", "applied"]
    link_to(back, asked, coder, quote=Extent(asked.start, asked.start + 3))
    boundary_edits.split_sentence(study=study, sentence=asked, at=asked.start + 8, by=lead, idempotency_key=uuid4())
    boundary_edits.split_sentence(
        study=study, sentence=back.sentence, at=back.sentence.start + 8, by=lead, idempotency_key=uuid4()
    )
    assert Link.objects.count() > 4
    assert kinds(study, coder)[:2] == ["linked_anew", "applied"]
    standing = Link.objects.active().filter(coder=coder).select_related("coding__sentence__turn__interview")
    for each in standing:
        actions.withdraw_link(study=study, link=each, by=coder)
    acts = entries(study, coder)
    assert [act.kind for act in acts].count("unlinked") == len(standing)
    assert [act.kind for act in acts][len(standing) :] == [
        "linked_anew",
        "applied",
        "removed",
        "changed",
        "linked",
        "applied",
    ]
    made = next(act for act in acts if act.kind == "linked")
    assert (made.at, made.act.about, made.act.details) == (link.created_at, power.name, "rests on")
    assert [sentence.label for sentence in made.act.rests_on] == [asked.label]


def test_openings_of_reasoning_conditions_and_labels_are_acts(study, run, owner, lead, client_of):
    masked = bring_in_masked(study, owner, [make_thread("xenobare", 1)])[-1]
    actions.open_stage(study=study, turn=run.turns.get(position=2), by=lead)
    open_condition(study=study, interview=masked, by=lead)
    unblind_interview(study=study, interview=run, by=lead, where="here")
    unblind_former_reader(study=study, interviews=[masked], user=lead, by=owner)
    assert kinds(study, lead) == ["unblinded", "condition", "reasoning"]
    html = client_of(lead).get(reverse("desk:history", args=[study.slug])).content.decode()
    assert f"{reverse('desk:desk', args=[study.slug, run.pk])}#turn-2" in html
    assert reverse("blinding:condition", args=[study.slug, masked.pk]) in html
    assert masked.mask_label in html
    assert kinds(study, owner) == []


def test_scores_and_determinations_are_acts_with_their_evidence(study, run, lead, coder, second_coder, client_of):
    stance = write(study, lead)
    first, second = said(run)[:2]
    score(stance, run, second_coder, 0)
    score(stance, run, coder, 2, evidence=[Evidence(first)])
    changed = score(stance, run, coder, 3, evidence=[Evidence(first), Evidence(second)])
    withdraw_score(study=study, score=changed, by=coder)
    challenge = Sentence.objects.filter(turn__interview=run, turn__position=4).select_related("turn__interview__study")[
        0
    ]
    put(challenge, add_challenges(study), coder)
    score(stance, run, coder, 1, "updated", turn=challenge.turn, evidence=[Evidence(said(run)[2])])
    acts = entries(study, coder)
    assert [(entry.kind, entry.act.details, len(entry.act.rests_on)) for entry in acts] == [
        ("scored", "yes", 1),
        ("applied", "", 0),
        ("unscored", "3", 2),
        ("scored_anew", "3", 2),
        ("scored", "2", 1),
    ]
    assert acts[-1].act.about == "care/1: Its moves serve them"
    html = client_of(coder).get(reverse("desk:history", args=[study.slug])).content.decode()
    assert reverse("negotiation:thread_scores", args=[study.slug, run.pk]) in html
    assert f"#turn-{challenge.turn.position}" in html
    assert f"?at={second.pk}#s{second.pk}" in html


def test_page_links_to_the_sentences_and_leads_on(study, interview, coder, client_of, monkeypatch):
    for sentence in said(interview):
        decide(sentence, coder)
    monkeypatch.setattr("transcripts.desk.history.ENTRIES_PER_PAGE", 5)
    client, path = client_of(coder), reverse("desk:history", args=[study.slug])
    newest = client.get(path).content.decode()
    last = said(interview)[-1]
    assert f"?at={last.pk}#s{last.pk}" in newest
    assert "?page=2" in newest
    older = client.get(path, {"page": 2}).content.decode()
    assert older.count("none applies") == 2
    assert "Nothing yet" in client.get(path, {"page": 9}).content.decode()
    assert client.get(path, {"page": "x"}).status_code == 200


def test_a_longer_page_takes_no_more_queries(study, run, lead, coder, client_of):
    client, path = client_of(coder), reverse("desk:history", args=[study.slug])
    stance, power = write(study, lead), find_code(study, "feature.power")
    asked = Sentence.objects.current().filter(turn__interview=run).select_related("turn__interview__study")[0]

    def act_on(sentence, criterion):
        link_to(put(sentence, power, coder), asked, coder)
        decide(sentence, coder)
        score(stance, run, coder, 2, criterion, evidence=[Evidence(sentence)])

    def count():
        with CaptureQueriesContext(connection) as captured:
            assert client.get(path).status_code == 200
        return len(captured)

    first, *others = said(run)
    act_on(first, "moves")
    count()
    before = count()
    for sentence, criterion in zip(others, ("features", "consistency", "answerability"), strict=True):
        act_on(sentence, criterion)
    assert count() == before
