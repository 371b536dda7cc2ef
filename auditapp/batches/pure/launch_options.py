"""How a batch is sent: chosen on a form or a command line, checked and stored by ``launch_batch``."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from decimal import Decimal

MAX_IN_FLIGHT = 1000
MAX_REPEATS = 1000


@dataclass(frozen=True, kw_only=True)
class LaunchOptions:
    """The part of a launch that does not depend on what is asked.

    ``pilot``: calls of each arm that are sent first, 0 for no pilot. ``route`` and ``lost_answers`` are values of
    ``Batch.Route`` and ``Batch.LostAnswers``. Two launches with the same ``idempotency_key`` make one batch.
    """

    repeats: int = 1
    concurrency: int = 30
    pilot: int = 0
    cap_usd: Decimal | None = None
    route: str = "live"
    lost_answers: str = "retry"
    uses_cache: bool = False
    idempotency_key: uuid.UUID | None = None


DEFAULT_OPTIONS = LaunchOptions()
