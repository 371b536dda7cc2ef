"""Who applied which code to which unit, as arrays: what agreement is measured on.

A unit is what coders decide about, a sentence as a rule. A cluster is a turn: its sentences depend on one another, so
a bootstrap draws turns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transcripts.agreement.pure.coefficients import Floats

Bools = NDArray[np.bool_]
Places = NDArray[np.intp]


class LabelTable(NamedTuple):
    """Yes-or-no labels.

    ``labels``: codes x coders x units, whether the coder applied the code to the unit; False where not decided.
    ``decided``: coders x units, whether the coder decided about the unit at all, "read, no code" included; or codes x
    coders x units where that differs from code to code. ``clusters``: for each unit the number of its cluster, from 0.
    """

    coders: tuple[str, ...]
    codes: tuple[str, ...]
    labels: Bools
    decided: Bools
    clusters: Places

    def get_decided(self, code: int) -> Bools:
        """Coders x units: whether the coder decided about this code on the unit."""
        return self.decided if self.decided.ndim == 2 else self.decided[code]


class RatingTable(NamedTuple):
    """Numbers on a scale.

    ``ratings``: codes x coders x units, NaN where the coder gave none. ``clusters``: for each unit the number of its
    cluster, from 0.
    """

    coders: tuple[str, ...]
    codes: tuple[str, ...]
    ratings: Floats
    clusters: Places


def build_table(
    *,
    coders: Sequence[Hashable],
    codes: Sequence[Hashable],
    units: Sequence[Hashable],
    clusters: Sequence[Hashable],
    decided: Iterable[tuple[Hashable, Hashable]],
    labels: Iterable[tuple[Hashable, Hashable, Hashable]],
) -> LabelTable:
    """A table from what a database holds, with keys of any kind.

    ``decided`` holds (coder, unit) and ``labels`` (coder, unit, code).

    ``clusters`` has the key of the turn for each of ``units``. Labels on units that their coder has not decided do not
    count. Raises ``ValueError`` for a key that occurs twice, or that a decision or label has and the lists have not.
    The same seed gives the same intervals only when units come in the same order.
    """
    coder_places, code_places, unit_places = map(_number, (coders, codes, units))
    if len(clusters) != len(units):
        raise ValueError(f"There are {len(units)} units and {len(clusters)} clusters.")
    is_decided = np.zeros((len(coders), len(units)), dtype=bool)
    is_labelled = np.zeros((len(codes), len(coders), len(units)), dtype=bool)
    try:
        pairs = [(coder_places[coder], unit_places[unit]) for coder, unit in decided]
        triples = [(code_places[code], coder_places[coder], unit_places[unit]) for coder, unit, code in labels]
    except KeyError as error:
        raise ValueError(f"{error.args[0]!r} is not among the coders, units and codes of the table.") from error
    if pairs:
        is_decided[tuple(np.array(pairs).T)] = True
    if triples:
        is_labelled[tuple(np.array(triples).T)] = True
    numbers: dict[Hashable, int] = {}
    placed = np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], dtype=np.intp)
    return LabelTable(tuple(map(str, coders)), tuple(map(str, codes)), is_labelled & is_decided, is_decided, placed)


def _number(keys: Sequence[Hashable]) -> dict[Hashable, int]:
    places = {key: place for place, key in enumerate(keys)}
    if len(places) != len(keys):
        raise ValueError("A key of the table occurs twice.")
    return places
