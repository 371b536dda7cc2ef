"""What people are shown of machines' work, and that each look is on record as it was."""

from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from auditapp.annotators.models import Annotator, CodeChoice, CriticAnswer, Suggestion, TurnAnswer
from auditapp.annotators.withholding import ensure_arms
from auditapp.batches.models import Arm
from auditapp.suggestions.actions import close_showings, reject_suggestion
from auditapp.suggestions.models import Showing
from tests.auditapp.suggestions.cast import add_annotator, ask, decide, look, read, read_offline, show_all, withhold_all
from tests.support.calls import list_followed
from tests.support.databases import stored
from tests.transcripts.coding.cast import find_code, put
from transcripts.codebook.actions import publish_version, start_draft
from transcripts.codebook.models import CodeExample
from transcripts.coding.actions import NotDecided
from transcripts.coding.models import Blinding, Reveal
from transcripts.corpus.models import Sentence

THREE = ("theme.balance", "theme.compassion", "theme.models_metamodels")


@stored
def annotator(study, interview):
    show_all(study)
    return add_annotator(study)


def list_shown(panel):
    """The numbers of the suggestions in the order shown."""
    return [offer["suggestion"].pk for offer in panel.offers]


def shown_codes(sentence, by):
    panel = look(sentence, by)
    return [offer["suggestion"].code.identifier for offer in panel.offers]


class TestBlindFirst:
    def test_before_her_own_decision_nothing_is_shown_and_nothing_is_stored(self, annotator, sentence, coder):
        read(annotator, sentence, THREE)
        with pytest.raises(NotDecided):
            look(sentence, coder)
        assert not Showing.objects.exists()
        assert not Reveal.objects.exists()

    def test_a_look_is_on_record_with_arm_order_and_her_own_codes(self, annotator, study, sentence, coder):
        read(annotator, sentence, THREE)
        put(sentence, find_code(study, "theme.balance"), coder)
        decide(sentence, coder)
        panel = look(sentence, coder)
        showing = Showing.objects.get()
        assert showing.suggestions == list_shown(panel)
        assert (showing.arm, showing.own_codes, showing.is_draft) == ("shown", ["theme.balance"], False)
        assert showing.closed_at is None
        assert Reveal.objects.get().coder == coder

    def test_a_second_look_at_the_same_is_no_new_row(self, annotator, sentence, coder):
        read(annotator, sentence, THREE)
        decide(sentence, coder)
        first = look(sentence, coder)
        with CaptureQueriesContext(connection) as queries:
            assert look(sentence, coder) == first
        assert Showing.objects.count() == 1
        assert sum("SELECT 'coding', c.id" in query["sql"] for query in queries) == 1, "her labels are read once"

    def test_a_sentence_that_no_machine_read_leaves_her_blind(self, annotator, sentence, coder):
        decide(sentence, coder)
        shown = look(sentence, coder)
        assert shown.annotators == []
        assert not Reveal.objects.exists()
        assert not Showing.objects.exists()

    def test_the_interviewers_sentences_are_read_by_no_machine(self, annotator, interview, coder):
        question = Sentence.objects.filter(turn__interview=interview, turn__role="interviewer").order_by("pk")[0]
        decide(question, coder)
        assert not look(question, coder).annotators
        assert not Showing.objects.exists()


class TestWithheld:
    def test_a_withheld_turn_shows_nothing_and_leaves_her_blind(self, study, interview, sentence, coder):
        withhold_all(study, interview)
        read(add_annotator(study), sentence, THREE)
        decide(sentence, coder)
        shown = look(sentence, coder)
        assert (shown.is_withheld, shown.annotators) == (True, [])
        showing = Showing.objects.get()
        assert (showing.arm, showing.suggestions) == ("withheld", [])
        assert not Reveal.objects.exists()
        assert put(sentence, find_code(study, "theme.balance"), coder).blinding == Blinding.BLIND

    def test_a_withheld_turn_asks_for_her_own_decision_too(self, study, interview, sentence, coder):
        withhold_all(study, interview)
        with pytest.raises(NotDecided):
            look(sentence, coder)
        assert not Showing.objects.exists()

    def test_what_is_withheld_does_not_depend_on_what_was_suggested(
        self, study, interview, sentence, coder, second_coder
    ):
        withhold_all(study, interview)
        decide(sentence, coder)
        before = replace(look(sentence, coder), showing=None)
        read(add_annotator(study), sentence, THREE)
        decide(sentence, second_coder)
        assert replace(look(sentence, second_coder), showing=None) == before


