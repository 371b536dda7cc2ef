"""How much is logged about a failed request."""

from __future__ import annotations

import logging

FAILURE = 500


class BriefRefusals(logging.Filter):
    """Log one line for a request that was refused or not found, because the program did what it should. A failure keeps
    its traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", FAILURE) < FAILURE:
            record.exc_info = record.exc_text = None
        return True
