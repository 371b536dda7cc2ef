"""A database from before the release is refused, and `migrate` makes all that pages need."""

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.urls import reverse


@pytest.mark.django_db
@pytest.mark.parametrize("options", [{}, {"plan": True}, {"check_unapplied": True}])
def test_a_database_from_before_the_release_is_refused_and_left_as_it_is(options):
    recorder = MigrationRecorder(connection)
    recorder.record_applied("projects", "0001_initial")
    before = set(recorder.applied_migrations())
    with pytest.raises(CommandError, match=r"made before release 1\.0.* Nothing was changed\. .* export each study"):
        call_command("migrate", verbosity=0, interactive=False, **options)
    assert set(recorder.applied_migrations()) == before


@pytest.mark.django_db
def test_migrate_alone_makes_everything_that_pages_need(study, owner, client_of):
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE cache_entry")
    call_command("migrate", verbosity=0, interactive=False)
    assert "cache_entry" in connection.introspection.table_names()
    assert client_of(owner).get(reverse("sob:dashboard", args=[study.slug])).status_code == 200
    cache.set("made", "by migrate")
    assert cache.get("made") == "by migrate"