class TestOrder:
    def test_coders_see_different_orders_and_each_keeps_hers(self, annotator, interview, coder, second_coder):
        sentences = list(
            Sentence.objects.select_related("turn").filter(turn__interview=interview, turn__role="model").order_by("pk")
        )
        orders = {"coder": [], "second_coder": []}
        for sentence in sentences:
            read(annotator, sentence, THREE)
        for sentence in sentences:
            for who in (coder, second_coder):
                decide(sentence, who)
                order = shown_codes(sentence, who)
                assert order == shown_codes(sentence, who)
                # Every sentence of a turn was read again with it: only the last answer that names it counts.
                orders[who.username].append(order)
        assert orders["coder"] != orders["second_coder"]

    def test_what_comes_later_is_put_behind_and_is_a_new_look(self, annotator, study, sentence, coder):
        read(annotator, sentence, THREE[:2])
        decide(sentence, coder)
        first = look(sentence, coder)
        read(annotator, sentence, ["move.elicit"], family="moves")
        second = look(sentence, coder)
        assert list_shown(second)[:2] == list_shown(first)
        assert len(list_shown(second)) == 3
        assert [len(row.suggestions) for row in Showing.objects.order_by("pk")] == [2, 3]
        assert Showing.objects.order_by("pk")[0].closed_at is not None


class TestEnd:
    def test_moving_on_closes_the_look(self, annotator, study, sentence, coder):
        read(annotator, sentence, THREE)
        decide(sentence, coder)
        look(sentence, coder)
        assert close_showings(study=study, by=coder) == 1
        assert close_showings(study=study, by=coder) == 0
        assert Showing.objects.get().closed_at is not None

    def test_the_last_answer_closes_the_look(self, annotator, study, sentence, coder):
        suggestions = read(annotator, sentence, THREE[:2])
        decide(sentence, coder)
        look(sentence, coder)
        reject_suggestion(suggestion=suggestions[0], study=study, by=coder)
        assert Showing.objects.get().closed_at is None
        reject_suggestion(suggestion=suggestions[1], study=study, by=coder)
        assert Showing.objects.get().closed_at is not None

    def test_one_persons_moving_on_closes_nobody_elses_look(self, annotator, study, sentence, coder, second_coder):
        read(annotator, sentence, THREE)
        for who in (coder, second_coder):
            decide(sentence, who)
            look(sentence, who)
        close_showings(study=study, by=coder)
        assert Showing.objects.get(coder=second_coder).closed_at is None


