"""What measuring a machine against people gives. Loads nothing heavy, for every page knows these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from transcripts.agreement.pure.figures import Figure
from transcripts.agreement.pure.shares import Interval

FEW_POSITIVES = 10
"""Below as many labels by people with the code, no figure about it tells anything."""


class CrossTable(NamedTuple):
    """Labels by who put the code: both, only the machine, only the person, neither."""

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def n(self) -> int:
        return sum(self)


class Estimate(NamedTuple):
    """A figure with its interval over turns, the ``interval`` by formula, and how many labels it is a share of."""

    figure: Figure
    interval: Interval | None
    n: int

    @property
    def value(self) -> float | None:
        return self.figure.value


class PeopleAmongThemselves(NamedTuple):
    """People with one another, and with the machine, on the same ``n_units`` units, which two or more decided.

    ``kappa`` is the mean over ``pairs`` pairs of coders, ``machine_kappa`` the mean over the same coders of each with the
    machine; the same for positive agreement.
    """

    n_units: int
    pairs: int
    kappa: Figure
    positive_agreement: Figure
    machine_kappa: Figure
    machine_positive_agreement: Figure


class CodeCalibration(NamedTuple):
    """One code. ``figures`` by name, see ``FIGURES``; ``people`` is None where no unit was decided by two."""

    code: str
    table: CrossTable
    n_units: int
    n_turns: int
    n_coders: int
    figures: Mapping[str, Estimate]
    people: PeopleAmongThemselves | None
    warnings: tuple[str, ...]


class Calibration(NamedTuple):
    """All codes. ``n_labels`` and ``n_units`` are of all of them together, each label of a family counted once."""

    codes: tuple[CodeCalibration, ...]
    n_clusters: int
    seed: int
    resamples: int
