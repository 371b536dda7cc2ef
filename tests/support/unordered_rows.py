"""
Rows that were asked for without an order, handed out in the order nobody expects.

A database may return such rows in any order, and PostgreSQL does so once it reuses a page's free space: a test
(or a page) that counts on the order of insertion fails there one day in a hundred. Here it fails at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from django.db.models.sql.compiler import SQLCompiler


def _has_order(compiler: SQLCompiler) -> bool:
    query = compiler.query
    by_model = query.default_ordering and query.get_meta() is not None and query.get_meta().ordering
    return bool(query.extra_order_by or query.order_by or (by_model and not query.group_by))


@contextmanager
def unordered_rows_reversed() -> Iterator[None]:
    """Inside, every query without an order of its own yields its rows last first."""
    in_order = SQLCompiler.results_iter

    def last_first(compiler: SQLCompiler, *args: Any, **kwargs: Any) -> Iterator[Any]:
        rows = in_order(compiler, *args, **kwargs)
        return rows if _has_order(compiler) else reversed(list(rows))

    with patch.object(SQLCompiler, "results_iter", last_first):
        yield
