"""An instance ready for batches, to be copied by each test of the engine in real processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from auditapp.batches import kinds
from tests.auditapp.batches.counting import Numbers
from tests.auditapp.batches.ground import Ground, prepare, stand_on
from tests.conftest import copy_instance, refilled
from tests.instance import FakeProvider, Instance, Preloaded


@pytest.fixture(scope="session")
def prepared(
    migrated: Instance, paid_api: FakeProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Instance]:
    """A study with a priced model at the fake paid API and texts to judge; it runs nothing."""
    with copy_instance(migrated, tmp_path_factory.mktemp("prepared") / "data") as instance:
        prepare(instance, paid_api)
        yield instance


@pytest.fixture
def ground(own_instance: Preloaded, prepared: Instance, paid_api: FakeProvider) -> Iterator[Ground]:
    """The session's instance with a copy of its data; the paid API's orders and counts begin anew."""
    paid_api.order(reset=True)
    with refilled(own_instance, prepared) as instance:
        yield from stand_on(Ground(instance, paid_api))


@pytest.fixture
def numbers(monkeypatch: pytest.MonkeyPatch) -> Numbers:
    """The kind of the batches that ``counting`` launches, registered."""
    kind = Numbers()
    monkeypatch.setitem(kinds._kinds, kind.name, kind)
    return kind
