import datetime
import uuid
from importlib.metadata import PackageNotFoundError

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, OperationalError
from django.dispatch import Signal

from auditapp.annotators import offline, tasks
from auditapp.annotators.actions.launching import cancel_run, launch_offline, preview_training_set
from auditapp.annotators.models import Annotator, OfflineAnswer, OfflineRun, Suggestion, TurnArm
from auditapp.annotators.offline import CannotRead, find_idle_runs, find_unread, make_reader, run_offline
from auditapp.annotators.pure import learning
from auditapp.annotators.pure.prompts import list_read_codes, list_taught
from auditapp.annotators.withholding import list_withheld_answers
from auditapp.batches.runner import recovery
from auditapp.outbound.clock import read_now
from tests.auditapp.annotators.cast import OTHER, TAUGHT, add_interviews_to_teach, code_blind, list_sentences, set_rules
from tests.auditapp.suggestions.cast import show_all
from tests.transcripts.corpus.cast import refuse
from transcripts import hooks
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import CodeFamily
from transcripts.coding.models import Coding, Decision
from transcripts.corpus.actions import split_sentence
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study


@pytest.fixture(autouse=True)
def rung(monkeypatch):
    """The runs that workers were told of; nobody hears it here."""
    heard = []
    monkeypatch.setattr(tasks, "ring_run", heard.append)
    return heard


@pytest.fixture
def coded(study, owner, coder):
    """Five interviews of 24 answers, all decided blind by one coder."""
    interviews = add_interviews_to_teach(study, owner)
    code_blind(study, coder, interviews)
    return interviews


def launch(study, by, kind="learnt", **more):
    return launch_offline(study=study, kind=kind, by=by, **more)


def finish(run):
    run_offline(run.pk)
    run.refresh_from_db()
    return run


class TestRules:
    def test_rules_propose_codes_with_their_words_as_evidence(self, study, lead, interview):
        set_rules(study, balance=["background - weather"], compassion=["ask & first"])
        run = finish(launch(study, lead, "rules"))
        assert run.state == "done"
        found = Suggestion.objects.order_by("sentence_id", "code_id").select_related("sentence__turn", "code")
        shown = [
            (each.code.identifier, each.rationale, each.sentence.turn.text[each.quote_start : each.quote_end])
            for each in found
        ]
        assert sorted(shown) == [
            (TAUGHT, "Rule: background - weather", "Background"),
            (OTHER, "Rule: ask & first", "ask"),
        ]
        turn_answer = OfflineAnswer.objects.get()
        said = Sentence.objects.filter(turn__interview=interview, turn__role="model")
        assert turn_answer.sentences == list(said.order_by("turn__position", "start").values_list("pk", flat=True))
        assert turn_answer.accepted == 2

    def test_a_code_applied_once_per_answer_is_proposed_once_even_after_a_boundary_edit(self, study, lead, interview):
        CodeFamily.objects.filter(identifier="themes").update(once_per_answer=True)
        set_rules(study, balance=["a*", "i*", "the"])
        run = finish(launch(study, lead, "rules"))
        turns = Suggestion.objects.filter(run=run).values_list("sentence__turn", flat=True)
        assert len(turns) == len(set(turns)) > 0
        first = Suggestion.objects.filter(run=run).order_by("pk")[0].sentence
        at = first.start + first.read_text().index(" ") + 1
        split_sentence(sentence=first, at=at, study=study, by=lead, idempotency_key=uuid.uuid4())
        finish(launch(study, lead, "rules"))
        turns = Suggestion.objects.values_list("sentence__turn", flat=True)
        assert len(turns) == len(set(turns))

    def test_rules_read_for_the_codes_that_have_some(self, study, lead, interview):
        set_rules(study, balance=["first"])
        assert list_read_codes(launch(study, lead, "rules").annotator.recipe) == [TAUGHT]

    def test_without_a_rule_nothing_is_launched(self, study, lead, interview):
        set_rules(study)
        with pytest.raises(Refused, match="keyword rule"):
            launch(study, lead, "rules")
        assert not TurnArm.objects.exists()

    def test_a_published_rule_that_cannot_be_read_ends_the_run_with_a_sentence(self, study, lead, interview):
        set_rules(study, balance=["(a+)+$"])
        run = finish(launch(study, lead, "rules"))
        assert run.state == "failed"
        assert "has no meaning in a rule" in run.problem

    def test_other_rules_are_another_annotator(self, study, lead, interview):
        set_rules(study, balance=["first"])
        one = launch(study, lead, "rules").annotator
        set_rules(study, balance=["first", "second"])
        other = launch(study, lead, "rules").annotator
        assert (one.number, other.number) == (1, 2)
        assert one.hash != other.hash


