"""The storm of `make chaos`, small: a fault every second, on PostgreSQL and Redis of its own."""

import pytest

from tests.support.services import database_kind
from tests.support.storm import Plan, run_storm

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(database_kind() != "postgres", reason="a storm needs PostgreSQL and Redis"),
]


@pytest.mark.full
def test_a_small_storm_loses_nothing_and_crosses_no_cap():
    plan = Plan(
        cells=450,
        in_flight=10,
        latency=1.5,
        least_pause=0.4,
        longest_pause=1.2,
        redis_away=3,
        retry_after=2,
        frozen=0,
        patience=400,
        faults=8,
    )
    report = run_storm(plan)
    assert [check["sentence"] for check in report["checks"] if not check["kept"]] == []
    assert len(report["faults"]) >= 4, "the batch was over before the storm began"
