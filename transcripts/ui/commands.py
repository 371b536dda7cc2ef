"""Commands that carry out acts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from transcripts.refusals import Refused


class ActCommand(BaseCommand):
    """A command whose acts may be refused: it then ends with the sentence."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except Refused as error:
            raise CommandError(str(error)) from error
