from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from transcripts.analysis.themes.pure import describe_models
from transcripts.analysis.themes.queries import THEMES, BlindingChoice, compare, find_family, see_everything
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.codebook.models import Beginning
from transcripts.corpus.consent import HOW_TO_RECORD
from transcripts.corpus.models import RUN_FACTS, Kind
from transcripts.corpus.queries import is_fact
from transcripts.exchange.actions import import_qdpx, say_long_cells, write_export
from transcripts.exchange.refi.details import StudyReport
from transcripts.exchange.rows import Scope, count_without_consent, find_export, list_exports, say_without_consent
from transcripts.studies.management import find_study
from transcripts.studies.models import MethodChoice, Study
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, arguments_of, input_file, pick, reading, writing


class Create(ActCommand):
    """A study with a codebook. It has no members until ``user create --study`` adds some."""

    help = "Create a study with the built-in codebook, an empty codebook, or one from a file."
    takes = (
        Argument("slug", help="its name in web addresses: lower-case letters, digits and hyphens"),
        *arguments_of(Study, "name description"),
        Argument("--codebook", metavar="FILE", help="a codebook as CSV, JSON or .qdc; or: empty"),
        Argument("--method", choices=MethodChoice.Method.values, default=MethodChoice.Method.REFLEXIVE.value),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        beginning, file = read_codebook(options["codebook"])
        study = start_study(
            slug=options["slug"],
            name=options["name"],
            description=options["description"],
            codebook=beginning,
            file=file,
            method=options["method"],
            by=trail.SYSTEM,
        )
        version = study.codebook_versions.get()
        codes = version.codes.count()
        answer = {**pick(study, "id slug name"), "codebook": version.number, "codes": codes}
        self.answer(answer, f"Study {study.slug} is set up with codebook {version} ({codes} codes).")


def read_codebook(given: str | None) -> tuple[str, tuple[str, bytes] | None]:
    """The codebook with which the study begins, and its file. Raises ``CommandError``."""
    if given is None or given == Beginning.EMPTY:
        return given or Beginning.BUILT_IN, None
    path = input_file(given)
    if not path.exists():
        raise CommandError(f"There is no file {given}. Name a file, or: {Beginning.EMPTY}.")
    with reading(path) as stream:
        return Beginning.FILE, (path.name, stream.read())


class Export(ActCommand):
    help = "Write one export of a study to a file."
    takes = (
        Argument("what", metavar="WHAT", help=" | ".join(export.key for export in list_exports())),
        commands.STUDY,
        Argument(
            "--format", default="", help="csv, json, jsonl, or another format of this export (default: the first)"
        ),
        commands.OUTPUT,
        Argument("--exact", action="store_true", help="CSV without the apostrophes that escape formulas"),
        Argument("--with-left-out", action="store_true", help="also archived and excluded interviews"),
        Argument("--kind", default="", choices=["", *Kind.values], help="only interviews of this kind"),
        Argument(
            "--run",
            default="",
            metavar="KEY=VALUE",
            help=f"only from runs with this fact; keys: {', '.join(RUN_FACTS)}",
        ),
    )

    def handle(self, *args: object, what: str, study: str, output: str, **options: object) -> None:
        export = find_export(what)
        if export is None:
            known = ", ".join(export.key for export in list_exports())
            raise CommandError(f"There is no export {what!r}. Choose one of: {known}.")
        chosen = find_study(study)
        run = str(options["run"])
        if run and not is_fact(run):
            raise CommandError(f"--run takes {', '.join(RUN_FACTS)}, as in task=files; found {run!r}.")
        scope = Scope(chosen, None, with_left_out=bool(options["with_left_out"]), kind=str(options["kind"]), run=run)
        with writing(self, output) as path:
            written = write_export(
                export=export,
                scope=scope,
                format=str(options["format"]) or export.formats[0],
                path=path,
                by=trail.SYSTEM,
                exact=bool(options["exact"]),
            )
            if without := count_without_consent(export, scope):
                self.stderr.write(f"{say_without_consent(export, without)} {HOW_TO_RECORD}")
            if note := say_long_cells(written.long_cells):
                self.stderr.write(note)
            answer = {"path": output, **written._asdict()}
            self.answer(answer, f"{written.rows} rows in {output}")


class Import(ActCommand):
    help = "Import a REFI-QDA project from another program into a study. If any part fails, nothing is imported."
    takes = (
        commands.FILE,
        commands.STUDY,
        commands.DRY_RUN,
        Argument(
            "--apart",
            action="append",
            default=[],
            metavar="NAME",
            help="a person in the file who has a member's name but is another person",
        ),
        Argument(
            "--same-names",
            action="store_true",
            help="codes of the file that have other GUIDs are the study's codes with the same names",
        ),
    )

    def handle(self, *args: object, file: Path, study: str, apart: list[str], dry_run: bool, **options: object) -> None:
        chosen = find_study(study)
        with reading(file) as stream:
            report = import_qdpx(
                study=chosen,
                stream=stream,
                name=file.name,
                by=trail.SYSTEM,
                apart=apart,
                same_names=bool(options["same_names"]),
                dry_run=dry_run,
            )
        words = _in_words(report, dry_run=dry_run, same_names=bool(options["same_names"]))
        self.answer(_as_answer(report, dry_run), words)


def _as_answer(report: StudyReport, dry_run: bool) -> dict[str, object]:
    people = [
        {"name": person.name, "member": person.member.username if person.member else None} for person in report.people
    ]
    return {
        "sha256": report.sha256,
        "dry_run": dry_run,
        "new": dict(report.new),
        "known": dict(report.known),
        "people": people,
        **pick(report, "notes left_out namesakes codebook_version"),
    }


def _in_words(report: StudyReport, *, dry_run: bool, same_names: bool) -> str:
    kinds = ", ".join(f"{new:,} new and {known:,} known {kind}" for kind, new, known in report.kinds) or "nothing"
    begin = "Nothing was stored. The import would add" if dry_run else "Imported"
    ask = []
    if report.namesakes and not same_names:
        ask = ["With --same-names, codes in the file are matched to the codes of this study by name."]
    return "\n".join(
        [f"{begin}: {kinds}.", *report.notes, *ask, *(f"Not imported: {each}" for each in report.left_out)]
    )


class Compare(ActCommand):
    help = (
        "Compare the models of a study by their answers to questions that several models were asked in the same words."
    )
    takes = (
        commands.STUDY,
        Argument(
            "--family", default="", metavar="ID", help=f"codes of this family, or {THEMES} (default: the first family)"
        ),
        commands.CODER.but(help="the coder whose codings are compared (default: all coders, separately)"),
        Argument(
            "--blinding",
            choices=[each.value for each in BlindingChoice],
            default=BlindingChoice.BLIND.value,
            help="codings made before others' labels were seen, or all (default: %(default)s)",
        ),
    )

    def handle(self, *args: object, study: str, family: str, coder: str, blinding: str, **options: object) -> None:
        viewpoint = see_everything(find_study(study), coder=coder, blinding=blinding)
        report = compare(viewpoint, find_family(viewpoint, family))
        self.answer(report, describe_models(report))


class Command(Noun):
    help = "Create a study; export and import its data; compare its models."
    verbs = {
        "compare": Compare,
        "create": Create,
        "export": Export,
        "import": Import,
    }
