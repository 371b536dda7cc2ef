"""An instance ready for batches, to be copied by each test of the engine in real processes."""

import pytest

from auditapp.batches import kinds
from tests.auditapp.batches.cast import Ground, stand_on
from tests.auditapp.batches.trial_kinds import Numbers
from tests.conftest import refilled


@pytest.fixture
def ground(own_instance, prepared, paid_api):
    """The session's instance with a copy of its data; the paid API's orders and counts begin anew."""
    paid_api.order(reset=True)
    with refilled(own_instance, prepared) as instance:
        yield from stand_on(Ground(instance, paid_api))


@pytest.fixture
def numbers(monkeypatch):
    """The kind of the batches that ``counting`` launches, registered."""
    kind = Numbers()
    monkeypatch.setitem(kinds._kinds, kind.name, kind)
    return kind
