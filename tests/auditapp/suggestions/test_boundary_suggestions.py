"""Suggestions of sentences whose breaks were corrected: read where their words lie, told and counted where in none."""

import uuid

import pytest
from django.urls import reverse
from django.utils import timezone

from auditapp.annotators.models import Annotator, Suggestion
from auditapp.annotators.queries.boundary_edits import count_moved, read_passages
from auditapp.annotators.queries.machine_labels import read_machine_labels
from auditapp.evaluation.models import Disagreement
from auditapp.evaluation.queries.calibration import read_compared
from auditapp.evaluation.queries.calibration_tables import read_compared_items
from auditapp.evaluation.queries.influence import count_influence
from auditapp.evaluation.queries.positives import list_positives
from auditapp.suggestions.actions import PLACED_NOWHERE, accept_suggestion, reject_suggestion, undo_response
from auditapp.suggestions.models import Response, Showing
from tests.auditapp.evaluation.test_machine_exports import take_out
from tests.auditapp.suggestions.cast import add_annotator, decide, look, read, read_offline, show_all, withhold_all
from tests.support.databases import stored
from tests.transcripts.coding.cast import find_code, put, standing_codes
from transcripts.coding.actions.boundary_edits import merge_sentences, split_sentence
from transcripts.coding.models import Coding, Unblinding
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused

BALANCE, COMPASSION = "theme.balance", "theme.compassion"
# The first sentence is "I would ask first."; it is cut before "ask".
AT = 8
FIRST, SECOND, ACROSS = (2, 7), (8, 11), (2, 11)


@stored
def annotator(study, interview):
    show_all(study)
    return add_annotator(study)


def split(sentence, by):
    """The two pieces of the sentence."""
    study = sentence.turn.interview.study
    at = sentence.start + AT
    cut = split_sentence(study=study, sentence=sentence, at=at, by=by, idempotency_key=uuid.uuid4())
    return list(cut.made.select_related("turn__interview").order_by("start"))


def join(sentence, by):
    """The sentence and the next one."""
    study = sentence.turn.interview.study
    cut = merge_sentences(study=study, first=sentence, by=by, idempotency_key=uuid.uuid4())
    return cut.made.select_related("turn__interview").get()


def find_next(sentence):
    rows = Sentence.objects.filter(turn=sentence.turn_id, start__gt=sentence.start, retired_by__isnull=True)
    return rows.select_related("turn__interview").order_by("start")[0]


def tell(annotator, **how):
    """By sentence the codes it was read for, of two, and whether they were put."""
    labels = read_machine_labels(annotator, **how)
    return {
        int(pk): {
            code: bool(labels.labels[row, place])
            for row, code in enumerate(labels.codes)
            if labels.was_read[row, place] and code in {BALANCE, COMPASSION}
        }
        for place, pk in enumerate(labels.sentence_ids)
    }


def hear(sentence, by):
    """What the one annotator says of a sentence she decided on."""
    decide(sentence, by)
    [panel] = look(sentence, by).annotators
    return dict(panel)


def list_codes(panel):
    return sorted(offer["suggestion"].code.identifier for offer in panel["offers"])


