"""Codebook files of REFI-QDA: those of other programs are read, ours are valid and come back as they went."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.support.shared import shared
from tests.transcripts.formats.refi_structure import find_breaches
from transcripts.codebook.pure.seed import load_seed
from transcripts.formats.codebook_csv import CodebookFileError
from transcripts.formats.codebook_rules import CodebookContent, CodeContent, CodeExample, FamilyContent
from transcripts.formats.refi import QdcCode, QdcSet, lay_out_codes, make_guid, read_description, read_qdc, write_qdc

FILES = Path(__file__).resolve().parents[2] / "data" / "refi"
HEAD = '<CodeBook xmlns="urn:QDA-XML:codebook:1.0"><Codes>\n'
TAIL = "\n</Codes></CodeBook>"

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
names = texts.filter(lambda text: text.strip() != "")
colors = st.from_regex(r"(#[0-9a-f]{6})?", fullmatch=True)


def guid(number):
    return make_guid("test", str(number))


@st.composite
def trees(draw):
    """Codes in document order, each below one of those it still can be below."""
    codes = []
    way = [""]
    for number in range(draw(st.integers(1, 8))):
        way = way[: draw(st.integers(1, len(way)))]
        code = QdcCode(guid(number), draw(names), draw(texts), draw(colors), draw(st.booleans()), way[-1])
        codes.append(code)
        way.append(code.guid)
    return codes


def export(codes, sets=()):
    stream = io.BytesIO()
    assert write_qdc(codes, stream, sets=sets) == len(codes)
    return stream.getvalue()


def read(codes, head=HEAD):
    return read_qdc((head + codes + TAIL).encode(), name="codes.qdc")


def refuse(data, head=HEAD):
    with pytest.raises(CodebookFileError) as caught:
        read_qdc(data if isinstance(data, bytes) else (head + data + TAIL).encode(), name="codes.qdc")
    return caught.value


def refuse_to_write(*codes, sets=()):
    stream = io.BytesIO()
    with pytest.raises(CodebookFileError) as caught:
        write_qdc(codes, stream, sets=sets)
    assert stream.getvalue() == b""
    return caught.value


@given(trees())
def test_importing_an_export_gives_back_every_code(codes):
    data = export(codes)

    assert read_qdc(data, name="codes.qdc")[0] == codes
    assert find_breaches(data) == []


@pytest.fixture(scope="module")
def schema():
    return etree.XMLSchema(etree.parse(shared("data/qda/schemas/Codebook.xsd")))


@given(codes=trees())
def test_exports_are_valid_against_the_schema(schema, codes):
    assert schema.validate(etree.fromstring(export(codes))), schema.error_log


def test_a_file_of_another_program_is_read_with_the_older_namespace_and_a_byte_order_mark():
    codes, sets, warnings = read_qdc((FILES / "foreign.qdc").read_bytes(), name="foreign.qdc")
    start = "6c1f2a10-0000-4000-8000-00000000000"

    assert codes == [
        QdcCode(f"{start}1", "Gefühle", "Was jemand fühlt.", is_codable=False),
        QdcCode(f"{start}2", "غضب", color="#ff00aa", parent_guid=f"{start}1"),
        QdcCode(f"{start}3", "<mild> 😀", color="#d1ded2", parent_guid=f"{start}2"),
        QdcCode(f"{start}4", "_x0041_"),
    ]
    assert sets == [QdcSet(f"{start}9", "Strong", "of all", codes=(f"{start}2",))]
    assert warnings == [
        "Line 10, code 4: “reddish” is not a colour and is left out.",
        "Not read of the set “Strong”: 1 member.",
    ]


def test_an_empty_list_of_sets_is_accepted():
    data = HEAD + f'<Code guid="{guid(1)}" name="a"/></Codes><Sets/></CodeBook>'

    assert read_qdc(data.encode(), name="codes.qdc")[1] == []


def test_escapes_of_another_program_stay_as_they_are_and_ours_are_undone():
    code = f'<Code guid="{guid(1)}" name="_x0001_"/>'

    assert read(code)[0][0].name == "_x0001_"
    assert read(code, HEAD.replace(">", ' origin="auditapp">', 1))[0][0].name == "\x01"


def test_a_shared_codebook_of_qualcoder_is_read_and_comes_back():
    codes, _, warnings = read_qdc(shared("data/qda/refi/qualcoder_codebook.qdc").read_bytes(), name="x.qdc")

    assert (len(codes), sum(not code.is_codable for code in codes), warnings) == (285, 55, [])
    assert read_qdc(export(codes), name="x.qdc")[0] == codes


def test_a_shared_codebook_of_taguette_is_read():
    codes, sets, _ = read_qdc(shared("data/qda/taguette/codebook.qdc").read_bytes(), name="x.qdc")

    assert (len(codes), sets) == (16, [])


def test_all_problems_of_a_file_are_listed_with_their_lines():
    error = refuse(
        f'<Code guid="{guid(1)}" name="a">\n'
        f'<Code guid="{guid(1)}" name=" "/></Code>\n'
        '<Code name="b"/>\n'
        '<Code guid="12" name="c" isCodable="maybe"/>\n'
        f'<Code guid="{guid(2)}" name="{"n" * 201}"/>'
    )

    assert [(problem.row, problem.place, problem.found) for problem in error.problems] == [
        (3, "line 3, code 2", f"the guid {guid(1)}, which the code in line 2 has too"),
        (3, "line 3, code 2", "a code without a name"),
        (4, "line 4, code 3", "a code without a guid"),
        (5, "line 5, code 4", "isCodable “maybe”"),
        (5, "line 5, code 4", "the guid “12”"),
        (6, "line 6, code 5", "a code whose name has 201 characters"),
    ]
    assert str(error).startswith("codes.qdc: 6 problems, nothing was imported.\nline 3, code 2: found the guid")


def test_a_file_with_a_thousand_problems_is_read_no_further():
    error = refuse("<Code/>" * 5_000)

    assert (error.total, len(error.problems)) == (1_001, 20)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "an empty file"),
        (b"PK\3\4", "an archive, such as a project file (.qdpx)"),
        (b"x" * 5_000_001, "5,000,001 bytes"),
        (HEAD + TAIL, "no code"),
        ('<!DOCTYPE a [<!ENTITY e "x">]>' + HEAD + TAIL, "a document type declaration (DOCTYPE)"),
        (HEAD + "<Code>&e;</Code>" + TAIL, "something that is not well-formed XML (Entity 'e' not defined)"),
        (HEAD + "<Code>" * 10_000, "elements nested more than 64 deep"),
        ('<Project xmlns="urn:QDA-XML:project:1.0"/>', "the root element “Project” in the namespace"),
    ],
    ids=["empty", "archive", "large", "no code", "doctype", "entity", "deep", "project"],
)
def test_a_file_that_cannot_be_read_says_what_was_found(data, found):
    error = refuse(data if isinstance(data, bytes) else data.encode())

    assert error.problems[-1].found.startswith(found)


def test_ten_thousand_codes_are_read_and_no_more():
    codes = [f'<Code guid="{number:08x}-0000-4000-8000-000000000000" name="n"/>' for number in range(10_001)]

    assert len(read("".join(codes[:-1]))[0]) == 10_000
    assert refuse("".join(codes)).found == "more than 10,000 codes"


def test_codes_that_could_not_be_read_again_are_not_written():
    good = QdcCode(guid(1), "a")
    error = refuse_to_write(
        good,
        good._replace(name="b"),
        QdcCode("12", "c"),
        QdcCode(guid(2), " "),
        QdcCode(guid(3), "d", color="#ABCDEF"),
        QdcCode(guid(4), "e\0"),
        QdcCode(guid(5), "f", "\ud800"),
        QdcCode(guid(6), "g", parent_guid=guid(7)),
        QdcCode(guid(7), "h", parent_guid=guid(6)),
        QdcCode(guid(8), "i", parent_guid=guid(99)),
        QdcCode(guid(9), "j", notes=(guid(10),)),
    )

    assert [problem.row for problem in error.problems] == [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert "nothing was written" in str(error)
    assert refuse_to_write().found == "no code"
    assert refuse_to_write(good, sets=(QdcSet(guid(2), "s", codes=(guid(3),)),)).found.startswith("the code")
    assert refuse_to_write(good, sets=(QdcSet(guid(2), "\0", codes=(guid(1),)),)).found.startswith("the character")


def test_codes_as_deep_as_are_written_are_read():
    codes = [QdcCode(guid(number), "n", "text", parent_guid=guid(number - 1) if number else "") for number in range(55)]

    assert read_qdc(export(codes), name="codes.qdc")[0] == codes
    below = QdcCode(guid(55), "n", parent_guid=guid(54))
    assert refuse_to_write(*codes, below).found == "a code nested 56 deep"


def test_sets_come_back():
    codes = [QdcCode(guid(1), "a"), QdcCode(guid(2), "b")]
    sets = (QdcSet(guid(3), "both", "d", codes=(guid(1), guid(2))), QdcSet(guid(4), "none"))

    assert read_qdc(export(codes, sets), name="codes.qdc")[1] == list(sets)


def test_a_codebook_is_laid_out_with_families_above_codes_and_stable_guids():
    content = CodebookContent(
        families=(
            FamilyContent(identifier="tone", name="Tone", description="How it is said.", rules="One at least."),
            FamilyContent(identifier="empty", name="Empty"),
        ),
        codes=(
            CodeContent(identifier="b", name="B", family="tone", parent="a", include="yes"),
            CodeContent(identifier="a", name="A", family="tone", definition="What it is.", color="#112233"),
        ),
        examples=(CodeExample(code="a", kind="anchor", quote="Perhaps.", note="clear", interview="i1", sentence=3),),
    )
    tone, a, b, empty = lay_out_codes(content, scope="study")

    assert (tone.name, tone.is_codable, tone.parent_guid) == ("Tone", False, "")
    assert (a.name, a.color, a.parent_guid) == ("A", "#112233", tone.guid)
    assert (b.name, b.parent_guid) == ("B", a.guid)
    assert (empty.name, empty.is_codable) == ("Empty", False)
    assert a.description == (
        "What it is.\n\n== Anchor example ==\nPerhaps.\n\n== Note ==\nclear\n\n== Interview ==\ni1\n\n== Sentence ==\n3"
    )
    assert read_description(tone.description).rules == "One at least."
    assert lay_out_codes(content, scope="study")[1].guid == a.guid != lay_out_codes(content, scope="other")[1].guid


def test_the_seeded_codebook_goes_out_whole():
    seed = load_seed()
    families = tuple(family.content for family in seed.families)
    codes = tuple(code.content for code in seed.codes)
    laid_out = lay_out_codes(CodebookContent(families=families, codes=codes), scope="study")

    assert len(laid_out) == len(families) + len(codes)
    assert read_qdc(export(laid_out), name="seed.qdc")[0] == laid_out
