from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db import transaction
from django.template.defaultfilters import pluralize

from transcripts.audit_trail import trail
from transcripts.codebook.actions import import_codebook, plan_import, publish_version
from transcripts.codebook.actions.versions import ImportPlan
from transcripts.codebook.models import CodebookVersion, CodeChange
from transcripts.studies.management import find_study
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, reading


class Import(ActCommand):
    """Makes a draft from the file, as the page of the codebook does, or nothing if anything in the file is wrong."""

    help = "Import a codebook into a study as a draft, which is published on its page or with --publish."
    takes = (
        commands.FILE.but(help="a codebook as CSV, JSON or .qdc"),
        commands.STUDY,
        Argument(
            "--effect",
            default="",
            choices=CodeChange.Effect.values,
            help="the effect of new definitions on existing codes; without it, their codings need re-review",
        ),
        Argument("--keep-missing", action="store_true", help="keep codes of the study that the file lacks"),
        Argument("--publish", action="store_true", help="publish the draft at once"),
        commands.DRY_RUN,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        path: Path = options["file"]
        with reading(path) as stream:
            data = stream.read()
        keep = options["keep_missing"]
        with transaction.atomic():
            plan = plan_import(study=study, data=data, name=path.name, keep_missing=keep)
            version, is_new = plan.latest, False
            if not options["dry_run"]:
                version, is_new, _ = import_codebook(
                    study=study,
                    data=data,
                    name=path.name,
                    by=trail.SYSTEM,
                    effect=options["effect"],
                    keep_missing=keep,
                )
                if options["publish"] and version.status == CodebookVersion.Status.DRAFT:
                    publish_version(version=version, by=trail.SYSTEM)
        answer = describe(plan, version, is_new=is_new, dry_run=options["dry_run"])
        self.answer(answer, format_answer(answer))


def describe(plan: ImportPlan, version: CodebookVersion | None, *, is_new: bool, dry_run: bool) -> dict[str, Any]:
    """The result of the import as JSON; ``version`` and ``status`` are null if there is no version yet."""
    codes = plan.comparison.codes
    return {
        "dry_run": dry_run,
        "format": plan.form,
        "created": is_new,
        "version": version.number if version else None,
        "status": version.status if version else None,
        "codes": len(plan.content.codes),
        "added": [code.identifier for code in codes if code.is_added],
        "changed": [code.identifier for code in codes if not (code.is_added or code.is_removed)],
        "removed": [code.identifier for code in codes if code.is_removed],
        "warnings": list(plan.warnings),
    }


def format_answer(answer: dict[str, Any]) -> str:
    """The same in words."""
    changes = ", ".join(f"{len(answer[kind]):,} {kind}" for kind in ("added", "changed", "removed"))
    codes = f"{answer['codes']:,} code{pluralize(answer['codes'])} ({changes})"
    if answer["dry_run"]:
        said = f"Nothing was stored. The next version would have {codes}."
    elif answer["created"]:
        behind = "draft" if answer["status"] == CodebookVersion.Status.DRAFT else "published version"
        said = f"Version {answer['version']} is a {behind} with {codes}."
        if behind == "draft":
            said = f"{said} Publish it to code with it."
    else:
        said = f"Nothing changed: version {answer['version']} already has exactly the codes in the file."
    return "\n".join([said, *answer["warnings"]])


class Command(Noun):
    help = "The codebook of a study."
    verbs = {
        "import": Import,
    }
