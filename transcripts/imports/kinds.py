"""What a worker can carry out. Each room registers its kinds in its ``registrations``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from django.forms import Form
from django.http import QueryDict

from transcripts.accounts.models import User
from transcripts.imports.models import ImportJob
from transcripts.imports.runs import JobRun
from transcripts.projects.registrations import load_registrations
from transcripts.projects.roles import Permission, Role


def import_permission(_job: ImportJob) -> Permission:
    """The permission that imports need."""
    return Permission.IMPORT


class JobKind(NamedTuple):
    """One kind of job.

    ``run`` reads the files of a run, stores what they hold and calls ``JobRun.finish`` in the transaction that makes it
    visible; where the job is only to be checked it stores nothing. Raises ``Refused``. ``template`` shows the
    ``outcome`` of a job, ``page`` is the name of the address where one starts another. ``permission`` is what a person needs
    for this job, whom ``is_own`` makes the only one to see it; ``check_taking`` raises ``Refused`` where she may no
    longer take the file that it made. ``read_choices`` reads what she chose after a check; it is added to the options.
    ``make_form`` makes a form of it, for the template and to refuse what cannot be chosen.
    """

    name: str
    label: str
    # What progress counts, in the plural.
    counted: str
    run: Callable[[JobRun], None]
    template: str
    page: str
    noun: str = "import"
    permission: Callable[[ImportJob], Permission] = import_permission
    is_own: bool = False
    check_taking: Callable[[ImportJob, User, Role], None] = lambda _job, _user, _role: None
    read_choices: Callable[[QueryDict], Mapping[str, object]] = lambda _data: {}
    make_form: Callable[[QueryDict | None, Mapping[str, object]], Form] | None = None


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
