from __future__ import annotations

from django.apps import AppConfig


class PreannotationConfig(AppConfig):
    name = "auditapp.preannotation"

    def ready(self) -> None:
        from auditapp.batches.kinds import register_kind
        from auditapp.llm.cards import register_card_part
        from auditapp.preannotation.card import read_parts
        from auditapp.preannotation.exports import SUGGESTIONS
        from auditapp.preannotation.kind import PreannotationKind
        from auditapp.preannotation.machine_use import read_machine_uses
        from transcripts.exchange.registry import register_export, register_machine_use
        from transcripts.projects.roles import Permission

        register_kind(PreannotationKind())
        register_export(SUGGESTIONS)
        register_machine_use(read_machine_uses)
        # What became of suggestions is colleagues' decisions.
        register_card_part("suggestions", read_parts, Permission.SEE_ALL_CODINGS)
