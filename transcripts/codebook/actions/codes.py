"""Actions on the codes and families of a draft: edits of single ones, merges and splits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction

from transcripts.audit_trail import trail
from transcripts.codebook import queries
from transcripts.codebook.actions.storing import (
    WrongInput,
    add_change,
    check_reason,
    copy_examples,
    hold_code,
    hold_draft,
    hold_family,
    record_event,
    refuse,
    write_content,
)
from transcripts.codebook.models import Code, CodebookVersion, CodeChange, CodeExample, CodeFamily, CodeProposal
from transcripts.codebook.pure import editing
from transcripts.codebook.pure.checking import MAX_DEPTH, Problem, clean_name, clean_names, clean_text, measure_depth
from transcripts.codebook.pure.comparing import CODE_FIELDS, FROM_FAMILY, MEANING
from transcripts.codebook.pure.editing import find_prefix, make_identifier
from transcripts.formats.codebook_rules import CodebookContent, CodeContent, FamilyContent
from transcripts.refusals import Refused

Kind, Effect = CodeChange.Kind, CodeChange.Effect
PLACE = ("family", "parent")
WORDINGS = (*MEANING, "machine_definition")
MAX_PARTS = 12


@transaction.atomic
def add_code(*, version: CodebookVersion, given: CodeContent, by: trail.Actor, reason: str = "") -> Code:
    """Add a code to a draft, after its siblings; its identifier is made from its name, whatever ``given`` has."""
    content, reason = hold_draft(version), check_reason(reason)
    new = replace(clean_code(given), identifier=name_code(version, content, given))
    check_key(content, new)
    apply_edit(version, content, editing.add_code, new)
    code = version.codes.get(identifier=new.identifier)
    add_change(version, Kind.ADDED, by=by, after=new.identifier, reason=reason)
    record_event("codebook.code.added", code, by)
    return code


@transaction.atomic
def edit_code(
    *, code: Code, revision: int | None, given: CodeContent, by: trail.Actor, effect: str = "", reason: str = ""
) -> Code:
    """Give a code of a draft these texts, this name and this place. If nothing changed, nothing is recorded.

    ``effect`` is needed if the words that people code by have changed and somebody may have coded by the old ones. Raises
    ``EditConflict``, ``CodeIsGone``, ``DraftIsClosed`` or ``WrongInput``.
    """
    content, code, reason = hold_draft(code.version), hold_code(code, revision), check_reason(reason)
    version = code.version
    before = editing.find_code(content, code.identifier)
    after = replace(clean_code(given), identifier=code.identifier)
    changed = {name for name in CODE_FIELDS if _clean_value(getattr(before, name)) != getattr(after, name)}
    if not changed:
        return code
    if changed.isdisjoint(MEANING) or queries.is_new(code):
        effect = Effect.WORDING
    elif effect not in Effect.values:
        sentence = "Choose the effect of the new wording: same meaning, narrower, or wider."
        raise WrongInput([Problem("effect", code.identifier, sentence)])
    check_key(content, after)
    other_meaning = {code.identifier} if effect != Effect.WORDING else set()
    apply_edit(version, content, editing.replace_code, after, other_meaning=other_meaning)
    for kind in _list_kinds(changed):
        used = effect if kind == Kind.REDEFINED else Effect.WORDING
        add_change(version, kind, by=by, before=code.identifier, after=code.identifier, effect=used, reason=reason)
    code.refresh_from_db()
    _settle_meaning(code)
    record_event("codebook.code.changed", code, by, fields=sorted(changed), effect=effect)
    return code


def _list_kinds(changed: set[str]) -> Iterator[CodeChange.Kind]:
    """The kinds of an edit of these fields, as the record names them."""
    if "name" in changed:
        yield Kind.RENAMED
    if not changed.isdisjoint(WORDINGS):
        yield Kind.REDEFINED
    if not changed.isdisjoint(PLACE):
        yield Kind.MOVED
    if changed - {"name", *WORDINGS, *PLACE}:
        yield Kind.ADJUSTED


def _settle_meaning(code: Code) -> None:
    """A code whose words were changed and then restored keeps its meaning, unless it was merged or split."""
    base = (
        code.version.based_on_id
        and Code.objects.filter(version=code.version.based_on_id, identifier=code.identifier).first()
    )
    if not base or base.meaning_version == code.meaning_version:
        return
    recast = code.version.changes.filter(kind__in=[Kind.MERGED, Kind.SPLIT], to_identifier=code.identifier)
    same = all(clean_text(getattr(base, name)) == clean_text(getattr(code, name)) for name in MEANING)
    same = same and all(getattr(base.family, name) == getattr(code.family, name) for name in FROM_FAMILY)
    if same and not recast.exists():
        code.meaning_version = base.meaning_version
        code.save(update_fields=["meaning_version"])


@transaction.atomic
def rename_code(*, code: Code, revision: int | None, name: str, by: trail.Actor, reason: str = "") -> Code:
    """Rename a code, which stays the same code. Raises as ``edit_code`` does."""
    content, code = hold_draft(code.version), hold_code(code, revision)
    given = editing.find_code(content, code.identifier)
    return edit_code(code=code, revision=revision, given=replace(given, name=name), by=by, reason=reason)


@transaction.atomic
def shift_code(*, code: Code, revision: int | None, step: int, by: trail.Actor) -> Code:
    """Move a code up (-1) or down (1) among its siblings; at either end it stays. Raises as ``edit_code`` does."""
    content, code = hold_draft(code.version), hold_code(code, revision)
    after = editing.shift_code(content, code.identifier, step)
    if after == content:
        return code
    write_content(code.version, content, after, touched={code.identifier})
    moved = {"from_identifier": code.identifier, "to_identifier": code.identifier}
    if not code.version.changes.filter(kind=Kind.MOVED, **moved).exists():
        add_change(
            code.version, Kind.MOVED, by=by, before=code.identifier, after=code.identifier, effect=Effect.WORDING
        )
    code.refresh_from_db()
    record_event("codebook.code.moved", code, by, step=step)
    return code


@transaction.atomic
def retire_code(*, code: Code, revision: int | None, reason: str, by: trail.Actor) -> None:
    """Take a code out of a draft. Codings made with it stay on the version they were made with.

    Its subcodes take its place. Raises as ``edit_code`` does.
    """
    content, code = hold_draft(code.version), hold_code(code, revision)
    reason = check_reason(reason, needed_to="retire this code")
    write_content(code.version, content, editing.remove_codes(content, [code.identifier]))
    add_change(code.version, Kind.RETIRED, by=by, before=code.identifier, reason=reason)
    record_event("codebook.code.retired", code, by)


@transaction.atomic
def restore_code(*, version: CodebookVersion, identifier: str, by: trail.Actor) -> Code:
    """Restore a code that was retired, merged or split in this draft, as it is in the previous version.

    It has no key if another code now has that key, and goes to the top of its family if its parent is gone. Raises ``Refused``
    if there is nothing to restore, ``DraftIsClosed``.
    """
    content = hold_draft(version)
    base = version.based_on
    earlier = queries.read_content(base) if base else CodebookContent()
    found = next((code for code in earlier.codes if code.identifier == identifier), None)
    if base is None or found is None or any(code.identifier == identifier for code in content.codes):
        raise Refused("There is no such code to restore.")
    if editing.find_family(content, found.family) is None:
        raise Refused(f"The family of {found.name} is no longer in this draft. Add a new code instead.")
    back = _fit_in(content, found)
    apply_edit(version, content, editing.add_code, back)
    code = version.codes.get(identifier=identifier)
    code.meaning_version = base.codes.get(identifier=identifier).meaning_version
    code.save(update_fields=["meaning_version"])
    copy_examples(base, version, [identifier])
    version.changes.filter(from_identifier=identifier, kind__in=[Kind.RETIRED, Kind.MERGED, Kind.SPLIT]).delete()
    record_event("codebook.code.restored", code, by)
    return code


def _fit_in(content: CodebookContent, code: CodeContent) -> CodeContent:
    """A code of an earlier version, adapted to this content."""
    places = {each.identifier: each for each in content.codes}
    if any(each.key == code.key for each in content.codes if code.key):
        code = replace(code, key="")
    parent = places.get(code.parent)
    deep = (measure_depth(code, places) or 0) > MAX_DEPTH
    return replace(code, parent="") if parent is None or parent.family != code.family or deep else code


@transaction.atomic
def add_family(*, version: CodebookVersion, given: FamilyContent, by: trail.Actor) -> CodeFamily:
    """Add a family after the others; its identifier is made from its name, whatever ``given`` has."""
    content = hold_draft(version)
    used = set(CodeFamily.objects.filter(version__study=version.study_id).values_list("identifier", flat=True))
    identifier = make_identifier(given.name, prefix="", used=used)
    apply_edit(version, content, editing.add_family, replace(_clean_family(given), identifier=identifier))
    family = version.families.get(identifier=identifier)
    record_event("codebook.family.added", family, by)
    return family


@transaction.atomic
def edit_family(*, family: CodeFamily, revision: int | None, given: FamilyContent, by: trail.Actor) -> CodeFamily:
    """Give a family of a draft this name, these rules and this unit.

    If its codes are now applied to another unit, or to the turns of other speakers, their codings have another meaning, so all
    codes of the family count as changed in meaning. Raises as ``edit_code`` does.
    """
    content, family = hold_draft(family.version), hold_family(family, revision)
    version = family.version
    before = editing.find_family(content, family.identifier)
    after = replace(_clean_family(given), identifier=family.identifier)
    if before is None or before == after:
        return family
    inside = [code.identifier for code in content.codes if code.family == family.identifier]
    recoded = inside if any(getattr(before, name) != getattr(after, name) for name in FROM_FAMILY) else []
    apply_edit(version, content, editing.replace_family, after, other_meaning=set(recoded))
    for identifier in recoded:
        add_change(version, Kind.REDEFINED, by=by, before=identifier, after=identifier)
    family.refresh_from_db()
    changed = sorted(name for name in queries.FAMILY_COLUMNS if getattr(before, name) != getattr(after, name))
    record_event("codebook.family.changed", family, by, fields=changed)
    return family


@transaction.atomic
def shift_family(*, family: CodeFamily, revision: int | None, step: int, by: trail.Actor) -> CodeFamily:
    """Move a family up (-1) or down (1); at either end it stays. Raises as ``edit_code`` does."""
    content, family = hold_draft(family.version), hold_family(family, revision)
    after = editing.shift_family(content, family.identifier, step)
    if after == content:
        return family
    write_content(family.version, content, after, touched={family.identifier})
    family.refresh_from_db()
    record_event("codebook.family.moved", family, by, step=step)
    return family


@transaction.atomic
def remove_family(*, family: CodeFamily, revision: int | None, by: trail.Actor) -> None:
    """Remove a family without codes from a draft. Raises as ``edit_code`` does."""
    content, family = hold_draft(family.version), hold_family(family, revision)
    try:
        after = editing.remove_family(content, family.identifier)
    except editing.EditRefused as error:
        raise refuse(error) from error
    write_content(family.version, content, after)
    record_event("codebook.family.removed", family, by)


def name_code(
    version: CodebookVersion, content: CodebookContent, given: CodeContent, *, others: tuple[str, ...] = ()
) -> str:
    """An identifier for a new code that no code of the study ever had."""
    used = queries.used_identifiers(version.study) | {code.identifier for code in content.codes} | set(others)
    return make_identifier(given.name, prefix=find_prefix(given.family, content.codes), used=used)


def apply_edit(
    version: CodebookVersion,
    content: CodebookContent,
    edit: Callable[..., CodebookContent],
    *arguments: object,
    other_meaning: set[str] | None = None,
) -> None:
    """Edit the content and store it, or refuse."""
    try:
        after = edit(content, *arguments)
    except editing.EditRefused as error:
        raise refuse(error) from error
    write_content(version, content, after, other_meaning=other_meaning or set())


def check_key(content: CodebookContent, code: CodeContent) -> None:
    """Refuse a key that another code has, naming that code; the check of the content would name the later of the two."""
    for other in content.codes:
        if code.key and other.key == code.key and other.identifier != code.identifier:
            sentence = f"{other.name} already has the key {code.key}. Choose another key, or remove it from {other.name} first."
            raise WrongInput([Problem("key", code.identifier, sentence)])


def _clean_value(value: object) -> object:
    return clean_text(value) if isinstance(value, str) else value


def clean_code(code: CodeContent) -> CodeContent:
    """The code without white space at the ends of its texts, which browsers add and files may have."""
    values: dict[str, Any] = {
        name: clean_text(value) for name in CODE_FIELDS if isinstance(value := getattr(code, name), str)
    }
    values |= {name: clean_names(getattr(code, name)) for name in ("aliases", "terms", "keyword_rules")}
    values["name"] = clean_name(code.name)
    return replace(code, **values)


def _clean_family(family: FamilyContent) -> FamilyContent:
    return replace(
        family,
        name=clean_name(family.name),
        description=clean_text(family.description),
        rules=clean_text(family.rules),
    )


@transaction.atomic
def merge_codes(
    *,
    version: CodebookVersion,
    codes: Sequence[Code],
    into: Code | CodeContent,
    reason: str,
    by: trail.Actor,
    revisions: Mapping[int, int] | None = None,
) -> Code:
    """Merge these codes of a draft into one: ``into`` is one of them, or describes a new code.

    The resulting code takes over the names of the others as its other names, and their terms, keyword rules, examples and
    subcodes. Codings made with the others stay on the version they were made with. ``revisions`` are those that the page
    showed. Raises ``EditConflict``, ``CodeIsGone``, ``DraftIsClosed`` or ``WrongInput``: for fewer than two codes, codes that
    are applied to different units, or no reason.
    """
    content = hold_draft(version)
    reason = check_reason(reason, needed_to="merge these codes")
    held = [hold_code(code, (revisions or {}).get(code.pk)) for code in {code.pk: code for code in codes}.values()]
    identifiers = [code.identifier for code in held]
    if isinstance(into, Code):
        target = editing.find_code(content, hold_code(into, (revisions or {}).get(into.pk)).identifier)
    else:
        target = _name_target(version, content, into, identifiers)
    merged = [identifier for identifier in identifiers if identifier != target.identifier]
    if len(merged) + isinstance(into, Code) < 2:
        raise WrongInput(
            [Problem("codes", "", "Choose at least two codes to merge; a code cannot be merged into itself.")]
        )
    examples = list(CodeExample.objects.filter(code__in=[code.pk for code in held if code.identifier in merged]))
    proposals = list(CodeProposal.objects.filter(code__in=[code.pk for code in held if code.identifier in merged]))
    apply_edit(version, content, editing.merge_codes, identifiers, target, other_meaning={target.identifier})
    code = version.codes.get(identifier=target.identifier)
    _hand_over(code, examples, proposals)
    _record_merge(code, merged, is_new=not isinstance(into, Code), reason=reason, by=by)
    return code


def _record_merge(code: Code, merged: Sequence[str], *, is_new: bool, reason: str, by: trail.Actor) -> None:
    version = code.version
    if is_new:
        add_change(version, Kind.ADDED, by=by, after=code.identifier, reason=reason)
    for identifier in merged:
        add_change(
            version, Kind.MERGED, by=by, before=identifier, after=code.identifier, effect=Effect.WIDENING, reason=reason
        )
    record_event("codebook.code.merged", code, by, merged=list(merged))


def _name_target(
    version: CodebookVersion, content: CodebookContent, given: CodeContent, merged: Sequence[str]
) -> CodeContent:
    """The new code with an identifier; it may have the key of one of the merged codes."""
    target = clean_code(given)
    kept = tuple(code for code in content.codes if code.identifier not in merged)
    check_key(replace(content, codes=kept), target)
    return replace(target, identifier=name_code(version, content, target))


def _hand_over(code: Code, examples: Sequence[CodeExample], proposals: Sequence[CodeProposal]) -> None:
    """Give a code the examples and accepted proposals of the codes merged into it; no example twice."""
    known: set[tuple[int | None, str]] = set(code.examples.values_list("sentence_id", "words"))
    for example in examples:
        if (example.sentence_id, example.words) not in known:
            known.add((example.sentence_id, example.words))
            example.pk = None
            example.code = code
            example.save(force_insert=True)
    CodeProposal.objects.filter(pk__in=[proposal.pk for proposal in proposals]).update(code=code)


@transaction.atomic
def split_code(
    *, code: Code, revision: int | None, parts: Sequence[CodeContent], reason: str, by: trail.Actor
) -> list[Code]:
    """Replace a code by two or more new ones; only name and texts of ``parts`` are used.

    Codings made with the old code stay on the version they were made with, and so do its examples. Raises ``EditConflict``,
    ``CodeIsGone``, ``DraftIsClosed`` or ``WrongInput``.
    """
    content, code = hold_draft(code.version), hold_code(code, revision)
    version = code.version
    reason = check_reason(reason, needed_to="split this code")
    if not 2 <= len(parts) <= MAX_PARTS:
        sentence = f"A split makes between two and {MAX_PARTS} new codes out of one, not {len(parts)}."
        raise WrongInput([Problem("parts", code.identifier, sentence)])
    before = editing.find_code(content, code.identifier)
    born: list[CodeContent] = []
    for part in parts:
        taken = tuple(each.identifier for each in born)
        new = clean_code(replace(part, family=before.family, parent=before.parent))
        born.append(replace(new, identifier=name_code(version, content, new, others=taken)))
    apply_edit(version, content, editing.split_code, code.identifier, born)
    for new in born:
        add_change(
            version,
            Kind.SPLIT,
            by=by,
            before=code.identifier,
            after=new.identifier,
            effect=Effect.NARROWING,
            reason=reason,
        )
    identifiers = [new.identifier for new in born]
    record_event("codebook.code.split", code, by, into=identifiers)
    return list(version.codes.filter(identifier__in=identifiers).order_by("position"))
