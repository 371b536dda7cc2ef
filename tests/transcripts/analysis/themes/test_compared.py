"""Models compared on the questions that several were asked alike: what is the same question, whose readings, and the figures."""

import json
from itertools import product

import numpy as np
import pytest
import statsmodels.api as sm
from django.core.management import CommandError, call_command
from django.urls import reverse
from statsmodels.stats.multitest import multipletests

from tests.transcripts.analysis.themes.cast import BALANCE, answers, make_theme, open_all, put_on
from tests.transcripts.coding.cast import decide, find_code, put
from transcripts.analysis.themes.pure import (
    NOTHING_ASKED_ALIKE,
    NOTHING_READ_ALIKE,
    ONE_MODEL,
    Heading,
    Readings,
    Row,
    Said,
    compare_models,
    draw_models,
    read_answers,
)
from transcripts.analysis.themes.queries import THEMES, choose_viewpoint, compare, list_families
from transcripts.audit_trail.models import AuditEvent
from transcripts.blinding.viewers import Viewer
from transcripts.corpus.actions import import_file
from transcripts.studies.roles import CODER, LEAD, READER

CODE = Row(Heading("c", "Code c", frozenset({"c"})))


def talk(model, *turns, begins=()):
    """An interview: words of the interviewer, and answers of one sentence with that number."""
    said = [Said(turn) if isinstance(turn, str) else Said(None, (turn,)) for turn in turns]
    return list(read_answers(model, begins, said))


def read(having, decided, coder=1):
    return Readings({coder: set(decided)}, {(coder, "c"): set(having)}, {(coder, "c"): set(having)})


def list_questions(*interviews):
    return [[answer.question for answer in interview if not answer.is_whole] for interview in interviews]


class TestSameQuestion:
    def test_it_has_the_same_words_before_it_and_white_space_is_no_difference(self):
        one, other, later, prompted = list_questions(
            talk("a", "Hello.", 1, "Why?", 2),
            talk("b", "Hello. ", 3, "Why?", 4),
            talk("b", "Hello.", 5, "How so?", 6, "Why?", 7),
            talk("b", "Be kind.", "Hello.", 8, "Why?", 9),
        )
        assert one == other
        assert one[0] == later[0]
        assert one[1] not in later
        assert not {*one} & {*prompted}

    def test_another_condition_makes_another_question(self):
        one, other = list_questions(talk("a", "Hello.", 1, begins=["x", ""]), talk("b", "Hello.", 2, begins=["y", ""]))
        assert one != other

    def test_one_opening_is_one_case_under_every_condition_and_system_prompt(self):
        apart = talk("a", 1, begins=["interview", "x", "Hello."])
        prompted = read_answers(
            "b", ["agent run", "y", ""], [Said("Be kind.", is_system=True), Said("Hello."), Said(None, (2,))]
        )
        other = talk("a", "Good day.", 3, begins=["interview", "x", ""])
        assert {answer.case for answer in [*apart, *prompted]} == {apart[0].case}
        assert other[0].case != apart[0].case

    def test_what_is_said_before_any_question_is_no_answer_unless_the_file_has_an_opening_prompt(self):
        assert talk("a", 1) == []
        [answer, whole] = talk("a", 1, begins=["interview", "Tell me."])
        assert (answer.sentences, whole.is_whole) == ((1,), True)

    def test_turns_that_follow_one_another_are_one_answer(self):
        [answer, whole] = talk("a", "Hello.", 1, 2)
        assert answer.sentences == whole.sentences == (1, 2)


def make_cases(rates):
    """A talk of each model about each case, of as many questions as the case has values; all of it is decided."""
    interviews, having, number = [], [], 0
    for model, cases in rates.items():
        for case, values in enumerate(cases):
            turns = []
            for question, holds in enumerate(values):
                number += 1
                turns += [f"case {case}, question {question}", number]
                having += [number] if holds else []
            interviews.append(talk(model, *turns))
    return [answer for interview in interviews for answer in interview], read(having, range(number + 1))


