"""Databases from before the migrations of each room were joined come up with all they hold, or are refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.urls import reverse

from auditapp.operations import year_zero
from transcripts.accounts.models import User
from transcripts.studies.models import Project


@pytest.fixture
def recorder(db: None) -> MigrationRecorder:
    """The list of migrations of a database from before; its tables are those of today."""
    recorder = MigrationRecorder(connection)
    recorder.migration_qs.filter(app__in=year_zero.LAST).delete()
    for app, name in (year_zero.FIRST, *year_zero.LAST.items()):
        recorder.record_applied(app, name)
    return recorder


def list_migrations(recorder: MigrationRecorder) -> set[tuple[str, str]]:
    return {(app, name) for app, name in recorder.applied_migrations() if app in year_zero.LAST}


def migrate() -> None:
    call_command("migrate", verbosity=0, interactive=False)


def test_a_database_from_before_the_joined_migrations_comes_up_with_all_it_holds(
    recorder: MigrationRecorder, project: Project
) -> None:
    migrate()
    assert list_migrations(recorder) >= {(app, "0001_initial") for app in year_zero.LAST}
    assert not list_migrations(recorder) & set(year_zero.LAST.items())
    assert Project.objects.get() == project
    migrate()


def test_to_look_what_would_be_migrated_writes_nothing(recorder: MigrationRecorder) -> None:
    before = list_migrations(recorder)
    for look in ("plan", "check_unapplied"):
        with pytest.raises(CommandError, match=r"Run manage\.py migrate"):
            call_command("migrate", verbosity=0, **{look: True})
    assert list_migrations(recorder) == before


def test_one_that_is_older_still_is_refused_and_left_as_it_is(recorder: MigrationRecorder) -> None:
    recorder.record_unapplied("corpus", year_zero.LAST["corpus"])
    before = list_migrations(recorder)
    with pytest.raises(CommandError, match=r"older than the commit fbda7f8c .* Nothing was changed"):
        migrate()
    assert list_migrations(recorder) == before


@pytest.mark.django_db
def test_migrate_alone_makes_everything_that_pages_need(
    project: Project, owner: User, client_of: Callable[[User], Client]
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE cache_entry")
    call_command("migrate", verbosity=0, interactive=False)
    assert "cache_entry" in connection.introspection.table_names()
    assert client_of(owner).get(reverse("sob:dashboard", args=[project.slug])).status_code == 200
    cache.set("made", "by migrate")
    assert cache.get("made") == "by migrate"
