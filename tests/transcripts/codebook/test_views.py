import base64
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils.html import escape

from tests.transcripts.codebook.test_actions import export_file, make_file, reword
from transcripts.codebook.actions import import_codebook
from transcripts.codebook.models import CodebookVersion, CodeChange
from transcripts.codebook.queries import current_version
from transcripts.formats.codebook_csv import CodeRow
from transcripts.studies.models import Membership, Study


@pytest.fixture
def published(study):
    version = current_version(study)
    assert version is not None
    return version


@pytest.fixture
def draft(study, published, lead):
    return import_codebook(study=study, data=reword(published), name="codebook.csv", by=lead)[0]


def upload(data, name="codebook.csv"):
    return {"file": SimpleUploadedFile(name, data, content_type="text/csv")}


def confirm(data, name="codebook.csv", **more):
    """What the page sends that shows what a file would bring."""
    return {"name": name, "content": base64.b64encode(data).decode(), **more}


def test_coder_reads_definitions_for_people_and_for_machines(study, published, coder, client_of):
    page = client_of(coder).get(reverse("codebook:current", args=[study.slug]))
    code = published.codes.get(identifier="theme.balance")
    assert page.status_code == 200
    for text in (code.name, code.definition, code.machine_definition, code.include, code.exclude):
        assert escape(text) in page.content.decode()


def test_outsider_cannot_find_the_codebook(study, outsider, client_of):
    for name, args in (("codebook:current", []), ("codebook:version", [1]), ("codebook:import", [])):
        assert client_of(outsider).get(reverse(name, args=[study.slug, *args])).status_code == 404


def test_page_takes_as_many_queries_for_many_codes_as_for_few(
    study, published, lead, client_of, django_assert_num_queries
):
    rows = [CodeRow(code_id=f"x.{n}", family=f"f{n % 9}", family_name=f"F{n % 9}", name=f"Code {n}") for n in range(90)]
    import_codebook(study=study, data=make_file(rows), name="many.csv", by=lead)
    client = client_of(lead)
    # Session, person, study with role; the version, all versions, families, codes, their names and changes over time,
    # pinned sentences. A later version has changes, whose codes are named, and is compared.
    with django_assert_num_queries(10):
        client.get(reverse("codebook:version", args=[study.slug, 1]))
    with django_assert_num_queries(15):
        client.get(reverse("codebook:version", args=[study.slug, 2]))


def test_draft_is_not_what_the_codebook_page_shows(study, draft, coder, client_of):
    page = client_of(coder).get(reverse("codebook:current", args=[study.slug]))
    assert page.context["version"].number == 1
    assert page.context["changes"] is None


def test_version_that_is_not_there_is_not_found(study, coder, client_of):
    assert client_of(coder).get(reverse("codebook:version", args=[study.slug, 9])).status_code == 404


def test_lead_publishes_a_draft(study, draft, lead, client_of):
    answer = client_of(lead).post(reverse("codebook:publish", args=[study.slug, draft.number]), follow=True)
    assert current_version(study) == draft
    assert "is published" in answer.content.decode()


def test_coder_cannot_publish(study, draft, coder, client_of):
    client = client_of(coder)
    assert client.post(reverse("codebook:publish", args=[study.slug, draft.number])).status_code == 403
    assert "Publish v2" not in client.get(reverse("codebook:version", args=[study.slug, 2])).content.decode()
    draft.refresh_from_db()
    assert draft.status == CodebookVersion.Status.DRAFT


def test_publishing_is_asked_for_once(study, draft, lead, client_of):
    client, publish = client_of(lead), reverse("codebook:publish", args=[study.slug, draft.number])
    assert publish in client.get(reverse("codebook:draft", args=[study.slug, draft.number])).content.decode()
    assert "Publish v2?" in client.get(publish).content.decode()
    draft.refresh_from_db()
    assert draft.status == CodebookVersion.Status.DRAFT
    client.post(publish)
    assert client.get(publish)["Location"] == draft.get_absolute_url()


def test_draft_that_is_overtaken_says_so(study, draft, published, lead, client_of):
    client = client_of(lead)
    client.post(reverse("codebook:import", args=[study.slug]), confirm(export_file(published)))
    client.post(reverse("codebook:publish", args=[study.slug, 3]))
    answer = client.post(reverse("codebook:publish", args=[study.slug, 2]))
    assert answer.status_code == 422
    assert "v3 was published after this draft was started" in answer.content.decode()


def test_lead_sees_what_a_file_would_bring_before_anything_is_stored(study, published, lead, client_of):
    page = client_of(lead).post(reverse("codebook:import", args=[study.slug]), upload(reword(published)))
    assert page.status_code == 200
    [changed] = page.context["changed"]
    assert changed.name == "Models and Metamodels"
    assert page.context["plan"].comparison.unchanged == 41
    assert "added:" in page.content.decode()
    assert study.codebook_versions.count() == 1


