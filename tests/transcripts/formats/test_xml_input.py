"""XML of unknown origin: elements with their lines come out, attacks do not come in."""

import pytest

from transcripts.formats import guarded_input
from transcripts.formats.guarded_input import XmlReader
from transcripts.formats.problems import InputRefused

BOMB = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


def open_xml(text, *, size=7):
    data = text.encode() if isinstance(text, str) else text
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    return XmlReader(chunks, namespaces={"urn:ours"}, texts={"t"})


def read_all(text, *, size=7):
    """Tags below the root with their lines, depth first."""
    reader = open_xml(text, size=size)

    def read(parent):
        for child in reader.read_children(parent):
            yield child.tag, child.line
            yield from read(child)

    found = list(read(reader.read_root("a")))
    reader.read_end()
    return found


def refuse(text, *, size=100_000):
    with pytest.raises(InputRefused) as caught:
        read_all(text, size=size)
    return caught.value.problem


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_elements_come_in_document_order_with_their_lines(size):
    text = '<a xmlns="urn:ours">\n<b>\n<c/></b>\n<d\nx="1"/><!-- no --><?no no?>\n<e/></a>'

    assert read_all(text, size=size) == [("b", 2), ("c", 3), ("d", 5), ("e", 6)]


def test_what_is_left_unread_is_passed_over_and_text_is_read_on_demand():
    reader = open_xml('<a xmlns="urn:ours"><b><t>no</t></b><t>o&amp;ne <b>not</b>two<![CDATA[<3]]></t><t/></a>')
    root = reader.read_root("a")

    assert [reader.read_text(child) if child.tag == "t" else child.tag for child in reader.read_children(root)] == [
        "b",
        "o&ne two<3",
        "",
    ]


def test_the_five_entities_of_xml_and_character_references_are_read_everywhere():
    given = "&amp;&lt;&gt;&quot;&apos;&#38;&#x3c;&#38;lt;&#13;&#10;&#9;"
    reader = open_xml(f'<a xmlns="urn:ours"><t x="{given}">{given}</t></a>')
    root = reader.read_root("a")
    [(value, text)] = [(child.attributes["x"], reader.read_text(child)) for child in reader.read_children(root)]

    assert value == text == "&<>\"'&<&lt;\r\n\t"


def test_elements_of_other_namespaces_have_other_tags():
    assert read_all('<a xmlns="urn:ours"><b xmlns=""/><b xmlns="urn:other"/><x:b xmlns:x="urn:ours"/></a>') == [
        ("{}b", 1),
        ("{urn:other}b", 1),
        ("b", 1),
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_understood(encoding):
    assert read_all('<a xmlns="urn:ours"><b/></a>'.encode(encoding)) == [("b", 1)]


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a><a xmlns="urn:ours"/>',
        '<!DOCTYPE a [<!ENTITY e "x">]><a xmlns="urn:ours">&e;</a>',
        '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><a xmlns="urn:ours"/>',
        '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a xmlns="urn:ours">&e;</a>',
        f'<!DOCTYPE a [<!ENTITY l0 "lol">{BOMB}]><a xmlns="urn:ours">&l9;</a>',
        f'<!DOCTYPE a [<!ENTITY big "{"x" * 100_000}">]><a xmlns="urn:ours">{"&big;" * 1000}</a>',
    ],
    ids=["empty", "entity", "external", "file", "billion laughs", "quadratic"],
)
def test_document_type_declarations_are_refused_where_they_begin(text):
    assert refuse(text).found == "a document type declaration (DOCTYPE)"


def test_undeclared_entities_are_refused():
    problem = refuse('<a xmlns="urn:ours">\n&e;</a>')

    assert (problem.place, problem.found) == (
        "line 2",
        "something that is not well-formed XML (Entity 'e' not defined)",
    )


@pytest.mark.parametrize("depth", [65, 10_000, 1_000_000])
def test_deep_nesting_is_refused_on_the_way_down(depth):
    assert refuse('<a xmlns="urn:ours">' + "<b>" * depth).found == "elements nested more than 64 deep"


def test_nesting_up_to_the_limit_is_read():
    assert len(read_all('<a xmlns="urn:ours">' + "<b>" * 63 + "</b>" * 63 + "</a>")) == 63


def test_too_many_elements_are_refused(monkeypatch):
    monkeypatch.setattr(guarded_input, "MAX_ELEMENTS", 3)

    assert refuse('<a xmlns="urn:ours"><b/><b/><b/></a>').found == "more than 3 elements"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "an empty file"),
        ("words", "something that is not well-formed XML (Start tag expected, '<' not found)"),
        ('<a xmlns="urn:ours"><b></a>', "something that is not well-formed XML (Opening and ending tag mismatch"),
        ('<a xmlns="urn:ours"/>words', "something that is not well-formed XML (Extra content at the end"),
        ('<a xmlns="urn:ours">', "something that is not well-formed XML (Premature end of data"),
        ("<a/>", "the root element “a” without a namespace"),
        ('<a xmlns="urn:other"/>', "the root element “a” in the namespace “urn:other”"),
        ('<b xmlns="urn:ours"/>', "the root element “b” in"),
    ],
)
def test_what_is_no_such_document_says_what_was_found(text, found):
    assert refuse(text).found.startswith(found.removesuffix(" in"))


def test_a_file_of_line_ends_is_read_in_few_steps():
    found = read_all(b'<a xmlns="urn:ours">' + b"\n" * 3_000_000 + b"<b/></a>", size=guarded_input.CHUNK_BYTES)

    assert [tag for tag, _ in found] == ["b"]


def test_decoding_is_applied_once_it_is_set():
    reader = open_xml('<a xmlns="urn:ours"><t x="_1" y="1">_1</t></a>')
    root = reader.read_root("a")
    reader.decode = lambda text: text.replace("_", "-")
    [(attributes, text)] = [(child.attributes, reader.read_text(child)) for child in reader.read_children(root)]

    assert (dict(attributes), text) == ({"x": "-1", "y": "1"}, "-1")
