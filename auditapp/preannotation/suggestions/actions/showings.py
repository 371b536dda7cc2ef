"""Showing a person what machines say of a sentence: after her own decision, on record, and never on a withheld turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from auditapp.preannotation.models import Showing, Suggestion, TurnArm
from auditapp.preannotation.suggestions.actions.withholding import ensure_arms
from auditapp.preannotation.suggestions.queries.arms import find_arms, is_draft
from auditapp.preannotation.suggestions.queries.panel import find_look_at, find_showing, list_offers, read_panel
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.blinding.actions import find_open_draft
from transcripts.codebook.models import CodeFamily
from transcripts.coding.actions import NotDecided, reveal_suggestions
from transcripts.coding.queries import ActiveLabels, read_active_labels
from transcripts.coding.questions import QUESTION_UNDECIDED, is_question_decided
from transcripts.corpus.models import Sentence, Turn
from transcripts.projects.models import Project
from transcripts.refusals import Refused

Arm = TurnArm.Arm
# Whose turns machines may annotate.
READ_ROLES = (Turn.Role.MODEL, Turn.Role.INTERVIEWER)

# What a person sees where machines do not annotate the turn, or where it is withheld.
NOTHING: dict[str, Any] = {"annotators": [], "flags": [], "showing": None, "is_withheld": False, "is_draft": False}
NOTHING |= {"waits_for_turn": False, "turn_sentences": []}


@transaction.atomic
def show_suggestions(*, project: Project, sentence: Sentence, by: User) -> dict[str, Any]:
    """Show what annotators suggest for the sentence and store that they were shown. Reads sentence.turn.interview.

    Gives what ``read_panel`` does, with whether the turn ``is_withheld``, whether the interview ``is_draft``, and the
    ``showing``, ``None`` where there was nothing to show, which leaves her as blind as before.

    What is suggested for the whole turn is shown at its first sentence, after her decision on every sentence of it. Of a turn
    of the interviewer nothing else is suggested; she is through with one as ``coding/questions.py`` says, and it is withheld
    where its answer is.

    Before her own decision only in a draft interview, which opens it for good: what she codes there from now on is
    assisted. On a withheld turn nothing is revealed, so she stays blind. Raises ``NotDecided`` or ``Refused``.
    """
    if sentence.turn.interview.project_id != project.pk:
        raise Refused("This sentence is not part of this study.")
    current = read_active_labels(sentence.pk, by.pk)
    reads_draft = is_draft(sentence.turn.interview_id)
    is_question = sentence.turn.role == Turn.Role.INTERVIEWER
    is_through = is_question and is_question_decided(sentence.turn, by.pk)
    if is_question and not (reads_draft or is_through):
        raise NotDecided(QUESTION_UNDECIDED)
    if not (is_question or reads_draft or current.decision_id or current.is_revealed):
        raise NotDecided("Decide on this sentence first (Enter at the desk). Then you can open its suggestions.")
    if sentence.turn.role not in READ_ROLES or sentence.turn.channel != Turn.Channel.UTTERANCE:
        return dict(NOTHING)
    # Her own looks are stored one after the other; other people's go on meanwhile.
    User.objects.select_for_update(no_key=True).get(pk=by.pk)
    former = find_showing(sentence, by)
    if _find_arm(project, sentence, by) == Arm.WITHHELD:
        withheld = _make_showing(sentence, by, current, arm=Arm.WITHHELD)
        showing = _store(withheld, former, project, by)
        return NOTHING | {"showing": showing, "is_withheld": True, "is_draft": reads_draft}
    logged = former.suggestions if former else ()
    panel = read_panel(project, sentence, by, logged=logged, before_decision=reads_draft or is_through)
    panel |= {"showing": None, "is_withheld": False, "is_draft": reads_draft}
    if not panel["annotators"]:
        return panel
    if reads_draft:
        find_open_draft(project=project, interview=sentence.turn.interview, by=by)
    else:
        if not current.is_revealed:
            reveal_suggestions(project=project, sentence=sentence, by=by)
        # What is said of the whole turn is said of all of it: what she codes anywhere in it from now on is assisted.
        for other in Sentence.objects.select_related("turn__interview").filter(pk__in=panel["turn_sentences"]):
            reveal_suggestions(project=project, sentence=other, by=by)
    suggestions = [offer["suggestion"].pk for offer in list_offers(panel)]
    shown = _make_showing(sentence, by, current, arm=Arm.SHOWN, suggestions=suggestions, is_draft=reads_draft)
    return panel | {"showing": _store(shown, former, project, by)}


def _find_arm(project: Project, sentence: Sentence, by: User) -> str:
    arms = find_arms([sentence.turn_id])
    if not arms and ensure_arms(project=project, interviews=[sentence.turn.interview_id], by=by):
        arms = find_arms([sentence.turn_id])
    return arms[sentence.turn_id].arm if arms else Arm.SHOWN


def _make_showing(
    sentence: Sentence,
    by: User,
    current: ActiveLabels,
    *,
    arm: str,
    suggestions: Sequence[int] = (),
    is_draft: bool = False,
) -> Showing:
    """A look, not yet stored."""
    is_question = sentence.turn.role == Turn.Role.INTERVIEWER
    unit = CodeFamily.Unit.TURN if is_question else CodeFamily.Unit.SENTENCE
    own = sorted(coding.identifier for coding in current.codings if coding.unit == unit)
    return Showing(
        sentence=sentence,
        coder=by,
        arm=arm,
        is_draft=is_draft,
        suggestions=list(suggestions),
        own_codes=own,
        shown_at=timezone.now(),
    )


def _store(look: Showing, former: Showing | None, project: Project, by: User) -> Showing:
    """The current look: ``look``, unless she saw exactly that before. Looks at other sentences are closed."""
    if former is not None and former.arm == look.arm and set(former.suggestions) == set(look.suggestions):
        return former
    closed = _list_open(project, by)
    Showing.objects.filter(pk__in=closed).update(closed_at=look.shown_at)
    look.save(force_insert=True)
    trail.record(
        "preannotation.shown",
        target=look,
        by=by,
        stream=trail.project_stream(project.pk),
        details={
            "sentence": look.sentence_id,
            "arm": look.arm,
            "suggestions": look.suggestions,
            "draft": look.is_draft,
            **({"closed": closed} if closed else {}),
        },
    )
    return look


@transaction.atomic
def close_showings(*, project: Project, by: User) -> int:
    """Say that she has moved on: her looks that are open are closed; how many there were."""
    closed = _list_open(project, by)
    if not Showing.objects.filter(pk__in=closed, closed_at__isnull=True).update(closed_at=timezone.now()):
        return 0
    trail.record(
        "preannotation.closed",
        target=by,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"showings": closed},
    )
    return len(closed)


def _list_open(project: Project, by: User) -> list[int]:
    looks = Showing.objects.filter(coder=by, closed_at__isnull=True, sentence__turn__interview__project=project)
    return list(looks.order_by("pk").values_list("pk", flat=True))


def require_shown(suggestion: Suggestion, sentence: Sentence | None, by: User) -> Showing:
    """Her look at the suggestion: the last at the ``sentence`` it is read at, or, after a boundary edit, one
    from before. Reads suggestion.sentence. Raises ``Refused`` where she never had one."""
    turn = suggestion.sentence.turn_id
    arms = find_arms([turn])
    showing = (find_showing(sentence, by) if sentence else None) or find_look_at(suggestion, by)
    is_withheld = bool(arms) and arms[turn].arm == Arm.WITHHELD
    if is_withheld or showing is None or suggestion.pk not in showing.suggestions:
        raise Refused("Decide on the sentence yourself first. Then its suggestions are shown.")
    return showing
