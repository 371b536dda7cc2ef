"""What can be imported by a worker. Each room registers its kinds in its ``registrations``."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from transcripts.imports.runs import JobRun
from transcripts.projects.registrations import load_registrations


class JobKind(NamedTuple):
    """One kind of import.

    ``run`` reads the files of a run, stores what they hold and calls ``JobRun.finish`` in the transaction that makes it
    visible; where the job is only to be checked it stores nothing. Raises ``JobRefused``. ``template`` shows the
    ``outcome`` of a job, ``page`` is the name of the address where one starts another.
    """

    name: str
    label: str
    # What progress counts, in the plural.
    counted: str
    run: Callable[[JobRun], None]
    template: str
    page: str


_kinds: dict[str, JobKind] = {}
_notifiers: list[Callable[[int], object]] = []


def register_job_kind(kind: JobKind) -> None:
    """Add a kind. Called in an app's ``registrations``."""
    _kinds[kind.name] = kind


def find_kind(name: str) -> JobKind:
    """The kind of this name. Raises ``KeyError``."""
    load_registrations()
    return _kinds[name]


def register_notifier(notify: Callable[[int], object]) -> None:
    """Have ``notify`` called with the id of each job that begins to wait. Called in an app's ``registrations``."""
    _notifiers.append(notify)


def notify_workers(job_id: int) -> None:
    """Tell workers of a job at once. Should that be lost, they find it within seconds all the same."""
    load_registrations()
    for notify in _notifiers:
        notify(job_id)
