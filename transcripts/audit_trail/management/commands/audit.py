from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError
from django.db import transaction

from transcripts.audit_trail import replay
from transcripts.audit_trail.checkpoints import (
    BadKey,
    add_checkpoint,
    compare_with_checkpoints,
    list_checkpoints,
    read_private_key,
    read_public_key,
)
from transcripts.audit_trail.trail import (
    SYSTEM,
    NothingToErase,
    erase_texts,
    list_streams,
    study_stream,
    verify_streams,
)
from transcripts.ui import commands
from transcripts.ui.commands import ActCommand, Argument, Noun, reading

SHOWN = 20


class Verify(ActCommand):
    help = (
        "Check every event of the audit trail against its hash and the adjacent events; with --checkpoints, the trail against "
        "signed checkpoints; with --rows, the codings, decisions and memos in the database against the trail. The exit status is "
        "1 if something does not match."
    )
    takes = (
        Argument("--checkpoints", type=Path, metavar="FOLDER", help="a folder written by audit checkpoint"),
        Argument(
            "--public-key",
            type=Path,
            metavar="FILE",
            help="the public key, as `openssl pkey -in KEY -pubout` writes it",
        ),
        Argument(
            "--rows",
            action="store_true",
            help="rebuild codings, decisions, memos, finishes and adjudications from the trail and compare them with the database",
        ),
        commands.MAYBE_STUDY.but(help="with --rows: this study only"),
    )

    def handle(self, *args: object, **options: Any) -> None:
        folder, key, slug = options["checkpoints"], options["public_key"], options["study"]
        if (folder is None) != (key is None):
            raise CommandError("--checkpoints and --public-key go together: name both or neither.")
        if slug is not None and (not options["rows"] or folder is not None):
            raise CommandError("Use --study with --rows, not with --checkpoints: checkpoints cover the whole trail.")
        study = None if slug is None else find_study(slug)
        compared, problems = compare(folder, key) if folder is not None else (0, list[str]())
        streams = list_streams() if study is None else [study_stream(study)]
        states = verify_streams(streams)
        breaks = [
            {"stream": stream, "sequence": first_break} for stream, _, first_break in states if first_break is not None
        ]
        events = sum(events for _, events, _ in states)
        answer: dict[str, object] = {"streams": len(states), "events": events, "breaks": breaks}
        if folder is not None:
            answer |= {"checkpoints": compared, "problems": problems}
        comparison = replay.compare_rows(streams, study_id=study) if options["rows"] else None
        if comparison is not None:
            answer |= describe(comparison)
        words = []
        if not breaks and not problems:
            agreeing = (
                f" It agrees with {compared} checkpoint{'' if compared == 1 else 's'}." if folder is not None else ""
            )
            words.append(f"{events} events in {len(states)} streams: the chain is intact.{agreeing}")
        if comparison is not None:
            words += [tell(answer), *(f"  {difference}" for difference in comparison.differences[:SHOWN])]
        if words or self.as_json:
            self.answer(answer, words)
        places = "; ".join(f"{each['stream']} from event {each['sequence']}" for each in breaks)
        if breaks:
            problems.insert(0, f"{places}. The events before these still match.")
        if problems:
            raise CommandError(
                f"The audit trail was changed: {' '.join(problems)} Compare it with an earlier backup or export."
            )
        if comparison is not None and (count := len(comparison.differences) + comparison.more):
            more = f", {SHOWN} of them above" if count > SHOWN and not self.as_json else ""
            raise CommandError(
                f"Rows in the database differ from the audit trail ({count:,} difference{'' if count == 1 else 's'}{more}). "
                "They were changed without the program, or the trail was. Compare both with an earlier backup."
            )


def find_study(slug: str) -> int:
    """The number of a study. Raises ``CommandError``."""
    # The room of the trail is below that of the studies and must not import it.
    study = apps.get_model("studies", "Study")._default_manager.filter(slug=slug).first()  # noqa: SLF001
    if study is None:
        raise CommandError(f"There is no study {slug!r}.")
    return int(study.pk)


