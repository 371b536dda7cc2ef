"""Versions come and go: a draft is begun, published or given up. A study takes over what the built-in codebook has gained."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook import queries
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
from transcripts.codebook.models import Code, CodebookVersion, CodeChange, CodeFamily, CodeProposal
from transcripts.codebook.pure.checking import find_problems
from transcripts.codebook.pure.seed import add_newer_parts, load_seed
from transcripts.codebook.queries import find_quoted
from transcripts.formats.codebook_rules import CodebookContent
from transcripts.refusals import Refused
from transcripts.studies.models import Study

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
    """The next version, as a draft that holds what the latest published one holds; empty where there is none.

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
    """Give a draft up. It can still be read; proposals that were accepted into it are open again.

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
    """Freeze a draft, so that codings can refer to it for good. A published version is left as it is.

    Raises ``CodebookRefused`` with everything that is wrong with a draft: no code, a key of two codes, a name that is
    missing, a parent that is not there, a later version that is published; ``DraftIsClosed`` for a discarded one.
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
    """Publish a version that was kept back while other things of its import came in.

    Raises ``CodebookRefused`` where the codebook has changed since, for then the version would take that back.
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
    """The names of categories whose code, of an earlier version, somebody has applied and not taken back."""
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
    """A new draft with this content. ``meanings`` has for each code the version since which its meaning is unchanged.

    One that is ``kept_back`` is stored as a discarded one, so that nobody works with it; see ``publish_kept_back``.
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
    """Start a draft with the families and questions that the built-in codebook has gained; everything else is as before.

    Questions leave the meaning of a code alone, so no coding needs re-review. Nothing is published. Raises ``DraftIsOpen``, or
    ``Refused`` where there is nothing to take over.
    """
    draft = start_draft(study=study, by=by)
    base = draft.based_on
    parts = queries.find_newer_parts(base) if base is not None else None
    if not parts:
        raise Refused("The built-in codebook has nothing that this study has not had. Nothing was changed.")
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