class TestLabels:
    def test_a_suggestion_is_read_at_the_piece_that_holds_its_quote(self, annotator, sentence, owner):
        read(annotator, sentence, [BALANCE], quote=SECOND)
        one, two = split(sentence, owner)
        told = tell(annotator)
        assert told[two.pk] == {BALANCE: True, COMPASSION: False}
        # What it would have said of the other piece alone is not known.
        assert told[one.pk] == {COMPASSION: False}
        assert sentence.pk not in told

    def test_one_across_the_break_is_read_nowhere_and_is_no_no(self, annotator, sentence, owner):
        read(annotator, sentence, [BALANCE], quote=ACROSS)
        pieces = split(sentence, owner)
        told = tell(annotator)
        assert [told[piece.pk] for piece in pieces] == [{COMPASSION: False}] * 2
        assert count_moved(annotator) == {"total": 1, "placed": 0, "unplaced": 1}

    def test_one_without_a_quote_is_about_its_whole_sentence(self, annotator, sentence, owner):
        read(annotator, sentence, [BALANCE])
        below = find_next(sentence)
        whole = join(sentence, owner)
        assert tell(annotator)[whole.pk] == {BALANCE: True, COMPASSION: False}
        assert below.pk not in tell(annotator)
        split_again = split_sentence(
            study=annotator.study, sentence=whole, at=below.start, by=owner, idempotency_key=uuid.uuid4()
        )
        above, below = split_again.made.order_by("start")
        assert tell(annotator)[above.pk] == {BALANCE: True, COMPASSION: False}
        assert tell(annotator)[below.pk] == {BALANCE: False, COMPASSION: False}

    def test_a_whole_is_read_only_where_both_its_parts_were(self, annotator, sentence, owner):
        below = find_next(sentence)
        read(annotator, below, missing=True)
        read(annotator, sentence, [BALANCE], quote=FIRST, told=[BALANCE])
        whole = join(sentence, owner)
        assert tell(annotator)[whole.pk] == {BALANCE: True}

    def test_a_later_turn_answer_of_the_new_sentence_holds(self, annotator, sentence, owner):
        read(annotator, sentence, [BALANCE], quote=ACROSS)
        one, _two = split(sentence, owner)
        read(annotator, one, [COMPASSION], quote=FIRST)
        assert tell(annotator)[one.pk] == {BALANCE: False, COMPASSION: True}

    def test_a_suggestion_its_critic_reversed_leaves_nothing_unknown(self, annotator, sentence, owner):
        from tests.auditapp.evaluation.cast import judge

        [made] = read(annotator, sentence, [BALANCE], quote=SECOND)
        one, two = split(sentence, owner)
        judge(annotator, {made: "reverse"})
        told = tell(annotator, with_critic=True)
        assert told[one.pk] == told[two.pk] == {BALANCE: False, COMPASSION: False}

    def test_an_offline_turn_answer_follows_too(self, study, sentence, owner):
        rules = {"reader": "rules-1", "rules": {BALANCE: ["ask"], COMPASSION: ["would"]}}
        annotator = add_annotator(study, "rules", kind=Annotator.Kind.RULES, recipe=rules)
        [made] = read_offline(annotator, sentence, [BALANCE])
        Suggestion.objects.filter(pk=made.pk).update(quote_start=SECOND[0], quote_end=SECOND[1])
        one, two = split(sentence, owner)
        told = tell(annotator)
        assert (told[one.pk], told[two.pk]) == ({COMPASSION: False}, {BALANCE: True, COMPASSION: False})


