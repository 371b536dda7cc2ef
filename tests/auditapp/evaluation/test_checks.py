"""Checks before a batch: what is asked, what is kept, and that each of them fails where it should."""

import uuid

import pytest

from auditapp.annotators.actions.annotators import ensure_annotator
from auditapp.annotators.models import CheckAnswer, Suggestion, TurnAnswer, TurnArm
from auditapp.annotators.pure.checking import judge_check
from auditapp.annotators.queries.turn_answers import read_check_report
from auditapp.annotators.withholding import list_withheld_answers, set_withholding
from auditapp.batches.kinds import Answered, get_kind
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Batch, Cell
from auditapp.evaluation.actions import draw_turns, launch_check
from auditapp.llm.actions import add_model
from tests.auditapp.evaluation.cast import PER_TURN, answer_all, bring_in_one
from tests.support.databases import stored
from transcripts.corpus.models import Consent, Sentence, Turn
from transcripts.refusals import Refused

pytestmark = pytest.mark.usefixtures("without_grants")

FAMILIES, CODES = 4, 24


@stored
def marked(study, owner):
    return bring_in_one(study, owner)


@stored
def annotator(study, owner):
    variant = add_model(label="reader", provider="fake", by=owner)
    return ensure_annotator(study=study, variant=variant, by=owner)


@pytest.fixture
def check(study, marked, annotator, owner):
    """The report of a check of a model known beforehand."""

    def run(part, *, sample=60):
        batch = launch_check(study=study, annotator=annotator, by=owner, sample=sample, families=["themes"])
        answer_all(batch, part)
        return read_check_report(batch)

    return run


def find_states(report):
    return {verdict["check"]: verdict["state"] for verdict in judge_check(report)}