def test_difference_interval_and_p_are_those_of_cases_as_statsmodels_has_them():
    draw = np.random.default_rng(7)
    sizes = draw.integers(1, 5, 12)
    rates = {
        model: [list(draw.random(size) < share) for size in sizes]
        for model, share in (("a", 0.8), ("b", 0.3), ("c", 0.5))
    }

    found = compare_models(*_both(rates))["comparisons"]

    assert [(row["first"], row["second"]) for row in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    groups = np.repeat(np.arange(12), sizes)
    for row in found:
        one, other = (
            np.array([value for case in rates[row[side]] for value in case], float) for side in ("first", "second")
        )
        differences = one - other
        fitted = sm.OLS(differences, np.ones(len(groups))).fit(
            cov_type="cluster", cov_kwds={"groups": groups}, use_t=True
        )
        sums = [differences[groups == case].sum() for case in range(12)]
        tossed = [abs(np.dot(signs, sums)) for signs in product((1, -1), repeat=12)]
        assert (row["readings"], row["cases"], row["mark"], row["left_out"]) == (len(groups), 12, "rough", 0)
        assert [row["first_rate"], row["second_rate"]] == pytest.approx([one.mean(), other.mean()])
        assert row["difference"] == pytest.approx(differences.mean())
        assert row["ci"] == pytest.approx(list(fitted.conf_int()[0]))
        assert row["p"] == pytest.approx(np.mean(np.array(tossed) >= abs(sum(sums)) - 1e-9))
    adjusted = multipletests([row["p"] for row in found], method="holm")[1]
    assert [row["p_holm"] for row in found] == pytest.approx(adjusted)
    assert {row["family"] for row in found} == {3}


def _both(rates):
    answered, readings = make_cases(rates)
    return answered, [CODE], readings


def test_each_person_is_compared_with_herself_alone():
    """The first reads model a and finds the code, the second reads model b and does not: nobody read both."""
    answered = [*talk("a", "Hello.", 1), *talk("b", "Hello.", 2)]
    apart = Readings({1: {1}, 2: {2}}, {(1, "c"): {1}}, {(1, "c"): {1}})
    assert compare_models(answered, [CODE], apart)["why"] == NOTHING_READ_ALIKE

    both = Readings({1: {1, 2}, 2: {1, 2}}, {(1, "c"): {1}}, {(1, "c"): {1}})
    [row] = compare_models(answered, [CODE], both)["comparisons"]
    assert (row["readings"], row["cases"], row["first_rate"], row["second_rate"]) == (2, 1, 0.5, 0.0)


def test_repeats_are_averaged_and_an_undecided_answer_is_left_out():
    answered = [*talk("a", "Hello.", 1), *talk("a", "Hello.", 2), *talk("a", "Hello.", 3), *talk("b", "Hello.", 4)]
    [row] = compare_models(answered, [CODE], read({1, 3}, {1, 2, 4}))["comparisons"]
    assert (row["readings"], row["first_rate"], row["second_rate"]) == (1, 0.5, 0.0)
    assert (row["ci"], row["mark"], row["verdict"]) == (None, "few", None)


def test_a_code_of_turns_decides_its_answer_for_the_codes_of_its_family():
    answered = [*talk("a", "Hello.", 1), *talk("b", "Hello.", 2)]
    labels = {(1, "c"): {1}, (1, "other"): {2}}
    readings = Readings({}, labels, labels)
    assert compare_models(answered, [CODE], readings)["why"] == NOTHING_READ_ALIKE
    [row] = compare_models(answered, [CODE._replace(deciding=frozenset({"c", "other"}))], readings)["comparisons"]
    assert row["difference"] == 1.0


def test_a_code_of_interviews_is_compared_where_all_that_was_asked_is_the_same():
    answered = [
        *talk("a", "Hello.", 1, "Why?", 2),
        *talk("b", "Hello.", 3, "Why?", 4),
        *talk("b", "Hello.", 5, "How?", 6),
    ]
    whole = CODE._replace(is_whole=True)
    [row] = compare_models(answered, [whole], read({1, 5}, range(7)))["comparisons"]
    assert (row["readings"], row["first_rate"], row["second_rate"]) == (1, 1.0, 0.0)


@pytest.mark.parametrize(
    ("answered", "why"),
    [
        ([], ONE_MODEL),
        (talk("a", "Hello.", 1), ONE_MODEL),
        ([*talk("a", "Hello.", 1), *talk("b", "Bye.", 2)], NOTHING_ASKED_ALIKE),
        ([*talk("a", "Hello.", 1), *talk("b", "Hello.", 9)], NOTHING_READ_ALIKE),
    ],
)
def test_why_nothing_can_be_compared_is_a_sentence(answered, why):
    found = compare_models(answered, [CODE], read({1}, {1, 2}))
    assert (found["comparisons"], found["why"]) == ([], why)
    assert draw_models([], found["why"]).is_empty


def test_two_of_three_models_without_a_common_question_are_named_and_a_code_that_neither_has_is_not_tested():
    answered = [*talk("a", "Hello.", 1), *talk("b", "Hello.", 2, "Why?", 3), *talk("c", "Bye.", 4)]
    unused = Row(Heading("d", "Code d", frozenset({"d"})))
    found = compare_models(answered, [CODE, unused], read({1}, range(9)))
    assert [(row["row"], row["p"], row["family"]) for row in found["comparisons"]] == [("c", None, 0)]
    assert found["unused"] == 1
    assert found["apart"] == [
        "a and c have no decided answers to a common question and are not compared.",
        "b and c have no decided answers to a common question and are not compared.",
    ]


def test_two_that_are_compared_by_one_code_are_not_called_apart_for_another():
    answered = [
        *talk("a", "Hello.", 1, "Why?", 2),
        *talk("b", "Hello.", 3, "How?", 4),
    ]
    whole = Row(Heading("d", "Code d", frozenset({"c"})), is_whole=True)
    found = compare_models(answered, [CODE, whole], read({1}, range(5)))
    assert [row["row"] for row in found["comparisons"]] == ["c"]
    assert found["apart"] == []


def test_codes_of_interviews_say_that_no_two_whole_interviews_were_asked_alike():
    answered = [*talk("a", "Hello.", 1, "Why?", 2), *talk("b", "Hello.", 3, "How?", 4)]
    found = compare_models(answered, [CODE._replace(is_whole=True)], read({1}, range(5)))
    assert found["why"] == NOTHING_ASKED_ALIKE


def test_an_answer_without_sentences_is_decided_by_nobody():
    silent = list(read_answers("b", (), [Said("Hello."), Said(None, ())]))
    found = compare_models([*talk("a", "Hello.", 1), *silent], [CODE], read({1}, {1}))
    assert (found["comparisons"], found["why"]) == ([], NOTHING_READ_ALIKE)


def bring_in(study, by, models):
    """An interview with a model of each label: eleven cases of two models, each begun in its own words."""
    lines = [
        json.dumps(
            {
                "id": f"{model}{case}",
                "title": f"Talk {model}{case}",
                "model": label,
                "turns": [
                    {"role": "interviewer", "text": f"Case {case}: what matters here?"},
                    {"role": "model", "text": "It depends. I would weigh both sides."},
                ],
            }
        )
        for model, label in models.items()
        for case in range(11)
    ]
    import_file(study=study, name="cases.jsonl", data="\n".join(lines).encode(), by=by)
    return list(study.interviews.filter(external_id__regex=r"^[ab]\d+$").order_by("pk"))


def code_all(interviews, by, models):
    """Every answer is decided; those of ``models`` have a code on their first sentence."""
    for interview in interviews:
        first, *others = answers(interview)
        if interview.model_label in models:
            put_on(first, BALANCE, by)
        for sentence in (first, *others):
            decide(sentence, by)


def show(viewer, family, **asked):
    return compare(choose_viewpoint(viewer, **({"blinding": "blind"} | asked)), family)


@pytest.mark.django_db
class TestOfAStudy:
    @pytest.fixture(autouse=True)
    def interviews(self, study, lead, coder):
        found = bring_in(study, lead, {"a": "model a", "b": "model b"})
        code_all(found, coder, "model a")
        return found

    def test_who_reads_all_codings_sees_the_models_compared_by_codes_and_themes(self, study, owner, reader):
        viewer = Viewer(study, reader, READER)
        make_theme(study, owner)
        assert (THEMES, "Themes of the study") in list_families(choose_viewpoint(viewer))
        code = find_code(study, BALANCE)
        for family, name in ((code.family.identifier, code.name), (THEMES, "Weighing")):
            [row] = show(viewer, family)["comparisons"]
            assert (row["name"], row["cases"], row["difference"]) == (name, 11, 1.0)
            assert (row["first"], row["second"]) == ("model a", "model b")
            assert (row["ci"], row["mark"], row["verdict"]) == (None, "rough", "higher")

    def test_a_blind_coder_compares_her_own_readings_and_others_see_nothing_of_them(
        self, study, coder, second_coder, lead
    ):
        family = find_code(study, BALANCE).family.identifier
        own = show(Viewer(study, coder, CODER), family, coder="all")
        assert (own["coder"], len(own["comparisons"])) == ("me", 1)
        assert show(Viewer(study, second_coder, CODER), family, coder="coder")["why"] == NOTHING_READ_ALIKE
        closed = show(Viewer(study, lead, LEAD), family, coder="all")
        assert (closed["comparisons"], closed["why"]) == ([], ONE_MODEL)
        open_all(study, lead)
        assert len(show(Viewer(study, lead, LEAD), family, coder="all")["comparisons"]) == 1

    def test_a_move_counts_where_it_is_enacted(self, study, coder, interviews):
        move = find_code(study, "move.refuse")
        by_model = {}
        for interview in interviews:
            by_model.setdefault(interview.model_label, []).append(interview)
        for interview in by_model["model a"]:
            put(answers(interview)[0], move, coder, enactment="described")
        for interview in by_model["model b"][:4]:
            put(answers(interview)[0], move, coder, enactment="enacted")
        [row] = show(Viewer(study, coder, CODER), move.family.identifier)["comparisons"]
        assert (row["row"], row["first_rate"], row["second_rate"]) == ("move.refuse", 0.0, pytest.approx(4 / 11))

    def test_page_file_and_command_have_the_same_rows(self, study, owner, coder, client, capsys):
        family = find_code(study, BALANCE).family.identifier
        open_all(study, owner)
        client.force_login(owner)
        address = reverse("themes:compared", args=[study.slug])
        asked = {"family": family, "coder": "all"}
        page = client.get(address, asked).content.decode()
        assert "model a minus model b" in page
        assert "Balance, 11 cases, rough" in page
        assert "model a higher" in page
        assert "Rough: fewer than 20 cases." in page

        sent = client.post(reverse("themes:compared_file", args=[study.slug]), asked | {"format": "csv"})
        [head, line] = sent.content.decode().splitlines()
        assert head.startswith("row,name,first,second,readings,cases,mark,left_out,first_rate")
        assert line.startswith(f"{BALANCE},")
        assert AuditEvent.objects.filter(action="models.compared").count() == 1
        paper = client.post(reverse("themes:compared_file", args=[study.slug]), asked | {"format": "tex"}).content
        for said in ("Codings of all,{} blind.", "adjusted (Holm)", "Rough: fewer than 20 cases."):
            assert said in paper.decode(), "the caption says with what a figure is to be read"

        call_command("study", "compare", "--study", study.slug, "--family", family, "--json")
        found = json.loads(capsys.readouterr().out)
        [row] = found["comparisons"]
        assert (row["row"], row["cases"], row["p_holm"]) == (BALANCE, 11, pytest.approx(2 / 2**11))
        for wrong in (["--family", "nothing"], ["--coder", "nobody"]):
            with pytest.raises(CommandError):
                call_command("study", "compare", "--study", study.slug, *wrong)

    def test_what_is_not_there_is_passed_over_on_the_page(self, study, owner, client):
        client.force_login(owner)
        address = reverse("themes:compared", args=[study.slug])
        for asked in ({"family": "x"}, {"coder": "x"}, {"blinding": "x"}, {"model": "x", "other": "model a"}):
            assert client.get(address, asked).status_code == 200


@pytest.mark.django_db
def test_interviews_without_a_common_question_are_told_why_they_are_not_compared(study, interview, owner, client):
    client.force_login(owner)
    page = client.get(reverse("themes:compared", args=[study.slug])).content.decode()
    assert ONE_MODEL in page
