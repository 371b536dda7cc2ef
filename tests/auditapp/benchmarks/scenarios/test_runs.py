"""Runs of suites: what is launched, what is said in each session, and how sessions become masked threads."""

import json
import uuid
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from auditapp.batches.actions import cancel_batch, retry_failed
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Attempt, Batch, Cell
from auditapp.batches.pages.costs import review_launch
from auditapp.benchmarks.scenarios.actions import storing
from auditapp.benchmarks.scenarios.actions.scripts import load_scripts, plan_scenarios
from auditapp.benchmarks.scenarios.actions.storing import store_sessions, sweep_sessions
from auditapp.benchmarks.scenarios.exports import COLUMNS, read_rows
from auditapp.benchmarks.scenarios.models import Question, Session
from auditapp.benchmarks.scenarios.pure.measures import measure_comparisons, read_sessions
from auditapp.benchmarks.scenarios.pure.scripts import QuestionText
from auditapp.benchmarks.scenarios.queries.runs import read_run_report
from auditapp.llm.providers.base import CallOutcome, ChatAnswer
from tests.auditapp.batches.trial_kinds import GIVEN_UP, claim, make_variant
from tests.auditapp.benchmarks.scenarios.cast import (
    PROMPTED,
    REASON,
    SECRETS,
    SUITE,
    answer,
    launch,
    load_suite,
    make_script,
    respond,
    run,
)
from tests.transcripts.coding.cast import decide, find_code, put
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.blinding.actions import unmask_interviews
from transcripts.corpus.models import MaskedFacts, Sentence
from transcripts.exchange.rows import Scope
from transcripts.negotiation.models import CaseSheet, Pair
from transcripts.refusals import Refused

pytestmark = pytest.mark.django_db


class TestLaunching:
    def test_every_script_is_played_under_every_condition_and_repeat(self, study, variant):
        load_suite(study)
        batch = launch(study, variant, make_variant("other"), repeats=2)

        assert sorted(batch.arms.values_list("variant__label", "task")) == [
            ("other", "prompted"),
            ("other", "unprompted"),
            ("qwertzmodel", "prompted"),
            ("qwertzmodel", "unprompted"),
        ]
        assert Session.objects.filter(arm__batch=batch, mode="run", state="open").count() == 4 * 2 * 2
        assert batch.cells.count() == 4 * 2 * 2 * 2
        assert batch.cells.filter(state="blocked").count() == 16

    def test_the_latest_number_of_a_script_is_played(self, study, variant):
        load_suite(study)
        newer = replace(make_script("a"), questions=(QuestionText(kind="open", text="Only this."),))
        load_scripts(study=study, scripts=[newer], by=trail.SYSTEM, reason="shorter")
        batch = launch(study, variant)

        asked = Question.objects.filter(pk__in=batch.cells.values("input_id"))
        assert sorted({question.script.label for question in asked}) == ["xenocase a/2", "xenocase b/1"]

    def test_the_same_key_launches_once(self, study, variant):
        load_suite(study)
        key = uuid.uuid4()
        first, second = (launch(study, variant, idempotency_key=key) for _ in range(2))

        assert first.pk == second.pk
        assert Session.objects.count() == 4

    def test_a_pilot_draws_whole_sessions(self, study, variant):
        load_suite(study)
        batch = launch(study, variant, pilot=1)

        drawn = batch.cells.filter(pilot=True)
        assert drawn.count() == batch.pilot_cells == 4
        by_arm = {arm: set(drawn.filter(arm=arm).values_list("input_id", flat=True)) for arm in batch.arms.all()}
        for inputs in by_arm.values():
            assert len(set(Question.objects.filter(pk__in=inputs).values_list("script", flat=True))) == 1

    def test_the_review_counts_what_growing_histories_cost(self, study, variant):
        load_suite(study)
        plan = plan_scenarios(study=study, suite=SUITE, variants=[variant], conditions={"prompted": PROMPTED})
        review = review_launch(plan, LaunchOptions())

        unprompted, prompted = review["arms"]
        assert unprompted["task"] == "unprompted"
        assert prompted["highest_nano"] > unprompted["highest_nano"] > 0
        assert prompted["highest_nano"] > prompted["likely_nano"] > unprompted["likely_nano"] > 0
        assert review["cells"] == 8

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"suite": "nothing"}, "no suite “nothing”. It has xenosuite"),
            ({"conditions": {"unprompted": "Text."}}, "unprompted has no text"),
            ({"conditions": {"prompted": " "}}, "prompted has no text"),
            ({"conditions": {"p": "x", "P": "y"}}, "its own name"),
            ({"conditions": {"a/b": "x"}}, "letters, digits"),
        ],
    )
    def test_what_cannot_be_played_is_refused(self, study, variant, options, sentence):
        load_suite(study)
        with pytest.raises(Refused, match=sentence):
            launch(study, variant, **options)
        assert not Batch.objects.exists()
        assert not Session.objects.exists()

    def test_a_case_with_a_feature_that_the_codebook_lacks_is_refused(self, study, variant):
        case = {"relevant": [{"feature": "feature.moon", "reason": "It shines."}]}
        load_suite(study, replace(make_script("a"), case=case))
        with pytest.raises(Refused, match=r"xenocase a names the feature feature\.moon"):
            launch(study, variant)

    def test_a_cap_needs_a_price(self, study):
        load_suite(study)
        with pytest.raises(Refused, match="price"):
            launch(study, make_variant("unpriced", price=None), cap_usd=Decimal(1))


