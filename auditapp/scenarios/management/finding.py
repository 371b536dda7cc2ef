"""What the commands of scenarios find by name."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import CommandError

from auditapp.batches.models import Batch
from auditapp.llm.models import ModelVariant
from auditapp.scenarios.queries.runs import KIND
from transcripts.projects.models import Project


def find_project(slug: str) -> Project:
    """The study of that slug. Raises ``CommandError``."""
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        raise CommandError(f"There is no study {slug!r}.")
    return project


def find_variant(label: str) -> ModelVariant:
    """The model with that label. Raises ``CommandError``."""
    variant = ModelVariant.objects.select_related("account").filter(label=label).first()
    if variant is None:
        labels = ", ".join(ModelVariant.objects.values_list("label", flat=True)) or "none"
        raise CommandError(f"There is no model {label!r}. The models are: {labels}.")
    return variant


def find_run(number: int, slug: str = "") -> Batch:
    """The batch of scenarios of that number, in the study of that slug where one is named. Raises ``CommandError``."""
    batches = Batch.objects.select_related("project").filter(pk=number, kind=KIND)
    batch = (batches.filter(project__slug=slug) if slug else batches).first()
    if batch is None:
        raise CommandError(f"There is no batch of scenarios with the number {number}{f' in {slug}' if slug else ''}.")
    return batch


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
            found[name] = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError:
            raise CommandError(f"{path} is not a text in UTF-8.") from None
    return found
