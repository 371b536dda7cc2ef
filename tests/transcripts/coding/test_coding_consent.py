"""An interview whose consent says that people may not code it: nothing new by any way, and what there is stays."""

from uuid import uuid4

import pytest
from django.urls import reverse

from tests.transcripts.agreement.cast import settle, stage_dispute
from tests.transcripts.coding.cast import decide, put, standing_codes, take_off
from tests.transcripts.corpus.cast import allow, refuse
from tests.transcripts.desk.desk_pages import act, address, read
from tests.transcripts.exchange.test_qdpx import bring_in, export
from tests.transcripts.negotiation.cast import score, write
from tests.transcripts.rounds.cast import bring_in as bring_in_talks
from tests.transcripts.rounds.cast import fields, is_open_for, open_round
from transcripts.analysis.notebook.actions import withdraw_memo
from transcripts.coding import actions
from transcripts.coding.blind import read_blind
from transcripts.coding.models import Coding, Decision, Memo
from transcripts.coding.next_sentence import OPEN
from transcripts.coding.queries import find_interview
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused
from transcripts.revision import actions as revision
from transcripts.revision.queries import list_unread
from transcripts.rounds import actions as rounds
from transcripts.rounds.models import Assignment
from transcripts.rounds.queries import find_open, find_open_interviews
from transcripts.studies.actions import set_method

TOLD = "The consent on record for this interview does not allow coding by people"


def note(sentence, by, text):
    interview = sentence.turn.interview
    return actions.write_memo(
        study=interview.study, interview=interview, sentence=sentence, text=text, by=by, idempotency_key=uuid4()
    )


def list_others(sentence):
    rows = Sentence.objects.select_related("turn__interview__study").filter(turn=sentence.turn)
    return list(rows.exclude(pk=sentence.pk).order_by("start"))


def test_nothing_on_record_lets_people_code(sentence, code, coder):
    assert put(sentence, code, coder)


def test_nothing_is_added_or_changed_and_what_there_is_stays(study, sentence, code, coder, lead):
    coding, decision, memo = put(sentence, code, coder), decide(sentence, coder), note(sentence, coder, "A thought")
    stance, other = write(study, lead), list_others(sentence)[0]
    refuse(lead, sentence.turn.interview)
    attempts = [
        lambda: put(other, code, coder),
        lambda: put(sentence, code, coder, grounding="grounded"),
        lambda: take_off(coding, coder),
        lambda: decide(other, coder),
        lambda: actions.reopen_sentence(study=study, decision=decision, by=coder),
        lambda: note(other, coder, "Another"),
        lambda: note(sentence, coder, "A second thought"),
        lambda: score(stance, sentence.turn.interview, coder),
    ]
    for attempt in attempts:
        with pytest.raises(actions.NotOpen, match=f"{TOLD}.*interview consent"):
            attempt()
    assert standing_codes(sentence, coder) == [code.identifier]
    assert list(Decision.objects.filter(withdrawn_at__isnull=True)) == [decision]
    assert read_blind(study).sentence_ids.size > 0
    # Her own words she may always take back.
    withdraw_memo(memo=memo, by=coder)
    assert not Memo.objects.active().exists()


def test_a_later_consent_opens_it_again(sentence, code, coder, lead):
    refuse(lead, sentence.turn.interview)
    allow(lead, sentence.turn.interview, scope="coding")
    assert put(sentence, code, coder)


def test_every_list_of_open_interviews_has_the_same_rule(study, interview, coder, lead, owner):
    [talk] = bring_in_talks(study, owner, ["m"])
    refuse(lead, talk)
    assert "'open'" in OPEN
    assert set(find_open(study, coder)[0]) == find_open_interviews(study, coder) == {interview.pk}
    assert [is_open_for(each, coder) for each in (interview, talk)] == [True, False]
    found = find_interview(study, talk.pk, coder.pk)
    assert found is not None
    assert TOLD in found[2].sentence