class TestLearning:
    def test_a_code_is_learnt_from_blind_codings_and_read_for(self, study, lead, owner, coded):
        add_interviews_to_teach(study, owner, number=1, first=50)
        run = finish(launch(study, lead))
        assert run.state == "done", run.problem
        recipe = run.annotator.recipe
        assert list_read_codes(recipe) == [TAUGHT]
        assert recipe["codes"][TAUGHT]["fp"] == recipe["codes"][TAUGHT]["fn"] == 0
        assert recipe["codes"][OTHER]["reason"] == "Positive examples: 0 of 20 needed."
        new = Suggestion.objects.filter(sentence__turn__interview__external_id="t50")
        assert {each.sentence.turn.text[:10] for each in new.select_related("sentence__turn")} == {"On balance"}
        assert new.count() == 8
        assert all(0 < (each.score or 0) < 1 and "weigh" in each.rationale for each in new)

    def test_withheld_turns_are_spared_to_say_how_good_it_is(self, study, lead, coded):
        annotator = launch(study, lead).annotator
        taught = Sentence.objects.filter(pk__in=list_taught(annotator.recipe))
        withheld = list_withheld_answers(study)
        assert withheld
        assert not withheld & set(taught.values_list("turn", flat=True))
        assert annotator.recipe["taught"] == {
            "sentences": 120 - len(withheld),
            "interviews": 5,
            "spared": len(withheld),
        }

    def test_of_several_coders_the_majority_counts_and_a_tie_teaches_nothing(
        self, study, lead, owner, coded, second_coder
    ):
        code_blind(study, second_coder, coded[:1], turned=True)
        code_blind(study, owner, coded[1:2])
        code_blind(study, second_coder, coded[1:2], turned=True)
        found = preview_training_set(study)["codes"][TAUGHT]
        # The first interview is a tie throughout; in the second two are against one.
        assert (found["positives"], found["negatives"], found["interviews"]) == (32, 64, 4)

    def test_what_is_not_blind_or_not_decided_teaches_nothing(self, study, lead, coded):
        Coding.objects.filter(sentence__turn__interview=coded[0]).update(blinding="assisted")
        Decision.objects.filter(sentence__turn__interview=coded[0]).update(blinding="assisted")
        found = preview_training_set(study)["codes"][TAUGHT]
        assert (found["positives"], found["negatives"]) == (32, 64)

    def test_too_few_examples_are_refused_with_their_number(self, study, lead, coded):
        with pytest.raises(Refused, match=r"theme\.balance has the most"):
            launch(study, lead, minimum=60)
        assert not OfflineRun.objects.exists()

    def test_without_codings_there_is_nothing_to_learn(self, study, lead, interview):
        with pytest.raises(Refused, match="nothing to learn from yet"):
            launch(study, lead)

    def test_it_is_learnt_again_alike_however_the_coding_goes_on(self, study, lead, owner, second_coder, coded):
        annotator = finish(launch(study, lead)).annotator
        annotator.refresh_from_db()
        before = make_reader(annotator).read(["On balance I weigh it."])
        code_blind(study, second_coder, coded[:1], turned=True)
        assert make_reader(annotator).read(["On balance I weigh it."]) == before
        # The first interview is disputed now, and which examples of the others are blind was drawn at random.
        code_blind(study, second_coder, add_interviews_to_teach(study, owner, number=1, first=70))
        assert launch(study, lead).annotator != annotator, "what was coded since makes another annotator"

    def test_the_same_codings_make_the_same_annotator(self, study, lead, owner, coded):
        one = finish(launch(study, lead))
        add_interviews_to_teach(study, owner, number=1, first=50)
        other = finish(launch(study, lead))
        assert one.annotator == other.annotator
        assert [turn_answer.interview.external_id for turn_answer in other.turn_answers.all()] == ["t50"]

    def test_a_set_that_is_not_what_it_was_is_refused(self, study, lead, coded):
        run = launch(study, lead)
        changed = min(list_taught(run.annotator.recipe))
        Sentence.objects.filter(pk=changed).update(text_hash="0" * 32)
        with pytest.raises(CannotRead, match="have changed, so it cannot be made again"):
            make_reader(run.annotator)
        assert finish(run).state == "failed"
        assert "Launch the learning again" in run.problem

    def test_what_was_learnt_badly_suggests_nothing_and_says_why(self, study, lead, coded):
        show_all(study)
        Coding.objects.filter(withdrawn_at=None).update(withdrawn_at=read_now())
        code = Coding.objects.select_related("code").first()
        assert code is not None
        # Each text has the code in two of the five interviews: where it has it in one, most others say that it has it not.
        for place, sentence in enumerate(list_sentences(coded)):
            if sum(divmod(place, 24)) % 5 < 2:
                Coding.objects.create(
                    sentence=sentence,
                    code=code.code,
                    coder=code.coder,
                    idempotency_key=uuid.uuid4(),
                    created_at=read_now(),
                )
        run = finish(launch(study, lead))
        assert run.state == "failed"
        assert not Suggestion.objects.exists()
        run.annotator.refresh_from_db()
        assert run.annotator.recipe["codes"][TAUGHT]["reason"]

    def test_what_was_learnt_badly_is_not_read_for_the_next_time_either(self, study, lead, coded):
        run = launch(study, lead)
        annotator = run.annotator
        codes = {code: found | {"threshold": None} for code, found in annotator.recipe["codes"].items()}
        annotator.recipe |= {"codes": codes, "judged_with": "scikit-learn"}
        annotator.save()
        assert finish(run).state == "failed"
        assert "No code was learnt well enough" in run.problem
        assert not OfflineAnswer.objects.exists()

    def test_another_release_of_what_it_learns_with_is_another_annotator(self, study, lead, coded, monkeypatch):
        run = launch(study, lead)
        monkeypatch.setattr(learning, "version", lambda name: "99.0")
        assert finish(run).state == "failed"
        assert "Launch it again" in run.problem
        assert launch(study, lead).annotator != run.annotator


