import json

import pytest
from django.core.management import CommandError, call_command

from transcripts.codebook.queries import current_version
from transcripts.studies.models import Study


@pytest.mark.django_db
def test_command_makes_a_study_with_a_published_codebook(capsys):
    call_command("study", "create", "culture", "--name", "Cultural schemas", "--json")
    answer = json.loads(capsys.readouterr().out)
    study = Study.objects.get(slug="culture")
    version = current_version(study)
    assert version is not None
    assert answer == {
        "id": study.pk,
        "slug": "culture",
        "name": "Cultural schemas",
        "codebook": 1,
        "codes": version.codes.count(),
    }


@pytest.mark.django_db
def test_command_says_in_words_what_it_made(capsys):
    call_command("study", "create", "culture", "--name", "Cultural schemas")
    assert capsys.readouterr().out.startswith("Study culture is set up with codebook v1")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("slug", "words"), [("Cultural Schemas", "cannot be used in an address"), ("taken", "already")]
)
def test_command_refuses_an_address_in_one_line(slug, words):
    call_command("study", "create", "taken", "--name", "Taken", verbosity=0)
    with pytest.raises(CommandError, match=words) as refused:
        call_command("study", "create", slug, "--name", "Cultural schemas")
    assert "\n" not in str(refused.value)
    assert Study.objects.count() == 1


class TestImportCodebook:
    """The command ``codebook import``."""

    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "codes.json"
        family = {"identifier": "mood", "name": "Mood"}
        code = {"identifier": "mood.calm", "name": "Calm", "family": "mood"}
        content = {"format": "auditapp-codebook", "format_version": 1, "families": [family], "codes": [code]}
        path.write_text(json.dumps(content))
        return path

    def test_it_makes_a_draft_and_publishes_it_when_asked(self, study, file, capsys):
        command = ("codebook", "import", str(file), "--study", study.slug, "--keep-missing", "--json")
        call_command(*command, "--dry-run")
        told = json.loads(capsys.readouterr().out)
        assert (told["dry_run"], told["created"], told["added"], told["removed"]) == (True, False, ["mood.calm"], [])
        assert study.codebook_versions.count() == 1
        call_command(*command)
        told = json.loads(capsys.readouterr().out)
        assert (told["version"], told["status"], told["codes"]) == (2, "draft", 43)
        call_command(*command, "--publish")
        told = json.loads(capsys.readouterr().out)
        assert (told["version"], told["status"], told["created"]) == (2, "published", False)

    def test_it_refuses_a_file_whole_and_says_each_thing_once(self, study, file):
        file.write_text(file.read_text().replace('"name": "Calm"', '"name": ""'))
        with pytest.raises(CommandError, match="name") as refused:
            call_command("codebook", "import", str(file), "--study", study.slug)
        lines = str(refused.value).splitlines()
        assert len(lines) == len(set(lines)) == 2
        assert study.codebook_versions.count() == 1
