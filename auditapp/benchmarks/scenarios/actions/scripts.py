"""Writing scripts. New wording is the next number of the same name; no number is ever written over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db import transaction

from auditapp.benchmarks.scenarios.models import Question, Script
from auditapp.benchmarks.scenarios.pure.scripts import ScriptRefused, ScriptText, check_script
from transcripts.audit_trail import trail
from transcripts.history.models import NothingChanged
from transcripts.refusals import Refused
from transcripts.studies.models import Project
from transcripts.ui.typed_text import check_reason


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
    that they play. Raises ``Refused``.
    """
    try:
        check_script(script)
    except ScriptRefused as error:
        raise Refused(str(error), field=error.place) from None
    reason = check_reason(reason)
    row = Script(
        project=project,
        name=script.name,
        use=script.use,
        suite=script.suite,
        system=script.system,
        openings=[{"id": key, "text": text} for key, text in script.openings.items()],
        max_questions=script.max_questions,
        case=dict(script.case),
        consents=dict(script.consents),
        consent_basis=script.consent_basis,
        language=script.language,
        sha256=script.sha256,
    )
    latest = row.find_latest(based_on)
    row.reason = reason if latest else ""
    if latest is not None and latest.use != script.use:
        raise Refused(
            f"{latest.name} is the script of {latest.get_use_display().lower()}s in this study. Choose another name.",
            field="name",
        )
    row.store_after(latest, by=by)
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
    return row


@transaction.atomic
def load_scripts(*, project: Project, scripts: Sequence[ScriptText], by: trail.Actor, reason: str) -> LoadedScripts:
    """Store scripts of a file, all or none. Wording that a study has under the name already is left as it is.

    Raises ``Refused``, which names the script.
    """
    loaded = LoadedScripts([], [])
    for script in scripts:
        try:
            loaded.written.append(write_script(project=project, script=script, by=by, reason=reason))
        except NothingChanged as error:
            loaded.unchanged.append(error.latest)
        except Refused as error:
            raise Refused(f"{script.name}: {error}", field=error.field) from None
    return loaded
