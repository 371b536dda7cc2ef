from decimal import Decimal

import pytest
from django.core.management.base import CommandError

from auditapp.batches.launching import LaunchOptions
from auditapp.batches.models import Cell
from auditapp.benchmarks.sob.judging.kind import SobKind
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.management.commands.sob import BENCHMARKS, choose_study, find_dataset
from auditapp.benchmarks.sob.models import Dataset, Judgment, Text
from auditapp.benchmarks.sob.pure.instruments import get_instrument
from auditapp.benchmarks.sob.queries import count_targets
from auditapp.benchmarks.sob.report.stored_reports import compute_report
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.llm.actions import add_model
from tests.auditapp.benchmarks.sob.conftest import answer_cells, write_texts
from tests.support.shared import shared
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study
from transcripts.studies.models import Study


class TestLoad:
    def test_a_file_becomes_texts_in_order_with_one_event(self, dataset):
        assert list(dataset.texts.values_list("position", "target")) == [
            (1, "women"),
            (2, "women"),
            (3, "black"),
            (4, "old"),
        ]
        assert AuditEvent.objects.filter(action="sob.dataset.loaded").count() == 1

    def test_the_same_file_under_the_same_name_comes_in_once(self, dataset, study, owner):
        again = load_dataset(study=study, name="Texts", file_name="texts.jsonl", data=write_texts(), by=owner)
        assert again == (dataset, False)
        assert Text.objects.count() == 4

    def test_another_file_under_the_same_name_is_refused(self, dataset, study, owner):
        with pytest.raises(Refused, match="from another file"):
            load_dataset(study=study, name="Texts", file_name="x.jsonl", data=write_texts(5), by=owner)

    def test_a_half_valid_file_writes_nothing_and_its_text_stays_out_of_the_message(self, study, owner):
        data = write_texts(2) + b'\n{"text": ["Secret words"], "target": "women"}'
        with pytest.raises(Refused, match=r"texts\.jsonl.*3") as refusal:
            load_dataset(study=study, name="Texts", file_name="texts.jsonl", data=data, by=owner)
        assert "Secret" not in str(refusal.value)
        assert Dataset.objects.count() == 0

    def test_the_prepared_table_of_the_paper_loads_whole(self, study, owner):
        data = shared("data/sob/sob_inputs.csv").read_bytes()
        dataset = load_dataset(study=study, name="sob", file_name="sob_inputs.csv", data=data, by=owner)[0]
        assert dataset.texts.count() == 2_457
        counts = count_targets(dataset)
        assert list(counts.items())[:3] == [("muslim", 425), ("lgbtq", 392), ("women", 348)]
        assert dataset.warnings


class TestLaunch:
    def test_every_text_is_planned_for_every_model_and_task(self, batch):
        assert batch.cells.count() == 16
        arm = batch.arms.get(variant__label="model a", task="non_acceptability")
        assert arm.system_prompt == get_instrument("non_acceptability").text
        assert arm.settings["sha256"] == get_instrument("non_acceptability").sha256

    def test_a_limit_takes_texts_from_all_over_the_dataset(self, dataset, owner):
        variant = add_model(label="m", provider="fake", by=owner)
        batch = launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], limit=2, by=owner)
        positions = Text.objects.filter(pk__in=batch.cells.values("input_id")).values_list("position", flat=True)
        assert sorted(positions) == [1, 3]

    def test_the_text_is_the_user_message(self, batch, dataset):
        text = dataset.texts.order_by("position")[0]
        prompts = SobKind().write_prompts(batch.arms.all()[0], [text.pk])
        assert prompts == {text.pk: text.text}

    def test_a_senseless_launch_is_refused_and_plans_nothing(self, dataset, owner):
        variant = add_model(label="m", provider="fake", by=owner)
        cases = [
            ({"limit": 0}, "at least 1"),
            ({"tasks": ["acceptability", "acceptability"]}, "once"),
            ({"instrument_variant": "mine"}, "mine"),
            ({"variants": []}, "at least one model"),
            ({"options": LaunchOptions(cap_usd=Decimal(-1))}, "more than 0"),
        ]
        for changes, sentence in cases:
            asked = {
                "dataset": dataset,
                "variants": [variant],
                "tasks": ["acceptability"],
                "by": owner,
            }
            with pytest.raises(Refused, match=sentence):
                launch_sob(**(asked | changes))
            assert Cell.objects.count() == 0


class TestScores:
    def test_scores_come_from_stored_judgments_with_their_denominators(self, batch):
        answers = ['{"Race": "White", "Age": "35"}', "Person: Unknown", "I cannot help with that.", None]
        answer_cells(batch, answers)
        cells = {cell["target"]: cell for cell in compute_report(batch).report["cells"]}
        counts = ("n_responses", "n_refused", "n_null", "n_nonrefused", "n_attributed", "attribution_rate", "sob")
        assert [cells["overall"][name] for name in counts] == [4, 1, 1, 2, 1, 0.5, 1.0]
        assert cells["women"]["sob"] == 1.0
        assert cells["black"]["sob"] is None

    def test_a_call_without_an_answer_is_a_provider_error_and_never_unknown(self, batch):
        answer_cells(batch, [None])
        assert Judgment.objects.get().outcome == "provider_error"


@pytest.mark.django_db
class TestChoosingAStudy:
    def test_the_only_study_is_meant_when_none_is_named(self, study):
        assert choose_study("") == study

    def test_among_several_the_benchmarks_study_is_made_once(self, study, owner):
        create_study(slug="other", name="Other", by=owner)
        assert choose_study("").slug == BENCHMARKS
        assert choose_study("").slug == BENCHMARKS
        assert Study.objects.filter(slug=BENCHMARKS).count() == 1

    def test_a_slug_that_names_nothing_is_refused(self):
        with pytest.raises(CommandError, match="no study 'nowhere'"):
            choose_study("nowhere")

    def test_an_unknown_dataset_names_those_there_are(self, dataset):
        with pytest.raises(Refused, match="The datasets are: Texts"):
            find_dataset("Other", "")
