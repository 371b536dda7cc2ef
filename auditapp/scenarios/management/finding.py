"""What the commands of scenarios find by name."""

from __future__ import annotations

from django.core.management.base import CommandError

from auditapp.batches.models import Batch
from auditapp.scenarios.queries.runs import KIND
from transcripts.formats.command_files import input_file
from transcripts.ui.commands import find_row


def find_run(number: int, slug: str = "") -> Batch:
    """The batch of scenarios of that number, in the study of that slug where one is named. Raises ``CommandError``."""
    batches = Batch.objects.select_related("project").filter(kind=KIND).order_by("-pk")
    if slug:
        batches = batches.filter(project__slug=slug)
    return find_row(batches, f"batch of scenarios{f' in {slug}' if slug else ''} with the number", pk=number)


def read_conditions(pairs: list[str]) -> dict[str, str]:
    """``["prompted=team.txt"]`` as names with the texts of the files. Raises ``CommandError``."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, path = pair.partition("=")
        if not sign or not name or not path or name in found:
            raise CommandError(
                f"--condition {pair!r} is not valid. Write NAME=FILE, each name once, such as prompted=team.txt."
            )
        try:
            found[name] = input_file(path).read_text(encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError:
            raise CommandError(f"{path} is not a text in UTF-8.") from None
    return found
