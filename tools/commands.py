"""The command line behind the Makefile."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tools.environment import ensure_environment, ensure_local_model
from tools.problem import CannotGoOn
from tools.run_tests import run_tests
from tools.start import start_app

COMMANDS = ("run", "setup", "learn", "parquet", "local-model", "test", "test-ci", "test-all")


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status; a problem becomes one line on stderr and status 1."""
    parser = argparse.ArgumentParser(prog="tools.launch", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument(
        "--skip-setup", action="store_true", help="use the Python that runs this as it is; install nothing"
    )
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        if options.command == "run":
            return start_app(
                port=os.environ.get("PORT", "8000"),
                data=os.environ.get("DATA", "var"),
                model=os.environ.get("MODEL", ""),
                find_python=lambda: _find_python("base", skip_setup=options.skip_setup),
                find_local_model=ensure_local_model,
            )
        if options.command == "local-model":
            ensure_local_model()
            return 0
        if options.command in {"learn", "parquet"}:
            _find_python(options.command, skip_setup=options.skip_setup)
            return 0
        python = _find_python("dev", skip_setup=options.skip_setup)
        if options.command == "setup":
            return 0
        return run_tests(python, options.command)
    except CannotGoOn as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0 if options.command == "run" else 130


def _find_python(group: str, *, skip_setup: bool) -> Path:
    return Path(sys.executable) if skip_setup else ensure_environment(group)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # One way out for Ctrl-C, `kill` and a closed terminal.
    raise KeyboardInterrupt
