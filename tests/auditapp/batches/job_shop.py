"""The batch services of the fake paid API, as a test orders them about and asks what they counted."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from tests.support.instance import FakeProvider


class Shop:
    """Speaks to the routes of ``tests/support/fake_jobs.py``."""

    def __init__(self, provider: FakeProvider) -> None:
        self.provider = provider
        self.address = provider.base_url.removesuffix("/v1")

    def order(self, **orders: object) -> None:
        self._ask("/jobs/orders", json.dumps(orders).encode())

    def stats(self) -> dict[str, Any]:
        return dict(json.loads(self._ask("/jobs/stats")))

    def _ask(self, path: str, data: bytes | None = None) -> bytes:
        with urllib.request.urlopen(self.address + path, data=data, timeout=10) as response:
            return bytes(response.read())
