"""Who applied which code to which unit, as arrays: what agreement is measured on.

A unit is what coders decide about, a sentence as a rule. A cluster is a turn: its sentences depend on one another, so
a bootstrap draws turns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transcripts.statistics.coefficients import Floats

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
