"""Whatever a project file holds, it comes in whole, or is refused with a sentence and leaves nothing behind."""

import io
import random
import zipfile
from contextlib import contextmanager
from xml.sax.saxutils import escape, quoteattr

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.transcripts.exchange.test_qdpx import FOREIGN, TALK
from transcripts.audit_trail import trail
from transcripts.codebook.models import CodebookVersion
from transcripts.coding.models import Coding, Memo
from transcripts.corpus.models import Interview
from transcripts.exchange.actions import StudyRefused, import_qdpx
from transcripts.exchange.refi.details import read_own_codebook
from transcripts.formats.qdpx_read import read_qdpx

MANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
XML_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)
GUIDS = st.sampled_from([f"00000000-0000-4000-8000-00000000000{number}" for number in range(6)])
PLACES = st.integers(-3, 130)


@contextmanager
def undone():
    """Whatever is done inside was not done afterwards."""
    point = transaction.savepoint()
    try:
        yield
    finally:
        transaction.savepoint_rollback(point)


def pack(document, text, **entries):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("project.qde", document)
        archive.writestr("sources/talk.txt", text)
        for name, data in entries.items():
            archive.writestr(name.replace("_json", ".json"), data)
    return stream.getvalue()


def bring_in(study, data):
    """Import; after a refusal look for leftovers."""
    with undone():
        try:
            import_qdpx(study=study, stream=io.BytesIO(data), name="x.qdpx", by=trail.SYSTEM)
        except StudyRefused:
            assert not Interview.objects.exists()
            assert not Coding.objects.exists()
            assert not Memo.objects.exists()
            assert CodebookVersion.objects.count() == 1
            return
        for coding in Coding.objects.select_related("sentence__turn"):
            if coding.quote_start is not None and coding.quote_end is not None:
                assert coding.sentence.start <= coding.quote_start < coding.quote_end <= coding.sentence.end


def element(tag, content="", **attributes):
    told = "".join(f" {name}={quoteattr(str(value))}" for name, value in attributes.items())
    return f"<{tag}{told}>{content}</{tag}>"


@st.composite
def documents(draw):
    """Project files that look like some, with whatever numbers, names and references."""

    def some(most):
        return range(draw(st.integers(0, most)))

    def code():
        can_be_put = draw(st.sampled_from(["true", "false"]))
        return element("Code", guid=draw(GUIDS), name=draw(XML_TEXT), isCodable=can_be_put)

    def selection(number):
        target = element("CodeRef", targetGUID=draw(GUIDS))
        coding = element("Coding", target, guid=draw(GUIDS), creatingUser=draw(GUIDS))
        place = {"startPosition": draw(PLACES), "endPosition": draw(PLACES)}
        content = coding + element("NoteRef", targetGUID=draw(GUIDS))
        return element("PlainTextSelection", content, guid=f"{number:08d}-0000-4000-8000-000000000000", **place)

    def note():
        text = element("PlainTextContent", escape(draw(XML_TEXT)))
        return element("Note", text, guid=draw(GUIDS), name=draw(XML_TEXT))

    source = {"guid": "99999999-0000-4000-8000-000000000000", "name": draw(XML_TEXT)}
    text = element("TextSource", "".join(map(selection, some(4))), **source, plainTextPath="internal://talk.txt")
    parts = [
        element("Users", "".join(element("User", guid=draw(GUIDS), name=draw(XML_TEXT)) for _ in some(2))),
        element("CodeBook", element("Codes", "".join(code() for _ in some(3)))),
        element("Sources", text),
        element("Notes", "".join(note() for _ in some(2))),
    ]
    return element("Project", "".join(parts), xmlns="urn:QDA-XML:project:1.0", name="x")


@MANY
@given(document=documents(), text=st.one_of(st.just(TALK), XML_TEXT))
def test_files_that_look_like_some(study, document, text):
    bring_in(study, pack(document, text.encode()))


@MANY
@given(seed=st.integers(0, 2**32))
def test_damaged_files(study, seed):
    chance = random.Random(seed)
    content = FOREIGN.format(start=3, end=60, second="Bea", user="00000000-0000-4000-8000-000000000001", about="")
    if chance.random() < 0.5:
        data = bytearray(content.encode())
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        bring_in(study, pack(bytes(data), TALK.encode()))
    else:
        packed = bytearray(pack(content, TALK.encode()))
        for _ in range(chance.randint(1, 20)):
            packed[chance.randrange(len(packed))] = chance.randrange(256)
        bring_in(study, bytes(packed[: chance.randint(1, len(packed))]))


CHANGED = FOREIGN.format(start=3, end=60, second="Bea", user="00000000-0000-4000-8000-000000000001", about="")
NESTED = b"[" * 20_000
EMPTY = b'{"format": "auditapp-codebook", "format_version": 1, "families": [], "codes": []}'


@given(own=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
@example(own=NESTED)
@example(own=EMPTY)
def test_our_own_part_changed_by_somebody_leaves_the_rest_readable(own):
    file = read_qdpx(io.BytesIO(pack(CHANGED, TALK.encode(), **{"auditapp.jsonl": own})), name="x.qdpx")
    assert [source.text for source in file.sources] == [TALK]
    assert read_own_codebook(io.BytesIO(pack(CHANGED, TALK.encode(), codebook_json=own))) is None


@pytest.mark.parametrize("own", [NESTED, EMPTY, b"\xff"])
@pytest.mark.parametrize("entry", ["codebook_json", "auditapp.jsonl"])
def test_our_own_part_changed_by_somebody_comes_in_without_it(study, entry, own):
    bring_in(study, pack(CHANGED, TALK.encode(), **{entry: own}))


@pytest.mark.parametrize(
    "details",
    [
        '{"blinding": "blind", "level": "loud", "attributes": "[[[["}',
        '{"range": "x", "enactment": "enacted", "prompting": "maybe"}',
        '{"attributes": "{\\"a\\": 1, \\"b\\": \\"c\\"}"}',
    ],
)
def test_details_that_are_none_of_our_words_are_left_out(study, details):
    content = FOREIGN.format(start=3, end=60, second="Bea", user="00000000-0000-4000-8000-000000000001", about="")
    line = '{"format":"auditapp-qdpx","format_version":1}\n{"coding":"00000000-0000-4000-8000-0000000000d1","details":%s}\n'
    data = pack(content, TALK.encode(), **{"auditapp.jsonl": (line % details).encode()})
    import_qdpx(study=study, stream=io.BytesIO(data), name="x.qdpx", by=trail.SYSTEM)
    for coding in Coding.objects.all():
        assert coding.level in {"semantic", "latent"}
        assert coding.enactment == ""
        assert all(isinstance(answer, str) for answer in coding.attributes.values())
