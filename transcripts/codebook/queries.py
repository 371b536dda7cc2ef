"""Queries about codebooks and the sentences that they quote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Case, CharField, Count, Exists, F, Max, OuterRef, Prefetch, Q, QuerySet, TextField, When
from django.db.models.functions import Substr

from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodebookVersion, CodeChange, CodeExample, CodeFamily, CodeProposal
from transcripts.codebook.pure.checking import read_attributes
from transcripts.codebook.pure.comparing import Comparison, Lineage, Names, Step, compare
from transcripts.codebook.pure.seed import NewerParts, load_seed, name_question
from transcripts.codebook.pure.seed import find_newer_parts as find_newer_parts_of
from transcripts.corpus.models import Sentence
from transcripts.formats.codebook_rules import CodebookContent, CodeContent, FamilyContent
from transcripts.formats.codebook_rules import CodeExample as FileExample
from transcripts.studies.models import Study

PUBLISHED = CodebookVersion.Status.PUBLISHED
DRAFT = CodebookVersion.Status.DRAFT
DISCARDED = CodebookVersion.Status.DISCARDED

FAMILY_COLUMNS = (
    *("identifier", "name", "description", "unit", "carries_level", "carries_enactment", "once_per_answer"),
    *("applies_to", "rules", "color"),
)
CODE_COLUMNS = (
    *("identifier", "family__identifier", "name", "group", "aliases", "definition", "machine_definition", "include"),
    *("exclude", "key", "source", "parent__identifier", "color", "terms", "attributes", "keyword_rules"),
    "is_category",
)
# The database cuts out the words, because a turn may be long and a page shows many.
SENTENCE_TEXT = Substr("turn__text", F("start") + 1, F("end") - F("start"), output_field=CharField())
EXAMPLE_TEXT = Case(
    When(sentence__isnull=True, then=F("words")),
    default=Substr(
        "sentence__turn__text",
        F("sentence__start") + 1,
        F("sentence__end") - F("sentence__start"),
        output_field=TextField(),
    ),
)


def current_version(study: Study) -> CodebookVersion | None:
    """The published version with the highest number, with which people code. ``None`` before the first."""
    return study.codebook_versions.filter(status=PUBLISHED).order_by("-number").first()


def latest_version(study: Study) -> CodebookVersion | None:
    """The version with the highest number, draft or published."""
    return study.codebook_versions.exclude(status=DISCARDED).order_by("-number").first()


def next_number(study: Study) -> int:
    """The number of the next version; numbers of discarded drafts are not used again."""
    return (study.codebook_versions.aggregate(last=Max("number"))["last"] or 0) + 1


def find_open_draft(study: Study) -> CodebookVersion | None:
    """The draft that is being edited: the newest one, unless a later version has been published."""
    latest = latest_version(study)
    return latest if latest is not None and latest.status == DRAFT else None


def list_versions(study: Study) -> QuerySet[CodebookVersion]:
    """All versions, newest first, each with ``code_count``."""
    return (
        study.codebook_versions.select_related("published_by").annotate(code_count=Count("codes")).order_by("-number")
    )


def read_families(version: CodebookVersion) -> list[CodeFamily]:
    """The families of a version in order, their codes loaded with their parents: two queries."""
    codes = Prefetch("codes", queryset=Code.objects.select_related("parent").order_by("position"))
    return list(version.families.order_by("position").prefetch_related(codes))


def find_changes(version: CodebookVersion, *, since: CodebookVersion) -> dict[str, object]:
    """The names of codes that ``version`` added, changed and removed, in the order of the version that has them.

    Four queries.
    """
    found = compare(read_content(since), read_content(version))
    return {
        "since": since,
        "added": [code.name for code in found.codes if code.is_added],
        "changed": [code.name for code in found.codes if not (code.is_added or code.is_removed)],
        "removed": [code.name for code in found.codes if code.is_removed],
    }


def read_content(version: CodebookVersion) -> CodebookContent:
    """The content of a version as plain values: two queries."""
    families = version.families.order_by("position").values_list(*FAMILY_COLUMNS)
    codes = version.codes.order_by("family__position", "position").values_list(*CODE_COLUMNS)
    return CodebookContent(
        families=tuple(FamilyContent(**dict(zip(FAMILY_COLUMNS, row, strict=True))) for row in families),
        codes=tuple(_build_code(dict(zip(CODE_COLUMNS, row, strict=True))) for row in codes),
    )


def _build_code(row: dict[str, object]) -> CodeContent:
    values = {name: row[name] for name in CODE_COLUMNS if "__" not in name}
    for name in ("aliases", "terms", "keyword_rules"):
        found = row[name]
        values[name] = tuple(map(str, found)) if isinstance(found, list) else ()
    values["attributes"] = read_attributes(row["attributes"])
    return CodeContent(
        family=str(row["family__identifier"]),
        parent=str(row["parent__identifier"] or ""),
        **values,  # type: ignore[arg-type]
    )


def find_comparison(before: CodebookVersion, after: CodebookVersion, *, coder: User | None = None) -> Comparison:
    """How ``after`` differs from ``before``, with the merges and splits between them: seven queries at most."""
    return compare(
        read_content(before),
        read_content(after),
        steps=read_steps_between(before, after),
        examples_before=_describe_examples(before, coder),
        examples_after=_describe_examples(after, coder),
    )


def _describe_examples(version: CodebookVersion, coder: User | None) -> dict[str, list[str]]:
    rows = CodeExample.objects.shown(coder=coder).filter(code__version=version).order_by("kind", "pk")
    found: dict[str, list[str]] = {}
    for example in rows.select_related("code", "sentence__turn__interview").defer("sentence__turn__text"):
        line = example.sentence
        where = f"sentence {line.label} of {line.turn.interview.title}" if line else f"“{example.words}” (invented)"
        found.setdefault(example.code.identifier, []).append(f"{example.get_kind_display()}: {where}")
    return found


def read_steps_between(before: CodebookVersion, after: CodebookVersion) -> list[Step]:
    """The changes that led from ``before`` to ``after``: those of the published versions in between, and its own."""
    return read_steps(
        after.study_id,
        Q(version__number__gt=before.number, version__number__lt=after.number, version__status=PUBLISHED)
        | Q(version=after),
    )


def read_steps(study_id: int, which: Q) -> list[Step]:
    """The changes of codes that versions of a study record, oldest first: two queries."""
    rows = CodeChange.objects.filter(which, version__study=study_id).order_by("version__number", "pk")
    columns = ("version__number", "kind", "from_identifier", "to_identifier", "effect", "reason", "made_by_name")
    steps = [Step(*row) for row in rows.values_list(*columns)]
    names = _read_names(study_id, {each for step in steps for each in (step.from_identifier, step.to_identifier)})
    return [
        step._replace(from_name=names.get(step.from_identifier, ""), to_name=names.get(step.to_identifier, ""))
        for step in steps
    ]


def _read_names(study_id: int, identifiers: set[str]) -> dict[str, str]:
    """The names of codes in the newest version that has them."""
    rows = Code.objects.filter(version__study=study_id, identifier__in=identifiers).order_by("version__number")
    return dict(rows.values_list("identifier", "name"))


def read_history(version: CodebookVersion) -> tuple[Names, list[Step]]:
    """The data for tracing codes up to this version: their names in each version, and all changes. Two queries."""
    which = Q(number__lte=version.number) & (Q(status=PUBLISHED) | Q(pk=version.pk))
    rows = Code.objects.filter(version__in=CodebookVersion.objects.filter(which, study=version.study_id))
    names: dict[int, dict[str, str]] = {version.number: {}}
    for number, identifier, name in rows.values_list("version__number", "identifier", "name"):
        names.setdefault(number, {})[identifier] = name
    steps = read_steps(
        version.study_id,
        Q(version__number__lte=version.number) & (Q(version__status=PUBLISHED) | Q(version=version)),
    )
    return names, steps


@dataclass
class CodeNode:
    """A code with what is under it, its examples and where it came from."""

    code: Code
    depth: int
    children: list[CodeNode] = field(default_factory=list)
    examples: list[CodeExample] = field(default_factory=list)
    lineage: Lineage | None = None

    @property
    def place(self) -> str:
        """How its row is called in the page of a draft."""
        return str(self.code.pk)


@dataclass
class FamilyNode:
    """A family with its codes as a tree (``roots``) and in the order of reading (``codes``)."""

    family: CodeFamily
    roots: list[CodeNode] = field(default_factory=list)
    codes: list[CodeNode] = field(default_factory=list)

    @property
    def place(self) -> str:
        """How its row is called in the page of a draft."""
        return str(self.family.pk)


def read_tree(version: CodebookVersion) -> list[FamilyNode]:
    """The families of a version with their codes as trees: two queries."""
    nodes = [FamilyNode(family) for family in version.families.order_by("position")]
    family_of = {node.family.pk: node for node in nodes}
    codes = list(version.codes.order_by("family__position", "position"))
    code_of = {code.pk: CodeNode(code, 1) for code in codes}
    for code in codes:
        code.family = family_of[code.family_id].family
        parent = code_of.get(code.parent_id or 0)
        if parent is not None:
            code.parent = parent.code
        siblings = parent.children if parent else family_of[code.family_id].roots
        siblings.append(code_of[code.pk])
    for node in nodes:
        waiting = [*reversed(node.roots)]
        while waiting:
            code_node = waiting.pop()
            node.codes.append(code_node)
            for child in reversed(code_node.children):
                child.depth = code_node.depth + 1
                waiting.append(child)
    return nodes


def list_family_choices(version: CodebookVersion) -> list[tuple[str, str]]:
    """The families of a version, in order."""
    return list(version.families.order_by("position").values_list("identifier", "name"))


def find_newer_parts(version: CodebookVersion) -> NewerParts:
    """What the built-in codebook has and no version of this study ever had, discarded ones aside: four queries, fewer if nothing
    is missing."""
    content, built_in = read_content(version), load_seed().content
    parts = find_newer_parts_of(content, built_in, had=())
    if not parts:
        return parts
    kept = CodebookVersion.objects.filter(study=version.study_id).exclude(status=DISCARDED)
    had = set(CodeFamily.objects.filter(version__in=kept).values_list("identifier", flat=True))
    for identifier, attributes in Code.objects.filter(version__in=kept).values_list("identifier", "attributes"):
        had |= {identifier, *(name_question(identifier, question.key) for question in read_attributes(attributes))}
    return find_newer_parts_of(content, built_in, had=had)


def find_missing(draft: CodebookVersion) -> list[Code]:
    """The codes that a draft no longer has from the version from which it was started, with their families."""
    if draft.based_on_id is None:
        return []
    kept = draft.codes.filter(identifier=OuterRef("identifier"))
    missing = Code.objects.filter(~Exists(kept), version=draft.based_on_id)
    return list(missing.select_related("family").order_by("family__position", "position"))


def is_new(code: Code) -> bool:
    """Whether a code of a draft is in no earlier version, so that nobody has coded with it."""
    earlier = Code.objects.filter(version__study=code.version.study_id, identifier=code.identifier)
    return not earlier.filter(version__status=PUBLISHED).exists()


def used_identifiers(study: Study) -> set[str]:
    """The identifiers of all codes of all versions, which are never given to another code."""
    return set(Code.objects.filter(version__study=study).values_list("identifier", flat=True))


def read_wordings(code: Code) -> list[tuple[Code, list[Step]]]:
    """Each different wording of a code over the published versions and its own, newest first, with the steps to it.

    Two queries.
    """
    version = code.version
    rows = Code.objects.filter(version__study=version.study_id, identifier=code.identifier)
    rows = rows.filter(Q(version__status=PUBLISHED, version__number__lte=version.number) | Q(pk=code.pk))
    steps = read_steps(version.study_id, Q(from_identifier=code.identifier) | Q(to_identifier=code.identifier))
    wordings: list[tuple[Code, list[Step]]] = []
    before: Code | None = None
    for row in rows.select_related("version").order_by("version__number"):
        texts = ("name", "definition", "machine_definition", "include", "exclude")
        if before is None or any(getattr(row, name) != getattr(before, name) for name in texts):
            own = [step for step in steps if step.version == row.version.number]
            wordings.append((row, own))
        before = row
    return wordings[::-1]


def list_proposals(study: Study, *, only: User | None = None) -> QuerySet[CodeProposal]:
    """The proposals of a study, open ones first, then the newest first; with ``only``, those of one person."""
    rows = CodeProposal.objects.filter(study=study).filter(
        Q(sentence__isnull=True) | Q(sentence__turn__interview__study=study)
    )
    rows = rows.select_related("proposed_by", "answered_by", "code__version")
    rows = rows.annotate(interview_id=F("sentence__turn__interview"))
    if only is not None:
        rows = rows.filter(proposed_by=only)
    return rows.annotate(is_open=Q(state=CodeProposal.State.OPEN)).order_by("-is_open", "-pk")


def read_examples(which: Q, *, coder: User | None) -> dict[int, list[Any]]:
    """Examples with their ``text``, cut out by the database, by the id of their code: one query. Examples to include come first,
    then examples to exclude. ``coder``: the reader, if she codes; sentences that she has yet to code are left out."""
    rows = (
        CodeExample.objects.shown(coder=coder)
        .filter(which)
        .annotate(text=EXAMPLE_TEXT)
        .order_by("code_id", "-kind", "pk")
    )
    found: dict[int, list[Any]] = {}
    for row in rows.select_related("sentence__turn__interview").defer("sentence__turn__text"):
        found.setdefault(row.code_id, []).append(row)
    return found


def find_sentence(study: Study, sentence_id: int) -> Sentence | None:
    """A sentence of the study with its turn and interview, current or not."""
    return next(iter(_read_sentences(Q(turn__interview__study=study, pk=sentence_id))), None)


def find_labelled_sentence(study: Study, interview_id: int, label: str) -> Sentence | None:
    """The current sentence with this number (14, 14a) in an interview of the study."""
    digits = label[: len(label) - len(label.lstrip("0123456789"))]
    if not digits or len(digits) > 9:
        return None
    which = Q(turn__interview__study=study, turn__interview=interview_id, retired_by__isnull=True)
    return next(iter(_read_sentences(which & Q(position=int(digits), suffix=label[len(digits) :]))), None)


def find_pieces(sentence_ids: Iterable[int]) -> dict[int, list[Sentence]]:
    """The current sentences that now cover each of these retired ones, in order."""
    found: dict[int, list[Sentence]] = {}
    retired = Sentence.objects.filter(pk__in=list(sentence_ids), retired_by__isnull=False)
    for pk, turn_id, start, end in retired.values_list("pk", "turn_id", "start", "end"):
        which = Q(turn=turn_id, retired_by__isnull=True, start__lt=end, end__gt=start)
        found[pk] = _read_sentences(which)
    return found


def _read_sentences(which: Q) -> list[Sentence]:
    rows = Sentence.objects.filter(which).select_related("turn__interview")
    return list(rows.order_by("turn", "start", "pk"))


FoundQuote = tuple[str, int | None, str, str, str]
"""An example of a file that can be stored: code (an identifier), sentence of the study, or else invented words, kind and
note."""


def find_quoted(study: Study, examples: Sequence[FileExample]) -> Iterator[FoundQuote]:
    """The examples whose words match the sentence at the place they name, and those without a place, which were invented. Each
    once per code."""
    wanted = [each for each in examples if each.interview and each.sentence]
    places = {(each.interview, each.sentence) for each in wanted}
    which = Q(turn__interview__study=study, retired_by__isnull=True)
    which &= Q(turn__interview__external_id__in={interview for interview, _ in places})
    which &= Q(position__in={number for _, number in places})
    rows = Sentence.objects.filter(which).annotate(text=SENTENCE_TEXT).order_by("-pk")
    columns = ("turn__interview__external_id", "position", "text", "pk")
    found = {(interview, number, text): pk for interview, number, text, pk in rows.values_list(*columns)}
    seen: set[tuple[str, int | None, str]] = set()
    for each in examples:
        pk = found.get((each.interview, each.sentence, each.quote))
        is_invented = not each.interview and each.sentence is None
        key = (each.code, pk, each.quote if is_invented else "")
        if (pk is not None or is_invented) and key not in seen:
            seen.add(key)
            yield *key, each.kind, " ".join(each.note.split())[:500]
