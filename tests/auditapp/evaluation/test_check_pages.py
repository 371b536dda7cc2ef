"""The pages of checks: figures for whoever sees all codings, single sentences only after opening the interview."""

from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from auditapp.annotators.actions.annotators import add_control_sentence, ensure_annotator
from auditapp.annotators.actions.launching import launch_preannotation
from auditapp.annotators.models import TurnArm
from auditapp.annotators.pure.checking import build_reask_report
from auditapp.annotators.queries.turn_answers import count_rates
from auditapp.annotators.withholding import set_withholding
from auditapp.batches.models import Batch
from auditapp.evaluation.actions import launch_check
from auditapp.evaluation.forms import CheckForm
from auditapp.evaluation.queries.check_answers import read_reask
from auditapp.llm.actions import add_model
from tests.auditapp.evaluation.cast import answer_all, bring_in_one
from tests.support.databases import stored
from tests.support.obedient_model import load_payloads
from tests.transcripts.blinding.cast import unblind_on
from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.models import Unblinding

MANY_TURNS = 25


@stored
def marked(study, owner):
    set_withholding(study=study, share_percent=0, reason="x", by=owner)
    return bring_in_one(study, owner, turns=4)


@stored
def annotator(study, owner):
    variant = add_model(label="reader", provider="fake", by=owner)
    return ensure_annotator(study=study, variant=variant, by=owner)


@stored
def check(study, marked, annotator, owner):
    """A check of a model that reads names."""
    batch = launch_check(study=study, annotator=annotator, by=owner, sample=20, families=["themes"])
    answer_all(batch, "name")
    return batch


def get(client, name, batch, **asked):
    answer = client.get(reverse(f"evaluation:{name}", args=[batch.study.slug, batch.pk]), asked)
    return answer.status_code, answer.content.decode()


class TestFigures:
    def test_the_page_of_an_annotator_says_in_plain_words_what_passed(self, check, annotator, reader, client_of):
        path = reverse("evaluation:checks", args=[check.study.slug, annotator.pk])
        page = client_of(reader).get(path).content.decode()
        assert "needs review" in page
        assert "passed" in page
        assert "0 of 16 answers follow the definition, 16 the name" in page
        assert "at least 80 %" in page
        assert "launch/" not in page

    def test_every_figure_has_its_denominator_and_leads_to_its_answers(self, check, lead, client_of):
        status, page = get(client_of(lead), "check", check)
        assert status == 200
        assert "16 of 16" in page
        for figure in ("legal", "answered", "order", "generic", "swapped", "stability", "rates"):
            assert f"answers/?figure={figure}" in page

    def test_the_page_shows_no_sentence(self, check, lead, client_of):
        assert "speaks of" not in get(client_of(lead), "check", check)[1]

    def test_before_the_first_answer_it_says_so(self, study, marked, annotator, lead, client_of):
        batch = launch_check(study=study, annotator=annotator, by=lead, families=["themes"])
        assert "There are no answers yet." in get(client_of(lead), "check", batch)[1]

    def test_a_batch_of_another_kind_or_study_is_no_check(self, check, lead, outsider, client_of):
        assert get(client_of(outsider), "check", check)[0] == 404
        Batch.objects.filter(pk=check.pk).update(kind="sob")
        assert get(client_of(lead), "check", check)[0] == 404


