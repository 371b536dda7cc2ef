"""The codebook as a model is told it: its sentence families, their codes, and the pinned examples that it may see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from auditapp.llm.locality import is_external
from auditapp.llm.models import ModelVariant
from auditapp.preannotation.annotators.pure.prompts import CodeText
from transcripts.codebook.models import Code, CodebookVersion, CodeExample, CodeFamily
from transcripts.corpus.models import Consent, RedactionList
from transcripts.corpus.pure.redacting import Entry, read_stored, replace
from transcripts.corpus.queries import find_redaction, list_consenting


class ToldFamily(NamedTuple):
    """A family whose unit is the sentence, with its codes in the order in which they are told."""

    identifier: str
    name: str
    rules: str
    carries_level: bool
    carries_enactment: bool
    codes: tuple[CodeText, ...]


class ToldCodebook(NamedTuple):
    """What a model is told of a version. ``examples``: the sentences among it; ``left_out``: how many may not be sent.

    ``redaction`` is the number of the list that was applied to the examples, 0 for none.
    """

    families: tuple[ToldFamily, ...]
    examples: tuple[int, ...] = ()
    left_out: int = 0
    redaction: int = 0


def read_told_codebook(version: CodebookVersion, variant: ModelVariant) -> ToldCodebook:
    """The sentence families of ``version`` as ``variant`` may read them; families without a code are left out.

    Examples of interviews whose consent does not allow it are never told to a model off this site, and the redaction
    list is applied to the others. Reads version.project and variant.account.
    """
    redaction = find_sent_redaction(version, variant)
    examples, left_out = _read_examples(version, variant)
    texts = _write_examples(examples, read_stored(redaction.entries) if redaction else [])
    codes: dict[int, list[CodeText]] = {}
    for code in Code.objects.filter(version=version).order_by("position"):
        codes.setdefault(code.family_id, []).append(_tell_code(code, texts.get(code.pk, ())))
    families = CodeFamily.objects.filter(version=version, unit=CodeFamily.Unit.SENTENCE).order_by("position")
    return ToldCodebook(
        families=tuple(
            ToldFamily(
                family.identifier,
                family.name,
                family.rules,
                family.carries_level,
                family.carries_enactment,
                tuple(codes[family.pk]),
            )
            for family in families
            if family.pk in codes
        ),
        examples=tuple(sorted({example.sentence_id for example in examples})),
        left_out=left_out,
        redaction=redaction.number if redaction else 0,
    )


def find_sent_redaction(version: CodebookVersion, variant: ModelVariant) -> RedactionList | None:
    """The list that is applied to what the model is sent; none for a model of this site. Reads variant.account."""
    return find_redaction(version.project) if is_external(variant) else None


def _read_examples(version: CodebookVersion, variant: ModelVariant) -> tuple[list[CodeExample], int]:
    """The pinned sentences that the model may see, and how many it may not."""
    pinned = list(
        CodeExample.objects.filter(code__version=version, code__family__unit=CodeFamily.Unit.SENTENCE)
        .select_related("sentence__turn")
        .order_by("code_id", "kind", "pk")
    )
    if not pinned or not is_external(variant):
        return pinned, 0
    allowed = list_consenting({each.sentence.turn.interview_id for each in pinned}, Consent.Scope.EXTERNAL)
    seen = [each for each in pinned if each.sentence.turn.interview_id in allowed]
    return seen, len(pinned) - len(seen)


def _write_examples(
    examples: Iterable[CodeExample], entries: Sequence[Entry]
) -> dict[int, tuple[tuple[str, str], ...]]:
    """By code: kind and text of its examples, as they are sent."""
    found: dict[int, tuple[tuple[str, str], ...]] = {}
    for each in examples:
        told = (str(each.kind), replace(each.sentence.read_text(), entries))
        found[each.code_id] = (*found.get(each.code_id, ()), told)
    return found


def _tell_code(code: Code, examples: tuple[tuple[str, str], ...]) -> CodeText:
    return CodeText(
        identifier=code.identifier,
        name=code.name,
        definition=code.machine_definition or code.definition,
        include=code.include,
        exclude=code.exclude,
        examples=examples,
    )
