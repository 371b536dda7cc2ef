"""How much a study may receive on one day."""

import datetime

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from transcripts.corpus.models import Interview
from transcripts.studies.models import UploadDay


@pytest.fixture(autouse=True)
def _small(settings):
    settings.MAX_UPLOAD_MB_PER_DAY = 1


def upload(browser, size):
    """A page that takes files gets one of ``size`` bytes that cannot be read."""
    file = SimpleUploadedFile("x.jsonl", b"x" * size)
    return browser.post("/studies/culture/interviews/import/", {"files": file, "format": "auto", "step": "preview"})


def test_a_study_receives_so_much_a_day_and_the_next_day_again(study, lead, owner, client_of):
    assert upload(client_of(lead), 600_000).status_code != 403
    refused = upload(client_of(owner), 600_000)
    assert refused.status_code == 403
    words = " ".join(refused.content.decode().split())
    assert "received 0.6 MB of files today; with these 0.6 MB it would be more than the 1 MB" in words
    assert "MAX_UPLOAD_MB_PER_DAY" in words
    UploadDay.objects.update(day=timezone.localdate() - datetime.timedelta(days=1))
    assert upload(client_of(lead), 600_000).status_code != 403
    assert not Interview.objects.exists()


def test_one_file_too_large_is_refused_and_not_counted(study, lead, client_of):
    assert upload(client_of(lead), 1_100_000).status_code == 403
    assert UploadDay.objects.get().bytes == 0


def test_the_owner_of_the_site_is_not_held_to_it(study, owner, client_of):
    owner.is_superuser = True
    owner.save()
    assert upload(client_of(owner), 1_100_000).status_code != 403


def test_who_may_not_import_is_refused_for_that(study, coder, client_of):
    assert " MB" not in upload(client_of(coder), 1_100_000).content.decode()
    assert not UploadDay.objects.exists()