def test_the_desk_says_why_and_takes_no_codes(interview, sentence, coder, lead, client_of):
    refuse(lead, interview)
    client = client_of(coder)
    html = read(client.get(address("desk", interview)))
    assert "no code can be applied or removed here." in html
    assert TOLD in html
    assert "You can read it" in html
    answers = [
        act(client, "decide", interview, coder, sentence=sentence.pk),
        act(client, "memo", interview, coder, sentence=sentence.pk, text="A thought"),
    ]
    assert [answer.status_code for answer in answers] == [409, 409]
    assert all(TOLD in answer.content.decode() for answer in answers)


class TestRounds:
    def test_it_is_left_out_of_a_round_and_refused_by_title_where_it_was_chosen(self, study, owner, lead, coder):
        first, second = bring_in_talks(study, owner, ["m", "m"])
        refuse(lead, first)
        _, allocation = rounds.plan_round(study=study, **fields(coder))
        assert set(allocation) == {second.pk}
        with pytest.raises(Refused, match="“Coding by people” is not given for “Talk 1”") as refused:
            rounds.plan_round(study=study, **fields(coder, interview_ids=[first.pk, second.pk]))
        assert refused.value.field == "interviews"

    def test_the_plan_says_how_many_are_not_assigned(self, study, owner, lead, coder, client_of):
        first, _ = bring_in_talks(study, owner, ["m", "m"])
        refuse(lead, first)
        asked = {"name": "R", "coders": [coder.pk], "overlap_percent": 0, "overlap_readers": 2, "seed": 1}
        page = client_of(lead).post(reverse("rounds:new", args=[study.slug]), {**asked, "idempotency_key": uuid4()})
        assert "1 interview of the study is not assigned to anybody" in read(page)

    def test_it_is_not_assigned_one_by_one(self, study, owner, lead, coder):
        first, second = bring_in_talks(study, owner, ["m", "m"])
        opened = open_round(study, lead, coder, interview_ids=[second.pk])
        refuse(lead, first)
        with pytest.raises(Refused, match="not given for “Talk 1”"):
            rounds.assign(round_=opened, interview=first, coder=coder, by=lead)
        assert Assignment.objects.count() == 1


def test_disagreements_on_it_are_not_decided(study, owner, lead, coder, second_coder):
    set_method(study=study, method="codebook", reason="x", by=lead)
    dispute = stage_dispute(study, owner, coder, second_coder)
    sentence = dispute.differing[0]
    refuse(lead, sentence.turn.interview)
    with pytest.raises(Refused, match="“Coding by people” is not given"):
        settle(dispute, sentence, lead, "one", chosen=coder)


def test_its_sentences_are_no_anchors(study, interview, sentence, code, coder, lead):
    anchor = revision.add_anchor(study=study, sentence=sentence, by=lead)
    refuse(lead, interview)
    assert list_unread(study, code.version, coder) == []
    with pytest.raises(Refused, match="“Coding by people” is not given"):
        revision.read_anchor(
            study=study, anchor=anchor, version=code.version, identifiers=[], by=coder, idempotency_key=uuid4()
        )
    with pytest.raises(Refused, match="“Coding by people” is not given"):
        revision.add_anchor(study=study, sentence=list_others(sentence)[0], by=lead)
    with pytest.raises(Refused, match="between 1 and 0"):
        revision.draw_anchors(study=study, count=1, seed=1, by=lead)


def test_a_project_file_brings_no_codings_and_memos_on_it(study, interview, sentence, code, coder, lead, tmp_path):
    first, second = sentence, list_others(sentence)[0]
    put(first, code, coder)
    note(first, coder, "On its words")
    path = export(study, tmp_path)
    Memo.objects.all().delete()
    Coding.objects.all().delete()
    refuse(lead, interview)
    report = bring_in(study, path)
    told = [line for line in report.left_out if "the consent on record for the interview does not allow coding" in line]
    assert [line.split(":")[0] for line in told] == ["1 coding", "1 memo"]
    assert not Coding.objects.exists()
    assert not Memo.objects.exists()
    allow(lead, interview, scope="coding")
    bring_in(study, path)
    assert standing_codes(first, coder) == [code.identifier]
    assert standing_codes(second, coder) == []