class TestRuns:
    @pytest.fixture
    def run(self, study, lead, owner):
        add_interviews_to_teach(study, owner, number=3, turns=3)
        set_rules(study, balance=["balance"])
        return launch(study, lead, "rules")

    def test_a_launch_tells_the_workers_draws_the_arms_and_goes_on_record(self, study, lead, owner, monkeypatch):
        add_interviews_to_teach(study, owner, number=1, turns=3)
        set_rules(study, balance=["balance"])
        run = launch(study, lead, "rules")
        assert TurnArm.objects.count() == 3
        event = AuditEvent.objects.get(action="annotators.offline_run.launched")
        assert event.details == {"annotator": run.annotator_id, "kind": "rules", "interviews": 1}
        assert find_idle_runs(read_now()) == [run.pk]

    def test_the_same_form_sent_twice_is_one_run(self, study, lead, owner):
        add_interviews_to_teach(study, owner, number=1, turns=3)
        set_rules(study, balance=["balance"])
        key = uuid.uuid4()
        assert launch(study, lead, "rules", idempotency_key=key) == launch(study, lead, "rules", idempotency_key=key)

    def test_a_form_sent_again_with_other_settings_is_refused_and_names_its_run(self, study, lead, coded):
        set_rules(study, balance=["balance"])
        key, some = uuid.uuid4(), coded[:2]
        run = launch(study, lead, idempotency_key=key, interviews=some)
        assert launch(study, lead, idempotency_key=key, interviews=some[::-1]) == run
        others = [
            {"interviews": some, "minimum": 21},
            {"interviews": coded[:1]},
            {},
            {"interviews": some, "kind": "rules"},
        ]
        for other in others:
            with pytest.raises(Refused, match=f"launched run {run.pk}, with other settings"):
                launch(study, lead, idempotency_key=key, **other)
        assert OfflineRun.objects.count() == 1
        assert launch(study, lead, idempotency_key=uuid.uuid4(), interviews=coded[2:]) != run

    def test_a_number_of_examples_changes_nothing_of_a_turn_answer_by_rules(self, study, lead, interview):
        set_rules(study, balance=["first"])
        key = uuid.uuid4()
        assert launch(study, lead, "rules", idempotency_key=key, minimum=20) == launch(
            study, lead, "rules", idempotency_key=key, minimum=30
        )

    def test_a_form_that_launched_in_another_study_is_refused_here(self, study, lead, owner, interview):
        set_rules(study, balance=["first"])
        key = uuid.uuid4()
        run = launch(study, lead, "rules", idempotency_key=key)
        other = create_study(name="Other", slug="other", by=owner)
        Annotator.objects.filter(pk=run.annotator_id).update(study=other)
        with pytest.raises(Refused, match="another study"):
            launch(study, lead, "rules", idempotency_key=key)

    def test_a_form_of_before_its_settings_were_kept_still_gives_its_run(self, study, lead, interview):
        set_rules(study, balance=["first"])
        key = uuid.uuid4()
        run = launch(study, lead, "rules", idempotency_key=key)
        OfflineRun.objects.update(asked="")
        assert launch(study, lead, "rules", idempotency_key=key, interviews=[interview]) == run

    def test_some_interviews_are_read_and_the_rest_later(self, study, lead, owner):
        interviews = add_interviews_to_teach(study, owner, number=3, turns=3)
        set_rules(study, balance=["balance"])
        first = finish(launch(study, lead, "rules", interviews=interviews[:1]))
        assert first.turn_answers.count() == 1
        rest = finish(launch(study, lead, "rules"))
        assert {turn_answer.interview for turn_answer in rest.turn_answers.all()} == set(interviews[1:])
        assert Suggestion.objects.count() == 3
        with pytest.raises(Refused, match="nothing to annotate"):
            launch(study, lead, "rules")

    def test_a_run_that_somebody_is_at_is_left_to_them(self, run):
        OfflineRun.objects.update(state="running", claimed_by="x", claimed_until=read_now() + offline.LEASE)
        assert finish(run).state == "running"
        assert find_idle_runs(read_now()) == []
        assert not OfflineAnswer.objects.exists()

    def test_whoever_finds_a_dead_worker_s_run_goes_on_where_it_stopped(self, run, monkeypatch):
        whole, read = offline._read_interview, list[int]()

        def die_after_one(*args):
            if read:
                raise KeyboardInterrupt
            read.append(1)
            return whole(*args)

        monkeypatch.setattr(offline, "_read_interview", die_after_one)
        with pytest.raises(KeyboardInterrupt):
            run_offline(run.pk)
        monkeypatch.setattr(offline, "_read_interview", whole)
        assert OfflineAnswer.objects.count() == 1
        assert finish(run).state == "running", "the dead worker's word holds a while"
        later = read_now() + offline.LEASE + datetime.timedelta(seconds=1)
        assert find_idle_runs(later) == [run.pk]
        monkeypatch.setattr(offline, "read_now", lambda: later)
        assert finish(run).state == "done"
        assert OfflineAnswer.objects.count() == 3
        assert Suggestion.objects.count() == 3

    def test_who_lost_a_run_meanwhile_stores_nothing_more(self, run, monkeypatch):
        find = find_unread

        def lose(annotator, interview):
            OfflineRun.objects.update(claimed_by="another")
            return find(annotator, interview)

        monkeypatch.setattr(offline, "find_unread", lose)
        assert finish(run).state == "running"
        assert not Suggestion.objects.exists()

    def test_a_cancelled_run_stops_and_keeps_what_was_read(self, run, lead, monkeypatch):
        whole = offline._read_interview

        def cancel_after_one(*args):
            done = whole(*args)
            if OfflineRun.objects.filter(state="running").exists():
                cancel_run(run=run, by=lead)
            return done

        monkeypatch.setattr(offline, "_read_interview", cancel_after_one)
        assert finish(run).state == "cancelled"
        assert OfflineAnswer.objects.count() == 1
        with pytest.raises(Refused, match="already ended"):
            cancel_run(run=run, by=lead)

    def test_a_run_that_is_cancelled_while_it_learns_stops_and_says_how_far_it_was(self, run, lead, monkeypatch):
        def learn_slowly(_annotator, *, heartbeat):
            heartbeat(3, 10)
            assert (OfflineRun.objects.get().learnt_steps, OfflineRun.objects.get().learning_steps) == (3, 10)
            cancel_run(run=run, by=lead)
            heartbeat(4, 10)
            raise AssertionError("it went on")

        monkeypatch.setattr(offline, "make_reader", learn_slowly)
        assert finish(run).state == "cancelled"
        assert OfflineRun.objects.get().learnt_steps == 3
        assert not OfflineAnswer.objects.exists()

    def test_an_error_nobody_expected_ends_the_run_with_its_kind(self, run, monkeypatch):
        def fail(*args):
            raise ZeroDivisionError

        monkeypatch.setattr(offline, "_read_interview", fail)
        with pytest.raises(ZeroDivisionError):
            run_offline(run.pk)
        run.refresh_from_db()
        assert (run.state, "ZeroDivisionError" in run.problem) == ("failed", True)

    @pytest.mark.parametrize(("error", "state"), [(OperationalError, "running"), (IntegrityError, "failed")])
    def test_a_run_goes_on_after_an_error_of_the_database_that_passes_and_after_no_other(
        self, run, error, state, monkeypatch
    ):
        def fail(*args):
            raise error

        monkeypatch.setattr(offline, "_read_interview", fail)
        with pytest.raises(error):
            run_offline(run.pk)
        run.refresh_from_db()
        assert run.state == state

    def test_the_sweep_rings_an_idle_run_once_in_a_while(self, run, rung):
        rung.clear()
        tasks.ring_idle_runs()
        tasks.ring_idle_runs()
        assert rung == [run.pk]

    def test_suggestions_of_a_sentence_stand_in_an_order_that_is_not_the_codebook_s(self, study, lead, owner):
        add_interviews_to_teach(study, owner, number=1, turns=30)
        set_rules(study, balance=["balance"], compassion=["weigh"])
        finish(launch(study, lead, "rules"))
        orders = set()
        for sentence in Sentence.objects.filter(suggestions__isnull=False).distinct():
            found = sentence.suggestions.order_by("place").select_related("code")
            orders.add(tuple(each.code.identifier for each in found))
        assert len(orders) == 2


