from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from transcripts.formats.problems import ReadError
from transcripts.negotiation.pure.reading import BLINDINGS, read_records
from transcripts.negotiation.pure.report import list_report, make_report
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, OneOf, reading, say_file

_OR_ALL = "* for all together (default: the one with the most coded threads)"


class Report(ActCommand):
    """Reads a file, without a database, or a study, and prints."""

    help = (
        "Report what models do over the turns of their threads: moves and their order, answers to challenges, case features, "
        "links, pairs and scores."
    )
    requires_system_checks = []
    takes = (
        OneOf(
            commands.MAYBE_FILE.but(help="a file in the format of the export trajectories"),
            commands.MAYBE_STUDY.but(help="a study; its blind codings are read"),
        ),
        Argument(
            "--coder",
            action="append",
            default=[],
            metavar="NAME",
            help="only the codings of this person; may be repeated",
        ),
        Argument(
            "--outcome",
            action="append",
            default=[],
            metavar="CODE",
            help="a code whose presence is the outcome of pairs; may be repeated, and then any of the codes counts",
        ),
        Argument(
            "--stage", choices=["all"], help="all: also count private reasoning (default: only what is said, and tools)"
        ),
        Argument("--kind", default="", metavar="KIND", help=f"interview or trajectory; {_OR_ALL}"),
        Argument("--model", default="", metavar="LABEL", help=f"- for threads whose model is not known; {_OR_ALL}"),
        Argument("--blinding", choices=BLINDINGS, help="for a file: which rows to read (default: blind)"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path | None = options["file"]
        if path is None and options["blinding"]:
            raise CommandError("--blinding is for files; for a study, blind codings are read.")
        with _without_collecting():
            # Everything that was read is let go of inside: what is still there when collecting begins again is looked through.
            self._print_report(path, options)

    def _print_report(self, path: Path | None, options: dict[str, Any]) -> None:
        study = None
        if path is None:
            from transcripts.negotiation.queries.records import read_records as read_study
            from transcripts.studies.management import find_study

            study = find_study(options["study"])
            records = read_study(study)
        else:
            with reading(path, ReadError) as lines:
                records = read_records(lines, name=say_file(path), blinding=options["blinding"] or "blind")
        report = make_report(
            records,
            coders=options["coder"],
            outcomes=options["outcome"],
            all_stages=options["stage"] == "all",
            kind=options["kind"],
            model=options["model"],
        )
        if study is not None:
            from transcripts.negotiation.queries.scores import warn_of_coefficients

            report = warn_of_coefficients(report, study)
        self.answer(report, list_report(report))


@contextmanager
def _without_collecting() -> Iterator[None]:
    """The many records contain no cycles; looking for cycles again and again would take a third of the time for a large file."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Command(Noun):
    help = "Report what models do over the turns of their threads."
    verbs = {
        "report": Report,
    }
