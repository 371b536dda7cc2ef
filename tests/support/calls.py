"""What somebody must follow who wants to understand a page: the functions of ours that a request enters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[2]
PRODUCT = tuple(f"{ROOT / package}/" for package in ("auditapp", "transcripts"))


@contextmanager
def list_followed(view: str) -> Iterator[set[str]]:
    """The functions of product code that are entered while this is open, from the view of that name on, each once. Template tags
    are left out with all that they call, and so are functions without a name."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _value: object) -> None:
        code, each = frame.f_code, frame
        if event != "call" or not code.co_filename.startswith(PRODUCT) or code.co_name.startswith("<"):
            return
        while each.f_code.co_name != view:
            if each.f_back is None or "/templatetags/" in each.f_code.co_filename:
                return
            each = each.f_back
        found.add(f"{Path(code.co_filename).relative_to(ROOT)} {code.co_qualname}")

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
