from __future__ import annotations

import json

from django.core.management.base import BaseCommand, CommandParser

from auditapp.demo.actions import load_demo
from transcripts.ui.commands import Noun


class Load(BaseCommand):
    help = "Load the invented demo study, once: interviews, codings, machine suggestions and a finished sob batch."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: object, **options: object) -> None:
        loaded = load_demo()
        if options["json"]:
            self.stdout.write(json.dumps({"loaded": loaded}))
        else:
            self.stdout.write("The demo study is loaded." if loaded else "The demo study was already loaded.")


class Command(Noun):
    help = "The invented demo study."
    verbs = {
        "load": Load,
    }
