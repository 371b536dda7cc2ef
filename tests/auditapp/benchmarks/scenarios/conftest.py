import pytest

from tests.auditapp.batches.cast import Ground, stand_on
from tests.auditapp.batches.trial_kinds import make_variant
from tests.auditapp.benchmarks.scenarios.cast import launch, load_suite
from tests.conftest import refilled


@pytest.fixture
def ground(own_instance, prepared, paid_api):
    """The session's instance with a copy of its data; the paid API's orders and counts begin anew."""
    paid_api.order(reset=True)
    with refilled(own_instance, prepared) as instance:
        yield from stand_on(Ground(instance, paid_api))


@pytest.fixture
def variant():
    return make_variant("qwertzmodel")


@pytest.fixture
def batch(study, variant):
    """The suite, launched with one model; nothing is asked yet."""
    load_suite(study)
    return launch(study, variant)