def test_the_command_reads_without_a_worker(study, owner, coded, capsys):
    set_rules(study, balance=["balance"])
    call_command("annotator", "run", "--study", study.slug, "--annotator", "rules", "--wait")
    call_command("annotator", "run", "--study", study.slug, "--annotator", "learnt", "--wait")
    assert set(OfflineRun.objects.values_list("state", flat=True)) == {"done"}
    assert Annotator.objects.count() == 2


def test_what_a_sweep_of_another_room_trips_over_keeps_nothing_waiting(monkeypatch, caplog):
    done = []

    def fail():
        raise ZeroDivisionError

    def append():
        done.append("whole")

    monkeypatch.setattr(recovery, "worker_swept", sweep := Signal())
    hooks.on(sweep, fail)
    hooks.on(sweep, append)
    recovery.sweep_others()
    assert done == ["whole"]
    assert "ZeroDivisionError" in caplog.text


class TestWithoutScikitLearn:
    @pytest.fixture(autouse=True)
    def no_scikit_learn(self, monkeypatch):
        def find_no_version(name):
            raise PackageNotFoundError(name)

        monkeypatch.setattr(learning, "version", find_no_version)

    def test_a_launch_says_what_to_install_and_stores_nothing(self, study, lead):
        with pytest.raises(Refused, match="make learn"):
            launch_offline(study=study, kind="learnt", by=lead)
        assert not OfflineRun.objects.exists()

    def test_an_annotator_learnt_elsewhere_is_not_called_outdated(self):
        annotator = Annotator(kind="learnt", recipe={"reader": "learnt-2, scikit-learn 1.9.1"})
        with pytest.raises(CannotRead, match="make learn"):
            make_reader(annotator)

    def test_the_report_of_a_file_says_what_to_install(self, tmp_path):
        with pytest.raises(CommandError, match="make learn"):
            call_command("annotator", "learn", str(tmp_path / "codings.csv"))


class TestConsent:
    def test_what_says_nothing_teaches_and_what_says_no_does_not(self, study, lead, owner, coder, coded):
        code_blind(study, coder, add_interviews_to_teach(study, owner, number=2, first=60))
        everything = preview_training_set(study)["taught"]
        assert everything["interviews"] == 7
        assert "refused" not in everything
        refuse(lead, coded[0], scope="coding")
        refuse(lead, coded[1], scope="reuse")
        refuse(lead, coded[2], scope="quotation")
        run = launch(study, lead)
        assert run.annotator.recipe["taught"]["interviews"] == 5
        assert run.annotator.recipe["taught"]["refused"] == 48
        taught = Sentence.objects.filter(pk__in=list_taught(run.annotator.recipe))
        assert not {coded[0].pk, coded[1].pk} & set(taught.values_list("turn__interview", flat=True))

    def test_a_consent_that_is_taken_back_stops_it_before_it_learns(self, study, lead, coded):
        run = launch(study, lead)
        refuse(lead, coded[0], scope="reuse")
        assert finish(run).state == "failed"
        assert f"learnt from “{coded[0].title}”" in run.problem
        assert finish(launch(study, lead)).state == "done"
