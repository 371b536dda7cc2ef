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
# What is no field of a model, or means the same in every model, by the name of the column or of the field.
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

# The types of the fields whose cells are not text in Parquet, and of columns that are no fields.
TYPES: dict[type, type] = {
    models.IntegerField: int,
    models.BooleanField: bool,
    models.FloatField: float,
    models.DateTimeField: datetime,
}
KINDS: dict[str, type] = {"explained": bool, "holds": bool, "saw_reasoning": bool}
# The field that people know a row by, of a model that columns lead to.
NAMED_BY = {"accounts.user": "username", "studies.study": "slug", "corpus.interview": "external_id"}
Paths = Mapping[str, str | tuple[str, str]]


class Column(NamedTuple):
    """A column of an export. ``source`` is where a query finds it, empty where the rows are not read by a query. ``kind`` is the
    type of its cells in Parquet; lists and mappings are text there, as JSON."""

    name: Annotated[str, "Its heading."]
    source: str
    meaning: Annotated[str, "What it means, as the data dictionary says it; may be empty."]
    kind: type = str


def find_fields(model: type[Model], path: str) -> list[Any]:
    """The fields of models along a path such as ``sentence__turn``; none where it does not lead to a field."""
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
    """What is said of a field where it is declared, in its model. A person's name is described by the field that leads to her,
    and so is the id of an interview, where that field says which one it is.

    What is called alike everywhere is in ``SHARED``, by the name of its column or of its field. Raises ``KeyError`` for
    what nobody has described.
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
    """The type of the cells of a column in Parquet: that of the field, or of what is called so in every table."""
    *_, field = [None, *find_fields(model, path)]
    if field is not None and field.is_relation:
        field = field.target_field
    return next((kind for stored, kind in TYPES.items() if isinstance(field, stored)), KINDS.get(name, str))


def find_path(model: type[Model], name: str) -> str:
    """Where a query finds what a heading names: a field of this name, or the time (``withdrawn_at``), the person or the identifier
    that is stored under it. Of a row that the field leads to, its name for people; ``coding_id`` is the number of a coding."""
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
    """Columns with fields of a model, each described where it is declared.

    ``names`` are the headings, divided by blanks; ``paths``, and the ``place`` of a sentence (``find_place``), say where a query
    finds those that ``find_path`` does not, and what those mean that nobody describes.
    """
    made = []
    for name in names.split():
        path = paths.get(name) or place.get(name) or find_path(model, name)
        path, meaning = path if isinstance(path, tuple) else (path, describe(model, path, name))
        made.append(Column(name, path, meaning, find_kind(model, path, name)))
    return made


def column(name: str, source: str = "", meaning: str = "", kind: type | None = None) -> Column:
    """A column; one without a meaning or a kind of its own has those that its name has everywhere."""
    return Column(name, source, meaning or SHARED[name], kind or KINDS.get(name, str))


def stream(rows: QuerySet[Any, Any], columns: Iterable[Column]) -> Iterator[Sequence[Any]]:
    """The rows of a query in the order of ``columns``, in constant memory."""
    return rows.values_list(*(each.source for each in columns)).iterator(chunk_size=CHUNK)


def find_places(columns: Sequence[Column], *names: str) -> list[int]:
    """At which places in a row these columns are."""
    headings = [each.name for each in columns]
    return [headings.index(name) for name in names]


def label_sentences(rows: QuerySet[Any, Any], prefix: str = "sentence__") -> Any:
    """With ``label``, the number of the sentence as people see it: 14, or 14a for a piece of what was 14."""
    number = Cast(f"{prefix}position", CharField())
    return rows.annotate(label=Concat(number, F(f"{prefix}suffix"), output_field=CharField()))


def quote_sentences(rows: QuerySet[Any, Any], prefix: str = "sentence__") -> Any:
    """With ``quoted``, the text of the sentence. It is cut by the database, in code points."""
    length = F(f"{prefix}end") - F(f"{prefix}start")
    return rows.annotate(quoted=Substr(f"{prefix}turn__text", F(f"{prefix}start") + 1, length))


PLACE = "study interview turn sentence_id sentence_label"
"""The columns that say where a sentence lies; their rows need ``label_sentences``, and ``text`` needs ``quote_sentences``."""


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
"""A further one of those that may be long."""


class Scope(NamedTuple):
    """Whose rows an export holds: all of the study, or those of one person (a blind coder's own).

    ``watch`` is told how far the writing is: of so many, 0 where nobody knows. It may raise to end it.
    ``with_left_out``: archived and excluded interviews, too, with what is on them. ``kind`` and ``run`` (a fact of a run, as
    ``task=files``) narrow it to some interviews.
    """

    study: Study
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
            return narrowed & Q(**{f"{path}study": self.study})
        return narrowed & Q(**{f"{path}owning_study": self.study}) & ~Q(**{f"{path}standing": Standing.UNDONE})

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
    ``count_rows`` says beforehand how long a table is that may be long; it is offered as Parquet too. ``count_long`` counts the
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
    find_unblinded: Callable[[Study], Collection[int]] | None = None
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
        """Every format that it has, tables first."""
        tables = TABLES if self.read_rows else ()
        return list(dict.fromkeys([*tables, *([PARQUET] if self.read_rows and self.count_rows else []), *self.files]))


def name_file(export: Export, scope: Scope, format: str) -> str:
    """The name of a file of an export: it says what the file was narrowed to."""
    parts = [scope.study.slug, export.key]
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
    """Say in the methods paragraph where machines took part: each machine, and a ``template`` with its ``notes``, sentences
    about all of them together. Called once, in a room's ``registrations``."""
    _machine_uses.extend([uses] if uses else [])
    _machine_notes.extend([(template, notes)] if notes else [])


def list_machine_notes(study: Study) -> list[tuple[str, dict[str, Any]]]:
    """The templates and their ``notes``: what people saw of machines' work, and when."""
    load_registrations()
    return [(template, notes) for template, read in _machine_notes if (notes := read(study))]


def list_machine_uses(study: Study) -> list[MachineUse]:
    """Every machine that took part in a study."""
    load_registrations()
    return [use for read in _machine_uses for use in read(study)]
