"""Writing scripts. New wording is the next number of the same name; no number is ever written over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from auditapp.scenarios.errors import ScenarioError
from auditapp.scenarios.models import Question, Script
from auditapp.scenarios.pure.scripts import ScriptRefused, ScriptText, check_script
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Project

MAX_REASON = 2_000


class ScriptChanged(ScenarioError):
    """Somebody else wrote a number meanwhile; ``latest`` is what holds now."""

    def __init__(self, latest: Script) -> None:
        super().__init__(
            f"{latest.written_by_name} wrote number {latest.number} of {latest.name} after you opened this page. Nothing was "
            "stored. Read it first; your text is still in the form."
        )
        self.latest = latest


class LoadedScripts(NamedTuple):
    """What a file brought: the scripts that were written, and those of which the study has that wording already."""

    written: list[Script]
    unchanged: list[Script]


@transaction.atomic
def write_script(
    *, project: Project, script: ScriptText, by: trail.Actor, reason: str = "", based_on: int | None = None
) -> Script:
    """Store a new script, or the next number of one that is there, which needs a ``reason``.

    ``based_on``: the latest number that ``by`` saw, 0 for a name that is new; None for whatever holds. Plays keep the number
    that they play. Raises ``ScenarioError`` and ``ScriptChanged``.
    """
    _lock_scripts(project)
    latest = _find_latest(project, script.name)
    if based_on is not None and based_on != (latest.number if latest else 0):
        if latest is None:
            raise ScenarioError("There is no script of this name. Reload the page.", field="name")
        if not based_on:
            raise ScenarioError(
                f"There is a script named {latest.name} already. Write its next number, or choose another name.",
                field="name",
            )
        raise ScriptChanged(latest)
    if latest is not None and latest.sha256 == script.sha256:
        raise ScenarioError(
            f"This is the wording of number {latest.number}. Change it, or leave number {latest.number} as it is.",
            field="name",
        )
    return _store(project, script, latest, by=by, reason=reason)


@transaction.atomic
def load_scripts(*, project: Project, scripts: Sequence[ScriptText], by: trail.Actor, reason: str) -> LoadedScripts:
    """Store scripts of a file, all or none. Wording that a study has under the name already is left as it is.

    Raises ``ScenarioError``, which names the script.
    """
    _lock_scripts(project)
    loaded = LoadedScripts([], [])
    for script in scripts:
        latest = _find_latest(project, script.name)
        if latest is not None and latest.sha256 == script.sha256:
            loaded.unchanged.append(latest)
            continue
        try:
            loaded.written.append(_store(project, script, latest, by=by, reason=reason))
        except ScenarioError as error:
            raise ScenarioError(f"{script.name}: {error}", field=error.field) from None
    return loaded


def read_text(script: Script) -> ScriptText:
    """What a stored script says. One query."""
    return ScriptText(
        name=script.name,
        use=script.use,
        suite=script.suite,
        system=script.system,
        openings={opening["id"]: opening["text"] for opening in script.openings},
        max_questions=script.max_questions,
        case=script.case,
        consents=script.consents,
        consent_basis=script.consent_basis,
        language=script.language,
        questions=tuple(question.as_text() for question in script.questions.all()),
    )


def _lock_scripts(project: Project) -> None:
    # Numbers are given out one at a time.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)


def _find_latest(project: Project, name: str) -> Script | None:
    return Script.objects.filter(project=project, name__iexact=name).order_by("-number").first()


def _store(project: Project, script: ScriptText, latest: Script | None, *, by: trail.Actor, reason: str) -> Script:
    try:
        check_script(script)
    except ScriptRefused as error:
        raise ScenarioError(str(error), field=error.place) from None
    reason = reason.replace("\r\n", "\n").strip()
    if len(reason) > MAX_REASON:
        raise ScenarioError(f"The reason has {len(reason):,} characters; the limit is {MAX_REASON:,}.", field="reason")
    if latest is not None and latest.use != script.use:
        raise ScenarioError(
            f"{latest.name} is the script of {latest.get_use_display().lower()}s in this study. Choose another name.",
            field="name",
        )
    if latest is not None and not reason:
        raise ScenarioError(
            f"These are other words than in number {latest.number}. Say in a few words why the wording changes: the reason is kept "
            f"with number {latest.number + 1}.",
            field="reason",
        )
    row = Script.objects.create(
        project=project,
        name=latest.name if latest else script.name,
        number=latest.number + 1 if latest else 1,
        use=script.use,
        suite=script.suite,
        system=script.system,
        openings=[{"id": key, "text": text} for key, text in script.openings.items()],
        max_questions=script.max_questions,
        case=dict(script.case),
        consents=dict(script.consents),
        consent_basis=script.consent_basis,
        language=script.language,
        reason=reason if latest else "",
        sha256=script.sha256,
        written_at=timezone.now(),
        written_by_name=by.get_username(),
        written_by=by if isinstance(by, User) else None,
    )
    Question.objects.bulk_create(
        Question(
            script=row,
            position=position,
            kind=question.kind,
            intent=question.intent,
            text=question.text,
            text_if_asked=question.text_if_asked,
        )
        for position, question in enumerate(script.questions, 1)
    )
    trail.record(
        "scenarios.script.written",
        target=row,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"name": row.name, "number": row.number, "use": row.use, "sha256": row.sha256},
    )
    return row
