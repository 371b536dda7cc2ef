"""The steps of every change of a draft: the lock, the check and the rows that are written; and the refusals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from django.db.models import F
from django.utils import timezone

from transcripts.audit_trail import trail
from transcripts.codebook import queries
from transcripts.codebook.models import Code, CodebookVersion, CodeChange, CodeExample, CodeFamily, CodeProposal
from transcripts.codebook.pure import editing
from transcripts.codebook.pure.checking import Problem, clean_text, find_problems
from transcripts.codebook.queries import FoundQuote
from transcripts.formats.codebook_rules import CodebookContent, CodeContent, FamilyContent
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_REASON

EXAMPLE_COLUMNS = ("sentence_id", "words", "kind", "note", "added_at", "added_by_name")


class CodebookRefused(Refused):
    """A file or a draft was refused; ``problems`` has a sentence for each problem, and ``note`` says how a file was read."""

    def __init__(self, message: str, problems: list[str], note: str = "") -> None:
        super().__init__(message)
        self.problems = problems
        self.note = note


class WrongInput(Refused):
    """The input cannot be stored; each problem names its field."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(" ".join(problem.sentence for problem in problems))
        self.problems = list(problems)

    @property
    def faults(self) -> list[tuple[str, str]]:
        return [(problem.field, problem.sentence) for problem in self.problems]


class DraftIsOpen(Refused):
    """A study has one open draft at a time; ``draft`` is the existing one."""

    def __init__(self, draft: CodebookVersion) -> None:
        super().__init__(
            f"{draft} is a draft that {draft.created_by_name} started. Continue with it, or publish or discard it first."
        )
        self.draft = draft


class DraftIsClosed(Refused):
    """The version is published or discarded, and never changes."""

    def __init__(self, version: CodebookVersion) -> None:
        state = version.get_status_display().lower()
        super().__init__(f"{version} is {state} now, so it can no longer be changed. Start a new draft.")
        self.version = version


class EditConflict(Refused):
    """Somebody else has changed it since it was shown; ``current`` is the present state."""

    def __init__(self, current: Code | CodeFamily) -> None:
        super().__init__(f"Another person has changed {current.name} since you opened it.")
        self.current = current


class CodeIsGone(Refused):
    """The code or family has been removed from the draft since it was shown."""


def lock(study: Study) -> None:
    """Lock the study, so that versions are numbered, written and published one at a time."""
    Study.objects.select_for_update().get(pk=study.pk)


def hold_draft(version: CodebookVersion) -> CodebookContent:
    """The content of a draft, after checking that it is one and locking it against other writers."""
    lock(version.study)
    version.refresh_from_db(fields=["status"])
    if version.status != CodebookVersion.Status.DRAFT:
        raise DraftIsClosed(version)
    return queries.read_content(version)


def hold_code(code: Code, revision: int | None) -> Code:
    """The present code. Raises ``EditConflict`` if it is no longer at ``revision`` (``None`` accepts any)."""
    current = Code.objects.select_related("family", "version__study", "parent").filter(pk=code.pk).first()
    if current is None:
        raise CodeIsGone(f"{code.name} was removed from the draft by another person.")
    if revision is not None and current.revision != revision:
        raise EditConflict(current)
    return current


def hold_family(family: CodeFamily, revision: int | None) -> CodeFamily:
    """The present family. Raises ``EditConflict`` if it is no longer at ``revision``."""
    current = CodeFamily.objects.select_related("version__study").filter(pk=family.pk).first()
    if current is None:
        raise CodeIsGone(f"The family {family.name} was removed from the draft by another person.")
    if revision is not None and current.revision != revision:
        raise EditConflict(current)
    return current


def check_reason(reason: str, *, needed_to: str = "") -> str:
    """The reason with tidied line ends; ``needed_to`` says for what it is required."""
    reason = clean_text(reason)
    if needed_to and not reason:
        raise WrongInput([Problem("reason", "", f"Say why you {needed_to}. The reason is kept with the codebook.")])
    if len(reason) > MAX_REASON:
        found = f"this one has {len(reason):,}"
        raise WrongInput([Problem("reason", "", f"A reason may have {MAX_REASON:,} characters; {found}.")])
    return reason


def write_content(
    version: CodebookVersion,
    before: CodebookContent,
    after: CodebookContent,
    *,
    other_meaning: Collection[str] = (),
    touched: Collection[str] = (),
) -> None:
    """Write the content ``after`` to the rows of a draft; unchanged rows are not written.

    ``other_meaning``: identifiers of codes whose meaning changes with this version. ``touched``: codes and families whose
    revision increases although their own values stay the same. Raises ``WrongInput`` for problems that ``before`` did not have.
    """
    wrong_before = set(find_problems(before))
    problems = [problem for problem in find_problems(after) if problem not in wrong_before and problem.identifier]
    if problems:
        raise WrongInput(problems)
    families = _write_families(version, before, after, touched)
    rows = _free_places(version, after)
    known = {code.identifier: code for code in before.codes}
    for position, code in enumerate(after.codes, 1):
        row = rows.setdefault(code.identifier, Code(version=version, identifier=code.identifier))
        changed = known.get(code.identifier) != code or code.identifier in touched
        if changed:
            set_code(row, code, families)
            row.revision += row.pk is not None
        if code.identifier in other_meaning or row.pk is None:
            row.meaning_version = version.number
            changed = True
        if changed or row.position != position:
            row.position = position
            row.save()
    _write_parents(after, rows)
    _drop_codes(
        [row.pk for identifier, row in rows.items() if identifier not in {code.identifier for code in after.codes}]
    )
    stale = {family.identifier for family in before.families} - {family.identifier for family in after.families}
    version.families.filter(identifier__in=stale).delete()


