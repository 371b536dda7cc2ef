"""How long a reason may be."""

from __future__ import annotations

MAX_REASON = 2_000
