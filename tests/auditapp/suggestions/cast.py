"""Annotators that have read, and people at the panel: rows as the other rooms leave them."""

import uuid

from django.utils import timezone

from auditapp.annotators.models import Annotator, OfflineAnswer, OfflineRun, Suggestion, TurnAnswer
from auditapp.annotators.withholding import ensure_arms, set_withholding
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from auditapp.suggestions.actions import show_suggestions
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code
from transcripts.codebook.queries import current_version
from transcripts.coding.actions import decide_sentence
from transcripts.corpus.models import Sentence

REASON = "Because of the words."


def show_all(study):
    """Withhold nothing from now on."""
    set_withholding(study=study, share_percent=0, reason="To test.", by=trail.SYSTEM)


def withhold_all(study, *interviews):
    """Withhold every turn of these interviews, and nothing of those drawn later."""
    set_withholding(study=study, share_percent=100, reason="To test.", by=trail.SYSTEM)
    ensure_arms(study=study, interviews=[each.pk for each in interviews], by=trail.SYSTEM)
    show_all(study)


def add_annotator(study, name="reader", *, number=1, version=None, **more):
    """A model that reads, or with ``kind`` another reader."""
    version = version or current_version(study)
    assert version is not None
    kind = more.get("kind", Annotator.Kind.MODEL)
    variant = None
    if kind == Annotator.Kind.MODEL:
        variant = ModelVariant.objects.filter(label=name).first() or add_model(
            label=name, provider="fake", by=trail.SYSTEM
        )
    return Annotator.objects.create(
        study=study,
        name=name,
        number=number,
        variant=variant,
        version=version,
        created_at=timezone.now(),
        **more,
    )


def read(annotator, sentence, codes=(), *, family="themes", **more):
    """An answer of ``annotator`` about the whole turn that proposes ``codes`` for ``sentence``.

    ``told``: the codes it was told of, all of the family unless named. ``missing``: whether it left the sentence out.
    ``outcome``, ``flags``: of the turn answer. ``rationale``, ``quote``, ``level``: of the suggestions.
    """
    cell = ask(annotator, sentence, family=family, told=more.get("told"))
    asked = list(sentence.turn.sentences.order_by("pk").values_list("pk", flat=True))
    Cell.objects.filter(pk=cell.pk).update(state=Cell.State.DONE)
    TurnAnswer.objects.create(
        cell=cell,
        annotator=annotator,
        outcome=more.get("outcome", TurnAnswer.Outcome.VALID),
        accepted=len(codes),
        asked=asked,
        missing=[sentence.pk] if more.get("missing") else [],
        flags=more.get("flags", []),
    )
    start, end = more.get("quote", (None, None))
    return [
        Suggestion.objects.create(
            annotator=annotator,
            cell=cell,
            sentence=sentence,
            code=Code.objects.get(version=annotator.version, identifier=code),
            rationale=more.get("rationale", REASON),
            level=more.get("level", "semantic"),
            enactment=more.get("enactment", ""),
            quote_start=start,
            quote_end=end,
        )
        for code in codes
    ]


def ask(annotator, sentence, *, family="themes", told=None):
    """A call about the turn of ``sentence`` that has no answer yet."""
    batch = Batch.objects.create(
        study=annotator.study,
        kind="preannotation",
        title="A turn answer",
        created_at=timezone.now(),
        launched_by_name="x",
        parameters={"annotators": [annotator.pk]},
    )
    family_codes = Code.objects.filter(version=annotator.version, family__identifier=family).order_by("position")
    settings = {
        "annotator": annotator.pk,
        "family": family,
        "codes": list(told if told is not None else family_codes.values_list("identifier", flat=True)),
        "condition": "",
    }
    assert annotator.variant is not None
    arm = Arm.objects.create(
        batch=batch,
        variant=annotator.variant,
        task=family,
        system_prompt="…",
        prompt_hash=uuid.uuid4().hex,
        settings=settings,
    )
    return Cell.objects.create(batch=batch, arm=arm, input_id=sentence.turn_id)


def read_offline(annotator, sentence, codes=()):
    """A run of ``annotator`` over the whole interview that proposes ``codes`` for ``sentence``."""
    run = OfflineRun.objects.create(annotator=annotator, state="done", created_at=timezone.now(), launched_by_name="x")
    interview = sentence.turn.interview
    rows = Sentence.objects.filter(turn__interview=interview, turn__role="model", retired_by__isnull=True)
    OfflineAnswer.objects.create(
        run=run,
        interview=interview,
        sentences=list(rows.order_by("pk").values_list("pk", flat=True)),
        accepted=len(codes),
        read_at=timezone.now(),
    )
    return [
        Suggestion.objects.create(
            annotator=annotator,
            run=run,
            sentence=sentence,
            code=Code.objects.get(version=annotator.version, identifier=code),
        )
        for code in codes
    ]


def decide(sentence, by):
    return decide_sentence(study=sentence.turn.interview.study, sentence=sentence, by=by, idempotency_key=uuid.uuid4())


def look(sentence, by):
    """What ``by`` is shown of the sentence."""
    return show_suggestions(study=sentence.turn.interview.study, sentence=sentence, by=by)
