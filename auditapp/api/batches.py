"""Batches: what runs, how far it is, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.pagination import PageParameters, Pages
from auditapp.api.views import ProjectView, find_row
from auditapp.batches.kinds import find_visibility, is_always_visible
from auditapp.batches.models import Arm, Batch
from auditapp.batches.pages.progress import read_progress, read_progress_of
from auditapp.batches.pages.summaries import summarise_batch
from transcripts.blinding.viewers import Viewer


class ListBatches(ProjectView):
    """The batches of a study, newest first."""

    class Output(serializers.Serializer[Any]):
        """A batch in brief."""

        id = serializers.IntegerField(help_text="Its number on this site.")
        kind = serializers.CharField(help_text="What it is for, such as preannotation or sob.")
        title = serializers.CharField(help_text="Its title.")
        state = serializers.ChoiceField(Batch.State.choices, help_text="Where it stands.")
        state_reason = serializers.CharField(help_text="Why it stands there; may be empty.")
        control = serializers.ChoiceField(Batch.Control.choices, help_text="What people want of it.")
        route = serializers.ChoiceField(Batch.Route.choices, help_text="How its calls are sent.")
        percent = serializers.IntegerField(help_text="Share of its calls that came to an end, in whole per cent.")
        closed = serializers.BooleanField(
            help_text="Whether what its calls tell is kept from you, because you may code what a machine read in it: counts "
            "and sums are null then."
        )
        cells = serializers.IntegerField(allow_null=True, help_text="How many units of work it has.")
        finished = serializers.IntegerField(allow_null=True, help_text="How many of them came to an end.")
        held = serializers.IntegerField(
            allow_null=True, help_text="How many wait for a person, because the end of their call is not known."
        )
        calls = serializers.IntegerField(allow_null=True, help_text="Calls that were sent.")
        cached = serializers.IntegerField(allow_null=True, help_text="Answers taken from an earlier call, at no cost.")
        spent = serializers.FloatField(
            allow_null=True, help_text="US dollars settled so far; null: a model in it has no price."
        )
        cap = serializers.FloatField(allow_null=True, help_text="US dollars it may cost at most; null: no cap.")
        fake = serializers.BooleanField(help_text="Whether answers of a model in it are invented by this program.")
        possibly_paid_twice = serializers.IntegerField(
            allow_null=True,
            help_text="Calls whose end was lost, so that they may have been paid for once more than is known.",
        )
        launched_by = serializers.CharField(help_text="Who launched it.")
        created_at = serializers.DateTimeField(help_text="When it was launched.")
        confirmed_at = serializers.DateTimeField(
            allow_null=True, help_text="When somebody said yes after its pilot; null: nobody, or it has none."
        )
        finished_at = serializers.DateTimeField(allow_null=True, help_text="When it ended; null: not yet.")

        class Meta:
            ref_name = "BatchRow"

    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        pages = Pages()
        batches = self.project.batches.order_by("-pk").prefetch_related("arms__variant__account")
        page = pages.paginate_queryset(batches, request, view=self)
        return self.answer_cut(pages, describe_batches(page, Viewer(self.project, self.person, self.role)))


class ArmOutput(serializers.Serializer[Any]):
    """A model under one task."""

    model = serializers.CharField(source="variant.label", help_text="Label of the model.")
    task = serializers.CharField(help_text="What it was asked to do.")
    condition = serializers.CharField(
        source="settings.condition",
        default="",
        help_text="How the question was changed to learn about the model, such as reask; may be empty.",
    )
    fake = serializers.BooleanField(
        source="variant.is_fake", help_text="Whether its answers are invented by this program."
    )
    prompt_hash = serializers.CharField(help_text="Hash of its exact instructions.")

    class Meta:
        ref_name = "Arm"


class ReadBatch(ProjectView):
    """One batch in numbers. A count or sum that is not known is null."""

    class Output(ListBatches.Output):
        """A batch with its counts, money and speed."""

        states = serializers.DictField(
            child=serializers.IntegerField(),
            allow_null=True,
            help_text="Units of work by state: planned, leased, done, failed, held, cancelled.",
        )
        outcomes = serializers.DictField(
            child=serializers.IntegerField(),
            allow_null=True,
            help_text="Units of work by what came out of them, in the kind's own words.",
        )
        begun = serializers.IntegerField(allow_null=True, help_text="Units of work that were asked at least once.")
        pilot_cells = serializers.IntegerField(allow_null=True, help_text="Units of work in its pilot; 0: it has none.")
        pilot_left = serializers.IntegerField(allow_null=True, help_text="How many of those have not come to an end.")
        concurrency = serializers.IntegerField(help_text="Calls in flight at most.")
        lost_answers = serializers.ChoiceField(
            Batch.LostAnswers.choices, help_text="What becomes of a call whose end is not known."
        )
        uses_cache = serializers.BooleanField(
            help_text="Whether an earlier answer to exactly the same request is taken where there is one."
        )
        reserved = serializers.FloatField(
            allow_null=True,
            help_text="US dollars kept back for calls under way or of unknown end; null: a model in it has no price.",
        )
        possibly_paid_twice_at_most = serializers.FloatField(
            allow_null=True, help_text="US dollars those can have cost at most; null: a model in it has no price."
        )
        throughput = serializers.FloatField(allow_null=True, help_text="Answers per second, of late.")
        eta_seconds = serializers.FloatField(allow_null=True, help_text="Seconds left at that speed; null: not known.")
        eta_basis = serializers.CharField(
            allow_null=True, help_text="What those two rest on, or why they are not known."
        )
        arms = serializers.ListField(
            child=ArmOutput(), help_text="The models and tasks it compares; none where it is closed."
        )

        class Meta:
            ref_name = "Batch"

    def get(self, request: Request, slug: str, batch_id: int) -> Response:
        batch = find_row(self.project.batches.prefetch_related("arms__variant__account"), batch_id, "batch")
        batch.project = self.project
        is_whole = find_visibility(batch, Viewer(self.project, self.person, self.role)).is_whole
        summary = summarise_batch(batch, read_progress(batch), is_whole=is_whole)
        arms = list(batch.arms.all()) if is_whole else []
        return self.answer({**describe_launch(batch), **summary, "arms": arms})


def describe_batches(batches: Iterable[Batch], viewer: Viewer) -> list[dict[str, object]]:
    """Batches in brief, as far as the viewer sees them without having unblinded anything; counted in the same few queries.
    Their arms are loaded."""
    batches = list(batches)
    progress = read_progress_of(batches)
    return [
        {
            **describe_launch(batch),
            **summarise_batch(batch, progress[batch.pk], is_whole=is_always_visible(batch, viewer)),
        }
        for batch in batches
    ]


def describe_launch(batch: Batch) -> dict[str, object]:
    """Which batch this is, who launched it and when, and whether a fake model answers in it."""
    arms: Iterable[Arm] = batch.arms.all()
    return {
        "id": batch.pk,
        "fake": any(arm.variant.is_fake for arm in arms),
        "launched_by": batch.launched_by_name,
        "created_at": batch.created_at,
        "confirmed_at": batch.confirmed_at,
        "finished_at": batch.finished_at,
    }