def describe(comparison: replay.Comparison) -> dict[str, object]:
    """The result of a comparison of rows, for ``--json``."""
    return {
        "rows": {label: sum(counts.values()) for label, counts in comparison.counts.items()},
        "rows_found": sum(counts["found"] for counts in comparison.counts.values()),
        "rows_before": sum(counts["old"] for counts in comparison.counts.values()),
        "texts_erased": comparison.erased,
        "differences": [difference._asdict() for difference in comparison.differences],
        "further_differences": comparison.more,
    }


def tell(answer: Mapping[str, Any]) -> str:
    """The result of a comparison of rows, in sentences."""
    rows = ", ".join(f"{count:,} {label}" for label, count in answer["rows"].items())
    sentences = [f"Rows compared with the trail: {rows}."]
    if count := answer["rows_found"]:
        sentences.append(
            f"{count:,} of them existed before events recorded rows, and are compared with the state at the upgrade."
        )
    if count := answer["rows_before"]:
        sentences.append(
            f"{count:,} of them are from before events recorded rows, and are compared only with what their events say."
        )
    if count := answer["texts_erased"]:
        sentences.append(f"{count:,} texts were erased and cannot be compared.")
    return " ".join(sentences)


def compare(folder: Path, key: Path) -> tuple[int, list[str]]:
    """The number of checkpoints, and the contradictions with the trail. Raises ``CommandError``."""
    with reading(key, BadKey) as stream:
        public = read_public_key(stream.read())
    count = len(list_checkpoints(folder))
    if not count:
        raise CommandError(f"There is no checkpoint in {folder}. Write one with `manage.py audit checkpoint`.")
    return count, list(compare_with_checkpoints(folder, public))


class Checkpoint(ActCommand):
    help = (
        "Write a checkpoint, a signed record of the last event in every stream of the audit trail, to a folder that the owner "
        "of the database cannot change (on another machine, or storage that accepts only new files). audit verify compares "
        "the trail with it. Run it every day, with a key that the web server and the workers do not have."
    )
    takes = (
        Argument("folder", type=Path, help="where checkpoints are kept"),
        Argument(
            "--key",
            type=Path,
            required=True,
            metavar="FILE",
            help="a private key, as `openssl genpkey -algorithm ed25519 -out FILE` writes it",
        ),
    )

    def handle(self, *args: object, folder: Path, key: Path, **options: object) -> None:
        with reading(key, BadKey) as stream:
            private = read_private_key(stream.read())
        try:
            path = add_checkpoint(folder, private)
        except OSError as error:
            raise CommandError(f"No checkpoint was written to {folder} ({error.strerror}).") from error
        answer = {"checkpoint": str(path)}
        self.answer(answer, f"Checkpoint {path.name} was written to {folder}.")


class Erase(ActCommand):
    help = (
        "Erase text that a person typed: notes, reasons and answers of a coding, the text of a memo, and their copies stored with "
        "the audit trail. The rows stay, and the trail says that their texts were erased. It cannot be undone. Earlier backups "
        "and exports still contain the texts."
    )
    takes = (
        Argument("rows", nargs="+", metavar="ROW", help="coding.memo:12, coding.coding:7, …"),
        commands.REASON.but(help="the reason; it stays in the audit trail permanently, so do not name a person in it"),
    )

    @transaction.atomic
    def handle(self, *args: object, rows: list[str], reason: str, **options: object) -> None:
        try:
            erased = {row: erase_texts(row, reason=reason, by=SYSTEM) for row in rows}
        except NothingToErase as error:
            raise CommandError(f"{error} Nothing was erased.") from error
        told = "\n".join(f"{row}: {', '.join(columns)} erased." for row, columns in erased.items())
        self.answer({"erased": erased}, told)


class Command(Noun):
    help = "Verify and sign the audit trail, and erase texts."
    verbs = {
        "verify": Verify,
        "checkpoint": Checkpoint,
        "erase": Erase,
    }
