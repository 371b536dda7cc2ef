from __future__ import annotations

from pathlib import Path
from typing import Any

from transcripts.agreement.pure.figures import Agreement, list_agreement
from transcripts.agreement.pure.label_files import read_labels
from transcripts.agreement.pure.measuring import (
    USUAL_RESAMPLES,
    LabelTable,
    RatingTable,
    measure_agreement,
    measure_ratings,
)
from transcripts.formats.problems import ReadError
from transcripts.statistics.coefficients import Level
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, pick, reading, refusing, say_file


class Report(ActCommand):
    """Reads a file and prints; touches no database."""

    help = "Compute the agreement of coders from a CSV file with the columns coder, unit, code, value and, optionally, turn."
    requires_system_checks = []
    takes = (
        commands.FILE.but(help="CSV in UTF-8; value is 1 (code applied), 0 (not applied) or empty (not decided)"),
        Argument(
            "--level",
            choices=[str(level) for level in Level],
            help="values are numbers on this scale; gives only alpha and raw agreement (default: codes applied or not)",
        ),
        commands.SEED,
        commands.RESAMPLES.but(default=USUAL_RESAMPLES),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        level = Level(options["level"]) if options["level"] else None
        table, has_turns = read_file(options["file"], level)
        with refusing(ValueError):
            agreement = measure(table, level, **pick(options, "seed resamples"))
        self.answer(agreement.as_dict(), list_agreement(agreement, has_turns=has_turns))


def read_file(path: Path, level: Level | None) -> tuple[LabelTable | RatingTable, bool]:
    """The labels of a file, and whether it has turns. Raises ``CommandError`` if it is not a file of labels."""
    with reading(path, ReadError) as lines:
        return read_labels(lines, level, name=say_file(path))


def measure(table: LabelTable | RatingTable, level: Level | None, *, seed: int, resamples: int) -> Agreement:
    """All coefficients for codes that are applied or not, alpha and raw agreement for numbers on a scale."""
    if isinstance(table, LabelTable):
        return measure_agreement(table, seed=seed, resamples=resamples)
    return measure_ratings(table, level or Level.NOMINAL, seed=seed, resamples=resamples)


class Command(Noun):
    help = "Agreement between coders."
    verbs = {
        "report": Report,
    }
