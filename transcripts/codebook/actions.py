"""What is done to codebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.codebook.queries import latest_version
from transcripts.codebook.seed import SeedCode, SeedFamily, load_seed
from transcripts.formats.codebook_csv import CodebookFileError, CodeRow, read_codebook
from transcripts.projects.actions import create_project
from transcripts.projects.models import Project

FAMILY_FIELDS = ("identifier", "name", "description", "unit", "carries_level", "carries_enactment")
CODE_FIELDS = [
    "identifier",
    "name",
    "group",
    "aliases",
    "definition",
    "machine_definition",
    "include",
    "exclude",
    "key",
    "source",
]


class CodebookError(Exception):
    """A sentence for the person who asked."""


class CodebookRefused(CodebookError):
    """A file was not taken; ``problems`` has a sentence for each thing that is wrong with it."""

    def __init__(self, message: str, problems: list[str]) -> None:
        super().__init__(message)
        self.problems = problems


class ImportedCodebook(NamedTuple):
    """The draft a file became, or the version it repeats (``created`` is false)."""

    version: CodebookVersion
    created: bool


class _Entry(NamedTuple):
    """A code that is not stored yet, and the identifier of its family."""

    family: str
    code: Code


class _Content(NamedTuple):
    """What a version holds, in order, before it is stored."""

    families: list[CodeFamily]
    entries: list[_Entry]

    def as_values(self) -> object:
        """Plain values, to tell whether two contents are the same."""
        return (
            [[getattr(family, name) for name in FAMILY_FIELDS] for family in self.families],
            [[entry.family, *(getattr(entry.code, name) for name in CODE_FIELDS)] for entry in self.entries],
        )


@transaction.atomic
def start_study(*, slug: str, name: str, by: trail.Actor, description: str = "") -> Project:
    """A new study that can be coded at once: the first version of its codebook is the seeded one, published.

    Raises ``ProjectError`` for a name or an address that cannot be used.
    """
    project = create_project(slug=slug, name=name, by=by, description=description)
    seed_codebook(project=project, by=by)
    return project


@transaction.atomic
def seed_codebook(*, project: Project, by: trail.Actor) -> CodebookVersion:
    """Version 1 of a study's codebook, published: the families and codes of data/negotiation.json.

    Raises ``CodebookError`` when the study has a codebook.
    """
    _lock(project)
    if latest_version(project) is not None:
        raise CodebookError("This study has a codebook already. Import a file to make its next version.")
    seed = load_seed()
    content = _Content(list(map(_make_family, seed.families)), [_make_entry(code.id, code) for code in seed.codes])
    version = _store_version(project, content, number=1, title=seed.title, origin=seed.source, by=by)
    publish_version(version=version, by=by)
    return version


@transaction.atomic
def import_codebook(*, project: Project, data: bytes, name: str, by: trail.Actor) -> ImportedCodebook:
    """A draft with the codes of a CSV file, numbered after the latest version; that version when nothing differs.

    What the file does not say of a family (its description, whether its codes carry level and enactment) is carried
    over from the latest version. Raises ``CodebookRefused`` when anything in the file is wrong; nothing is stored then.
    """
    try:
        rows = read_codebook(data, name=name)
    except CodebookFileError as error:
        unlisted = error.total - len(error.problems)
        more = [f"And {unlisted} more of this kind or another."] if unlisted else []
        raise CodebookRefused(str(error), [*map(str, error.problems), *more]) from error
    _lock(project)
    latest = latest_version(project)
    before = _load_content(latest) if latest else _Content([], [])
    content = _arrange(rows, before.families)
    if problems := list(_find_too_long(content)):
        raise CodebookRefused(f"{name}: {len(problems)} cells are too long; nothing was imported.", problems)
    if latest is not None and content.as_values() == before.as_values():
        return ImportedCodebook(latest, created=False)
    number = latest.number + 1 if latest else 1
    title = latest.title if latest else project.name
    version = _store_version(project, content, number=number, title=title, origin=f"Imported from {name}", by=by)
    return ImportedCodebook(version, created=True)


@transaction.atomic
def publish_version(*, version: CodebookVersion, by: trail.Actor) -> None:
    """Freeze a draft, so that codings can refer to it for good. A published version is left as it is.

    Raises ``CodebookError`` for a draft without codes, or one that a later published version has overtaken.
    """
    _lock(version.project)
    version.refresh_from_db(fields=["status"])
    if version.status == CodebookVersion.Status.PUBLISHED:
        return
    if not version.codes.exists():
        raise CodebookError("Add at least one code before publishing.")
    later = version.project.codebook_versions.filter(
        number__gt=version.number, status=CodebookVersion.Status.PUBLISHED
    ).first()
    if later is not None:
        raise CodebookError(f"{later} is published and later than this draft. Import the file of {version} once more.")
    version.status = CodebookVersion.Status.PUBLISHED
    version.published_at = timezone.now()
    version.published_by = by if isinstance(by, User) else None
    version.save(update_fields=["status", "published_at", "published_by"])
    trail.record(
        "codebook.version.published",
        target=version,
        by=by,
        stream=trail.project_stream(version.project_id),
        details={"number": version.number, "codes": version.codes.count()},
    )


def _lock(project: Project) -> None:
    """Let versions be numbered and published one at a time."""
    Project.objects.select_for_update().get(pk=project.pk)


def _load_content(version: CodebookVersion) -> _Content:
    families = list(version.families.order_by("position"))
    codes = version.codes.select_related("family").order_by("position")
    return _Content(families, [_Entry(code.family.identifier, code) for code in codes])


def _arrange(rows: list[CodeRow], known: list[CodeFamily]) -> _Content:
    """The rows of a file as families, in the order in which they first appear, and codes family by family."""
    known_by_identifier = {family.identifier: family for family in known}
    families: dict[str, CodeFamily] = {}
    for row in rows:
        if row.family not in families:
            before = known_by_identifier.get(row.family, CodeFamily(carries_level=row.unit == CodeFamily.Unit.SENTENCE))
            families[row.family] = CodeFamily(
                identifier=row.family,
                name=row.family_name,
                description=before.description,
                unit=row.unit,
                carries_level=before.carries_level,
                carries_enactment=before.carries_enactment,
            )
    place = {identifier: position for position, identifier in enumerate(families)}
    entries = [_make_entry(row.code_id, row) for row in sorted(rows, key=lambda row: place[row.family])]
    return _Content(list(families.values()), entries)


def _find_too_long(content: _Content) -> Iterator[str]:
    for entry in content.entries:
        for name in CODE_FIELDS:
            most = getattr(Code._meta.get_field(name), "max_length", None)
            if most is not None and len(value := getattr(entry.code, name)) > most:
                found = f"{len(value):,} characters in {name}"
                yield f"Code {entry.code.identifier}: found {found}; expected at most {most}."


def _make_family(seed: SeedFamily) -> CodeFamily:
    return CodeFamily(identifier=seed.id, **{name: getattr(seed, name) for name in FAMILY_FIELDS[1:]})


def _make_entry(identifier: str, source: SeedCode | CodeRow) -> _Entry:
    code = Code(identifier=identifier, **{name: getattr(source, name) for name in CODE_FIELDS[1:]})
    code.aliases = list(source.aliases)
    return _Entry(source.family, code)


def _store_version(
    project: Project, content: _Content, *, number: int, title: str, origin: str, by: trail.Actor
) -> CodebookVersion:
    version = CodebookVersion.objects.create(
        project=project,
        number=number,
        title=title,
        origin=origin[:300],
        created_at=timezone.now(),
        created_by_name=by.get_username(),
    )
    for position, family in enumerate(content.families, 1):
        family.version, family.position = version, position
    family_of = {family.identifier: family for family in CodeFamily.objects.bulk_create(content.families)}
    for position, entry in enumerate(content.entries, 1):
        entry.code.version, entry.code.family, entry.code.position = version, family_of[entry.family], position
    Code.objects.bulk_create(entry.code for entry in content.entries)
    trail.record(
        "codebook.version.created",
        target=version,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"number": number, "families": len(content.families), "codes": len(content.entries)},
    )
    return version
