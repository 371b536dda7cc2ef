"""Annotators that read, people who decided blind, and turns that are withheld: rows as the actions leave them, quickly made."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import uuid4

from django.utils import timezone

from auditapp.annotators.models import (
    Annotator,
    OfflineAnswer,
    OfflineRun,
    Suggestion,
    TurnAnswer,
    TurnArm,
    WithholdingPlan,
)
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.llm.models import ModelVariant, ProviderAccount
from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.coding.models import Blinding, Coding, Decision
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.studies.models import Study

BALANCE, COMPASSION = "theme.balance", "theme.compassion"
THEMES = (BALANCE, COMPASSION)


def bring_in(study: Study, owner: User, *, interviews: int = 1, turns: int = 3, sentences: int = 3) -> list[Sentence]:
    """So many interviews; what the model says in them, sentence by sentence."""
    lines = []
    for number in range(interviews):
        said = [
            {"role": "model", "text": " ".join(f"Word {number} {turn} {place} stands." for place in range(sentences))}
            for turn in range(turns)
        ]
        lines.append(json.dumps({"id": f"c{number}", "model": "Model A", "title": f"Talk {number}", "turns": said}))
    import_file(study=study, name="talks.jsonl", data="\n".join(lines).encode(), by=owner)
    rows = Sentence.objects.filter(turn__interview__study=study, turn__interview__external_id__startswith="c")
    return list(rows.select_related("turn__interview").order_by("turn__interview", "turn__position", "start"))


def make_annotator(study: Study, name: str = "reader", **fields: Any) -> Annotator:
    now = timezone.now()
    account, _ = ProviderAccount.objects.get_or_create(name="fake", defaults={"provider": "fake", "created_at": now})
    variant, _ = ModelVariant.objects.get_or_create(
        label=name, defaults={"account": account, "model": "fake", "created_at": now}
    )
    kind = fields.get("kind", Annotator.Kind.MODEL)
    row: dict[str, Any] = {
        "variant": variant if kind == Annotator.Kind.MODEL else None,
        "version": CodebookVersion.objects.get(study=study, number=1),
        "hash": (name.encode().hex() * 64)[:64],
        "created_at": now,
    }
    return Annotator.objects.create(study=study, name=name, **(row | fields))


def read(
    annotator: Annotator,
    sentences: Sequence[Sentence],
    labels: Mapping[int, Collection[str]],
    *,
    codes: Sequence[str] = THEMES,
    missing: Collection[int] = (),
    is_old: bool = False,
    outcome: str = "valid",
) -> list[Suggestion]:
    """A batch in which the annotator read these sentences for ``codes``. ``labels``: codes by the number of a sentence.

    ``is_old``: kept as before answers said what they were asked about.
    """
    assert annotator.variant is not None
    batch = Batch.objects.create(
        study=annotator.study, kind="preannotation", title="Read", created_at=timezone.now(), launched_by_name="x"
    )
    arm = Arm.objects.create(
        batch=batch,
        variant=annotator.variant,
        task="themes",
        system_prompt="…",
        prompt_hash="0" * 64,
        settings={} if is_old else {"codes": list(codes), "family": "themes"},
    )
    turns: dict[int, list[int]] = {}
    for sentence in sentences:
        turns.setdefault(sentence.turn_id, []).append(sentence.pk)
    known = {code.identifier: code for code in Code.objects.filter(version=annotator.version)}
    made = []
    for turn, asked in turns.items():
        cell = Cell.objects.create(batch=batch, arm=arm, input_id=turn, state="done")
        TurnAnswer.objects.create(
            cell=cell,
            annotator=annotator,
            outcome=outcome,
            asked=[] if is_old else asked,
            missing=[pk for pk in asked if pk in missing],
        )
        made += [
            Suggestion(annotator=annotator, cell=cell, sentence_id=pk, code=known[code], rationale="Its reason.")
            for pk in asked
            for code in labels.get(pk, ())
        ]
    return Suggestion.objects.bulk_create(made)


def read_offline(annotator: Annotator, sentences: Sequence[Sentence], labels: Mapping[int, Collection[str]]) -> None:
    run = OfflineRun.objects.create(annotator=annotator, created_at=timezone.now(), launched_by_name="x")
    known = {code.identifier: code for code in Code.objects.filter(version=annotator.version)}
    by_interview: dict[int, list[int]] = {}
    for sentence in sentences:
        by_interview.setdefault(sentence.turn.interview_id, []).append(sentence.pk)
    for interview, read_here in by_interview.items():
        OfflineAnswer.objects.create(run=run, interview_id=interview, sentences=read_here, read_at=timezone.now())
    Suggestion.objects.bulk_create(
        Suggestion(annotator=annotator, run=run, sentence_id=pk, code=known[code])
        for pk, codes in labels.items()
        for code in codes
    )


def decide_all(
    coder: User,
    sentences: Sequence[Sentence],
    labels: Mapping[int, Collection[str]],
    *,
    blinding: str = Blinding.BLIND,
) -> None:
    """``coder`` is through with these sentences, and put these codes."""
    now, study = timezone.now(), sentences[0].turn.interview.study_id
    known = {code.identifier: code for code in Code.objects.filter(version__study=study, version__number=1)}
    Decision.objects.bulk_create(
        Decision(
            sentence=sentence,
            coder=coder,
            blinding=blinding,
            none_applies=sentence.pk not in labels,
            idempotency_key=uuid4(),
            created_at=now,
        )
        for sentence in sentences
    )
    Coding.objects.bulk_create(
        Coding(
            sentence_id=pk, code=known[code], coder=coder, blinding=blinding, idempotency_key=uuid4(), created_at=now
        )
        for pk, codes in labels.items()
        for code in codes
    )


def withhold(study: Study, sentences: Sequence[Sentence], withheld: Collection[int], *, share: float = 0.5) -> None:
    """Draw the turns of these sentences; those in ``withheld`` never show suggestions."""
    plan = WithholdingPlan.objects.create(study=study, number=1, seed=1, made_at=timezone.now(), made_by_name="x")
    TurnArm.objects.bulk_create(
        TurnArm(turn_id=turn, plan=plan, arm="withheld" if turn in withheld else "shown", probability=share)
        for turn in sorted({sentence.turn_id for sentence in sentences})
    )
