"""What a move acts on, what an entry rests on, what a Revise changes; and how links go along with their codings."""

import json
from uuid import uuid4

import pytest

from tests.transcripts.coding.cast import find_code, last_event, put, restore, take_off
from tests.transcripts.desk.desk_pages import act, address, read
from transcripts.audit_trail.replay import compare_rows
from transcripts.audit_trail.trail import list_streams
from transcripts.codebook.models import Code
from transcripts.coding import actions
from transcripts.coding.actions import boundary_edits
from transcripts.coding.models import Blinding, Coding, Link, StageOpening
from transcripts.coding.queries import read_first_openings, saw_reasoning
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence
from transcripts.corpus.pure.boundaries import Extent
from transcripts.desk.annotations import read_annotations_in
from transcripts.exchange.rows import Scope, find_export
from transcripts.refusals import WrongInput

pytestmark = pytest.mark.django_db

TURNS = [
    {"role": "interviewer", "text": "She asks for a raise. Help her appeal."},
    {"role": "model", "channel": "reasoning", "text": "Was she qualified? I assume so."},
    {"role": "model", "channel": "tool_call", "speaker": "search", "text": '{"query": "pay"}', "call_id": "c1"},
    {"role": "tool", "channel": "tool_result", "speaker": "search", "text": "Three tables of pay.", "call_id": "c1"},
    {"role": "model", "text": "Her manager decides. I would appeal first, and then wait."},
    {"role": "interviewer", "text": "You assume she was qualified. She was not."},
    {"role": "model", "text": "Then I take back the appeal. Talk to her manager."},
]
BRANCH = [{"role": "interviewer", "text": "And her colleagues?"}, {"role": "model", "text": "They matter too."}]


@pytest.fixture
def run(study, owner):
    lines = [
        {"id": "run", "kind": "trajectory", "title": "A run", "turns": TURNS},
        {
            "id": "branch",
            "kind": "trajectory",
            "title": "Another way",
            "relation": "branch",
            "hangs_on": {"id": "run", "turn": 5},
            "turns": BRANCH,
        },
    ]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    import_file(study=study, name="runs.jsonl", data=data, by=owner)
    return Interview.objects.get(external_id="run")


def sentence_of(interview, turn, place=0):
    sentences = Sentence.objects.current().select_related("turn__interview__study")
    return sentences.filter(turn__interview=interview, turn__position=turn).order_by("start")[place]


def link(coding, by, *, to, kind="", **more):
    """Link a coding to a feature, or to a sentence: a Revise revises it, anything else rests on it."""
    end = {"code": to} if isinstance(to, Code) else {"sentence": to}
    usual = "acts_on" if isinstance(to, Code) else "revises" if "revise" in coding.code.identifier else "warrant"
    return actions.add_link(
        study=coding.sentence.turn.interview.study,
        coding=coding,
        kind=kind or usual,
        by=by,
        idempotency_key=more.pop("idempotency_key", uuid4()),
        **end,
        **more,
    )


def standing(coding):
    """The other ends of the links that stand."""
    links = Link.objects.active().filter(coding=coding).select_related("code", "sentence").order_by("pk")
    features = [each.code.identifier for each in links if each.code]
    return features + [f"s{each.sentence.label}" for each in links if each.sentence]


@pytest.fixture
def stakeholders(study):
    return find_code(study, "feature.stakeholders")


@pytest.fixture
def revise(study, run, coder):
    return put(sentence_of(run, 7), find_code(study, "move.revise"), coder)


@pytest.fixture
def entry(run, stakeholders, coder):
    return put(sentence_of(run, 7), find_code(sentence_of(run, 7).turn.interview.owning_study, "feature.power"), coder)


