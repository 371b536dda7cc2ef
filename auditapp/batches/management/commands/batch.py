from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import CommandError
from django.db import transaction
from django.db.models import QuerySet

from auditapp.batches import actions
from auditapp.batches.command_options import CAP, read_dollars, refuse_stopped, wait_for_launched, warn_of_low_cap
from auditapp.batches.ledger.verify import WORDS, list_counted_accounts, verify_batches
from auditapp.batches.models import OPEN_STATES, Batch, ProviderJob
from auditapp.batches.pages.progress import list_gone_jobs, read_progress, read_progress_of, summarise_batch
from auditapp.batches.routes.answer_files import FORMS, export_requests, import_answer_file
from auditapp.llm.management import MODEL, find_variant
from auditapp.llm.models import ProviderAccount
from transcripts.audit_trail import trail
from transcripts.studies.management import find_study
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, OneOf, Taken, find_row, pick, reading, writing

NEW_CAP = CAP.but(help="the maximum it may cost, or none")
NUMBER = Argument("number", type=int, metavar="NUMBER", help="of the batch")


class _OfBatch(ActCommand):
    """Acts on one batch, if the verb acts on it, and prints its summary."""

    takes: ClassVar[Taken] = (NUMBER,)

    def handle(self, *args: Any, number: int, **options: Any) -> None:
        batch = find_batch(number)
        self.act(batch, options)
        batch.refresh_from_db()
        batch = self.watch(batch)
        summary = summarise_batch(batch, read_progress(batch), is_whole=True)
        summary["gone_jobs"] = list_gone_jobs(batch)
        self.answer(summary, (f"{name:>28}  {value}" for name, value in summary.items() if value is not None))
        self.end(batch)

    def act(self, batch: Batch, options: dict[str, Any]) -> None:
        """Carry out the verb."""

    def watch(self, batch: Batch) -> Batch:
        """The batch after the act. A verb may wait for it, or print a warning."""
        return batch

    def end(self, batch: Batch) -> None:
        """Called after the summary. May raise ``CommandError``."""