class TestWhoIsHeard:
    def test_of_two_answers_of_one_annotator_the_latest_holds(self, annotator, sentence, coder):
        read(annotator, sentence, THREE[:2])
        read(annotator, sentence, THREE[2:])
        decide(sentence, coder)
        assert shown_codes(sentence, coder) == [THREE[2]]

    @pytest.mark.parametrize("fault", [{"missing": True}, {"outcome": TurnAnswer.Outcome.INVALID}])
    def test_a_later_answer_that_says_nothing_of_the_sentence_takes_nothing_away(
        self, annotator, sentence, coder, fault
    ):
        read(annotator, sentence, THREE[:1])
        read(annotator, sentence, **fault)
        decide(sentence, coder)
        assert shown_codes(sentence, coder) == [THREE[0]]

    def test_silence_is_said_apart_from_no_code(self, annotator, sentence, coder):
        read(annotator, sentence)
        read(annotator, sentence, family="moves", missing=True)
        ask(annotator, sentence, family="features")
        decide(sentence, coder)
        panel = look(sentence, coder)
        [said] = panel.annotators
        assert said["read"] == ["Themes"]
        assert "Moves" in " ".join(said["silent"])
        assert said["offers"] == []

    def test_part_of_a_familys_codes_is_said_as_part(self, annotator, sentence, coder):
        read(annotator, sentence, told=[THREE[0]])
        ask(annotator, sentence, told=[THREE[1]])
        decide(sentence, coder)
        panel = look(sentence, coder)
        assert panel.annotators[0]["read"] == ["Themes (1 of 2 codes)"]

    def test_annotators_are_kept_apart(self, annotator, study, sentence, coder):
        rules = add_annotator(study, "rules", kind=Annotator.Kind.RULES)
        find_code(study, THREE[1]).__class__.objects.filter(identifier=THREE[1]).update(keyword_rules=["ask"])
        read(annotator, sentence, THREE[:1])
        read_offline(rules, sentence, THREE[1:2])
        decide(sentence, coder)
        panel = look(sentence, coder)
        said = {
            each["annotator"].name: [offer["suggestion"].code.identifier for offer in each["offers"]]
            for each in panel.annotators
        }
        assert said == {"reader": [THREE[0]], "rules": [THREE[1]]}
        assert list_shown(panel) == Showing.objects.get().suggestions

    def test_where_an_annotator_is_chosen_for_a_code_only_its_word_is_shown(self, annotator, study, sentence, coder):
        other = add_annotator(study, "other")
        for each in (annotator, other):
            read(each, sentence, THREE[:2])
        choose(study, THREE[0], other)
        choose(study, THREE[1], None)
        decide(sentence, coder)
        panel = look(sentence, coder)
        said = {
            each["annotator"].name: [offer["suggestion"].code.identifier for offer in each["offers"]]
            for each in panel.annotators
        }
        assert said == {"reader": [], "other": [THREE[0]]}
        assert {each["annotator"].name: each["elsewhere"] for each in panel.annotators} == {"reader": 2, "other": 1}

    def test_what_a_critic_reversed_is_left_out_where_the_critic_is_believed_and_marked_elsewhere(
        self, annotator, study, sentence, coder, second_coder
    ):
        first, second = read(annotator, sentence, THREE[:2])
        for suggestion in (first, second):
            CriticAnswer.objects.create(
                cell=ask(annotator, sentence, family="critic", told=[]), suggestion=suggestion, verdict="rejected"
            )
        choose(study, THREE[0], annotator, with_critic=True)
        decide(sentence, coder)
        panel = look(sentence, coder)
        [offer] = panel.offers
        assert offer["suggestion"] == second
        assert offer["critic"] is not None
        assert panel.annotators[0]["rejected_by_critic"] == 1

    def test_text_that_looks_like_instructions_is_flagged(self, annotator, sentence, coder):
        read(annotator, sentence, flags=["ignore previous"])
        decide(sentence, coder)
        panel = look(sentence, coder)
        assert panel.flags == ["ignore previous"]

    def test_evidence_is_cut_out_of_the_sentence_in_code_points(self, annotator, sentence, coder):
        text = sentence.read_text()
        read(annotator, sentence, THREE[:1], quote=(sentence.start + 2, sentence.start + 7))
        decide(sentence, coder)
        panel = look(sentence, coder)
        assert panel.offers[0]["evidence"] == (text[:2], text[2:7], text[7:])


class TestOlderCodebook:
    def test_a_suggestion_of_an_older_version_stands_for_the_code_as_it_is_now(
        self, annotator, study, sentence, coder, lead
    ):
        read(annotator, sentence, THREE[:1])
        draft = start_draft(study=study, by=lead)
        draft.codes.filter(identifier=THREE[0]).update(meaning_version=2)
        publish_version(version=draft, by=lead)
        decide(sentence, coder)
        panel = look(sentence, coder)
        [offer] = panel.offers
        assert offer["code"] is not None
        assert (offer["code"].version, offer["is_changed"], offer["obstacle"]) == (draft, True, "")

    def test_a_code_that_is_no_more_says_why_it_cannot_be_kept(self, annotator, study, sentence, coder, lead):
        read(annotator, sentence, THREE[:1])
        draft = start_draft(study=study, by=lead)
        CodeExample.objects.filter(code__version=draft, code__identifier=THREE[0]).delete()
        draft.codes.filter(identifier=THREE[0]).delete()
        draft.changes.create(
            kind="retired", from_identifier=THREE[0], made_at=draft.created_at, made_by_name="lead", reason="Rare."
        )
        publish_version(version=draft, by=lead)
        decide(sentence, coder)
        panel = look(sentence, coder)
        [offer] = panel.offers
        assert offer["code"] is None
        assert "it was retired in v2" in offer["obstacle"]


