from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transcripts.agreement.pure.label_table import LabelTable, build_table
from transcripts.agreement.pure.measuring import measure_agreement

KEYS: dict[str, Any] = {
    "coders": ["anna", "ben"],
    "codes": [7, 8],
    "units": [101, 102, 103],
    "clusters": ["first", "second", "first"],
}


def build(**given: Any) -> LabelTable:
    return build_table(**{**KEYS, "decided": [], "labels": [], **given})


def test_table_is_built_from_keys_of_any_kind() -> None:
    decided = [(coder, unit) for coder in ("anna", "ben") for unit in (101, 102)]
    table = build(decided=decided, labels=[("anna", 101, 7), ("ben", 101, 7), ("ben", 102, 8)])
    assert (table.coders, table.codes) == (("anna", "ben"), ("7", "8"))
    assert table.decided.tolist() == [[True, True, False], [True, True, False]]
    assert table.labels[0].tolist() == [[True, False, False], [True, False, False]]
    assert table.labels[1].tolist() == [[False, False, False], [False, True, False]]
    assert table.clusters.tolist() == [0, 1, 0]
    agreement = measure_agreement(table, seed=1, resamples=0)
    assert [[*(code.counts or {}).values()] for code in agreement.codes] == [[1, 0, 0, 1], [0, 0, 1, 1]]


def test_label_on_an_undecided_unit_is_left_out() -> None:
    table = build(decided=[("anna", 101)], labels=[("anna", 101, 7), ("anna", 102, 7), ("ben", 101, 7)])
    assert table.labels.sum() == 1


def test_table_without_decisions_is_empty_but_whole() -> None:
    table = build()
    assert table.labels.shape == (2, 2, 3)
    assert not table.decided.any()


@pytest.mark.parametrize(
    "given",
    [
        {"decided": [("cem", 101)]},
        {"decided": [("anna", 999)]},
        {"labels": [("anna", 101, 9)]},
    ],
)
def test_key_that_is_not_in_the_lists_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"('cem'|999|9) is not among the coders, units and codes"):
        build(**given)


def test_key_that_occurs_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="occurs twice"):
        build(coders=["anna", "anna"])


def test_every_unit_needs_its_cluster() -> None:
    with pytest.raises(ValueError, match="3 units and 1 clusters"):
        build(clusters=["first"])


def test_decisions_may_differ_from_code_to_code() -> None:
    labels = np.ones((2, 2, 2), dtype=bool)
    decided = np.ones((2, 2, 2), dtype=bool)
    decided[1, 0, 1] = False
    table = LabelTable(("anna", "ben"), ("x", "y"), labels, decided, np.arange(2))
    agreement = measure_agreement(table, seed=1, resamples=20)
    assert [code.n_units for code in agreement.codes] == [2, 1]
