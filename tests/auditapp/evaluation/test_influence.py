"""How far suggestions move people: counted over the right turn answers, and each figure shown to whom it belongs."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from auditapp.annotators.models import TurnArm
from auditapp.annotators.pure.figures import Tally
from auditapp.annotators.withholding import ensure_arms, open_draft_interview, set_withholding
from auditapp.evaluation.queries.influence import count_influence
from auditapp.evaluation.views import rates as views
from auditapp.suggestions.actions import accept_suggestion
from tests.auditapp.evaluation import cast
from tests.auditapp.suggestions.cast import add_annotator, decide, look, read
from tests.conftest import make_member
from tests.transcripts.coding.cast import find_code, put, take_off
from transcripts.blinding.actions import unblind_interview
from transcripts.coding.models import Unblinding
from transcripts.corpus.models import Sentence

BALANCE, COMPASSION = "theme.balance", "theme.compassion"
# Made anew for every answer.
CSRF = re.compile(r"[A-Za-z0-9]{64}")


@pytest.fixture
def turns(study, interview, owner):
    """The sentences of the model's two turns; of the first suggestions may be shown, the second is withheld."""
    found = {}
    sentences = Sentence.objects.select_related("turn__interview").filter(turn__interview=interview, turn__role="model")
    for sentence in sentences.order_by("turn__position", "start"):
        found.setdefault(sentence.turn_id, []).append(sentence)
    set_withholding(study=study, share_percent=50, reason="Half.", by=owner)
    ensure_arms(study=study, interviews=None, by=owner)
    shown, withheld = list(found)
    TurnArm.objects.filter(turn=shown).update(arm="shown")
    TurnArm.objects.filter(turn=withheld).update(arm="withheld")
    return list(found.values())


@pytest.fixture
def annotator(study, turns):
    """One that proposes balance for the first sentence of each turn and nothing for the others."""
    made = add_annotator(study)
    for sentences in turns:
        read(made, sentences[0], [BALANCE])
    return made


def themes(annotator, who):
    tables = count_influence(annotator)["tables"].get(who.pk, {})
    return tables["themes"].total if "themes" in tables else Tally()


