"""What is on record of consent, as pages and the command show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from transcripts.corpus.models import Consent, Interview
from transcripts.projects.models import Project

GIVEN, REFUSED, UNKNOWN = "given", "refused", "unknown"
STATES = {GIVEN: "given", REFUSED: "not given", UNKNOWN: "nothing on record"}

# Whether it is given, by interview and scope; what nobody recorded is missing.
Held = Mapping[tuple[int, str], bool]


class ScopeState(NamedTuple):
    """What holds for an interview in one scope."""

    scope: str
    label: str
    state: str

    @property
    def words(self) -> str:
        return STATES[self.state]


class ConsentLine(NamedTuple):
    """An interview with what holds in every scope."""

    pk: int
    title: str
    model_label: str
    scopes: list[ScopeState]

    def holds(self, scope: str, state: str) -> bool:
        """Whether the interview stands like this in a scope."""
        return any(each.scope == scope and each.state == state for each in self.scopes)


def list_consents(project: Project) -> list[ConsentLine]:
    """Every interview of the study with what holds for it: two queries."""
    records = Consent.objects.filter(interview__project=project).order_by("pk")
    held: dict[tuple[int, str], bool] = {
        (interview_id, scope): is_given
        for interview_id, scope, is_given in records.values_list("interview_id", "scope", "is_given")
    }
    rows = project.interviews.order_by("pk").values_list("pk", "title", "model_label")
    return [ConsentLine(pk, title, model, _list_scopes(pk, held)) for pk, title, model in rows]


def list_scopes(interview: Interview) -> list[ScopeState]:
    """What holds for one interview: one query."""
    records = interview.consents.order_by("pk").values_list("scope", "is_given")
    return _list_scopes(interview.pk, {(interview.pk, scope): is_given for scope, is_given in records})


def count_states(lines: Sequence[ConsentLine]) -> list[dict[str, Any]]:
    """How many of these interviews stand how, scope by scope."""
    return [
        {
            "scope": scope.value,
            "label": scope.label,
            **{state: sum(line.holds(scope, state) for line in lines) for state in STATES},
        }
        for scope in Consent.Scope
    ]


def _list_scopes(interview_id: int, held: Held) -> list[ScopeState]:
    return [
        ScopeState(scope.value, str(scope.label), _name_state(held.get((interview_id, scope.value))))
        for scope in Consent.Scope
    ]


def _name_state(is_given: bool | None) -> str:
    if is_given is None:
        return UNKNOWN
    return GIVEN if is_given else REFUSED
