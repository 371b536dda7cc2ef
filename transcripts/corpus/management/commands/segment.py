from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from transcripts.corpus.pure.segmenting import SEGMENTER, SEGMENTER_VERSION, segment
from transcripts.formats.command_files import input_file, say_file


class Command(BaseCommand):
    """Reads a file and prints; touches no database."""

    help = "Split a text file (UTF-8) into the sentences that people and models would code."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=input_file, help="a text file in UTF-8, plain or Markdown")
        parser.add_argument("--language", default="en", help="language tag of the text (default: en)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        text = read_text(options["file"])
        spans = segment(text, options["language"])
        if options["json"]:
            sentences = [
                {"start": span.start, "end": span.end, "text": text[span.start : span.end], "kind": str(span.kind)}
                for span in spans
            ]
            self.stdout.write(json.dumps({"segmenter": f"{SEGMENTER} {SEGMENTER_VERSION}", "sentences": sentences}))
            return
        for number, span in enumerate(spans, 1):
            self.stdout.write(f"{number}\t{span.start}-{span.end}\t{span.kind}\t{text[span.start : span.end]}")


def read_text(path: Path) -> str:
    """The exact text of a file: line ends and a byte order mark count as the code points they are."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CommandError(
            f"{say_file(path)}, line {line}: found byte 0x{data[error.start]:02X}, which is not UTF-8; save the file as UTF-8."
        ) from error
