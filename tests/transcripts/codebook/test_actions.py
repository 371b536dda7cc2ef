import csv
import io

import pytest

from transcripts.audit_trail.models import AuditEvent
from transcripts.audit_trail.trail import SYSTEM, study_stream
from transcripts.codebook.actions import CodebookRefused, import_codebook, publish_version, seed_codebook, start_study
from transcripts.codebook.files import make_rows, read_version
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.codebook.queries import current_version, find_changes
from transcripts.formats.codebook_csv import CodeRow, write_codebook
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study
from transcripts.studies.models import Study


def export_rows(version):
    """The codes of a version as the export writes them."""
    return list(make_rows(read_version(version)))


def make_file(rows):
    stream = io.StringIO(newline="")
    write_codebook(rows, stream)
    return stream.getvalue().encode()


def export_file(version):
    return make_file(export_rows(version))


@pytest.fixture
def published(study):
    version = current_version(study)
    assert version is not None
    return version


def reword(published):
    """The published codebook with one definition changed."""
    definition = published.codes.order_by("pk")[0].definition.encode()
    return export_file(published).replace(definition, b"Often: " + definition, 1)


def list_actions(study):
    events = AuditEvent.objects.filter(stream=study_stream(study.pk)).order_by("sequence")
    return list(events.values_list("action", flat=True))


def test_new_study_has_all_families_of_the_seed(published):
    counts = {family.identifier: family.codes.count() for family in published.families.all()}
    assert counts["themes"] == 7
    assert counts["moves"] == 8
    assert counts["case_features"] == 10
    assert counts["repertoires"] > 0
    assert counts["failure_modes"] > 0


def test_new_study_can_be_coded_at_once(published, owner):
    assert published.number == 1
    assert published.status == CodebookVersion.Status.PUBLISHED
    assert published.published_by == owner


def test_starting_a_study_leaves_one_event_for_each_step(owner):
    assert list_actions(start_study(slug="new", name="New", by=owner)) == [
        "study.created",
        "study.member.role_set",
        "codebook.version.created",
        "codebook.version.published",
        "study.method.set",
        "study.method.set",
    ]


def test_moves_say_whether_they_are_enacted(published):
    carrying = published.families.filter(carries_enactment=True)
    assert [family.identifier for family in carrying] == ["moves"]


def test_every_seeded_code_is_defined_for_people_and_for_machines(published):
    assert not published.codes.filter(definition="").exists()
    assert not published.codes.filter(machine_definition="").exists()


def test_study_without_a_name_leaves_nothing_behind(db, owner):
    with pytest.raises(Refused, match="needs a name"):
        start_study(slug="nameless", name=" ", by=owner)
    assert not Study.objects.exists()
    assert not CodebookVersion.objects.exists()


def test_codebook_is_seeded_only_once(study, owner):
    with pytest.raises(Refused, match="has a codebook already"):
        seed_codebook(study=study, by=owner)


def test_exported_file_comes_back_as_nothing_changed(study, published, lead):
    before = list_actions(study)
    version, is_new, _ = import_codebook(study=study, data=export_file(published), name="codebook.csv", by=lead)
    assert version == published
    assert not is_new
    assert study.codebook_versions.count() == 1
    assert list_actions(study) == before


def test_changed_file_becomes_the_next_draft(study, published, lead):
    version, is_new, _ = import_codebook(study=study, data=reword(published), name="codebook.csv", by=lead)
    assert is_new
    assert version.number == 2
    assert version.status == CodebookVersion.Status.DRAFT
    assert version.origin == "Imported from codebook.csv"
    assert current_version(study) == published


def test_import_leaves_the_published_version_as_it_is(study, published, lead):
    before = list(published.codes.order_by("pk").values())
    import_codebook(study=study, data=reword(published), name="codebook.csv", by=lead)
    assert list(published.codes.order_by("pk").values()) == before


def test_draft_keeps_what_the_file_does_not_say_of_a_family(study, published, lead):
    version, _, _ = import_codebook(study=study, data=reword(published), name="codebook.csv", by=lead)
    told = ("identifier", "name", "description", "unit", "carries_level", "carries_enactment")
    assert list(version.families.values_list(*told)) == list(published.families.values_list(*told))


def test_same_changed_file_twice_makes_one_draft(study, published, lead):
    first, _, _ = import_codebook(study=study, data=reword(published), name="codebook.csv", by=lead)
    second, is_new, _ = import_codebook(study=study, data=reword(published), name="again.csv", by=lead)
    assert second == first
    assert not is_new


