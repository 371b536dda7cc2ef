from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.template.defaultfilters import pluralize

from transcripts.audit_trail import trail
from transcripts.corpus.actions import import_files, plan_imports
from transcripts.corpus.consent import record_consent
from transcripts.corpus.management import INTERVIEW, find_interviews
from transcripts.corpus.models import Consent
from transcripts.corpus.planning import ImportReport
from transcripts.corpus.pure.previews import read_choices
from transcripts.corpus.pure.segmenting import SEGMENTER, SEGMENTER_VERSION, segment
from transcripts.corpus.queries import STATES, count_states, list_consents
from transcripts.formats.interviews import FORMATS, ReadError, ReadFile, ReadInterview, read_bytes
from transcripts.formats.interviews.chat_content import pair_results
from transcripts.formats.interviews.threads import find_stage
from transcripts.formats.text_input import drop_unseen
from transcripts.refusals import Refused
from transcripts.studies.management import find_study
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, OneOf, input_file, pick, reading, say_file

FORMAT = Argument(
    "--format", default="auto", choices=["auto", *FORMATS], help="the format (default: recognised from the file)"
)


class Import(ActCommand):
    """Stores all the files given, or none of them."""

    help = "Import files of interviews into a study. If one file fails, nothing is imported."
    takes = (
        Argument("files", nargs="+", type=input_file, metavar="FILE"),
        commands.STUDY,
        FORMAT,
        Argument("--leave-out", action="append", default=[], metavar="ID", help="a conversation to leave out"),
        Argument(
            "--role",
            action="append",
            default=[],
            metavar="SPEAKER=ROLE",
            help="interviewer, model, system or tool; text for a name that is not a speaker",
        ),
        Argument(
            "--speaker",
            action="append",
            default=[],
            metavar="NAME",
            help="a name that was read as text, although it is a speaker",
        ),
        Argument("--title", action="append", default=[], metavar="ID=TITLE", help="another title for a conversation"),
        Argument("--model", default="", help="the model, if a file names none"),
        Argument(
            "--consent",
            action="append",
            default=[],
            metavar="SCOPE",
            help="external, quotation or reuse; needs --basis",
        ),
        Argument("--basis", default="", help="the basis of the consent"),
        Argument(
            "--mask",
            action="store_true",
            help="seal models, vendors, system prompts and everything else that reveals the condition; each thread gets a random "
            "label",
        ),
        commands.DRY_RUN,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        paths: list[Path] = options["files"]
        files = [(path.name, path) for path in paths]
        roles = dict(given.rpartition("=")[::2] for given in options["role"])
        titles = dict(given.partition("=")[::2] for given in options["title"])
        try:
            consent = dict.fromkeys(options["consent"], True)
            choices = read_choices(
                {**options, "speakers": options["speaker"], "roles": roles, "titles": titles, "consent": consent}
            )
            if options["dry_run"]:
                reports = plan_imports(study=study, files=files, choices=choices)
            else:
                reports = import_files(study=study, files=files, by=trail.SYSTEM, choices=choices)
        except (Refused, ValueError) as error:
            raise CommandError(" ".join(str(error).split())) from error
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read: {error.strerror}. Nothing was imported.") from error
        is_dry = options["dry_run"]
        words = (format_import(path, report, dry_run=is_dry) for path, report in match_paths(paths, reports))
        self.answer(list_imports(paths, reports, dry_run=is_dry), words)


def match_paths(paths: Sequence[Path], reports: Sequence[ImportReport]) -> list[tuple[Path, ImportReport]]:
    """Each report with the path of its file; for a file in an archive, the archive's path and the name in it."""
    matched = []
    waiting = list(paths)
    for report in reports:
        name, slash, inner = report.name.partition("/")
        while drop_unseen(waiting[0].name) != name and len(waiting) > 1:
            waiting.pop(0)
        matched.append((waiting[0] / inner if slash else waiting.pop(0) if len(waiting) > 1 else waiting[0], report))
    return matched


def list_imports(paths: Sequence[Path], reports: Sequence[ImportReport], *, dry_run: bool) -> dict[str, object]:
    """The result as JSON. ``created`` and ``skipped`` count interviews; a dry run creates none."""
    return {
        "dry_run": dry_run,
        "files": [
            {
                "path": say_file(path),
                **pick(report, "format sha256 interviews turns sentences warnings"),
                "created": report.created and not dry_run,
                **pick(report, "skipped interview_ids grown grown_turns"),
                **({"preview": report.preview} if dry_run else {}),
            }
            for path, report in match_paths(paths, reports)
        ],
        "created": 0 if dry_run else sum(report.interviews for report in reports if report.created),
        "skipped": sum(report.already_there for report in reports),
    }


def format_import(path: Path, report: ImportReport, *, dry_run: bool) -> str:
    """The result for one file; warnings are on their own lines."""
    if report.skipped:
        said = f"{say_file(path)}: nothing new."
    else:
        verb = "would import" if dry_run else "imported"
        counted = ", ".join(
            f"{number} {noun}{pluralize(number)}"
            for number, noun in (
                (report.interviews, "interview"),
                (report.turns, "turn"),
                (report.sentences, "sentence"),
            )
            if number is not None
        )
        said = f"{say_file(path)}: {verb} {counted} (read as {report.format})."
    return "\n".join([said, *(f"  {warning}" for warning in report.warnings)])


class RecordConsent(ActCommand):
    """Records consent for all the named interviews, or for none of them."""

    help = "Record consent for interviews. Without a scope, count the records."
    takes = (
        commands.STUDY,
        Argument(
            "--scope", choices=Consent.Scope.values, help="the scope of the consent; without it, nothing is recorded"
        ),
        OneOf(
            Argument("--given", action="store_true", help="it may be done"),
            Argument("--withdrawn", action="store_true", help="it may not be done: refused or withdrawn"),
            needed=False,
        ),
        Argument("--basis", default="", metavar="TEXT", help="the basis of the consent; required to record consent"),
        INTERVIEW.but(nargs="+", action="extend"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        if not options["scope"]:
            if options["given"] or options["withdrawn"] or options["basis"] or options["interview"]:
                raise CommandError("Give the scope with --scope. Nothing was recorded.")
            counts = count_states(list_consents(study))
            scopes = {each["scope"]: {state: each[state] for state in STATES} for each in counts}
            words = [
                f"{each['label']}: {each['given']} given, {each['refused']} not given, {each['unknown']} with nothing on record."
                for each in counts
            ]
            self.answer({"study": study.slug, "scopes": scopes}, words)
            return
        if not (options["given"] or options["withdrawn"]):
            raise CommandError("Say whether consent is --given or --withdrawn. Nothing was recorded.")
        rows = record_consent(
            study=study,
            interviews=find_interviews(study, options["interview"]),
            scope=options["scope"],
            is_given=options["given"],
            basis=options["basis"],
            by=trail.SYSTEM,
        )
        summary = {"scope": options["scope"], "given": options["given"], "recorded": len(rows)}
        interviews = [row.interview.external_id for row in rows]
        said = "given" if options["given"] else "not given"
        count = f"{len(rows)} interview{pluralize(len(rows))}"
        self.answer(
            {"study": study.slug, **summary, "interviews": interviews},
            f"{Consent.Scope(options['scope']).label}: {said}, recorded for {count}.",
        )


class Read(ActCommand):
    """Reads a file and prints; touches no database."""

    help = "Show how a file is read: its threads, their turns, and what was left out."
    requires_system_checks = []
    takes = (
        commands.FILE.but(help="a file of interviews or trajectories"),
        FORMAT,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        with reading(path, ReadError) as stream:
            read = read_bytes(stream.read(), name=path.name, format=options["format"])
        found = describe_file(read)
        words = [f"{path.name}: read as {read.format}."]
        for thread in found["threads"]:
            hung = thread["hangs_on"]
            where = f", {thread['relation']} at turn {hung['turn']} of thread {hung['thread']}" if hung else ""
            words.append(f"\n{thread['id']}{where}")
            for turn in thread["turns"]:
                speaker = f" {turn['speaker']}" if turn["speaker"] else ""
                text = " ".join(turn["text"].split())
                shown = text if len(text) <= 100 else f"{text[:99]}…"
                words.append(f"{turn['position']:>5}  {turn['role']}, {turn['channel']}{speaker}: {shown}")
        self.answer(found, [*words, *(f"  {warning}" for warning in read.warnings)])


def describe_file(read: ReadFile) -> dict[str, Any]:
    """The result of reading, as JSON. Threads are counted from 1 in the order of the file, and so are the turns of each."""
    places = {thread.external_id: place for place, thread in enumerate(read.interviews, 1)}
    return {
        "format": read.format,
        "threads": [_describe_thread(thread, places) for thread in read.interviews],
        "left_out": dict(read.left_out),
        "warnings": read.warnings,
    }


def _describe_thread(thread: ReadInterview, places: dict[str, int]) -> dict[str, Any]:
    hung = thread.hangs_on
    return {
        "id": thread.external_id,
        "kind": thread.kind,
        "relation": thread.relation,
        "hangs_on": {"thread": places[hung[0]], "turn": hung[1]} if hung else None,
        "model": thread.model_label,
        "run": thread.run,
        "turns": [
            {
                "position": position,
                "role": turn.role,
                "channel": turn.channel,
                "stage": find_stage(turn.role, turn.channel),
                "speaker": turn.speaker,
                "text": turn.text,
                "call": call,
                "details": turn.details,
            }
            for position, (turn, call) in enumerate(zip(thread.turns, pair_results(thread.turns), strict=True), 1)
        ],
    }


class Segment(ActCommand):
    """Reads a file and prints; touches no database."""

    help = "Split a text file (UTF-8) into the sentences that people and models would code."
    requires_system_checks = []
    takes = (
        commands.FILE.but(help="a text file in UTF-8, plain or Markdown"),
        Argument("--language", default="en", help="language tag of the text (default: en)"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        text = read_text(options["file"])
        spans = segment(text, options["language"])
        sentences = [
            {"start": span.start, "end": span.end, "text": text[span.start : span.end], "kind": str(span.kind)}
            for span in spans
        ]
        words = [
            f"{number}\t{each['start']}-{each['end']}\t{each['kind']}\t{each['text']}"
            for number, each in enumerate(sentences, 1)
        ]
        self.answer({"segmenter": f"{SEGMENTER} {SEGMENTER_VERSION}", "sentences": sentences}, words)


def read_text(path: Path) -> str:
    """The exact text of a file, with its line ends and byte order mark as code points."""
    with reading(path) as stream:
        data = stream.read()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CommandError(
            f"{say_file(path)}, line {line}: found byte 0x{data[error.start]:02X}, which is not UTF-8; save the file as UTF-8."
        ) from error


class Command(Noun):
    help = "Import interviews, record consent, and show how files are read."
    verbs = {
        "import": Import,
        "consent": RecordConsent,
        "read": Read,
        "segment": Segment,
    }
