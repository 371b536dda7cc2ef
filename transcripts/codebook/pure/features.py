"""Which codes are features of a case. Knows nothing of Django."""

from __future__ import annotations

FEATURE_FAMILY = "case_features"
FEATURE_PREFIX = "feature."


def is_feature(identifier: str, family: str) -> bool:
    """Whether a code is a feature: one of the family ``case_features``, or one of another family that is named ``feature.…``."""
    return family == FEATURE_FAMILY or identifier.startswith(FEATURE_PREFIX)