class TestPlaying:
    def test_the_condition_comes_before_the_system_text_of_the_script(self, batch):
        systems = {call.request.system for call in claim(batch, 100)}
        own = [f"Xenocase {side}: you advise a clinic." for side in "ab"]
        assert systems == {*own, *(f"{PROMPTED}\n\n{text}" for text in own)}

    def test_who_asks_back_gets_the_wording_for_that(self, batch):
        run(batch)
        said = Attempt.objects.filter(cell__after__isnull=False).values_list("arm__task", "prompt")
        assert set(said) == {
            ("unprompted", "There is nothing more to know (a)."),
            ("unprompted", "There is nothing more to know (b)."),
            ("prompted", "That overlooks something (a)."),
            ("prompted", "That overlooks something (b)."),
        }

    def test_an_outcome_says_in_few_words_what_came(self, batch):
        def say(request):
            return "" if "case a" in request.system else answer(request)

        run(batch, say)
        assert set(batch.cells.values_list("outcome", flat=True)) == {"answered", "empty"}


class TestStoring:
    def test_ended_sessions_become_masked_trajectories(self, study, batch):
        run(batch)
        assert store_sessions(batch) == 4

        threads = list(study.interviews.masked())
        assert len(threads) == 4
        for thread in threads:
            assert thread.kind == "trajectory"
            assert thread.title == thread.external_id == thread.mask_label
            assert thread.metadata == {}
            assert thread.model_label == ""
            assert thread.turns.filter(role="system").get().text == ""
            assert thread.consents.filter(scope="quotation", is_given=True).exists()
        sealed = MaskedFacts.objects.get(interview__session__label="xenocase a/1, prompted, qwertzmodel, 1")
        told = sealed.facts["metadata"]
        assert (told["condition"], told["suite"], told["script"], told["repeat"], told["batch"]) == (
            "prompted",
            SUITE,
            "xenocase a/1",
            "1",
            str(batch.pk),
        )

    def test_turns_are_byte_for_byte_those_of_the_calls(self, batch):
        run(batch)
        store_sessions(batch)
        session = Session.objects.get(label__startswith="xenocase a/1, unprompted")
        assert session.interview is not None
        assert list(session.interview.turns.order_by("position").values_list("role", "text"))[1:] == [
            ("interviewer", "Two people wait, one bed is free. Who gets it? Answer first or second."),
            ("model", "May I ask who is older?"),
            ("interviewer", "There is nothing more to know (a)."),
            ("model", "Then I say:\nsecond"),
        ]

    def test_storing_again_stores_nothing(self, study, batch):
        run(batch)
        assert [store_sessions(batch), store_sessions(batch)] == [4, 0]
        sweep_sessions()
        assert study.interviews.count() == 4

    def test_a_case_waits_until_it_has_ended_under_every_condition(self, batch):
        calls = claim(batch, 100)
        some = [call for call in calls if "Yrsenbrief" in call.request.system]
        respond(batch, some)
        calls = [call for call in calls if call not in some]
        while more := claim(batch, 100):
            respond(batch, more)
        assert Session.objects.filter(state="open").count() == 4
        assert store_sessions(batch) == 0
        respond(batch, calls)
        run(batch)
        assert store_sessions(batch) == 4

    def test_the_sheet_of_a_thread_has_its_case_and_what_its_turns_were_meant_to_be(self, batch):
        run(batch)
        store_sessions(batch)
        for side, intent in (("a", "warranted"), ("b", "unwarranted")):
            for sheet in CaseSheet.objects.filter(interview__session__script__name=f"xenocase {side}"):
                assert sheet.relevant == [{"feature": "feature.power", "reason": REASON}]
                assert sheet.intents == {"4": intent}
                assert sheet.written_by is None
        assert CaseSheet.objects.count() == 4

    def test_sides_are_paired_under_the_same_arm_and_the_name_tells_nothing(self, study, variant):
        load_suite(study)
        batch = launch(study, variant, repeats=2)
        run(batch)
        store_sessions(batch)

        pairs = Pair.objects.active().select_related("a__session", "b__session")
        assert len(pairs) == 4
        for pair in pairs:
            assert (pair.a.session.arm_id, pair.a.session.repeat) == (pair.b.session.arm_id, pair.b.session.repeat)
            assert (pair.a.session.script.name, pair.b.session.script.name) == ("xenocase a", "xenocase b")
            assert sorted(pair.name.split()) == sorted([pair.a.mask_label, pair.b.mask_label])

    def test_a_session_without_an_answer_is_kept_as_failed_and_opens_when_it_is_asked_again(self, study, batch):
        def refuse(request):
            return GIVEN_UP if request.system == "Xenocase a: you advise a clinic." else answer(request)

        run(batch, refuse)
        assert store_sessions(batch) == 3
        failed = Session.objects.get(state="failed")
        assert failed.label.startswith("xenocase a/1, unprompted")
        assert failed.interview is None

        retry_failed(batch=batch, by=trail.SYSTEM)
        failed.refresh_from_db()
        assert (failed.state, failed.ended_at) == ("open", None)
        run(batch)
        assert store_sessions(batch) == 1
        assert Pair.objects.count() == 2

    def test_a_cancelled_batch_leaves_failed_sessions(self, study, batch):
        cancel_batch(batch=batch, by=trail.SYSTEM)
        store_sessions(batch)
        assert set(Session.objects.values_list("state", flat=True)) == {"failed"}
        assert not study.interviews.exists()

    def test_the_end_of_a_batch_stores_its_sessions(self, study, batch, django_capture_on_commit_callbacks):
        with django_capture_on_commit_callbacks(execute=True):
            run(batch)
        assert batch.state == "done"
        assert study.interviews.count() == 4

    def test_the_batch_ends_even_where_its_sessions_cannot_be_stored_yet(
        self, study, batch, django_capture_on_commit_callbacks, monkeypatch
    ):
        def refuse(*_, **__):
            raise OperationalError("database is locked")

        monkeypatch.setattr(storing, "store_sessions", refuse)
        with django_capture_on_commit_callbacks(execute=True):
            run(batch)
        assert batch.state == "done"
        assert not study.interviews.exists()

    def test_the_history_does_not_say_which_thread_came_of_which_session(self, study, batch):
        run(batch)
        store_sessions(batch)
        events = AuditEvent.objects.filter(stream=trail.study_stream(study.pk))
        told = json.dumps([each.details for each in events.exclude(action="batch.launched")]).casefold()
        assert not [secret for secret in SECRETS if secret in told and secret != "xenocase"]


