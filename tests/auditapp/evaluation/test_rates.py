"""Rates over the corpus: what they rest on, and when there is none."""

import csv
import io
import json
import uuid

import pytest
from django.urls import reverse
from django.utils import timezone

from auditapp.annotators.models import Annotator, TurnAnswer, TurnArm
from auditapp.batches.models import Attempt, Result
from auditapp.evaluation.actions import choose_annotator
from auditapp.evaluation.pure.corrected_rates import correct_prevalence, weigh_accuracy
from auditapp.evaluation.queries.calibration import Corpus
from tests.auditapp.evaluation.cast import BALANCE, bring_in, decide_all, make_annotator, read, withhold
from tests.transcripts.blinding.cast import unblind_on
from transcripts.codebook.models import Code, CodeExample, CodeFamily
from transcripts.coding.blind import read_blind
from transcripts.coding.models import Coding, Unblinding
from transcripts.studies.actions import set_method


@pytest.fixture
def said(study, owner):
    """Two interviews of forty turns of four sentences; every other turn is withheld."""
    set_method(study=study, method="codebook", by=owner)
    said = bring_in(study, owner, interviews=2, turns=40, sentences=4)
    withhold(study, said, {each.turn_id for each in said if each.turn.position % 2 == 0})
    return said


@pytest.fixture
def annotator(study, said):
    """It puts balance on the first and second sentence of each turn."""
    annotator = make_annotator(study)
    first = min(each.position for each in said)
    read(annotator, said, {each.pk: [BALANCE] for each in said if (each.position - first) % 4 < 2})
    return annotator


def held(said):
    return [each for each in said if each.turn.position % 2 == 0]


@pytest.fixture
def choice(study, annotator, said, coder, lead):
    """The coder read the withheld turns, and puts balance on the first sentence of each."""
    first = min(each.position for each in said)
    decide_all(coder, held(said), {each.pk: [BALANCE] for each in held(said) if (each.position - first) % 4 == 0})
    return choose_annotator(study=study, code_identifier=BALANCE, annotator=annotator, reason="The best one.", by=lead)


def test_there_is_no_rate_of_a_move(study, annotator, choice, lead, reader, client_of):
    page = client_of(reader).get(reverse("evaluation:rates", args=[study.slug]))
    assert [row["refusal"] for row in page.context["rows"]] == [""]
    CodeFamily.objects.update(carries_enactment=True)
    page = client_of(reader).get(reverse("evaluation:rates", args=[study.slug]))
    [row] = page.context["rows"]
    assert row["refusal"].startswith("This code is a move.")
    assert (row["corrected_rate"].rate, row["rogan_gladen"]) == (None, None)


def parts_of(choice):
    assert choice.annotator is not None
    return Corpus(choice.study, read_blind(choice.study)).read_parts(choice, choice.annotator)


def test_the_labelled_part_is_the_withheld_turns_and_the_other_part_the_rest(choice):
    parts = parts_of(choice)
    assert (parts["found"].labelled, parts["found"].labelled_turns) == (160, 40)
    assert len(parts["sample"].other_machine) == 160
    assert (parts["found"].interviews, parts["found"].all_interviews) == (2, 2)
    assert set(parts["sample"].weights.tolist()) == {2.0}
    assert tuple(weigh_accuracy(parts["sample"])) == pytest.approx((1.0, 80 / 120))


