"""The annotators of a study: what each has annotated, the codes it is chosen for, the invented sentences for testing it, and
what to consider before a model annotates or judges.

Models judge their own answers more favourably, and two models of one family are not independent evidence. Families are recognised
by model names. Each warning is a ``code`` with its values; ``annotators/_warning.html`` has the words.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet

from auditapp.annotators.models import Annotator, CodeChoice, ControlSentence, CriticAnswer, OfflineAnswer, TurnAnswer
from auditapp.annotators.pure.prompts import CodeText, list_read_codes
from auditapp.batches.models import Arm
from auditapp.llm.credentials import is_external
from auditapp.llm.models import ModelVariant
from auditapp.llm.pure.model_settings import group_by_family, name_family
from auditapp.llm.queries import find_part
from transcripts.codebook.models import Code, CodebookVersion, CodeExample, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.corpus.models import Consent, Interview, RedactionList, Sentence
from transcripts.corpus.pure.redacting import Entry, read_stored, replace
from transcripts.corpus.queries import find_redaction, list_consenting
from transcripts.statistics.figures import Share
from transcripts.studies.models import MethodChoice, Study
from transcripts.studies.queries import read_methods


def list_annotators(study: Study) -> list[dict[str, object]]:
    """Every annotator of the study, newest first, with the number of its answers or interviews and its codes. Four queries."""
    annotators = (
        Annotator.objects.filter(study=study)
        .select_related("variant__account", "version")
        .defer("recipe")
        .order_by("-pk")
    )
    answers = dict(
        TurnAnswer.objects.filter(annotator__study=study).order_by().values_list("annotator").annotate(Count("pk"))
    )
    offline = OfflineAnswer.objects.filter(run__annotator__study=study).order_by()
    interviews = dict(offline.values_list("run__annotator").annotate(Count("interview", distinct=True)))
    chosen = read_choices(study)
    return [
        {
            "annotator": each,
            "answers": answers.get(each.pk, 0),
            "interviews": interviews.get(each.pk, 0),
            "chosen_for": chosen.get(each.pk, []),
        }
        for each in annotators
    ]


def list_with_answers(study_id: int) -> list[Annotator]:
    """The annotators of a study that have annotated something for some code, newest first. Pages offer these for choice."""
    answers = TurnAnswer.objects.filter(annotator=OuterRef("pk")).exclude(outcome=TurnAnswer.Outcome.INVALID)
    interviews = OfflineAnswer.objects.filter(run__annotator=OuterRef("pk"))
    rows = Annotator.objects.filter(Exists(answers) | Exists(interviews), study=study_id)
    found = rows.select_related("variant", "version").order_by("-pk")
    return [each for each in found if each.kind == Annotator.Kind.MODEL or list_read_codes(each.recipe)]


def find_criticised(study_id: int) -> set[int]:
    """The annotators that have suggestions which a critic rejected."""
    rows = CriticAnswer.objects.filter(suggestion__annotator__study=study_id, verdict=CriticAnswer.Verdict.REJECTED)
    return set(rows.order_by().values_list("suggestion__annotator", flat=True).distinct())


def read_code_names(study: Study) -> dict[str, str]:
    """The names of codes by identifier, from the newest version that contains each code."""
    codes = Code.objects.filter(version__study=study).order_by("version__number", "pk")
    return dict(codes.values_list("identifier", "name"))


def read_choices(study: Study) -> dict[int, list[str]]:
    """The identifiers of the codes an annotator is chosen for, by annotator."""
    chosen: dict[int, list[str]] = defaultdict(list)
    current = CodeChoice.objects.filter(study=study, superseded_at__isnull=True, annotator__isnull=False)
    for annotator_id, code in current.order_by("code_identifier").values_list("annotator_id", "code_identifier"):
        if annotator_id is not None:
            chosen[annotator_id].append(code)
    return dict(chosen)


def read_learnt(annotator: Annotator, *, shown: str = "") -> dict[str, Any] | None:
    """The table of a learnt annotator, from its recipe; None for other annotators. Reads annotator.version, annotator.study.

    ``tried``: the examples of each code, with precision and recall if it was tested. ``untried``: codes with too few examples.
    ``hidden``: identifiers and names of families whose figures are not shown; ``shown`` is a family that was requested with a
    reason.
    """
    if annotator.kind != Annotator.Kind.LEARNT:
        return None
    methods = read_methods(annotator.study)
    named = annotator.version.codes.values_list("identifier", "family__identifier", "family__name")
    families = {code: (family, name) for code, family, name in named}
    tried, untried = list[dict[str, Any]](), list[dict[str, Any]]()
    hidden: dict[tuple[str, str], None] = {}
    for code, found in annotator.recipe.get("codes", {}).items():
        tp, fp, fn = (found.get(cell) for cell in ("tp", "fp", "fn"))
        if found.get("reason") and tp is None:
            untried.append({"code": code, **found})
            continue
        family = families.get(code, ("", ""))
        is_tested = None not in {tp, fp, fn}
        is_hidden = is_tested and family[0] != shown and methods.find(family[0]) == MethodChoice.Method.REFLEXIVE
        row = {"code": code, "found": found, "threshold": found.get("threshold"), "is_hidden": is_hidden}
        if is_hidden:
            hidden[family] = None
        elif is_tested:
            row |= {"precision": Share(tp, tp + fp), "recall": Share(tp, tp + fn)}
        tried.append(row)
    return {"tried": tried, "untried": untried, "hidden": list(hidden)}


OWN_SET = Path(__file__).resolve().parents[1] / "data" / "control_sentences.json"


def has_control_sentences(study: Study) -> bool:
    """Whether the study has ever had a control sentence, including withdrawn ones."""
    return ControlSentence.objects.filter(study=study).exists()


def list_possible_controls(study: Study) -> list[tuple[int, tuple[str, ...]]]:
    """Key and codes of each sentence that a launch can use: the control sentences, or the set that a first launch would add.

    A sentence that is not stored yet has a negative key: its place in that set, counted from the end.
    """
    if has_control_sentences(study):
        return [(key, tuple(codes)) for key, codes in find_control_sentences(study).values_list("pk", "codes")]
    known, own = set(find_codes(study).values_list("identifier", flat=True)), read_own_set()
    return [(place - len(own), codes) for place, (_, codes) in enumerate(own) if known.issuperset(codes)]


def find_control_sentences(study: Study) -> QuerySet[ControlSentence]:
    """The control sentences in use, in the order in which they were written."""
    return ControlSentence.objects.filter(study=study, withdrawn_at__isnull=True).order_by("pk")


def find_codes(study: Study) -> QuerySet[Code]:
    """The codes of the published codebook that are applied to sentences, in its order, each with its family."""
    codes = Code.objects.filter(version=current_version(study), family__unit=CodeFamily.Unit.SENTENCE)
    return codes.select_related("family").order_by("family__position", "position")


@cache
def read_own_set() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The built-in sentences with their known codes: two for each seeded theme and each move, and ten without a code."""
    rows = json.loads(OWN_SET.read_text(encoding="utf-8"))
    return tuple((each["text"], tuple(each["codes"])) for each in rows)