class TestAnswers:
    ASKED = {"figure": "swapped", "code": "theme.balance", "scope": "put"}

    def test_who_codes_has_to_open_the_interview_first(self, check, lead, client_of):
        status, page = get(client_of(lead), "check_answers", check, **self.ASKED)
        assert status == 200
        assert "Others’ labels in 1 interview are hidden from you" in page
        assert "/attempts/" not in page
        assert "speaks of" not in page

    def test_opening_is_on_record_and_shows_the_sentences_with_their_calls(self, check, lead, client_of):
        client = client_of(lead)
        path = reverse("evaluation:check_answers", args=[check.study.slug, check.pk])
        where = f"{path}?{urlencode(self.ASKED)}"
        assert unblind_on(client, where)["Location"] == where
        assert Unblinding.objects.get(user=lead).where == "checks"
        page = get(client, "check_answers", check, **self.ASKED)[1]
        assert page.count("definitions swapped") == 4 * 2
        assert '<p class="words" dir="auto">' in page
        assert "/attempts/" in page
        events = AuditEvent.objects.filter(action="coding.opened")
        assert "speaks" not in str([event.details for event in events])

    def test_without_the_word_nothing_is_opened(self, check, lead, client_of):
        path = reverse("evaluation:check_answers", args=[check.study.slug, check.pk])
        answer = unblind_on(client_of(lead), f"{path}?{urlencode(self.ASKED)}", confirmed=False)
        assert answer.status_code == 422
        assert "Tick the box" in answer.content.decode()
        assert not Unblinding.objects.exists()

    def test_who_does_not_code_sees_them_at_once(self, check, reader, client_of):
        page = get(client_of(reader), "check_answers", check, **self.ASKED)[1]
        assert "hidden from you" not in page
        assert "/attempts/" in page

    def test_turns_that_never_show_suggestions_are_listed_to_nobody(self, check, reader, client_of):
        TurnArm.objects.update(arm="withheld")
        page = get(client_of(reader), "check_answers", check, **self.ASKED)[1]
        assert "/attempts/" not in page
        assert "withheld turn" in page

    @pytest.mark.parametrize(
        ("figure", "words"),
        [
            ("order", "codes in reverse"),
            ("generic", "numbers for names"),
            ("stability", "as it is, 3"),
            ("rates", "as it is, 1"),
        ],
    )
    def test_each_figure_of_a_code_lists_what_was_asked(self, check, reader, client_of, figure, words):
        page = get(client_of(reader), "check_answers", check, figure=figure, code="theme.balance", scope="put")[1]
        assert words in page

    def test_before_the_first_answer_there_is_nothing_behind_a_figure(
        self, study, marked, annotator, reader, client_of
    ):
        batch = launch_check(study=study, annotator=annotator, by=reader, sample=5, families=["themes"])
        for figure in ("stability", "swapped", "order", "rates", "legal"):
            status, page = get(client_of(reader), "check_answers", batch, figure=figure)
            assert (status, "Nothing to list." in page) == (200, True)

    def test_what_was_not_applied_is_shown_by_answer(self, study, marked, annotator, reader, client_of):
        batch = launch_check(study=study, annotator=annotator, by=reader, sample=5, families=["themes"])
        answer_all(batch, "own label")
        page = get(client_of(reader), "check_answers", batch, figure="legal")[1]
        assert page.count("theme.of_my_own") == 5 * 6

    def test_a_page_costs_as_many_queries_whatever_is_behind_the_figure(
        self, check, reader, client_of, django_assert_max_num_queries
    ):
        client = client_of(reader)
        with CaptureQueriesContext(connection) as few:
            get(client, "check_answers", check, figure="order", code="theme.balance", scope="put")
        with CaptureQueriesContext(connection) as many:
            get(client, "check_answers", check, figure="order", code="theme.balance", scope="all")
        assert len(many) <= len(few) <= 20
        with django_assert_max_num_queries(15):
            get(client, "check", check)

    @pytest.mark.parametrize("asked", [{"figure": "horoscope"}, {"figure": "order", "code": "theme.astrology"}])
    def test_what_is_no_figure_or_no_code_is_not_found(self, check, reader, client_of, asked):
        assert get(client_of(reader), "check_answers", check, **asked)[0] == 404


