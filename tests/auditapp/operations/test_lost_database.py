"""A site whose database is gone does not start empty."""

import shutil

import pytest
from django.core.exceptions import ImproperlyConfigured

from auditapp.site.environment import MARKER, refuse_lost_database
from tests.conftest import make_user
from tests.support.databases import is_postgres


@pytest.fixture
def folder(tmp_path, settings):
    settings.DATA = tmp_path
    return tmp_path


@pytest.mark.django_db
def test_tables_without_an_account_are_no_site_where_data_were(folder):
    refuse_lost_database()
    (folder / MARKER).touch()
    with pytest.raises(ImproperlyConfigured, match="restore a backup"):
        refuse_lost_database()
    make_user("somebody")
    refuse_lost_database()


@pytest.mark.processes
@pytest.mark.skipif(is_postgres(), reason="the file of the database is deleted")
def test_a_site_whose_file_was_deleted_or_made_anew_by_migrate_does_not_start(instance, migrated):
    database = "auditapp.sqlite3"
    instance.manage("prepare", "--no-demo")
    for file in instance.folder.glob(f"{database}*"):
        file.unlink()
    refused = instance.run("prepare", "--no-demo")
    assert (refused.returncode != 0, "had data" in refused.stderr) == (True, True)
    # What `migrate` leaves where there was nothing.
    for file in instance.folder.glob(f"{database}*"):
        file.unlink()
    shutil.copy(migrated.folder / database, instance.folder)
    refused = instance.run("prepare", "--no-demo")
    assert (refused.returncode != 0, "had data" in refused.stderr) == (True, True)
    (instance.folder / MARKER).unlink()
    instance.manage("prepare", "--no-demo")
