"""Batches: their state, the outcomes of their calls, their controls, and their answers as lines of JSON, which a program can
resume after an interruption.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.http import StreamingHttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.bulk import LinesRenderer
from auditapp.api.fields import Body, Dollars, Numeral, Parameters, RowOutput, TrueOrFalse, Words
from auditapp.api.views import PageParameters, Pages, StudyView, find_row
from auditapp.batches import actions
from auditapp.batches.kinds import get_kind, is_always_visible
from auditapp.batches.models import Arm, Batch, Cell, ProviderJob
from auditapp.batches.pages.costs import estimate_batch, warn_of_cap
from auditapp.batches.pages.live import COLUMNS, read_answers
from auditapp.batches.pages.progress import list_gone_jobs, read_progress, read_progress_of, summarise_batch
from auditapp.batches.pure.estimates import to_dollars
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import Scope
from transcripts.blinding.viewers import Viewer
from transcripts.exchange.rows import describe
from transcripts.refusals import Refused
from transcripts.studies.downloads import sends_files
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import MAX_ID

# Named for the schema, which tells fields that are named alike apart.
BATCH_STATES = Batch.State.choices
CONDITION = "How the question was changed to test the model, such as reask; may be empty."


class ListBatches(StudyView):
    """The batches of a study, newest first."""

    class Output(RowOutput):
        """A batch in brief."""

        percent = serializers.IntegerField(help_text="Share of its calls that have ended, in whole percent.")
        closed = serializers.BooleanField(
            help_text="Whether its calls are hidden from you, because you may code what it annotates. Counts and sums "
            "are then null."
        )
        cells = serializers.IntegerField(allow_null=True, help_text="How many units of work it has.")
        finished = serializers.IntegerField(allow_null=True, help_text="How many of them have ended.")
        held = serializers.IntegerField(
            allow_null=True, help_text="How many wait for a person's decision because the end of their call is unknown."
        )
        calls = serializers.IntegerField(allow_null=True, help_text="Calls that were sent.")
        cached = serializers.IntegerField(allow_null=True, help_text="Answers reused from an earlier call, at no cost.")
        spent = serializers.FloatField(
            allow_null=True, help_text="US dollars settled so far; null: a model in it has no price."
        )
        cap = serializers.FloatField(allow_null=True, help_text="The most it may cost, in US dollars; null: no cap.")
        fake = serializers.BooleanField(help_text="Whether this program invents the answers of one of its models.")
        possibly_paid_twice = serializers.IntegerField(
            allow_null=True,
            help_text="Calls with an unknown end, which may have been paid twice.",
        )

        class Meta:
            ref_name = "BatchRow"
            model = Batch
            fields = (
                "id kind title state state_reason control route percent closed cells finished held calls cached spent "
                "cap fake possibly_paid_twice launched_by created_at confirmed_at finished_at"
            )
            paths: ClassVar = {"launched_by": "launched_by_name"}

    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        pages = Pages()
        batches = self.study.batches.order_by("-pk").prefetch_related("arms__variant__account", "queues")
        page = pages.paginate_queryset(batches, request, view=self)
        return self.answer_rows(pages, describe_batches(page, self.viewer))


class ArmOutput(RowOutput):
    """A model with one task."""

    condition = serializers.CharField(source="settings.condition", default="", help_text=CONDITION)
    fake = serializers.BooleanField(
        source="variant.is_fake", help_text="Whether its answers are invented by this program."
    )
    parameters = serializers.DictField(source="variant.parameters", help_text=describe(ModelVariant, "parameters"))

    class Meta:
        ref_name = "Arm"
        model = Arm
        fields = "model task condition fake prompt_hash reasoning max_tokens parameters"
        paths: ClassVar = {
            "model": "variant.label",
            "reasoning": ("variant.reasoning", "How much it was asked to think; may be empty."),
            "max_tokens": ("variant.max_tokens", "Its longest answer in tokens; null: no limit was set."),
        }


class GoneJobOutput(serializers.Serializer[Any]):
    """A job at a provider's batch service that the provider no longer recognizes."""

    job = serializers.IntegerField(help_text="Its number on this site.")
    gone_since = serializers.DateTimeField(help_text="Since when the provider has not recognized it.")
    may_be_ended = serializers.BooleanField(help_text="Whether a person may end it, which is possible after a day.")
    is_being_ended = serializers.BooleanField(
        help_text="Whether a person has ended it, so that a worker will ask the provider once more."
    )

    class Meta:
        ref_name = "GoneJob"


