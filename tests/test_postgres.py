"""No SQL of our own goes untested on PostgreSQL by `make test`."""

from __future__ import annotations

from tests import postgres
from tests.postgres import ROOT, choose_files, find_imports, find_own_sql


def test_all_sql_of_our_own_is_reached_by_a_module_that_runs_on_postgresql() -> None:
    own_sql, chosen = find_own_sql(), choose_files()
    imported = {name for path in chosen for name in find_imports((ROOT / path).read_text(encoding="utf-8"))}
    assert len(own_sql) > 10
    unreached = own_sql - imported - postgres.REACHED_THROUGH.keys()
    assert unreached == set(), "name a test module that reaches them in tests/postgres.py (REACHED_THROUGH)"


def test_the_list_of_modules_reached_by_a_page_is_not_stale() -> None:
    assert postgres.REACHED_THROUGH.keys() - find_own_sql() == set()
    assert {*postgres.REACHED_THROUGH.values(), *postgres.ALSO} - set(choose_files()) == set()
    imported = {name for path in choose_files() for name in find_imports((ROOT / path).read_text(encoding="utf-8"))}
    assert postgres.EVERYWHERE in imported