def _write_families(
    version: CodebookVersion, before: CodebookContent, after: CodebookContent, touched: Collection[str]
) -> dict[str, CodeFamily]:
    rows = {family.identifier: family for family in version.families.all()}
    known = {family.identifier: family for family in before.families}
    for position, family in enumerate(after.families, 1):
        row = rows.setdefault(family.identifier, CodeFamily(version=version, identifier=family.identifier))
        changed = known.get(family.identifier) != family or family.identifier in touched
        if changed:
            set_family(row, family)
            row.revision += row.pk is not None
        if changed or row.position != position:
            row.position = position
            row.save()
    return rows


def _free_places(version: CodebookVersion, after: CodebookContent) -> dict[str, Code]:
    """The rows of a draft's codes, after clearing keys that other codes take over and parents that will be removed."""
    keys = {code.identifier: code.key for code in after.codes}
    for identifier, key in version.codes.exclude(key="").values_list("identifier", "key"):
        if keys.get(identifier) != key:
            version.codes.filter(identifier=identifier).update(key="")
    version.codes.exclude(parent=None).exclude(parent__identifier__in=keys).update(parent=None)
    return {code.identifier: code for code in version.codes.all()}


def _write_parents(after: CodebookContent, rows: Mapping[str, Code]) -> None:
    """Write the parents last, when every row exists."""
    for code in after.codes:
        row = rows[code.identifier]
        parent_id = rows[code.parent].pk if code.parent else None
        if row.parent_id != parent_id:
            row.parent_id = parent_id
            row.save(update_fields=["parent"])


def _drop_codes(pks: list[int]) -> None:
    CodeExample.objects.filter(code__in=pks).delete()
    CodeProposal.objects.filter(code__in=pks).update(code=None)
    Code.objects.filter(pk__in=pks).delete()


def set_family(row: CodeFamily, family: FamilyContent) -> None:
    """Give a row the values of a family."""
    for name in queries.FAMILY_COLUMNS[1:]:
        setattr(row, name, getattr(family, name))


def set_code(row: Code, code: CodeContent, families: Mapping[str, CodeFamily]) -> None:
    """Give a row the values of a code; its parent is set when all rows exist."""
    for name in ("name", "group", "definition", "machine_definition", "include", "exclude", "key", "source", "color"):
        setattr(row, name, getattr(code, name))
    row.is_category = code.is_category
    row.family = families[code.family]
    row.aliases, row.terms, row.keyword_rules = list(code.aliases), list(code.terms), list(code.keyword_rules)
    row.attributes = [attribute.as_json() for attribute in code.attributes]


def copy_examples(source: CodebookVersion, target: CodebookVersion, identifiers: Iterable[str] | None = None) -> None:
    """Give the codes of ``target`` the examples that they have in ``source``."""
    code_ids = dict(target.codes.values_list("identifier", "pk"))
    wanted = code_ids.keys() if identifiers is None else code_ids.keys() & set(identifiers)
    examples = CodeExample.objects.filter(code__version=source, code__identifier__in=wanted).order_by("pk")
    CodeExample.objects.bulk_create(
        CodeExample(
            code_id=code_ids[str(row["identifier"])],
            **{name: row[name] for name in EXAMPLE_COLUMNS},
        )
        for row in examples.values(*EXAMPLE_COLUMNS, identifier=F("code__identifier"))
    )


def store_examples(version: CodebookVersion, examples: Iterable[FoundQuote], *, by: trail.Actor) -> None:
    """Give the codes of a version examples that a file or the seeded codebook brings."""
    code_ids = dict(version.codes.values_list("identifier", "pk"))
    CodeExample.objects.bulk_create(
        CodeExample(
            code_id=code_ids[code],
            sentence_id=sentence_id,
            words=words,
            kind=kind,
            note=note,
            added_at=timezone.now(),
            added_by_name=by.get_username(),
        )
        for code, sentence_id, words, kind, note in examples
    )


def add_change(
    version: CodebookVersion,
    kind: CodeChange.Kind,
    *,
    by: trail.Actor,
    before: str = "",
    after: str = "",
    effect: str = "",
    reason: str = "",
) -> CodeChange:
    """Record one step of a draft."""
    return CodeChange.objects.create(
        version=version,
        kind=kind,
        effect=effect,
        from_identifier=before,
        to_identifier=after,
        reason=reason,
        made_at=timezone.now(),
        made_by_name=by.get_username(),
    )


def record_event(action: str, row: Code | CodeFamily, by: trail.Actor, **details: object) -> None:
    """Record an event of a code or a family of a draft in the study's trail."""
    version = row.version
    given = {"version": version.number, "identifier": row.identifier, **details}
    trail.record(action, target=row, by=by, stream=trail.study_stream(version.study_id), details=given)


def refuse(error: editing.EditRefused) -> WrongInput:
    """Turn the refusal of an edit into ``WrongInput`` for its field."""
    return WrongInput([Problem(error.field, "", str(error))])