def test_lead_makes_a_draft_of_the_file_she_looked_at(study, published, lead, client_of):
    said = {"effect-theme.models_metamodels": "narrowing"}
    answer = client_of(lead).post(
        reverse("codebook:import", args=[study.slug]), confirm(reword(published), **said), follow=True
    )
    assert answer.redirect_chain[0][0] == reverse("codebook:version", args=[study.slug, 2])
    assert answer.context["changes"]["changed"] == ["Models and Metamodels"]
    [change] = CodeChange.objects.all()
    assert (change.kind, change.effect) == ("redefined", "narrowing")


def test_lead_is_told_when_nothing_changed(study, published, lead, client_of):
    client, url = client_of(lead), reverse("codebook:import", args=[study.slug])
    assert "Nothing would change" in client.post(url, upload(export_file(published))).content.decode()
    answer = client.post(url, confirm(export_file(published)), follow=True)
    assert "Nothing changed" in answer.content.decode()
    assert study.codebook_versions.count() == 1


def test_codes_that_are_not_in_the_file_can_stay(study, published, lead, client_of):
    rows = [CodeRow(code_id="theme.new", family="themes", family_name="Themes", name="New")]
    client, url = client_of(lead), reverse("codebook:import", args=[study.slug])
    page = client.post(url, upload(make_file(rows)))
    assert len(page.context["missing"]) == 42
    client.post(url, confirm(make_file(rows), keep_missing="keep"))
    assert study.codebook_versions.get(number=2).codes.count() == 43


@pytest.mark.parametrize("content", ["", "not base64 at all!", "////"])
def test_file_that_did_not_come_whole_is_refused(study, lead, client_of, content):
    url = reverse("codebook:import", args=[study.slug])
    page = client_of(lead).post(url, {"name": "codebook.csv", "content": content})
    assert page.status_code == 422
    assert study.codebook_versions.count() == 1


def test_wrong_file_is_refused_beside_the_field(study, lead, client_of):
    page = client_of(lead).post(reverse("codebook:import", args=[study.slug]), upload(b"Nr;Familie\n1;Ton\n"))
    assert page.status_code == 422
    assert page.context["form"].errors["file"] == [
        "row 1: found the columns “Nr”, “Familie”; expected a column with the names of the codes, headed “name” or “code”.",
    ]
    said = "Columns of the file, and what they were read as: “Nr” (not read), “Familie” (family)."
    assert said in page.context["form"].fields["file"].help_text, "how it was read is no error"


def test_the_templates_on_the_page_are_read_and_show_its_example(study, lead, client_of):
    client, url = client_of(lead), reverse("codebook:import", args=[study.slug])
    page = client.get(url).content.decode()
    for name in ("codebook.csv", "codebook-semicolons.csv"):
        path = finders.find(f"docs/examples/{name}")
        assert path
        assert f"/static/docs/examples/{name}" in page
        plan = client.post(url, upload(Path(path).read_bytes())).context["plan"]
        added = [
            code for code in plan.content.codes if code.identifier not in {c.identifier for c in plan.before.codes}
        ]
        assert [code.name for code in added] == ["Trust in people", "Trust in institutions", "Doubt", "Money"]
        assert all(f"<td>{code.name}</td>" in page for code in added if code.name != "Trust in institutions")


def test_empty_form_is_refused_beside_the_field(study, lead, client_of):
    page = client_of(lead).post(reverse("codebook:import", args=[study.slug]))
    assert page.status_code == 422
    assert page.context["form"].errors["file"]


def test_coder_cannot_import_a_codebook(study, coder, client_of):
    assert client_of(coder).get(reverse("codebook:import", args=[study.slug])).status_code == 403


def test_who_has_the_right_starts_a_study_and_owns_it(outsider, client_of):
    answer = client_of(outsider).post(reverse("codebook:start_study"), {"name": "Culture, round two"})
    study = Study.objects.get()
    assert answer.status_code == 302
    assert re.fullmatch(r"culture-round-two-[a-z2-9]{5}", study.slug)
    assert Membership.objects.get(study=study, user=outsider).role == "owner"
    assert current_version(study) is not None


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "Two", "slug": "Not an address"}, "slug"),
        ({"name": "???"}, "slug"),
    ],
)
def test_study_that_cannot_be_started_says_why(study, owner, client_of, typed, field):
    page = client_of(owner).post(reverse("codebook:start_study"), typed)
    assert page.status_code == 422
    assert list(page.context["form"].errors) == [field]
    assert Study.objects.count() == 1


def test_stranger_is_sent_to_sign_in(client, study):
    for url in (reverse("codebook:start_study"), reverse("codebook:current", args=[study.slug])):
        assert client.get(url).headers["Location"].startswith(reverse("account_login"))