class TestAgreeing:
    """Panel, calibration, positives, passages and exports say the same of one suggestion."""

    def test_what_is_placed_is_in_all_of_them(self, annotator, sentence, coder, study):
        [made] = read(annotator, sentence, [BALANCE], quote=SECOND)
        decide(sentence, coder)
        one, two = split(sentence, coder)
        panel = look(two, coder)
        [offer] = panel.offers
        assert (offer["suggestion"], offer["evidence"]) == (made, ("", "ask", " first."))
        [positive] = list_positives(annotator)
        assert (positive.suggestion, positive.sentence) == (made.pk, two.pk)
        made = Suggestion.objects.select_related("sentence__turn__interview").get()
        passage = read_passages([made])[made.pk]
        assert (passage["sentence"], passage["text"], passage["is_unplaced"]) == (two, "ask first.", False)
        [row] = take_out(study, "suggestions")
        assert (row["sentence_id"], row["current_sentence_id"]) == (sentence.pk, two.pk)
        compared = read_compared(annotator)
        found = compared.find(BALANCE)
        assert found is not None
        place = compared.sentence_ids.tolist().index(two.pk)
        [item] = read_compared_items(compared, [(place, found)], viewer=coder)
        assert (item["machine"], item["rationale"]) == (True, "Because of the words.")
        # Of the two pieces the one without the words is not compared.
        assert (found.labels.machine.sum(), found.labels.counts.sum()) == (1, 1)
        assert list_codes(hear(one, coder)) == []

    def test_what_is_placed_nowhere_is_in_none(self, annotator, sentence, coder, study):
        [made] = read(annotator, sentence, [BALANCE], quote=ACROSS)
        decide(sentence, coder)
        one, two = split(sentence, coder)
        for piece in (one, two):
            panel = hear(piece, coder)
            assert (list_codes(panel), panel["unplaced"], panel["is_edited_since"]) == ([], 1, True)
        assert list_positives(annotator) == []
        made = Suggestion.objects.select_related("sentence__turn__interview").get()
        passage = read_passages([made])[made.pk]
        assert (passage["sentence"], passage["text"], passage["is_unplaced"]) == (sentence, "I would ask first.", True)
        [row] = take_out(study, "suggestions")
        assert (row["sentence_id"], row["current_sentence_id"]) == (sentence.pk, None)
        found = read_compared(annotator).find(BALANCE)
        assert found is not None
        assert found.labels.counts.sum() == 0

    def test_an_untouched_sentence_stands_where_it_was(self, annotator, sentence, owner, study):
        below = find_next(sentence)
        read(annotator, below, [BALANCE])
        split(sentence, owner)
        [row] = take_out(study, "suggestions")
        assert row["current_sentence_id"] == row["sentence_id"] == below.pk
        assert count_moved(annotator) == {"total": 0, "placed": 0, "unplaced": 0}

    def test_a_legitimate_alternative_stays_one_at_the_pieces(self, annotator, sentence, coder):
        read(annotator, sentence, [BALANCE], quote=SECOND)
        decide(sentence, coder)
        Disagreement.objects.create(
            annotator=annotator,
            sentence=sentence,
            code_identifier=BALANCE,
            category="alternative",
            sorted_at=timezone.now(),
            sorted_by=coder,
        )
        split(sentence, coder)
        found = read_compared(annotator).find(BALANCE)
        assert found is not None
        assert (found.labels.counts.sum(), found.set_aside["alternatives"]) == (0, 1)

    def test_a_look_before_the_break_counts_for_what_its_words_are_in_now(self, annotator, sentence, coder, study):
        [made] = read(annotator, sentence, [BALANCE], quote=SECOND, told=[BALANCE])
        decide(sentence, coder)
        look(sentence, coder)
        accept_suggestion(suggestion=made, study=study, by=coder)
        _one, two = split(sentence, coder)
        [unit] = count_influence(annotator)["looked"]
        assert (unit.sentence, unit.blind, unit.final) == (two.pk, frozenset(), frozenset({BALANCE}))
        assert unit.changed_to


