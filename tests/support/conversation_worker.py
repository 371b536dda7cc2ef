"""A worker that also knows the talks of the engine's tests: ``python -m tests.support.conversation_worker OPTIONS``."""

from __future__ import annotations

import os
import sys

import django
from django.core.management import execute_from_command_line


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "auditapp.settings")
    django.setup()
    from tests.auditapp.batches.trial_kinds import register

    register()
    execute_from_command_line(["manage.py", "worker", "--skip-checks", *sys.argv[1:]])


if __name__ == "__main__":
    main()
