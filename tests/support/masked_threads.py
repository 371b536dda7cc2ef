"""Threads of two conditions that are brought in masked, and all the words that would tell which is which."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from transcripts.accounts.models import User
from transcripts.corpus.actions import import_files
from transcripts.corpus.models import Interview, Sentence
from transcripts.corpus.pure.previews import Choices
from transcripts.studies.models import Study

CONDITIONS = {
    "xenobare": {"model": "zephyrine-9x", "vendor": "Quillworks", "system": ""},
    "xenobriefed": {
        "model": "Claude 3.5 Sonnet",
        "vendor": "Anthropic",
        "system": "You negotiate openly. Ask before you assume.",
    },
}
FILE_NAME = "quillworks-against-anthropic.jsonl"
SECRETS = (
    "xenobare",
    "xenobriefed",
    "zephyrine",
    "quillworks",
    "anthropic",
    "claude",
    "negotiate openly",
    "before you assume",
    "arcade-page",
    "1999-04",
    "toolu_",
    "tier-seven",
    "held by zofia",
    "zq-setting",
    "against-",
)
"""None of these may be in what anybody gets of a masked thread, in any case of letters."""


def make_thread(condition: str, number: int, **others: Any) -> dict[str, Any]:
    """A thread as a line of a file."""
    told = CONDITIONS[condition]
    turns: list[dict[str, Any]] = [{"role": "system", "text": told["system"] or "Act as zephyrine."}]
    turns += [
        {
            "role": "interviewer",
            "text": f"Case {number}. Who is asked?",
            "speaker": "held by Zofia",
            "prompt_kind": "open",
        },
        {
            "role": "model",
            "channel": "reasoning",
            "text": f"I am {told['model']}. The asker may differ.",
            "speaker": told["model"],
        },
        {
            "role": "model",
            "channel": "tool_call",
            "text": '{"q": "facts"}',
            "speaker": "toolu_search",
            "call_id": f"toolu_{number}",
        },
        {
            "role": "tool",
            "channel": "tool_result",
            "text": "A fact.",
            "speaker": "toolu_search",
            "call_id": f"toolu_{number}",
        },
        {
            "role": "model",
            "text": f"As {told['model']} by {told['vendor']} I would ask. It depends on case {number}. 日本 fits.",
            "speaker": told["model"],
            "details": {"model": told["model"], "step": 3},
        },
        {"role": "interviewer", "text": "You assumed a lot. Why?", "prompt_kind": "challenge"},
        {"role": "model", "text": "I take it back. There was no ground."},
    ]
    return {
        "id": f"{condition}-{number}",
        "title": f"{told['vendor']} {condition} {number}",
        "kind": "trajectory",
        "model": told["model"],
        "vendor": told["vendor"],
        "surface": "arcade-page",
        "period": "1999-04",
        "interviewer": "held by Zofia",
        "tier": "tier-seven",
        "inclusion_reason": f"{condition}, as planned",
        "opening_prompt": f"Opening of {told['vendor']}",
        "zq-setting": condition,
        "run": {"task": f"{condition}-task", "agent": told["model"]},
        "turns": turns,
        **others,
    }


def write_file(threads: Iterable[dict[str, Any]]) -> bytes:
    return "\n".join(json.dumps(thread) for thread in threads).encode()


def bring_in_masked(
    study: Study, by: User, threads: Iterable[dict[str, Any]], *, name: str = FILE_NAME, mask: bool = True
) -> list[Interview]:
    """Import threads masked; all that the study then has, in their order."""
    import_files(study=study, files=[(name, write_file(threads))], by=by, choices=Choices(mask=mask))
    return list(study.interviews.order_by("pk"))


def describe_all(study: Study) -> list[Any]:
    """Everything that is known of the threads of a study but their numbers, by the ids in their files."""
    found = []
    for each in study.interviews.select_related("imported_file", "hangs_on__interview").order_by("external_id"):
        known = {
            field.attname: getattr(each, field.attname)
            for field in Interview._meta.concrete_fields
            if field.name
            not in {"id", "study", "owning_study", "imported_file", "hangs_on", "mask_label", "unmasked_at"}
        }
        turns = [
            {
                name: getattr(turn, name)
                for name in ("position", "role", "channel", "speaker", "prompt_kind", "text", "call_id")
            }
            | {"details": turn.details, "is_answer": turn.is_answer}
            for turn in each.turns.order_by("position")
        ]
        hangs = (each.hangs_on.interview.external_id, each.hangs_on.position) if each.hangs_on else None
        file = each.imported_file
        found.append((known, turns, hangs, file.name, file.format, list(each.consents.values_list("scope", "basis"))))
    return found


def list_quotes(study: Study) -> list[tuple[Any, ...]]:
    """The sentences of turns that are not system prompts: their turn, place, kind and hash."""
    rows = Sentence.objects.filter(turn__interview__study=study).exclude(turn__role="system")
    return sorted(
        rows.values_list("turn__interview__external_id", "turn__position", "start", "end", "kind", "text_hash")
    )
