"""The names under which the batch engine knows this room's three kinds of batches."""

from __future__ import annotations

KIND = "preannotation"
CHECK_KIND = "preannotation_check"
CRITIC_KIND = "preannotation_critic"
