"""How much of a request that went wrong is written into the log."""

from __future__ import annotations

import logging

FAILURE = 500


class BriefRefusals(logging.Filter):
    """One line for a request that was refused or asked for what is not there: the program did what it should, so how it
    came to that is no news. Of a failure everything is kept."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", FAILURE) < FAILURE:
            record.exc_info = record.exc_text = None
        return True
