"""The second-order-bias report of a batch."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.batches import ReportOutput, describe_reported
from auditapp.api.inputs import Parameters
from auditapp.api.outputs import RecordOutput
from auditapp.api.views import StudyView, find_row
from auditapp.benchmarks.sob.pure.scores import CELL_FIELDS, ScoreCell
from auditapp.benchmarks.sob.queries import KIND
from auditapp.benchmarks.sob.report.comparisons import read_comparison
from auditapp.benchmarks.sob.report.stored_reports import await_report


class ScoreOutput(RecordOutput):
    """The figures of one model, task and target. Rates are null if nothing was measured, which is not 0."""

    class Meta:
        ref_name = "SobCell"
        record = ScoreCell
        fields = " ".join(CELL_FIELDS)


def _list_rows(sentence: str) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.DictField(), help_text=f"{sentence} docs/reference/sob.md defines it."
    )


class ReadSobReport(StudyView):
    """The whole report of a sob batch: scores, statistics, attributed values. Nothing is rounded."""

    class Output(ReportOutput):
        """The report of a batch so far."""

        as_of = serializers.DateTimeField(help_text="When the figures were computed.")
        answers = serializers.IntegerField(help_text="Answers they were computed from.")
        is_current = serializers.BooleanField(
            help_text="Whether nothing has changed since; if false, a newer report is being computed."
        )
        notice = serializers.CharField(
            help_text="The caveats of all figures in sentences, such as invented answers; may be empty."
        )
        alarms = serializers.ListField(
            child=serializers.CharField(), help_text="Figures over all texts that are not findings, in sentences."
        )
        providers = serializers.DictField(
            child=serializers.CharField(), help_text="Who ran each model; `fake` where answers are invented."
        )
        versions = serializers.DictField(help_text="What the figures were computed with: rules, tables, seed.")
        warnings = serializers.ListField(child=serializers.CharField(), help_text="Warnings about the figures.")
        cells = serializers.ListField(child=ScoreOutput(), help_text="Scores per model, task and target.")
        friedman = _list_rows("Whether targets differ, per task, models as blocks.")
        friedman_families = _list_rows("The same with families of models as blocks, where there are such.")
        posthoc = _list_rows("Which targets differ, pair by pair.")
        paired = _list_rows("Every two models on the same texts.")
        sensitivity = _list_rows("The effect of each counting rule on each score.")
        repeats = _list_rows("How much the scores of repeats differ.")
        secondary = _list_rows("Scores by further targets of a text.")
        secondary_contrast = _list_rows("Texts with against texts without a further target.")
        top_values = _list_rows("The values attributed most.")
        mapping = _list_rows("How often any value of a list is named: of the target itself, or the dominant group.")
        mapping_all = _list_rows("How often every value of a list is named.")
        harms = _list_rows("Answers by harm.")
        social_map = _list_rows("Targets by attributed values, per task and model.")
        readers = _list_rows("Who read the answers: rules, a formatter, or a person.")
        base = _list_rows("Verdicts of the base task.")

        class Meta:
            ref_name = "SobReport"

    def get(self, request: Request, slug: str, batch_id: int) -> Response:
        batch = find_row(self.study.batches.filter(kind=KIND), batch_id, "sob batch")
        about, stored = describe_reported(batch), await_report(batch)
        figures = {"as_of": stored.as_of, "answers": stored.n_answers, "is_current": stored.is_current}
        return self.answer({**about, **figures, **stored.report})


class TextsOutput(serializers.Serializer[Any]):
    """How many texts two batches have in common."""

    common = serializers.IntegerField(help_text="Texts that both batches asked about, by their words.")
    only_here = serializers.IntegerField(help_text="Texts only in the first batch, left out.")
    only_there = serializers.IntegerField(help_text="Texts only in the other batch, left out.")
    other_target = serializers.IntegerField(
        help_text="Common texts of which the batches name different targets: they count in overall alone."
    )

    class Meta:
        ref_name = "SobComparisonTexts"


class ReadSobComparison(StudyView):
    """Models of two sob batches compared over the texts that both asked about, as `sob compare --json` prints it."""

    class Query(Parameters):
        """Which models are compared: without either, every model that both batches have."""

        model = serializers.CharField(required=False, max_length=300, help_text="Label of a model of the first batch.")
        other = serializers.CharField(required=False, max_length=300, help_text="Label of a model of the other batch.")

    class Output(serializers.Serializer[Any]):
        """The comparison."""

        batch = serializers.IntegerField(help_text="Number of the first batch.")
        other = serializers.IntegerField(help_text="Number of the other batch.")
        alarms = serializers.ListField(
            child=serializers.CharField(), help_text="A sentence for each score of either batch that is not a finding."
        )
        comparable = serializers.BooleanField(
            help_text="Whether both measure the same thing; if false, nothing is compared."
        )
        differences = _list_rows("What differs in how the two were made, and whether it breaks the comparison.")
        texts = TextsOutput(help_text="How many texts are common, and how many are left out.")
        paired = _list_rows("Every pair of models on the common texts, as in the report.")

        class Meta:
            ref_name = "SobComparison"

    refusals: ClassVar = (422,)

    def get(self, request: Request, slug: str, batch_id: int, other_id: int) -> Response:
        batches = self.study.batches.filter(kind=KIND)
        here, there = (find_row(batches, number, "sob batch") for number in (batch_id, other_id))
        return self.answer(read_comparison(here, there, **self.query))
