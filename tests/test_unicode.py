"""Places in texts of every script: the same words by the same places in Python, the database and a REFI-QDA file.

What a browser counts is in tests/browser/test_unicode.py. Ten thousand texts in `make test-all`, some in `make test`.
"""

import hashlib
import io
import json
import uuid
import zipfile
from xml.etree import ElementTree

import pytest
from django.db import connection

from tests.support.unicode_strings import make_strings
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code
from transcripts.coding.actions import add_coding
from transcripts.coding.models import Coding
from transcripts.coding.values import CodingValues
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence, Turn
from transcripts.corpus.pure.boundaries import Extent
from transcripts.exchange.actions import import_qdpx, write_export
from transcripts.exchange.rows import Scope, find_export
from transcripts.studies.actions import create_study

TURNS_OF_ONE = 100
CODED_BY_HAND = 300
SIZES = [200, pytest.param(10_000, marks=pytest.mark.full)]
CUT = """
SELECT c.id, substr(t.text, s.start + 1, s."end" - s.start), substr(t.text, c.quote_start + 1, c.quote_end - c.quote_start)
FROM coding_coding c JOIN corpus_sentence s ON s.id = c.sentence_id JOIN corpus_turn t ON t.id = s.turn_id
"""


def load(study, strings, by):
    """The texts as turns of a model, in the order given."""
    lines = [
        json.dumps(
            {
                "id": f"u{first}",
                "turns": [{"role": "model", "text": each.text} for each in strings[first : first + TURNS_OF_ONE]],
            }
        )
        for first in range(0, len(strings), TURNS_OF_ONE)
    ]
    import_file(study=study, name="unicode.jsonl", data="\n".join(lines).encode(), by=by)
    return list(Turn.objects.filter(interview__study=study).order_by("interview_id", "position"))


def mark_all(study, turns, strings, by):
    """A coding on the sentence in which each stretch begins, with as much of the stretch as lies in it: its words by its number."""
    code = Code.objects.get(version__study=study, identifier="theme.balance")
    sentences = {}
    for sentence in Sentence.objects.filter(turn__interview__study=study).select_related("turn__interview__study"):
        sentences.setdefault(sentence.turn_id, []).append(sentence)
    places = []
    for turn, each in zip(turns, strings, strict=True):
        for sentence in sentences.get(turn.pk, []):
            start = max(each.start, sentence.start)
            words = each.text[start : min(each.end, sentence.end)]
            # White space at the ends is not part of a quote: neither the desk nor a file marks it.
            start, words = start + len(words) - len(words.lstrip()), words.strip()
            end = start + len(words)
            if words:
                values = CodingValues(quote=Extent(start, end))
                places.append((sentence, values, words))
                break
    # Some as people code; the rest are rows like theirs, which takes a tenth of the time.
    coded = [
        add_coding(study=study, sentence=sentence, code=code, by=by, idempotency_key=uuid.uuid4(), values=values)
        for sentence, values, _ in places[:CODED_BY_HAND]
    ]
    alike = {field.attname: getattr(coded[0], field.attname) for field in Coding._meta.concrete_fields}
    coded += Coding.objects.bulk_create(
        [
            Coding(
                **alike
                | {"id": None, "idempotency_key": uuid.uuid4(), "sentence_id": sentence.pk}
                | {"quote_start": values.quote.start, "quote_end": values.quote.end}
            )
            for sentence, values, _ in places[CODED_BY_HAND:]
            if values.quote
        ]
    )
    return {coding.pk: words for coding, (_, _, words) in zip(coded, places, strict=True)}


@pytest.mark.django_db
@pytest.mark.parametrize("count", SIZES)
def test_the_same_places_are_the_same_words_in_the_database_and_in_a_project_file(study, owner, tmp_path, count):
    strings = make_strings(count, breaks=True)
    turns = load(study, strings, owner)
    assert [turn.text for turn in turns] == [each.text for each in strings]
    for sentence in Sentence.objects.filter(turn__interview__study=study).select_related("turn"):
        words = sentence.turn.text[sentence.start : sentence.end]
        assert sentence.text_hash == hashlib.sha256(words.encode()).hexdigest()[:32]

    expected = mark_all(study, turns, strings, owner)
    assert len(expected) > 0.8 * count
    with connection.cursor() as cursor:
        cursor.execute(CUT)
        cut = {number: (words, quote) for number, words, quote in cursor.fetchall()}
    assert {number: quote for number, (_, quote) in cut.items()} == expected
    codings = Coding.objects.select_related("sentence__turn")
    assert {each.pk: each.sentence.read_text() for each in codings} == {
        number: words for number, (words, _) in cut.items()
    }

    path = tmp_path / "study.qdpx"
    found = find_export("qdpx")
    assert found is not None
    write_export(export=found, scope=Scope(study, None), format="qdpx", path=path, by=trail.SYSTEM)
    assert sorted(read_selections(path)) == sorted(expected.values())

    other = create_study(slug="other", name="Other", by=owner)
    with path.open("rb") as stream:
        import_qdpx(study=other, stream=stream, name=path.name, by=trail.SYSTEM)
    back = Turn.objects.filter(interview__study=other).order_by("interview__external_id", "position")
    there = Turn.objects.filter(interview__study=study).order_by("interview__external_id", "position")
    assert list(back.values_list("text", flat=True)) == list(there.values_list("text", flat=True))
    codings = Coding.objects.filter(sentence__turn__interview__study=other).select_related("sentence__turn")
    # A file does not tell a whole sentence that was marked from one that was not.
    places = [(each, each.quote or (each.sentence.start, each.sentence.end)) for each in codings]
    words_there = [each.sentence.turn.text[start:end] for each, (start, end) in places]
    assert sorted(words_there) == sorted(expected.values())


def read_selections(path):
    """The selected words of a project file, read as another program would: positions in the text files count code points."""
    with zipfile.ZipFile(path) as archive:
        root = ElementTree.parse(io.BytesIO(archive.read("project.qde"))).getroot()
        space = root.tag.partition("}")[0] + "}"
        selected = []
        for source in root.iter(f"{space}TextSource"):
            if inline := source.find(f"{space}PlainTextContent"):
                text = inline.text or ""
            else:
                text = archive.read("sources/" + source.attrib["plainTextPath"].removeprefix("internal://")).decode()
            selected += [
                text[int(each.attrib["startPosition"]) : int(each.attrib["endPosition"])]
                for each in source.iter(f"{space}PlainTextSelection")
            ]
    return selected
