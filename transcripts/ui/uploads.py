"""Which pages take large requests: the web server refuses others by their size, before it reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

View = TypeVar("View", bound=Callable[..., Any])

MEGABYTE = 1024 * 1024
# What any page takes from somebody who may be signed in: forms, and requests to the API.
USUAL_BYTES = 10 * MEGABYTE
TO_BE_REFUSED_IN_WORDS = 16 * MEGABYTE


def takes_uploads(largest_file: int) -> Callable[[View], View]:
    """Decorate a view that takes files of up to so many bytes. Somewhat larger ones reach it too, so that it can say so in
    words of its own."""

    def mark(view: View) -> View:
        view.largest_request = largest_file + TO_BE_REFUSED_IN_WORDS  # type: ignore[attr-defined]
        return view

    return mark


def read_largest_request(view: Callable[..., Any]) -> int:
    """The most bytes that a request to ``view`` may have."""
    return int(getattr(view, "largest_request", USUAL_BYTES))
