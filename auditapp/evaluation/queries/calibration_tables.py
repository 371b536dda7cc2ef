"""Calibration as its page and its files show it: the same figures, from one place.

Sentences with what a machine and people said of one code, as pages show them; and what several annotators said of the same
sentences, code by code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from auditapp.annotators.models import Annotator, Suggestion
from auditapp.annotators.pure.figures import Estimate
from auditapp.annotators.queries.boundary_edits import map_moved, match_current
from transcripts.agreement.queries import Place, read_items
from transcripts.codebook.models import Code, CodeFamily
from transcripts.corpus.models import Sentence
from transcripts.formats.report_tables import Printed, ReportTable, TableRow, declare, name_ends, print_estimate
from transcripts.statistics.figures import FEW, Figure, Mark

if TYPE_CHECKING:
    from auditapp.evaluation.pure.calibration import Labels
    from auditapp.evaluation.queries.calibration import Compared, ComparedCode
    from transcripts.accounts.models import User

BLINDING = "blind"
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
        "blinding": BLINDING,
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
    *declare(str, "prompt compared_on critic blinding"),
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


def read_compared_items(
    compared: Compared, wanted: Sequence[tuple[int, ComparedCode]], *, viewer: User
) -> list[dict[str, Any]]:
    """What a page shows of these places and codes, in their order: the ``item`` with people's labels, the ``code``,
    whether the ``machine`` applied it, and its ``rationale``. Seven queries for each family among them."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    families: dict[int, list[tuple[int, ComparedCode]]] = {}
    for place, code in wanted:
        families.setdefault(code.code.family_id, []).append((place, code))
    rationales = _read_rationales(compared, wanted)
    for pairs in families.values():
        family: CodeFamily = pairs[0][1].code.family
        items = read_items(family, [_make_place(compared, *pair) for pair in pairs], viewer=viewer)
        for (place, code), item in zip(pairs, items, strict=True):
            found[place, code.code.identifier] = {
                "item": item,
                "code": code,
                "machine": bool(code.labels.machine[place]),
                "rationale": rationales.get((item.sentence.pk, code.code.pk), ""),
            }
    return [found[place, code.code.identifier] for place, code in wanted]


def _make_place(compared: Compared, place: int, code: ComparedCode) -> Place:
    """Who decided about the sentence, and whether each applied this code."""
    labels = code.labels
    turn_answers: dict[int, tuple[str, ...]] = {
        coder: (labels.code,) if labels.people[row, place] else ()
        for row, coder in enumerate(compared.coders)
        if labels.counts[row, place]
    }
    return int(compared.sentence_ids[place]), turn_answers


def _read_rationales(compared: Compared, wanted: Sequence[tuple[int, ComparedCode]]) -> dict[tuple[int, int], str]:
    """The machine's last reason, by sentence and code."""
    sentences = {int(compared.sentence_ids[place]) for place, _ in wanted}
    codes = {code.code.pk for _, code in wanted}
    own = Suggestion.objects.filter(annotator=compared.annotator, code__in=codes)
    moved = map_moved(own)
    rows = own.filter(match_current(sentences, moved)).order_by("pk")
    return {
        (moved.get(pk) or sentence, code): text
        for pk, sentence, code, text in rows.values_list("pk", "sentence", "code", "rationale")
    }


def read_spread(
    annotators: Sequence[Annotator], *, seen: Collection[int] | None = None
) -> tuple[list[dict[str, Any]], set[int]]:
    """Each code that any of the annotators reads for, on the sentences all of them read for it, in the order of the codebook;
    and the interviews of which any of them read something.

    ``seen`` limits it to these interviews (None: all). A code is the same thing across versions of the codebook by its
    identifier; pages that show this say where versions differ.
    """
    import numpy as np

    from auditapp.annotators.queries.machine_labels import read_machine_labels
    from auditapp.evaluation.pure.calibration import compare_annotators

    read: dict[str, dict[int, Labels]] = {}
    interviews: set[int] = set()
    placed = _place_sentences(annotators) if seen is not None else {}
    for each in annotators:
        said = read_machine_labels(each)
        is_seen = np.ones(len(said.sentence_ids), dtype=bool)
        if seen is not None:
            talks = np.array([placed[pk] for pk in said.sentence_ids.tolist()], dtype=np.int64)
            interviews.update(talks.tolist())
            is_seen = np.isin(talks, sorted(seen))
        for row, code in enumerate(said.codes):
            was_read = said.was_read[row] & is_seen
            if was_read.any():
                read.setdefault(code, {})[each.pk] = said.sentence_ids[was_read], said.labels[row][was_read]
    keys = [each.pk for each in annotators]
    return [compare_annotators(code, own, keys) for code, own in read.items()], interviews


def _place_sentences(annotators: Sequence[Annotator]) -> dict[int, int]:
    """The interview of each sentence of their studies: one query."""
    studies = {each.study_id for each in annotators}
    rows = Sentence.objects.filter(turn__interview__study__in=studies)
    return dict(rows.values_list("pk", "turn__interview_id"))
