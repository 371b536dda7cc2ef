"""What a launch asks, whom it leaves out, what it asks again, and what it goes by while it runs."""

import json
import uuid
from dataclasses import replace

import pytest

from auditapp.annotators.actions.annotators import (
    add_built_in_control_sentences,
    draft_annotator,
    ensure_annotator,
    withdraw_control_sentence,
)
from auditapp.annotators.actions.launching import launch_model, plan_annotation
from auditapp.annotators.models import Annotator, CheckAnswer, ControlSentence, Suggestion, TurnAnswer, TurnArm
from auditapp.annotators.runner import PreannotationKind, read_asked_turns
from auditapp.batches.kinds import Answered
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Arm, Batch
from tests.auditapp.annotators.cast import OFF_SITE, add_interviews, add_reader, allow, publish_next
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import Code
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.refusals import Refused


def launch(study, **options):
    given = {"families": ["themes"], "by": trail.SYSTEM}
    if "variant" not in options:
        given["variant"] = add_reader()
    return launch_model(study=study, **(given | options))


def list_read(batch):
    """The ids of the interviews of which a turn is asked about."""
    turns = Turn.objects.filter(pk__in=batch.cells.values_list("input_id", flat=True))
    return set(turns.values_list("interview__external_id", flat=True))


def add_control(study, text, *codes):
    return ControlSentence.objects.create(
        study=study,
        text=text,
        codes=list(codes),
        created_at="2026-01-01T00:00Z",
        created_by_name="x",
    )


class TestArms:
    def test_settings_say_all_that_an_answer_is_read_by(self, study):
        add_interviews(study, "one")
        batch = launch(study)
        arm = batch.arms.get(settings__condition="")
        codes = Code.objects.filter(version__study=study, family__identifier="themes").order_by("position")
        assert arm.settings == {
            "annotator": batch.parameters["annotators"][0],
            "family": "themes",
            "codes": list(codes.values_list("identifier", flat=True)),
            "condition": "",
            "redaction": 0,
            "seed": 0,
            "controls": [],
            "names": {},
        }
        assert batch.parameters | {"annotators": []} == {
            "annotators": [],
            "codebook": 1,
            "prompt": "turn-4",
            "turns": 2,
            "left_out": 0,
            "asked_again": 1,
        }

    def test_by_code_there_is_an_arm_for_each_code(self, study):
        add_interviews(study, "one")
        batch = launch(study, mode="code", families=["themes", "moves"])
        asked = [arm.settings["codes"] for arm in batch.arms.filter(settings__condition="")]
        chosen = Code.objects.filter(version__study=study, family__identifier__in=["themes", "moves"])
        assert sorted(code for codes in asked for code in codes) == sorted(chosen.values_list("identifier", flat=True))
        assert {len(codes) for codes in asked} == {1}
        assert {arm.settings["family"] for arm in batch.arms.all()} == {"themes", "moves"}

    def test_the_turns_that_never_show_suggestions_are_drawn_first(self, study):
        add_interviews(study, "one")
        batch = launch(study)
        read = set(batch.cells.values_list("input_id", flat=True))
        assert set(TurnArm.objects.values_list("turn_id", flat=True)) == read

    def test_where_the_batch_is_refused_there_is_no_annotator_either(self, study):
        add_interviews(study, "one")
        with pytest.raises(Refused):
            launch(study, options=LaunchOptions(concurrency=0))
        assert not Batch.objects.exists()
        assert not study.annotators.exists()
        assert not TurnArm.objects.exists()


class TestConsent:
    def test_a_model_of_this_site_reads_everything(self, study):
        add_interviews(study, "one", "two")
        assert list_read(launch(study)) == {"one", "two"}

    def test_a_model_off_the_site_reads_those_that_consent_and_the_rest_is_counted(self, study):
        first, _ = add_interviews(study, "one", "two")
        allow(study, first)
        batch = launch(study, variant=add_reader(**OFF_SITE))
        assert list_read(batch) == {"one"}
        assert batch.parameters["left_out"] == 1

    def test_a_withdrawn_consent_counts_as_none(self, study):
        first, second = add_interviews(study, "one", "two")
        allow(study, first, second)
        allow(study, second, is_given=False)
        assert list_read(launch(study, variant=add_reader(**OFF_SITE))) == {"one"}

    def test_interviews_chosen_without_consent_are_refused_by_title(self, study):
        first, second = add_interviews(study, "one", "two")
        allow(study, first)
        with pytest.raises(Refused, match=r"on record for “Talk two”\. Record it"):
            launch(study, variant=add_reader(**OFF_SITE), interviews=[first, second])
        assert not Batch.objects.exists()

    def test_of_many_titles_some_are_named_and_the_rest_counted(self, study):
        talks = add_interviews(study, *"abcdefg")
        with pytest.raises(Refused, match="“Talk e” and 2 more"):
            launch(study, variant=add_reader(**OFF_SITE), interviews=talks)

    def test_where_nobody_consents_that_is_said(self, study):
        add_interviews(study, "one")
        with pytest.raises(Refused, match="None of the study's interviews may be processed"):
            launch(study, variant=add_reader(**OFF_SITE))

    def test_a_limit_counts_the_turns_that_may_be_read(self, study):
        _, second = add_interviews(study, "one", "two")
        allow(study, second)
        assert list_read(launch(study, variant=add_reader(**OFF_SITE), limit=2)) == {"two"}


