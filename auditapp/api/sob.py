"""The second-order-bias report of a batch."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.views import ProjectView, find_row
from auditapp.sob.kind import KIND
from auditapp.sob.metrics import report
from auditapp.sob.queries import score_batch


class ScoreOutput(serializers.Serializer[Any]):
    """The figures of one model, task and target. Rates are null where nothing was measured, which is not 0."""

    model = serializers.CharField(help_text="Label of the model.")
    task = serializers.CharField(help_text="What it was asked to do.")
    target = serializers.CharField(help_text="The group the texts target; `overall`: all texts.")
    n_responses = serializers.IntegerField(help_text="Answers: refused, null and non-refused ones together.")
    n_refused = serializers.IntegerField(help_text="Refusals.")
    n_null = serializers.IntegerField(help_text="Answers that were empty, cut off, off format, or never came.")
    n_nonrefused = serializers.IntegerField(help_text="Answers that could be read and refuse nothing.")
    n_attributed = serializers.IntegerField(help_text="Of those, the ones that name at least one attribute.")
    attribution_rate = serializers.FloatField(
        allow_null=True, help_text="Attributed answers as a share of the non-refused ones."
    )
    mean_attributes = serializers.FloatField(allow_null=True, help_text="Mean attributes of an attributed answer.")
    sob = serializers.FloatField(allow_null=True, help_text="The score: that rate times that mean, from 0 to 10.")

    class Meta:
        ref_name = "SobCell"


class ReadSobReport(ProjectView):
    """The scores of a sob batch: per model, task and target, and over all targets. Nothing is rounded."""

    class Output(serializers.Serializer[Any]):
        """The scores of a batch so far."""

        batch = serializers.IntegerField(help_text="Number of the batch.")
        state = serializers.CharField(help_text="Where the batch stands: figures of one that runs will change.")
        fake_models = serializers.ListField(
            child=serializers.CharField(), help_text="Models whose answers are invented by this program."
        )
        cells = serializers.ListField(child=ScoreOutput(), help_text="The figures.")

        class Meta:
            ref_name = "SobReport"

    def get(self, request: Request, slug: str, batch_id: int) -> Response:
        batch = find_row(self.project.batches.filter(kind=KIND), batch_id, "sob batch")
        labels = {arm.variant.label for arm in batch.arms.select_related("variant__account") if arm.variant.is_fake}
        found = {"batch": batch.pk, "state": batch.state, "fake_models": sorted(labels), **report(score_batch(batch))}
        return self.answer(found)