def test_move_acts_on_features_and_the_audit_trail_says_so(study, revise, stakeholders, coder):
    made = link(revise, coder, to=stakeholders)
    event = last_event(study)
    assert (event.action, event.details["kind"], event.details["code"]) == (
        "coding.link.added",
        "acts_on",
        stakeholders.pk,
    )
    assert made.blinding == Blinding.BLIND
    link(revise, coder, to=find_code(study, "feature.power"))
    assert standing(revise) == ["feature.stakeholders", "feature.power"]
    actions.withdraw_link(study=study, link=made, by=coder)
    assert last_event(study).action == "coding.link.withdrawn"
    assert standing(revise) == ["feature.power"]


def test_link_that_is_sent_twice_is_stored_once(revise, stakeholders, coder):
    key = uuid4()
    assert link(revise, coder, to=stakeholders, idempotency_key=key) == link(
        revise, coder, to=stakeholders, idempotency_key=key
    )
    link(revise, coder, to=stakeholders)
    assert Link.objects.count() == 1
    with pytest.raises(actions.UsedForAnother):
        link(revise, coder, to=find_code(stakeholders.version.study, "feature.power"), idempotency_key=key)


def test_entry_rests_on_what_came_before_whoever_said_it(run, entry, coder):
    actions.open_stage(study=run.study, turn=run.turns.get(position=2), by=coder)
    for turn in (1, 2, 3, 4, 5, 6, 7):
        link(entry, coder, to=sentence_of(run, turn))
    assert len(standing(entry)) == 7


def test_quote_in_a_sentence_that_is_linked_takes_the_place_of_the_whole(run, entry, coder):
    asked = sentence_of(run, 1)
    link(entry, coder, to=asked)
    link(entry, coder, to=asked, quote=Extent(asked.start, asked.start + 3))
    [kept] = Link.objects.active()
    assert (kept.quote_start, kept.quote_end) == (asked.start, asked.start + 3)
    with pytest.raises(WrongInput, match="must lie within its sentence"):
        link(entry, coder, to=asked, quote=Extent(asked.start, asked.end + 1))


def test_thread_that_hangs_on_another_rests_on_their_common_beginning(study, run, stakeholders, coder):
    branch = Interview.objects.get(external_id="branch")
    own = put(
        sentence_of(branch, 2), find_code(sentence_of(branch, 2).turn.interview.owning_study, "feature.power"), coder
    )
    link(own, coder, to=sentence_of(run, 5))
    with pytest.raises(WrongInput, match="comes after"):
        link(own, coder, to=sentence_of(run, 6))


def test_what_cannot_be_linked_is_refused_with_a_sentence(study, run, entry, revise, stakeholders, owner, coder):
    early = put(sentence_of(run, 5), find_code(sentence_of(run, 5).turn.interview.owning_study, "feature.power"), coder)
    with pytest.raises(WrongInput, match=r"comes after Power .* something said later cannot"):
        link(early, coder, to=sentence_of(run, 6))
    with pytest.raises(WrongInput, match="belongs to another person"):
        link(entry, owner, to=sentence_of(run, 1))
    with pytest.raises(WrongInput, match="belongs to a move"):
        link(entry, coder, to=stakeholders)
    with pytest.raises(WrongInput, match="belongs to a Revise"):
        link(entry, coder, to=sentence_of(run, 1), kind="revises")
    with pytest.raises(WrongInput, match="not a case feature"):
        link(revise, coder, to=find_code(study, "theme.balance"))
    with pytest.raises(WrongInput, match="no kind of link"):
        link(revise, coder, to=stakeholders, kind="likes")
    stakeholders.version.status = "draft"
    stakeholders.version.published_at = None
    stakeholders.version.save()
    with pytest.raises(WrongInput, match="a draft"):
        link(revise, coder, to=Code.objects.get(pk=stakeholders.pk))
    assert Link.objects.count() == 0
    take_off(entry, coder)
    entry.refresh_from_db()
    with pytest.raises(actions.WrongPlace, match="was removed, so it has no links"):
        link(entry, coder, to=sentence_of(run, 1))


