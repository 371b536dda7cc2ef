"""The codebook as CSV: what goes out comes back, and a file that is wrong is refused whole."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcripts.codebook.pure.seed import load_seed
from transcripts.formats.codebook_csv import (
    COLUMNS,
    FLAGS,
    RESERVED_KEYS,
    SINGLE_KEYS,
    UNITS,
    CodebookFileError,
    CodeRow,
    read_codebook,
    write_codebook,
)
from transcripts.formats.codebook_rules import SIDES, CodeAttribute, find_columns
from transcripts.formats.text_input import MAX_CELL_LENGTH

FILES = Path(__file__).resolve().parents[2] / "data" / "codebook"
PLAIN = CodeRow(code_id="tone.hedge", family="tone", family_name="Tone", name="Hedge", key="h")

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
free_text = st.text(characters, max_size=30) | st.text(st.sampled_from("=+-@ \t\r\n'\",;|\\[]＝ab"), max_size=8)
names = free_text.filter(lambda text: text.strip() != "")
name_lists = st.lists(names.map(str.strip), max_size=3).map(tuple)
colors = st.from_regex(r"(#[0-9a-f]{6})?", fullmatch=True)
texts_asked_for = st.builds(CodeAttribute, key=st.just("why"), label=names)
choices_asked_for = st.builds(
    CodeAttribute,
    key=st.just("how"),
    label=names,
    kind=st.just("choice"),
    choices=st.lists(names, min_size=1, max_size=3, unique=True).map(tuple),
)
attributes = st.sets(texts_asked_for | choices_asked_for, max_size=1).map(tuple)


def export(*codes):
    stream = io.StringIO(newline="")
    assert write_codebook(codes, stream) == len(codes)
    return stream.getvalue().encode()


def refuse(data, name="codes.csv"):
    with pytest.raises(CodebookFileError) as caught:
        read_codebook(data, name=name)
    return caught.value


def make_row(**cells):
    """A file of one code, some of its cells as given; a cell named nowhere in the columns makes a column."""
    row = {"code_id": "a", "family": "f", "family_name": "F", "name": "A", "unit": "sentence", **cells}
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, [*COLUMNS, *(name for name in cells if name not in COLUMNS)])
    writer.writeheader()
    writer.writerow(row)
    return stream.getvalue().encode()


@st.composite
def codebooks(draw):
    ids = draw(
        st.lists(st.from_regex(r"[a-z0-9][a-z0-9_.:/-]{0,8}", fullmatch=True), min_size=1, max_size=6, unique=True)
    )
    keys = draw(st.permutations(sorted(SINGLE_KEYS)))
    families = {family: (draw(names), draw(st.sampled_from(UNITS))) for family in ("one", "two")}
    flags = {family: {flag: draw(st.booleans()) for flag in FLAGS} for family in families}
    for family, rules in flags.items():
        rules["applies_to"] = draw(st.sampled_from(SIDES if families[family][1] != "interview" else ["any"]))
    codes = []
    for code_id, key in zip(ids, keys, strict=False):
        family = draw(st.sampled_from(sorted(families)))
        texts = {name: draw(free_text) for name in ("definition", "machine_definition", "include", "exclude")}
        above = [code.code_id for code in codes if code.family == family]
        codes.append(
            CodeRow(
                code_id=code_id,
                family=family,
                family_name=families[family][0],
                unit=families[family][1],
                name=draw(names),
                key=draw(st.sampled_from(["", key])),
                group=draw(free_text),
                aliases=draw(name_lists),
                terms=draw(name_lists),
                keyword_rules=draw(name_lists),
                parent=draw(st.sampled_from(["", *above])),
                color=draw(colors),
                attributes=draw(attributes),
                source=draw(free_text),
                version=draw(st.none() | st.integers(0, 999_999_999)),
                **texts,
                **flags[family],
            )
        )
    return codes


@given(codebooks())
def test_importing_an_export_gives_back_every_code(codes):
    assert read_codebook(export(*codes), name="codes.csv").codes == codes


def test_the_seeded_codebook_comes_back_unchanged():
    seed = load_seed()
    codes = [
        CodeRow(
            code_id=code.id,
            family=family.id,
            family_name=family.name,
            unit=family.unit,
            version=1,
            **{
                name: getattr(code, name)
                for name in (
                    "name",
                    "definition",
                    "machine_definition",
                    "include",
                    "exclude",
                    "key",
                    "group",
                    "aliases",
                    "source",
                )
            },
        )
        for family in seed.families
        for code in family.codes
    ]

    assert read_codebook(export(*codes), name="codes.csv").codes == codes


def test_a_written_file_has_the_documented_columns_and_no_formula():
    data = (FILES / "two_codes_in_full.csv").read_text("utf-8")
    rows = list(csv.reader(io.StringIO(data, newline="")))

    assert rows[0] == list(COLUMNS)
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert all(COLUMNS.values())


def test_a_file_without_the_later_columns_reads_as_the_codes_it_was_made_of():
    hedge, shout = read_codebook((FILES / "two_codes.csv").read_bytes(), name="two_codes.csv").codes

    assert (hedge.exclude, hedge.aliases, hedge.version) == ("- thanks\n- greetings", ("Limit", "Yes | no"), 3)
    assert (shout.name, shout.definition, shout.key) == ("=Shout!", "@all, in capitals", "")
    assert (hedge.parent, hedge.color, hedge.terms, hedge.attributes, hedge.keyword_rules) == ("", "", (), (), ())


def test_a_kept_file_with_all_columns_comes_back_byte_for_byte():
    data = (FILES / "two_codes_in_full.csv").read_bytes()
    hedge, shout = read_codebook(data, name="two_codes_in_full.csv").codes

    assert (hedge.color, hedge.terms, shout.parent) == ("#3355aa", ("perhaps", "some | many"), "tone.hedge")
    assert hedge.keyword_rules == ("perhaps", "“as far as I know”", "may* & think - must")
    assert hedge.attributes == (
        CodeAttribute(key="strength", label="How strong?", kind="choice", choices=("weak", "strong")),
        CodeAttribute(key="why", label="Why “so”?"),
    )
    assert (hedge.applies_to, shout.applies_to) == ("model", "model")
    assert export(hedge, shout) == data


def test_a_parent_may_come_after_its_code_and_a_colour_in_capitals():
    low = replace(PLAIN, code_id="low", parent="high", key="", color="#AABBCC")
    high = replace(PLAIN, code_id="high")

    assert read_codebook(export(low, high), name="codes.csv").codes == [replace(low, color="#aabbcc"), high]


def test_parents_that_cannot_be_are_named():
    other = replace(PLAIN, code_id="other", family="voice", family_name="Voice", key="")
    codes = [
        replace(PLAIN, code_id=code_id, parent=parent, key="")
        for code_id, parent in [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "nobody"), ("f", "other")]
    ]
    error = refuse(export(*codes, other))

    assert [(problem.row, problem.found) for problem in error.problems] == [
        (2, "the parent “b”, which is below “a” itself"),
        (6, "the parent “nobody”, which is no code_id here"),
        (7, "the parent “other”, a code of the family “voice”"),
    ]


def test_codes_nested_too_deep_are_named_once():
    chain = [replace(PLAIN, code_id=f"c{n}", parent=f"c{n - 1}" if n else "", key="") for n in range(60)]
    error = refuse(export(*chain))

    assert (error.total, error.row, error.found) == (1, 52, "a code nested more than 50 deep")


def test_a_parent_whose_row_is_wrong_is_not_called_unknown():
    error = refuse(export(replace(PLAIN, color="red"), replace(PLAIN, code_id="low", parent="tone.hedge", key="")))

    assert [(problem.row, problem.found) for problem in error.problems] == [(2, "the color “red”")]


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("{}", "attributes that are not such a list"),
        ("why?", "attributes that are not JSON"),
        ("[" * 100_000, "attributes that are not JSON"),
        ("[1]", "attribute 1 of another form"),
        ('[{"key": "why", "label": "Why?", "kind": "number"}]', "attribute 1 of another form"),
        ('[{"key": "why", "label": "Why?", "kind": "text", "hint": ""}]', "attribute 1 of another form"),
        ('[{"key": "why", "label": "\\ud800", "kind": "text"}]', "attribute 1 of another form"),
        ('[{"key": "why", "label": "", "kind": "text"}]', "an empty attribute label 1"),
        ('[{"key": "how", "label": "How?", "kind": "choice"}]', "attribute 1 with 0 choices"),
        ('[{"key": "how", "label": "How?", "kind": "text", "choices": ["a"]}]', "attribute 1 with 1 choice"),
        (
            '[{"key": "how", "label": "How?", "kind": "choice", "choices": ["a", "a"]}]',
            "a choice of attribute 1 once more",
        ),
        (
            '[{"key": "why", "label": "Why?", "kind": "text"}, {"key": "why", "label": "?", "kind": "text"}]',
            "the attribute key “why” once more",
        ),
    ],
)
def test_attributes_out_of_form_are_named(cell, found):
    error = refuse(make_row(attributes=cell))

    assert (error.row, error.found, error.total) == (2, found, 1)


def test_byte_order_mark_column_order_and_empty_rows_do_not_matter():
    rows = list(csv.reader(io.StringIO(export(PLAIN).decode(), newline="")))
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([*(row[::-1] for row in rows), [""] * len(COLUMNS), []])

    assert read_codebook(b"\xef\xbb\xbf" + stream.getvalue().encode(), name="codes.csv").codes == [PLAIN]


def test_a_backslash_that_escapes_nothing_stays():
    (code,) = read_codebook(make_row(aliases=r"a\b | c\|d |  | e\\"), name="codes.csv").codes

    assert code.aliases == ("a\\b", "c|d", "e\\")


@pytest.mark.parametrize(
    ("cell", "aliases"),
    [
        ('["Limit","Yes | no"]', ("Limit", "Yes | no")),
        ("[]", ()),
        ("[sic] | b", ("[sic]", "b")),
        ("[1]", ("[1]",)),
        ('["\\ud800"]', ('["\\ud800"]',)),
    ],
)
def test_aliases_may_be_a_json_list_as_other_tables_hold_it(cell, aliases):
    (code,) = read_codebook(make_row(aliases=cell), name="codes.csv").codes

    assert code.aliases == aliases
    assert read_codebook(export(code), name="codes.csv").codes == [code]


def test_all_problems_of_a_file_are_listed_with_their_rows():
    error = refuse((FILES / "many_problems.csv").read_bytes(), "many_problems.csv")

    assert [(problem.row, problem.found) for problem in error.problems] == [
        (3, "the code_id “Tone.Hedge”, which row 2 has as “tone.hedge”"),
        (4, "the key “h”, which row 2 has too"),
        (5, "the key “m”"),
        (6, "the key “Q”"),
        (7, "the unit “page”"),
        (8, "an empty name"),
        (9, "the family_name “Voice” in the family “tone”"),
        (9, "the unit “turn” in the family “tone”"),
        (10, "16 cells"),
        (11, "the code_id “two words”"),
        (11, "the version “v1”"),
    ]
    assert str(error).startswith("many_problems.csv: 11 problems, nothing was imported.\nrow 3: found the code_id")
    assert (error.file, error.row, error.expected) == (
        "many_problems.csv",
        3,
        "each code_id once, whatever its case",
    )


def test_only_the_first_twenty_problems_are_listed():
    error = refuse(export(*(replace(PLAIN, code_id=f"tone.{number}") for number in range(30))))

    assert (len(error.problems), error.total) == (20, 29)
    assert str(error).endswith("… and 9 more.")


@pytest.mark.parametrize("key", sorted(RESERVED_KEYS))
def test_keys_the_desk_needs_itself_are_refused(key):
    assert f"the desk uses {' '.join(sorted(RESERVED_KEYS))} itself" in refuse(make_row(key=key)).expected


@pytest.mark.parametrize("key", ["Enter", "/", ".", "?", "B", "bb", "é", "²", " "])
def test_keys_that_are_no_single_letter_or_digit_are_refused(key):
    error = refuse(make_row(key=key))

    assert (error.row, error.expected) == (2, "one of a-z (lower case) or 0-9, or nothing")


def test_a_table_without_a_column_of_names_is_refused_with_its_columns():
    error = refuse("Nummer;Familie;Länge\n1;Ton;12\n".encode())

    assert [(problem.row, problem.found) for problem in error.problems] == [
        (1, "the columns “Nummer”, “Familie”, “Länge”")
    ]
    assert error.expected == "a column with the names of the codes, headed “name” or “code”"
    assert str(error).endswith(
        "Columns of the file, and what they were read as: “Nummer” (not read), “Familie” (family), “Länge” (not read)."
    )


def test_two_columns_of_one_kind_are_named_and_rows_are_checked_too():
    error = refuse(b"name,definition,Meaning,key\nHedge,a,b,QQ\n")

    assert [(problem.row, problem.found) for problem in error.problems] == [
        (1, "the columns “definition” and “Meaning”, each of which is “definition”"),
        (2, "the key “QQ”"),
    ]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_list_made_in_a_spreadsheet_is_read(separator, encoding):
    rows = [
        ["Code", "Familie", "Bedeutung"],
        ["Häusliches", "Haus und Hof", "was, wem; gehört|"],
        ["Zweifel", "Haus und Hof"],
    ]
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=separator).writerows(rows)
    table = read_codebook(stream.getvalue().encode(encoding), name="codes.csv")

    assert [(code.name, code.family, code.family_name, code.definition) for code in table.codes] == [
        ("Häusliches", "", "Haus und Hof", "was, wem; gehört|"),
        ("Zweifel", "", "Haus und Hof", ""),
    ]
    assert table.columns == {"name", "family", "definition"}
    assert [warning.partition(" Check words such as “Häusliches”")[1] != "" for warning in table.warnings] == (
        [True] if encoding == "cp1252" else []
    )


def test_the_line_in_which_a_spreadsheet_names_its_separator_is_no_row():
    assert [code.name for code in read_codebook(b"sep=;\r\nname;key\r\nHedge;h\r\n", name="x.csv").codes] == ["Hedge"]


@pytest.mark.parametrize(
    ("headings", "read_as"),
    [
        ("Name,Description", "name definition"),
        ("Code,Name,Family,Definition", "code_id name family definition"),
        ("Code ID,Code,Family name,When to use", "code_id name family_name include"),
        ("Code,Définition,Famille", "name definition family"),
        ("Naam,Omschrijving", "name definition"),
        ("Código,Definición", "name definition"),
        ("Codice,Descrizione,Colore", "name definition color"),
        ("Nome,Família,Descrição", "name family definition"),
        ("Bezeichnung,Beschreibung,Taste", "name definition key"),
        ("Category,Description", "name definition"),
        ("Theme,Code,Meaning", "family name definition"),
    ],
)
def test_headings_of_other_lists_are_understood(headings, read_as):
    found = find_columns(headings.split(","), COLUMNS)

    assert " ".join(found) == read_as


def test_columns_that_are_not_read_are_named():
    table = read_codebook(b"name,No.,Example\nHedge,1,perhaps\n", name="x.csv")

    (warning,) = table.warnings
    assert warning.startswith("Not read: the columns “No.”, “Example”.")


def test_a_description_that_says_more_than_the_definition_is_named():
    same = read_codebook(export(replace(PLAIN, definition="To limit.", include="Modal verbs")), name="x.csv")
    assert same.warnings == ()
    other = read_codebook(
        b"name,definition,description\nHedge,To limit.,To limit\nShout,Loud,Very loud\n", name="x.csv"
    )

    assert other.warnings == (
        "Not read: the column “description”, because there is a column with definitions. The two differ in 2 rows, first in row 2.",
    )


def test_a_short_code_that_is_no_identifier_becomes_another_name():
    table = read_codebook(b"Code,Name\nA 1,Hedge\nB2,Shout\n", name="x.csv")

    assert [(code.code_id, code.aliases) for code in table.codes] == [("", ("A 1",)), ("B2", ())]


def test_a_name_given_twice_in_a_family_is_refused_in_either_unicode_form():
    error = refuse("name,family\nCafé,Places\ncafe\u0301,Places\nCafé,Words\n".encode())

    assert [(problem.row, problem.found) for problem in error.problems] == [
        (3, "the name “cafe\u0301”, which row 2 has too")
    ]


def test_a_parent_may_be_given_by_its_name():
    low, high = read_codebook(b"name,parent\nLow,high\nHigh,\n", name="x.csv").codes
    assert (low.parent, high.parent) == ("high", "")
    error = refuse(b"name,parent\nLow,High\nHigh,Low\nLost,Nobody\n")
    assert [problem.found for problem in error.problems] == [
        "the parent “High”, which is below “Low” itself",
        "the parent “Nobody”, which is no code_id here",
    ]


@pytest.mark.parametrize("word", ["yes", "TRUE", "true", "1", "ja", "WAHR", "oui", "VRAI", "x"])
def test_yes_is_read_in_the_words_of_spreadsheets(word):
    (code,) = read_codebook(f"name,carries_enactment\nHedge,{word}\n".encode(), name="x.csv").codes

    assert code.carries_enactment is True


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ({"definition": "é" * 20_001}, "20,001 characters in definition"),
        ({"machine_definition": "x" * 100_001}, "100,001 characters in machine_definition"),
        ({"source": "é" * 50_001}, "100,002 bytes in source"),
        ({"terms": "x" * 201}, "a term of 201 characters"),
        ({"keyword_rules": "x" * 201}, "a keyword rule of 201 characters"),
        ({"color": "#12"}, "the color “#12”"),
        ({"name": "n" * 201}, "a name of 201 characters"),
        ({"code_id": "a b"}, "the code_id “a b”"),
        ({"family": "a b"}, "the family “a b”"),
        ({"version": "-1"}, "the version “-1”"),
        ({"once_per_answer": "often"}, "the once_per_answer “often”"),
        ({"applies_to": "both"}, "the applies_to “both”"),
        ({"applies_to": "model", "unit": "interview"}, "the applies_to “model” for the unit “interview”"),
    ],
)
def test_cells_out_of_bounds_are_named(cells, found):
    error = refuse(make_row(**cells))

    assert (error.row, error.found) == (2, found)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "an empty file"),
        (",".join(COLUMNS).encode(), "headings and no code"),
        (b"\xff\xfen\x00a", "a mark of UTF-16 and the byte 0x61 at offset 2, which is not"),
        (b"PK\x03\x04\x14\x00", "a zip archive or an Excel workbook"),
        (b"name\n\x8f\x9d\x81\x8d\x90\n", "the byte 0x8F in line 2, which is not UTF-8, nor clearly Windows-1252"),
        ("name\nПривет\n".encode("cp1251"), "the byte 0xCF in line 2, which is not UTF-8, nor clearly Windows-1252"),
        (make_row(name="a\0b"), "a NUL character"),
        (export(PLAIN) + b'"open', "something that is not CSV (unexpected end of data)"),
        (make_row(definition="x" * (MAX_CELL_LENGTH + 1)), "a cell of more than 16,000,000 characters"),
    ],
    ids=[
        "empty",
        "headings only",
        "half utf-16",
        "workbook",
        "no encoding",
        "Cyrillic",
        "nul",
        "open quote",
        "huge cell",
    ],
)
def test_a_file_that_cannot_be_read_says_what_was_found(data, found):
    error = refuse(data)

    assert error.found == found
    assert error.total == 1


def test_long_text_is_cut_in_messages():
    error = refuse(make_row(unit="very " * 100))

    assert len(error.found) < 100


def test_a_rule_of_a_family_may_be_said_in_one_row_and_not_in_two_ways():
    once = CodeRow(code_id="a", family="f", family_name="F", name="A", once_per_answer=True)
    silent = replace(once, code_id="b", once_per_answer=None)
    assert [row.once_per_answer for row in read_codebook(export(once, silent), name="x").codes] == [True, None]
    error = refuse(export(once, replace(silent, once_per_answer=False)))
    assert (error.row, error.found) == (3, "the once_per_answer “no” in the family “f”")
    other = replace(silent, family="g", family_name="G")
    assert read_codebook(export(once, other), name="x").codes == [once, other], "another family need not say it"


def test_whose_turns_a_family_is_for_is_said_in_one_way():
    theirs = CodeRow(code_id="a", family="f", family_name="F", name="A", applies_to="interviewer")
    silent = replace(theirs, code_id="b", applies_to=None)
    assert [row.applies_to for row in read_codebook(export(theirs, silent), name="x").codes] == ["interviewer", None]
    error = refuse(export(theirs, replace(silent, applies_to="any")))
    assert (error.row, error.found) == (3, "the applies_to “any” in the family “f”")
