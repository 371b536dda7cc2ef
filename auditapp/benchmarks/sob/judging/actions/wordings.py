"""Write an instrument of a study's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from django.db import IntegrityError, transaction
from django.utils import timezone

from auditapp.benchmarks.sob.models import Wording
from auditapp.benchmarks.sob.pure.instruments import (
    BASE,
    TASKS,
    Instrument,
    UnknownInstrument,
    UnusableWording,
    check_text,
    get_instrument,
    list_variants,
    write_wording,
)
from auditapp.benchmarks.sob.pure.parsing import normalize_key
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.models import Project

MAX_NAME_LENGTH = 40
TAKEN = "There is already a wording {name}. A wording is never changed. Choose another name."
NOT_COMPARABLE = "Not comparable with the published figures, nor with any other wording."


@transaction.atomic
def add_wording(
    *,
    project: Project,
    name: str,
    based_on: str,
    characteristics: Sequence[str],
    by: trail.Actor,
    texts: Mapping[str, str] | None = None,
) -> list[Wording]:
    """Store a wording of both tasks under a new name. It is never edited afterwards; a change needs another name.

    ``based_on`` names the wording it comes from; a task without a text of its own in ``texts`` gets that wording with its
    list of characteristics replaced. Raises ``Refused``.
    """
    check_name(project, name)
    characteristics = [" ".join(each.split()) for each in characteristics]
    written = plan_texts(project=project, based_on=based_on, characteristics=characteristics, texts=texts)
    rows = [
        Wording(
            project=project,
            name=name,
            task=task,
            text=text,
            characteristics=[normalize_key(each) for each in characteristics],
            based_on=based_on,
            sha256=sha256(text.encode()).hexdigest(),
            made_by=by if isinstance(by, User) else None,
            made_by_name=by.get_username(),
            made_at=timezone.now(),
        )
        for task, text in written.items()
    ]
    _save_once(rows)
    trail.record(
        "sob.wording.added",
        target=rows[0],
        by=by,
        details={"name": name, "based_on": based_on, **{each.task: each.sha256 for each in rows}},
    )
    return rows


def _save_once(rows: list[Wording]) -> None:
    try:
        with transaction.atomic():
            for row in rows:
                row.save(force_insert=True)
    except IntegrityError as error:
        raise Refused(TAKEN.format(name=rows[0].name)) from error


def plan_texts(
    *, project: Project, based_on: str, characteristics: Sequence[str], texts: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The text of each task as it would be kept; writes nothing. Raises ``Refused``."""
    planned: dict[str, str] = {}
    for task, label in TASKS:
        # Forms send line ends as browsers do; an instrument has one kind.
        own = (texts or {}).get(task, "").replace("\r\n", "\n")
        try:
            base = find_instrument(task, based_on, project)
            planned[task] = own if own.strip() else write_wording(base, characteristics)
            check_text(planned[task], characteristics)
        except UnusableWording as error:
            raise Refused(f"{label}: {error}") from error
    return planned


def check_name(project: Project, name: str) -> None:
    """Refuse a name that a wording cannot have. Raises ``Refused``."""
    if (
        not name
        or len(name) > MAX_NAME_LENGTH
        or not all(each.isascii() and (each.isalnum() or each in "-_") for each in name)
    ):
        raise Refused(
            f"A wording needs a name of up to {MAX_NAME_LENGTH} letters, digits, hyphens and underscores, without spaces."
        )
    if name in {*list_variants(), BASE}:
        raise Refused(f"{name} is the name of a built-in wording. Choose another one.")
    if Wording.objects.filter(project=project, name=name).exists():
        raise Refused(TAKEN.format(name=name))


def find_instrument(task: str, variant: str, project: Project | None = None) -> Instrument:
    """A published instrument, or the study's own wording of that name. Raises ``Refused`` naming those there are."""
    own = Wording.objects.filter(project=project, name=variant, task=task).first() if project else None
    if own is not None:
        return read_wording(own)
    try:
        return get_instrument(task, variant)
    except UnknownInstrument as error:
        names = Wording.objects.filter(project=project, task=task).values_list("name", flat=True) if project else []
        more = f"; wordings of this study: {', '.join(names)}" if names else ""
        raise Refused(f"{error}{more}") from error


def read_wording(wording: Wording) -> Instrument:
    """A study's own wording as an instrument."""
    return Instrument(
        task=wording.task,
        variant=wording.name,
        text=wording.text,
        source=f"written in this study by {wording.made_by_name}, from the wording {wording.based_on}",
        note=NOT_COMPARABLE,
        characteristics=tuple(wording.characteristics),
        comparable=False,
    )