class TestPanel:
    def test_a_piece_asks_for_her_own_decision_like_any_sentence(self, annotator, sentence, coder, study, client_of):
        [made] = read(annotator, sentence, [BALANCE], quote=SECOND)
        _one, two = split(sentence, coder)
        client = client_of(coder)
        address = reverse("suggestions:panel", args=[study.slug, two.pk])
        assert client.post(address).status_code == 409
        answer = client.post(reverse("suggestions:respond", args=[study.slug, made.pk]), {"act": "accept"})
        assert answer.status_code == 404
        assert not Showing.objects.exists()

    def test_a_withheld_turn_stays_withheld_whatever_is_cut(self, study, interview, sentence, coder, client_of):
        withhold_all(study, interview)
        annotator = add_annotator(study)
        read(annotator, sentence, [BALANCE], quote=SECOND)
        read(annotator, sentence, [COMPASSION], quote=ACROSS)
        for piece in split(sentence, coder):
            decide(piece, coder)
            shown = look(piece, coder)
            assert (shown.is_withheld, shown.annotators) == (True, [])
            page = client_of(coder).post(reverse("suggestions:panel", args=[study.slug, piece.pk]))
            assert "no longer placed" not in page.content.decode()
            assert "breaks" not in page.content.decode().split('class="suggestion-list"')[1]

    def test_what_lies_across_a_break_is_told_after_her_word_on_both_sides(self, annotator, sentence, coder):
        read(annotator, sentence, [BALANCE], quote=ACROSS)
        one, two = split(sentence, coder)
        assert hear(one, coder)["unplaced"] == 0
        assert hear(two, coder)["unplaced"] == 1
        assert hear(one, coder)["unplaced"] == 1

    def test_that_breaks_were_corrected_is_said_whether_or_not_something_was_suggested(
        self, annotator, sentence, coder, study, client_of
    ):
        read(annotator, sentence)
        one, _two = split(sentence, coder)
        decide(one, coder)
        page = client_of(coder).post(reverse("suggestions:panel", args=[study.slug, one.pk])).content.decode()
        assert "Annotated before the boundaries of this sentence were corrected" in page
        assert "no longer placed" not in page
        read(annotator, one)
        page = client_of(coder).post(reverse("suggestions:panel", args=[study.slug, one.pk])).content.decode()
        assert "Annotated before the boundaries" not in page

    def test_a_whole_of_which_a_part_was_read_shows_that_and_says_so(
        self, annotator, sentence, coder, study, client_of
    ):
        cell = read(annotator, sentence, [BALANCE], quote=FIRST)[0].cell
        assert cell is not None
        below = find_next(sentence)
        type(cell.turn_answer).objects.filter(pk=cell.pk).update(missing=[below.pk])
        whole = join(sentence, coder)
        panel = hear(whole, coder)
        assert (list_codes(panel), panel["read"], panel["partly"]) == ([BALANCE], [], ["Themes"])
        assert whole.pk not in tell(annotator)
        page = client_of(coder).post(reverse("suggestions:panel", args=[study.slug, whole.pk])).content.decode()
        assert "annotated in part" in page

    def test_two_of_one_code_meet_in_the_whole_each_with_its_words(self, annotator, sentence, coder):
        below = find_next(sentence)
        made = read(annotator, sentence, [BALANCE], quote=FIRST)
        read(annotator, below, [COMPASSION], quote=(below.start, below.start + 3))
        Suggestion.objects.create(
            annotator=annotator, cell=Suggestion.objects.latest("pk").cell, sentence=sentence, code=made[0].code
        )
        panel = hear(join(sentence, coder), coder)
        assert list_codes(panel) == [BALANCE, COMPASSION]


