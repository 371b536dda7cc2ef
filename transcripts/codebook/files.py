"""A version of the codebook in the form of the file formats, and reading a file in any of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from transcripts.accounts.models import User
from transcripts.codebook.models import CodebookVersion, CodeExample
from transcripts.codebook.pure.checking import clean_name, clean_names, clean_text, order_as_tree
from transcripts.codebook.pure.editing import MAX_STEM_LENGTH, find_prefix, make_identifier
from transcripts.codebook.queries import EXAMPLE_TEXT, read_content
from transcripts.formats.codebook_csv import FAMILY_RULES, CodeRow, find_family, fold_name, read_codebook
from transcripts.formats.codebook_json import read_codebook_json
from transcripts.formats.codebook_rules import CodebookContent, CodeContent, FamilyContent
from transcripts.formats.codebook_rules import CodeExample as FileExample
from transcripts.formats.problems import show_count
from transcripts.formats.refi import QdcCode, make_guid, read_description, read_qdc

ALL_OF_A_CODE = frozenset(CodeContent.__dataclass_fields__)
ALL_OF_A_FAMILY = frozenset(FamilyContent.__dataclass_fields__)
# What no column of a table says.
NOT_IN_A_TABLE = frozenset({"is_category"})
# What a table says nothing about is filled in with what is known, family by family.
IN_A_TABLE = frozenset({"identifier", "name", "unit", *FAMILY_RULES})
IN_A_QDC_CODE = frozenset(
    {"identifier", "family", "parent", "name", "definition", "include", "exclude", "color", "is_category"}
)
IN_A_QDC_FAMILY = frozenset({"identifier", "name", "description", "rules", "color"})
IMPORTED = FamilyContent(identifier="imported", name="Imported")
GUID_DIGITS = 8

Thing = TypeVar("Thing", CodeContent, FamilyContent)


class FileContent(NamedTuple):
    """The content of a file. ``fields`` and ``family_fields`` are those the file has; others keep their values."""

    form: str
    content: CodebookContent
    fields: frozenset[str]
    family_fields: frozenset[str]
    warnings: tuple[str, ...] = ()


def read_version(version: CodebookVersion, *, coder: User | None = None) -> CodebookContent:
    """Everything in a version, with its examples as text: three queries. ``coder``: the reader, if she codes; sentences that she
    has yet to code are left out."""
    return replace(
        read_content(version),
        title=version.title,
        origin=version.origin,
        number=version.number,
        examples=tuple(_read_examples(version, coder)),
    )


def _read_examples(version: CodebookVersion, coder: User | None) -> Iterator[FileExample]:
    rows = CodeExample.objects.shown(coder=coder).filter(code__version=version).annotate(text=EXAMPLE_TEXT)
    columns = ("code__identifier", "kind", "text", "note", "sentence__turn__interview__external_id")
    for code, kind, quote, note, interview, position in rows.order_by(
        "code__family__position", "code__position", "-kind", "pk"
    ).values_list(*columns, "sentence__position"):
        yield FileExample(code=code, kind=kind, quote=quote, note=note, interview=interview or "", sentence=position)


def make_rows(content: CodebookContent) -> Iterator[CodeRow]:
    """The codes as rows of a table."""
    families = {family.identifier: family for family in content.families}
    for code in content.codes:
        family = families[code.family]
        names = ALL_OF_A_CODE - NOT_IN_A_TABLE - {"identifier", "family"}
        yield CodeRow(
            code_id=code.identifier,
            family=family.identifier,
            family_name=family.name,
            unit=family.unit,
            version=content.number,
            **{name: getattr(code, name) for name in names},
            **{rule: getattr(family, rule) for rule in FAMILY_RULES},
        )


def read_file(data: bytes, *, name: str, scope: str, known: CodebookContent, used: Iterable[str]) -> FileContent:
    """Read a file in any of the three formats, which its beginning shows.

    ``scope`` is the address of the study, ``known`` its latest version, ``used`` all identifiers it ever had. Raises
    ``CodebookFileError``.
    """
    start = data[:200].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"{", b"[")):
        return _read_json(data, name)
    if start.startswith(b"<") or data.startswith((b"\xff\xfe<", b"\xfe\xff\0<")):
        return _read_qdc(data, name, scope, known, used)
    return _read_table(data, name, known, used)


def _read_json(data: bytes, name: str) -> FileContent:
    content = _clean(read_codebook_json(data, name=name))
    return FileContent("json", content, ALL_OF_A_CODE, ALL_OF_A_FAMILY)


def _read_table(data: bytes, name: str, known: CodebookContent, used: Iterable[str]) -> FileContent:
    """The families of the rows, in order of first appearance, and the codes by family."""
    table = read_codebook(data, name=name)
    places = _Places(table.codes, known, used)
    codes = []
    for row in table.codes:
        names = ALL_OF_A_CODE - NOT_IN_A_TABLE - {"identifier", "family", "parent"}
        values = {field: getattr(row, field) for field in names}
        family = places.find_family(row).identifier
        codes.append(
            CodeContent(identifier=places.find_code(row), family=family, parent=places.find_parent(row), **values)
        )
    families = {each.identifier: each for each in map(places.find_family, table.codes)}
    content = CodebookContent(families=tuple(families.values()), codes=tuple(codes))
    fields = (ALL_OF_A_CODE - NOT_IN_A_TABLE) & {"identifier", "family", *table.columns}
    return FileContent("csv", _clean(content), fields, IN_A_TABLE, table.warnings)


class _Places:
    """The identifiers and families of the rows of a table. What the table does not say about a family is taken from the known
    version.

    A code or family without an identifier is the known one with that name; a new one gets an identifier made from its name.
    """

    def __init__(self, rows: Iterable[CodeRow], known: CodebookContent, used: Iterable[str]) -> None:
        rows = list(rows)
        self.known = known
        self.families: dict[str, FamilyContent] = {}
        self.codes: dict[tuple[str, str], str] = {}
        self.given = {row.code_id for row in rows if row.code_id}
        self.taken = {*used, *(code.identifier for code in known.codes), *self.given}
        self.known_codes: dict[str, list[CodeContent]] = {}
        for code in known.codes:
            self.known_codes.setdefault(fold_name(code.name), []).append(code)
        of_family: dict[str, list[CodeRow]] = {}
        for row in rows:
            of_family.setdefault(self._name_family(row), []).append(row)
        for key, some in of_family.items():
            self.families[key] = self._settle_family(some)
        for row in rows:
            self.codes[self._name_code(row)] = row.code_id or self._settle_code(row)

    def find_family(self, row: CodeRow) -> FamilyContent:
        return self.families[self._name_family(row)]

    def find_code(self, row: CodeRow) -> str:
        return row.code_id or self.codes[self._name_code(row)]

    def find_parent(self, row: CodeRow) -> str:
        named = (self._name_family(row), fold_name(row.parent))
        return row.parent if row.parent in self.given else self.codes.get(named, row.parent)

    def _name_code(self, row: CodeRow) -> tuple[str, str]:
        return self._name_family(row), fold_name(row.name)

    def _name_family(self, row: CodeRow) -> str:
        """The family named in the file; for a row without one, the family of the only known code with its name."""
        if named := find_family(row):
            return named
        same = self._list_same(row)
        return fold_name(same[0].family) if len(same) == 1 else ""

    def _list_same(self, row: CodeRow) -> list[CodeContent]:
        """The known codes that the row may mean: the one with its identifier, or else those with its name that no row
        identifies."""
        if row.code_id:
            return [code for code in self.known.codes if code.identifier == row.code_id]
        return [code for code in self.known_codes.get(fold_name(row.name), []) if code.identifier not in self.given]

    def _settle_family(self, rows: list[CodeRow]) -> FamilyContent:
        said: dict[str, Any] = {
            column: next((value for row in rows if (value := getattr(row, column)) not in {None, ""}), None)
            for column in ("unit", *FAMILY_RULES)
        }
        name = clean_name(next((row.family_name for row in rows if row.family_name.strip()), ""))
        before = self._find_known_family(rows[0], name)
        if before is None:
            unit = str(said["unit"] or "sentence")
            spelled = name or rows[0].family
            given = rows[0].family if rows[0].family and name else ""
            others = [family.identifier for family in (*self.known.families, *self.families.values())]
            identifier = given or (make_identifier(spelled, prefix="", used=others) if spelled else IMPORTED.identifier)
            before = FamilyContent(
                identifier=identifier,
                name=spelled or IMPORTED.name,
                unit=unit,
                carries_level=unit == "sentence",
            )
        values = {column: value for column, value in said.items() if value is not None}
        return replace(before, **values | ({"name": name} if name else {}))

    def _find_known_family(self, row: CodeRow, name: str) -> FamilyContent | None:
        by_identifier = {family.identifier: family for family in self.known.families}
        if row.family and (found := by_identifier.get(row.family)):
            return found
        if row.family and name:
            return None
        if not row.family and not name:
            same = self._list_same(row)
            return by_identifier[same[0].family] if len(same) == 1 else by_identifier.get(IMPORTED.identifier)
        wanted = fold_name(name or row.family)
        return next((family for family in self.known.families if fold_name(family.name) == wanted), None)

    def _settle_code(self, row: CodeRow) -> str:
        family = self.find_family(row).identifier
        for code in self._list_same(row):
            if code.family == family:
                return code.identifier
        found = make_identifier(row.name, prefix=find_prefix(family, self.known.codes), used=self.taken)
        self.taken.add(found)
        return found


def _read_qdc(data: bytes, name: str, scope: str, known: CodebookContent, used: Iterable[str]) -> FileContent:
    """Read a tree of codes: an entry at the top that is not codable is a family; everything else is a code or a category of
    one."""
    codes, sets, warnings = read_qdc(data, name=name)
    tree = _Tree(_Identifiers(scope, known, used))
    for code in codes:
        tree.add(code)
    left_out = [f"Left out: {show_count(len(sets), 'set of codes')}."] if sets else []
    return FileContent("qdc", tree.finish(), IN_A_QDC_CODE, IN_A_QDC_FAMILY, (*warnings, *left_out))


class _Tree:
    """The families, codes and examples of a REFI-QDA codebook, each under its GUID."""

    def __init__(self, identifiers: _Identifiers) -> None:
        self.identifiers = identifiers
        self.families: dict[str, FamilyContent] = {}
        self.codes: dict[str, CodeContent] = {}
        self.examples: list[FileExample] = []

    def add(self, code: QdcCode) -> None:
        """Add a code; its parent was added before it."""
        parts = read_description(code.description)
        if not code.parent_guid and not code.is_codable:
            self.families[code.guid] = FamilyContent(
                identifier=self.identifiers.find_family(code),
                name=code.name,
                description=clean_text(parts.definition),
                rules=clean_text(parts.rules),
                color=code.color,
            )
            return
        above = self.codes.get(code.parent_guid)
        family = above.family if above else self.families.get(code.parent_guid, IMPORTED).identifier
        identifier = self.identifiers.find_code(code, family)
        self.codes[code.guid] = CodeContent(
            identifier=identifier,
            family=family,
            parent=above.identifier if above else "",
            name=code.name,
            color=code.color,
            is_category=not code.is_codable,
            definition=clean_text(parts.definition),
            include=clean_text(parts.include),
            exclude=clean_text(parts.exclude),
        )
        self.examples += [replace(example, code=identifier) for example in parts.examples]

    def finish(self) -> CodebookContent:
        """The complete content; codes at the top get a family of their own."""
        loose = any(code.family == IMPORTED.identifier for code in self.codes.values())
        families = (*self.families.values(), *([IMPORTED] if loose else []))
        return _clean(
            CodebookContent(families=families, codes=tuple(self.codes.values()), examples=tuple(self.examples))
        )


class _Identifiers:
    """Finds or makes the identifiers of the families and codes of one file.

    Our own are recognised by their GUIDs. A code of another program gets an identifier made from its name and the beginning of
    its GUID, so that it is recognised later under another name.
    """

    def __init__(self, scope: str, known: CodebookContent, used: Iterable[str]) -> None:
        self.used = {*used, *(code.identifier for code in known.codes)}
        self.code_of = {make_guid("code", scope, identifier): identifier for identifier in self.used}
        self.family_of = {make_guid("family", scope, family.identifier): family.identifier for family in known.families}
        self.tail_of = {identifier[-GUID_DIGITS - 1 :]: identifier for identifier in sorted(self.used)}
        self.taken = {IMPORTED.identifier}

    def find_code(self, code: QdcCode, family: str) -> str:
        """The identifier of a code, unique among the codes of the file."""
        tail = f"_{code.guid[:GUID_DIGITS]}"
        found = self.code_of.get(code.guid) or self.tail_of.get(tail)
        if found is None or found in self.taken:
            stem = make_identifier(code.name, prefix=f"{family[:40]}.", used=())
            found = self._number(stem[: MAX_STEM_LENGTH - len(tail)], tail)
        self.taken.add(found)
        return found

    def find_family(self, family: QdcCode) -> str:
        """The identifier of a family, unique among the families of the file."""
        found = self.family_of.get(family.guid)
        if found is None or found in self.taken:
            found = make_identifier(family.name, prefix="", used=self.taken)
        self.taken.add(found)
        return found

    def _number(self, stem: str, tail: str) -> str:
        found, number = f"{stem}{tail}", 1
        while found in self.used or found in self.taken:
            number += 1
            found = f"{stem}_{number}{tail}"
        return found


def _clean(content: CodebookContent) -> CodebookContent:
    """Colours, names and texts in the form in which they are stored."""
    codes = tuple(
        replace(
            code,
            name=clean_name(code.name),
            aliases=clean_names(code.aliases),
            terms=clean_names(code.terms),
            keyword_rules=clean_names(code.keyword_rules),
        )
        for code in content.codes
    )
    families = tuple(replace(family, name=clean_name(family.name)) for family in content.families)
    return replace(content, codes=codes, families=families)


def fill_in(file: FileContent, known: CodebookContent, *, keep_missing: bool = False) -> CodebookContent:
    """The content of the next version: that of the file, completed from the known version."""
    codes = {code.identifier: code for code in known.codes}
    families = {family.identifier: family for family in known.families}
    silent, silent_of_families = ALL_OF_A_CODE - file.fields, ALL_OF_A_FAMILY - file.family_fields
    next_codes = [_keep(code, codes, silent) for code in file.content.codes]
    next_families = [_keep(family, families, silent_of_families) for family in file.content.families]
    if keep_missing:
        there = {code.identifier for code in next_codes}
        next_codes += [code for code in known.codes if code.identifier not in there]
        there = {family.identifier for family in next_families}
        next_families += [family for family in known.families if family.identifier not in there]
    return CodebookContent(families=tuple(next_families), codes=order_as_tree(next_codes, next_families))


def _keep(thing: Thing, known: Mapping[str, Thing], silent: frozenset[str]) -> Thing:
    before = known.get(thing.identifier)
    return thing if before is None else replace(thing, **{name: getattr(before, name) for name in silent})
