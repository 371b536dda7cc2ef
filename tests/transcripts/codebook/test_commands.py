from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from transcripts.codebook.queries import current_version
from transcripts.projects.models import Project


@pytest.mark.django_db
def test_command_makes_a_study_with_a_published_codebook(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_project", "culture", "--name", "Cultural schemas", "--json")
    answer = json.loads(capsys.readouterr().out)
    project = Project.objects.get(slug="culture")
    version = current_version(project)
    assert version is not None
    assert answer == {
        "id": project.pk,
        "slug": "culture",
        "name": "Cultural schemas",
        "codebook": 1,
        "codes": version.codes.count(),
    }


@pytest.mark.django_db
def test_command_says_in_words_what_it_made(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_project", "culture", "--name", "Cultural schemas")
    assert capsys.readouterr().out.startswith("Study culture is set up with codebook v1")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("slug", "words"), [("Cultural Schemas", "cannot be used in an address"), ("taken", "already")]
)
def test_command_refuses_an_address_in_one_line(slug: str, words: str) -> None:
    call_command("create_project", "taken", "--name", "Taken", verbosity=0)
    with pytest.raises(CommandError, match=words) as refused:
        call_command("create_project", slug, "--name", "Cultural schemas")
    assert "\n" not in str(refused.value)
    assert Project.objects.count() == 1
