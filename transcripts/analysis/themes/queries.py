"""What is read of themes, and why something was not done to one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet

from transcripts.analysis.models import PhaseEntry, PositionalityStatement, Theme, ThemeQuote, ThemeVersion
from transcripts.blinding.viewers import Viewer
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version, read_families
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused
from transcripts.studies.models import Project

STATE_ORDER = [*ThemeVersion.State.values]


class CodeEntry(NamedTuple):
    """A code as themes name it; ``in_use`` when the current codebook has it."""

    identifier: str
    name: str
    definition: str = ""
    in_use: bool = True


@dataclass(frozen=True)
class Catalogue:
    """The codes themes are made of: those in use by family, and whatever identifier else is asked for by name."""

    families: list[tuple[CodeFamily, list[CodeEntry]]]
    by_identifier: dict[str, CodeEntry] = field(default_factory=dict)

    def name_codes(self, identifiers: Iterable[str]) -> list[CodeEntry]:
        """The codes behind identifiers, in their order."""
        unknown = [CodeEntry(each, each, in_use=False) for each in identifiers]
        return [self.by_identifier.get(each.identifier, each) for each in unknown]


def current_themes(project: Project) -> list[ThemeVersion]:
    """The version of each theme that holds, with the theme: by state, then by number. One query."""
    later = ThemeVersion.objects.filter(theme=OuterRef("theme"), number__gt=OuterRef("number"))
    versions = ThemeVersion.objects.filter(~Exists(later), theme__project=project)
    found = versions.select_related("theme", "written_by")
    return sorted(found, key=lambda each: (STATE_ORDER.index(each.state), each.theme.number))


def find_current(project: Project, number: int) -> ThemeVersion | None:
    """The version that holds of the theme with that number, with the theme."""
    versions = ThemeVersion.objects.filter(theme__project=project, theme__number=number)
    return versions.select_related("theme__project", "written_by").order_by("-number").first()


def read_catalogue(project: Project, *, also: Iterable[str] = ()) -> Catalogue:
    """The codes people code with, and the names of others that themes hold: four queries at most."""
    version = current_version(project)
    families = [
        (family, [CodeEntry(code.identifier, code.name, code.definition) for code in family.codes.all()])
        for family in (read_families(version) if version else [])
    ]
    known = {code.identifier: code for _, codes in families for code in codes}
    if missing := set(also) - known.keys():
        rows = Code.objects.filter(version__project=project, identifier__in=missing).order_by("version__number")
        for identifier, name in rows.values_list("identifier", "name"):
            known[identifier] = CodeEntry(identifier, name, in_use=False)
    return Catalogue(families, known)


def find_unknown_codes(project: Project, identifiers: Sequence[str]) -> list[str]:
    """Those identifiers that no version of the study's codebook has."""
    rows = Code.objects.filter(version__project=project, identifier__in=identifiers)
    known = set(rows.values_list("identifier", flat=True))
    return [each for each in identifiers if each not in known]


def read_history(theme: Theme, catalogue: Catalogue) -> list[dict[str, object]]:
    """The versions of a theme, newest first, each with the version before it and what it changed: one query."""
    versions = list(theme.versions.select_related("written_by").order_by("number"))
    before: Sequence[ThemeVersion | None] = [None, *versions]
    return [_compare(one, other, catalogue) for one, other in zip(before, versions, strict=False)][::-1]


def _compare(before: ThemeVersion | None, version: ThemeVersion, catalogue: Catalogue) -> dict[str, object]:
    if before is None:
        return {"version": version, "before": None, "added": catalogue.name_codes(version.codes)}
    fields = [
        (label, old, new)
        for label, old, new in (
            ("Name", before.name, version.name),
            ("Central organising concept", before.concept, version.concept),
            ("Description", before.description, version.description),
            ("State", before.get_state_display(), version.get_state_display()),
        )
        if old != new
    ]
    added = [code for code in version.codes if code not in before.codes]
    removed = [code for code in before.codes if code not in version.codes]
    return {
        "version": version,
        "before": before,
        "fields": fields,
        "added": catalogue.name_codes(added),
        "removed": catalogue.name_codes(removed),
    }


def visible_quotes(viewer: Viewer) -> QuerySet[ThemeQuote]:
    """The active quotes that the viewer may see. A quote reveals that somebody coded its sentence, so it is a label."""
    quotes = ThemeQuote.objects.filter(sentence__turn__interview__project=viewer.project, withdrawn_at__isnull=True)
    if not viewer.sees_all:
        return quotes.filter(added_by=viewer.user)
    if viewer.visible_interviews is None:
        return quotes
    return quotes.filter(Q(added_by=viewer.user) | Q(sentence__turn__interview__in=viewer.visible_interviews))


def read_quotes(quotes: QuerySet[ThemeQuote]) -> list[ThemeQuote]:
    """Quotes with all that is shown of them, in the order of the interviews: one query."""
    related = quotes.select_related("sentence__turn__interview", "added_by", "theme", "coding__code")
    return list(related.order_by("theme__number", "-side", "sentence__turn__interview", "sentence__position", "pk"))


def find_sentence(project: Project, sentence_id: int) -> Sentence | None:
    """A sentence of the study with its turn and interview. One that was retired is found too, for quotes of it stay."""
    sentences = Sentence.objects.filter(turn__interview__project=project, pk=sentence_id)
    return sentences.select_related("turn__interview").first()


def visible_entries(viewer: Viewer) -> QuerySet[PhaseEntry]:
    """The active entries of the board: one's own, and everybody's for those who see all codings."""
    entries = PhaseEntry.objects.filter(project=viewer.project, withdrawn_at__isnull=True).select_related("author")
    return entries if viewer.sees_all else entries.filter(author=viewer.user)


def visible_statements(viewer: Viewer) -> QuerySet[PositionalityStatement]:
    """The active statements: one's own, and everybody's for those who see all codings."""
    statements = PositionalityStatement.objects.filter(project=viewer.project, withdrawn_at__isnull=True)
    statements = statements.select_related("author").order_by("author__username")
    return statements if viewer.sees_all else statements.filter(author=viewer.user)


class NotYours(Refused):
    """People change what they wrote themselves."""


class ThemeChanged(Refused):
    """Somebody else was quicker; ``latest`` is what holds now."""

    def __init__(self, latest: ThemeVersion) -> None:
        super().__init__(
            f"{latest.written_by.username} changed theme {latest.theme.number} after you opened it. Your changes were not "
            "stored, but nothing is lost: both versions are on this page."
        )
        self.latest = latest


class QuoteChanged(Refused):
    """Somebody else quoted the same sentence or withdrew the quote; ``active`` is what holds now, if anything."""

    def __init__(self, active: ThemeQuote | None) -> None:
        done = f"{active.added_by.username} quoted this sentence" if active else "This quote was withdrawn"
        super().__init__(f"{done} after you opened it. Your changes were not stored; both versions are on this page.")
        self.active = active


class EntryChanged(Refused):
    """The same text was changed in another window; ``active`` is what holds now, if anything."""

    def __init__(self, active: PhaseEntry | PositionalityStatement | None) -> None:
        done = "You changed this text in another window" if active else "You withdrew this text in another window"
        super().__init__(f"{done}. Your changes in this window were not stored; both versions are on this page.")
        self.active = active