Warnings = list[dict[str, object]]


def warn_of_family(study: Study, variant: ModelVariant, interview_ids: Collection[int] | None) -> Warnings:
    """Whether the annotating model belongs to the family of an interviewed model, as far as their names show. ``None``: all
    interviews of the study."""
    family = _find_family(variant)
    if not family:
        return []
    rows = Interview.objects.filter(study=study).exclude(model_label="").values_list("pk", "model_label")
    wanted = None if interview_ids is None else set(interview_ids)
    labels = sorted({label for pk, label in rows if wanted is None or pk in wanted})
    same = [label for label in labels if name_family(label.replace(" ", "-")) == family]
    return [{"code": "same_family", "model": variant.label, "family": family, "labels": same}] if same else []


def warn_of_critic_family(annotator: Annotator, critic: ModelVariant) -> Warnings:
    """Whether the critic is the annotator's own model, or belongs to its family. Reads annotator.variant.account."""
    if annotator.variant_id == critic.pk:
        return [{"code": "own_suggestions", "model": critic.label}]
    family = _find_family(critic)
    if family and family == _find_family(annotator.variant):
        return [{"code": "critic_family", "model": critic.label, "family": family, "annotator": annotator}]
    return []


def _find_family(variant: ModelVariant | None) -> str:
    """The family of a model by its name; "" for the fake provider and for annotators without a model."""
    return "" if variant is None or variant.is_fake else name_family(variant.model)