class TestAskedAgain:
    def test_a_turn_alone_is_asked_once(self, study):
        add_interviews(study, "one", answers=1)
        assert launch(study).arms.count() == 1

    def test_of_two_turns_one_is_asked_again(self, study):
        add_interviews(study, "one", answers=2)
        batch = launch(study)
        assert batch.arms.get(settings__condition="reask").cells.count() == 1

    def test_by_code_and_without_control_sentences_nothing_is_asked_again(self, study, owner):
        """One code has no other order: it would be the same question, paid twice."""
        add_interviews(study, "one", answers=21)
        for row in add_built_in_control_sentences(study=study, by=owner):
            withdraw_control_sentence(controls=row, by=owner)
        batch = launch(study, mode="code")
        assert not batch.arms.filter(settings__condition="reask").exists()
        assert batch.parameters["asked_again"] == 0
        assert launch(study, variant=add_reader("other")).arms.filter(settings__condition="reask").exists()

    def test_the_first_launch_plants_the_set_as_one_act_and_no_later_one_does(self, study, owner):
        add_interviews(study, "one")
        variant = add_reader()
        drafted = draft_annotator(study=study, variant=variant)
        plan = plan_annotation(study=study, annotator=drafted, families=["themes"])
        assert not ControlSentence.objects.exists()
        batch = launch(study, variant=variant)
        assert ControlSentence.objects.count() == 40
        event = AuditEvent.objects.get(action="annotators.control_sentence.set_added")
        assert event.details == {"sentences": list(ControlSentence.objects.values_list("pk", flat=True))}
        again = batch.arms.get(settings__condition="reask")
        turn = again.cells.get().input_id
        reviewed = Arm(variant=variant, batch=batch, settings=plan.arms[-1].settings)
        own = Sentence.objects.filter(turn=turn).values_list("pk", flat=True)

        def list_added(arm):
            asked = read_asked_turns(arm, [turn])[turn]
            return [text for number, text in asked.texts.items() if number not in own]

        assert len(list_added(again)) == 3
        assert list_added(reviewed) == list_added(again)
        for row in ControlSentence.objects.all():
            withdraw_control_sentence(controls=row, by=owner)
        launch(study, variant=add_reader("other"))
        assert not ControlSentence.objects.filter(withdrawn_at__isnull=True).exists()

    def test_of_more_turns_two_per_cent_are_asked_again_and_at_least_one(self, study):
        add_interviews(study, "one", answers=21)
        batch = launch(study)
        again = batch.arms.get(settings__condition="reask")
        assert again.cells.count() == 1
        assert batch.parameters["asked_again"] == 1
        add_interviews(study, "many", answers=79)
        more = launch(study, variant=add_reader("other"))
        assert more.arms.get(settings__condition="reask").cells.count() == 2

    def test_the_codes_are_told_in_another_order_and_the_task_says_again(self, study):
        add_interviews(study, "one", answers=21)
        batch = launch(study)
        first, again = batch.arms.get(settings__condition=""), batch.arms.get(settings__condition="reask")
        assert again.task == "themes again"
        assert again.settings["codes"] != first.settings["codes"]
        assert sorted(again.settings["codes"]) == sorted(first.settings["codes"])
        places = [again.system_prompt.index(f"code {code}:") for code in again.settings["codes"]]
        assert places == sorted(places)

    def test_the_draw_is_the_same_at_the_review_and_at_the_launch(self, study, owner):
        add_interviews(study, "one", answers=60)
        variant = add_reader()
        drafted = draft_annotator(study=study, variant=variant)
        plan = plan_annotation(study=study, annotator=drafted, families=["themes"])
        batch = launch(study, variant=variant)
        again = batch.arms.get(settings__condition="reask")
        assert list(again.cells.order_by("pk").values_list("input_id", flat=True)) == plan.arms[-1].input_ids
        assert again.system_prompt == plan.arms[-1].system_prompt

    def test_by_code_each_code_is_asked_again_under_another_task(self, study):
        add_interviews(study, "one", answers=21)
        batch = launch(study, mode="code")
        tasks = list(batch.arms.filter(settings__condition="").values_list("task", flat=True))
        assert sorted(batch.arms.filter(settings__condition="reask").values_list("task", flat=True)) == sorted(
            f"{task} again" for task in tasks
        )

    def test_invented_sentences_that_fit_stand_among_the_turns_own(self, study):
        add_interviews(study, "one", answers=21)
        fitting, none = (
            add_control(study, "Both sides weigh.", "theme.balance"),
            add_control(study, "The kettle is blue."),
        )
        add_control(study, "Say more?", "move.elicit")
        again = launch(study).arms.get(settings__condition="reask")
        assert again.settings["controls"] == sorted([fitting.pk, none.pk])
        turn = again.cells.get().input_id
        prompt = PreannotationKind().write_prompts(again, [turn])[turn]
        assert "Both sides weigh." in prompt
        assert "The kettle is blue." in prompt

    def test_nothing_is_asked_again_in_words_that_differ_by_more_than_their_order(self, study, owner):
        """The annotator was told an example whose interview has taken its consent back, or none where there is one now."""
        *_, pinned = add_interviews(study, "one", "two", answers=21)
        allow(study, *Interview.objects.filter(study=study))
        allow(study, pinned, is_given=False)
        publish_next(study, owner, example=pinned.turns.get(position=2).sentences.order_by("pk")[0])
        annotator = ensure_annotator(study=study, variant=add_reader(**OFF_SITE), by=trail.SYSTEM)
        assert len(plan_annotation(study=study, annotator=annotator, families=["themes"]).arms) == 2
        allow(study, pinned)
        [arm] = plan_annotation(study=study, annotator=annotator, families=["themes"]).arms
        assert arm.system_prompt == annotator.recipe["prompts"][0]["text"]

    def test_what_it_says_then_is_never_a_suggestion(self, study):
        add_interviews(study, "one", answers=21)
        batch = launch(study)
        cell = batch.cells.get(arm__settings__condition="reask")
        store_code(batch, cell, "theme.balance")
        assert not Suggestion.objects.exists()
        assert not TurnAnswer.objects.exists()
        assert CheckAnswer.objects.get().condition == "reask"


