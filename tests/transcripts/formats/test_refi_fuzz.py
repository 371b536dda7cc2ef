"""Whatever bytes come in, a reader reads them or refuses them with its one error."""

import io
import zipfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.transcripts.formats.qdpx_cases import export, make_study
from transcripts.formats.codebook_csv import CodebookFileError
from transcripts.formats.codebook_json import read_codebook_json
from transcripts.formats.qdpx_read import ProjectFileError, read_qdpx
from transcripts.formats.refi import read_qdc

DATA = Path(__file__).resolve().parents[2] / "data"
QDC = (DATA / "refi" / "foreign.qdc").read_bytes()
QDE = (DATA / "refi" / "foreign.qde").read_bytes()
JSON = (DATA / "codebook" / "codebook.json").read_bytes()
QDPX = export(make_study())
OWN = zipfile.ZipFile(io.BytesIO(QDPX)).read("auditapp.jsonl")

FRAGMENTS = [
    b"",
    b"<",
    b">",
    b'"',
    b"&",
    b"&x;",
    b"&#0;",
    b"&#xD800;",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"<![CDATA[",
    b"]]>",
    b"<!--",
    b"<!DOCTYPE a>",
    b"<?xml version='1.0' encoding='utf-16'?>",
    b"<Code>",
    b"</Code>",
    b"</Project>",
    b"<Description>",
    b"guid=''",
    b"-1",
    b"9" * 30,
    b"true",
    b"{",
    b"[",
    b"null",
    b"PK\5\6",
    b"PK\1\2",
]


@st.composite
def damage(draw, valid):
    """A valid file with some stretches cut out, doubled or replaced."""
    data = valid
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        middle = draw(st.sampled_from(FRAGMENTS) | st.binary(max_size=6) | st.just(data[start:end] * 2))
        data = data[:start] + middle + data[end:]
    return data


def try_qdc(data):
    try:
        read_qdc(data, name="x.qdc")
    except CodebookFileError as error:
        str(error).encode()


def try_json(data):
    try:
        read_codebook_json(data, name="x.json")
    except CodebookFileError as error:
        str(error).encode()


def try_qdpx(data):
    try:
        read_qdpx(io.BytesIO(data), name="x.qdpx")
    except ProjectFileError as error:
        str(error).encode()


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    for start in (b"", b"<", b"PK", b"{"):
        try_qdc(start + data)
        try_json(start + data)
        try_qdpx(start + data)


@given(damage(QDC))
def test_damaged_codebook_files_are_read_or_refused(data):
    try_qdc(data)


@given(damage(JSON))
def test_damaged_json_codebooks_are_read_or_refused(data):
    try_json(data)


@given(damage(QDE))
def test_damaged_projects_are_read_or_refused(data):
    try_qdpx(data)


@given(damage(QDPX))
def test_damaged_archives_are_read_or_refused(data):
    try_qdpx(data)


@given(damage(OWN), damage(QDE))
def test_damaged_contents_of_sound_archives_are_read_or_refused(own, qde):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("project.qde", qde)
        archive.writestr("sources/mabel.txt", own)
        archive.writestr("auditapp.jsonl", own)
    try_qdpx(stream.getvalue())