class TestAnswers:
    @pytest.fixture
    def made(self, annotator, sentence, coder):
        [made] = read(annotator, sentence, [BALANCE], quote=SECOND)
        decide(sentence, coder)
        look(sentence, coder)
        return made

    def test_keeping_codes_the_sentence_that_holds_the_words(self, made, study, sentence, coder):
        one, two = split(sentence, coder)
        response = accept_suggestion(suggestion=made, study=study, by=coder)
        assert response.coding is not None
        assert response.coding.sentence == two
        assert (standing_codes(one, coder), standing_codes(two, coder)) == ([], [BALANCE])

    def test_an_answer_goes_with_its_suggestion(self, made, study, sentence, coder):
        accept_suggestion(suggestion=made, study=study, by=coder)
        _one, two = split(sentence, coder)
        panel = look(two, coder)
        [offer] = panel.offers
        assert offer["response"] is not None
        assert (offer["response"].verdict, offer["is_removed"]) == (Response.Verdict.ACCEPTED, False)

    def test_taking_back_takes_off_what_was_carried_here(self, made, study, sentence, coder):
        accept_suggestion(suggestion=made, study=study, by=coder)
        one, two = split(sentence, coder)
        undo_response(suggestion=made, study=study, by=coder)
        assert standing_codes(two, coder) == []
        # The other piece is her own since, and hers to change.
        assert standing_codes(one, coder) == [BALANCE]

    def test_taking_back_puts_again_what_an_edit_replaced_before_the_break(self, annotator, study, sentence, coder):
        put(sentence, find_code(study, BALANCE), coder, quote=ACROSS)
        [made] = read(annotator, sentence, [BALANCE], quote=SECOND)
        decide(sentence, coder)
        look(sentence, coder)
        accept_suggestion(
            suggestion=made, study=study, by=coder, level="latent", note="So.", edited=True, reason="Between."
        )
        _one, two = split(sentence, coder)
        undo_response(suggestion=made, study=study, by=coder)
        [standing] = Coding.objects.filter(sentence=two, coder=coder, withdrawn_at__isnull=True)
        assert (standing.level, standing.quote) == ("semantic", SECOND)

    def test_a_coding_joined_with_another_of_hers_is_not_taken_off(self, made, study, sentence, coder, annotator):
        below = find_next(sentence)
        decide(below, coder)
        read(annotator, below, [BALANCE], quote=(below.start, below.start + 3), told=[BALANCE])
        other = Suggestion.objects.latest("pk")
        look(below, coder)
        accept_suggestion(suggestion=other, study=study, by=coder)
        Response.objects.filter(suggestion=made).delete()
        read(annotator, sentence, [BALANCE], quote=SECOND, told=[BALANCE])
        again = Suggestion.objects.latest("pk")
        look(sentence, coder)
        accept_suggestion(suggestion=again, study=study, by=coder)
        whole = join(sentence, coder)
        undo_response(suggestion=again, study=study, by=coder)
        assert standing_codes(whole, coder) == [BALANCE]

    def test_what_is_placed_nowhere_is_not_answered(self, annotator, study, sentence, coder, client_of):
        [made] = read(annotator, sentence, [BALANCE], quote=ACROSS)
        decide(sentence, coder)
        look(sentence, coder)
        split(sentence, coder)
        with pytest.raises(Refused, match="no single sentence now has all the words"):
            reject_suggestion(suggestion=made, study=study, by=coder)
        answer = client_of(coder).post(reverse("suggestions:respond", args=[study.slug, made.pk]), {"act": "accept"})
        assert answer.status_code == 409
        assert PLACED_NOWHERE in answer.content.decode()
        assert not Response.objects.exists()

    def test_she_is_led_back_to_the_sentence_of_now(self, made, study, sentence, coder, client_of):
        _one, two = split(sentence, coder)
        answer = client_of(coder).post(reverse("suggestions:respond", args=[study.slug, made.pk]), {"act": "reject"})
        assert answer.status_code == 302
        assert answer.headers["Location"].endswith(f"?at={two.pk}#s{two.pk}")


class TestPages:
    def _visit(self, client, study, annotator):
        named = {"annotator": "annotator", "turn_answers": "turn_answers"}
        pages = {name: reverse(f"annotators:{name}", args=[study.slug, annotator.pk]) for name in named}
        pages["calibration"] = reverse("evaluation:calibration", args=[study.slug]) + f"?annotator={annotator.pk}"
        return {name: " ".join(client.get(address).content.decode().split()) for name, address in pages.items()}

    def test_the_counts_stand_on_three_pages_alike(self, annotator, study, sentence, coder, reader, client_of):
        read(annotator, sentence, [BALANCE], quote=SECOND)
        read(annotator, sentence, [COMPASSION], quote=ACROSS)
        decide(sentence, coder)
        client = client_of(reader)
        assert not any("Boundaries edited since" in page for page in self._visit(client, study, annotator).values())
        split(sentence, coder)
        for name, page in self._visit(client, study, annotator).items():
            assert "2 of its suggestions are for sentences that were split or merged" in page, name
            assert "1 is shown at the sentence that now has its words. 1 is neither shown nor counted" in page, name

    def test_who_may_code_is_told_of_interviews_she_opened_alone(
        self, annotator, study, interview, sentence, lead, client_of
    ):
        read(annotator, sentence, [BALANCE], quote=SECOND)
        split(sentence, lead)
        client = client_of(lead)
        assert not any("Boundaries edited since" in page for page in self._visit(client, study, annotator).values())
        Unblinding.objects.create(interview=interview, user=lead, where="agreement", unblinded_at=timezone.now())
        page = self._visit(client, study, annotator)["annotator"]
        assert "1 of its suggestions in the interviews you have unblinded is for sentences" in page
