from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError

from transcripts.formats.command_files import say_file
from transcripts.formats.problems import ReadError
from transcripts.negotiation.pure.reading import LAYERS, read_records
from transcripts.negotiation.pure.records import Records
from transcripts.negotiation.pure.report import list_report, make_report
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, OneOf, reading

if TYPE_CHECKING:
    from transcripts.studies.models import Project


_OR_ALL = "* for all together (default: the one with most coded threads)"


class Report(ActCommand):
    """Reads a file, without a database, or a study, and prints."""

    help = (
        "Report what models do over the turns of their threads: moves, their order, answers to challenges, features of the "
        "case, links, pairs and scores."
    )
    requires_system_checks = []
    takes = (
        OneOf(
            commands.MAYBE_FILE.but(help="a file as the export trajectories writes it"),
            commands.MAYBE_STUDY.but(help="a study, of which blind codings are read"),
        ),
        Argument(
            "--coder", action="append", default=[], metavar="NAME", help="only what this person did; may be given again"
        ),
        Argument(
            "--outcome",
            action="append",
            default=[],
            metavar="CODE",
            help="a code whose presence is the outcome of pairs; may be given again for any of several",
        ),
        Argument(
            "--stage", choices=["all"], help="all: count private reasoning too (default: what is said, and tools)"
        ),
        Argument("--kind", default="", metavar="KIND", help=f"interview or trajectory; {_OR_ALL}"),
        Argument("--model", default="", metavar="LABEL", help=f"- for threads whose model is not known; {_OR_ALL}"),
        Argument("--layer", choices=LAYERS, help="of a file: whose rows are read (default: blind)"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path | None = options["file"]
        if path is None and options["layer"]:
            raise CommandError("--layer is for files; of a study blind codings are read.")
        with _without_collecting():
            # Everything that was read is let go of inside: what is still there when collecting begins again is looked through.
            self._print_report(path, options)

    def _print_report(self, path: Path | None, options: dict[str, Any]) -> None:
        project = None
        if path is None:
            from transcripts.studies.management.finding import find_study

            project = find_study(options["project"])
            records = _read_study(project)
        else:
            records = _read_file(path, options["layer"] or "blind")
        report = make_report(
            records,
            coders=options["coder"],
            outcomes=options["outcome"],
            all_stages=options["stage"] == "all",
            kind=options["kind"],
            model=options["model"],
        )
        if project is not None:
            report = _warn_of_coefficients(report, project)
        self.answer(report, list_report(report))


def _read_file(path: Path, layer: str) -> Records:
    with reading(path, ReadError) as lines:
        return read_records(lines, name=say_file(path), layer=layer)


def _read_study(project: Project) -> Records:
    from transcripts.negotiation.queries import records

    return records.read_records(project)


def _warn_of_coefficients(report: dict[str, Any], project: Project) -> dict[str, Any]:
    from transcripts.negotiation.queries.method import warn_of_coefficients

    return warn_of_coefficients(report, project)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Records are many and hold no cycles: to look for some again and again takes a third of the time of a large file."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Command(Noun):
    help = "What models do over the turns of their threads."
    verbs = {
        "report": Report,
    }
