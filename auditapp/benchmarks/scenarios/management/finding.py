"""What the commands of scenarios find by name."""

from __future__ import annotations

from auditapp.batches.models import Batch
from auditapp.benchmarks.scenarios.queries.runs import KIND
from transcripts.refusals import Refused
from transcripts.ui.commands import find_row, input_file, read_pairs, reading


def find_run(number: int, slug: str = "") -> Batch:
    """The batch of scenarios of that number, in the study of that slug where one is named. Raises ``CommandError``."""
    batches = Batch.objects.select_related("study").filter(kind=KIND).order_by("-pk")
    if slug:
        batches = batches.filter(study__slug=slug)
    return find_row(batches, f"batch of scenarios{f' in {slug}' if slug else ''} with the number", pk=number)


def read_conditions(given: list[str]) -> dict[str, str]:
    """``["prompted=team.txt"]`` as names with the texts of the files. Raises ``CommandError``, ``Refused``."""
    found: dict[str, str] = {}
    for name, path in read_pairs(
        "--condition", given, "is not valid. Write NAME=FILE, each name once, such as prompted=team.txt"
    ).items():
        with reading(input_file(path)) as stream:
            try:
                found[name] = stream.read().decode("utf-8")
            except UnicodeDecodeError:
                raise Refused(f"{path} is not UTF-8 text.") from None
    return found