class List(ActCommand):
    help = "List the open batches."
    takes = (
        Argument("--all", action="store_true", help="also those that have ended"),
        commands.MAYBE_STUDY.but(help="only those of this study"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        batches = find_batches(options["study"])
        rows = _list_batches(batches if options["all"] else batches.filter(state__in=OPEN_STATES))
        lines = [
            f"{row['batch']:>6}  {row['state']:<9}  {row['finished']:>7,} of {row['cells']:<7,}  "
            f"{row['study']}  {row['kind']}  {row['title']}"
            for row in rows
        ]
        self.answer(rows, lines or "No batch is open. `batch list --all` also lists those that have ended.")


class Show(_OfBatch):
    help = "Show a batch: its state, counts by outcome, cost, and calls that may have been paid twice."

    def watch(self, batch: Batch) -> Batch:
        warn_of_low_cap(batch, self.stderr.write)
        return batch


class Wait(_OfBatch):
    help = "Return once a batch has ended or is waiting for approval. This command makes the calls itself if no worker is running."

    def act(self, batch: Batch, options: dict[str, Any]) -> None:
        if batch.route == Batch.Route.FILE:
            raise CommandError(
                f"Batch {batch.pk} makes no calls to wait for, because its answers are imported from a file."
            )

    def watch(self, batch: Batch) -> Batch:
        return wait_for_launched(batch, says_yes=False, report=self.stderr.write)

    def end(self, batch: Batch) -> None:
        refuse_stopped(batch)


class Pause(_OfBatch):
    help = "Pause a batch, or with --all every batch that sends calls or would resume automatically."
    takes = (
        OneOf(
            NUMBER.but(nargs="?"),
            Argument("--all", action="store_true", help="every batch that sends calls"),
        ),
        commands.MAYBE_STUDY.but(help="with --all: only those of this study"),
    )

    def handle(self, *args: Any, number: int | None, **options: Any) -> None:
        if options["study"] and not options["all"]:
            raise CommandError("--study goes with --all.")
        if number is not None:
            super().handle(*args, number=number, **options)
            return
        paused = actions.pause_batches(batches=find_batches(options["study"]), by=trail.SYSTEM)
        self.answer({"paused": paused}, f"Paused: {paused}.")

    def act(self, batch: Batch, options: dict[str, Any]) -> None:
        actions.pause_batch(batch=batch, by=trail.SYSTEM)


class Resume(_OfBatch):
    help = "Resume a paused batch."

    def act(self, batch: Batch, options: dict[str, Any]) -> None:
        actions.resume_batch(batch=batch, by=trail.SYSTEM)


class Drain(_OfBatch):
    help = "Let a batch finish the calls it has begun, and start no new ones."

    def act(self, batch: Batch, options: dict[str, Any]) -> None:
        actions.drain_batch(batch=batch, by=trail.SYSTEM)


class Cancel(_OfBatch):
    help = "End a batch after the calls that it has begun."

    def act(self, batch: Batch, options: dict[str, Any]) -> None:
        actions.cancel_batch(batch=batch, by=trail.SYSTEM)


class Abort(_OfBatch):
    help = "End a batch immediately, cutting off the calls that it has begun."

    def act(self, batch: Batch, options: dict[str, Any]) -> None:
        actions.cancel_batch(batch=batch, by=trail.SYSTEM, cut_off=True)


class Retry(_OfBatch):
    help = "Ask the failed cells of a batch again."

    def act(self, batch: Batch, options: dict[str, Any]) -> None:
        if not actions.retry_failed(batch=batch, by=trail.SYSTEM):
            self.stderr.write(f"Nothing in batch {batch.pk} has failed, so nothing is asked again.")


class Confirm(_OfBatch):
    help = "Approve a batch after its pilot."
    takes = (
        NUMBER,
        NEW_CAP,
        Argument("--anyway", action="store_true", help="even if nothing could be read in the pilot"),
    )

    def act(self, batch: Batch, options: dict[str, Any]) -> None:
        cap = actions.UNCHANGED if options["cap"] is None else read_new_cap(options["cap"])
        actions.confirm_batch(batch=batch, by=trail.SYSTEM, cap_usd=cap, anyway=options["anyway"])

    def watch(self, batch: Batch) -> Batch:
        warn_of_low_cap(batch, self.stderr.write, although_confirmed=True)
        return batch


class Release(_OfBatch):
    help = "Decide about the cells of a batch that are held because the end of their call is unknown."
    takes = (
        NUMBER,
        Argument("--again", action="store_true", help="ask them again, which may mean paying twice"),
        Argument("--fail", action="store_true", help="count them as failed"),
    )

    def act(self, batch: Batch, options: dict[str, Any]) -> None:
        if options["again"] == options["fail"]:
            raise CommandError("Say what to do with the held cells: --again, which may mean paying twice, or --fail.")
        actions.release_held(batch=batch, by=trail.SYSTEM, again=options["again"])


class EndJob(_OfBatch):
    help = "End a job at a provider's batch service that the provider has not recognized for a day."
    takes = (
        NUMBER,
        Argument("--job", type=int, required=True, metavar="N", help="the job, as `batch show` lists it"),
    )

    def act(self, batch: Batch, options: dict[str, Any]) -> None:
        jobs = ProviderJob.objects.filter(queue__batch=batch).order_by("pk")
        job = find_row(jobs, f"job of batch {batch.pk} with the number", pk=options["job"])
        actions.end_job(job=job, by=trail.SYSTEM)


class Set(_OfBatch):
    help = "Set the maximum of calls in flight, the maximum cost, or the name of a batch."
    takes = (
        NUMBER,
        NEW_CAP,
        Argument("--concurrency", type=int, help="maximum calls in flight"),
        Argument("--name", help="its name"),
    )

    @transaction.atomic
    def act(self, batch: Batch, options: dict[str, Any]) -> None:
        if all(options[name] is None for name in ("concurrency", "cap", "name")):
            raise CommandError("Say what to set: --concurrency N, --cap USD, --name NAME, or several of them.")
        if options["name"] is not None:
            actions.rename_batch(batch=batch, by=trail.SYSTEM, name=options["name"])
        if options["cap"] is not None:
            actions.change_cap(batch=batch, by=trail.SYSTEM, cap_usd=read_new_cap(options["cap"]))
        if options["concurrency"] is not None:
            actions.change_concurrency(batch=batch, by=trail.SYSTEM, concurrency=options["concurrency"])


class ExportRequests(ActCommand):
    help = "Write the requests of a batch whose answers come from a file, one JSON object per line."
    takes = (
        NUMBER,
        commands.OUTPUT,
        commands.OVERWRITE,
        MODEL.but(required=False, default="", help="only the requests to this model"),
        Argument("--form", choices=FORMS, default=FORMS[0], help="the provider whose batch service the file is for"),
    )

    def handle(self, *args: object, number: int, output: str, model: str, form: str, **options: object) -> None:
        batch = find_batch(number)
        variant = find_variant(model) if model else None
        with writing(self, output, overwrite=bool(options["overwrite"])) as path:
            cells, lines = export_requests(batch=batch, by=trail.SYSTEM, variant=variant, form=form)
            write_whole(path, lines)
            answer = {"batch": batch.pk, "requests": cells, "path": output}
            self.answer(answer, f"{cells} requests in {output}")


class ImportAnswers(ActCommand):
    help = (
        "Import answers from a file: OpenAI's batch output, Anthropic's batch results, or lines with cell and answer."
    )
    takes = (
        NUMBER,
        commands.FILE,
        commands.DRY_RUN,
    )

    def handle(self, *args: object, number: int, file: Path, dry_run: bool, **options: object) -> None:
        batch = find_batch(number)
        with reading(file) as stream:
            imported = import_answer_file(batch=batch, file=stream, by=trail.SYSTEM, dry_run=dry_run)
        batch.refresh_from_db()
        counts = pick(imported, "lines answered failed skipped waiting sha256")
        self.answer(
            {"batch": batch.pk, **counts, "state": batch.state, "dry_run": dry_run},
            f"{imported.answered} answers and {imported.failed} errors {'would be stored' if dry_run else 'stored'}, "
            f"{imported.skipped} lines skipped; {imported.waiting} cells wait for an answer.",
        )


class Verify(ActCommand):
    help = "Check the ledger of all batches against its invariants (I1 to I8). The exit status is 1 if any is broken."
    takes = (
        Argument("--billed", type=int, help="how many calls the providers charged for, over all batches"),
        Argument("--account", default="", metavar="NAME", help="count --billed for this account only"),
    )

    def handle(self, *args: object, billed: int | None, account: str, **options: object) -> None:
        if account and billed is None:
            raise CommandError("--account needs --billed, the number of calls that this account was charged for.")
        if account:
            find_row(ProviderAccount.objects.order_by("name"), "account", name=account)
        breaks = verify_batches(billed, account)
        batches = Batch.objects.count()
        listed = [{"invariant": name, "batch": batch, "sentence": sentence} for name, batch, sentence in breaks]
        words = [f"{WORDS[name]} ({name}): {sentence}" for name, _, sentence in breaks]
        if not breaks:
            words = [f"{batches} {'batch' if batches == 1 else 'batches'} checked: no invariant is broken."]
            if billed is not None:
                words.append(f"Compared with what was charged; {list_counted_accounts(account)}.")
        self.answer({"batches": batches, "breaks": listed}, words)
        if breaks:
            count = "1 invariant is" if len(breaks) == 1 else f"{len(breaks)} invariants are"
            raise CommandError(f"{count} broken. Keep the database as it is, and look at the rows named above.")


class Command(Noun):
    help = (
        "List batches; show, wait for or control one; exchange its requests and answers as files; check the ledger of all "
        "batches."
    )
    verbs = {
        "list": List,
        "show": Show,
        "wait": Wait,
        "pause": Pause,
        "resume": Resume,
        "drain": Drain,
        "cancel": Cancel,
        "abort": Abort,
        "confirm": Confirm,
        "retry": Retry,
        "release": Release,
        "end-job": EndJob,
        "set": Set,
        "export-requests": ExportRequests,
        "import-answers": ImportAnswers,
        "verify": Verify,
    }


def find_batch(number: int) -> Batch:
    """The batch with that number. Raises ``CommandError``."""
    return find_row(Batch.objects.order_by("-pk"), "batch", pk=number)


def find_batches(slug: str | None) -> QuerySet[Batch]:
    """All batches, or those of a study. Raises ``CommandError``."""
    batches = Batch.objects.order_by("pk")
    return batches.filter(study=find_study(slug)) if slug else batches


def _list_batches(batches: QuerySet[Batch]) -> list[dict[str, object]]:
    """Number, study, kind, title, state and size of each batch."""
    found = list(batches.select_related("study"))
    progress = read_progress_of(found)
    return [
        {
            "batch": batch.pk,
            "study": batch.study.slug,
            "kind": batch.kind,
            "title": batch.title,
            "state": batch.state,
            "finished": progress[batch.pk].finished,
            "cells": progress[batch.pk].cells,
        }
        for batch in found
    ]


def read_new_cap(given: str) -> Decimal | None:
    """A cap as typed; "none" is no cap. Raises ``Refused``."""
    return None if given == "none" else read_dollars(given)


def write_whole(path: Path, lines: Iterable[bytes]) -> None:
    """Write the file completely or not at all. Only its owner can read it, because it contains the texts."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(lines)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
