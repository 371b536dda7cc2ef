from __future__ import annotations

import argparse
import logging
import os
import warnings

from billiard import get_start_method
from celery.exceptions import CPendingDeprecationWarning, SecurityWarning
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from auditapp.batches.ledger import leases
from auditapp.batches.runner import tasks
from auditapp.site.environment import make_site_files

POOLS = ("prefork", "threads")
QUEUES = 3


class Command(BaseCommand):
    help = "Run a worker in the foreground, with the options that the configured broker needs."
    # The checks load every page of the site, which each of the worker's processes would then keep in memory.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        # Accepted as by every command, though there are no checks to skip.
        parser.add_argument("--skip-checks", action="store_true", help=argparse.SUPPRESS)
        parser.add_argument(
            "--queues",
            type=int,
            default=QUEUES,
            metavar="N",
            help=f"work queues that this worker runs at once, in addition to interviews that are being held (default {QUEUES})",
        )
        parser.add_argument(
            "--pool",
            choices=POOLS,
            # Processes that are not forked share neither memory nor the flag that the worker is shutting down.
            default="prefork" if get_start_method() == "fork" else "threads",
            help=(
                "one process per queue, so that killing one does not end the others (where processes can fork), or one thread per "
                "queue"
            ),
        )
        parser.add_argument(
            "--no-beat", action="store_true", help="leave the sweeps to other workers, or to celery beat"
        )
        parser.add_argument(
            "--check",
            action="store_true",
            help="start nothing; only report whether a worker is running on this machine",
        )

    def handle(self, *args: object, **options: object) -> None:
        if options["check"]:
            self._check()
            return
        if options["queues"] < 1:  # type: ignore[operator]
            raise CommandError("A worker must run at least one queue.")
        make_site_files()
        broker = settings.CELERY_BROKER_URL.split("://")[0]
        self.stderr.write(f"Starting a worker with the broker {broker}. Ctrl-C ends it.")
        self._run(options)

    def _check(self) -> None:
        problem = leases.find_problem_here()
        if problem:
            raise CommandError(problem)
        self.stdout.write("A worker is running on this machine.")

    def _run(self, options: dict[str, object]) -> None:
        from auditapp.batches.runner import slots, worker_process
        from auditapp.celery import app

        worker_process.prepare(sweeps=not options["no_beat"], queues=options["queues"])  # type: ignore[arg-type]
        os.environ["CELERY_SKIP_CHECKS"] = "1"
        # Celery refuses to run as root only where it would accept pickled messages; ours are JSON.
        warnings.filterwarnings("ignore", category=SecurityWarning)
        # Logged at each loss of the broker, about tasks that are acknowledged late, which ours are not.
        warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)
        # Not through Celery's command line, which loads an interactive shell that takes a tenth of the memory.
        worker = app.Worker(
            pool_cls=options["pool"],
            concurrency=options["queues"] + slots.KEPT_FOR_TALKS,  # type: ignore[operator]
            queues=[tasks.WORK, tasks.SWEEPS],
            loglevel=logging.WARNING,
            quiet=True,
            # Both have hung workers after a restart of the broker, and serve nothing here.
            without_mingle=True,
            without_gossip=True,
        )
        worker.start()