def test_plans_with_different_shares_weigh_rogan_and_gladen_as_they_weigh_the_rate(
    study, choice, said, reader, client_of
):
    """Of the second talk four turns in five are withheld, and there nobody puts the code."""
    talks = sorted({each.turn.interview_id for each in said})
    TurnArm.objects.filter(turn__interview=talks[1]).update(probability=0.8)
    Coding.objects.filter(sentence__turn__interview=talks[1]).delete()
    client, path = client_of(reader), reverse("evaluation:rates_file", args=[study.slug])
    [row] = json.loads(client.post(path, {"format": "json"}).content)
    # By hand: each talk has 20 withheld turns of 4, two of which the machine has; of the first talk one is right.
    without = 2 * 60 + 1.25 * 80
    assert row["sensitivity"] == pytest.approx(1.0)
    assert row["specificity"] == pytest.approx((2 * 40 + 1.25 * 40) / without)
    expected = (0.5 + row["specificity"] - 1) / row["specificity"]
    assert row["rogan_gladen"] == pytest.approx(expected)
    # The share of people on the same weights, which the unweighted figures miss.
    assert expected == pytest.approx(2 * 20 / (2 * 80 + 1.25 * 80))
    assert correct_prevalence(0.5, 20 / 20, 80 / 140) != pytest.approx(expected, abs=0.01)


def test_an_interview_with_a_withheld_turn_nobody_read_is_in_neither_part(choice, said):
    last = held(said)[-1]
    last.decisions.all().delete()
    parts = parts_of(choice)
    assert (parts["found"].interviews, parts["found"].all_interviews) == (1, 2)
    assert (parts["found"].labelled, len(parts["sample"].other_machine)) == (80, 80)
    assert last.turn.interview_id not in parts["labelled_in"]


def test_labels_on_turns_that_are_not_withheld_do_not_enter(choice, said, second_coder):
    before = parts_of(choice)
    shown = [each for each in said if each not in held(said)]
    decide_all(second_coder, shown, {each.pk: [BALANCE] for each in shown})
    assert parts_of(choice)["found"] == before["found"]


def test_of_a_sentence_two_people_read_their_share_counts(choice, said, second_coder):
    decide_all(second_coder, held(said)[:1], {})
    parts = parts_of(choice)
    assert parts["n_labels"] == 161
    assert sorted(set(parts["sample"].people.tolist())) == [0.0, 0.5, 1.0]


def test_examples_are_in_neither_part(choice, said):
    code = Code.objects.get(version__study=choice.study, identifier=BALANCE)
    for sentence in (said[0], said[4]):
        CodeExample.objects.create(
            code=code, sentence=sentence, kind="anchor", added_at=timezone.now(), added_by_name="x"
        )
    parts = parts_of(choice)
    assert (parts["found"].labelled, len(parts["sample"].other_machine), parts["set_aside"]) == (159, 159, 2)


def page(client, study):
    return " ".join(client.get(reverse("evaluation:rates", args=[study.slug])).content.decode().split())


def test_the_page_gives_the_rectified_rate_with_what_it_rests_on(study, choice, reader, client_of):
    shown = page(client_of(reader), study)
    # The machine says one half, people one quarter.
    assert "<strong>0.250</strong>" in shown
    assert "0.500, do not report it" in shown
    assert "160 labelled sentences (160 labels) in 40 withheld turns" in shown
    assert shown.count("<strong>Holds:</strong>") == 5
    assert "<strong>Cannot be checked:</strong> The annotator did not change." in shown
    assert "The best one." in shown


def name_served_model(annotator, names):
    """The provider names who answered each of the annotator's turn answers."""
    for turn_answer in TurnAnswer.objects.filter(annotator=annotator).select_related("cell"):
        attempt = Attempt.objects.create(
            cell=turn_answer.cell,
            arm_id=turn_answer.cell.arm_id,
            fence=1,
            request_id=uuid.uuid4(),
            runner="x",
            written_at=timezone.now(),
            done_at=timezone.now(),
            end=Attempt.End.ANSWERED,
            served_model=names(turn_answer),
        )
        Result.objects.create(cell=turn_answer.cell, attempt=attempt, stored_at=timezone.now())


def test_one_served_model_behind_all_answers_holds(study, choice, annotator, reader, client_of):
    name_served_model(annotator, lambda _: "model-2026-01")
    shown = page(client_of(reader), study)
    assert shown.count("<strong>Holds:</strong>") == 6
    assert "One model answered: model-2026-01 (40 labelled and 40 other turns)." in shown