class BatchView(StudyView):
    """What the operations share that return a whole batch."""

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
            help_text="Units of work by outcome, in the terms of the batch's kind.",
        )
        begun = serializers.IntegerField(allow_null=True, help_text="Units of work with at least one attempt.")
        pilot_cells = serializers.IntegerField(allow_null=True, help_text="Units of work in its pilot; 0: it has none.")
        pilot_left = serializers.IntegerField(allow_null=True, help_text="How many of those have not ended.")
        reserved = serializers.FloatField(
            allow_null=True,
            help_text="US dollars reserved for calls in progress or with an unknown end; null: one of its models has no price.",
        )
        possibly_paid_twice_at_most = serializers.FloatField(
            allow_null=True,
            help_text="The most that these can have cost, in US dollars; null: one of its models has no price.",
        )
        server_silent_since = serializers.DateTimeField(
            allow_null=True, help_text="Since when one of its servers has not answered; null: all servers answer."
        )
        next_try_at = serializers.DateTimeField(allow_null=True, help_text="When that server is tried again.")
        in_flight = serializers.IntegerField(
            allow_null=True, help_text="Calls that were sent and have not been answered yet."
        )
        throughput = serializers.FloatField(allow_null=True, help_text="Recent answers per second.")
        eta_seconds = serializers.FloatField(
            allow_null=True, help_text="Remaining seconds at that speed; null: unknown."
        )
        eta_basis = serializers.CharField(
            allow_null=True, help_text="What the speed and the remaining time are based on, or why they are unknown."
        )
        arms = serializers.ListField(
            child=ArmOutput(), help_text="The models and tasks it compares; none if it is closed."
        )
        gone_jobs = serializers.ListField(
            child=GoneJobOutput(),
            help_text="Its jobs at a provider's batch service that the provider no longer recognizes.",
        )

        class Meta(ListBatches.Output.Meta):
            ref_name = "Batch"
            fields = f"{ListBatches.Output.Meta.fields} concurrency lost_answers uses_cache"

    def describe(self, batch_id: int) -> dict[str, object]:
        """The current state of the batch, as far as the person may see it. Raises ``Http404``."""
        batch = find_row(self.study.batches.prefetch_related("arms__variant__account", "queues"), batch_id, "batch")
        batch.study = self.study
        is_whole = get_kind(batch.kind).find_visibility(batch, self.viewer).is_whole
        summary = summarise_batch(batch, read_progress(batch), is_whole=is_whole)
        arms = list(batch.arms.all()) if is_whole else []
        return {**describe_launch(batch), **summary, "arms": arms, "gone_jobs": list_gone_jobs(batch)}


class ReadBatch(BatchView):
    """One batch in numbers. An unknown count or sum is null."""

    def get(self, request: Request, slug: str, batch_id: int) -> Response:
        return self.answer(self.describe(batch_id))


class EstimateRest(StudyView):
    """What a batch will have cost when it ends, estimated from its own calls. Read it before you approve the batch after its
    pilot."""

    class Output(serializers.Serializer[Any]):
        """The estimate. Amounts are US dollars; null: they cannot be estimated, and the sentence says why."""

        low = serializers.FloatField(allow_null=True, help_text="The lower end of the estimate.")
        mid = serializers.FloatField(allow_null=True, help_text="The estimate.")
        high = serializers.FloatField(allow_null=True, help_text="The upper end of the estimate.")
        spent = serializers.FloatField(allow_null=True, help_text="The amount already spent, which is included.")
        cap = serializers.FloatField(allow_null=True, help_text="The most it may cost; null: no cap.")
        sentence = serializers.CharField(help_text="What the estimate is based on, or the reason why there is none.")
        warning = serializers.CharField(
            help_text="Why the batch should not go on as it is, because of its pilot or because its cap is below the estimate. "
            "May be empty."
        )

        class Meta:
            ref_name = "BatchEstimate"

    permission = Permission.RUN_BATCHES

    def get(self, request: Request, slug: str, batch_id: int) -> Response:
        batch = find_row(self.study.batches.all(), batch_id, "batch")
        batch.study = self.study
        visibility = get_kind(batch.kind).find_visibility(batch, self.viewer)
        if not visibility.is_whole:
            raise PermissionDenied(visibility.sentence)
        found = estimate_batch(batch)
        amounts = {name: to_dollars(found[name]) for name in ("low", "mid", "high")}
        is_priced = all(arm.price_in is not None for arm in batch.arms.all())
        return self.answer(
            {
                **amounts,
                "spent": to_dollars(batch.spent_nano) if is_priced else None,
                "cap": to_dollars(batch.cap_nano),
                "sentence": found["sentence"],
                "warning": " ".join(filter(None, [batch.state_reason, warn_of_cap(found, batch.cap_nano)]))
                if batch.state == Batch.State.WAITING
                else "",
            }
        )


