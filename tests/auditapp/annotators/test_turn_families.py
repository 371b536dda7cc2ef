"""Features with their status, and responses: a model reads whole turns, people keep what it proposes, and it is calibrated."""

import json
import re
import uuid
from collections.abc import Mapping

import pytest
from django.urls import reverse

from auditapp.annotators.actions.launching import launch_model
from auditapp.annotators.models import Annotator, Suggestion, TurnAnswer
from auditapp.annotators.pure.answers import NOT_OFFERED
from auditapp.annotators.runner import PreannotationKind, render_turn_prompts
from auditapp.evaluation.actions import plan_check
from auditapp.evaluation.pure.calibration import tabulate_answers
from auditapp.evaluation.queries.calibration import read_answer_tables, read_compared
from auditapp.llm.models import ModelVariant
from auditapp.suggestions.actions import accept_suggestion, redo_response, undo_response
from tests.auditapp.annotators.cast import (
    add_interviews,
    add_reader,
    cell_of,
    coding,
    import_answer,
    read_calibration,
    read_material,
    standing,
    store,
)
from tests.auditapp.evaluation.test_machine_exports import take_out
from tests.auditapp.suggestions.cast import decide, look, show_all, withhold_all
from tests.transcripts.coding.cast import find_code, put
from transcripts.audit_trail import trail
from transcripts.coding.actions.boundary_edits import split_sentence
from transcripts.coding.models import Blinding, Coding, Reveal
from transcripts.refusals import Refused
from transcripts.studies.actions import set_method

POWER, TASK = "feature.power", "feature.task"
TEXT = "Who decides here matters. Your boss decides on your leave."


@pytest.fixture
def sentences(study):
    """An answer of two sentences, which may show suggestions."""
    show_all(study)
    return standing(import_answer(study, TEXT))


@pytest.fixture
def arm(study, owner, sentences):
    return launch(study, owner).arms.get(settings__condition="")


def launch(study, by, *families):
    return launch_model(study=study, variant=find_reader(), families=families or ["case_features"], by=by)


def find_reader():
    return ModelVariant.objects.filter(label="reader").first() or add_reader()


def answer(arm, sentences, **statuses):
    """The model finds these features in the turn, each with a status."""
    codings = [
        coding("boss decides", f"feature.{name}") | {"answers": {"status": status}} for name, status in statuses.items()
    ]
    store(arm, sentences[0], json.dumps({"sentences": [{"sentence": sentences[0].pk, "codings": codings}]}))
    made = Suggestion.objects.filter(cell=cell_of(arm, sentences[0])).select_related("code", "sentence")
    return {each.code.identifier: each for each in made}


def enter(sentence, feature, by, status):
    return put(sentence, find_code(sentence.turn.interview.study, feature), by, attributes={"status": status})


def read_statuses():
    """The question for the status that most features ask, over all of them."""
    found = read_answer_tables(read_compared(Annotator.objects.get()), "case_features")
    return next(each for each in found if each.key == "status")


class TestLaunch:
    def test_a_family_of_turns_is_asked_for_only_by_name(self, study, owner):
        add_interviews(study, "one")
        usual = launch_model(study=study, variant=find_reader(), by=owner)
        assert not set(usual.arms.values_list("settings__family", flat=True)) & {"case_features", "responses"}
        named = launch(study, owner, "case_features", "responses")
        assert set(named.arms.values_list("settings__family", flat=True)) == {"case_features", "responses"}

    def test_a_turn_is_sent_whole_under_the_number_of_its_first_sentence(self, arm, sentences):
        turn = sentences[0].turn_id
        material = read_material(render_turn_prompts(arm, [turn])[turn])
        assert material["turn"] == [{"sentence": sentences[0].pk, "text": TEXT}]

    def test_the_status_is_asked_for_in_the_words_of_the_codebook(self, arm, sentences):
        line = next(line for line in arm.system_prompt.splitlines() if line.startswith("answer status:"))
        assert '"silently assumed", "hypothesised", "elicited", "supported", "revised", "dropped"' in line
        assert "answer hypothesis" not in arm.system_prompt

    def test_a_schema_holds_answers_to_the_statuses(self, arm, sentences):
        arm.settings["answer_schema"] = "full"
        prompt = render_turn_prompts(arm, [sentences[0].turn_id])[sentences[0].turn_id]
        coded = PreannotationKind().write_schema(arm, prompt)["$defs"]["codings"]["items"]["properties"]
        assert coded["answers"]["properties"]["status"]["enum"][-1] == "dropped"

    def test_instructions_about_sentences_ask_no_questions(self, study, owner):
        add_interviews(study, "one")
        usual = launch_model(study=study, variant=find_reader(), by=owner)
        assert not [
            arm for arm in usual.arms.all() if "answer " in arm.system_prompt.split("The codes:")[1].split("Answer")[0]
        ]

    def test_checks_leave_families_of_turns_out(self, study, arm):
        annotator = Annotator.objects.get()
        with pytest.raises(Refused, match="whole turns"):
            plan_check(study=study, annotator=annotator, families=["case_features"])

    def test_no_control_sentence_is_put_in_a_turn_that_is_asked_about_again(self, study, owner):
        add_interviews(study, "one", answers=3)
        again = launch(study, owner).arms.exclude(settings__condition="")
        assert [arm.settings["controls"] for arm in again] == [[]]


