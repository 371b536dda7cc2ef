"""What people do with a launched batch: pause, resume, cancel, approve and name it, with the actions of its page."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.batches import BatchView
from auditapp.api.inputs import Body, Dollars, TrueOrFalse, Words
from auditapp.api.views import find_row
from auditapp.batches import actions
from auditapp.batches.models import Batch, ProviderJob
from transcripts.accounts.models import Scope
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused


class ControlView(BatchView):
    """What the operations on a launched batch share. Each answers with the batch as it is then."""

    scope = Scope.LAUNCH
    permission = Permission.RUN_BATCHES
    success = {200: "The batch as it is now."}
    refusals = (409,)

    def post(self, request: Request, slug: str, batch_id: int, **more: int) -> Response:
        batch = find_row(self.project.batches.all(), batch_id, "batch")
        batch.project = self.project
        self.act(batch, {**self.read_body(), **more})
        return self.answer(self.describe(batch_id))

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        """Do what was asked, by the body and the rest of the address. Raises ``Refused``."""
        raise NotImplementedError


class PauseBatch(ControlView):
    """Send no new calls. Those in flight finish, and their answers are stored. A paused batch stays as it is."""

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        actions.pause_batch(batch=batch, by=self.person)


class ResumeBatch(ControlView):
    """Go on with a batch that is paused. One that waits for approval is approved instead."""

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        actions.resume_batch(batch=batch, by=self.person)


class CancelBatch(ControlView):
    """End a batch for good: what waits is cancelled. A cancelled batch stays cancelled."""

    class Input(Body):
        """How it ends."""

        cut_off = TrueOrFalse(
            default=False,
            help_text="true: cut off the calls in flight too, which may have been paid for; false: let them end.",
        )

        class Meta:
            ref_name = "Cancellation"

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        actions.cancel_batch(batch=batch, by=self.person, cut_off=given["cut_off"])


class ApproveBatch(ControlView):
    """Approve a batch after its pilot: the rest is sent. Approving it twice changes nothing."""

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

        name = Words(max_length=actions.MAX_NAME_LENGTH, help_text="What tells it from other batches, in one line.")

        class Meta:
            ref_name = "BatchName"

        def validate_name(self, name: str) -> str:
            return check_name(name)

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        actions.rename_batch(batch=batch, name=given["name"], by=self.person)


class EndJob(ControlView):
    """End a job that its provider has not known for a day. A worker asks the provider once more; if it still does not know the
    job, the end of its calls is unknown: they may have been paid for, and are asked again as the batch was told to."""

    def act(self, batch: Batch, given: dict[str, Any]) -> None:
        job = find_row(ProviderJob.objects.filter(queue__batch=batch), given["job_id"], "job")
        actions.end_job(job=job, by=self.person)


def check_name(name: str) -> str:
    """A name as it would be stored. Raises ``ValidationError``."""
    try:
        return actions.read_name(name)
    except Refused as error:
        raise serializers.ValidationError([str(error)]) from error
