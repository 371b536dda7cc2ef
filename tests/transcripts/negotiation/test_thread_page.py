"""The page *Negotiation* of a thread: what it shows, to whom, and in how many queries."""

import json
import uuid

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.transcripts.coding.cast import decide
from tests.transcripts.negotiation.loading import add_codes, load
from transcripts.blinding.actions import unblind_interviews
from transcripts.coding.actions import open_stage
from transcripts.coding.models import Coding
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.negotiation.models import CaseSheet, Pair
from transcripts.rounds.models import Completion

pytestmark = pytest.mark.django_db

SECRET = "I must not say that I doubt her."


@pytest.fixture
def thread(study, owner):
    """A claim, a challenge, and an answer with reasoning."""
    turns = [
        {"role": "interviewer", "text": "Who should be hired?"},
        {"role": "model", "text": "The man. He knows the work."},
        {"role": "interviewer", "text": "You assume that she does not."},
        {"role": "model", "channel": "reasoning", "text": SECRET},
        {"role": "model", "text": "I take that back. Both know it."},
        {"role": "interviewer", "text": "And if the manager objects?"},
        {"role": "model", "text": "Then ask on what grounds."},
    ]
    data = json.dumps({"id": "t1", "title": "A hiring talk", "model": "Model A", "turns": turns}).encode()
    import_file(study=study, name="t1.jsonl", data=data, by=owner)
    return study.interviews.get(external_id="t1")


def code(thread, turn, identifier, coder, **how):
    """A coding on the first sentence of a turn, written past the desk."""
    codes = add_codes(thread.study, [{"code": identifier}])
    return Coding.objects.create(
        sentence=Sentence.objects.filter(turn__interview=thread, turn__position=turn).order_by("start")[0],
        code=codes[identifier],
        coder=coder,
        idempotency_key=uuid.uuid4(),
        created_at=timezone.now(),
        **how,
    )


def code_all(thread, coder):
    code(thread, 2, "feature.power", coder, attributes={"status": "silently assumed"})
    code(thread, 3, "challenge.warranted", coder)
    code(thread, 5, "response.revised", coder)
    code(thread, 5, "move.revise", coder, enactment="enacted")
    code(thread, 5, "feature.power", coder, attributes={"status": "revised"})


def find_page(client, thread, **asked):
    answer = client.get(reverse("negotiation:thread", args=[thread.study.slug, thread.pk]), asked)
    assert answer.status_code == 200
    return answer.content.decode()


class TestWhatItShows:
    def test_moves_lie_in_the_lane_of_their_stage_and_open_their_sentence(self, thread, coder, client_of):
        code_all(thread, coder)
        page = find_page(client_of(coder), thread)
        sentence = Sentence.objects.filter(turn__interview=thread, turn__position=5).order_by("start")[0]
        assert f"?at={sentence.pk}" in page
        assert "1 enacted: Revise, turn 5" in page

    def test_a_status_is_carried_on_until_it_changes(self, thread, coder, client_of):
        code_all(thread, coder)
        page = find_page(client_of(coder), thread)
        assert "turn 2: silently assumed" in page
        assert "turn 5: revised" in page
        assert '<span class="visually-hidden">still </span>revised' in page

    def test_an_episode_stands_beside_its_answer_and_reasoning_stays_closed(self, thread, coder, client_of):
        code_all(thread, coder)
        page = find_page(client_of(coder), thread)
        assert "You assume that she does not." in page
        assert "I take that back." in page
        assert "Revised, not explained" in page
        assert SECRET not in page
        assert "Reasoning, closed until you open it" in page
        open_stage(study=thread.study, turn=Turn.objects.get(interview=thread, position=4), by=coder)
        assert SECRET in find_page(client_of(coder), thread)

    def test_without_codings_it_says_what_to_do(self, thread, coder, client_of):
        assert "You have coded nothing in this thread yet." in find_page(client_of(coder), thread)


