"""Pages of normative stances and scores: what they store, what they refuse, and who sees whose scores."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.transcripts.coding.cast import find_code, put
from tests.transcripts.negotiation.cast import add_challenges, list_sentences, score, write
from tests.transcripts.rounds.cast import bring_in, open_round
from transcripts.blinding.actions import unblind_interview
from transcripts.coding.models import StageOpening
from transcripts.corpus.models import Turn
from transcripts.negotiation.actions import Evidence, put_score
from transcripts.negotiation.forms import WrongNumbers, read_sentence_numbers
from transcripts.negotiation.models import NormativeStance, Score
from transcripts.refusals import Refused
from transcripts.rounds.actions import lock_round
from transcripts.studies.actions import set_member_role, set_method

pytestmark = pytest.mark.django_db


@pytest.fixture
def stance(study, lead):
    return write(study, lead)


def page_of(study, name, *more):
    return reverse(f"negotiation:{name}", args=[study.slug, *more])


def fill_in(stance, **others):
    return {
        "stance": stance.pk,
        "criterion": "moves",
        "value": "2",
        "evidence": "2-3",
        "note": "",
        "idempotency_key": "7d0d3d4e-8f5c-4f0e-9d7e-0a2b6a3f1c11",
        **others,
    }


def test_none_is_shipped_and_the_page_says_what_a_stance_says(study, lead, client_of):
    page = client_of(lead).get(page_of(study, "stances")).content.decode()
    assert "the program provides none" in page
    assert "whose interests come first" in page
    assert page_of(study, "new_stance") in page
    assert "none is written yet" in client_of(lead).get(page_of(study, "scores")).content.decode()


def test_a_lead_writes_a_stance_and_its_next_number(study, lead, client_of):
    browser = client_of(lead)
    told = {"name": "care", "statement": "Nobody is worse off.", "author": "The team"}
    assert browser.post(page_of(study, "new_stance"), told).status_code == 302
    first = NormativeStance.objects.get()
    form = page_of(study, "next_stance", first.pk)
    assert "Nobody is worse off." in browser.get(form).content.decode()
    same = browser.post(form, {**told, "based_on": 1, "reason": "None."})
    assert same.status_code == 422
    assert "says the same as care/1" in same.content.decode()
    changed = {**told, "statement": "Those who ask are better off.", "based_on": 1, "reason": "Too weak."}
    assert browser.post(form, changed).status_code == 302
    late = browser.post(form, {**changed, "statement": "Something else."})
    assert late.status_code == 409
    assert [(each.stored, each.typed) for each in late.context["clashes"]] == [
        ("Those who ask are better off.", "Something else.")
    ]
    assert "Those who ask are better off." in late.content.decode()
    page = browser.get(page_of(study, "stances")).content.decode()
    assert all(words in page for words in ("care/1", "care/2", "Nobody is worse off.", "Too weak."))
    assert NormativeStance.objects.count() == 2


def test_a_stance_without_statement_or_author_is_refused_on_the_page(study, lead, client_of):
    answer = client_of(lead).post(page_of(study, "new_stance"), {"name": "care"})
    assert answer.status_code == 422
    assert not NormativeStance.objects.exists()


def test_a_coder_scores_a_thread_without_the_desk(study, interview, stance, coder, client_of):
    browser = client_of(coder)
    thread = page_of(study, "thread_scores", interview.pk)
    page = browser.get(thread).content.decode()
    assert "Nobody is left worse off" in page
    answer = browser.post(page_of(study, "put_score", interview.pk), fill_in(stance))
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{thread}?stance={stance.pk}#moves")
    given = Score.objects.get()
    assert (given.coder, given.value) == (coder, 2)
    assert sorted(given.evidence.values_list("sentence__position", flat=True)) == [2, 3]
    shown = browser.get(thread).content.decode()
    assert 'value="2, 3"' in shown
    assert f"?at={list_sentences(interview)[1].pk}#" in shown
    assert list_sentences(interview)[1].read_text() in shown
    withdrawn = browser.post(page_of(study, "withdraw_score", interview.pk), {"score": given.idempotency_key.hex})
    assert withdrawn.status_code == 302
    assert not Score.objects.active().exists()


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"value": "4"}, "4 is not one of the available choices"),
        ({"value": ""}, "Choose one"),
        ({"evidence": ""}, "at least one sentence"),
        ({"evidence": "99"}, "no sentence 99"),
        ({"evidence": "2, x"}, "not the number of a sentence"),
        ({"value": "none"}, "why it does not apply"),
        ({"criterion": "warranted", "value": "1", "feature": "feature.task"}, "to one turn of this thread"),
        ({"criterion": "everything"}, "not one of the available choices"),
    ],
)
def test_a_wrong_score_brings_the_page_back_and_stores_nothing(
    study, interview, stance, coder, client_of, others, words
):
    answer = client_of(coder).post(page_of(study, "put_score", interview.pk), fill_in(stance, **others))
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not Score.objects.exists()


def test_words_quoted_at_the_desk_stay_quoted_when_the_page_changes_the_score(
    study, interview, stance, coder, client_of
):
    second = list_sentences(interview)[1]
    quote = (second.start, second.start + 5)
    score(stance, interview, coder, 1, evidence=[Evidence(second, quote)])
    client_of(coder).post(page_of(study, "put_score", interview.pk), fill_in(stance, value="3"))
    given = Score.objects.active().get()
    assert given.evidence.get(sentence=second).quote == quote


def test_entries_and_challenges_of_her_own_are_judged_on_the_page(
    study, interview, stance, coder, second_coder, client_of
):
    sentences = list_sentences(interview)
    put(sentences[1], find_code(study, "feature.power"), coder)
    challenged = next(each for each in sentences if each.turn.position == 3)
    put(challenged, add_challenges(study), coder)
    thread = page_of(study, "thread_scores", interview.pk)
    page = client_of(coder).get(thread).content.decode()
    assert 'id="warranted-2-power' in page
    assert 'id="updated-3"' in page
    others = client_of(second_coder).get(thread).content.decode()
    assert "warranted-2" not in others
    determined = fill_in(
        stance, criterion="updated", value="1", turn=challenged.turn_id, evidence=str(sentences[-1].position)
    )
    assert client_of(coder).post(page_of(study, "put_score", interview.pk), determined).status_code == 302
    assert Score.objects.get().criterion == "updated"


def test_numbers_of_sentences_are_read_as_people_write_them():
    assert read_sentence_numbers(" 14, 16-18 20a;14 ") == ["14", "16", "17", "18", "20a"]
    assert read_sentence_numbers("3 – 4") == ["3", "4"]
    assert read_sentence_numbers("") == []
    for wrong in ("x", "5-3", "1-99", "1.5", "-4"):
        with pytest.raises(WrongNumbers):
            read_sentence_numbers(wrong)


def sees(browser, study, interview, words):
    """Whether the page of the study and that of the thread show these words."""
    pages = (page_of(study, "scores"), page_of(study, "thread_scores", interview.pk))
    one, other = (words in browser.get(page).content.decode() for page in pages)
    return one, other


def test_a_coder_sees_nothing_of_a_colleague_before_the_lock_and_her_own_unblinding(
    study, owner, lead, coder, second_coder, client_of
):
    [talk] = bring_in(study, owner, ["m"])
    stance = write(study, lead)
    set_method(study=study, method="codebook", reason="A test.", by=owner)
    round_ = open_round(study, owner, coder, second_coder, overlap_percent=100)
    score(stance, talk, second_coder, 3, note="Plain to see.")
    browser = client_of(coder)
    assert sees(browser, study, talk, "Plain to see.") == (False, False)
    with pytest.raises(Refused):
        unblind_interview(study=study, interview=talk, by=coder, where="scores")
    lock_round(round_=round_, by=owner)
    assert sees(browser, study, talk, "Plain to see.") == (False, False)
    assert sees(browser, study, talk, "are hidden from you") == (True, True)
    unblind_interview(study=study, interview=talk, by=coder, where="scores")
    assert sees(browser, study, talk, "Plain to see.") == (True, True)
    # Where reliability is claimed, coders see nobody else's work at all.
    set_method(study=study, method="reliability", reason="A test.", by=owner)
    assert sees(browser, study, talk, "Plain to see.") == (False, False)


def test_a_lead_sees_others_scores_after_unblinding_and_a_reader_sees_all(
    study, interview, stance, lead, coder, reader, client_of
):
    score(stance, interview, coder, 3, note="Plain to see.")
    assert sees(client_of(reader), study, interview, "Plain to see.") == (True, True)
    assert sees(client_of(lead), study, interview, "Plain to see.") == (False, False)
    assert sees(client_of(lead), study, interview, "are hidden from you") == (True, True)
    unblind_interview(study=study, interview=interview, by=lead, where="scores")
    assert sees(client_of(lead), study, interview, "Plain to see.") == (True, True)


def test_who_read_scores_and_then_codes_is_no_longer_blind(study, interview, stance, owner, coder, reader):
    score(stance, interview, coder, 3)
    set_member_role(study=study, user=reader, role="coder", by=owner)
    assert score(stance, interview, reader, 1).blinding == "assisted"


def test_figures_stand_by_stance_and_a_reflexive_study_shows_no_alpha(
    study, interview, stance, owner, lead, coder, second_coder, reader, client_of
):
    other = write(study, lead, "autonomy", author="Somebody else")
    talks = [interview, *bring_in(study, owner, ["m", "m", "m"])]
    for value, talk in enumerate(talks):
        score(stance, talk, coder, value)
        score(stance, talk, second_coder, value)
    score(other, interview, coder, 1)
    set_method(study=study, method="codebook", reason="A test.", by=owner)
    page = client_of(reader).get(page_of(study, "scores"))
    [care] = [each for each in page.context["figures"] if each["stance"] == stance]
    [moves] = care["criteria"]
    assert moves["alpha"].startswith("1.00")
    assert moves["n_shared"] == 4
    assert len(page.context["figures"]) == 2
    assert "Ordinal alpha" in page.content.decode()
    set_method(study=study, method="reflexive", reason="A test.", by=owner)
    reflexive = client_of(reader).get(page_of(study, "scores"))
    assert "Ordinal alpha" not in reflexive.content.decode()
    assert all(not criterion["alpha"] for each in reflexive.context["figures"] for criterion in each["criteria"])


def test_stances_stand_everywhere_in_the_order_of_the_strip(study, interview, stance, lead, coder, client_of):
    first = write(study, lead, "autonomy", author="Somebody else")
    last = write(study, lead, "duty", author="Somebody else")
    for each in (last, stance, first):
        score(each, interview, coder, 1)
    browser = client_of(coder)
    strip = browser.get(page_of(study, "own_scores", interview.pk)).json()["stances"]
    page = browser.get(page_of(study, "scores"))
    assert [each["label"] for each in strip] == ["autonomy/1", "care/1", "duty/1"]
    assert [each.label for each in page.context["stances"]] == ["autonomy/1", "care/1", "duty/1"]
    assert [each["stance"] for each in page.context["figures"]] == [first, stance, last]


def test_figures_say_in_how_many_threads_and_why_there_is_no_interval(
    study, interview, stance, owner, coder, second_coder, client_of
):
    set_method(study=study, method="codebook", reason="A test.", by=owner)
    for criterion, value in (("features", 1), ("moves", 3)):
        score(stance, interview, coder, value, criterion)
    score(stance, interview, second_coder, 2, "moves")
    set_member_role(study=study, user=second_coder, role="reader", by=owner)
    page = client_of(second_coder).get(page_of(study, "scores")).content.decode()
    assert "3 in 1 thread" in page
    assert "×" not in page
    assert "fewer than two people scored" in page
    assert "fewer than 10 threads, too few to resample" in page
    assert "fewer than 10 turns" not in page


def test_what_a_score_needs_is_not_called_optional(study, interview, stance, coder, client_of):
    put(list_sentences(interview)[1], find_code(study, "feature.power"), coder)
    page = client_of(coder).get(page_of(study, "thread_scores", interview.pk)).content.decode()
    assert "(optional)" not in page
    for needed in ("needed with a score", "needed without a score", "needed with yes or no", "needed with unclear"):
        assert f"({needed})" in page


def test_closed_reasoning_is_not_shown_as_evidence(study, interview, stance, coder, client_of):
    second = list_sentences(interview)[1]
    score(stance, interview, coder, 1, evidence=[Evidence(second)])
    Turn.objects.filter(pk=second.turn_id).update(channel="reasoning")
    words = second.read_text()
    assert sees(client_of(coder), study, interview, words) == (False, False)
    StageOpening.objects.create(turn=second.turn, coder=coder, opened_at="2026-01-01T00:00:00Z")
    assert sees(client_of(coder), study, interview, words) == (True, True)


def test_a_study_with_many_scores_takes_as_many_queries_as_one_with_few(
    study, interview, stance, owner, coder, client_of
):
    browser = client_of(coder)
    score(stance, interview, coder, 1)

    def count():
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert browser.get(page_of(study, "scores")).status_code == 200
        return len(queries)

    count()
    few = count()
    for talk in bring_in(study, owner, ["m"] * 5):
        for criterion in ("features", "moves", "consistency", "answerability"):
            score(stance, talk, coder, 1, criterion)
    assert count() == few


def test_a_machine_has_no_way_to_give_a_score():
    """The one action that stores a score asks for a person, and no program's room knows it."""
    from pathlib import Path

    root = Path(__file__).parents[3] / "auditapp"
    naming = [
        path for path in root.rglob("*.py") if put_score.__name__ in path.read_text() and "demo" not in path.parts
    ]
    assert not [path for path in naming if "api" not in path.parts]