def test_links_go_along_when_a_coding_is_changed_removed_and_restored(run, revise, stakeholders, coder):
    link(revise, coder, to=stakeholders)
    changed = put(revise.sentence, revise.code, coder, note="Said outright.")
    assert (standing(changed), standing(revise)) == (["feature.stakeholders"], [])
    # What was sent for the former row, by a page that did not know yet, goes to what took its place.
    revise.refresh_from_db()
    link(revise, coder, to=sentence_of(run, 5))
    assert standing(changed) == ["feature.stakeholders", "s7"]
    take_off(changed, coder)
    assert standing(changed) == []
    back = restore(changed, changed.sentence, coder)
    assert standing(back) == ["feature.stakeholders", "s7"]


def test_end_moves_to_the_piece_that_holds_the_quote(run, entry, owner, coder):
    said = sentence_of(run, 5, 1)
    text = said.turn.text
    wait = text.index("wait")
    link(entry, coder, to=said, quote=Extent(wait, wait + 4))
    boundary_edits.split_sentence(
        study=run.owning_study, sentence=said, at=text.index("and then"), by=owner, idempotency_key=uuid4()
    )
    [kept] = Link.objects.active().filter(coding=entry)
    assert kept.sentence == sentence_of(run, 5, 2)
    assert (kept.quote_start, kept.quote_end) == (wait, wait + 4)
    boundary_edits.merge_sentences(
        study=run.owning_study, first=sentence_of(run, 5, 1), by=owner, idempotency_key=uuid4()
    )
    [kept] = Link.objects.active().filter(coding=entry)
    assert kept.sentence == sentence_of(run, 5, 1)
    assert (kept.quote_start, kept.quote_end) == (wait, wait + 4)


def test_links_of_a_coding_go_to_what_a_split_makes_of_it(run, study, stakeholders, owner, coder):
    said = sentence_of(run, 5, 1)
    move = put(said, find_code(study, "move.redirect"), coder)
    link(move, coder, to=stakeholders)
    at = said.turn.text.index("and then")
    boundary_edits.split_sentence(study=study, sentence=said, at=at, by=owner, idempotency_key=uuid4())
    pieces = Coding.objects.active().filter(code=move.code)
    assert [standing(each) for each in pieces] == [["feature.stakeholders"]] * 2
    boundary_edits.merge_sentences(study=study, first=sentence_of(run, 5, 1), by=owner, idempotency_key=uuid4())
    [whole] = Coding.objects.active().filter(code=move.code)
    assert standing(whole) == ["feature.stakeholders"]


def test_page_stores_and_takes_back_links_and_shows_them_on_the_chip(run, revise, stakeholders, coder, client_of):
    client = client_of(coder)
    heard = sentence_of(run, 5)
    fields = {"coding": revise.idempotency_key.hex, "kind": "acts_on", "code": stakeholders.pk}
    answer = act(client, "link", run, coder, **fields)
    assert answer.status_code == 200
    assert ">Stakeholders</bdi>" in read(answer)
    revises = {
        "coding": revise.idempotency_key.hex,
        "kind": "revises",
        "target": heard.pk,
        "quote_from": 0,
        "quote_to": 3,
    }
    answer = act(client, "link", run, coder, **revises)
    assert f'data-target="{heard.pk}" data-quote-at="0" title="Her">' in read(answer)
    html = read(client.get(address("desk", run)))
    assert "acts on <bdi" in html
    assert f'revises <a href="?at={heard.pk}#s{heard.pk}"' in html
    act(client, "unlink", run, coder, **fields)
    assert standing(revise) == [f"s{heard.label}"]


def test_page_refuses_what_is_not_hers_and_what_is_later(run, stakeholders, entry, owner, coder, client_of):
    early = put(sentence_of(run, 5), find_code(sentence_of(run, 5).turn.interview.owning_study, "feature.power"), coder)
    fields = {"kind": "warrant", "target": sentence_of(run, 7).pk, "coding": early.idempotency_key.hex}
    answer = act(client_of(coder), "link", run, coder, **fields)
    assert (answer.status_code, "comes after" in read(answer)) == (422, True)
    answer = act(client_of(owner), "link", run, owner, **fields)
    assert (answer.status_code, "your own codings" in read(answer)) == (422, True)
    assert Link.objects.count() == 0