def describe_batches(batches: Iterable[Batch], viewer: Viewer) -> list[dict[str, object]]:
    """Short descriptions of batches, showing what the viewer may see without having unblinded anything. The number of queries
    does not depend on the number of batches. Their arms are loaded."""
    batches = list(batches)
    progress = read_progress_of(batches)
    return [
        {
            **describe_launch(batch),
            **summarise_batch(batch, progress[batch.pk], is_whole=is_always_visible(batch, viewer)),
        }
        for batch in batches
    ]


class ReportOutput(serializers.Serializer[Any]):
    """What all reports on batches share."""

    batch = serializers.IntegerField(help_text="Number of the batch.")
    state = serializers.CharField(help_text="The state of the batch: figures of a running batch will change.")
    fake_models = serializers.ListField(
        child=serializers.CharField(), help_text="Labels of models whose answers are invented by this program."
    )


def describe_reported(batch: Batch) -> dict[str, object]:
    """What a report says about its batch, for output. One query."""
    arms = batch.arms.select_related("variant__account")
    fake = sorted({arm.variant.label for arm in arms if arm.variant.is_fake})
    return {"batch": batch.pk, "state": batch.state, "fake_models": fake}


def describe_launch(batch: Batch) -> dict[str, object]:
    """Which batch this is, who launched it and when, and whether it uses a fake model."""
    arms: Iterable[Arm] = batch.arms.all()
    return {
        "id": batch.pk,
        "fake": any(arm.variant.is_fake for arm in arms),
        "launched_by_name": batch.launched_by_name,
        "created_at": batch.created_at,
        "confirmed_at": batch.confirmed_at,
        "finished_at": batch.finished_at,
    }


class ControlView(BatchView):
    """What the operations on a launched batch share. Each returns the batch in its new state."""

    tag = "controls"

    scope = Scope.LAUNCH
    permission = Permission.RUN_BATCHES
    success = {200: "The batch as it is now."}
    refusals = (409,)

    def post(self, request: Request, slug: str, batch_id: int, **more: int) -> Response:
        batch = find_row(self.study.batches.all(), batch_id, "batch")
        batch.study = self.study
        self.act(batch, {**self.read_body(), **more})
        return self.answer(self.describe(batch_id))

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        """Carry out what the body and the rest of the address ask for. Raises ``Refused``."""
        raise NotImplementedError


class PauseBatch(ControlView):
    """Send no new calls. Calls in flight finish, and their answers are stored. Pausing a paused batch changes nothing."""

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        actions.pause_batch(batch=batch, by=self.person)


class ResumeBatch(ControlView):
    """Continue a paused batch. A batch that waits for approval cannot be resumed: approve it."""

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        actions.resume_batch(batch=batch, by=self.person)


class CancelBatch(ControlView):
    """End a batch for good: cells that wait are cancelled. A cancelled batch stays cancelled."""

    class Input(Body):
        """How it ends."""

        cut_off = TrueOrFalse(
            default=False,
            help_text="true: also cut off the calls in flight, which may have been paid for; false: let them finish.",
        )

        class Meta:
            ref_name = "Cancellation"

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        actions.cancel_batch(batch=batch, by=self.person, cut_off=given["cut_off"])


class ApproveBatch(ControlView):
    """Approve a batch after its pilot, so that the rest is sent. Approving it twice changes nothing."""

    class Input(Body):
        """The approval."""

        cap = Dollars(
            required=False,
            allow_null=True,
            help_text="The most the whole batch may cost, in US dollars; null removes the cap.",
        )
        anyway = TrueOrFalse(
            default=False,
            help_text="true: send the rest even though nothing could be read in the answers of the pilot.",
        )

        class Meta:
            ref_name = "Approval"

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        cap = given.get("cap", actions.UNCHANGED)
        actions.confirm_batch(batch=batch, by=self.person, cap_usd=cap, anyway=given["anyway"])


