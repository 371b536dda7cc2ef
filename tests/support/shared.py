"""Real input that lies beside the study, for tests that gain from it and pass without it."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared"


def shared(relative: str) -> Path:
    """Path of a file under ``../shared``; skips the calling test where it is not there."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"{relative} is not beside this checkout")
    return path
