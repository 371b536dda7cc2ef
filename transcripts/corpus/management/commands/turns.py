from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from transcripts.corpus.pure.readers import FORMATS, ReadError, ReadFile, ReadInterview, read_bytes
from transcripts.corpus.pure.readers.calls import pair_results
from transcripts.corpus.pure.readers.threads import find_stage
from transcripts.formats.command_files import input_file


class Command(BaseCommand):
    """Reads a file and prints; touches no database."""

    help = "Show what the readers make of a file: its threads, their turns, and what was left out."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=input_file, help="a file of interviews or trajectories")
        parser.add_argument(
            "--format", default="auto", choices=["auto", *FORMATS], help="default: recognised from the file"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            read = read_bytes(path.read_bytes(), name=path.name, format=options["format"])
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except ReadError as error:
            raise CommandError(" ".join(str(error).split())) from error
        if options["json"]:
            self.stdout.write(json.dumps(describe_file(read), ensure_ascii=False))
            return
        self.stdout.write(f"{path.name}: read as {read.format}.")
        for thread in describe_file(read)["threads"]:
            hung = thread["hangs_on"]
            behind = f", {thread['relation']} at turn {hung['turn']} of thread {hung['thread']}" if hung else ""
            self.stdout.write(f"\n{thread['id']}{behind}")
            for turn in thread["turns"]:
                speaker = f" {turn['speaker']}" if turn["speaker"] else ""
                text = " ".join(turn["text"].split())
                shown = text if len(text) <= 100 else f"{text[:99]}…"
                self.stdout.write(f"{turn['position']:>5}  {turn['role']}, {turn['channel']}{speaker}: {shown}")
        for warning in read.warnings:
            self.stdout.write(f"  {warning}")


def describe_file(read: ReadFile) -> dict[str, Any]:
    """What was read as JSON. Threads are counted from 1 in the order of the file, and so are the turns of each."""
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
