"""The columns of exported tables, and how their rows are streamed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypeVar

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.db.models import CharField, F, Field, Model, OneToOneRel, Q, QuerySet
from django.db.models.functions import Cast, Concat, Substr
from django.utils.text import slugify

from transcripts.accounts.models import User
from transcripts.corpus.models import Consent, Interview, Standing
from transcripts.corpus.queries import list_consenting, read_fact
from transcripts.hooks import load_registrations
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission

CHUNK = 5_000
# Meanings of columns that are not fields of a model, or mean the same in every model, by the name of column or field.
SHARED = {
    "sentence_id": "Number of the sentence; it never changes and is never reused.",
    "sentence_label": "The number that people see: the place, with a letter for a part of a split sentence (14a).",
    "text": "The exact words.",
    "quote": "The marked words.",
    "prompting_source": "said (by the coder) or derived (from the words and codes of earlier turns).",
    "name": "Name that people see.",
    "reason": "The reason, in the person's own words.",
    "note": "What the person noted.",
    "coder": "User name of the coder.",
    "author": "User name of the author.",
    "blinding": "blind, or assisted: made after others' labels were seen.",
    "codes": "List of code identifiers; an empty list says that none applies.",
    "idempotency_key": "The idempotency key with which it was sent, a UUID.",
    "created_at": "When it was stored, in UTC.",
    "written_at": "When it was written, in UTC.",
    "withdrawn_at": "When it was withdrawn or replaced, in UTC; empty while it is active.",
    "withdrawal_reason": "The reason for withdrawing it, if one was required.",
    "superseded_by": "Number of the row of the same table that replaced it, if any.",
    "stage": "Where it took place: front (said), back (reasoning) or tool; empty for turns of others than the model.",
    "script": "Name and number of the script, such as gender/2.",
    "track": "conduct (what the model says and its calls) or back (its reasoning); the two are kept separate.",
    "holds": "true for the latest row, which counts.",
    "saw_reasoning": "true if the coder had opened reasoning of the interview before she made the coding.",
}

# The types of the fields whose cells are not text in Parquet, and of columns that are not fields.
TYPES: dict[type, type] = {
    models.IntegerField: int,
    models.BooleanField: bool,
    models.FloatField: float,
    models.DateTimeField: datetime,
}
KINDS: dict[str, type] = {"explained": bool, "holds": bool, "saw_reasoning": bool}
# The field by which people know a row, for models to which columns refer.
NAMED_BY = {"accounts.user": "username", "studies.study": "slug", "corpus.interview": "external_id"}
Paths = Mapping[str, str | tuple[str, str]]


class Column(NamedTuple):
    """A column of an export. ``source`` is its path in a query, empty if the rows do not come from a query. ``kind`` is the type
    of its cells in Parquet; lists and mappings are text there, as JSON."""

    name: Annotated[str, "Its heading."]
    source: str
    meaning: Annotated[str, "Its meaning in the data dictionary; may be empty."]
    kind: type = str


def find_fields(model: type[Model], path: str) -> list[Any]:
    """The fields of models along a path such as ``sentence__turn``; empty if it does not lead to a field."""
    found: list[Any] = []
    at: Any = model
    for name in path.replace(".", "__").split("__"):
        try:
            field = at._meta.pk if name == "pk" else at._meta.get_field(name)
        except (FieldDoesNotExist, AttributeError):
            return []
        if not isinstance(field, Field | OneToOneRel):
            return []
        found, at = [*found, field], field.related_model
    return found


def describe(model: type[Model], path: str, name: str = "") -> str:
    """The description of a field from its declaration in the model. A person's name is described by the field that leads to
    her, and so is the id of an interview if that field says which one it is.

    ``SHARED`` describes names that mean the same everywhere, by column or field. Raises ``KeyError`` if there is no
    description.
    """
    fields = find_fields(model, path)
    if not fields:
        return SHARED[name or path]
    *before, field = fields
    if before and (field.model is User or (field.name == "external_id" and before[-1].help_text)):
        field = before[-1]
    if said := getattr(field, "help_text", "") or SHARED.get(name) or SHARED.get(field.name):
        return str(said)
    if field.primary_key or field.is_relation:
        return f"Number of the {(field.related_model or field.model)._meta.verbose_name}."
    raise KeyError(f"{field} has no help_text.")


def find_kind(model: type[Model], path: str, name: str) -> type:
    """The type of the cells of a column in Parquet: that of the field, or that of its name in every table."""
    *_, field = [None, *find_fields(model, path)]
    if field is not None and field.is_relation:
        field = field.target_field
    return next((kind for stored, kind in TYPES.items() if isinstance(field, stored)), KINDS.get(name, str))


def find_path(model: type[Model], name: str) -> str:
    """The path in a query for a heading: a field of this name, or the time (``withdrawn_at``), person or identifier stored under
    it. If the field leads to a row, the path to its name for people; ``coding_id`` is the id of a coding."""
    if name == f"{model._meta.model_name}_id":
        return "pk"
    for path in (f"{name}_name" if name.endswith("_by") else name, name, f"{name}_at", f"{name}_identifier"):
        if fields := find_fields(model, path):
            shown = fields[-1].related_model and NAMED_BY.get(fields[-1].related_model._meta.label_lower)
            return f"{path}__{shown}" if shown else path
    return name


def columns(
    model: type[Model], names: str, place: Paths = MappingProxyType({}), /, **paths: str | tuple[str, str]
) -> list[Column]:
    """Columns from fields of a model, each described by its declaration.

    ``names`` are the headings, separated by blanks; ``paths``, and the ``place`` of a sentence (``find_place``), give the paths
    that ``find_path`` does not find, and the meanings that are not declared.
    """
    made = []
    for name in names.split():
        path = paths.get(name) or place.get(name) or find_path(model, name)
        path, meaning = path if isinstance(path, tuple) else (path, describe(model, path, name))
        made.append(Column(name, path, meaning, find_kind(model, path, name)))
    return made


def column(name: str, source: str = "", meaning: str = "", kind: type | None = None) -> Column:
    """A column; if it has no meaning or kind of its own, those of its name apply."""
    return Column(name, source, meaning or SHARED[name], kind or KINDS.get(name, str))


def stream(rows: QuerySet[Any, Any], columns: Iterable[Column]) -> Iterator[Sequence[Any]]:
    """The rows of a query in the order of ``columns``, in constant memory."""
    return rows.values_list(*(each.source for each in columns)).iterator(chunk_size=CHUNK)


def find_places(columns: Sequence[Column], *names: str) -> list[int]:
    """The positions of these columns in a row."""
    headings = [each.name for each in columns]
    return [headings.index(name) for name in names]


def label_sentences(rows: QuerySet[Any, Any], prefix: str = "sentence__") -> Any:
    """Add ``label``, the number of the sentence as people see it: 14, or 14a for a part of the original 14."""
    number = Cast(f"{prefix}position", CharField())
    return rows.annotate(label=Concat(number, F(f"{prefix}suffix"), output_field=CharField()))


def quote_sentences(rows: QuerySet[Any, Any], prefix: str = "sentence__") -> Any:
    """Add ``quoted``, the text of the sentence, cut out by the database in code points."""
    length = F(f"{prefix}end") - F(f"{prefix}start")
    return rows.annotate(quoted=Substr(f"{prefix}turn__text", F(f"{prefix}start") + 1, length))


PLACE = "study interview turn sentence_id sentence_label"
"""The columns for the place of a sentence; their rows need ``label_sentences``, and ``text`` needs ``quote_sentences``."""


def find_place(prefix: str = "sentence__") -> dict[str, str | tuple[str, str]]:
    """The paths of ``PLACE``, and of the text and model of its sentence, for rows from which ``prefix`` leads to a sentence."""
    return {
        "study": f"{prefix}turn__interview__owning_study__slug",
        "interview": f"{prefix}turn__interview__external_id",
        "turn": f"{prefix}turn__position",
        "sentence_id": f"{prefix}pk",
        "sentence": f"{prefix}position",
        "sentence_label": "label",
        "text": "quoted",
        "model": f"{prefix}turn__interview__model_label",
        "start": f"{prefix}start",
        "end": f"{prefix}end",
    }


T = TypeVar("T", bound=Model)
TABLES = ("csv", "json", "jsonl")
"""The formats of every export that is a table."""
MAX_RUN_IN_NAME = 60
PARQUET = "parquet"
"""A further format of tables that may be long."""


class Scope(NamedTuple):
    """The rows that an export contains: all of the study, or those of one person (a blind coder's own).

    ``watch`` receives the progress and the total (0 if it is not known), and may raise to end the export. ``with_left_out``
    includes archived and excluded interviews with everything on them. ``kind`` and ``run`` (a fact about a run, such as
    ``task=files``) limit it to some interviews.
    """

    study: Study
    only: User | None
    watch: Callable[[int, int], object] = lambda _done, _total: None
    with_left_out: bool = False
    kind: str = ""
    run: str = ""
    # The reader, if she codes: codebook examples that she has yet to code are left out.
    coder: User | None = None

    @property
    def is_narrowed(self) -> bool:
        """Whether it covers only some of the interviews."""
        return bool(self.kind or self.run)

    def within(self, interview: str = "") -> Q:
        """A condition: the export contains the interview at this path from a row; "" for rows that are interviews."""
        path = f"{interview}__" if interview else ""
        narrowed = Q(**{f"{path}kind": self.kind}) if self.kind else Q()
        if self.run:
            narrowed &= Q(**{f"{path}pk__in": Interview.objects.of_run(read_fact(self.run)).values("pk")})
        if not self.with_left_out:
            return narrowed & Q(**{f"{path}study": self.study})
        return narrowed & Q(**{f"{path}owning_study": self.study}) & ~Q(**{f"{path}standing": Standing.UNDONE})

    def keep(self, rows: QuerySet[T], person: str) -> QuerySet[T]:
        """The rows that the export contains; ``person`` is the field with their owner."""
        return rows if self.only is None else rows.filter(**{person: self.only})


RowsReader = Callable[[Scope], Iterable[Sequence[object]]]
# Writes the file at a path and returns the number of its entries.
FileWriter = Callable[[Scope, Path], int]


class Export(NamedTuple):
    """An export: a table, files in special formats, or both.

    ``read_rows`` yields rows in the order of ``columns``, in constant memory; None if there is no table. ``files`` are further
    formats, or other forms of those of a table. An export with ``unblinds`` unblinds a coder to colleagues' work, and to what
    it ``also_reveals`` (machines' labels, case sheets), in the interviews that ``find_unblinded`` returns. ``count_rows``
    counts the rows of a table that may be long in advance; such a table is also offered as Parquet. ``count_long`` counts the
    text cells that are longer than a spreadsheet keeps. ``find_quoted`` returns the interviews whose words would be in the
    file. ``begin_name`` returns the required beginning of the file's name, by which other programs find it.
    """

    key: Annotated[str, "Its name in addresses."]
    name: Annotated[str, "Its name."]
    sentence: Annotated[str, "What it is."]
    row: Annotated[str, "The meaning of one row."]
    permission: Permission = Permission.EXPORT
    columns: Sequence[Column] = ()
    read_rows: RowsReader | None = None
    files: Mapping[str, FileWriter] = {}
    unblinds: Annotated[
        bool, "Whether it has others' labels: a coder can export only her own rows, or unblind on a page first."
    ] = False
    find_unblinded: Callable[[Study], Collection[int]] | None = None
    also_reveals: str = ""
    count_rows: Callable[[Scope], int] | None = None
    count_long: Callable[[Scope], int] | None = None
    is_narrowed: Annotated[
        bool, "Whether it has rows of interviews, which `kind`, `run` and `with_left_out` narrow or widen."
    ] = True
    consent: Annotated[
        str, "The scope of consent without which an interview's words are left out; empty if none is needed."
    ] = ""
    find_quoted: Callable[[Scope], Collection[int]] | None = None
    begin_name: Callable[[Scope], str] | None = None

    @property
    def header(self) -> list[str]:
        """The headings of the table."""
        return [column.name for column in self.columns]

    @property
    def formats(self) -> list[str]:
        """Every format that it has, tables first."""
        tables = TABLES if self.read_rows else ()
        return list(dict.fromkeys([*tables, *([PARQUET] if self.read_rows and self.count_rows else []), *self.files]))


def name_file(export: Export, scope: Scope, format: str) -> str:
    """The name of an export's file, which states its filters."""
    parts = [scope.study.slug, export.key]
    if export.is_narrowed:
        parts += [scope.kind, slugify(scope.run.replace("=", " "), allow_unicode=True)[:MAX_RUN_IN_NAME]]
        parts += ["with-left-out" if scope.with_left_out else ""]
    parts += ["own-rows" if export.unblinds and scope.only is not None else ""]
    beginning = export.begin_name(scope) if export.begin_name else ""
    return f"{beginning}{'-'.join(filter(None, parts))}.{format}"


def count_without_consent(export: Export, scope: Scope) -> int:
    """The number of interviews whose words an export leaves out because the required consent is missing."""
    if export.find_quoted is None:
        return 0
    quoted = set(export.find_quoted(scope))
    return len(quoted - list_consenting(quoted, export.consent))


def say_without_consent(export: Export, number: int) -> str:
    """A sentence about the interviews whose words are left out; empty if there are none."""
    if not number:
        return ""
    scope = Consent.Scope(export.consent).label
    return f"The words of {number:,} interview{'' if number == 1 else 's'} are left out: consent to “{scope}” is not given."


_exports: dict[str, Export] = {}


def register_export(export: Export) -> None:
    """Register an export. Called once, in an app's ``registrations``."""
    _exports[export.key] = export


def list_exports() -> list[Export]:
    """Every export, in the order of registration."""
    load_registrations()
    return list(_exports.values())


WANTED_MOST = ("codings", "codebook", "qdpx")
USES = (
    ("Texts", ("interviews", "turns", "sentences", "texts", "trajectories", "inspect_log", "scripts", "sessions")),
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
    ("Methods and record", ("methods", "dictionary", "method_choices", "consents", "audit")),
)
"""The uses of exports, by key. Those of other rooms, and any without an entry, are about models."""


def group_exports(exports: Sequence[Export]) -> list[tuple[str, list[Export]]]:
    """These exports under headings by use, the most common first; empty headings are left out."""
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
    """The use of one machine in a study. ``is_invented``: its answers come from the program's own fake provider.

    ``reads_by`` says how it annotates if no ``model`` is used.
    """

    name: str
    model: str
    is_invented: bool
    codebook_version: int
    suggestions: int
    answered: int
    accepted: int
    reads_by: str = ""


_machine_uses: list[Callable[[Study], list[MachineUse]]] = []


_machine_notes: list[tuple[str, Callable[[Study], dict[str, Any]]]] = []


def register_machines(
    *,
    uses: Callable[[Study], list[MachineUse]] | None = None,
    template: str = "",
    notes: Callable[[Study], dict[str, Any]] | None = None,
) -> None:
    """Register the use of machines for the methods paragraph: each machine, and a ``template`` with its ``notes``, sentences about
    all of them. Called once, in a room's ``registrations``."""
    _machine_uses.extend([uses] if uses else [])
    _machine_notes.extend([(template, notes)] if notes else [])


def list_machine_notes(study: Study) -> list[tuple[str, dict[str, Any]]]:
    """The templates and their ``notes``, on what people saw of machines' work, and when."""
    load_registrations()
    return [(template, notes) for template, read in _machine_notes if (notes := read(study))]


def list_machine_uses(study: Study) -> list[MachineUse]:
    """Every machine that took part in a study."""
    load_registrations()
    return [use for read in _machine_uses for use in read(study)]
