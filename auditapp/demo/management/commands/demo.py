from __future__ import annotations

from auditapp.demo.actions import load_demo
from transcripts.ui.commands import ActCommand, Noun


class Load(ActCommand):
    help = "Load the invented demo study, once: interviews, codings, machine suggestions and a finished sob batch."

    def handle(self, *args: object, **options: object) -> None:
        loaded = load_demo()
        self.answer({"loaded": loaded}, "The demo study is loaded." if loaded else "The demo study was already loaded.")


class Command(Noun):
    help = "The invented demo study."
    verbs = {
        "load": Load,
    }
