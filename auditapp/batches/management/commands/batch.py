from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.db.models import QuerySet

from auditapp.batches import actions
from auditapp.batches.command_options import (
    read_cap,
    refuse_stopped,
    wait_for_launched,
    warn_of_low_cap,
)
from auditapp.batches.models import OPEN_STATES, Batch, ProviderJob
from auditapp.batches.pages.progress import read_progress, read_progress_of
from auditapp.batches.pages.summaries import list_gone_jobs, summarise_batch
from transcripts.audit_trail import trail
from transcripts.projects.management.finding import find_study
from transcripts.ui.commands import ActCommand, find_row


def _refuse_file(batch: Batch) -> None:
    if batch.route == Batch.Route.FILE:
        raise CommandError(f"Batch {batch.pk} makes no calls to wait for: its answers are imported from a file.")


def _cancel(batch: Batch, options: dict[str, object]) -> None:
    actions.cancel_batch(batch=batch, by=trail.SYSTEM)


def _abort(batch: Batch, options: dict[str, object]) -> None:
    actions.cancel_batch(batch=batch, by=trail.SYSTEM, cut_off=True)


def _confirm(batch: Batch, options: dict[str, object]) -> None:
    cap = actions.UNCHANGED if options["cap"] is None else _read_new_cap(options)
    actions.confirm_batch(batch=batch, by=trail.SYSTEM, cap_usd=cap, anyway=bool(options["anyway"]))


def _release(batch: Batch, options: dict[str, object]) -> None:
    if options["again"] == options["fail"]:
        raise CommandError("Say what to do with the held cells: --again (may mean paying twice) or --fail.")
    actions.release_held(batch=batch, by=trail.SYSTEM, again=bool(options["again"]))


def _end_job(batch: Batch, options: dict[str, object]) -> None:
    if options["job"] is None:
        raise CommandError(
            "Say which job is to be ended: --job N. `batch show` lists those that the provider does not know."
        )
    jobs = ProviderJob.objects.filter(queue__batch=batch).order_by("pk")
    actions.end_job(job=find_row(jobs, f"job of batch {batch.pk} with the number", pk=options["job"]), by=trail.SYSTEM)


@transaction.atomic
def _set(batch: Batch, options: dict[str, object]) -> None:
    if all(options[name] is None for name in ("concurrency", "cap", "name")):
        raise CommandError("Say what to set: --concurrency N, --cap USD, --name NAME, or several of them.")
    if options["name"] is not None:
        actions.rename_batch(batch=batch, by=trail.SYSTEM, name=str(options["name"]))
    if options["cap"] is not None:
        actions.change_cap(batch=batch, by=trail.SYSTEM, cap_usd=_read_new_cap(options))
    if options["concurrency"] is not None:
        actions.change_concurrency(batch=batch, by=trail.SYSTEM, concurrency=int(str(options["concurrency"])))


ACTS: dict[str, Callable[[Batch, dict[str, object]], object]] = {
    "show": lambda batch, options: None,
    "wait": lambda batch, options: _refuse_file(batch),
    "pause": lambda batch, options: actions.pause_batch(batch=batch, by=trail.SYSTEM),
    "resume": lambda batch, options: actions.resume_batch(batch=batch, by=trail.SYSTEM),
    "drain": lambda batch, options: actions.drain_batch(batch=batch, by=trail.SYSTEM),
    "cancel": _cancel,
    "abort": _abort,
    "confirm": _confirm,
    "retry": lambda batch, options: actions.retry_failed(batch=batch, by=trail.SYSTEM),
    "release": _release,
    "end-job": _end_job,
    "set": _set,
}
LIST = "list"
# Which options belong to which acts: an option that would be ignored is refused.
OWN = {
    "all": {LIST, "pause"},
    "project": {LIST, "pause"},
    "cap": {"set", "confirm"},
    "concurrency": {"set"},
    "name": {"set"},
    "again": {"release"},
    "fail": {"release"},
    "anyway": {"confirm"},
    "job": {"end-job"},
}


def _refuse_foreign(act: str, options: dict[str, object]) -> None:
    for name, acts in OWN.items():
        if options[name] not in {None, False} and act not in acts:
            raise CommandError(f"--{name} can be used only with {' and '.join(sorted(acts))}, not with {act}.")