def test_a_second_served_model_is_named_and_refuses_the_rate(study, choice, annotator, said, reader, client_of):
    labelled = {each.turn_id for each in held(said)}
    name_served_model(annotator, lambda turn_answer: "old" if turn_answer.cell.input_id in labelled else "new")
    client = client_of(reader)
    shown = page(client, study)
    told = "new (0 labelled and 40 other turns), old (40 labelled and 0 other turns)"
    assert f"No rate:</span> the provider answered with more than one model: {told}." in shown
    path = reverse("evaluation:rates_file", args=[study.slug])
    [row] = json.loads(client.post(path, {"format": "json"}).content)
    assert (row["rate"], row["served_models"], row["not_checked"]) == (None, told, "")


def test_what_was_read_again_whole_counts_by_its_last_answer(study, choice, annotator, said):
    name_served_model(annotator, lambda _: "old")
    assert [name for name, *_ in parts_of(choice)["found"].served] == ["old"]
    read(annotator, said, {})
    assert [name for name, *_ in parts_of(choice)["found"].served] == [""]


def test_the_file_holds_the_same(study, choice, reader, client_of):
    client, path = client_of(reader), reverse("evaluation:rates_file", args=[study.slug])
    [row] = json.loads(client.post(path, {"format": "json"}).content)
    assert (row["rate"], row["naive"], row["rectifier"]) == pytest.approx((0.25, 0.5, -0.25))
    [line] = csv.DictReader(io.StringIO(client.post(path, {"format": "csv"}).content.decode()))
    assert (line["code_id"], line["refused"]) == (BALANCE, "")


@pytest.mark.parametrize("breaking", ["hash", "people", "draw"])
def test_a_rate_is_refused_in_a_sentence_when_a_condition_fails(study, choice, said, reader, client_of, breaking):
    if breaking == "hash":
        Annotator.objects.update(hash="")
    elif breaking == "people":
        for talk in {each.turn.interview_id: each for each in held(said)}.values():
            talk.decisions.all().delete()
            talk.codings.all().delete()
    else:
        TurnArm.objects.all().delete()
    client = client_of(reader)
    shown = page(client, study)
    assert (
        "No rate:</span> "
        + {
            "hash": "it is unknown whether the annotator stayed the same: it has no hash.",
            "people": "in none of 2 interviews does every sentence of every withheld turn have a blind decision.",
            "draw": "there is no random sample: the annotator has labelled no withheld turn for this code.",
        }[breaking]
        in shown
    )
    assert "<strong>0.250" not in shown
    assert "0.500" not in shown
    path = reverse("evaluation:rates_file", args=[study.slug])
    [row] = json.loads(client.post(path, {"format": "json"}).content)
    assert (row["rate"], row["naive"], row["rogan_gladen"]) == (None, None, None)
    assert row["refused"]


def test_who_may_code_opens_first_and_then_sees_what_everybody_sees(study, choice, said, lead, client_of):
    client = client_of(lead)
    assert "hidden from you" in page(client, study)
    assert "0.250" not in page(client, study)
    assert unblind_on(client, reverse("evaluation:rates", args=[study.slug])).status_code == 302
    assert Unblinding.objects.filter(user=lead).count() == 2
    assert "<strong>0.250</strong>" in page(client, study)


def test_rates_of_a_reflexive_family_need_a_reason(study, choice, owner, reader, client_of):
    set_method(study=study, family="themes", method="reflexive", reason="We read anew.", by=owner)
    assert "0.250" not in page(client_of(reader), study)
    Unblinding.objects.bulk_create(
        Unblinding(interview=talk, user=owner, where="x", unblinded_at=timezone.now())
        for talk in study.interviews.all()
    )
    path = reverse("evaluation:rates_compute", args=[study.slug])
    assert client_of(owner).post(path, {"family": "themes", "reason": ""}).status_code == 422
    assert (
        "<strong>0.250</strong>"
        in client_of(owner).post(path, {"family": "themes", "reason": "Asked for."}).content.decode()
    )
