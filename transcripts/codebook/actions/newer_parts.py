"""A study takes over what the built-in codebook has gained since."""

from __future__ import annotations

from django.db import transaction

from transcripts.audit_trail import trail
from transcripts.codebook import queries
from transcripts.codebook.actions.storing import add_change, hold_draft, store_examples, write_content
from transcripts.codebook.actions.versions import start_draft
from transcripts.codebook.models import CodebookVersion, CodeChange
from transcripts.codebook.pure.newer_parts import add_newer_parts
from transcripts.codebook.pure.seed import load_seed
from transcripts.codebook.quotes import find_quoted
from transcripts.projects.models import Project
from transcripts.refusals import Refused

Kind, Effect = CodeChange.Kind, CodeChange.Effect
REASON = "Taken over from the built-in codebook."


@transaction.atomic
def take_newer_parts(*, project: Project, by: trail.Actor) -> CodebookVersion:
    """Start a draft with the families and questions that the built-in codebook has gained; everything else is as before.

    Questions leave the meaning of a code alone, so no coding needs re-review. Nothing is published. Raises ``DraftIsOpen``, or
    ``Refused`` where there is nothing to take over.
    """
    draft = start_draft(project=project, by=by)
    base = draft.based_on
    parts = queries.find_newer_parts(base) if base is not None else None
    if not parts:
        raise Refused("The built-in codebook has nothing that this study has not had. Nothing was changed.")
    content, built_in = hold_draft(draft), load_seed().content
    write_content(draft, content, add_newer_parts(content, built_in, parts))
    born = {family.identifier for family in parts.families}
    added = [code.identifier for code in built_in.codes if code.family in born]
    for identifier in added:
        add_change(draft, Kind.ADDED, by=by, after=identifier, reason=REASON)
    for identifier in parts.questions:
        change = {"before": identifier, "after": identifier, "effect": Effect.WORDING, "reason": REASON}
        add_change(draft, Kind.ADJUSTED, by=by, **change)
    store_examples(draft, find_quoted(project, [each for each in built_in.examples if each.code in added]), by=by)
    trail.record(
        "codebook.built_in.taken_over",
        target=draft,
        by=by,
        details={
            "version": draft.number,
            "families": sorted(born),
            "codes": added,
            "questions": {code: [question.key for question in asked] for code, asked in parts.questions.items()},
        },
    )
    return draft