class TestWhatIsAsked:
    def test_every_family_is_asked_about_in_six_ways_of_the_same_turns(self, study, marked, annotator, owner):
        batch = launch_check(study=study, annotator=annotator, by=owner, sample=50)
        conditions = ["generic", "repeat-1", "repeat-2", "repeat-3", "reversed", "swapped"]
        for family in ("themes", "moves"):
            arms = [arm for arm in batch.arms.all() if arm.settings["family"] == family]
            assert sorted(arm.settings["condition"] for arm in arms) == conditions
        assert batch.cells.count() == FAMILIES * 6 * 10
        assert (batch.kind, batch.uses_cache) == ("preannotation_check", False)
        assert batch.parameters["sentences"] == 50

    def test_repeats_are_the_annotators_own_instructions_to_the_letter(self, study, marked, annotator, owner):
        batch = launch_check(study=study, annotator=annotator, by=owner)
        told = {arm.system_prompt for arm in batch.arms.all() if arm.settings["condition"].startswith("repeat")}
        assert told == {prompt["text"] for prompt in annotator.recipe["prompts"] if "turns_of" not in prompt}

    def test_generic_names_hide_the_codes_of_the_study(self, study, marked, annotator, owner):
        batch = launch_check(study=study, annotator=annotator, by=owner)
        arm = next(arm for arm in batch.arms.all() if arm.task == "themes generic")
        assert "code C1: C1." in arm.system_prompt
        assert "theme.models_metamodels" not in arm.system_prompt
        assert arm.settings["names"]["C1"] == "theme.models_metamodels"

    def test_in_the_mode_by_code_there_is_no_order_and_definitions_are_swapped_all_the_same(self, study, marked, owner):
        variant = add_model(label="by code", provider="fake", by=owner)
        annotator = ensure_annotator(study=study, variant=variant, mode="code", by=owner)
        batch = launch_check(study=study, annotator=annotator, by=owner)
        assert batch.arms.count() == CODES * 5
        arm = next(each for each in batch.arms.all() if each.task == "theme.balance swapped")
        assert arm.settings["definitions"] == {"theme.balance": "theme.systemic_grounding"}
        assert arm.system_prompt.count("\ncode ") == 1

    def test_withheld_turns_are_not_asked_about(self, study, marked, annotator, owner):
        set_withholding(study=study, share_percent=70, reason="x", by=owner)
        batch = launch_check(study=study, annotator=annotator, by=owner, sample=1000)
        withheld = list_withheld_answers(study)
        asked = set(batch.cells.values_list("input_id", flat=True))
        assert (len(withheld), len(asked)) == (14, 6)
        assert not withheld & asked

    def test_where_all_is_withheld_there_is_nothing_to_ask(self, study, marked, annotator, owner):
        set_withholding(study=study, share_percent=100, reason="x", by=owner)
        with pytest.raises(Refused, match="turn that could be checked is withheld"):
            launch_check(study=study, annotator=annotator, by=owner)

    def test_a_model_off_this_site_is_asked_about_interviews_that_consent_only(self, study, marked, owner):
        other = bring_in_one(study, owner, name="consenting")
        Consent.objects.create(
            interview=other,
            scope="external",
            is_given=True,
            recorded_at=marked.imported_file.imported_at,
            recorded_by_name="x",
        )
        variant = add_model(
            label="far", provider="openai_compatible", base_url="https://models.example/v1", model="m", by=owner
        )
        annotator = ensure_annotator(study=study, variant=variant, by=owner)
        batch = launch_check(study=study, annotator=annotator, by=owner, sample=1000)
        asked = set(batch.cells.values_list("input_id", flat=True))
        assert asked
        assert set(Turn.objects.filter(pk__in=asked).values_list("interview", flat=True)) == {other.pk}
        assert batch.parameters["left_out"] == 1

    def test_a_consent_taken_back_stops_what_was_not_yet_sent(self, study, marked, owner):
        given = {"interview": marked, "scope": "external", "recorded_at": marked.imported_file.imported_at}
        Consent.objects.create(**given, is_given=True, recorded_by_name="x")
        variant = add_model(
            label="far", provider="openai_compatible", base_url="https://models.example/v1", model="m", by=owner
        )
        batch = launch_check(study=study, annotator=ensure_annotator(study=study, variant=variant, by=owner), by=owner)
        Consent.objects.create(**given, is_given=False, recorded_by_name="x")
        arm = batch.arms.all()[0]
        assert get_kind(batch.kind).write_prompts(arm, list(batch.cells.values_list("input_id", flat=True)[:3])) == {}

    @pytest.mark.parametrize(("asked", "words"), [({"sample": 0}, "1 to 1,000"), ({"repeats": 1}, "2 to 10 times")])
    def test_what_makes_no_check_is_refused(self, study, marked, annotator, owner, asked, words):
        with pytest.raises(Refused, match=words):
            launch_check(study=study, annotator=annotator, by=owner, **asked)
        assert not Batch.objects.exists()

    def test_an_annotator_that_was_told_otherwise_than_the_codebook_tells_now_is_refused(
        self, study, marked, annotator, owner
    ):
        annotator.recipe["prompts"][0]["text"] += " And be kind."
        annotator.save(update_fields=["recipe"])
        with pytest.raises(Refused, match="instructions of reader are out of date"):
            launch_check(study=study, annotator=annotator, by=owner)

    def test_the_same_form_gives_the_same_check_back_whatever_has_changed_since(self, study, marked, annotator, owner):
        form = uuid.uuid4()
        batch = launch_check(study=study, annotator=annotator, by=owner, options=LaunchOptions(idempotency_key=form))
        set_withholding(study=study, share_percent=100, reason="x", by=owner)
        TurnArm.objects.update(arm="withheld")
        assert (
            launch_check(study=study, annotator=annotator, by=owner, options=LaunchOptions(idempotency_key=form))
            == batch
        )
        with pytest.raises(Refused, match="with other settings"):
            launch_check(
                study=study, annotator=annotator, by=owner, options=LaunchOptions(idempotency_key=form), sample=7
            )

    def test_an_annotator_without_a_model_is_refused(self, study, marked, owner):
        rules = ensure_annotator(study=study, kind="rules", recipe={"rules": {"theme.balance": ["both"]}}, by=owner)
        with pytest.raises(Refused, match="does not use a model"):
            launch_check(study=study, annotator=rules, by=owner)


