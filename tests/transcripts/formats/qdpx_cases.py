"""Projects for the tests of project files: one by hand, and strategies for any."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import NamedTuple

from hypothesis import strategies as st

from transcripts.formats.qdpx_content import (
    QdpxCoding,
    QdpxNote,
    QdpxProject,
    QdpxSelection,
    QdpxSource,
    QdpxTurn,
    QdpxUser,
)
from transcripts.formats.qdpx_read import read_qdpx
from transcripts.formats.qdpx_write import write_qdpx
from transcripts.formats.refi import QdcCode, QdcSet, make_guid

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
# Characters with which offsets or XML go wrong: astral, joined, right to left, line ends, ones XML cannot hold.
TRICKY = "a😀é\u200d👩🏽‍🚀עב\u202e\r\n\u2028\x0b\x01\x1f\ufeff\uffff\x85<&>\"' \t_x0001_"


class Study(NamedTuple):
    """What a project file is made of."""

    project: QdpxProject
    sources: tuple[QdpxSource, ...] = ()
    notes: tuple[QdpxNote, ...] = ()


def guid(*parts):
    return make_guid(*map(str, parts))


def export(study):
    stream = io.BytesIO()
    written = write_qdpx(study.project, sources=iter(study.sources), notes=iter(study.notes), stream=stream)
    assert (written["sources"], written["notes"]) == (len(study.sources), len(study.notes))
    return stream.getvalue()


def read(data):
    return read_qdpx(io.BytesIO(data), name="study.qdpx")


def read_study(data):
    """What a file holds; it must have been read without a warning."""
    file = read(data)
    assert file.warnings == ()
    return Study(file.project, file.sources, file.notes)


LEAD, CODER = QdpxUser(guid("user", 1), "Noa Lead", "lead"), QdpxUser(guid("user", 2), "Jo Coder", "coder")
FAMILY = QdcCode(guid("family"), "Tone", "How it is said.", "#112233", is_codable=False)
HEDGE = QdcCode(guid("hedge"), "Hedge", "Limits a claim.", "#aabbcc", parent_guid=FAMILY.guid)
SHOUT = QdcCode(guid("shout"), "Shout!", parent_guid=HEDGE.guid, notes=(guid("note", "code"),))


def make_source():
    """An interview with two turns, a sentence that two people coded, and an empty selection."""
    text = "Interviewer: Is it so? 😀\r\n\r\nModel: Perhaps. I would ask first.\x0b"
    start = text.index("Perhaps")
    codings = (
        QdpxCoding(guid("coding", 1), HEDGE.guid, CODER.guid, NOON, details={"level": "latent", "blinding": "blind"}),
        QdpxCoding(guid("coding", 2), SHOUT.guid, LEAD.guid, NOON, (guid("note", "coding"),)),
    )
    selections = (
        QdpxSelection(guid("selection", 1), start, start + 8, "Perhaps.", "", CODER.guid, NOON, codings),
        QdpxSelection(guid("selection", 2), 0, 0, notes=(guid("note", "selection"),), description="empty"),
    )
    turns = (
        QdpxTurn(13, 24, "interviewer", "utterance", "Interviewer", "open"),
        QdpxTurn(start, len(text), "model", "utterance", "Model"),
    )
    return QdpxSource(
        guid("source", 1),
        "First interview",
        text,
        "In the lab",
        LEAD.guid,
        NOON,
        {"model": "Model A", "period": ""},
        turns,
        selections,
        (QdpxCoding(guid("coding", 3), SHOUT.guid),),
        (guid("note", "source"),),
    )


def make_study():
    """Two people, a family with two codes, two interviews, memos on everything that can have one."""
    first, second = make_source(), QdpxSource(guid("source", 2), "", "\ufeffstarts with a mark")
    notes = tuple(
        QdpxNote(guid("note", about), f"On {about}", f"Memo\x02 on {about}\r\n", "short", CODER.guid, NOON)
        for about in ("project", "code", "coding", "selection", "source", "nothing")
    )
    members = QdcSet(guid("set", 1), "Both", "d", (HEDGE.guid,), (first.guid, second.guid), (notes[0].guid,))
    project = QdpxProject(
        "A study of tone",
        "What it is about",
        LEAD.guid,
        NOON,
        (LEAD, CODER),
        (FAMILY, HEDGE, SHOUT),
        ("model", "period", "unused"),
        (members, QdcSet(guid("set", 2), "Empty")),
        (guid("note", "project"),),
    )
    return Study(project, (first, second), notes)


def make_large_study(codings):
    """One interview with so many coded sentences."""
    code, user = QdcCode(guid("code"), "Code"), QdpxUser(guid("user"), "coder")
    sentence = "One sentence of many. "
    selections = tuple(
        QdpxSelection(
            guid("selection", number),
            number * len(sentence),
            (number + 1) * len(sentence) - 1,
            codings=(QdpxCoding(guid("coding", number), code.guid, user.guid, NOON),),
        )
        for number in range(codings)
    )
    source = QdpxSource(guid("source"), "Long", sentence * codings, selections=selections)
    return Study(QdpxProject("Large", users=(user,), codes=(code,)), (source,))


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12) | st.lists(
    st.sampled_from(TRICKY), max_size=10
).map("".join)
names = texts.filter(lambda text: text.strip() != "")
moments = st.none() | st.datetimes(timezones=st.just(UTC))
colors = st.from_regex(r"(#[0-9a-f]{6})?", fullmatch=True)
details = st.dictionaries(st.sampled_from(["level", "blinding"]), texts, max_size=2)


class Drawing:
    """Parts of a study that refer to the people, notes, codes and variables drawn before."""

    def __init__(self, draw):
        self.draw = draw
        self.users = tuple(QdpxUser(guid("user", n), draw(texts), draw(texts)) for n in range(draw(st.integers(0, 2))))
        self.people = st.sampled_from(["", *(user.guid for user in self.users)])
        self.notes = tuple(
            QdpxNote(guid("note", n), draw(texts), draw(texts), draw(texts), draw(self.people), draw(moments))
            for n in range(draw(st.integers(0, 3)))
        )
        guids = [note.guid for note in self.notes]
        self.about = st.sets(st.sampled_from(guids)).map(sorted).map(tuple) if guids else st.just(())
        self.codes = self.draw_codes()
        self.variables = tuple(draw(st.lists(names, max_size=2, unique=True)))
        self.numbers = iter(range(1_000))

    def draw_codes(self):
        draw, codes = self.draw, list[QdcCode]()
        for number in range(draw(st.integers(0, 3))):
            is_below = draw(st.booleans())
            parent = codes[-1].guid if codes and is_below else ""
            shown = (draw(names), draw(texts), draw(colors), draw(st.booleans()))
            codes.append(QdcCode(guid("c", number), *shown, parent, draw(self.about)))
        return tuple(codes)

    def draw_codings(self):
        draw = self.draw
        put = [code.guid for code in self.codes if draw(st.booleans())]
        return tuple(
            QdpxCoding(self.name("coding"), code, draw(self.people), draw(moments), draw(self.about), draw(details))
            for code in put
        )

    def draw_source(self, number):
        draw = self.draw
        text = draw(texts)
        spans = st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(sorted), max_size=2)
        made = st.tuples(texts, texts, self.people, moments)
        selections = [
            QdpxSelection(self.name("selection"), start, end, *draw(made), self.draw_codings(), draw(self.about))
            for start, end in draw(spans)
        ]
        source = QdpxSource(guid("source", number), draw(texts), text, draw(texts), draw(self.people), draw(moments))
        return source._replace(
            attributes=draw(st.dictionaries(st.sampled_from(self.variables), texts)) if self.variables else {},
            turns=tuple(QdpxTurn(start, end, draw(texts), draw(texts)) for start, end in draw(spans)),
            selections=tuple(selections),
            codings=self.draw_codings(),
            notes=draw(self.about),
        )

    def name(self, kind):
        return guid(kind, next(self.numbers))


@st.composite
def studies(draw):
    """Any study, small."""
    drawing = Drawing(draw)
    codes = tuple(code.guid for code in drawing.codes)
    members = QdcSet(guid("set"), draw(texts), draw(texts), codes, notes=draw(drawing.about))
    project = QdpxProject(
        name=draw(texts),
        description=draw(texts),
        user=draw(drawing.people),
        created=draw(moments),
        users=drawing.users,
        codes=drawing.codes,
        variables=drawing.variables,
        sets=(members,) if draw(st.booleans()) else (),
        notes=draw(drawing.about),
    )
    sources = tuple(drawing.draw_source(number) for number in range(draw(st.integers(0, 2))))
    return Study(project, sources, drawing.notes)
