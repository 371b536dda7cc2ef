"""Actions on versions: a draft is started, published, discarded, or made from a file.

A study can adopt newer parts of the built-in codebook. A codebook from a file is first previewed, then made a draft. Also the
codebook with which a study begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook import files, queries
from transcripts.codebook.actions.storing import (
    CodebookRefused,
    DraftIsClosed,
    DraftIsOpen,
    add_change,
    copy_examples,
    hold_draft,
    lock,
    set_code,
    set_family,
    store_examples,
    write_content,
)
from transcripts.codebook.models import (
    Beginning,
    Code,
    CodebookVersion,
    CodeChange,
    CodeExample,
    CodeFamily,
    CodeProposal,
)
from transcripts.codebook.pure.checking import find_problems
from transcripts.codebook.pure.comparing import FACTS, FROM_FAMILY, TEXTS, CodeDifference, Comparison, compare
from transcripts.codebook.pure.seed import add_newer_parts, load_seed
from transcripts.codebook.queries import FoundQuote, find_quoted, next_number
from transcripts.formats.codebook_csv import CodebookFileError
from transcripts.formats.codebook_rules import CodebookContent
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study, set_method
from transcripts.studies.models import MethodChoice, Study

Kind, Effect = CodeChange.Kind, CodeChange.Effect
REASON = "Taken over from the built-in codebook."


@transaction.atomic
def seed_codebook(*, study: Study, by: trail.Actor) -> CodebookVersion:
    """Version 1 of a study's codebook, published: the families and codes of data/negotiation.json.

    Raises ``Refused`` when the study has a codebook.
    """
    lock(study)
    if queries.latest_version(study) is not None:
        raise Refused("This study has a codebook already. Import a file to create its next version.")
    seed = load_seed()
    number = queries.next_number(study)
    content = seed.content
    version = store_version(study, content, number=number, title=seed.title, origin=seed.source, by=by)
    store_examples(version, find_quoted(study, content.examples), by=by)
    publish_version(version=version, by=by)
    return version


@transaction.atomic
def start_draft(*, study: Study, by: trail.Actor) -> CodebookVersion:
    """Start the next version as a draft with the content of the latest published one; empty if there is none.

    Raises ``DraftIsOpen`` while another draft is being written.
    """
    lock(study)
    draft = queries.find_open_draft(study)
    if draft is not None:
        raise DraftIsOpen(draft)
    base = queries.current_version(study)
    number = queries.next_number(study)
    if base is None:
        return store_version(study, CodebookContent(), number=number, title=study.name, origin="", by=by)
    version = store_version(
        study,
        queries.read_content(base),
        number=number,
        title=base.title,
        origin=f"Began as {base}",
        by=by,
        based_on=base,
        meanings=dict(base.codes.values_list("identifier", "meaning_version")),
    )
    copy_examples(base, version)
    return version


@transaction.atomic
def discard_draft(*, version: CodebookVersion, by: trail.Actor) -> None:
    """Discard a draft. It can still be read; proposals that were accepted into it are open again.

    Raises ``DraftIsClosed``.
    """
    hold_draft(version)
    version.status = CodebookVersion.Status.DISCARDED
    version.save(update_fields=["status"])
    accepted = CodeProposal.objects.filter(code__version=version, state=CodeProposal.State.ACCEPTED)
    reopened = accepted.update(state=CodeProposal.State.OPEN, code=None, answer="", answered_at=None, answered_by=None)
    trail.record(
        "codebook.draft.discarded",
        target=version,
        by=by,
        details={"number": version.number, "proposals_reopened": reopened},
    )


@transaction.atomic
def publish_version(*, version: CodebookVersion, by: trail.Actor) -> None:
    """Publish a draft, which freezes it so that codings can refer to it permanently. A published version is left as it is.

    Raises ``CodebookRefused`` with everything that is wrong with a draft: no code, a key used twice, a missing name or parent,
    a later published version; ``DraftIsClosed`` for a discarded one.
    """
    lock(version.study)
    version.refresh_from_db(fields=["status"])
    if version.status == CodebookVersion.Status.PUBLISHED:
        return
    if version.status == CodebookVersion.Status.DISCARDED:
        raise DraftIsClosed(version)
    if problems := find_obstacles(version):
        raise CodebookRefused(" ".join(problems), problems)
    version.status = CodebookVersion.Status.PUBLISHED
    version.published_at = timezone.now()
    version.published_by = by if isinstance(by, User) else None
    version.save(update_fields=["status", "published_at", "published_by"])
    trail.record(
        "codebook.version.published",
        target=version,
        by=by,
        details={"number": version.number, "codes": version.codes.count()},
    )


@transaction.atomic
def publish_kept_back(*, version: CodebookVersion, by: trail.Actor) -> None:
    """Publish a version that was kept back during its import.

    Raises ``CodebookRefused`` if the codebook has changed since, because the version would undo that change.
    """
    lock(version.study)
    latest = queries.latest_version(version.study)
    if (latest.pk if latest else None) != version.based_on_id:
        raise CodebookRefused(
            f"The codebook was changed during the import: {latest} is new. Nothing was imported; import the file again.",
            [],
        )
    CodebookVersion.objects.filter(pk=version.pk).update(status=CodebookVersion.Status.DRAFT)
    publish_version(version=version, by=by)


def find_obstacles(version: CodebookVersion) -> list[str]:
    """Everything that keeps a draft from being published."""
    later = version.study.codebook_versions.filter(
        number__gt=version.number, status=CodebookVersion.Status.PUBLISHED
    ).first()
    overtaken = (
        f"{later} was published after this draft was started. Start a new draft and make your changes there, or import "
        f"the file of {version} once more."
    )
    return [
        *([overtaken] if later is not None else []),
        *(
            f"{name} is applied to sentences, so it cannot become a category. Let it be a code, or merge it into another first."
            for name in _find_applied_categories(version)
        ),
        *(problem.sentence for problem in find_problems(queries.read_content(version))),
    ]


def _find_applied_categories(version: CodebookVersion) -> list[str]:
    """The names of categories that were codes in an earlier version and have active codings."""
    categories = dict(version.codes.filter(is_category=True).values_list("identifier", "name"))
    applied = Code.objects.filter(
        version__study=version.study_id,
        is_category=False,
        identifier__in=categories,
        codings__isnull=False,
        codings__withdrawn_at__isnull=True,
    )
    return [categories[identifier] for identifier in sorted(set(applied.values_list("identifier", flat=True)))]


def store_version(
    study: Study,
    content: CodebookContent,
    *,
    number: int,
    title: str,
    origin: str,
    by: trail.Actor,
    based_on: CodebookVersion | None = None,
    meanings: Mapping[str, int] | None = None,
    kept_back: bool = False,
) -> CodebookVersion:
    """Store a new draft with this content. ``meanings`` has for each code the version since which its meaning is unchanged.

    A version that is ``kept_back`` is stored as discarded, so that nobody works with it; see ``publish_kept_back``.
    """
    version = CodebookVersion.objects.create(
        study=study,
        number=number,
        status=CodebookVersion.Status.DISCARDED if kept_back else CodebookVersion.Status.DRAFT,
        title=title,
        origin=origin[:300],
        created_at=timezone.now(),
        created_by_name=by.get_username(),
        based_on=based_on,
    )
    _store_content(version, content, meanings or {})
    trail.record(
        "codebook.version.created",
        target=version,
        by=by,
        details={
            "number": number,
            "families": len(content.families),
            "codes": len(content.codes),
            **({"based_on": based_on.number} if based_on else {}),
            **({"kept_back": True} if kept_back else {}),
        },
    )
    return version


def _store_content(version: CodebookVersion, content: CodebookContent, meanings: Mapping[str, int]) -> None:
    families = []
    for position, family in enumerate(content.families, 1):
        row = CodeFamily(version=version, identifier=family.identifier, position=position)
        set_family(row, family)
        families.append(row)
    family_of = {row.identifier: row for row in CodeFamily.objects.bulk_create(families)}
    rows: dict[str, Code] = {}
    for position, code in enumerate(content.codes, 1):
        new = Code(version=version, identifier=code.identifier, position=position)
        new.meaning_version = meanings.get(code.identifier, version.number)
        set_code(new, code, family_of)
        rows[code.identifier] = new
    Code.objects.bulk_create(rows.values())
    below = [code for code in content.codes if code.parent]
    for code in below:
        rows[code.identifier].parent = rows[code.parent]
    Code.objects.bulk_update([rows[code.identifier] for code in below], ["parent"])


@transaction.atomic
def take_newer_parts(*, study: Study, by: trail.Actor) -> CodebookVersion:
    """Start a draft with the families and questions that the built-in codebook has gained; everything else stays the same.

    Questions do not change the meaning of a code, so no coding needs re-review. Nothing is published. Raises ``DraftIsOpen``,
    or ``Refused`` if there is nothing new.
    """
    draft = start_draft(study=study, by=by)
    base = draft.based_on
    parts = queries.find_newer_parts(base) if base is not None else None
    if not parts:
        raise Refused("The built-in codebook has no new parts for this study. Nothing was changed.")
    content, built_in = hold_draft(draft), load_seed().content
    write_content(draft, content, add_newer_parts(content, built_in, parts))
    born = {family.identifier for family in parts.families}
    added = [code.identifier for code in built_in.codes if code.family in born]
    for identifier in added:
        add_change(draft, Kind.ADDED, by=by, after=identifier, reason=REASON)
    for identifier in parts.questions:
        change = {"before": identifier, "after": identifier, "effect": Effect.WORDING, "reason": REASON}
        add_change(draft, Kind.ADJUSTED, by=by, **change)
    store_examples(draft, find_quoted(study, [each for each in built_in.examples if each.code in added]), by=by)
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


MAX_PROBLEMS = 20
MOVES = "moves"
MOVES_BY_RULES = "The default of every study: rules decide what a move is, so that codings of moves can be compared."


class ImportPlan(NamedTuple):
    """What a file would change: ``comparison`` with the latest version, if there is one."""

    form: str
    latest: CodebookVersion | None
    before: CodebookContent
    content: CodebookContent
    comparison: Comparison
    examples: tuple[FoundQuote, ...]
    warnings: tuple[str, ...]

    @property
    def changes_meaning(self) -> list[CodeDifference]:
        """The codes whose wording for people changed, for which the importer states the effect on the meaning."""
        return [code for code in self.comparison.codes if code.means_other and code.before and code.after]


def plan_import(*, study: Study, data: bytes, name: str, keep_missing: bool = False) -> ImportPlan:
    """What a CSV, JSON or .qdc file would change; stores nothing.

    Anything that the file does not say about a family or code stays as in the latest version; codes that are not in the file
    are removed unless ``keep_missing``. Raises ``CodebookRefused`` if anything in the file is wrong.
    """
    latest = queries.latest_version(study)
    before = queries.read_content(latest) if latest else CodebookContent()
    used = queries.used_identifiers(study)
    try:
        file = files.read_file(data, name=name, scope=study.slug, known=before, used=used)
    except CodebookFileError as error:
        unlisted = error.total - len(error.problems)
        more = [f"And {unlisted} more problems."] if unlisted else []
        raise CodebookRefused(str(error), [*map(str, error.problems), *more], error.note) from error
    content = files.fill_in(file, before, keep_missing=keep_missing)
    if problems := list(dict.fromkeys(problem.sentence for problem in find_problems(content))):
        more = [f"And {len(problems) - MAX_PROBLEMS} more."] if len(problems) > MAX_PROBLEMS else []
        message = f"{name}: {len(problems)} problems, nothing was imported."
        raise CodebookRefused(message, [*problems[:MAX_PROBLEMS], *more])
    examples = tuple(find_quoted(study, file.content.examples))
    lost = len(file.content.examples) - len(examples)
    left_out = [f"{lost} of its examples are not sentences of this study and were left out."] if lost else []
    return ImportPlan(
        *(file.form, latest, before, content, compare(before, content), examples, (*file.warnings, *left_out))
    )


@transaction.atomic
def import_codebook(
    *,
    study: Study,
    data: bytes,
    name: str,
    by: trail.Actor,
    effect: str = "",
    effects: Mapping[str, str] | None = None,
    keep_missing: bool = False,
    kept_back: bool = False,
) -> tuple[CodebookVersion, bool, tuple[str, ...]]:
    """Store a draft with the codes of a file, numbered after the latest version.

    Returns the version (the latest one if nothing differs), whether it is new, and sentences on what was left out of the file.
    ``effect`` is the effect of all new wordings, ``effects`` that of single codes by identifier; a code without either counts
    as changed in meaning. Raises ``CodebookRefused`` if anything in the file is wrong; nothing is stored then. A version that
    is ``kept_back`` counts as discarded until ``publish_kept_back``.
    """
    lock(study)
    plan = plan_import(study=study, data=data, name=name, keep_missing=keep_missing)
    if plan.latest is not None and plan.before == plan.content and not _list_new(plan):
        return plan.latest, False, plan.warnings
    said = {code.identifier: (effects or {}).get(code.identifier) or effect for code in plan.changes_meaning}
    version = store_version(
        study,
        plan.content,
        number=next_number(study),
        title=plan.latest.title if plan.latest else study.name,
        origin=f"Imported from {name}",
        by=by,
        based_on=plan.latest,
        meanings=_find_meanings(plan, said),
        kept_back=kept_back,
    )
    _record_changes(version, plan.comparison, said, by=by)
    if plan.latest is not None:
        copy_examples(plan.latest, version)
    store_examples(version, _list_new(plan), by=by)
    return version, True, plan.warnings


def _find_meanings(plan: ImportPlan, said: Mapping[str, str]) -> dict[str, int]:
    """For each code that stays, the version since which its meaning is unchanged; other codes begin with this version."""
    if plan.latest is None:
        return {}
    known = dict(plan.latest.codes.values_list("identifier", "meaning_version"))
    return {name: number for name, number in known.items() if said.get(name, Effect.WORDING) == Effect.WORDING}


def _record_changes(
    version: CodebookVersion, comparison: Comparison, said: Mapping[str, str], *, by: trail.Actor
) -> None:
    """Record one row for each change that the file made to a code."""
    for code in comparison.codes:
        name = code.identifier
        if code.is_added:
            add_change(version, Kind.ADDED, by=by, after=name)
        elif code.is_removed:
            add_change(version, Kind.RETIRED, by=by, before=name, reason="Not in the imported file.")
        for kind, effect in _list_kinds(code, said.get(name, Effect.WORDING)):
            add_change(version, kind, by=by, before=name, after=name, effect=effect)


def _list_kinds(code: CodeDifference, effect: str) -> Iterable[tuple[CodeChange.Kind, str]]:
    changed = code.changed
    if "name" in changed:
        yield Kind.RENAMED, Effect.WORDING
    if changed & {*TEXTS, *FROM_FAMILY}:
        yield Kind.REDEFINED, effect
    if "moved" in code.kinds:
        yield Kind.MOVED, Effect.WORDING
    if changed & {*FACTS, "key"}:
        yield Kind.ADJUSTED, Effect.WORDING


def _list_new(plan: ImportPlan) -> list[FoundQuote]:
    """The examples in the file that the codes do not have yet."""
    known: set[tuple[str, int | None, str]] = set()
    if plan.latest is not None:
        rows = CodeExample.objects.filter(code__version=plan.latest)
        known = set(rows.values_list("code__identifier", "sentence_id", "words"))
    there = {code.identifier for code in plan.content.codes}
    return [each for each in plan.examples if each[0] in there and each[:3] not in known]


@transaction.atomic
def start_study(
    *,
    slug: str,
    name: str,
    by: trail.Actor,
    description: str = "",
    codebook: str = Beginning.BUILT_IN,
    file: tuple[str, bytes] | None = None,
    method: str = MethodChoice.Method.REFLEXIVE,
) -> Study:
    """Create a study.

    With the built-in codebook or that of a ``file`` (name and content), coding can begin at once. An empty codebook is a draft,
    to which codes are added before it is published. Unless another ``method`` is chosen, the study is read reflexively, except
    for the moves of the built-in codebook, whose rules two people can apply alike; all of this can be changed. Raises
    ``Refused`` for an unusable name or address, ``CodebookRefused`` for a file that is not a codebook; no study is created
    then.
    """
    study = create_study(slug=slug, name=name, by=by, description=description)
    if codebook == Beginning.FILE and file is not None:
        version, _, _ = import_codebook(study=study, data=file[1], name=file[0], by=by)
        publish_version(version=version, by=by)
    elif codebook == Beginning.EMPTY:
        start_draft(study=study, by=by)
    else:
        seed_codebook(study=study, by=by)
    set_method(study=study, method=method, by=by)
    has_moves = CodeFamily.objects.filter(version__study=study, identifier=MOVES).exists()
    if has_moves and method == MethodChoice.Method.REFLEXIVE:
        set_method(study=study, family=MOVES, method=MethodChoice.Method.CODEBOOK, reason=MOVES_BY_RULES, by=by)
    return study
