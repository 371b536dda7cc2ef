from __future__ import annotations

import warnings

from celery.exceptions import SecurityWarning
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from auditapp.celery import app


class Command(BaseCommand):
    help = "Run a worker in the foreground, with the flags the configured broker needs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--lanes", type=int, default=4, help="lanes this worker runs at once (default 4)")
        parser.add_argument("--no-beat", action="store_true", help="do not run the sweeper's clock in this process")

    def handle(self, *args: object, **options: object) -> None:
        # Threads: a lane is one event loop that waits on the network. Mingle and gossip have hung workers after a
        # broker restart and serve nothing here.
        flags = [
            "--pool=threads",
            f"--concurrency={options['lanes']}",
            "--loglevel=WARNING",
            "--without-mingle",
            "--without-gossip",
        ]
        if not options["no_beat"]:
            flags.append("--beat")
        broker = settings.CELERY_BROKER_URL.split("://")[0]
        self.stderr.write(f"A worker starts over {broker}; Ctrl-C ends it.")
        # Celery refuses to run as root only where it would accept pickled messages; ours are JSON.
        warnings.filterwarnings("ignore", category=SecurityWarning)
        app.worker_main(["--quiet", "worker", *flags])