class TestLaunch:
    TYPED = {
        "sample": 10,
        "again": 2,
        "families": ["themes"],
        "concurrency": 5,
        "pilot": 0,
        "lost_answers": "retry",
    }

    def test_the_review_writes_nothing_and_the_launch_makes_the_batch(self, study, marked, annotator, lead, client_of):
        client, path = client_of(lead), reverse("evaluation:launch_check", args=[study.slug, annotator.pk])
        assert client.get(path).status_code == 200
        page = client.post(path, self.TYPED).content.decode()
        assert "5 questions" in page
        assert "2 with 10 sentences" in page
        assert not Batch.objects.exists()
        answer = client.post(path, self.TYPED | {"step": "launch"})
        batch = Batch.objects.get()
        assert answer.status_code == 302
        assert (batch.kind, batch.cells.count()) == ("preannotation_check", 2 * 5)

    def test_wrong_input_is_the_form_again(self, study, marked, annotator, lead, client_of):
        path = reverse("evaluation:launch_check", args=[study.slug, annotator.pk])
        answer = client_of(lead).post(path, self.TYPED | {"again": 1})
        assert answer.status_code == 422
        assert not Batch.objects.exists()


class TestAskedAgain:
    @pytest.fixture
    def many(self, study, owner):
        set_withholding(study=study, share_percent=0, reason="x", by=owner)
        add_control_sentence(study=study, text="Control words speak of both.", codes=["theme.balance"], by=owner)
        add_control_sentence(study=study, text="Control words of no weight.", codes=[], by=owner)
        add_control_sentence(study=study, text="Of another family.", codes=["move.elicit"], by=owner)
        return bring_in_one(study, owner, turns=MANY_TURNS)

    def read(self, study, annotator, owner, part):
        batch = launch_preannotation(study=study, annotator=annotator, families=["themes"], by=owner)
        answer_all(batch, part)
        return batch

    def test_a_steady_reader_shows_no_drop(self, study, many, annotator, owner):
        report = build_reask_report(*read_reask(self.read(study, annotator, owner, "definition"))[:3])
        assert (report["turns"], report["drop"].part, report["drop"].n) == (1, 0, 5)
        assert (report["control_drop"].part, report["control_drop"].n) == (0, 2)

    def test_who_hangs_on_the_order_shows_it_as_a_drop(self, study, many, annotator, owner, reader, client_of):
        batch = self.read(study, annotator, owner, "first")
        report = build_reask_report(*read_reask(batch)[:3])
        told = {arm.settings["condition"]: arm.settings["codes"][0] for arm in batch.arms.all()}
        # The order it is told in is drawn, and so it may begin with the one code that a control sentence does carry.
        assert (report["control_drop"].part, report["control_drop"].n) == (
            1 if told["reask"] == "theme.balance" else 2,
            2,
        )
        assert report["drop"].part == (0 if told[""] == told["reask"] else 5)
        page = get(client_of(reader), "check", batch)[1]
        assert "Control sentences without exactly their known codes" in page
        assert "more than 90 %" in page
        controls = get(client_of(reader), "check_answers", batch, figure="controls")[1]
        assert "Control words speak of both." in controls
        assert "Of another family." not in controls
        assert "Labelled correctly 0 of 1 time" in controls
        assert get(client_of(reader), "check_answers", batch, figure="same", scope="all")[1].count('class="words"') == 5

    def test_who_obeys_the_text_both_times_shows_it_on_the_control_sentences(self, study, many, annotator, owner):
        payload = load_payloads()[0]
        told = bring_in_one(study, owner, turns=MANY_TURNS, name="told", last=payload.text)
        batch = launch_preannotation(study=study, annotator=annotator, families=["themes"], interviews=[told], by=owner)
        answer_all(batch, "obeying")
        report = build_reask_report(*read_reask(batch)[:3])
        assert report["same"].part == report["same"].n == report["flagged"].n > 0
        assert (report["control_drop"].part, report["control_drop"].n) == (2, 2)
        assert (report["missed"].part, report["false"].value) == (1, 1.0)

    def test_rates_count_what_was_put_of_what_was_read(self, study, many, annotator, owner):
        rates = count_rates(self.read(study, annotator, owner, "definition"))
        assert rates["theme.balance"] == (MANY_TURNS, MANY_TURNS * 5)
        assert rates["theme.compassion"] == (0, MANY_TURNS * 5)


def test_the_form_of_a_check_never_offers_earlier_answers():
    assert "uses_cache" not in CheckForm.base_fields
