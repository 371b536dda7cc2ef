"""Calibration as its page and its files show it: the same figures, from one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from auditapp.annotators.pure.figures import Estimate
from transcripts.codebook.models import Code, CodeFamily
from transcripts.formats.report_tables import Printed, ReportTable, TableRow, declare, name_ends, print_estimate
from transcripts.statistics.figures import FEW, Figure, Mark

if TYPE_CHECKING:
    from auditapp.evaluation.queries.calibration import Compared

LAYER = "blind"
ESTIMATES = (
    *("precision", "recall", "specificity", "f1", "kappa", "prevalence", "machine_share", "false_failure_rate"),
    *("raw", "pabak", "ac1"),
)
ASIDE = ("examples", "taught", "alternatives")
OF_PEOPLE = {
    "kappa": "people_kappa",
    "positive_agreement": "people_positive_agreement",
    "machine_kappa": "machine_kappa",
    "machine_positive_agreement": "machine_positive_agreement",
}
"""What agreement among people, and of the machine with each of them, is called in files."""
PRINTED = {"precision": "Precision", "recall": "Recall", "specificity": "Specificity", "f1": "F1", "kappa": "Kappa"}


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
    def positive_turns(self) -> int:
        """In how many of the turns compared people applied the code."""
        return int(self.figures["positive_turns"])

    @property
    def is_scarce(self) -> bool:
        """Whether people applied it in too few turns to judge how well it is annotated."""
        return self.positive_turns < FEW

    def is_below(self, threshold: float) -> bool:
        """Whether F1 or kappa, where defined, is below the threshold; never if there are too few."""
        if self.is_scarce:
            return False
        values = [self.figures["figures"][name].value for name in ("f1", "kappa")]
        return any(value is not None and value < threshold for value in values)


class Source(NamedTuple):
    """What the files of calibration are made of: the rows of the page, its tables of answers, and how they were drawn."""

    compared: Compared
    rows: Sequence[CodeRow]
    tables: Sequence[Mapping[str, Any]]
    seed: int
    resamples: int


def _read_rows(source: Source) -> Iterator[TableRow]:
    """None where a figure is not defined."""
    for row in source.rows:
        found, people = row.figures, row.figures["people"]
        estimates = [_name_estimate(name, found["figures"][name]) for name in ESTIMATES]
        among = [_name_figure(OF_PEOPLE[name], people[name] if people else Figure()) for name in OF_PEOPLE]
        yield {
            **_describe(source.compared),
            **found["table"]._asdict(),
            **{name: value for each in (*estimates, *among) for name, value in each.items()},
            **{f"aside_{name}": row.set_aside.get(name, 0) for name in ASIDE},
            "family": row.family,
            "code_id": row.code.identifier,
            "code": row.code.name,
            "labels": found["table"].n,
            "units": found["n_units"],
            "turns": found["n_turns"],
            "positive_turns": found["positive_turns"],
            "coders": found["n_coders"],
            "coverage": found["figures"]["recall"].value,
            "positive_agreement": found["figures"]["f1"].value,
            "shared_units": people["n_units"] if people else 0,
            "pairs": people["pairs"] if people else 0,
            "warnings": "; ".join(row.warnings),
            "seed": source.seed,
            "resamples": source.resamples,
        }


def _read_answers(source: Source) -> Iterator[TableRow]:
    """The machine's answers to the codes' own questions and people's, such as statuses of features: a row for each pair."""
    for family in source.tables:
        for question in family["questions"]:
            table = question.table
            for machine, person, pairs in table.cells:
                yield {
                    **_describe(source.compared),
                    "family": family["identifier"],
                    "question": question.key,
                    "label": question.label,
                    "machine_answer": machine,
                    "person_answer": person,
                    "pairs": pairs,
                    "all_pairs": table.n,
                    "equal": table.raw,
                    "alpha": table.alpha,
                    "unanswered": table.unanswered,
                }


def _describe(compared: Compared) -> TableRow:
    annotator = compared.annotator
    return {
        "annotator": annotator.name,
        "annotator_number": annotator.number,
        "annotator_hash": annotator.hash,
        "codebook": annotator.version.number,
        "prompt": annotator.prompt_version,
        "compared_on": "withheld turns" if compared.only_withheld else "all blind labels",
        "critic": "without what was rejected" if compared.with_critic else "as made",
        "layer": LAYER,
    }


def _name_estimate(name: str, estimate: Estimate) -> dict[str, object]:
    return {
        name: estimate.value,
        **name_ends(estimate.interval, f"{name}_"),
        **name_ends(estimate.figure.interval, f"{name}_turns_"),
        f"{name}_n": estimate.n,
    }


def _name_figure(name: str, figure: Figure) -> dict[str, object]:
    return {name: figure.value, **name_ends(figure.interval, f"{name}_")}


def caption_calibration(compared: Compared) -> str:
    """The caption of the table in LaTeX: which annotator was compared with what."""
    about = _describe(compared)
    return (
        f"{CALIBRATION.caption} Annotator: {about['annotator']} ({about['annotator_number']}), codebook v{about['codebook']}; "
        f"compared on {about['compared_on']}, {about['critic']}. Intervals over turns. Few: people applied the code in fewer than "
        f"{FEW} turns, too few for a conclusion."
    )


_ABOUT = (
    *(
        *declare(str, "annotator"),
        *declare(int, "annotator_number"),
        *declare(str, "annotator_hash"),
        *declare(int, "codebook"),
    ),
    *declare(str, "prompt compared_on critic layer"),
)
CALIBRATION = ReportTable(
    "calibration",
    "How well an annotator labels each code, compared with people's blind labels.",
    (
        *_ABOUT,
        *declare(str, "family code_id code"),
        *declare(int, "labels units turns positive_turns coders tp fp fn tn"),
        *(
            column
            for name in ESTIMATES
            for column in (
                *declare(float, f"{name} {name}_low {name}_high {name}_turns_low {name}_turns_high"),
                *declare(int, f"{name}_n"),
            )
        ),
        *(*declare(float, "coverage positive_agreement"), *declare(int, "shared_units pairs")),
        *declare(float, *(f"{name} {name}_low {name}_high" for name in OF_PEOPLE.values())),
        *declare(int, *(f"aside_{name}" for name in ASIDE)),
        *(*declare(str, "warnings"), *declare(int, "seed resamples")),
    ),
    _read_rows,
    printed=[
        Printed("Code", lambda row: str(row["code"])),
        Printed("Labels", lambda row: f"{row['labels']:,}"),
        Printed("Turns", lambda row: f"{row['turns']:,}"),
        *(print_estimate(head, name, "_turns") for name, head in PRINTED.items()),
        Printed("", lambda row: Mark.FEW.value if row["positive_turns"] < FEW else ""),
    ],
)
ANSWERS = ReportTable(
    "calibration-answers",
    "The answers of the machine and of people to the codes' own questions, one row per pair of answers.",
    (
        *_ABOUT,
        *(*declare(str, "family question label machine_answer person_answer"), *declare(int, "pairs all_pairs")),
        *(*declare(float, "equal alpha"), *declare(int, "unanswered")),
    ),
    _read_answers,
    is_printed=False,
)
