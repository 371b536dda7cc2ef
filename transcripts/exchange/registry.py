"""What a study can hand out. Each app registers its exports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from django.db.models import Model, Q, QuerySet
from django.utils.text import slugify

from transcripts.accounts.models import User
from transcripts.corpus.listing import read_fact
from transcripts.corpus.models import Consent, Interview, Standing
from transcripts.corpus.queries import list_consenting
from transcripts.exchange.rows import Column
from transcripts.studies.models import Project
from transcripts.studies.registrations import load_registrations
from transcripts.studies.roles import Permission

T = TypeVar("T", bound=Model)
TABLES = ("csv", "json", "jsonl")
"""The formats of every export that is a table."""
MAX_RUN_IN_NAME = 60
PARQUET = "parquet"
"""A further one of those that may be long."""


class Scope(NamedTuple):
    """Whose rows an export holds: all of the study, or those of one person (a blind coder's own).

    ``watch`` is told how far the writing is: of so many, 0 where nobody knows. It may raise to end it.
    ``with_left_out``: archived and excluded interviews, too, with what is on them. ``kind`` and ``run`` (a fact of a run, as
    ``task=files``) narrow it to some interviews.
    """

    project: Project
    only: User | None
    watch: Callable[[int, int], object] = lambda _done, _total: None
    with_left_out: bool = False
    kind: str = ""
    run: str = ""
    # Who reads it, if she codes: examples of the codebook that she is still to code are left out.
    coder: User | None = None

    @property
    def is_narrowed(self) -> bool:
        """Whether it is of some of the interviews alone."""
        return bool(self.kind or self.run)

    def within(self, interview: str = "") -> Q:
        """That the interview at this path from a row is one that the export holds; "" for rows that are interviews."""
        path = f"{interview}__" if interview else ""
        narrowed = Q(**{f"{path}kind": self.kind}) if self.kind else Q()
        if self.run:
            narrowed &= Q(**{f"{path}pk__in": Interview.objects.of_run(read_fact(self.run)).values("pk")})
        if not self.with_left_out:
            return narrowed & Q(**{f"{path}project": self.project})
        return narrowed & Q(**{f"{path}study": self.project}) & ~Q(**{f"{path}standing": Standing.UNDONE})

    def keep(self, rows: QuerySet[T], person: str) -> QuerySet[T]:
        """Those of the rows that the export holds; ``person`` is their field that says whose they are."""
        return rows if self.only is None else rows.filter(**{person: self.only})


RowsReader = Callable[[Scope], Iterable[Sequence[object]]]
# Writes the file at a path and returns how many things are in it.
FileWriter = Callable[[Scope, Path], int]


class Export(NamedTuple):
    """What can be exported: a table, files in formats of their own, or both.

    ``read_rows`` yields rows in the order of ``columns``, in constant memory; None where there is no table. ``files`` are
    further formats, or other forms of those of a table. An export with ``unblinds`` unblinds a coder to colleagues' work, and
    to what it ``also_reveals`` (machines' labels, case sheets) of the interviews that ``find_unblinded`` returns.
    ``count_rows`` tells beforehand how long a table is that may be long; it comes as Parquet too. ``count_long`` counts the
    cells of its texts that are longer than a spreadsheet keeps. ``find_quoted`` returns the interviews whose words would be in
    the file. ``begin_name`` returns what the name of the file has to begin with for other programs to find it.
    """

    key: Annotated[str, "Its name in addresses."]
    name: Annotated[str, "Its name."]
    sentence: Annotated[str, "What it is."]
    row: Annotated[str, "What one row of it is."]
    permission: Permission = Permission.EXPORT
    columns: Sequence[Column] = ()
    read_rows: RowsReader | None = None
    files: Mapping[str, FileWriter] = {}
    unblinds: Annotated[
        bool, "Whether it has others' labels: who codes can take her own rows, or unblind on a page first."
    ] = False
    find_unblinded: Callable[[Project], Collection[int]] | None = None
    also_reveals: str = ""
    count_rows: Callable[[Scope], int] | None = None
    count_long: Callable[[Scope], int] | None = None
    is_narrowed: Annotated[
        bool, "Whether it has rows of interviews, which `kind`, `run` and `with_left_out` narrow or widen."
    ] = True
    consent: Annotated[
        str, "The scope of consent without which an interview's words are left out; empty: it needs none."
    ] = ""
    find_quoted: Callable[[Scope], Collection[int]] | None = None
    begin_name: Callable[[Scope], str] | None = None

    @property
    def header(self) -> list[str]:
        """The headings of the table."""
        return [column.name for column in self.columns]

    @property
    def formats(self) -> list[str]:
        """Every format it comes in, tables first."""
        tables = TABLES if self.read_rows else ()
        return list(dict.fromkeys([*tables, *([PARQUET] if self.read_rows and self.count_rows else []), *self.files]))


def name_file(export: Export, scope: Scope, format: str) -> str:
    """The name of a file of an export: it says what the file was narrowed to."""
    parts = [scope.project.slug, export.key]
    if export.is_narrowed:
        parts += [scope.kind, slugify(scope.run.replace("=", " "), allow_unicode=True)[:MAX_RUN_IN_NAME]]
        parts += ["with-left-out" if scope.with_left_out else ""]
    parts += ["own-rows" if export.unblinds and scope.only is not None else ""]
    beginning = export.begin_name(scope) if export.begin_name else ""
    return f"{beginning}{'-'.join(filter(None, parts))}.{format}"


def count_without_consent(export: Export, scope: Scope) -> int:
    """How many interviews' words an export has to leave out, for want of the consent that it needs."""
    if export.find_quoted is None:
        return 0
    quoted = set(export.find_quoted(scope))
    return len(quoted - list_consenting(quoted, export.consent))


def say_without_consent(export: Export, number: int) -> str:
    """The sentence about the interviews whose words are left out; empty where there are none."""
    if not number:
        return ""
    scope = Consent.Scope(export.consent).label
    return f"The words of {number:,} interview{'' if number == 1 else 's'} are left out: consent to “{scope}” is not given."


_exports: dict[str, Export] = {}


def register_export(export: Export) -> None:
    """Make an export known. Called once, in an app's ``registrations``."""
    _exports[export.key] = export


def list_exports() -> list[Export]:
    """Every export, in the order of registration."""
    load_registrations()
    return list(_exports.values())


WANTED_MOST = ("codings", "codebook", "qdpx")
USES = (
    ("Texts", ("interviews", "turns", "sentences", "texts", "trajectories", "inspect_log", "scripts", "plays")),
    ("Coding", ("decisions", "memos", "boundary_edits", "codebook_changes", "proposals")),
    (
        "Team and agreement",
        ("rounds", "assignments", "adjudications", "anchors", "anchor_readings", "reveals", "unblindings"),
    ),
    (
        "Negotiation",
        (
            "links",
            "ledger",
            "ledger_states",
            "episodes",
            "pairs",
            "case_sheets",
            "normative_stances",
            "scores",
            "demonstrations",
            "stage_openings",
        ),
    ),
    ("Themes", ("themes", "theme_quotes", "phase_entries", "positionality")),
    ("Methods and record", ("methods", "dictionary", "stances", "consents", "audit")),
)
"""What exports are for, by key. Those of other rooms, and any without an entry, are about models."""


def group_exports(exports: Sequence[Export]) -> list[tuple[str, list[Export]]]:
    """These exports under headings by use, those wanted most first; a heading without any is left out."""
    by_key = {export.key: export for export in exports}
    placed = {key for _, keys in USES for key in keys} | set(WANTED_MOST)
    uses = [
        ("Wanted most often", WANTED_MOST),
        *USES,
        ("Models and benchmark", tuple(key for key in by_key if key not in placed)),
    ]
    groups = [(name, [by_key[key] for key in keys if key in by_key]) for name, keys in uses]
    return [(name, found) for name, found in groups if found]


def find_export(key: str) -> Export | None:
    """The export with that key."""
    load_registrations()
    return _exports.get(key)


class MachineUse(NamedTuple):
    """How far a machine took part in a study. ``is_invented``: its answers come from the program's own fake provider.

    ``reads_by`` says how it reads where no ``model`` is asked.
    """

    name: str
    model: str
    is_invented: bool
    codebook_version: int
    suggestions: int
    answered: int
    kept: int
    reads_by: str = ""


_machine_uses: list[Callable[[Project], list[MachineUse]]] = []


def register_machine_use(read: Callable[[Project], list[MachineUse]]) -> None:
    """Register a part that lists machines. Called once, in an app's ``registrations``."""
    _machine_uses.append(read)


_machine_notes: list[tuple[str, Callable[[Project], dict[str, Any]]]] = []


def register_machine_notes(template: str, read: Callable[[Project], dict[str, Any]]) -> None:
    """Register a part's sentences about all machines together: a template, and its ``notes``. Called once, in ``registrations``."""
    _machine_notes.append((template, read))


def list_machine_notes(project: Project) -> list[tuple[str, dict[str, Any]]]:
    """The templates and their ``notes``: what people saw of machines' work, and when."""
    load_registrations()
    return [(template, notes) for template, read in _machine_notes if (notes := read(project))]


def list_machine_uses(project: Project) -> list[MachineUse]:
    """Every machine that took part in a study."""
    load_registrations()
    return [use for read in _machine_uses for use in read(project)]