class TestWhoSeesWhat:
    def test_a_coder_sees_her_own_codings_alone(self, thread, coder, second_coder, client_of):
        before = find_page(client_of(coder), thread)
        code_all(thread, second_coder)
        after = find_page(client_of(coder), thread, coder="second_coder")
        assert "silently assumed" not in after
        assert "second_coder" not in after
        assert "You have coded nothing" in before

    def test_a_lead_sees_others_once_she_has_unblinded_the_interview(self, thread, coder, lead, client_of):
        code_all(thread, coder)
        page = find_page(client_of(lead), thread, coder="coder")
        assert "silently assumed" not in page
        assert "You have coded nothing" in page
        unblind_interviews(study=thread.study, interviews=[thread], by=lead, where="negotiation")
        assert "silently assumed" in find_page(client_of(lead), thread, coder="coder")

    def test_a_reader_sees_the_codings_of_whoever_coded(self, thread, coder, reader, client_of):
        code_all(thread, coder)
        assert "silently assumed" in find_page(client_of(reader), thread)

    @pytest.mark.parametrize("is_decided", [True, False])
    def test_the_case_sheet_counts_once_she_has_signed_the_thread_off(
        self, thread, owner, coder, client_of, is_decided
    ):
        code_all(thread, coder)
        relevant = [{"feature": "feature.power", "reason": "He decides over her."}]
        CaseSheet.objects.create(
            interview=thread, number=1, relevant=relevant, written_at=timezone.now(), written_by=owner
        )
        if is_decided:
            for sentence in Sentence.objects.filter(turn__interview=thread, turn__is_answer=True):
                decide(sentence, coder)
        assert "1 of 1" not in find_page(client_of(coder), thread)
        Completion.objects.create(interview=thread, coder=coder, completed_at=timezone.now())
        page = find_page(client_of(coder), thread)
        assert ("1.00 (1 of 1)" in page) is is_decided
        assert ("shown once every answer of this thread is decided" in page) is not is_decided

    def test_shares_are_of_blind_or_of_assisted_codings(self, thread, owner, reader, coder, client_of):
        relevant = [{"feature": "feature.power", "reason": "He decides over her."}]
        CaseSheet.objects.create(
            interview=thread, number=1, relevant=relevant, written_at=timezone.now(), written_by=owner
        )
        code_all(thread, coder)
        for sentence in Sentence.objects.filter(turn__interview=thread, turn__is_answer=True):
            decide(sentence, coder)
        page = find_page(client_of(reader), thread)
        assert "1.00 (1 of 1)" in page
        assert "of blind codings" in page
        code(thread, 7, "feature.task", coder, blinding="assisted", attributes={"status": "supported"})
        page = find_page(client_of(reader), thread)
        assert "1 of 1" not in page
        assert "so no combined share is given" in page

    def test_a_response_in_reasoning_answers_no_challenge(self, thread, coder, client_of):
        code(thread, 3, "challenge.warranted", coder)
        code(thread, 4, "response.revised", coder)
        page = find_page(client_of(coder), thread)
        assert "Not decided yet" in page
        assert "Revised, not explained" not in page

    def test_of_a_masked_thread_no_case_sheet_opens_before_it_is_unmasked(self, thread, owner, coder, client_of):
        code_all(thread, coder)
        relevant = [{"feature": "feature.power", "reason": "He decides over her."}]
        CaseSheet.objects.create(
            interview=thread, number=1, relevant=relevant, written_at=timezone.now(), written_by=owner
        )
        Completion.objects.create(interview=thread, coder=coder, completed_at=timezone.now())
        Interview.objects.filter(pk=thread.pk).update(mask_label="S-7F3K", metadata={"condition": "prompted"})
        page = find_page(client_of(coder), thread)
        assert "(1 of 1)" not in page
        assert "prompted" not in page
        answer = client_of(coder).get(reverse("negotiation:study", args=[thread.study.slug]))
        assert b"prompted" not in answer.content

    def test_the_other_thread_of_a_pair_is_named_once_the_pair_is_open(self, thread, study, owner, coder, client_of):
        data = json.dumps({"id": "t2", "title": "The twin", "turns": [{"role": "model", "text": "Hire him."}]}).encode()
        import_file(study=study, name="t2.jsonl", data=data, by=owner)
        twin = study.interviews.get(external_id="t2")
        Pair.objects.create(
            study=study,
            name="hiring",
            number=1,
            a=thread,
            b=twin,
            differs="her name",
            expect="no_change",
            made_at=timezone.now(),
            made_by=owner,
        )
        assert "her name" not in find_page(client_of(coder), thread)
        for sentence in Sentence.objects.filter(turn__interview__in=[thread, twin], turn__is_answer=True):
            decide(sentence, coder)
        page = find_page(client_of(coder), thread)
        assert "her name" in page
        assert "The twin" in page


@pytest.mark.parametrize("who", ["coder", "lead", "unblinded lead", "reader"])
def test_a_thread_of_200_answers_takes_at_most_18_queries(
    study, owner, lead, reader, who, client_of, django_assert_max_num_queries
):
    turns = []
    lines = [{"record": "thread", "thread": "long", "relevant": ["feature.power"]}]
    for number in range(200):
        challenge, answer = 2 * number + 1, 2 * number + 2
        for turn, role in ((challenge, "interviewer"), (answer, "model")):
            turns.append({"role": role})
            lines.append({"record": "turn", "thread": "long", "turn": turn, "role": role, "channel": "utterance"})
        coded = {"record": "coding", "thread": "long", "coder": "ana", "start": 0}
        lines += [
            {**coded, "id": f"c{number}", "turn": challenge, "code": "challenge.unwarranted"},
            {**coded, "id": f"r{number}", "turn": answer, "code": "response.held"},
            {**coded, "id": f"m{number}", "turn": answer, "code": "move.elicit", "enactment": "enacted"},
            {
                **coded,
                "id": f"f{number}",
                "turn": answer,
                "code": "feature.power",
                "attributes": {"status": "elicited"},
            },
        ]
    for number in range(3):
        lines += [
            {"record": "thread", "thread": f"twin {number}"},
            {"record": "pair", "pair": f"pair {number}", "a": "long", "b": f"twin {number}", "expect": "no_change"},
        ]
    coders = load(study, owner, lines)
    thread = study.interviews.get(external_id="long")
    if who == "unblinded lead":
        unblind_interviews(study=study, interviews=[thread], by=lead, where="negotiation")
    client = client_of({"coder": coders["ana"], "reader": reader}.get(who, lead))
    page = reverse("negotiation:thread", args=[study.slug, thread.pk])
    with django_assert_max_num_queries(18):
        shown = client.get(page)
    assert shown.content.count(b'class="episode"') == (0 if who == "lead" else 200)
    assert (b"Thread twin 2" in shown.content) == (who in ("coder", "reader"))
