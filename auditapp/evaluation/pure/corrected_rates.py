"""How often a code occurs in the corpus, estimated from a machine's labels and corrected with people's labels of a random
part.

Prediction-powered inference for a mean (Angelopoulos and others 2023, Science 382:669), and the correction of Rogan and Gladen
(1978, American Journal of Epidemiology 107:71) as a check. A rate outside 0 to 1 is reported unchanged with a note, because a
truncated rate would look like a valid one. Loads numpy; pages import this inside functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transcripts.statistics.figures import Interval, write_percent

_Z = 1.959963984540054
MIN_TURNS = 30
MIN_LABELLED = 100
MIN_POSITIVES = 10
MIN_READ = 0.95
_ROUNDING = 1e-12


class CorrectedRate(NamedTuple):
    """``rate`` is ``naive``, the machine's own share among the unlabelled units, plus ``rectifier``, by how much more often
    people than the machine say yes on the labelled units. ``error`` and ``interval`` are large-sample estimates; None if
    undefined."""

    rate: float | None
    naive: float | None
    rectifier: float | None
    error: float | None
    interval: Interval | None
    n_labelled: int
    n_unlabelled: int

    @property
    def is_outside(self) -> bool:
        """Whether the rate is below 0 or above 1, as a sum of two estimates can be."""
        return is_outside(self.rate)


class Sample(NamedTuple):
    """Units with the machine's labels: those that people also labelled, and the others. ``turns`` are clusters.

    ``people`` is the share of a unit's coders who applied the code. ``weights`` are one over the probability with which the
    unit's turn was drawn; for the others, one over the probability with which it was not drawn.
    """

    people: NDArray[np.float64]
    machine: NDArray[np.float64]
    turns: NDArray[np.int64]
    weights: NDArray[np.float64]
    other_machine: NDArray[np.float64]
    other_turns: NDArray[np.int64]
    other_weights: NDArray[np.float64]


class Condition(NamedTuple):
    """A condition that must hold for a rate to be given, with what was found, in words.

    ``failure`` says what is wrong if it does not hold; "" if this follows from the failure of another condition, or if the
    condition cannot be checked.
    """

    name: str
    holds: bool
    found: str
    failure: str
    can_be_checked: bool = True

    @property
    def state(self) -> str:
        """Whether it holds, in words."""
        if not self.can_be_checked:
            return "Cannot be checked"
        return "Holds" if self.holds else "Does not hold"


# A model as the provider named it ("" where it named none), and on how many labelled and other turns it answered.
Served = tuple[str, int, int]


class Found(NamedTuple):
    """What is known about the labelled sample and the annotator, for checking the conditions.

    ``withheld_turns``: drawn at random, with their probability stored, and read by the annotator; ``with_probability`` of them
    have one above 0. ``interviews``: those in which every such turn is decided blind, out of ``all_interviews``. ``positives``:
    labelled units to which a person or the machine applied the code. ``read``: of the ``asked`` sentences there, those the
    annotator's answers speak of. ``ever_read``: sentences of the study it read for this code at all. ``served``: who answered, of
    an annotator that asks a model; of another kind the hash says all.
    """

    withheld_turns: int
    with_probability: int
    interviews: int
    all_interviews: int
    labelled: int
    labelled_turns: int
    positives: int
    read: int
    asked: int
    hash: str
    ever_read: int
    served: tuple[Served, ...] = ()


def correct_rate(people: ArrayLike, machine: ArrayLike, unlabelled: ArrayLike) -> CorrectedRate:
    """The corrected mean, treating units as independent and equally likely to be labelled.

    The variance is f (1 - f) / N + s² (human - machine) / n, the second with n - 1. None if either part is empty; with one
    labelled unit there is no error and no interval.
    """
    y, f, other = (np.asarray(each, np.float64) for each in (people, machine, unlabelled))
    n, size = len(y), len(other)
    if not n or not size:
        return CorrectedRate(None, float(other.mean()) if size else None, None, None, None, n, size)
    naive, rectifier = float(other.mean()), float((y - f).mean())
    error = None
    if n > 1:
        error = math.sqrt(naive * (1 - naive) / size + float((y - f).var(ddof=1)) / n)
    return _bound(naive, rectifier, error, n, size)


def correct_rate_by_turn(sample: Sample) -> CorrectedRate:
    """The same if whole turns were drawn: sentences of a turn depend on one another, so the variance is between turns.

    Both means are ratios of sums over turns, linearised (Cochran 1977, chapter 6; the sandwich of Liang and Zeger 1986):
    the variance is G / (G - 1) times the sum over turns of the squared sum of weighted residuals, divided by the squared
    sum of weights. With one unit a turn and equal weights it is the variance of ``rectify``, but for N - 1 instead of N.
    """
    n, size = len(sample.people), len(sample.other_machine)
    naive, naive_variance = _average(sample.other_machine, sample.other_weights, sample.other_turns)
    rectifier, variance = _average(sample.people - sample.machine, sample.weights, sample.turns)
    if naive is None or rectifier is None:
        return CorrectedRate(None, naive, rectifier, None, None, n, size)
    both = naive_variance is not None and variance is not None
    error = math.sqrt((naive_variance or 0.0) + (variance or 0.0)) if both else None
    return _bound(naive, rectifier, error, n, size)


def weigh_accuracy(sample: Sample) -> tuple[float | None, float | None]:
    """Sensitivity and specificity of the machine on the labelled units, with the weights of the rate, so that both are of one
    corpus; None where no unit has the code by people, or all have it.

    A unit with several coders counts as with the code by the share of them who applied it. Where all weights are equal and
    each unit has one reader these are the shares of the labelled units.
    """
    with_code, without = sample.weights * sample.people, sample.weights * (1 - sample.people)
    yes, no = float(with_code.sum()), float(without.sum())
    return (
        float(with_code @ sample.machine) / yes if yes > 0 else None,
        float(without @ (1 - sample.machine)) / no if no > 0 else None,
    )


def correct_prevalence(apparent: float | None, sensitivity: float | None, specificity: float | None) -> float | None:
    """Rogan and Gladen: (p + Sp - 1) / (Se + Sp - 1), not cut off at 0 and 1.

    None where something of it is not known, and where Se + Sp is 1, when the labels say nothing. It takes sensitivity and
    specificity for the same in the labelled and the unlabelled part.
    """
    if apparent is None or sensitivity is None or specificity is None:
        return None
    youden = sensitivity + specificity - 1
    return None if abs(youden) < _ROUNDING else (apparent + specificity - 1) / youden


def is_outside(rate: float | None) -> bool:
    """Whether a rate is impossible, because it is below 0 or above 1."""
    return rate is not None and not 0 <= rate <= 1


def check_conditions(found: Found) -> tuple[Condition, ...]:
    """The conditions for a corrected rate, one by one; if the annotator annotated nothing for the code, only that condition."""
    if not found.ever_read:
        said = "The annotator has not annotated any sentence for this code."
        return (Condition("The annotator labelled sentences for this code", False, said, said),)
    return (*_check_sample(found), *_check_annotator(found), _check_size(found))


def refuse(conditions: Sequence[Condition]) -> str:
    """Why no rate is given, a sentence for each condition that fails; "" if all hold. It follows a colon."""
    said = " ".join(each.failure for each in conditions if not each.holds and each.failure)
    return said[:1].lower() + said[1:]


def _check_sample(found: Found) -> tuple[Condition, ...]:
    drawn = found.withheld_turns > 0 and found.with_probability == found.withheld_turns
    return (
        Condition(
            "Labelled turns are a random sample",
            drawn,
            f"{found.with_probability} of the {found.withheld_turns} withheld turns it annotated were drawn at random "
            "with a stored probability.",
            "The labelled turns are not a random sample: some withheld turns have no stored probability."
            if found.withheld_turns
            else "There is no random sample: the annotator has labelled no withheld turn for this code.",
        ),
        Condition(
            "People labelled all of the sample, blind",
            found.interviews > 0,
            f"In {found.interviews} of {found.all_interviews} interviews, every sentence of every withheld turn has a blind "
            "decision. The rate applies to these interviews only.",
            f"In none of {found.all_interviews} interviews does every sentence of every withheld turn have a blind "
            "decision."
            if found.all_interviews
            else "",
        ),
    )


def _check_annotator(found: Found) -> tuple[Condition, ...]:
    share, others = found.read / found.asked if found.asked else 0.0, found.read - found.labelled
    return (
        _check_unchanged(found),
        Condition(
            "The annotator covered the corpus",
            share >= MIN_READ,
            f"It labelled {found.read} of {found.asked} sentences of these interviews ({write_percent(share)}); "
            f"at least {100 * MIN_READ:.0f} % are needed.",
            f"The annotator labelled too few sentences of these interviews: {found.read} of {found.asked}."
            if found.asked
            else "",
        ),
        Condition(
            "The annotator labelled other sentences",
            others > 0,
            f"In addition to the sentences that people labelled, it labelled {others} sentences, in turns that are not withheld.",
            "The annotator labelled no sentences there other than those that people labelled." if found.asked else "",
        ),
    )


def _check_unchanged(found: Found) -> Condition:
    """One hash and one served model: a provider may serve another model under the same name."""
    name = "The annotator did not change"
    if not found.hash:
        said = "The annotator was created before annotators had hashes, so it is unknown whether it stayed the same."
        return Condition(name, False, said, "It is unknown whether the annotator stayed the same: it has no hash.")
    hashed = f"All labels are from one annotator with one hash, {found.hash[:12]}."
    named = [name for name, *_ in found.served if name]
    listed = list_served(found.served)
    if len(named) > 1:
        failure = f"The provider answered with more than one model: {listed}."
        return Condition(name, False, f"{hashed} {failure}", failure)
    if len(named) < len(found.served):
        unknown = f"it is not known which model gave some of its answers: {listed}."
        return Condition(name, False, f"{hashed} However, {unknown}", "", can_be_checked=False)
    return Condition(name, True, f"{hashed} One model answered: {listed}." if named else hashed, "")


def list_served(served: Sequence[Served]) -> str:
    """Which models answered, with counts, in one line."""
    return ", ".join(
        f"{name or 'not known'} ({labelled} labelled and {others} other turns)" for name, labelled, others in served
    )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _check_size(found: Found) -> Condition:
    minimum = (MIN_LABELLED, MIN_TURNS, MIN_POSITIVES)
    there = (found.labelled, found.labelled_turns, found.positives)
    parts = zip(there, minimum, ("sentences", "turns", "with the code"), strict=True)
    short = [f"{number} of {needed} {what}" for number, needed, what in parts if number < needed]
    return Condition(
        "The sample is large enough",
        not short,
        f"People labelled {_count(found.labelled, 'sentence')} in {_count(found.labelled_turns, 'turn')}. "
        f"A person or the machine applied the code to {found.positives} of them. "
        f"At least {minimum[0]}, {minimum[1]} and {minimum[2]} are needed.",
        f"The sample is too small: {', '.join(short)}." if found.interviews else "",
    )


def _bound(naive: float, rectifier: float, error: float | None, n: int, size: int) -> CorrectedRate:
    rate = naive + rectifier
    interval = None if error is None else Interval(rate - _Z * error, rate + _Z * error)
    return CorrectedRate(rate, naive, rectifier, error, interval, n, size)


def _average(
    values: NDArray[np.float64], weights: NDArray[np.float64], turns: NDArray[np.int64]
) -> tuple[float | None, float | None]:
    """The weighted mean and its variance over turns; no variance from one turn, nothing from no unit."""
    if not len(values):
        return None, None
    _, places = np.unique(turns, return_inverse=True)
    places = places.reshape(-1)
    total = float(weights.sum())
    mean = float((weights * values).sum()) / total
    residuals = np.bincount(places, weights=weights * (values - mean))
    number = len(residuals)
    if number < 2:
        return mean, None
    return mean, number / (number - 1) * float((residuals**2).sum()) / total**2
