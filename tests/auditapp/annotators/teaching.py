"""A study with interviews coded blind, of which something can be learnt. All of our own making."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection

from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.codebook.models import Code
from transcripts.coding.models import Coding, Decision
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence
from transcripts.studies.models import Study

TAUGHT, OTHER = "theme.balance", "theme.compassion"
# Every third answer weighs one thing against another.
WEIGHS = "On balance I weigh both sides of question %d."
NOT = "The weather of day %d is fine."


def add_interviews(study: Study, by: User, *, number: int = 5, turns: int = 24, first: int = 0) -> list[Interview]:
    """Interviews of so many answers, each of one sentence."""
    names = [f"t{place}" for place in range(first, first + number)]
    lines = [
        json.dumps(
            {
                "id": name,
                "model": "Model A",
                "turns": [
                    {"role": "model", "text": (WEIGHS if turn % 3 == 0 else NOT) % turn} for turn in range(turns)
                ],
            }
        )
        for name in names
    ]
    import_file(study=study, name=f"taught-{first}.jsonl", data="\n".join(lines).encode(), by=by)
    return list(Interview.objects.filter(study=study, external_id__in=names).order_by("pk"))


def list_sentences(interviews: Collection[Interview]) -> list[Sentence]:
    sentences = Sentence.objects.filter(turn__interview__in=interviews).select_related("turn")
    return list(sentences.order_by("turn__interview", "position"))


def code_blind(study: Study, coder: User, interviews: Collection[Interview], *, turned: bool = False) -> None:
    """Every sentence decided; those that weigh have the code, or with ``turned`` the others."""
    code, now = Code.objects.get(version__study=study, identifier=TAUGHT), timezone.now()
    codings, decisions = [], []
    for sentence in list_sentences(interviews):
        has = ("balance" in sentence.turn.text) != turned
        common = {"sentence": sentence, "coder": coder, "created_at": now}
        decisions.append(Decision(**common, none_applies=not has, idempotency_key=uuid.uuid4()))
        if has:
            codings.append(Coding(**common, code=code, idempotency_key=uuid.uuid4()))
    Coding.objects.bulk_create(codings)
    Decision.objects.bulk_create(decisions)


def set_rules(study: Study, **rules: list[str]) -> None:
    """Keyword rules of themes, and no others, as if the codebook had been published with them."""
    Code.objects.filter(version__study=study).update(keyword_rules=[])
    for name, lines in rules.items():
        Code.objects.filter(version__study=study, identifier=f"theme.{name}").update(keyword_rules=lines)
