from __future__ import annotations

import os
import sys

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser


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
        arguments = [sys.executable, "-m", "celery", "--app=auditapp", "--quiet", "worker", *flags]
        self.stderr.write(f"A worker starts over {settings.CELERY_BROKER_URL.split('://')[0]}; Ctrl-C ends it.")
        os.environ.setdefault("C_FORCE_ROOT", "1")
        os.execv(sys.executable, arguments)  # noqa: S606 - no shell, our own arguments