def warn_of_relatives(annotators: Iterable[Annotator]) -> Warnings:
    """The models, and the families of models, that more than one of these annotators uses."""
    annotators = list(annotators)
    variants: dict[int, list[str]] = {}
    for each in annotators:
        if each.variant is not None:
            variants.setdefault(each.variant.pk, []).append(str(each))
    families = group_by_family(
        (str(each), each.variant.model) for each in annotators if each.variant and not each.variant.is_fake
    )
    of_one_model = [names for names in variants.values() if len(names) > 1]
    warnings: Warnings = [{"code": "one_model", "names": names} for names in of_one_model]
    warnings += [
        {"code": "one_family", "names": names, "family": family}
        for family, names in families.items()
        if names not in of_one_model
    ]
    return warnings


def list_judge_results(study: Study, variant: ModelVariant) -> Warnings:
    """A warning before a model annotates interviews: its result as a judge in this study, or the fact that there is none."""
    part = find_part("sob", study, variant)
    if part is not None:
        return [{"code": "judge_result", "model": variant.label, "summary": part.summary}]
    return [] if variant.is_fake else [{"code": "no_judge_result", "model": variant.label}]


PinnedSentence = tuple[CodeExample, Sentence]
# The units whose codes models are asked for.
UNITS = (CodeFamily.Unit.SENTENCE, CodeFamily.Unit.TURN)
# By its identifier, a family of one of these units, with its codes in the order of the codebook.
PromptFamilies = dict[str, tuple[CodeFamily, tuple[CodeText, ...]]]


def read_prompt_codebook(version: CodebookVersion, variant: ModelVariant) -> tuple[PromptFamilies, dict[str, Any]]:
    """The families of ``version`` that are coded by sentence or by turn and have codes, as the prompts for ``variant`` contain
    them; and what an annotator's recipe says about their examples.

    ``examples`` are the sentences, ``examples_left_out`` says how many may not be sent, and ``redaction`` is the number of the
    list applied to them, 0 for none. Examples from interviews without consent are never sent to a model on another site. Codes of
    turns are described by their definitions alone. Reads version.study and variant.account.
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
    """Whose whole turns the codes of the family are about: "model" or "interviewer"; "" for codes of sentences, which are
    about the model's sentences.

    Codes for all turns are asked only about the model's turns, like those for sentences.
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
    """Whether models are asked for its codes. For sentences, they are asked only about those of the interviewed model."""
    return family.unit == CodeFamily.Unit.TURN or family.applies_to != CodeFamily.AppliesTo.INTERVIEWER


def find_sent_redaction(version: CodebookVersion, variant: ModelVariant) -> RedactionList | None:
    """The redaction list that is applied to what is sent to the model; none for a model on this site. Reads variant.account."""
    return find_redaction(version.study) if is_external(variant) else None


def _read_examples(version: CodebookVersion, variant: ModelVariant) -> tuple[list[PinnedSentence], int]:
    """The pinned sentences that may be sent to the model, and the number of those that may not. Invented examples are only for
    people."""
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
    """By code: kind and text of its examples, in the form in which they are sent."""
    found: dict[int, tuple[tuple[str, str], ...]] = {}
    for each, sentence in examples:
        sent = (str(each.kind), replace(sentence.read_text(), entries))
        found[each.code_id] = (*found.get(each.code_id, ()), sent)
    return found


def make_code_text(code: Code, examples: tuple[tuple[str, str], ...] = ()) -> CodeText:
    """A code in the form in which prompts contain it, with its own questions if it is applied to turns. Reads code.family."""
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
    """Whether every interview whose sentences are sent as examples still counts in the study and, if the model is external,
    has consent for it. Reads arm.variant.account."""
    annotator = Annotator.objects.filter(pk=arm.settings.get("annotator")).first()
    examples = annotator.recipe.get("examples") if annotator else None
    if not examples:
        return True
    interviews = set(Sentence.objects.filter(pk__in=examples).values_list("turn__interview", flat=True))
    if Interview.objects.filter(pk__in=interviews, study__isnull=True).exists():
        return False
    return not is_external(arm.variant) or interviews <= list_consenting(interviews, Consent.Scope.EXTERNAL)


def goes_by_a_list(arm: Arm) -> bool:
    """Whether the arm uses a redaction list if there was one at its launch. An arm that does not use it was launched for a
    model on this site; if the model's address has been changed since, names would leave the site. Reads arm.batch."""
    if arm.settings.get("redaction") or arm.batch_id is None:
        # An arm without a batch is one of a review, which sends nothing.
        return True
    lists = RedactionList.objects.filter(study=arm.batch.study_id, made_at__lt=arm.batch.created_at)
    return not lists.exists()