class TestAnswers:
    def test_a_feature_is_suggested_with_its_status_and_evidence_from_anywhere_in_the_turn(self, arm, sentences):
        made = answer(arm, sentences, power="supported")[POWER]
        assert (made.sentence, made.answers) == (sentences[0], {"status": "supported"})
        assert made.quote_start is not None
        assert TEXT[made.quote_start : made.quote_end] == "boss decides"
        assert TurnAnswer.objects.get().outcome == "valid"

    def test_an_answer_that_is_not_offered_is_counted_and_the_feature_kept(self, arm, sentences):
        made = answer(arm, sentences, power="obvious", task="revised")
        assert (made[POWER].answers, made[TASK].answers) == ({}, {"status": "revised"})
        [item] = TurnAnswer.objects.get().rejected
        assert (item["code"], item["reason"], item["question"]) == (POWER, NOT_OFFERED, "status")

    def test_the_fake_provider_proposes_features_with_a_status(self, instance):
        instance.manage("study", "create", "culture", "--name", "Culture")
        turns = [{"role": "model", "text": f"I would ask about topic {n} first. Then I listen."} for n in range(25)]
        file = instance.folder / "one.jsonl"
        file.write_text(json.dumps({"id": "one", "turns": turns}), encoding="utf-8")
        instance.manage("interview", "import", str(file), "--study", "culture")
        instance.manage("model", "add", "reader", "--provider", "fake")
        asked = ("--study", "culture", "--annotator", "reader", "--pilot", "0", "--wait")
        found = instance.ask("annotator", "run", *asked, "--family", "case_features", "--family", "responses")
        assert (found["state"], found["rejected_items"], found["missing_sentences"]) == ("done", 0, 0)
        rows = instance.query(
            "SELECT c.identifier, s.answers FROM annotators_suggestion s JOIN codebook_code c ON c.id = s.code_id"
        )
        parsed = [(code, given if isinstance(given, Mapping) else json.loads(given)) for code, given in rows]
        assert any(code.startswith("response.") for code, _ in parsed)
        assert any(code.startswith("feature.") for code, _ in parsed)
        assert all(("status" in given) == code.startswith("feature.") for code, given in parsed)

    def test_the_status_is_exported_as_that_of_a_coding_is(self, study, arm, sentences):
        answer(arm, sentences, power="supported")
        [row] = take_out(study, "suggestions")
        assert (row["code_id"], json.loads(str(row["attributes"]))) == (POWER, {"status": "supported"})