class NameBatch(ControlView):
    """Give a batch another name."""

    class Input(Body):
        """The name."""

        name = Words(max_length=actions.MAX_NAME_LENGTH, help_text="A line that distinguishes it from other batches.")

        class Meta:
            ref_name = "BatchName"

        def validate_name(self, name: str) -> str:
            return check_name(name)

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        actions.rename_batch(batch=batch, name=given["name"], by=self.person)


class EndJob(ControlView):
    """End a job that its provider has not recognized for a day. A worker asks the provider once more. If it still does not
    recognize the job, the end of its calls is recorded as unknown: they may have been paid for, and they are asked again or held,
    as the batch's `lost_answers` says."""

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        job = find_row(ProviderJob.objects.filter(queue__batch=batch), given["job_id"], "job")
        actions.end_job(job=job, by=self.person)


def check_name(name: str) -> str:
    """A name in the form in which it would be stored. Raises ``ValidationError``."""
    try:
        return actions.read_name(name)
    except Refused as error:
        raise serializers.ValidationError([str(error)]) from error


LINES_AT_A_TIME = 200
HIDDEN = "X-Answers-Hidden"
# ASCII only: some readers of lines end one at U+0085 or U+2028 too.
write_line = json.JSONEncoder(separators=(",", ":")).encode


@sends_files
class ReadAnswers(StudyView):
    """The answers of a batch that count, in the order in which they were stored, up to the latest: one line of JSON for each.

    To go on after a broken connection, or while the batch runs, send the `id` of the last whole line as `after`. Ids have no gaps
    and are assigned when an answer is stored, so no answer is missed or sent twice. Cells without an answer have no line. If you
    may code what the batch annotates, the answers about interviews that you have not unblinded are hidden: 403 if that is all of
    them, otherwise the response has the header X-Answers-Hidden. After unblinding the interviews, start again from the beginning.
    """

    class Query(Parameters):
        after = Numeral(
            min_value=0,
            max_value=MAX_ID,
            default=0,
            help_text="Return answers with an id above this; 0 starts at the beginning.",
        )
        limit = Numeral(
            min_value=1,
            max_value=MAX_ID,
            required=False,
            help_text="How many lines to return at most; if not sent, all.",
        )

    class Output(RowOutput):
        """An answer. Unknown values are null."""

        id = serializers.IntegerField(
            help_text="Its place among the answers of the batch, from 1, in the order in which they were stored."
        )
        history = serializers.ListField(
            child=serializers.DictField(child=serializers.CharField()),
            allow_null=True,
            help_text="The messages before the question, each with role and content, exactly as sent; null: only the "
            "instructions of the arm.",
        )
        condition = serializers.CharField(help_text=CONDITION)

        class Meta:
            ref_name = "BatchAnswer"
            model = Cell
            fields = f"{' '.join(COLUMNS)} model task condition"
            paths: ClassVar = {
                **COLUMNS,
                "cell": ("pk", "Number of the unit of work."),
                "arm": ("arm", "Number of the model with its task in this batch."),
                "model": "arm__variant__label",
                "task": "arm__task",
            }

    # As the page of a single call.
    permission = Permission.SEE_ALL_CODINGS
    renderer_classes = (LinesRenderer,)
    success = {200: "A line of JSON for each answer."}

    def get(self, request: Request, slug: str, batch_id: int) -> StreamingHttpResponse:
        batch = find_row(self.study.batches.all(), batch_id, "batch")
        batch.study = self.study
        visibility = get_kind(batch.kind).find_visibility(batch, self.viewer)
        if visibility.is_closed:
            raise PermissionDenied(visibility.sentence)
        answers = read_answers(batch, after=self.query["after"], limit=self.query.get("limit"), visibility=visibility)
        headers = {} if visibility.is_whole else {HIDDEN: "true"}
        body = () if request.method == "HEAD" else write_lines(answers)
        return StreamingHttpResponse(body, content_type=LinesRenderer.media_type, headers=headers)


def write_lines(rows: Iterable[dict[str, object]]) -> Iterator[bytes]:
    """Lines of JSON, sent many at a time, because sending a piece costs the server more than writing a line."""
    left = iter(rows)
    while group := list(islice(left, LINES_AT_A_TIME)):
        yield b"".join(write_line(row).encode() + b"\n" for row in group)
