"""Case sheets: which features matter to the case of a thread, and which do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import transaction

from transcripts.audit_trail import trail
from transcripts.corpus.models import Interview, Turn
from transcripts.negotiation.models import CaseSheet
from transcripts.negotiation.queries.cases import list_features
from transcripts.refusals import WrongInput
from transcripts.studies.models import Project
from transcripts.ui.typed_text import MAX_REASON, check_reason, check_text

MAX_INTENT = 100
Listed = Sequence[Mapping[str, str]]


@transaction.atomic
def write_case_sheet(
    *,
    project: Project,
    interview: Interview,
    relevant: Listed,
    irrelevant: Listed,
    intents: Mapping[str, str] | None = None,
    reason: str = "",
    by: trail.Actor,
    based_on: int | None = None,
) -> CaseSheet:
    """Write the case sheet of a thread, or its next number, which needs a ``reason``.

    ``relevant`` and ``irrelevant``: [{"feature": identifier, "reason": why}]. ``intents``: what the interviewer meant her
    turns to be, by their positions as text; without them those of the number before are kept. Both lists may be empty where there
    are intents. ``based_on``: the latest number
    that ``by`` saw, 0 where there was none. Raises ``Refused``.
    """
    # One that is excluded is of the study all the same.
    if interview.study_id != project.pk:
        raise WrongInput("This interview is not part of this study.", field="interview")
    sheet = CaseSheet(interview=interview, reason=check_reason(reason))
    latest = sheet.find_latest(based_on)
    sheet.relevant, sheet.irrelevant = _check_features(project, relevant, irrelevant)
    sheet.intents = _check_intents(interview, intents) if intents is not None else latest.intents if latest else {}
    if not (sheet.relevant or sheet.irrelevant or sheet.intents):
        raise WrongInput("List at least one feature as relevant or as irrelevant.", field="relevant")
    return sheet.store_after(latest, by=by)


def _check_features(project: Project, *lists: Listed) -> list[list[dict[str, str]]]:
    known = list_features(project)
    checked: list[list[dict[str, str]]] = []
    seen: dict[str, str] = {}
    for field, listed in zip(("relevant", "irrelevant"), lists, strict=True):
        rows = []
        for each in listed:
            feature = each.get("feature", "").strip()
            if feature not in known:
                there_are = f"This study has {', '.join(known)}." if known else "This study has no features to choose."
                raise WrongInput(f"There is no feature “{feature[:100]}”. {there_are}", field=field)
            if feature in seen:
                twice = "twice" if seen[feature] == field else "as relevant and as irrelevant"
                raise WrongInput(f"{known[feature]} is listed {twice}. List it once.", field=field)
            seen[feature] = field
            needed = f"Say why {known[feature]} is {field}."
            why = check_text(each.get("reason", ""), field=field, max_length=MAX_REASON, needed=needed)
            rows.append({"feature": feature, "reason": why})
        # In the order of the codebook, so that the same lists are stored alike.
        order = list(known)
        checked.append(sorted(rows, key=lambda row: order.index(row["feature"])))
    return checked


def _check_intents(interview: Interview, intents: Mapping[str, str]) -> dict[str, str]:
    asked = interview.turns.filter(role=Turn.Role.INTERVIEWER).order_by("position")
    positions = [str(position) for position in asked.values_list("position", flat=True)]
    checked = {}
    for position, kind in intents.items():
        if position not in positions:
            raise WrongInput(
                f"Turn {position[:20]} is not one of the interviewer’s turns: {', '.join(positions) or 'there are none'}.",
                field="intents",
            )
        needed = f"Say what turn {position} was meant to be, or leave it out."
        checked[position] = check_text(kind, field="intents", max_length=MAX_INTENT, needed=needed)
    return {position: checked[position] for position in positions if position in checked}