def test_half_valid_file_stores_nothing(study, published, lead):
    rows = list(csv.DictReader(io.StringIO(export_file(published).decode())))
    rows[3]["unit"] = "paragraph"
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    with pytest.raises(CodebookRefused) as refused:
        import_codebook(study=study, data=stream.getvalue().encode(), name="codebook.csv", by=lead)
    assert "row 5" in refused.value.problems[0]
    assert "paragraph" in refused.value.problems[0]
    assert study.codebook_versions.count() == 1


def test_file_with_many_problems_says_how_many_are_not_listed(study, lead):
    rows = [CodeRow(code_id="x x", family="x", family_name="X", name="X") for _ in range(25)]
    with pytest.raises(CodebookRefused) as refused:
        import_codebook(study=study, data=make_file(rows), name="codebook.csv", by=lead)
    assert refused.value.problems[-1].startswith("And 5 more")


def test_cell_that_is_too_long_is_named(study, published, lead):
    rows = [CodeRow(code_id="x.one", family="x", family_name="X", name="One", group="g" * 101)]
    with pytest.raises(CodebookRefused) as refused:
        import_codebook(study=study, data=make_file(rows), name="codebook.csv", by=lead)
    assert "x.one" in refused.value.problems[0]
    assert "group" in refused.value.problems[0]


def test_codes_are_arranged_family_by_family(study, published, lead):
    rows = [
        CodeRow(code_id="a.one", family="a", family_name="A", name="A one"),
        CodeRow(code_id="b.one", family="b", family_name="B", name="B one", unit="turn"),
        CodeRow(code_id="a.two", family="a", family_name="A", name="A two"),
    ]
    version = import_codebook(study=study, data=make_file(rows), name="codebook.csv", by=lead)[0]
    codes = version.codes.order_by("position").values_list("identifier", flat=True)
    assert list(codes) == ["a.one", "a.two", "b.one"]
    assert list(version.families.values_list("identifier", "carries_level")) == [("a", True), ("b", False)]


def test_changes_are_told_by_the_names_of_codes(study, published, lead):
    rows = export_rows(published)
    renamed = CodeRow(**{**vars(rows[0]), "name": "Renamed"})
    added = CodeRow(**{**vars(rows[1]), "code_id": "theme.new", "name": "New one", "key": ""})
    version = import_codebook(study=study, data=make_file([renamed, *rows[2:], added]), name="codebook.csv", by=lead)[0]
    changes = find_changes(version, since=published)
    assert changes["changed"] == ["Renamed"]
    assert changes["added"] == ["New one"]
    assert changes["removed"] == [rows[1].name]


def test_published_draft_becomes_the_current_version(study, published, lead):
    draft = import_codebook(study=study, data=reword(published), name="codebook.csv", by=lead)[0]
    publish_version(version=draft, by=lead)
    assert current_version(study) == draft
    assert draft.published_by == lead
    assert list_actions(study)[-1] == "codebook.version.published"


def test_publishing_twice_is_told_once(study, published, lead):
    draft = import_codebook(study=study, data=reword(published), name="codebook.csv", by=lead)[0]
    publish_version(version=draft, by=lead)
    at = draft.published_at
    publish_version(version=CodebookVersion.objects.get(pk=draft.pk), by=lead)
    assert list_actions(study).count("codebook.version.published") == 2
    draft.refresh_from_db()
    assert draft.published_at == at


def test_draft_without_codes_cannot_be_published(db, owner):
    study = create_study(slug="bare", name="Bare", by=owner)
    draft = study.codebook_versions.create(number=1, title="Bare", created_at=study.created_at, created_by_name="owner")
    with pytest.raises(Refused, match="at least one code"):
        publish_version(version=draft, by=owner)


def test_draft_older_than_a_published_version_cannot_be_published(study, published, lead):
    rows = export_rows(published)
    old = import_codebook(study=study, data=make_file(rows[1:]), name="old.csv", by=lead)[0]
    new = import_codebook(study=study, data=make_file(rows[2:]), name="new.csv", by=lead)[0]
    publish_version(version=new, by=lead)
    with pytest.raises(Refused, match="v3 was published"):
        publish_version(version=old, by=lead)


def test_program_itself_can_start_a_study(db):
    study = start_study(slug="by-command", name="By command", by=SYSTEM)
    version = current_version(study)
    assert version is not None
    assert version.published_by is None
    assert not study.memberships.exists()


def test_key_belongs_to_one_code_of_a_version(published):
    keys = list(published.codes.exclude(key="").values_list("key", flat=True))
    assert len(keys) == len(set(keys))
    assert Code.objects.get(version=published, identifier="theme.balance").key == "d"
