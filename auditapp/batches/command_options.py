"""What the commands that launch a batch have in common: their options, how they wait, and their output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.template.loader import render_to_string
from django.urls import reverse

from auditapp.batches.actions import confirm_batch
from auditapp.batches.forms import LaunchOptionsForm
from auditapp.batches.launching import DEFAULT_PILOT, PILOT_SHARE, LaunchOptions
from auditapp.batches.ledger import statements
from auditapp.batches.ledger.leases import is_worker_alive
from auditapp.batches.models import WORKING_STATES, Batch, Cell
from auditapp.batches.pages.costs import estimate_batch, list_limit_warnings, warn_of_cap
from auditapp.batches.pages.progress import read_progress, summarise_batch
from auditapp.batches.pure.estimates import to_dollars
from auditapp.batches.runner import recovery, tasks
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.ui.commands import ActCommand, Argument, arguments_of, read_number

POLL_SECONDS = 0.3

BATCH = Argument("--batch", type=int, required=True, metavar="N", help="the batch")
MAYBE_BATCH = BATCH.but(required=False)
CAP = Argument("--cap", metavar="USD", help="the maximum to spend; no call that could exceed it is sent")
REPEATS = Argument(
    "--repeats", type=int, default=1, metavar="K", help="how often each call is made (default: %(default)s)"
)
WAIT = Argument("--wait", action="store_true", help="return once the batch has ended or is waiting for approval")
PILOT = Argument(
    "--pilot",
    type=int,
    default=0,
    metavar="N",
    help="send this many calls of each arm first, then wait for approval; 0 for no pilot (default: 0)",
)
# Of a launch that has a pilot unless it is ordered otherwise, as on its page.
USUAL_PILOT = PILOT.but(
    default=None,
    help="send this many calls of each arm first, then wait for approval; 0 for no pilot (default: one call in "
    f"{PILOT_SHARE} of all, at least one and at most {DEFAULT_PILOT} of each arm)",
)
OF_LAUNCHES = (
    *arguments_of(LaunchOptionsForm, "name concurrency"),
    *arguments_of(LaunchOptionsForm, "route", help="how the calls are sent"),
    *arguments_of(
        LaunchOptionsForm,
        "lost_answers",
        help="what happens to a call with an unknown end: retry asks once more, which may be paid twice; hold waits for a "
        "person",
    ),
    CAP,
    Argument("--cache", action="store_true", help="reuse an earlier answer to the same request"),
    WAIT,
    Argument(
        "--yes",
        action="store_true",
        help="with --wait and --cap: confirm automatically when the whole estimate is within the cap",
    ),
)


class LaunchCommand(ActCommand):
    """A verb that launches a batch.

    It waits for the batch if asked to, prints the result, and fails if the batch stopped. Besides its own options it takes
    ``OF_LAUNCHES`` and a pilot.
    """

    pilot = PILOT
    things = "cells"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        for each in (self.pilot, *OF_LAUNCHES):
            each.add(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        batch = self.launch(read_launch_options(options), options)
        warn_of_limits(batch, self.stderr.write)
        if options["wait"]:
            batch = self.watch(batch, says_yes=options["yes"])
        found, words = self.conclude(batch)
        self.answer(found, words if options["wait"] else describe_launched(batch))
        if options["wait"]:
            refuse_stopped(batch)

    def launch(self, how: LaunchOptions, options: dict[str, Any]) -> Batch:
        """Launch and return the batch. Raises ``CommandError``, ``Refused``."""
        raise NotImplementedError

    def watch(self, batch: Batch, *, says_yes: bool) -> Batch:
        """The batch once it has ended or waits for approval."""
        return wait_for_launched(batch, says_yes=says_yes, report=self.stderr.write)

    def conclude(self, batch: Batch) -> tuple[dict[str, Any], str | Iterable[str]]:
        """The result of the batch, and the same in words; the words are for a batch that the command waited for."""
        summary = summarise_batch(batch, read_progress(batch), is_whole=True)
        return summary, f"Batch {batch.pk}: {summary['cells']} {self.things}, {batch.get_state_display().lower()}."


def read_launch_options(options: dict[str, Any]) -> LaunchOptions:
    """The launch options among a command's parsed options. Raises ``CommandError``."""
    if options["yes"] and not (options["wait"] and options["cap"]):
        raise CommandError("--yes needs --wait and --cap, because it confirms only estimates within a cap.")
    if options["wait"] and options["route"] == Batch.Route.FILE:
        raise CommandError("--wait cannot be used here, because the answers of this batch are imported from a file.")
    return LaunchOptions(
        name=options["name"],
        concurrency=options["concurrency"],
        cap_usd=read_dollars(options["cap"]),
        pilot=options["pilot"],
        lost_answers=options["lost_answers"],
        uses_cache=options["cache"],
        route=options["route"],
    )


def read_dollars(given: object) -> Any:
    """A cap as typed, a ``Decimal``; ``None`` if none is. Raises ``Refused``."""
    return read_number(given, "--cap", "US dollars, such as 5 or 2.50")


