"""What a line of the log looks like, and how much is logged about a failed request."""

from __future__ import annotations

import logging
import re
import time

FAILURE = 500
# Characters that would begin a line, or steer the terminal of anybody who reads the log.
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {0x2028: "\\u2028", 0x2029: "\\u2029"}

# What follows signs somebody in.
LINK = re.compile(r"(/sign-in/)[^/\s\"'<>?]+")


class Line(logging.Formatter):
    """A message is one line, whatever somebody typed or a server said; its time is UTC. A traceback follows as it is. No link that
    signs somebody in is in either, whatever logs it."""

    converter = time.gmtime  # type: ignore[assignment]  # as the standard library documents it
    default_msec_format = "%s.%03dZ"
    default_time_format = "%Y-%m-%dT%H:%M:%S"

    def format(self, record: logging.LogRecord) -> str:
        return LINK.sub(r"\1...", super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        return super().formatMessage(record).translate(CONTROLS)


class BriefRefusals(logging.Filter):
    """Log one line for a request that was refused or not found, because the program did what it should. A failure keeps
    its traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", FAILURE) < FAILURE:
            record.exc_info = record.exc_text = None
        return True
