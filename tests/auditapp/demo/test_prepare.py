"""``prepare`` at every start: it repeats nothing that is current."""

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from auditapp.demo.management.commands import prepare


@pytest.fixture
def called(monkeypatch):
    """The commands that ``prepare`` calls; none of them is run."""
    names = []
    monkeypatch.setattr(prepare, "call_command", lambda name, **options: names.append(name))
    return names


def test_a_migration_is_pending_until_the_database_records_it(db):
    assert prepare.find_pending_migrations() == set()
    applied = set(MigrationRecorder(connection).applied_migrations())
    label, name = next(iter(sorted(applied)))
    MigrationRecorder(connection).record_unapplied(label, name)
    assert prepare.find_pending_migrations() == {(label, name)}


def test_static_files_are_collected_again_only_after_a_change(called, settings, tmp_path):
    source, settings.DATA = tmp_path / "source", tmp_path / "data"
    settings.STATIC_ROOT = settings.DATA / "static"
    settings.STATICFILES_DIRS = [source]
    settings.STATIC_ROOT.mkdir(parents=True)
    source.mkdir()
    (source / "page.css").write_text("a {}", encoding="utf-8")
    prepare.collect_static_files()
    (settings.STATIC_ROOT / "staticfiles.json").touch()
    prepare.collect_static_files()
    assert called == ["collectstatic"]
    (source / "page.css").write_text("a { color: red }", encoding="utf-8")
    prepare.collect_static_files()
    prepare.collect_static_files()
    assert called == ["collectstatic"] * 2
    (settings.STATIC_ROOT / "staticfiles.json").unlink()
    prepare.collect_static_files()
    assert called == ["collectstatic"] * 3


def test_a_data_folder_that_cannot_be_written_to_is_told_in_a_sentence(monkeypatch):
    def refuse():
        raise OperationalError("unable to open database file")

    monkeypatch.setattr("auditapp.demo.management.commands.prepare.find_pending_migrations", refuse)
    with pytest.raises(
        CommandError, match=r"cannot be opened or written to .*unable to open database file.* mounted read-only"
    ):
        call_command("prepare", "--no-demo")
