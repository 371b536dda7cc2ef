"""The codebook as prompts have it: its families of sentences and turns, their codes, and the pinned examples that may be sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from auditapp.annotators.models import Annotator
from auditapp.annotators.pure.prompts import CodeText
from auditapp.batches.models import Arm
from auditapp.llm.credentials import is_external
from auditapp.llm.models import ModelVariant
from transcripts.codebook.models import Code, CodebookVersion, CodeExample, CodeFamily
from transcripts.corpus.models import Consent, Interview, RedactionList, Sentence
from transcripts.corpus.pure.redacting import Entry, read_stored, replace
from transcripts.corpus.queries import find_redaction, list_consenting

PinnedSentence = tuple[CodeExample, Sentence]
# The units whose codes models are asked for.
UNITS = (CodeFamily.Unit.SENTENCE, CodeFamily.Unit.TURN)
# By its identifier, a family of one of these units, with its codes in the order of the codebook.
PromptFamilies = dict[str, tuple[CodeFamily, tuple[CodeText, ...]]]


def read_prompt_codebook(version: CodebookVersion, variant: ModelVariant) -> tuple[PromptFamilies, dict[str, Any]]:
    """The families of ``version`` coded by sentence or by turn that have codes, as the prompts for ``variant`` contain them;
    and what an annotator's recipe says about the examples among them.

    ``examples`` are the sentences, ``examples_left_out`` says how many may not be sent, and ``redaction`` is the number of
    the list applied to them, 0 for none. Examples of interviews whose consent does not allow it are never sent to a model
    off this site. Codes of turns are asked for by their definitions alone. Reads version.project and variant.account.
    """
    redaction = find_sent_redaction(version, variant)
    examples, left_out = _read_examples(version, variant)
    texts = _write_examples(examples, read_stored(redaction.entries) if redaction else [])
    codes: dict[int, list[CodeText]] = {}
    for code in Code.objects.filter(version=version, is_category=False).select_related("family").order_by("position"):
        codes.setdefault(code.family_id, []).append(make_code_text(code, texts.get(code.pk, ())))
    families = CodeFamily.objects.filter(version=version, unit__in=UNITS).order_by("position")
    return (
        {family.identifier: (family, tuple(codes[family.pk])) for family in families if family.pk in codes},
        {
            "examples": sorted({sentence.pk for _, sentence in examples}),
            "examples_left_out": left_out,
            "redaction": redaction.number if redaction else 0,
        },
    )


def name_side(family: CodeFamily) -> str:
    """Whose turns the codes of the family are asked about as wholes: "model" or "interviewer"; "" for codes of sentences,
    which are those of the model's.

    Codes for anybody's turns are asked about the model's, as those of sentences are.
    """
    if family.unit != CodeFamily.Unit.TURN:
        return ""
    is_questions = family.applies_to == CodeFamily.AppliesTo.INTERVIEWER
    return str(CodeFamily.AppliesTo.INTERVIEWER if is_questions else CodeFamily.AppliesTo.MODEL)


def list_asked_families(version: CodebookVersion | None) -> list[CodeFamily]:
    """The families that a launch can ask a model about, in the order of the codebook."""
    families = CodeFamily.objects.filter(version=version, unit__in=UNITS).order_by("position")
    return [family for family in families if is_asked(family)]


def is_asked(family: CodeFamily) -> bool:
    """Whether models are asked for its codes. They are asked about sentences of the model alone."""
    return family.unit == CodeFamily.Unit.TURN or family.applies_to != CodeFamily.AppliesTo.INTERVIEWER


def find_sent_redaction(version: CodebookVersion, variant: ModelVariant) -> RedactionList | None:
    """The list that is applied to what the model is sent; none for a model of this site. Reads variant.account."""
    return find_redaction(version.project) if is_external(variant) else None


def _read_examples(version: CodebookVersion, variant: ModelVariant) -> tuple[list[PinnedSentence], int]:
    """The pinned sentences that the model may see, and how many it may not. Invented examples are for people."""
    examples = (
        CodeExample.objects.shown()
        .filter(code__version=version, code__family__unit=CodeFamily.Unit.SENTENCE)
        .select_related("sentence__turn")
        .order_by("code_id", "kind", "pk")
    )
    pinned = [(each, each.sentence) for each in examples if each.sentence]
    if not pinned or not is_external(variant):
        return pinned, 0
    allowed = list_consenting({sentence.turn.interview_id for _, sentence in pinned}, Consent.Scope.EXTERNAL)
    seen = [(each, sentence) for each, sentence in pinned if sentence.turn.interview_id in allowed]
    return seen, len(pinned) - len(seen)


def _write_examples(
    examples: Iterable[PinnedSentence], entries: Sequence[Entry]
) -> dict[int, tuple[tuple[str, str], ...]]:
    """By code: kind and text of its examples, as they are sent."""
    found: dict[int, tuple[tuple[str, str], ...]] = {}
    for each, sentence in examples:
        sent = (str(each.kind), replace(sentence.read_text(), entries))
        found[each.code_id] = (*found.get(each.code_id, ()), sent)
    return found


def make_code_text(code: Code, examples: tuple[tuple[str, str], ...] = ()) -> CodeText:
    """A code as prompts contain it, with its own questions if it is applied to turns. Reads code.family."""
    return CodeText(
        identifier=code.identifier,
        name=code.name,
        definition=code.machine_definition or code.definition,
        include=code.include,
        exclude=code.exclude,
        examples=examples,
        questions=tuple(
            (question["key"], question["label"], tuple(question["choices"]))
            for question in code.attributes
            if question["kind"] == "choice" and code.family.unit == CodeFamily.Unit.TURN
        ),
    )


def may_send_instructions(arm: Arm) -> bool:
    """Whether every interview whose sentences are sent as examples still counts in the study and, where the model is
    external, consents to that. Reads arm.variant.account."""
    annotator = Annotator.objects.filter(pk=arm.settings.get("annotator")).first()
    examples = annotator.recipe.get("examples") if annotator else None
    if not examples:
        return True
    interviews = set(Sentence.objects.filter(pk__in=examples).values_list("turn__interview", flat=True))
    if Interview.objects.filter(pk__in=interviews, project__isnull=True).exists():
        return False
    return not is_external(arm.variant) or interviews <= list_consenting(interviews, Consent.Scope.EXTERNAL)


def goes_by_a_list(arm: Arm) -> bool:
    """Whether the arm goes by a redaction list where there was one at its launch. One that does not was launched for a
    model of this site; were its address changed since, names would leave. Reads arm.batch."""
    if arm.settings.get("redaction") or arm.batch_id is None:
        # An arm without a batch is one of a review, which sends nothing.
        return True
    lists = RedactionList.objects.filter(project=arm.batch.project_id, made_at__lt=arm.batch.created_at)
    return not lists.exists()
