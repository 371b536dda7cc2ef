"""Markdown on the desk: what shows as emphasis, code, links and tables, with every character in its place."""

import itertools
import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from transcripts.corpus.pure.markdown_html import read_marker, write_passage, write_units
from transcripts.corpus.pure.markdown_lines import Kind
from transcripts.corpus.pure.segmenting import segment

SIGNS = "**__``~~[](<>)!\\|\"'#-.  \n\nab1é《😀"
texts = st.one_of(st.text(max_size=60), st.text(alphabet=SIGNS, max_size=60))
ELEMENTS = {("strong", ""), ("em", ""), ("del", ""), ("code", "")} | {
    ("span", name) for name in ("syntax", "link", "image", "address", "cell", "cells", "cells head")
}


class Reading(HTMLParser):
    """What a browser makes of a piece of HTML: its text, its elements, and what of the text is in which of them."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.elements = set()
        self.shown = []
        self._open = []
        self.feed(html)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag, attrs):
        assert [name for name, _ in attrs] in ([], ["class"])
        self._open.append((tag, (attrs[0][1] or "") if attrs else ""))
        self.elements.add(self._open[-1])

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        self.text += data
        styles = {name or tag for tag, name in self._open}
        if not styles & {"syntax", "address"}:
            self.shown += [(character, frozenset(styles)) for character in data]


def write(text, kind=Kind.PROSE):
    return write_units(text, [(0, len(text), kind)])[0]


def show(html):
    """HTML in short: syntax in braces, every other class by its name."""
    short = re.sub(r'<span class="syntax">(.*?)</span>', r"{\1}", html)
    return re.sub(r'<span class="(link|image|address|cell)">(.*?)</span>', r"<\1>\2</\1>", short)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**If I wait**, it is *respect*.", "{**}<strong>If I wait</strong>{**}, it is {*}<em>respect</em>{*}."),
        ("__a__ and _b_", "{__}<strong>a</strong>{__} and {_}<em>b</em>{_}"),
        ("**a *b* c**", "{**}<strong>a {*}<em>b</em>{*} c</strong>{**}"),
        ("***a***", "{*}<em>{**}<strong>a</strong>{**}</em>{*}"),
        ("a `*b*` c", "a {`}<code>*b*</code>{`} c"),
        ("``a`b``", "{``}<code>a`b</code>{``}"),
        ("~~gone~~", "{~~}<del>gone</del>{~~}"),
        (r"\*not\*", r"{\}*not{\}*"),
        (
            "[the *law*](https://a.b/c_d_e)",
            "{[}<link>the {*}<em>law</em>{*}</link>{]}<address>(https://a.b/c_d_e)</address>",
        ),
        ("![a cat](cat.png 'My cat')", "{![}<image>a cat</image>{]}<address>(cat.png 'My cat')</address>"),
        ("[x](javascript:alert(1))", "{[}<link>x</link>{]}<address>(javascript:alert(1))</address>"),
        ("<https://a.b>", "{&lt;}<link>https://a.b</link>{&gt;}"),
    ],
)
def test_what_markdown_says_shows_and_its_signs_are_told_apart(text, expected):
    assert show(write(text)) == expected.replace("'", "&#x27;")


@pytest.mark.parametrize(
    "text",
    [
        "**If I wait",
        "2 * 3 * 4",
        "snake_case_word and __init",
        "a * b*",
        "`one tick",
        "[1] and [a][b] and [ ]",
        "~one~ ~~~three~~~",
        "****",
        "$x_1$",
        "a ]( b",
    ],
)
def test_what_does_not_pair_stays_as_it_is(text):
    assert "<" not in write(text)


def test_html_of_the_text_is_text():
    assert write("**<b onclick=x>&amp;</b>**") == (
        '<span class="syntax">**</span><strong>&lt;b onclick=x&gt;&amp;amp;&lt;/b&gt;</strong><span class="syntax">**</span>'
    )


def test_emphasis_goes_on_in_the_next_sentence_of_the_paragraph():
    text = "**One. *Two.\nThree* four.** Five."
    units = [(0, 6, "prose"), (7, 12, "prose"), (13, 27, "prose"), (28, 33, "prose")]
    assert [show(each) for each in write_units(text, units)] == [
        "{**}<strong>One.</strong>",
        "<strong>{*}<em>Two.</em></strong>",
        "<strong><em>Three</em>{*} four.</strong>{**}",
        "Five.",
    ]


@pytest.mark.parametrize("text", ["*One\n\ntwo*", "- *one\n- two*", "*one\n- two*", "# *one\ntwo*", "> *one\n\ntwo*"])
def test_emphasis_does_not_reach_into_another_block(text):
    units = segment(text)
    assert len(units) == 2
    assert not any("<" in each for each in write_units(text, units))


def test_code_stays_as_it_is():
    text = "```\na = **b** * `c`\n```\n\n    *d*"
    assert write_units(text, segment(text)) == ["a = **b** * `c`", "*d*"]


def test_a_table_has_cells_and_a_head():
    text = "| Who | What |\n|---|---|\n| I | **wait** \\| go |\n| | x |\n\n- y"
    assert [show(each) for each in write_units(text, segment(text))] == [
        '<span class="cells head">{| }<cell>Who</cell>{ | }<cell>What</cell>{ |}</span>',
        '<span class="cells">{| }<cell>I</cell>{ | }<cell>{**}<strong>wait</strong>{**} {\\}| go</cell>{ |}</span>',
        '<span class="cells">{| }<cell></cell>{| }<cell>x</cell>{ |}</span>',
        "y",
    ]


def test_the_numbers_of_a_list_are_as_they_were_written():
    text = "- One. More.\n  And more.\n3. Three\n> 10) Ten\n\n(iv) Four\n• Dot"
    units = segment(text)
    ends = [0, *(unit.end for unit in units)]
    found = [read_marker(text, before, unit.start) for before, unit in zip(ends, units, strict=False)]
    assert found == ["", None, None, "3.", "10)", "(iv)", ""]


def test_a_piece_of_nothing_but_signs_is_shown():
    assert write_units("**a** b", [(0, 2, "prose"), (2, 7, "prose")])[0] == "**"


@given(texts, st.lists(st.integers(0, 60)), st.sampled_from([*Kind]))
@example("**a. b** c", [4, 5], Kind.PROSE)
def test_the_text_of_what_is_written_is_the_text(text, cuts, kind):
    """Of whatever pieces, as after a split at any place; and nothing is written but what the style sheet knows."""
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    units = [(start, end, str(kind)) for start, end in itertools.pairwise(edges)]
    for unit, html in zip(units, write_units(text, units), strict=True):
        reading = Reading(html)
        assert reading.text == text[unit[0] : unit[1]]
        assert reading.elements <= ELEMENTS


@given(texts, st.integers(0, 60), st.integers(0, 60))
@example("**a\n- b** c", 3, 6)
def test_a_passage_keeps_its_text_but_for_line_breaks(text, one, other):
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    parts = write_passage(text, start, end)
    cut = (text[:start], text[start:end], text[end:])
    for part, expected in zip(parts, cut, strict=True):
        assert Reading(part.replace("<br>", "\n")).text == re.sub("\r\n|\r", "\n", expected)


def test_a_passage_shows_emphasis_around_its_words():
    assert [show(part) for part in write_passage("**One. Two.**\nThree", 7, 11)] == [
        "{**}<strong>One. </strong>",
        "<strong>Two.</strong>",
        "{**}<br>Three",
    ]


PARSER = MarkdownIt("commonmark").enable("strikethrough").disable(["html_inline", "entity"])


def read_with_library(text):
    """The characters to read and their styles, as markdown-it-py finds them in one paragraph."""
    names = {"s": "del", "a": "link", "img": "image", "code": "code", "strong": "strong", "em": "em"}
    found = []

    def take(tokens, outer):
        styles = list(outer)
        for token in tokens:
            if token.nesting > 0:
                styles.append(names[token.tag])
            elif token.nesting < 0:
                styles.remove(names[token.tag])
            elif token.type == "image":
                take(token.children or [], (*styles, "image"))
            elif token.type == "softbreak":
                found.append(("\n", frozenset(styles)))
            else:
                here = frozenset([*styles, "code"] if token.type == "code_inline" else styles)
                found.extend((character, here) for character in token.content)

    [inline] = PARSER.parseInline(text)
    take(inline.children, ())
    return found


# Backticks apart from brackets: the library misses a code span behind a bracket and a single backtick ("[`[`[`").
@given(
    st.one_of(
        st.text(alphabet="***__[]()![\\ab.  (é", max_size=30).map(str.strip),
        st.text(alphabet="***__``\\ab.  (é", max_size=30).map(str.strip),
    )
)
@example("*a**b*")
@example("**a*b**c*")
@example("[a[b](c)](d)")
@example("![a[b](c)](d)")
@example("*[a*](b)")
@example("[`]`](x)")
def test_markdown_is_read_as_the_library_reads_it(text):
    """As markdown-it-py does, whose inline tokens do not say where they stand."""
    assert Reading(write(text)).shown == read_with_library(text)


@pytest.mark.parametrize(
    "hostile",
    [
        "*a_ " * 20_000,
        "[" * 60_000 + "a](b)" * 5_000,
        "[](" * 30_000,
        "`".join("a" * n for n in range(400)),
        "**a " * 20_000,
        "[](a " + " " * 60_000,
        "*a **b " * 10_000,
        "a**b*c" * 10_000,
        '[a]("b' * 10_000,
        "~~a *" * 15_000,
    ],
)
def test_no_text_takes_long(hostile):
    before = time.process_time()
    write(hostile)
    assert time.process_time() - before < 2
