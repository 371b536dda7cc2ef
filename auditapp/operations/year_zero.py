"""Databases from before 29 November 2026, when the migrations of each room were joined into one. No release had been made.

A database that has all migrations of then has the tables of now: its list of migrations is written again, and nothing else. To be
deleted with release 1.0.
"""

from __future__ import annotations

from collections.abc import Collection

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.migrations.recorder import MigrationRecorder

from transcripts.refusals import Refused

# The last migration of each room then.
LAST = {
    "accounts": "0007_fill_scopes",
    "agreement": "0003_idempotency_keys",
    "audit_trail": "0005_rows_found",
    "batches": "0013_jobs_gone_since",
    "codebook": "0008_whose_turns",
    "coding": "0013_openings_of_conditions",
    "corpus": "0017_ids_of_masked_threads",
    "experiments": "0001_start",
    "imports": "0002_results",
    "llm": "0010_grants",
    "negotiation": "0002_the_program_writes_too",
    "preannotation": "0014_answers_of_suggestions",
    "probe": "0002_withdrawn_purposes",
    "projects": "0005_skipped_steps",
    "revision": "0002_idempotency_keys",
    "rounds": "0005_closing_the_rest",
    "scenarios": "0001_start",
    "sob": "0009_datasets_come_in_by_parts",
    "themes": "0001_squashed_0001_start",
    "webhooks": "0001_start",
}
FIRST = ("accounts", "0001_start")
INITIAL = "0001_initial"
COMMIT = "fbda7f8c of 28 November 2026"
TOO_OLD = (
    f"This database is older than the commit {COMMIT}, whose migrations it needs first. Nothing was changed. "
    "Check that commit out, run manage.py migrate with it, then go on with this version."
)


def is_from_before(applied: Collection[tuple[str, str]]) -> bool:
    """Whether migrations, as app and name, are those from before. Raises ``Refused`` where some of them are missing."""
    if FIRST not in applied:
        return False
    if not LAST.items() <= set(applied):
        raise Refused(TOO_OLD)
    return True


def needs_year_zero(database: str = DEFAULT_DB_ALIAS) -> bool:
    """Whether a database has the migrations from before. Raises ``Refused`` where some of them are missing."""
    return is_from_before(MigrationRecorder(connections[database]).applied_migrations())


def bring_to_year_zero(database: str = DEFAULT_DB_ALIAS) -> bool:
    """Record the joined migrations in place of those they were made from; whether there was anything to do.

    Raises ``Refused`` for a database that has not got them all.
    """
    recorder = MigrationRecorder(connections[database])
    if not needs_year_zero(database):
        return False
    labels = [config.label for config in apps.get_app_configs() if config.label in LAST]
    with transaction.atomic(using=database):
        recorder.migration_qs.filter(app__in=labels).delete()
        for label in labels:
            recorder.record_applied(label, INITIAL)
    return True
