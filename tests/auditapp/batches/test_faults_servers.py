"""Redis and PostgreSQL that go and come back: the batch waits, goes on by itself, and repeats no call."""

import os
import time

import pytest

from tests.auditapp.batches.cast import IN_FLIGHT, TEXTS, Ground, prepare, stand_on
from tests.conftest import create_database, find_database
from tests.support.instance import Instance, wait_until
from tests.support.servers import OwnServers
from tests.support.services import database_kind

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(database_kind() != "postgres", reason="needs PostgreSQL and Redis, which SQLite does without"),
]


@pytest.fixture(scope="module")
def servers():
    servers = OwnServers()
    if servers.database_url is None or servers.redis_url is None:
        servers.stop()
        pytest.skip("needs the PostgreSQL that pip installs, and a Redis")
    yield servers
    servers.stop()


@pytest.fixture(scope="module")
def prepared_here(servers, paid_api, tmp_path_factory):
    """The address of a prepared database on these servers, to be copied."""
    assert servers.database_url is not None
    with create_database(servers.database_url) as url:
        instance = Instance(tmp_path_factory.mktemp("prepared"), database_url=url)
        instance.manage("migrate", "-v0")
        prepare(instance, paid_api)
        yield url


@pytest.fixture
def ground(servers, prepared_here, paid_api, tmp_path):
    assert servers.database_url is not None
    assert servers.redis_url is not None
    paid_api.order(reset=True)
    servers.flush_redis()
    template = prepared_here.split("?", maxsplit=1)[0].rsplit("/", 1)[1]
    with create_database(servers.database_url, template=template) as url:
        instance = Instance(tmp_path / "data", database_url=url, redis_url=servers.redis_url)
        yield from stand_on(Ground(instance, paid_api))


@pytest.fixture
def own_redis():
    servers = OwnServers("--only", "redis")
    if servers.redis_url is None:
        servers.stop()
        pytest.skip("needs a Redis")
    yield servers
    servers.stop()


@pytest.fixture
def ground_on_own_redis(own_redis, prepared, paid_api, tmp_path):
    """On the session's PostgreSQL, which nothing happens to."""
    assert own_redis.redis_url is not None
    paid_api.order(reset=True)
    with create_database(os.environ["DATABASE_URL"], template=find_database(prepared)) as url:
        instance = Instance(tmp_path / "data", database_url=url, redis_url=own_redis.redis_url)
        yield from stand_on(Ground(instance, paid_api))


def check_nothing_repeated(ground, batch):
    """Only workers' ends may cost a call twice; the end of a server never does."""
    shown = ground.wait_for_end(batch)
    ground.check_whole(batch, cells=TEXTS, shown=shown)
    assert ground.provider.stats()["paid_twice"] == 0
    assert shown["possibly_paid_twice"] == 0


def test_redis_killed_flushed_and_down_for_seconds_costs_no_call(ground_on_own_redis, own_redis):
    ground = ground_on_own_redis
    ground.provider.order(latency=0.5)
    worker = ground.instance.start_worker()
    batch = ground.launch()
    ground.wait_for_answers(TEXTS // 6)
    own_redis.order("redis", "kill", "start")
    ground.wait_for_answers(TEXTS // 3)
    own_redis.flush_redis()
    ground.wait_for_answers(TEXTS // 2)
    own_redis.order("redis", "kill")
    time.sleep(4)
    own_redis.order("redis", "start")
    check_nothing_repeated(ground, batch)
    # And a batch launched afterwards is taken up by the same worker, whose connection is a new one.
    again = ground.launch("--limit", "20", model="other")
    assert ground.wait_for_end(again)["state"] == "done"
    assert worker.poll() is None


@pytest.mark.full
def test_a_batch_launched_while_redis_is_down_is_accepted_and_begins_when_it_is_back(ground, servers):
    ground.instance.start_worker()
    wait_until(lambda: ground.count("workersign") > 0, what="a worker was heard from")
    servers.order("redis", "kill")
    batch = ground.launch()
    servers.order("redis", "start")
    check_nothing_repeated(ground, batch)


@pytest.mark.full
@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_restart_of_postgresql_loses_no_answer_and_repeats_no_call(ground, servers, how):
    """Calls in flight as it goes come to their end, wait in the spool, and are stored when it is back."""
    ground.provider.order(latency=0.5)
    worker = ground.instance.start_worker()
    batch = ground.launch()
    for share in (0.2, 0.5):
        ground.wait_for_answers(int(TEXTS * share))
        servers.order("postgres", how)
        before = ground.provider.stats()["received"]
        wait_until(ground.is_at_rest, what="nothing more was sent without a database")
        # What was written ahead may leave until a turn of the database fails: as many as are in flight, twice over at most.
        assert ground.provider.stats()["received"] <= before + 2 * IN_FLIGHT
        servers.order("postgres", "start")
    check_nothing_repeated(ground, batch)
    assert worker.poll() is None
