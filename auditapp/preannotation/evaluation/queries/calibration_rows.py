"""Calibration as its page and its files show it: the same figures, from one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from auditapp.preannotation.evaluation.pure.figures import FEW_POSITIVES, Estimate
from transcripts.codebook.models import Code, CodeFamily
from transcripts.statistics.figures import Figure

if TYPE_CHECKING:
    from auditapp.preannotation.evaluation.queries.calibration import Compared

LAYER = "blind"
ESTIMATES = (
    *("precision", "recall", "specificity", "f1", "kappa", "prevalence", "machine_share", "false_failure_rate"),
    *("raw", "pabak", "ac1"),
)
AMONG_PEOPLE = ("kappa", "positive_agreement", "machine_kappa", "machine_positive_agreement")
ASIDE = ("examples", "taught", "alternatives")
HEADER = [
    *("annotator", "annotator_number", "annotator_hash", "codebook", "prompt", "compared_on", "critic", "layer"),
    *("family", "code_id", "code", "labels", "units", "turns", "coders", "tp", "fp", "fn", "tn"),
    *(f"{name}{part}" for name in ESTIMATES for part in ("", "_low", "_high", "_turns_low", "_turns_high", "_n")),
    *("coverage", "positive_agreement", "shared_units", "pairs"),
    *(f"{name}{part}" for name in ("people_kappa", "people_positive_agreement") for part in ("", "_low", "_high")),
    *(f"{name}{part}" for name in ("machine_kappa", "machine_positive_agreement") for part in ("", "_low", "_high")),
    *(f"aside_{name}" for name in ASIDE),
    *("warnings", "seed", "resamples"),
]
# Of the tables of answers to the codes' own questions: a row for each pair of answers.
ANSWER_HEADER = [
    *("annotator", "annotator_number", "annotator_hash", "codebook", "prompt", "compared_on", "critic", "layer"),
    *("family", "question", "label", "machine_answer", "person_answer", "pairs"),
    *("all_pairs", "equal", "alpha", "unanswered"),
]


class CodeRow(NamedTuple):
    """A code of the page. ``set_aside``: labels left out, by the reason."""

    code: Code
    family: str
    figures: dict[str, Any]
    set_aside: dict[str, int]
    warnings: tuple[str, ...]

    @property
    def cells(self) -> list[tuple[str, int]]:
        return list(self.figures["table"]._asdict().items())

    @property
    def is_of_turns(self) -> bool:
        """Whether its labels are of whole turns."""
        return self.code.family.unit == CodeFamily.Unit.TURN

    @property
    def n_positives(self) -> int:
        """How many of the labels compared are people's with the code."""
        table = self.figures["table"]
        return int(table.tp + table.fn)

    @property
    def is_scarce(self) -> bool:
        """Whether people applied it too rarely to judge how well it is annotated."""
        return self.n_positives < FEW_POSITIVES

    def is_below(self, threshold: float) -> bool:
        """Whether F1 or kappa, where defined, is below the threshold; never if there are too few."""
        if self.is_scarce:
            return False
        values = [self.figures["figures"][name].value for name in ("f1", "kappa")]
        return any(value is not None and value < threshold for value in values)


def list_records(
    rows: Sequence[CodeRow], compared: Compared, *, seed: int, resamples: int
) -> Iterator[dict[str, object]]:
    """The rows as files hold them, by the names of ``HEADER``; None where a figure is not defined."""
    for row in rows:
        found = row.figures
        values: list[object] = [
            *_describe(compared),
            *(row.family, row.code.identifier, row.code.name),
            *(found["table"].n, found["n_units"], found["n_turns"], found["n_coders"], *found["table"]),
        ]
        for name in ESTIMATES:
            values += _list_estimate(found["figures"][name])
        people = found["people"]
        values += [found["figures"]["recall"].value, found["figures"]["f1"].value]
        values += [people["n_units"], people["pairs"]] if people else [0, 0]
        for name in AMONG_PEOPLE:
            values += _list_figure(people[name] if people else Figure())
        values += [row.set_aside.get(name, 0) for name in ASIDE]
        values += ["; ".join(row.warnings), seed, resamples]
        yield dict(zip(HEADER, values, strict=True))


def list_answers(tables: Sequence[Mapping[str, Any]], compared: Compared) -> Iterator[dict[str, object]]:
    """The machine's answers to the codes' own questions beside people's, such as statuses of features, by the names of
    ``ANSWER_HEADER``. ``tables``: families with their ``identifier`` and ``questions``."""
    for family in tables:
        for question in family["questions"]:
            table = question.table
            for machine, person, pairs in table.cells:
                values = [
                    *_describe(compared),
                    *(family["identifier"], question.key, question.label, machine, person, pairs),
                    *(table.n, table.raw, table.alpha, table.unanswered),
                ]
                yield dict(zip(ANSWER_HEADER, values, strict=True))


def _describe(compared: Compared) -> list[object]:
    annotator = compared.annotator
    return [
        annotator.name,
        annotator.number,
        annotator.hash,
        annotator.version.number,
        annotator.prompt_version,
        "withheld turns" if compared.only_withheld else "all blind labels",
        "without what was reversed" if compared.with_critic else "as made",
        LAYER,
    ]


def _list_estimate(estimate: Estimate) -> list[object]:
    ends, turns = estimate.interval, estimate.figure.interval
    return [
        estimate.value,
        *((ends.low, ends.high) if ends else (None, None)),
        *((turns.low, turns.high) if turns else (None, None)),
        estimate.n,
    ]


def _list_figure(figure: Figure) -> list[object]:
    return [figure.value, *((figure.interval.low, figure.interval.high) if figure.interval else (None, None))]
