"""Create an annotator: a model, keyword rules, or a classifier learnt from codings, with one codebook version and its exact
instructions. And record why figures of a reflexive family are shown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from auditapp.annotators.models import MAX_CONTROL_SENTENCES, Annotator, ControlSentence
from auditapp.annotators.pure.answers import SCHEMA_VERSION
from auditapp.annotators.pure.prompts import (
    PROMPT_VERSION,
    CodeText,
    list_questions,
    write_system_prompt,
)
from auditapp.annotators.queries.annotators import (
    PromptFamilies,
    find_codes,
    find_control_sentences,
    has_control_sentences,
    name_side,
    read_own_set,
    read_prompt_codebook,
)
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import find_answer_schema
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import CodebookVersion, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.corpus.models import Sentence
from transcripts.corpus.pure.segmenting import hash_quote
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.studies.queries import find_method
from transcripts.ui.typed_text import check_reason, check_text, find_numbers

MAX_TASK = 60
LATENT_NEEDS_REASON = (
    "Say why the model should annotate latent meaning too. Such labels are interpretations, and the reason "
    "is kept with the annotator."
)
NOT_HONOURED = (
    "Structured answers were requested, but no probe has found that the server of {label} honours a JSON schema in this form. "
    "Probe it on the model's page or with `python manage.py model check LABEL`, or launch without structured answers."
)
NAMES = {Annotator.Kind.RULES: "Keyword rules", Annotator.Kind.LEARNT: "Learnt from blind codings"}


@transaction.atomic
def ensure_annotator(
    *,
    study: Study,
    by: trail.Actor,
    name: str = "",
    variant: ModelVariant | None = None,
    kind: str = Annotator.Kind.MODEL,
    mode: str | None = None,
    reads_latent: bool | None = None,
    answer_schema: bool | None = None,
    reason: str = "",
    recipe: Mapping[str, object] | None = None,
) -> Annotator:
    """The annotator with these settings and the study's current codebook; it is created if there is none with the same hash
    yet.

    A model is given as ``variant``, or by ``name``, which is a label. ``name`` may also be an existing annotator, as "NAME
    NUMBER" or, if no model has that name, the newest of the name; its settings apply unless ``mode``, ``reads_latent`` and
    ``answer_schema`` are given. By default, a model given by its label is asked by family for semantic meaning, and its answers
    must follow a JSON schema if a probe has found that its server honours one. Annotators of other kinds are defined by their
    ``recipe``. Latent meaning needs a ``reason``, which is recorded. Raises ``Refused``.
    """
    if Annotator.Kind(kind) == Annotator.Kind.MODEL:
        drafted = _draft(study, variant, name, mode=mode, reads_latent=reads_latent, answer_schema=answer_schema)
    else:
        drafted = _draft_offline(study, Annotator.Kind(kind), name, recipe)
    return _keep(drafted, by=by, reason=reason.strip())


def draft_annotator(
    *,
    study: Study,
    variant: ModelVariant | None = None,
    name: str = "",
    mode: str | None = None,
    reads_latent: bool | None = None,
    answer_schema: bool | None = None,
) -> Annotator:
    """The annotator that a launch would use: the current one, or one that is not stored yet. Writes nothing."""
    drafted = _draft(study, variant, name, mode=mode, reads_latent=reads_latent, answer_schema=answer_schema)
    return Annotator.objects.filter(study=study, hash=drafted.hash).first() or drafted


def _draft(
    study: Study,
    variant: ModelVariant | None,
    name: str,
    *,
    mode: str | None,
    reads_latent: bool | None,
    answer_schema: bool | None,
) -> Annotator:
    version = require_version(study)
    former = None
    if variant is None:
        variant = ModelVariant.objects.select_related("account").filter(label=name).first()
        former = None if variant else _find_former(study, name)
    model = variant or (former.variant if former else None) or _refuse_name(name)
    if mode is None:
        mode = former.mode if former else Annotator.Mode.FAMILY
    if reads_latent is None:
        reads_latent = former.reads_latent if former else False
    drafted = Annotator(
        study=study,
        name=former.name if former else name or model.label,
        kind=Annotator.Kind.MODEL,
        variant=model,
        version=version,
        mode=Annotator.Mode(mode),
        reads_latent=reads_latent,
        prompt_version=PROMPT_VERSION,
    )
    families, examples = read_prompt_codebook(version, model)
    prompts = _render_prompts(families, drafted)
    drafted.recipe = {"prompts": prompts, **examples}
    held = _choose_schema(model, former, answer_schema)
    if held:
        drafted.recipe["answer_schema"] = held
    drafted.hash = hash_annotator(
        kind=drafted.kind,
        version=version,
        variant=model,
        content=[
            PROMPT_VERSION,
            drafted.mode,
            reads_latent,
            [[each["task"], each["text"]] for each in prompts],
            # Without a schema the hash is that of the times before there were any.
            *([held] if held else []),
        ],
    )
    return drafted


def _choose_schema(model: ModelVariant, former: Annotator | None, asked: bool | None) -> dict[str, str]:
    """The form and version of the schema that answers must follow; empty for none. Raises ``Refused`` if a schema is requested
    but no probe has found that the server honours it."""
    if asked is None and former is not None:
        return dict(former.recipe.get("answer_schema", {}))
    form = find_answer_schema(model)
    if asked and not form:
        raise Refused(NOT_HONOURED.format(label=model.label))
    return {"form": form, "version": SCHEMA_VERSION} if form and asked is not False else {}


def check_schema(annotator: Annotator) -> None:
    """Refuse an annotator whose answers must follow a schema if its server is no longer known to honour it. Raises
    ``Refused``."""
    form = annotator.recipe.get("answer_schema", {}).get("form")
    if not form or annotator.variant is None:
        return
    if find_answer_schema(annotator.variant) != form:
        raise Refused(NOT_HONOURED.format(label=annotator.variant.label))


def _draft_offline(study: Study, kind: Annotator.Kind, name: str, recipe: Mapping[str, object] | None) -> Annotator:
    version = require_version(study)
    if not recipe:
        raise ValueError(f"an annotator of kind {kind} is determined by its recipe")
    content = dict(recipe)
    return Annotator(
        study=study,
        name=name or NAMES[kind],
        kind=kind,
        version=version,
        recipe=content,
        hash=hash_annotator(kind=kind, version=version, content=content),
    )


def require_version(study: Study) -> CodebookVersion:
    """The codebook version that people code with. Raises ``Refused``."""
    version = current_version(study)
    if version is None:
        raise Refused("This study has no published codebook yet. Publish one first.")
    return version


def _find_former(study: Study, name: str) -> Annotator | None:
    """The annotator of a model that "NAME NUMBER" refers to, or the newest of the name."""
    models = Annotator.objects.filter(study=study, kind=Annotator.Kind.MODEL).select_related("variant__account")
    newest = models.filter(name=name).order_by("-number").first()
    own, _, number = name.rpartition(" ")
    return newest or models.filter(name=own, number__in=find_numbers([number])).first()


def _refuse_name(name: str) -> NoReturn:
    labels = ", ".join(ModelVariant.objects.values_list("label", flat=True)) or "none"
    raise Refused(f"There is no annotator and no model {name!r}. The models are: {labels}.")


def hash_annotator(*, kind: str, version: CodebookVersion, content: object, variant: ModelVariant | None = None) -> str:
    """SHA-256 of everything that determines an annotator's labels: who is asked and how, the version of the codebook, and
    ``content``, which for a model is its exact instructions."""
    who = None if variant is None else [variant.label, variant.model, variant.reasoning, variant.parameters]
    whole = [str(kind), who, version.number, content]
    return hashlib.sha256(json.dumps(whole, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _keep(drafted: Annotator, *, by: trail.Actor, reason: str) -> Annotator:
    """The current annotator with this hash, or the drafted one, which is then stored under the next number of its name."""
    known = Annotator.objects.filter(study=drafted.study, hash=drafted.hash)
    current = known.first()
    if current is None:
        if drafted.reads_latent and not reason:
            raise Refused(LATENT_NEEDS_REASON)
        # Two who launch at once make one annotator: the second waits here, and looks again.
        Study.objects.select_for_update().get(pk=drafted.study_id)
        current = known.first()
    if current is None:
        return _store(drafted, by=by, reason=reason)
    if current.reads_latent and reason:
        details = {"reads_latent": True, "reason": reason}
        trail.record("annotators.annotator.confirmed", target=current, by=by, details=details)
    return current


def _store(drafted: Annotator, *, by: trail.Actor, reason: str) -> Annotator:
    named = Annotator.objects.filter(study=drafted.study, name=drafted.name)
    drafted.number = (named.aggregate(last=Max("number"))["last"] or 0) + 1
    drafted.created_at, drafted.created_by_name = timezone.now(), by.get_username()
    drafted.save(force_insert=True)
    details: dict[str, object] = {
        "name": drafted.name,
        "number": drafted.number,
        "kind": str(drafted.kind),
        "model": drafted.variant.label if drafted.variant else "",
        "codebook": drafted.version.number,
        "hash": drafted.hash,
    }
    if drafted.reads_latent:
        details |= {"reads_latent": True, "reason": reason}
    trail.record("annotators.annotator.created", target=drafted, by=by, details=details)
    return drafted


def read_prompts(annotator: Annotator) -> list[dict[str, Any]]:
    """The exact instructions of a model, in the order of the codebook. For each family, or each code of it: the ``text``, with
    the ``task``, the ``family`` and its ``codes`` by identifier. For codes applied to turns, ``turns_of`` says whose turns; for
    codes with questions, ``questions`` has the answers offered. Reads version and variant of an old annotator."""
    stored = annotator.recipe.get("prompts")
    if stored is None:
        if annotator.variant is None:
            return []
        families, _ = read_prompt_codebook(annotator.version, annotator.variant)
        # Such annotators were made before turns were coded as wholes.
        old = {name: family for name, family in families.items() if family[0].unit == CodeFamily.Unit.SENTENCE}
        return _render_prompts(old, annotator)
    return list(stored)


def _render_prompts(families: PromptFamilies, annotator: Annotator) -> list[dict[str, Any]]:
    by_code = annotator.mode == Annotator.Mode.CODE
    return [
        {
            "task": (codes[0].identifier if by_code else family.identifier)[:MAX_TASK],
            "family": family.identifier,
            "codes": [code.identifier for code in codes],
            "text": render_instructions(family, codes, annotator),
            **({"turns_of": name_side(family)} if name_side(family) else {}),
            **({"questions": list_questions(codes)} if list_questions(codes) else {}),
        }
        for family, every in families.values()
        for codes in ([(code,) for code in every] if by_code else [every])
    ]


def render_instructions(family: CodeFamily, codes: Sequence[CodeText], annotator: Annotator) -> str:
    """The annotator's instructions for these codes of a family, in this order, in its version of the prompt. Latent meaning is
    asked for only in families with levels."""
    return write_system_prompt(
        family.name,
        codes,
        rules=family.rules,
        carries_enactment=family.carries_enactment,
        once_per_answer=family.once_per_answer,
        reads_latent=annotator.reads_latent and family.carries_level,
        sends_earlier=bool(annotator.prompt_version),
        turns_of=name_side(family),
    )


@transaction.atomic
def record_calibration(*, study: Study, annotator: Annotator | None, family: str, reason: str, by: User) -> None:
    """Record why figures are shown for a family that is coded reflexively: figures of one annotator, or the rates of the
    chosen annotators.

    Raises ``Refused``.
    """
    needed = "Say why figures are computed although this family is coded reflexively."
    reason = check_reason(reason, needed=needed, one_line=True)
    trail.record(
        "annotators.calibration.computed",
        target=annotator if annotator is not None else f"family:{family}",
        by=by,
        stream=trail.study_stream(study.pk),
        details={"family": family, "method": find_method(study, family), "reason": reason},
    )


@transaction.atomic
def add_control_sentence(*, study: Study, text: str, codes: Sequence[str], by: trail.Actor) -> ControlSentence:
    """Store an invented sentence with its known codes (none: no code applies). Raises ``Refused``."""
    words = check_text(
        text, field="text", max_length=MAX_CONTROL_SENTENCES, needed="Write the sentence.", one_line=True
    )
    _check(study, words, codes)
    return _store_control_sentence(study, words, codes, by)


@transaction.atomic
def add_built_in_control_sentences(*, study: Study, by: trail.Actor) -> list[ControlSentence]:
    """Add the built-in control sentences whose codes are in the codebook, unless they have been added already.

    Raises ``Refused`` if there is none to add.
    """
    known = _list_known_codes(study)
    current = set(find_control_sentences(study).values_list("text", flat=True))
    now = timezone.now()
    rows = [
        ControlSentence(
            study=study,
            text=text,
            codes=sorted(codes),
            created_at=now,
            created_by_name=by.get_username(),
        )
        for text, codes in read_own_set()
        if known.issuperset(codes) and text not in current
    ]
    if not rows:
        raise Refused("Every built-in sentence that fits this codebook is already a control sentence.")
    ControlSentence.objects.bulk_create(rows)
    trail.record(
        "annotators.control_sentence.set_added", target=study, by=by, details={"sentences": [row.pk for row in rows]}
    )
    return rows


@transaction.atomic
def ensure_control_sentences(*, study: Study, by: trail.Actor) -> None:
    """Add this set to a study that has never had a control sentence. If all were withdrawn, that was a decision, and none are
    added."""
    if has_control_sentences(study):
        return
    # Two who launch at once add one set: the second waits here, and looks again.
    Study.objects.select_for_update().get(pk=study.pk)
    if not has_control_sentences(study):
        add_built_in_control_sentences(study=study, by=by)


@transaction.atomic
def withdraw_control_sentence(*, controls: ControlSentence, by: trail.Actor) -> None:
    """Stop using a control sentence. Earlier answers about it are kept and still count. Reads controls.study."""
    row = ControlSentence.objects.select_for_update().get(pk=controls.pk)
    if row.withdrawn_at is not None:
        raise Refused("This sentence has already been withdrawn.")
    row.withdrawn_at = timezone.now()
    row.save(update_fields=["withdrawn_at"])
    trail.record("annotators.control_sentence.withdrawn", target=row, by=by, details={})


def _list_known_codes(study: Study) -> set[str]:
    return set(find_codes(study).values_list("identifier", flat=True))


def _check(study: Study, text: str, codes: Sequence[str]) -> None:
    unknown = sorted(set(codes) - _list_known_codes(study))
    if unknown:
        raise Refused(f"The published codebook has no code {', '.join(unknown)} that applies to sentences.")
    if find_control_sentences(study).filter(text=text).exists():
        raise Refused("This sentence is already a control sentence. Withdraw it first to give it other codes.")
    if Sentence.objects.filter(turn__interview__study=study, text_hash=hash_quote(text)).exists():
        raise Refused("This sentence occurs in one of the interviews. Write one that does not.")


def _store_control_sentence(study: Study, text: str, codes: Sequence[str], by: trail.Actor) -> ControlSentence:
    row = ControlSentence.objects.create(
        study=study,
        text=text,
        codes=sorted(set(codes)),
        created_at=timezone.now(),
        created_by_name=by.get_username(),
    )
    stream = trail.study_stream(study.pk)
    trail.record(
        "annotators.control_sentence.added", target=row, by=by, stream=stream, details={"codes": len(row.codes)}
    )
    return row