class TestDesk:
    def test_nothing_about_the_turn_is_shown_before_every_sentence_of_it_is_decided(self, arm, sentences, coder):
        answer(arm, sentences, power="supported")
        decide(sentences[0], coder)
        panel = look(sentences[0], coder)
        assert (panel.annotators, panel.waits_for_turn) == ([], True)
        assert not Reveal.objects.exists()
        decide(sentences[1], coder)
        [offer] = look(sentences[0], coder).offers
        assert offer["suggestion"].code.identifier == POWER
        assert offer["answers"] == [("How does the turn leave it?", "supported")]

    def test_what_waits_is_said_alike_whether_or_not_anything_was_suggested(
        self, arm, sentences, coder, client_of, study
    ):
        decide(sentences[0], coder)
        address = reverse("suggestions:panel", args=[study.slug, sentences[0].pk])
        nothing = client_of(coder).post(address).content.decode()
        answer(arm, sentences, power="supported")
        something = client_of(coder).post(address).content.decode()
        assert "once you have pressed Enter on every sentence of the turn" in nothing
        without_token = [re.sub(r"\w{64}", "", page) for page in (nothing, something)]
        assert without_token[0] == without_token[1]

    def test_it_is_shown_at_the_first_sentence_alone(self, arm, sentences, coder):
        answer(arm, sentences, power="supported")
        for each in sentences:
            decide(each, coder)
        assert look(sentences[1], coder).annotators == []
        assert not Reveal.objects.exists()

    def test_who_saw_it_has_seen_something_of_the_whole_turn(self, arm, sentences, coder):
        answer(arm, sentences, power="supported")
        for each in sentences:
            decide(each, coder)
        look(sentences[0], coder)
        assert set(Reveal.objects.values_list("sentence", flat=True)) == {each.pk for each in sentences}

    def test_a_withheld_turn_shows_nothing(self, study, arm, coder, owner):
        held = standing(import_answer(study, TEXT, "held"))
        withhold_all(study, held[0].turn.interview)
        batch = launch_model(study=study, variant=add_reader("other"), families=["case_features"], by=owner)
        answer(batch.arms.get(settings__condition=""), held, power="supported")
        for each in held:
            decide(each, coder)
        panel = look(held[0], coder)
        assert (panel.annotators, panel.is_withheld) == ([], True)
        assert not Reveal.objects.filter(sentence__in=held).exists()

    def test_a_kept_feature_carries_the_status_and_no_quote(self, study, arm, sentences, coder):
        made = self.open_one(arm, sentences, coder)
        kept = accept_suggestion(suggestion=made, study=study, by=coder).coding
        assert kept is not None
        assert (kept.sentence, kept.code.identifier, kept.blinding) == (sentences[0], POWER, Blinding.ASSISTED)
        assert (kept.attributes, kept.quote) == ({"status": "supported"}, None)

    def test_another_status_can_be_chosen_in_keeping(self, study, arm, sentences, coder, client_of):
        made = self.open_one(arm, sentences, coder)
        page = client_of(coder).post(reverse("suggestions:panel", args=[study.slug, sentences[0].pk])).content.decode()
        assert "<option selected>supported</option>" in page
        client_of(coder).post(
            reverse("suggestions:respond", args=[study.slug, made.pk]),
            {"act": "edit", "attribute:status": "dropped", "reason": "It is given up."},
        )
        assert Coding.objects.get().attributes == {"status": "dropped"}

    def test_taking_it_back_and_keeping_it_again_leaves_the_status(self, study, arm, sentences, coder):
        made = self.open_one(arm, sentences, coder)
        accept_suggestion(suggestion=made, study=study, by=coder)
        undo_response(suggestion=made, study=study, by=coder)
        assert not Coding.objects.active().exists()
        redo_response(suggestion=made, study=study, by=coder)
        assert Coding.objects.active().get().attributes == {"status": "supported"}

    def test_it_stays_with_the_turn_when_its_first_sentence_is_split(self, study, arm, sentences, coder, owner):
        made = self.open_one(arm, sentences, coder)
        split_sentence(study=study, sentence=sentences[0], at=4, by=owner, idempotency_key=uuid.uuid4())
        now = standing(sentences[0].turn)
        for each in now:
            decide(each, coder)
        assert [offer["suggestion"] for offer in look(now[0], coder).offers] == [made]
        assert look(now[1], coder).offers == []

    def open_one(self, arm, sentences, coder):
        made = answer(arm, sentences, power="supported")[POWER]
        for each in sentences:
            decide(each, coder)
        look(sentences[0], coder)
        return made