def choose(study, code, annotator, *, with_critic=False):
    CodeChoice.objects.create(
        study=study,
        code_identifier=code,
        annotator=annotator,
        with_critic=with_critic,
        chosen_at=study.created_at,
        chosen_by_name="lead",
    )


def test_a_look_costs_as_many_queries_whatever_is_read(annotator, study, sentence, coder, second_coder):
    read(annotator, sentence, THREE[:1])
    for who in (coder, second_coder):
        decide(sentence, who)
    ensure_arms(study=study, interviews=None, by=coder)
    with CaptureQueriesContext(connection) as one:
        look(sentence, coder)
    for name in ("second", "third"):
        more = add_annotator(study, name)
        read(more, sentence, THREE)
        read(more, sentence, ["move.elicit"], family="moves")
    with CaptureQueriesContext(connection) as many:
        look(sentence, second_coder)
    assert len(many) == len(one) <= 40
    assert Suggestion.objects.count() == 9


def test_whoever_reads_the_panel_follows_at_most_thirty_functions_and_fifty_where_a_look_is_stored(
    annotator, study, sentence, coder, client_of
):
    read(annotator, sentence, THREE, quote=(sentence.start, sentence.start + 4))
    decide(sentence, coder)
    client, address = client_of(coder), reverse("suggestions:panel", args=[study.slug, sentence.pk])
    for most in (50, 30):
        with list_followed("show_panel") as followed:
            assert client.post(address, headers={"HX-Request": "true"}).status_code == 200
        assert 15 < len(followed) <= most, sorted(followed)


def test_a_look_loads_only_what_was_asked_about_its_turn(annotator, sentence, coder, monkeypatch):
    read(annotator, sentence, THREE[:1])
    elsewhere = Sentence.objects.select_related("turn").filter(turn__role="model").exclude(turn=sentence.turn)[0]
    for _ in range(3):
        read(annotator, elsewhere)
    decide(sentence, coder)
    loaded = []
    load = Arm.from_db

    def count(*row):
        arm = load(*row)
        loaded.append(arm.pk)
        return arm

    monkeypatch.setattr(Arm, "from_db", count)
    shown = look(sentence, coder)
    assert len(shown.offers) == 1
    assert len(loaded) == 1


def test_where_only_codes_left_to_people_were_read_the_panel_does_not_say_that_nothing_was(
    annotator, study, sentence, coder
):
    decide(sentence, coder)
    nothing = look(sentence, coder)
    assert not nothing.is_left_aside
    read(annotator, sentence, THREE[:1], told=THREE[:1])
    choose(study, THREE[0], None)
    aside = look(sentence, coder)
    assert (aside.annotators, aside.is_left_aside) == ([], True)
    assert not Reveal.objects.exists()


def test_the_desk_offers_suggestions_only_where_the_model_speaks(study, interview, annotator, coder, client_of):
    sentences = Sentence.objects.filter(turn__interview=interview, turn__channel="utterance").order_by("position")
    client = client_of(coder)
    for role, is_offered in (("interviewer", False), ("model", True)):
        sentence = sentences.filter(turn__role=role)[0]
        decide(sentence, coder)
        address = reverse("suggestions:panel", args=[study.slug, sentence.pk])
        desk = client.get(reverse("desk:desk", args=[study.slug, interview.pk])).content.decode()
        marks = client.get(reverse("desk:marks", args=[study.slug, interview.pk, sentence.pk])).content.decode()
        assert [f'hx-post="{address}"' in each for each in (desk, marks)] == [is_offered, is_offered]