class TestCounts:
    def test_arms_count_every_unit_decided_blind_opened_or_not(self, annotator, study, turns, coder):
        shown, withheld = turns
        put(shown[0], find_code(study, BALANCE), coder)
        for sentence in (*shown[:2], *withheld[:2]):
            decide(sentence, coder)
        tally = themes(annotator, coder)
        assert (tally.shown_same, tally.shown_n) == (2, 2)
        assert (tally.withheld_same, tally.withheld_n) == (1, 2)
        assert tally.looked == 0

    def test_a_label_changed_after_a_look_counts_as_final_and_as_switched(self, annotator, study, turns, coder):
        [sentence, *_] = turns[0]
        decide(sentence, coder)
        shown = look(sentence, coder)
        accept_suggestion(suggestion=shown.offers[0]["suggestion"], study=study, by=coder)
        tally = themes(annotator, coder)
        assert (tally.shown_same, tally.shown_n) == (1, 1)
        assert (tally.differed, tally.changed_to, tally.agreed, tally.changed_away) == (1, 1, 0, 0)
        [unit] = count_influence(annotator)["looked"]
        assert (unit.blind, unit.final, unit.machine) == (frozenset(), frozenset({BALANCE}), frozenset({BALANCE}))

    def test_a_label_changed_away_after_a_look_counts_so(self, annotator, study, turns, coder):
        [sentence, *_] = turns[0]
        own = put(sentence, find_code(study, BALANCE), coder)
        decide(sentence, coder)
        look(sentence, coder)
        take_off(own, coder, reason="Not so.")
        tally = themes(annotator, coder)
        assert (tally.shown_same, tally.shown_n) == (0, 1)
        assert (tally.agreed, tally.changed_away, tally.differed) == (1, 1, 0)

    def test_another_code_beside_the_suggested_one_is_no_agreement(self, annotator, study, turns, coder):
        [sentence, *_] = turns[0]
        for code in (BALANCE, COMPASSION):
            put(sentence, find_code(study, code), coder)
        assert themes(annotator, coder) == Tally(shown_n=1)

    def test_codes_the_annotator_was_not_asked_about_are_not_compared(self, study, turns, coder):
        narrow = add_annotator(study, "narrow")
        [sentence, *_] = turns[0]
        read(narrow, sentence, [BALANCE], told=[BALANCE])
        for code in (BALANCE, COMPASSION):
            put(sentence, find_code(study, code), coder)
        assert themes(narrow, coder) == Tally(shown_same=1, shown_n=1)

    def test_a_look_that_did_not_show_this_annotators_word_is_no_look_at_it(self, annotator, study, turns, coder):
        [sentence, *_] = turns[0]
        decide(sentence, coder)
        look(sentence, coder)
        later = add_annotator(study, "later")
        read(later, sentence, [COMPASSION])
        assert themes(later, coder).looked == 0
        assert themes(annotator, coder).looked == 1

    def test_a_look_before_an_annotator_was_made_is_no_look_at_its_silence(self, annotator, study, turns, coder):
        [sentence, *_] = turns[0]
        decide(sentence, coder)
        look(sentence, coder)
        later = add_annotator(study, "later")
        read(later, sentence)
        assert themes(later, coder) == Tally(shown_same=1, shown_n=1)

    def test_what_colleagues_changed_is_not_put_down_to_the_machine(self, annotator, study, interview, turns, lead):
        [sentence, second, *_] = turns[0]
        for each in (sentence, second):
            decide(each, lead)
        look(sentence, lead)
        unblind_interview(study=study, interview=interview, by=lead, where="agreement")
        put(sentence, find_code(study, BALANCE), lead, reason="A colleague has it.")
        look(second, lead)
        tally = themes(annotator, lead)
        assert (tally.shown_same, tally.shown_n) == (1, 2)
        assert (tally.changed_to, tally.looked) == (0, 1)

    def test_drafts_are_left_out(self, annotator, study, interview, turns, lead, coder):
        open_draft_interview(study=study, interview=interview, reason="So.", by=lead)
        [sentence, *_] = turns[0]
        shown = look(sentence, coder)
        accept_suggestion(suggestion=shown.offers[0]["suggestion"], study=study, by=coder)
        assert themes(annotator, coder) == Tally()

    def test_turns_drawn_with_certainty_are_in_neither_arm_and_looks_at_them_count(self, annotator, turns, coder):
        for probability in (0.0, 1.0):
            TurnArm.objects.update(probability=probability)
            for sentence in (turns[0][0], turns[1][0]):
                decide(sentence, coder)
            look(turns[0][0], coder)
            assert themes(annotator, coder) == Tally(differed=1)
            counted = count_influence(annotator)
            assert (counted["certain"], counted["undrawn"]) == (2, 0)
        TurnArm.objects.update(probability=0.5)
        assert themes(annotator, coder) == Tally(shown_n=1, withheld_n=1, differed=1)

    def test_counts_are_kept_turn_by_turn_with_how_each_was_drawn(self, annotator, turns, coder):
        for sentence in (*turns[0][:3], *turns[1][:2]):
            decide(sentence, coder)
        counted = count_influence(annotator)
        table = counted["tables"][coder.pk]["themes"]
        assert table.turns.tolist() == [turns[0][0].turn_id, turns[1][0].turn_id]
        assert (table.same.tolist(), table.units.tolist()) == ([2, 1], [3, 2])
        drawn = counted["draws"].find(table.turns)
        assert drawn.is_withheld.tolist() == [False, True]
        assert drawn.probability.tolist() == [0.5, 0.5]
        assert drawn.strata[0] == drawn.strata[1]

    def test_an_annotator_that_read_nothing_has_no_counts(self, study, turns):
        assert count_influence(add_annotator(study, "idle"))["tables"] == {}