class Command(ActCommand):
    help = (
        "List batches; show one, wait for it, or control it: pause, resume, drain, cancel, abort, confirm, retry, release, "
        "end-job, set."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("act", choices=[LIST, *ACTS])
        parser.add_argument("number", type=int, nargs="?", help="of the batch; list takes none, nor does pause --all")
        parser.add_argument(
            "--all", action="store_true", help="list: those that have ended, too; pause: every batch that sends calls"
        )
        parser.add_argument("--project", metavar="SLUG", help="list, pause --all: of this study alone")
        parser.add_argument(
            "--anyway", action="store_true", help="confirm: although nothing could be read in the pilot"
        )
        parser.add_argument("--cap", metavar="USD", help="set, confirm: the maximum it may cost, or none")
        parser.add_argument("--concurrency", type=int, help="set: maximum calls in flight")
        parser.add_argument("--name", help="set: what it is called")
        parser.add_argument(
            "--again", action="store_true", help="release: ask the held cells again, which may mean paying twice"
        )
        parser.add_argument("--fail", action="store_true", help="release: count the held cells as failed")
        parser.add_argument("--job", type=int, metavar="N", help="end-job: the job, as show lists it")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, act: str, number: int | None, **options: object) -> None:
        _refuse_foreign(act, options)
        is_of_many = act == LIST or bool(options["all"])
        if is_of_many == (number is not None):
            raise CommandError(f"{act} takes no number here." if is_of_many else f"{act} takes the number of a batch.")
        if options["project"] and not is_of_many:
            raise CommandError("--project goes with list and with pause --all.")
        if number is None:
            self._act_on_many(act, options)
            return
        batch = find_row(Batch.objects.order_by("-pk"), "batch", pk=number)
        done = ACTS[act](batch, options)
        if act == "retry" and not done:
            self.stderr.write(f"Nothing in batch {number} has failed, so nothing is asked again.")
        batch.refresh_from_db()
        if act == "wait":
            batch = wait_for_launched(batch, says_yes=False, report=self.stderr.write)
        if act in {"show", "confirm"}:
            warn_of_low_cap(batch, self.stderr.write, although_confirmed=act == "confirm")
        summary = summarise_batch(batch, read_progress(batch), is_whole=True)
        summary["gone_jobs"] = list_gone_jobs(batch)
        if options["json"]:
            self.stdout.write(json.dumps(summary))
        else:
            # In one write: a reader of only the beginning closes the pipe before more could be written.
            self.stdout.write("\n".join(f"{name:>28}  {value}" for name, value in summary.items()))
        if act == "wait":
            refuse_stopped(batch)

    def _act_on_many(self, act: str, options: dict[str, object]) -> None:
        batches = Batch.objects.order_by("pk")
        if options["project"]:
            batches = batches.filter(project=find_study(str(options["project"])))
        if act == "pause":
            paused = actions.pause_batches(batches=batches, by=trail.SYSTEM)
            self.stdout.write(json.dumps({"paused": paused}) if options["json"] else f"Paused: {paused}.")
            return
        rows = _list_batches(batches if options["all"] else batches.filter(state__in=OPEN_STATES))
        if options["json"]:
            self.stdout.write(json.dumps(rows))
            return
        lines = [
            f"{row['batch']:>6}  {row['state']:<9}  {row['finished']:>7,} of {row['cells']:<7,}  "
            f"{row['study']}  {row['kind']}  {row['title']}"
            for row in rows
        ]
        self.stdout.write("\n".join(lines) or "No batch is open. `batch list --all` lists those that have ended, too.")


def _list_batches(batches: QuerySet[Batch]) -> list[dict[str, object]]:
    """Number, study, kind, title, state and size of each batch."""
    found = list(batches.select_related("project"))
    progress = read_progress_of(found)
    return [
        {
            "batch": batch.pk,
            "study": batch.project.slug,
            "kind": batch.kind,
            "title": batch.title,
            "state": batch.state,
            "finished": progress[batch.pk].finished,
            "cells": progress[batch.pk].cells,
        }
        for batch in found
    ]


def _read_new_cap(options: dict[str, object]) -> Decimal | None:
    return None if options["cap"] == "none" else read_cap(options["cap"])