def test_turns_are_drawn_until_they_have_the_sentences_and_alike_for_one_seed():
    sentences = dict.fromkeys(range(100), PER_TURN)
    drawn = draw_turns(sentences, 12, 7)
    assert (len(drawn), drawn) == (3, draw_turns(sentences, 12, 7))
    assert drawn != draw_turns(sentences, 12, 8)
    assert draw_turns({1: 2, 2: 2}, 50, 7) == [1, 2]


class TestWhatIsKept:
    def test_answers_are_no_suggestions_and_come_back_under_the_studys_own_names(self, study, marked, annotator, owner):
        batch = launch_check(study=study, annotator=annotator, by=owner, sample=5)
        answer_all(batch, "definition")
        assert (Suggestion.objects.count(), TurnAnswer.objects.count()) == (0, 0)
        generic = CheckAnswer.objects.get(condition="generic", cell__arm__settings__family="themes")
        turn = Sentence.objects.filter(turn=generic.cell.input_id).order_by("position")
        assert [generic.picks[str(sentence.pk)] for sentence in turn] == [
            ["theme.models_metamodels"],
            ["theme.identity_as_context"],
            ["theme.balance"],
            ["theme.systemic_grounding"],
            [],
        ]

    def test_a_call_without_an_answer_leaves_nothing(self, study, marked, annotator, owner):
        batch = launch_check(study=study, annotator=annotator, by=owner, sample=5)
        cell = Cell.objects.filter(batch=batch)[0]
        kind = get_kind(batch.kind)
        failed = Answered(cell.pk, cell.arm_id, cell.input_id, None, "", "status 500")
        assert kind.store_answers(batch, [failed]) == {cell.pk: "provider_error"}
        kind.reopen([cell.pk])
        assert not CheckAnswer.objects.exists()


class TestEachCheckFailsWhereItShould:
    def test_who_reads_definitions_passes_all_but_what_was_never_put(self, check):
        report = check("definition")
        assert set(find_states(report).values()) == {"passed"}
        balance = next(row for row in report["swaps"] if row["code"] == "theme.balance")
        assert (balance["definition"], balance["name"]) == (12, 0)
        assert report["legal"].value == report["answered"].value == 1.0

    def test_who_reads_names_is_found_by_swapped_definitions_and_generic_names(self, check):
        report = check("name")
        states = find_states(report)
        assert (states["swapped"], states["generic"]) == ("look", "look")
        assert (states["order"], states["stability"]) == ("passed", "passed")
        balance = next(row for row in report["swaps"] if row["code"] == "theme.balance")
        assert (balance["definition"], balance["name"]) == (0, 12)

    def test_who_puts_the_first_code_is_found_by_the_order_and_by_its_rate(self, check):
        report = check("first")
        states = find_states(report)
        assert (states["order"], states["rates"]) == ("look", "look")
        first = next(row for row in report["order"] if row["code"] == "theme.models_metamodels")
        assert (first["flips"].part, first["flips"].n, first["kept"].part) == (60, 60, 0)
        assert states["stability"] == "passed"

    def test_who_says_something_else_each_time_is_found_by_stability(self, check):
        report = check("fickle")
        assert find_states(report)["stability"] == "look"
        row = next(row for row in report["stability"] if row["code"] == "theme.balance")
        assert (row["flips"].part, row["flips"].n) == (12, 60)

    def test_who_makes_labels_up_is_found_by_legal_labels(self, check):
        report = check("own label")
        assert find_states(report)["legal"] == "look"
        assert (report["legal"].part, report["legal"].n) == (0, 60 * 6)

    def test_who_leaves_sentences_out_is_found_by_answered_sentences(self, check):
        report = check("half")
        assert find_states(report)["answered"] == "look"
        assert (report["answered"].part, report["answered"].n) == (12 * 6 * 2, 12 * 6 * 5)