def wait_for_launched(batch: Batch, *, says_yes: bool, report: Callable[[str], None]) -> Batch:
    """Wait until the batch has ended, or waits for an approval that this command may not give. Raises ``CommandError`` for a
    batch that stopped before its end."""
    batch = wait_for_batch(batch, report=report)
    if batch.state == Batch.State.WAITING and says_yes and _confirm_below_cap(batch, report):
        batch = wait_for_batch(batch, report=report)
    if batch.state == Batch.State.WAITING:
        report(describe_waiting(batch))
        warn_of_low_cap(batch, report)
    return batch


def describe_launched(batch: Batch) -> str:
    """The message about a launched batch for which the command does not wait: where to watch it, and how to wait for it."""
    cells = batch.cells.count()
    launched = f"Batch {batch.pk} was launched with {cells:,} cell{'' if cells == 1 else 's'}"
    watch = f"Watch it at {write_address(batch)} or with `manage.py batch show {batch.pk}`."
    if batch.route == Batch.Route.FILE:
        return f"{launched}. Its answers are imported from a file. {watch}"
    if batch.state == Batch.State.PILOT:
        launched += f", {batch.pilot_cells:,} of them in the pilot. After the pilot, it waits for approval"
    return f"{launched}. {watch} `manage.py batch wait {batch.pk}` waits for it, and makes the calls itself if no worker runs."


def describe_waiting(batch: Batch) -> str:
    """What a person can do with a batch whose pilot has ended, including the worker's reason if the batch should not continue."""
    left = batch.cells.filter(state=Cell.State.PLANNED).count()
    rest = f"{left:,} cell{' waits' if left == 1 else 's wait'} for approval."
    anyway = " --anyway" if batch.state_reason else ""
    return (
        f"The pilot is done and {rest} {batch.state_reason or 'Nothing more is sent before that.'} Look at its answers at "
        f"{write_address(batch)}. Confirm there or with `manage.py batch confirm {batch.pk}{anyway}`, then wait with "
        f"`manage.py batch wait {batch.pk}`; or cancel with `manage.py batch cancel {batch.pk}`."
    )


def write_address(batch: Batch) -> str:
    """The full address of a batch's page. Reads batch.study."""
    return f"{settings.BASE_URL}{reverse('batches:detail', args=[batch.study.slug, batch.pk])}"


def warn_of_limits(batch: Batch, report: Callable[[str], None]) -> None:
    """Print what the launch page says about the longest answers of the batch's models."""
    if batch.route == Batch.Route.FILE:
        return
    arms = batch.arms.select_related("variant__account", "capabilities")
    variants = {arm.variant_id: arm.variant for arm in arms}
    capabilities = {arm.variant_id: arm.capabilities for arm in arms if arm.capabilities}
    for warning in list_limit_warnings(list(variants.values()), capabilities):
        report(render_to_string("batches/_launch_warning.html", {"warning": warning}).strip())


def warn_of_low_cap(batch: Batch, report: Callable[[str], None], *, although_confirmed: bool = False) -> None:
    """Print that the cap of a batch is below its estimate, while the batch waits after its pilot."""
    if batch.state != Batch.State.WAITING and not although_confirmed:
        return
    if warning := warn_of_cap(estimate_batch(batch), batch.cap_nano):
        report(warning)


def refuse_stopped(batch: Batch) -> None:
    """Raise ``CommandError`` for a batch that stopped before its end. Waiting for approval is not an error."""
    if batch.state not in {Batch.State.DONE, Batch.State.WAITING}:
        raise CommandError(
            f"Batch {batch.pk} is {batch.get_state_display().lower()}: {batch.state_reason or 'stopped'}"
        )


def _confirm_below_cap(batch: Batch, report: Callable[[str], None]) -> bool:
    found = estimate_batch(batch)
    high, cap = found["high"], batch.cap_nano
    if high is None or cap is None or high > cap:
        amount = "not known" if high is None else f"${to_dollars(high):,.6f}"
        report(f"Not confirmed: the upper end of the estimate ({amount}) is not within the cap. {found['sentence']}")
        return False
    try:
        confirm_batch(batch=batch, by=trail.SYSTEM)
    except Refused as error:
        report(str(error))
        return False
    report(f"Confirmed: at most ${to_dollars(high):,.6f} by the estimate. {found['sentence']}")
    return True


def wait_for_batch(batch: Batch, *, report: Callable[[str], None], until: Callable[[], bool] = lambda: False) -> Batch:
    """Return the batch once it does nothing more by itself: it is done, paused, cancelled, or waits for approval; or earlier, if
    ``until`` is satisfied. A batch that waits for its server resumes by itself, so it does not end the waiting.

    ``report`` gets a line when this process does the work itself.
    """
    is_reported = is_away_reported = False
    while True:
        batch.refresh_from_db()
        if until() or (batch.state not in WORKING_STATES and not batch.awaits_server):
            return batch
        if batch.awaits_server != is_away_reported:
            is_away_reported = batch.awaits_server
            report(batch.state_reason if is_away_reported else "The server answers again.")
        if not is_worker_alive():
            if not is_reported:
                report("No worker is running; this command makes the calls itself.")
                is_reported = True
            recovery.recover_queues()
            for queue_id in statements.find_queues_to_notify(batch):
                tasks.work_on_queue(queue_id)
        time.sleep(POLL_SECONDS)