class TestCalibration:
    def test_a_turn_counts_once_against_who_decided_all_of_it(self, arm, sentences, coder, second_coder):
        answer(arm, sentences, power="supported")
        enter(sentences[0], POWER, coder, "supported")
        decide(sentences[0], second_coder)
        compared = read_compared(Annotator.objects.get())
        labels = {each.code.identifier: each.labels for each in compared.codes}
        assert (labels[POWER].counts.sum(), (labels[POWER].people & labels[POWER].counts).sum()) == (1, 1)
        assert labels[POWER].machine.tolist().count(True) == 1
        decide(sentences[1], second_coder)
        [power] = [each for each in read_compared(Annotator.objects.get()).codes if each.code.identifier == POWER]
        assert (power.labels.counts.sum(), (power.labels.people & power.labels.counts).sum()) == (2, 1)

    def test_labels_after_a_split_stand_at_the_new_first_sentence(self, study, arm, sentences, coder, owner):
        answer(arm, sentences, power="supported")
        enter(sentences[0], POWER, coder, "supported")
        split_sentence(study=study, sentence=sentences[0], at=4, by=owner, idempotency_key=uuid.uuid4())
        [power] = [each for each in read_compared(Annotator.objects.get()).codes if each.code.identifier == POWER]
        assert (power.labels.counts & power.labels.people & power.labels.machine).sum() == 1

    def test_statuses_are_tabulated_on_entries_that_both_made(self, arm, sentences, coder, second_coder):
        answer(arm, sentences, power="supported", task="revised")
        enter(sentences[0], POWER, coder, "supported")
        enter(sentences[0], POWER, second_coder, "elicited")
        enter(sentences[0], "feature.relevance", coder, "dropped")
        asked = read_statuses()
        table = asked.table
        assert (asked.key, len(table.choices), table.n, table.raw) == ("status", 6, 2, 0.5)
        assert table.counts[3] == [0, 0, 1, 1, 0, 0]
        assert sum(map(sum, table.counts)) == 2

    def test_what_was_coded_after_seeing_it_is_in_no_table(self, arm, sentences, study, coder):
        made = answer(arm, sentences, power="supported")[POWER]
        for each in sentences:
            decide(each, coder)
        look(sentences[0], coder)
        accept_suggestion(suggestion=made, study=study, by=coder)
        asked = read_statuses()
        assert asked.table.n == 0

    def test_the_page_shows_the_table_with_both_figures(self, study, arm, sentences, coder, reader, client_of):
        set_method(study=study, method="codebook", by=trail.SYSTEM)
        answer(arm, sentences, power="supported", task="revised")
        enter(sentences[0], POWER, coder, "supported")
        enter(sentences[0], TASK, coder, "dropped")
        page = client_of(reader).get(reverse("evaluation:calibration", args=[study.slug])).content.decode()
        assert "Turns coded by two or more" in page
        assert "2 pairs of answers" in page
        assert "Equal: 0.50. Krippendorff’s alpha (nominal): 0.40." in page

    def test_files_and_the_api_have_the_table_of_statuses(self, study, arm, sentences, coder, reader, client_of):
        set_method(study=study, method="codebook", by=trail.SYSTEM)
        answer(arm, sentences, power="supported", task="revised")
        enter(sentences[0], POWER, coder, "supported")
        enter(sentences[0], TASK, coder, "dropped")
        client, path = client_of(reader), reverse("evaluation:calibration_file", args=[study.slug])
        path = f"{path}?table=answers"
        rows = client.post(path, {"format": "json"}).json()
        told = [row for row in rows if (row["family"], row["question"]) == ("case_features", "status")]
        assert len(told) == 36
        counted = {(row["machine_answer"], row["person_answer"]): row["pairs"] for row in told if row["pairs"]}
        assert counted == {("supported", "supported"): 1, ("revised", "dropped"): 1}
        assert {(row["all_pairs"], row["equal"], row["unanswered"], row["blinding"]) for row in told} == {
            (2, 0.5, 0, "blind")
        }
        lines = client.post(path, {"format": "csv"}).content.decode().splitlines()
        assert len(lines) == len(rows) + 1
        assert "machine_answer,person_answer,pairs" in lines[0]
        [family] = [each for each in read_calibration(reader) if each["family"] == "case_features"]
        assert (family["unit"], family["turns_of"]) == ("turn", "model")
        status = next(each for each in family["questions"] if each["question"] == "status")
        assert (status["pairs"], status["equal"], len(status["choices"])) == (2, 0.5, 6)
        assert sum(map(sum, status["counts"])) == 2
        assert status["alpha"] == told[0]["alpha"]

    def test_files_have_no_answers_of_a_reflexive_family(self, study, arm, sentences, coder, reader, client_of):
        set_method(study=study, method="reflexive", by=trail.SYSTEM)
        answer(arm, sentences, power="supported")
        enter(sentences[0], POWER, coder, "supported")
        client, path = client_of(reader), reverse("evaluation:calibration_file", args=[study.slug])
        assert client.post(path, {"format": "json"}).json() == []
        assert client.post(f"{path}?table=answers", {"format": "json"}).json() == []
        assert [each["questions"] for each in read_calibration(reader)] == [None]

    def test_alpha_is_that_of_two_readers(self):
        # Two readers, four units, three alike: D_o = 2 / 8; of 5 a and 3 b, D_e = 30 / 56; alpha = 1 - 14 / 30.
        table = tabulate_answers(["a", "b"], [("a", "a"), ("a", "a"), ("a", "b"), ("b", "b"), ("", "b")])
        assert (table.n, table.raw, table.unanswered) == (4, 0.75, 1)
        assert table.alpha == pytest.approx(1 - 14 / 30)

    def test_alpha_is_not_defined_where_all_answers_are_the_same(self):
        assert tabulate_answers(["a", "b"], [("a", "a")]).alpha is None
