"""What commands that launch a batch have in common: their options, and waiting with a pilot."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandError, CommandParser

from auditapp.batches.actions import BatchError, confirm_batch
from auditapp.batches.models import Batch
from auditapp.batches.pages.spending import estimate_batch
from auditapp.batches.pure.launch_options import LaunchOptions
from auditapp.batches.pure.money import to_dollars
from auditapp.batches.runner.waiting import wait_for_batch
from transcripts.audit_trail import trail


def add_launch_options(parser: CommandParser) -> None:
    """The options of every launching command, besides what is asked of whom."""
    parser.add_argument("--concurrency", type=int, default=30, help="calls in flight")
    parser.add_argument("--cap", metavar="USD", help="no call is sent that could pass it")
    parser.add_argument("--pilot", type=int, default=0, metavar="N", help="so many calls of each arm first, then a yes")
    parser.add_argument(
        "--lost-answers",
        choices=Batch.LostAnswers.values,
        default=Batch.LostAnswers.RETRY,
        help="a call whose end is unknown is asked once more, or held for a person",
    )
    parser.add_argument(
        "--cache", action="store_true", help="take an earlier answer to the same request where there is one"
    )
    parser.add_argument("--route", choices=Batch.Route.values, default=Batch.Route.LIVE, help="how the calls are sent")
    parser.add_argument("--wait", action="store_true", help="return when the batch has ended, or waits for a yes")
    parser.add_argument(
        "--yes",
        action="store_true",
        help="with --wait and --cap: confirm by itself when the whole estimate fits under the cap",
    )
    parser.add_argument("--json", action="store_true")


def read_launch_options(options: dict[str, Any]) -> LaunchOptions:
    """The launch options among a command's parsed options. Raises ``CommandError``."""
    if options["yes"] and not (options["wait"] and options["cap"]):
        raise CommandError("--yes needs --wait and --cap: it says yes only to an estimate that fits under a cap.")
    if options["wait"] and options["route"] == Batch.Route.FILE:
        raise CommandError("--wait has nothing to wait for: the answers of this batch come in as a file.")
    return LaunchOptions(
        concurrency=options["concurrency"],
        cap_usd=read_cap(options["cap"]),
        pilot=options["pilot"],
        lost_answers=options["lost_answers"],
        uses_cache=options["cache"],
        route=options["route"],
    )


def read_cap(value: object) -> Decimal | None:
    """A cap as typed. Raises ``CommandError``."""
    if value is None:
        return None
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise CommandError(f"--cap {value!r} is no amount. Write US dollars, such as 5 or 2.50.") from None


def wait_for_launched(batch: Batch, *, says_yes: bool, tell: Callable[[str], None]) -> Batch:
    """Wait until the batch has ended, or waits for a yes that this command may not give. Raises ``CommandError`` for a batch
    that stopped before its end."""
    batch = wait_for_batch(batch, tell=tell)
    if batch.state == Batch.State.WAITING and says_yes and _confirm_below_cap(batch, tell):
        batch = wait_for_batch(batch, tell=tell)
    if batch.state == Batch.State.WAITING:
        tell(f"The pilot is done. Look at its answers, then confirm with `manage.py batch confirm {batch.pk}`.")
    return batch


def refuse_stopped(batch: Batch) -> None:
    """Raise ``CommandError`` for a batch that stopped before its end; one that waits for its yes did what it should."""
    if batch.state not in {Batch.State.DONE, Batch.State.WAITING}:
        raise CommandError(
            f"Batch {batch.pk} is {batch.get_state_display().lower()}: {batch.state_reason or 'stopped'}"
        )


def _confirm_below_cap(batch: Batch, tell: Callable[[str], None]) -> bool:
    found = estimate_batch(batch)
    high, cap = found.high, batch.cap_nano
    if high is None or cap is None or high > cap:
        amount = "not known" if high is None else f"${to_dollars(high):,.6f}"
        tell(f"Not confirmed: the upper end of the estimate ({amount}) is not under the cap. {found.sentence}")
        return False
    try:
        confirm_batch(batch=batch, by=trail.SYSTEM)
    except BatchError as error:
        tell(str(error))
        return False
    tell(f"Confirmed: at most ${to_dollars(high):,.6f} by the estimate. {found.sentence}")
    return True