def test_colleagues_links_are_not_shown_to_who_codes(run, revise, stakeholders, owner, coder, client_of):
    link(revise, coder, to=stakeholders)
    assert 'class="links"' not in read(client_of(owner).get(address("desk", run)))


def test_coding_that_was_made_after_reasoning_was_opened_is_marked(run, study, stakeholders, coder, client_of):
    put(sentence_of(run, 5), find_code(sentence_of(run, 5).turn.interview.owning_study, "feature.power"), coder)
    actions.open_stage(study=study, turn=run.turns.get(position=2), by=coder)
    put(sentence_of(run, 7), find_code(sentence_of(run, 7).turn.interview.owning_study, "feature.power"), coder)
    assert StageOpening.objects.count() == 1
    opened = read_first_openings(StageOpening.objects.all())
    codings = Coding.objects.order_by("pk")
    assert [saw_reasoning(opened, (coder.pk, run.pk), each.created_at) for each in codings] == [False, True]
    # The desk, which asks in plain SQL, and the export say the same.
    marks = read_annotations_in(run.pk, coder.pk, sees_all=False)
    assert [chip.saw_reasoning for pk in sorted(filter(None, marks)) for chip in marks[pk].chips] == [False, True]
    export = find_export("codings")
    assert export is not None
    assert export.read_rows is not None
    place = list(export.header).index("saw_reasoning")
    assert [row[place] for row in export.read_rows(Scope(study, None))] == [False, True]
    assert read(client_of(coder).get(address("desk", run))).count("after the coder had opened reasoning") == 1


def test_every_link_can_be_rebuilt_from_the_audit_trail(study, run, revise, stakeholders, owner, coder):
    """Added, replaced by another quote, superseded with its coding, undone, withdrawn, and split and merged at either end."""
    said = sentence_of(run, 5, 1)
    link(revise, coder, to=stakeholders)
    link(revise, coder, to=said)
    link(revise, coder, to=said, quote=Extent(said.start, said.end - 10))
    changed = put(revise.sentence, revise.code, coder, note="Changed.")
    take_off(changed, coder)
    again = restore(changed, changed.sentence, coder)
    actions.withdraw_link(study=study, link=Link.objects.active().get(coding=again, code=stakeholders), by=coder)
    cut = said.start + said.turn.text[said.start : said.end].index("appeal")
    boundary_edits.split_sentence(study=study, sentence=said, at=cut, by=owner, idempotency_key=uuid4())
    end = sentence_of(run, 7)
    boundary_edits.split_sentence(study=study, sentence=end, at=end.start + 5, by=owner, idempotency_key=uuid4())
    boundary_edits.merge_sentences(study=study, first=sentence_of(run, 7), by=owner, idempotency_key=uuid4())
    assert Link.objects.active().count() == 1
    assert Link.objects.filter(withdrawn_at__isnull=False).count() > 4
    replayed = compare_rows(list_streams())
    assert replayed.differences == []
    # And the comparison can fail.
    Link.objects.filter(pk=Link.objects.active().get().pk).update(blinding="assisted")
    assert len(compare_rows(list_streams()).differences) == 1


def test_closed_reasoning_is_no_end_of_a_link_until_she_has_opened_it(run, study, coder, client_of):
    entry = put(sentence_of(run, 5), find_code(study, "feature.task"), coder)
    thought = sentence_of(run, 2)
    fields = {"coding": entry.idempotency_key.hex, "kind": "warrant", "target": thought.pk}
    browser = client_of(coder)
    told = {
        read(act(browser, "link", run, coder, **fields, **marked))
        for marked in ({}, {"quote_from": 0, "quote_to": 999})
    }
    assert len(told) == 1
    assert "Open it at the desk first" in told.pop()
    with pytest.raises(WrongInput, match="have not opened"):
        link(entry, coder, to=thought)
    actions.open_stage(study=study, turn=thought.turn, by=coder)
    link(entry, coder, to=thought)
    assert standing(entry) == [f"s{thought.label}"]
