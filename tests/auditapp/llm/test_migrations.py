"""An instance from before there were accounts: after the upgrade every model, price, attempt and queue is where it belongs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.instance import Instance
from tests.old_migrations import migrate_originals, unmigrated_instance

pytestmark = [pytest.mark.processes, pytest.mark.full]

AT = "'2026-11-01 10:00:00'"
HASH = "'" + "0" * 64 + "'"
OPENAI = "https://api.openai.com/v1"
LOCAL = "http://127.0.0.1:11434/v1"


def variant(label: str, base_url: str, model: str, key_env: str, price: str) -> str:
    provider = "openai_compatible" if base_url else "fake"
    return (
        "INSERT INTO llm_modelvariant (label, provider, base_url, model, key_env, reasoning, max_tokens, parameters, "
        f"price_in, price_out, created_at) VALUES ('{label}', '{provider}', '{base_url}', '{model}', '{key_env}', "
        f"'', 1024, '{{}}', {price}, {price}, {AT})"
    )


def batch(number: int) -> str:
    return (
        "INSERT INTO batches_batch (kind, title, parameters, control, state, state_reason, concurrency, reserved_nano, "
        f"spent_nano, launched_by_name, created_at, project_id) SELECT 'sob', 'Batch {number}', '{{}}', 'run', 'running', '', "
        f"30, 0, 0, 'x', {AT}, id FROM projects_project"
    )


def arm(batch_id: int, label: str, task: str) -> str:
    return (
        "INSERT INTO batches_arm (batch_id, variant_id, task, system_prompt, prompt_hash, settings, price_in, price_out) "
        f"SELECT {batch_id}, id, '{task}', 'Say it.', {HASH}, '{{}}', price_in, price_out "
        f"FROM llm_modelvariant WHERE label = '{label}'"
    )


def cell(arm_id: int, input_id: int, batch_id: int = 1) -> str:
    return (
        "INSERT INTO batches_cell (batch_id, arm_id, input_id, repeat, state, outcome, fence, tries, unknown_ends, "
        f"lease_owner) VALUES ({batch_id}, {arm_id}, {input_id}, 1, 'planned', '', 1, 1, 0, '')"
    )


def attempt(cell_id: int) -> str:
    return (
        "INSERT INTO batches_attempt (cell_id, fence, request_id, runner, request_hash, reserved_nano, written_at, "
        '"end", done_at, error, provider_request_id, served_model, finish_reason, raw) VALUES '
        f"({cell_id}, 1, '{cell_id:032x}', 'x', {HASH}, 0, {AT}, 'answered', {AT}, '', '', '', '', '')"
    )


def lane_of(batch_id: int) -> str:
    return f"INSERT INTO batches_lane (batch_id, name, runner) VALUES ({batch_id}, 'openai_compatible {OPENAI}', '')"


BEFORE = [
    f"INSERT INTO projects_project (slug, name, description, created_at) VALUES ('study', 'Study', '', {AT})",
    variant("low", OPENAI, "o4-mini", "A_KEY", "1.5"),
    variant("high", OPENAI, "o4-mini", "A_KEY", "1.5"),
    variant("small", OPENAI, "gpt-4o-mini", "A_KEY", "0.15"),
    variant("theirs", OPENAI, "o4-mini", "ANOTHER_KEY", "2"),
    variant("llama", LOCAL, "llama3.1", "", "NULL"),
    variant("invented", "", "fake", "", "0"),
    batch(1),
    batch(2),
    *(arm(1, label, "acceptability") for label in ("low", "high", "small")),
    arm(2, "llama", "acceptability"),
    *(cell(number, 7) for number in (1, 2, 3)),
    cell(4, 7, batch_id=2),
    *(attempt(number) for number in (1, 2, 3, 4)),
    lane_of(1),
    lane_of(2),
]


@pytest.fixture
def upgraded(tmp_path: Path) -> Iterator[Instance]:
    with unmigrated_instance(tmp_path / "data") as instance:
        migrate_originals(instance, "llm.0001_start", "batches.0001_start")
        instance.write(BEFORE)
        instance.manage("migrate", "-v0")
        yield instance


def test_an_upgrade_sorts_models_into_accounts_and_attempts_into_arms(upgraded: Instance) -> None:
    accounts = upgraded.query(
        "SELECT v.label, a.name, a.provider, a.base_url, a.key_env FROM llm_modelvariant v "
        "JOIN llm_provideraccount a ON a.id = v.account_id ORDER BY v.id"
    )
    assert accounts == [
        ("low", "api.openai.com", "openai_compatible", OPENAI, "A_KEY"),
        ("high", "api.openai.com", "openai_compatible", OPENAI, "A_KEY"),
        ("small", "api.openai.com", "openai_compatible", OPENAI, "A_KEY"),
        ("theirs", "api.openai.com 2", "openai_compatible", OPENAI, "ANOTHER_KEY"),
        ("llama", "127.0.0.1:11434", "openai_compatible", LOCAL, ""),
        ("invented", "fake", "fake", "", ""),
    ]
    prices = upgraded.query(
        "SELECT a.name, p.model, p.number, p.price_in FROM llm_price p "
        "JOIN llm_provideraccount a ON a.id = p.account_id ORDER BY p.id"
    )
    assert [(name, model, number, float(price)) for name, model, number, price in prices] == [
        ("api.openai.com", "o4-mini", 1, 1.5),
        ("api.openai.com", "gpt-4o-mini", 1, 0.15),
        ("api.openai.com 2", "o4-mini", 1, 2.0),
        ("fake", "fake", 1, 0.0),
    ]
    assert upgraded.query("SELECT address FROM llm_allowedaddress") == [("127.0.0.1:11434",)]
    attempts = upgraded.query(
        "SELECT t.arm_id, c.arm_id FROM batches_attempt t JOIN batches_cell c ON c.id = t.cell_id ORDER BY t.id"
    )
    assert attempts == [(1, 1), (2, 2), (3, 3), (4, 4)]
    queues = upgraded.query(
        "SELECT l.batch_id, a.name, l.name FROM batches_workqueue l JOIN llm_provideraccount a "
        "ON l.name LIKE CAST(a.id AS text) || ':%' ORDER BY l.batch_id, l.name"
    )
    assert [(batch_id, name, queue.partition(":")[2]) for batch_id, name, queue in queues] == [
        (1, "api.openai.com", "gpt-4o-mini"),
        (1, "api.openai.com", "o4-mini"),
        (2, "127.0.0.1:11434", "llama3.1"),
    ]
