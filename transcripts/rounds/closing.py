"""What the closing of an account, leaving a study, and the end of a round lead to."""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import Count, Exists, OuterRef

from transcripts.accounts.models import User
from transcripts.rounds.models import Assignment, Round
from transcripts.studies.models import Project
from transcripts.studies.registrations import load_registrations

_listeners: list[Callable[[Round], None]] = []


def list_notes(user: User) -> list[str]:
    """A sentence for each open round with interviews that only this person is still to code."""
    active = Assignment.objects.filter(withdrawn_at__isnull=True)
    others = active.filter(round=OuterRef("round"), interview=OuterRef("interview"), coder__is_active=True).exclude(
        coder=user
    )
    left = active.filter(coder=user, signed_at__isnull=True, round__locked_at__isnull=True).exclude(Exists(others))
    rounds = (
        Round.objects.filter(pk__in=left.values("round")).select_related("project").order_by("project__name", "number")
    )
    counts = {each.pk: left.filter(round=each).count() for each in rounds}
    return [
        f"Round {each.number} of the study {each.project.name}: {counts[each.pk]} "
        f"{'interview is' if counts[each.pk] == 1 else 'interviews are'} assigned to nobody else and not signed off. "
        "Assign them to somebody on the page of the round."
        for each in rounds
    ]


def list_assigned(project: Project, user: User) -> list[str]:
    """A sentence for each open round of the study with interviews that are assigned to this person and not signed off."""
    left = Assignment.objects.counted().filter(
        round__project=project, coder=user, signed_at__isnull=True, round__locked_at__isnull=True
    )
    numbers = left.order_by("round__number").values_list("round__number").annotate(n=Count("pk"))
    return [
        f"Round {number}: {n} {'interview is' if n == 1 else 'interviews are'} assigned to {user.username} and not signed off. "
        f"{'It stays' if n == 1 else 'They stay'} so, and the round does not end, until somebody takes "
        f"{'it' if n == 1 else 'them'} back or assigns {'it' if n == 1 else 'them'} to somebody else on the page of the round."
        for number, n in numbers
    ]


def register_round_finished(listener: Callable[[Round], None]) -> None:
    """Call ``listener`` inside the transaction that signs off, or takes away, the last open assignment of a round. It is called
    again where one is returned and signed off anew. Called once, in an app's ``registrations``."""
    _listeners.append(listener)


def announce_if_finished(round_: Round) -> None:
    """Tell every part that asked for it, if nothing of the round is left to be signed off. The round's row is locked."""
    counted = round_.assignments.counted()
    if counted.filter(signed_at__isnull=True).exists() or not counted.exists():
        return
    load_registrations()
    for listener in _listeners:
        listener(round_)
