"""The engine in real processes: a worker over the broker of this session, and a provider that counts what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import copy_instance
from tests.instance import FakeProvider, Instance, kill_group, wait_until

pytestmark = pytest.mark.processes

TEXTS = 100
IN_FLIGHT = 20


@pytest.fixture(scope="module")
def prepared(
    migrated: Instance, paid_api: FakeProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Instance]:
    """A study with a priced model at the fake provider and texts to judge, to be copied by each test."""
    folder = tmp_path_factory.mktemp("prepared")
    file = folder / "texts.jsonl"
    lines = (f'{{"text": "Invented text number {number}.", "target": "old"}}\n' for number in range(TEXTS))
    file.write_text("".join(lines), encoding="utf-8")
    with copy_instance(migrated, folder / "data") as instance:
        prices = ("--price-in", "1", "--price-out", "2")
        address = ("--base-url", paid_api.base_url, "--model", "m")
        instance.manage("add_model", "m", "--provider", "openai_compatible", *address, *prices)
        assert instance.ask("sob_load", str(file), "--name", "texts")["texts"] == TEXTS
        yield instance


@pytest.fixture
def instance(prepared: Instance, tmp_path: Path) -> Iterator[Instance]:
    with copy_instance(prepared, tmp_path / "data") as instance:
        yield instance


def launch(instance: Instance, *more: str) -> int:
    asked = ("--dataset", "texts", "--model", "m", "--task", "acceptability", "--concurrency", str(IN_FLIGHT))
    return int(instance.ask("sob_launch", *asked, *more)["batch"])


def show(instance: Instance, batch: int) -> dict[str, Any]:
    return dict(instance.ask("batch", "show", str(batch)))


def wait_for_end(instance: Instance, batch: int) -> dict[str, Any]:
    state = f"SELECT state FROM batches_batch WHERE id = {batch}"
    wait_until(lambda: instance.query(state) != [("running",)], what="the batch ended")
    return show(instance, batch)


def test_a_worker_makes_every_call_once_and_stores_every_answer(
    instance: Instance, fake_provider: FakeProvider
) -> None:
    fake_provider.order(latency=0.02)
    instance.start_worker()
    shown = wait_for_end(instance, launch(instance))
    assert shown["state"] == "done"
    assert sum(shown["outcomes"].values()) == TEXTS
    assert set(shown["outcomes"]) <= {"attributed", "unknown"}
    assert fake_provider.stats()["answered"] == TEXTS
    assert fake_provider.stats()["paid_twice"] == 0
    assert shown["spent"] == pytest.approx(TEXTS * (100 * 1 + 20 * 2) / 1e6)
    report = instance.ask("sob_report", "--batch", str(shown["batch"]))
    assert report["cells"][0]["n_responses"] == TEXTS


def test_a_killed_worker_loses_no_cell_and_tells_what_may_be_paid_twice(
    instance: Instance, fake_provider: FakeProvider
) -> None:
    fake_provider.order(latency=0.4)
    worker = instance.start_worker()
    batch = launch(instance)
    wait_until(lambda: fake_provider.stats()["answered"] >= TEXTS // 3, what="a third was answered")
    kill_group(worker)
    fake_provider.order(latency=0.02)
    instance.start_worker()
    shown = wait_for_end(instance, batch)
    stats = fake_provider.stats()
    assert shown["state"] == "done"
    assert sum(shown["outcomes"].values()) == TEXTS
    assert stats["calls"] == TEXTS
    assert stats["paid_twice"] <= IN_FLIGHT
    assert shown["possibly_paid_twice"] >= stats["paid_twice"]
    assert shown["possibly_paid_twice"] <= IN_FLIGHT


def test_rate_limits_and_server_errors_leave_no_cell_without_an_answer(
    instance: Instance, fake_provider: FakeProvider
) -> None:
    fake_provider.order(latency=0.01, p429=0.05, p500=0.05)
    instance.start_worker()
    shown = wait_for_end(instance, launch(instance))
    stats = fake_provider.stats()
    assert sum(shown["outcomes"].values()) == TEXTS
    assert "provider_error" not in shown["outcomes"]
    assert stats["refused"] > 0
    assert stats["paid_twice"] == 0
    assert shown["calls"] == stats["received"]


def test_a_revoked_key_stops_the_batch_within_the_calls_in_flight(
    instance: Instance, fake_provider: FakeProvider
) -> None:
    fake_provider.order(always_status=401)
    instance.start_worker()
    shown = wait_for_end(instance, launch(instance))
    assert shown["state"] == "paused"
    assert "status 401" in shown["state_reason"]
    assert fake_provider.stats()["received"] <= 3 * IN_FLIGHT


def test_the_cap_holds_while_calls_run_in_parallel(instance: Instance, fake_provider: FakeProvider) -> None:
    fake_provider.order(latency=0.01)
    instance.start_worker()
    shown = wait_for_end(instance, launch(instance, "--cap", "0.01"))
    assert shown["state"] == "paused"
    assert "cap" in shown["state_reason"]
    assert 0 < shown["spent"] <= 0.01
    assert fake_provider.stats()["answered"] < TEXTS


def test_without_a_worker_the_waiting_command_does_the_work(instance: Instance, fake_provider: FakeProvider) -> None:
    asked = ("--dataset", "texts", "--model", "m", "--task", "acceptability", "--limit", "10", "--wait")
    shown = instance.ask("sob_launch", *asked)
    assert shown["state"] == "done"
    assert shown["cells"] == 10
    assert fake_provider.stats()["answered"] == 10