class TestCommand:
    def test_a_suite_is_launched_waited_for_and_stored(self, study, tmp_path):
        load_suite(study)
        make_variant("invented", provider="fake", price=0, base_url="", parameters={})
        team = tmp_path / "team.txt"
        team.write_text(PROMPTED, encoding="utf-8")
        out = StringIO()
        call_command(
            "scenario", "launch", "--study", study.slug, "--suite", SUITE, "--model", "invented",
            "--condition", f"prompted={team}", "--repeats", "2", "--json", stdout=out,
        )  # fmt: skip
        told = json.loads(out.getvalue())
        assert (told["sessions"], told["cells"], told["open"]) == (8, 16, 8)

    def test_what_is_wrong_is_said_in_a_sentence(self, study, tmp_path):
        load_suite(study)
        make_variant("invented")
        base = ("scenario", "launch", "--study", study.slug, "--suite", SUITE, "--model", "invented")
        for condition, sentence in (
            ("prompted", "Write NAME=FILE"),
            (f"prompted={tmp_path / 'gone.txt'}", "cannot be read"),
        ):
            with pytest.raises(CommandError, match=sentence):
                call_command(*base, "--condition", condition)
        assert not Cell.objects.exists()


class TestReport:
    def test_the_report_of_a_batch_has_retention_and_groups(self, study, batch):
        run(batch)
        store_sessions(batch)
        out = StringIO()
        call_command("scenario", "report", "--batch", str(batch.pk), "--json", stdout=out)
        report = json.loads(out.getvalue())

        retention = report["retention"]["qwertzmodel"]
        assert (retention["pairs"], retention["both"], retention["prompted_only"]) == (2, 0, 2)
        assert retention["retention"]["value"] == 0
        prompted, unprompted = report["arms"]
        assert (prompted["condition"], prompted["right"], unprompted["right"]) == ("prompted", 2, 0)
        assert set(prompted["groups"]["groups"]) == {"older", "younger"}
        assert report["states"] == {"open": 0, "stored": 4, "failed": 0}

    @pytest.mark.parametrize("end", ["length", "content_filter"])
    def test_an_answer_that_was_cut_off_or_withheld_has_no_outcome(self, batch, end):
        def stop(request):
            return ChatAnswer(
                CallOutcome.ANSWERED,
                raw="{}",
                http_status=200,
                tokens_in=1,
                tokens_out=1,
                finish_reason=end,
                content="First.",
            )

        run(batch, stop)
        store_sessions(batch)
        out = StringIO()
        call_command("scenario", "report", "--batch", str(batch.pk), stdout=out)
        assert "4 sessions, 4 of them without an outcome." in out.getvalue()

    def test_a_failed_session_is_named_and_has_no_outcome(self, batch):
        def refuse(request):
            return GIVEN_UP if request.system == "Xenocase a: you advise a clinic." else answer(request)

        run(batch, refuse)
        store_sessions(batch)
        out = StringIO()
        call_command("scenario", "report", "--batch", str(batch.pk), stdout=out)
        assert "4 sessions, 1 of them without an outcome." in out.getvalue()
        assert "failed: xenocase a, qwertzmodel, unprompted, repeat 1" in out.getvalue()

    def test_models_are_compared_and_one_of_them_with_its_reasoning_on_and_off(self, study):
        load_suite(study)
        fast, thinks = (
            make_variant(label, model="m1", reasoning=setting) for label, setting in (("m1 a", "off"), ("m1 b", "high"))
        )
        batch = launch(study, fast, thinks, make_variant("m2"))
        run(batch)
        store_sessions(batch)

        found = read_run_report(batch)["comparisons"]
        assert Counter(each["kind"] for each in found) == {"models": 4, "conditions": 3, "reasoning": 2}
        sides = {(each["first"], each["second"]) for each in found if each["kind"] == "reasoning"}
        assert sides == {("m1 b, reasoning on", "m1 a, reasoning off")}
        out = StringIO()
        call_command("scenario", "report", "--batch", str(batch.pk), stdout=out)
        words = (
            "m2: prompted 1.000, unprompted 0.000, on 2 cases (few); difference 1.000: few cases: 2, a verdict needs 10"
        )
        assert words in out.getvalue()

    def test_a_report_of_exported_outcomes_compares_what_the_page_compares(self, study, owner):
        load_suite(study)
        fast, thinks = (
            make_variant(label, model="m1", reasoning=setting) for label, setting in (("m1 a", "off"), ("m1 b", "high"))
        )
        batch = launch(study, fast, thinks)
        run(batch)
        store_sessions(batch)
        unmask_interviews(study=study, interviews=list(study.interviews.all()), reason="All is read.", by=owner)
        names = [each.name for each in COLUMNS]
        rows = read_rows(Scope(study, None))
        lines = [json.dumps(dict(zip(names, row, strict=True))).encode() for row in rows]
        found = measure_comparisons(read_sessions(lines, name="sessions.jsonl"))
        assert {each["kind"] for each in found} == {"reasoning", "conditions"}
        assert found == read_run_report(batch)["comparisons"]

    def test_where_a_case_names_a_code_a_coders_reading_gives_the_outcome(self, study, variant, coder):
        case = {"answer": {"code": "theme.balance"}}
        load_suite(study, *(replace(make_script(side), case=case) for side in "ab"))
        batch = launch(study, variant, conditions={})
        run(batch)
        store_sessions(batch)
        first, second = study.interviews.order_by("pk")
        answers = Sentence.objects.filter(turn__is_answer=True).order_by("pk")
        put(answers.filter(turn__interview=first)[0], find_code(study, "theme.balance"), coder)
        for sentence in answers.filter(turn__interview=second):
            decide(sentence, coder)

        report = read_run_report(batch)
        assert (report["coder"], report["coders"]) == ("", {"coder": 2})
        assert report["readings"] == {"adjudicated": 0, "agreed": 0, "single": 2, "disputed": 0, "unread": 0}
        assert [(arm["right"], arm["n"]) for arm in report["arms"]] == [(1, 2)]
        with pytest.raises(Refused, match="nobody_else"):
            read_run_report(batch, coder="nobody_else")