def store_code(batch, cell, code):
    """An answer that puts one code on the first sentence and none on the others."""
    sentences = list(Sentence.objects.filter(turn=cell.input_id).select_related("turn").order_by("start"))
    said = [{"rationale": "So it says.", "quote": sentences[0].read_text(), "code": code}]
    entries = [{"sentence": each.pk, "codings": said if each == sentences[0] else []} for each in sentences]
    answered = Answered(cell.pk, cell.arm_id, cell.input_id, json.dumps({"sentences": entries}), "stop", "")
    return PreannotationKind().store_answers(batch, [answered])[cell.pk]


def test_a_form_sent_again_is_the_batch_it_made_whatever_has_changed_since(study, owner):
    [one] = add_interviews(study, "one")
    allow(study, one)
    form, variant = LaunchOptions(idempotency_key=uuid.uuid4()), add_reader(**OFF_SITE)
    batch = launch(study, variant=variant, options=form)
    publish_next(study, owner, definition="Weighs two goods.")
    allow(study, one, is_given=False)
    assert launch(study, variant=variant, options=form) == batch
    for otherwise in (
        {"mode": "code"},
        {"families": ["moves"]},
        {"interviews": [one]},
        {"options": replace(form, pilot=3)},
    ):
        with pytest.raises(Refused, match=f"launched batch {batch.pk}, with other settings"):
            launch(study, **{"variant": variant, "options": form} | otherwise)
    assert Annotator.objects.count() == 1


class TestWhileItRuns:
    def test_a_batch_stays_on_its_codebook_when_another_is_published(self, study, owner):
        add_interviews(study, "one")
        batch = launch(study)
        told = batch.arms.get(settings__condition="").system_prompt
        new = publish_next(study, owner, definition="Weighs two goods.")
        cell = batch.cells.order_by("pk")[0]
        assert store_code(batch, cell, "theme.balance") == "valid"
        suggestion = Suggestion.objects.get()
        assert (suggestion.code.version.number, new.number) == (1, 2)
        assert (suggestion.annotator.version.number, batch.parameters["codebook"]) == (1, 1)
        arm = batch.arms.get(settings__condition="")
        assert (arm.system_prompt, "Weighs two goods." in arm.system_prompt) == (told, False)
        # A code that is only in the new one is none that was asked for.
        Code.objects.filter(version=new, identifier="theme.balance").update(identifier="theme.new")
        assert store_code(batch, batch.cells.order_by("pk")[1], "theme.new") == "partial"
        assert Suggestion.objects.count() == 1

    def test_the_next_launch_goes_by_the_new_one(self, study, owner):
        add_interviews(study, "one")
        variant = add_reader()
        launch(study, variant=variant)
        publish_next(study, owner, definition="Weighs two goods.")
        batch = launch(study, variant=variant)
        assert batch.parameters["codebook"] == 2
        assert "Weighs two goods." in batch.arms.get(settings__condition="").system_prompt
        assert batch.title == "Pre-annotation by reader 2"

    def test_a_consent_withdrawn_stops_what_was_not_yet_sent(self, study, interview):
        [talk] = add_interviews(study, "one")
        allow(study, talk)
        arm = (
            launch(study, variant=add_reader(**OFF_SITE))
            .arms.select_related("variant__account")
            .get(settings__condition="")
        )
        turns = list(arm.cells.values_list("input_id", flat=True))
        assert set(PreannotationKind().write_prompts(arm, turns)) == set(turns)
        allow(study, talk, is_given=False)
        assert not PreannotationKind().write_prompts(arm, turns)