class TestPage:
    def get(self, client, study):
        answer = client.get(reverse("evaluation:influence", args=[study.slug]))
        assert answer.status_code == 200
        return answer.content.decode()

    def test_without_an_annotator_the_page_says_so(self, study, coder, client_of):
        assert "Nothing has been annotated here yet." in self.get(client_of(coder), study)

    def test_a_coder_sees_her_own_and_opens_her_own_sentences(
        self, annotator, study, turns, coder, second_coder, client_of
    ):
        [sentence, *_] = turns[0]
        for who in (coder, second_coder):
            decide(sentence, who)
        shown = look(sentence, coder)
        accept_suggestion(suggestion=shown.offers[0]["suggestion"], study=study, by=coder)
        page = self.get(client_of(coder), study)
        assert "Changed to what it suggests: 1" in page
        assert f"?at={sentence.pk}#s{sentence.pk}" in page
        assert "The other coders together" not in page
        assert "Changed to what it suggests" not in self.get(client_of(second_coder), study)

    def test_figures_go_by_turns_and_stand_beside_those_by_sentences(
        self, study, owner, coder, second_coder, reader, client_of
    ):
        said = cast.bring_in(study, owner, interviews=2, turns=10, sentences=3)
        numbers = sorted({each.turn_id for each in said})
        held = set(numbers[::2])
        cast.withhold(study, said, held)
        machine = cast.make_annotator(study)
        cast.read(machine, said, {each.pk: [BALANCE] for each in said})
        # All of a shown turn agree but in two turns, of the withheld every second turn.
        apart = {*numbers[1:5:2], *numbers[::4]}
        for who in (coder, second_coder):
            labels = {each.pk: [BALANCE] for each in said if each.turn_id not in apart}
            cast.decide_all(who, said, labels)
        page = self.get(client_of(reader), study)
        by_turn, by_sentence = page.split("Counts of units</caption>")
        by_turn = " ".join(by_turn.split("By turns, as they were drawn</caption>")[1].split())
        assert '<td class="num">10, 10</td>' in by_turn
        assert "0.80" in by_turn
        assert "10 turns" in by_turn
        assert "0.30" in by_turn
        # Six sentences of a turn that say the same are worth one, and there are ten turns to make up for it.
        assert '<td class="num">6.7</td>' in by_turn
        assert "48 of 60" in by_sentence
        assert "30 of 60" in by_sentence
        assert "1,999 times (seed 1)" in by_turn
        # Ten turns in each arm are tested; that nobody looked leaves no direction.
        [difference, direction] = re.findall(r'<td class="num">(0\.\d{3}|–)</td>', by_turn)
        assert (0 < float(difference) < 1, direction) == (True, "–")

    def test_so_few_units_that_they_would_tell_what_the_machine_said_give_no_figure(
        self, annotator, study, interview, turns, coder, client_of
    ):
        put(turns[1][0], find_code(study, BALANCE), coder)
        Unblinding.objects.create(interview=interview, user=coder, where="x", unblinded_at=timezone.now())
        page = self.get(client_of(coder), study)
        assert "1 in withheld ones" in page
        assert "1 of 1" not in page

    def test_one_decision_more_tells_nobody_what_the_machine_said_there_while_she_may_code_on(
        self, annotator, study, interview, turns, coder, client_of, monkeypatch
    ):
        monkeypatch.setattr(views, "MIN_OWN", 1)
        client, (shown, withheld) = client_of(coder), turns
        pages = []
        for codes in ([BALANCE], [COMPASSION]):
            made = [put(sentences[0], find_code(study, code), coder) for code in codes for sentences in turns]
            pages.append(CSRF.sub("", self.get(client, study)))
            for coding in made:
                take_off(coding, coder)
        assert pages[0] == pages[1]
        assert "2 of your units are in neither arm yet" in pages[0]
        for sentence in (shown[0], withheld[0]):
            put(sentence, find_code(study, BALANCE), coder)
        Unblinding.objects.create(interview=interview, user=coder, where="x", unblinded_at=timezone.now())
        assert self.get(client, study).count("1 of 1") == 2

    def test_turns_that_were_read_and_never_drawn_are_told_and_move_when_nobody_acts(
        self, annotator, study, turns, coder, client_of
    ):
        assert "not drawn for showing" not in self.get(client_of(coder), study)
        TurnArm.objects.filter(turn=turns[1][0].turn_id).delete()
        decide(turns[1][0], coder)
        assert count_influence(annotator)["tables"] == {}
        assert "1 turn that it annotated was not drawn" in self.get(client_of(coder), study)

    def test_turns_drawn_with_certainty_are_told(self, annotator, study, coder, client_of):
        assert "with a share of 0 or 100" not in self.get(client_of(coder), study).split("</dl>")[1]
        TurnArm.objects.update(probability=0)
        assert "2 turns that it annotated were drawn with a share of 0 or 100 %" in self.get(client_of(coder), study)

    def test_a_lead_sees_the_pool_of_two_coders_and_never_one_alone(
        self, annotator, study, owner, turns, lead, coder, second_coder, client_of
    ):
        decide(turns[0][0], coder)
        decide(turns[0][0], lead)
        page = self.get(client_of(lead), study)
        assert "the figures would be hers alone" in page
        put(turns[0][0], find_code(study, BALANCE), second_coder)
        page = self.get(client_of(lead), study)
        assert "1 of 2" in page
        # Nobody looked: what a look did is a dash and no nought, and why is said.
        pooled = page.split("The other coders together")[1]
        assert ">0<" not in pooled.split('id="team-table"')[1]  # an axis has a 0
        assert "0, 0" not in pooled
        assert "Fewer than 2 coders opened suggestions" in pooled
        assert "few turns: 0, a verdict needs 10" in pooled
        assert "Units of a turn are not independent" in pooled
        decide(turns[0][0], second_coder)
        for who in (coder, second_coder):
            look(turns[0][0], who)
        assert "Suggestions were opened on 2 of 2 units in the shown arm." in self.get(client_of(lead), study)
        reader = make_member(study, owner, "reader", "a_reader")
        page = self.get(client_of(reader), study)
        assert ">Yours<" not in page
        # The lead codes herself, so that the reader's pool is of three.
        assert "1 of 3" in page
        assert "coder</" not in page
