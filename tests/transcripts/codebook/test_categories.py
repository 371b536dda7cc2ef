"""Categories of other programs: they group codes, nobody applies them, and they go out as they came in."""

import io
import zipfile
from uuid import uuid4

import pytest

from tests.support.shared import shared
from tests.transcripts.codebook.cast import edit
from transcripts.audit_trail import trail
from transcripts.codebook import actions
from transcripts.codebook.files import read_version
from transcripts.codebook.models import Code
from transcripts.codebook.queries import read_content
from transcripts.coding.actions import WrongPlace, add_coding, withdraw_coding
from transcripts.coding.values import CodingValues
from transcripts.desk.desk import read_families
from transcripts.exchange.actions import import_qdpx
from transcripts.formats.refi import lay_out_codes, read_qdc, write_qdc
from transcripts.studies.actions import create_study

NESTED = """<CodeBook xmlns="urn:QDA-XML:codebook:1.0"><Codes>
<Code guid="11111111-0000-0000-0000-000000000001" name="Trust" isCodable="false">
 <Code guid="22222222-0000-0000-0000-000000000002" name="In people" isCodable="false">
  <Code guid="33333333-0000-0000-0000-000000000003" name="In experts" isCodable="true"/>
 </Code>
 <Code guid="44444444-0000-0000-0000-000000000004" name="Doubt" isCodable="true"/>
</Code>
</Codes></CodeBook>"""


@pytest.fixture
def nested(db, lead):
    """A published codebook with a category below its family."""
    study = create_study(slug="nested", name="Nested", description="", by=trail.SYSTEM)
    version, _, _ = actions.import_codebook(study=study, data=NESTED.encode(), name="nested.qdc", by=lead)
    actions.publish_version(version=version, by=lead)
    return version


def list_flags(version):
    return [(code.name, code.parent, code.is_category) for code in read_content(version).codes]


def write(version):
    stream = io.BytesIO()
    write_qdc(lay_out_codes(read_version(version), scope=version.study.slug), stream)
    return stream.getvalue()


def test_a_category_below_the_top_comes_in_as_one_and_goes_out_as_one(nested):
    assert [(name, is_category) for name, _, is_category in list_flags(nested)] == [
        ("In people", True),
        ("In experts", False),
        ("Doubt", False),
    ]
    codes, _, _ = read_qdc(write(nested), name="out.qdc")
    assert [(code.name, code.is_codable) for code in codes] == [
        ("Trust", False),
        ("In people", False),
        ("In experts", True),
        ("Doubt", True),
    ]


def test_the_desk_does_not_offer_it_and_nobody_can_apply_it(nested, study, sentence, coder):
    assert [code.name for family in read_families(nested) for code in family.codes] == ["In experts", "Doubt"]
    Code.objects.filter(version__study=study, identifier="theme.balance").update(is_category=True)
    code = Code.objects.get(version__study=study, identifier="theme.balance")
    with pytest.raises(WrongPlace, match="Balance is a category"):
        add_coding(study=study, sentence=sentence, code=code, values=CodingValues(), by=coder, idempotency_key=uuid4())


def test_a_lead_can_make_a_code_of_it(nested, lead):
    draft = actions.start_draft(study=nested.study, by=lead)
    [category] = [code.identifier for code in read_content(draft).codes if code.is_category]
    edit(draft, category, lead, is_category=False)
    assert not any(is_category for *_, is_category in list_flags(draft))


def test_what_a_project_codes_with_is_a_code_whatever_the_file_calls_it(study, tmp_path):
    path = tmp_path / "p.qdpx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "project.qde",
            '<Project xmlns="urn:QDA-XML:project:1.0" name="P" origin="Other"><CodeBook>'
            + NESTED.partition(">")[2].replace("</CodeBook>", "")
            + "</CodeBook><Sources>"
            '<TextSource guid="00000000-0000-4000-8000-0000000000a1" name="Talk" plainTextPath="internal://t.txt">'
            '<PlainTextSelection guid="00000000-0000-4000-8000-0000000000b1" startPosition="0" endPosition="4">'
            '<Coding guid="00000000-0000-4000-8000-0000000000d1">'
            '<CodeRef targetGUID="22222222-0000-0000-0000-000000000002"/></Coding></PlainTextSelection>'
            "</TextSource></Sources></Project>",
        )
        archive.writestr("sources/t.txt", "Good it was.")
    with path.open("rb") as stream:
        report = import_qdpx(study=study, stream=stream, name=path.name, by=trail.SYSTEM)
    assert report.new["codings"] == 1
    assert not Code.objects.filter(version__study=study, is_category=True).exists()


def test_the_categories_of_qualcoder_stay_categories(db, lead):
    data = shared("data/qda/refi/qualcoder_codebook.qdc").read_bytes()
    study = create_study(slug="qualcoder", name="QualCoder", description="", by=trail.SYSTEM)
    version, _, _ = actions.import_codebook(study=study, data=data, name="codes.qdc", by=lead)
    before, _, _ = read_qdc(data, name="codes.qdc")
    after, _, _ = read_qdc(write(version), name="out.qdc")
    assert sum(not code.is_codable for code in after) == 55
    assert sorted((code.name, code.is_codable) for code in after) == sorted(
        (" ".join(code.name.split()), code.is_codable) for code in before
    )


def test_a_code_that_is_applied_cannot_become_a_category(study, lead, coder, sentence, code):
    coding = add_coding(study=study, sentence=sentence, code=code, by=coder, idempotency_key=uuid4())
    draft = actions.start_draft(study=study, by=lead)
    draft.codes.filter(identifier=code.identifier).update(is_category=True)
    with pytest.raises(actions.CodebookRefused, match=f"{code.name} is applied to sentences"):
        actions.publish_version(version=draft, by=lead)
    withdraw_coding(study=study, coding=coding, by=coder)
    assert not [problem for problem in actions.find_obstacles(draft) if "applied to sentences" in problem]
