from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from pytest_django import DjangoAssertNumQueries

from tests.transcripts.codebook.test_actions import export_file, make_file, reword
from transcripts.accounts.models import User
from transcripts.codebook.actions import import_codebook
from transcripts.codebook.models import CodebookVersion
from transcripts.codebook.queries import current_version
from transcripts.formats.codebook_csv import CodeRow
from transcripts.projects.models import Membership, Project

SignIn = Callable[[User], Client]


@pytest.fixture
def published(project: Project) -> CodebookVersion:
    version = current_version(project)
    assert version is not None
    return version


@pytest.fixture
def draft(project: Project, published: CodebookVersion, lead: User) -> CodebookVersion:
    return import_codebook(project=project, data=reword(published), name="codebook.csv", by=lead).version


def upload(data: bytes) -> dict[str, SimpleUploadedFile]:
    return {"file": SimpleUploadedFile("codebook.csv", data, content_type="text/csv")}


def test_coder_reads_definitions_for_people_and_for_machines(
    project: Project, published: CodebookVersion, coder: User, client_of: SignIn
) -> None:
    page = client_of(coder).get(reverse("codebook:current", args=[project.slug]))
    code = published.codes.get(identifier="theme.balance")
    assert page.status_code == 200
    for text in (code.name, code.definition, code.machine_definition, code.include, code.exclude):
        assert escape(text) in page.content.decode()


def test_outsider_cannot_find_the_codebook(project: Project, outsider: User, client_of: SignIn) -> None:
    for name, args in (("codebook:current", []), ("codebook:version", [1]), ("codebook:import", [])):
        assert client_of(outsider).get(reverse(name, args=[project.slug, *args])).status_code == 404


def test_page_takes_as_many_queries_for_many_codes_as_for_few(
    project: Project,
    published: CodebookVersion,
    lead: User,
    client_of: SignIn,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    rows = [CodeRow(code_id=f"x.{n}", family=f"f{n % 9}", family_name=f"F{n % 9}", name=f"Code {n}") for n in range(90)]
    import_codebook(project=project, data=make_file(rows), name="many.csv", by=lead)
    client = client_of(lead)
    # Session, person, study with role; the version, all versions, families, codes. A later version is compared.
    with django_assert_num_queries(7):
        client.get(reverse("codebook:version", args=[project.slug, 1]))
    with django_assert_num_queries(9):
        client.get(reverse("codebook:version", args=[project.slug, 2]))


def test_draft_is_not_what_the_codebook_page_shows(
    project: Project, draft: CodebookVersion, coder: User, client_of: SignIn
) -> None:
    page = client_of(coder).get(reverse("codebook:current", args=[project.slug]))
    assert page.context["version"].number == 1
    assert page.context["changes"] is None


def test_version_that_is_not_there_is_not_found(project: Project, coder: User, client_of: SignIn) -> None:
    assert client_of(coder).get(reverse("codebook:version", args=[project.slug, 9])).status_code == 404


def test_lead_publishes_a_draft(project: Project, draft: CodebookVersion, lead: User, client_of: SignIn) -> None:
    answer = client_of(lead).post(reverse("codebook:publish", args=[project.slug, draft.number]), follow=True)
    assert current_version(project) == draft
    assert "is published" in answer.content.decode()


def test_coder_cannot_publish(project: Project, draft: CodebookVersion, coder: User, client_of: SignIn) -> None:
    client = client_of(coder)
    assert client.post(reverse("codebook:publish", args=[project.slug, draft.number])).status_code == 403
    assert "Publish v2" not in client.get(reverse("codebook:version", args=[project.slug, 2])).content.decode()
    draft.refresh_from_db()
    assert draft.status == CodebookVersion.Status.DRAFT


def test_publishing_takes_a_form(project: Project, draft: CodebookVersion, lead: User, client_of: SignIn) -> None:
    assert client_of(lead).get(reverse("codebook:publish", args=[project.slug, draft.number])).status_code == 405


def test_draft_that_is_overtaken_says_so(
    project: Project, draft: CodebookVersion, published: CodebookVersion, lead: User, client_of: SignIn
) -> None:
    client = client_of(lead)
    client.post(reverse("codebook:import", args=[project.slug]), upload(export_file(published)))
    client.post(reverse("codebook:publish", args=[project.slug, 3]))
    answer = client.post(reverse("codebook:publish", args=[project.slug, 2]), follow=True)
    assert "v3 is published and later than this draft" in answer.content.decode()


def test_lead_imports_a_changed_file_as_a_draft(
    project: Project, published: CodebookVersion, lead: User, client_of: SignIn
) -> None:
    answer = client_of(lead).post(
        reverse("codebook:import", args=[project.slug]), upload(reword(published)), follow=True
    )
    assert answer.redirect_chain[0][0] == reverse("codebook:version", args=[project.slug, 2])
    assert answer.context["changes"].changed == ["Models and Metamodels"]


def test_lead_is_told_when_nothing_changed(
    project: Project, published: CodebookVersion, lead: User, client_of: SignIn
) -> None:
    answer = client_of(lead).post(
        reverse("codebook:import", args=[project.slug]), upload(export_file(published)), follow=True
    )
    assert "Nothing changed" in answer.content.decode()
    assert project.codebook_versions.count() == 1


def test_wrong_file_is_refused_beside_the_field(project: Project, lead: User, client_of: SignIn) -> None:
    page = client_of(lead).post(reverse("codebook:import", args=[project.slug]), upload(b"code_id,name\nx,X\n"))
    assert page.status_code == 422
    assert "family" in page.context["form"].errors["file"][0]


def test_empty_form_is_refused_beside_the_field(project: Project, lead: User, client_of: SignIn) -> None:
    page = client_of(lead).post(reverse("codebook:import", args=[project.slug]))
    assert page.status_code == 422
    assert page.context["form"].errors["file"]


def test_coder_cannot_import_a_codebook(project: Project, coder: User, client_of: SignIn) -> None:
    assert client_of(coder).get(reverse("codebook:import", args=[project.slug])).status_code == 403


def test_anybody_with_an_account_starts_a_study_and_owns_it(outsider: User, client_of: SignIn) -> None:
    answer = client_of(outsider).post(reverse("codebook:start_study"), {"name": "Culture, round two"})
    project = Project.objects.get()
    assert answer.status_code == 302
    assert project.slug == "culture-round-two"
    assert Membership.objects.get(project=project, user=outsider).role == "owner"
    assert current_version(project) is not None


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "Two", "slug": "Not an address"}, "slug"),
        ({"name": "Two", "slug": "culture"}, "slug"),
        ({"name": "???"}, "slug"),
    ],
)
def test_study_that_cannot_be_started_says_why(
    project: Project, owner: User, client_of: SignIn, typed: dict[str, str], field: str
) -> None:
    page = client_of(owner).post(reverse("codebook:start_study"), typed)
    assert page.status_code == 422
    assert list(page.context["form"].errors) == [field]
    assert Project.objects.count() == 1


def test_stranger_is_sent_to_sign_in(client: Client, project: Project) -> None:
    for url in (reverse("codebook:start_study"), reverse("codebook:current", args=[project.slug])):
        assert client.get(url).headers["Location"].startswith(reverse("account_login"))
