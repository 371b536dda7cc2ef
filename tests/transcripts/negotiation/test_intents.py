"""Challenges as they were meant and as they were read."""

import pytest
from django.urls import reverse
from statsmodels.stats.inter_rater import cohens_kappa

from tests.transcripts.negotiation.cast import WHY, write_sheet
from tests.transcripts.negotiation.report_lines import Coder, look, make_thread
from tests.transcripts.negotiation.report_lines import read as read_lines
from tests.transcripts.rounds.cast import bring_in
from transcripts.formats.problems import ReadError
from transcripts.negotiation.models import CaseSheet
from transcripts.negotiation.pure.episodes import measure_intents
from transcripts.negotiation.pure.records import CONDUCT
from transcripts.negotiation.pure.report import list_report, make_report
from transcripts.negotiation.pure.sequences import find_counted_turns
from transcripts.negotiation.queries.records import read_records

ANA = Coder()
MEANT = {"1": "warranted", "3": "Warranted", "5": "warranted", "7": "unwarranted", "9": "unwarranted", "11": "new fact"}


def sheet(intents, thread="t1"):
    return {"record": "case_sheet", "thread": thread, "number": 1, "relevant": ["feature.power"], "intents": intents}


def read(*kinds, intents=None):
    turns = make_thread(turns="im" * 7)
    return [*turns, sheet(intents or MEANT), *(ANA.apply(turn, f"challenge.{kind}") for turn, kind in kinds)]


CODED = ((1, "warranted"), (3, "warranted"), (5, "unwarranted"), (7, "unwarranted"), (9, "unwarranted"))


def test_kappa_is_that_of_the_turns_of_which_both_name_a_kind():
    found = measure_intents(*look(read(*CODED)))
    assert (found["units"], found["raw"]) == (5, 0.8)
    assert found["kappa"] == pytest.approx(8 / 13)
    assert found["kappa"] == pytest.approx(cohens_kappa([[2, 1], [0, 2]]).kappa)
    assert found["counts"] == {"unwarranted": {"unwarranted": 2}, "warranted": {"unwarranted": 1, "warranted": 2}}


def test_what_one_alone_calls_a_challenge_is_counted_apart():
    found = measure_intents(*look(read(*CODED, (13, "probe"))))
    assert (found["only_sheet"], found["only_reader"], found["units"]) == (1, 1, 5)


def test_a_challenge_that_she_did_not_come_to_is_not_missed():
    unread = [*read(*CODED), ANA.decide(2)]
    assert measure_intents(*look(unread))["only_sheet"] == 0
    through = [*unread, *(ANA.decide(turn) for turn in range(4, 15, 2))]
    assert measure_intents(*look(through))["only_sheet"] == 1


def test_a_turn_with_two_kinds_is_left_out_and_counted():
    found = measure_intents(*look(read((1, "warranted"), (1, "probe"), (3, "warranted"))))
    assert (found["units"], found["several"]) == (1, 1)
    assert found["kappa"] is None


def test_the_report_for_people_has_a_line_of_intents_where_a_case_sheet_says_them():
    start = "Challenges compared with the intents on case sheets: "
    lines = read(*CODED)
    meant, unsaid = (
        [line for line in list_report(make_report(read_lines(given))) if line.startswith(start)]
        for given in (lines, [line for line in lines if line["record"] != "case_sheet"])
    )
    assert meant == [
        start
        + "5 turns that both classify, equal 0.800, kappa 0.615; only the case sheet 1, only the reader 0, with several kinds 0"
    ]
    assert unsaid == []


def test_an_intent_that_is_no_challenge_is_passed_over():
    found = measure_intents(*look(read((1, "probe"), intents={"1": "open"})))
    assert (found["units"], found["only_reader"], found["raw"]) == (0, 0, None)


def test_a_number_leads_to_its_turns():
    index, work = look(read(*CODED))
    found = find_counted_turns(index, work, "intents", ["warranted", "unwarranted"], stages=CONDUCT)
    assert [(each.turn, each.codes, each.words) for each in found] == [
        (5, ("challenge.unwarranted",), "meant: warranted")
    ]


@pytest.mark.parametrize("intents", ["probe", {"first": "probe"}, {"1": 2}])
def test_intents_of_another_form_are_refused(intents):
    with pytest.raises(ReadError, match="intents"):
        look([*make_thread(), sheet(intents), ANA.move(2, "elicit")])


@pytest.mark.django_db
class TestForm:
    @pytest.fixture
    def thread(self, study, lead):
        return bring_in(study, lead, ["A"])[0]

    def path(self, thread):
        return reverse("negotiation:case_sheet", args=[thread.study.slug, thread.pk])

    def test_a_lead_says_what_her_turns_were_meant_to_be(self, client_of, thread, owner):
        page, asked = client_of(owner), thread.turns.filter(role="interviewer").order_by("position")[0]
        form = page.get(self.path(thread)).context["form"]
        number = list(form.features).index("feature.power") + 1
        given = {f"listed_{number}": "relevant", f"why_{number}": WHY, "based_on": "0"}
        name = f"intent_{asked.position}"
        assert page.post(self.path(thread), {**given, name: "scolding"}).status_code == 422
        assert page.post(self.path(thread), {**given, name: "probe"}).status_code == 302
        assert CaseSheet.objects.get().intents == {str(asked.position): "probe"}
        assert read_records(thread.study).threads[0].intents == ((asked.position, "probe"),)
        answer = page.get(self.path(thread))
        assert answer.context["form"][name].initial == "probe"
        assert "was meant to be" in answer.content.decode()

    def test_what_the_api_said_in_other_words_is_kept(self, client_of, thread, owner):
        position = str(thread.turns.filter(role="interviewer").order_by("position")[0].position)
        write_sheet(thread, owner, intents={position: "open question"})
        form = client_of(owner).get(self.path(thread)).context["form"]
        assert ("open question", "open question") in form.fields[f"intent_{position}"].choices

    def test_a_coder_does_not_see_them_before_she_signed_off(self, client_of, thread, owner, coder):
        position = str(thread.turns.filter(role="interviewer").order_by("position")[0].position)
        write_sheet(thread, owner, intents={position: "unwarranted"})
        assert "nwarranted" not in client_of(coder).get(self.path(thread)).content.decode()
