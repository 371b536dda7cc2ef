"""Showing a person what machines say of a sentence: after her own decision, on record, and never on a withheld turn."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from auditapp.annotators.actions.withholding import ensure_arms
from auditapp.annotators.models import TurnArm
from auditapp.annotators.queries.withholding import find_arms, is_draft
from auditapp.suggestions.models import Showing
from auditapp.suggestions.queries.panel import PanelState, find_showing, read_panel
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.blinding.actions import find_open_draft
from transcripts.codebook.models import CodeFamily
from transcripts.coding.actions import NotDecided, reveal_suggestions
from transcripts.coding.next_sentence import QUESTION_UNDECIDED, is_question_decided
from transcripts.coding.queries import ActiveLabels, read_active_labels
from transcripts.corpus.models import Sentence, Turn
from transcripts.refusals import Refused
from transcripts.studies.models import Project

Arm = TurnArm.Arm
# Whose turns machines may annotate.
READ_ROLES = (Turn.Role.MODEL, Turn.Role.INTERVIEWER)


@transaction.atomic
def show_suggestions(*, project: Project, sentence: Sentence, by: User) -> PanelState:
    """Show what annotators suggest for the sentence and store that they were shown. Reads sentence.turn.interview.

    What is suggested for the whole turn is shown at its first sentence, after her decision on every sentence of it. Of a turn
    of the interviewer nothing else is suggested; she is through with one as ``coding/next_sentence.py`` says, and it is withheld
    where its answer is.

    Before her own decision only in a draft interview, which opens it for good: what she codes there from now on is
    assisted. On a withheld turn nothing is revealed, so she stays blind. Raises ``NotDecided`` or ``Refused``.
    """
    turn = sentence.turn
    if turn.interview.project_id != project.pk:
        raise Refused("This sentence is not part of this study.")
    current = read_active_labels(sentence.pk, by.pk)
    reads_draft = is_draft(turn.interview_id)
    is_question = turn.role == Turn.Role.INTERVIEWER
    is_through = is_question and is_question_decided(turn, by.pk)
    if is_question and not (reads_draft or is_through):
        raise NotDecided(QUESTION_UNDECIDED)
    if not (is_question or reads_draft or current.decision_id or current.is_revealed):
        raise NotDecided("Decide on this sentence first (Enter at the desk). Then you can open its suggestions.")
    if turn.role not in READ_ROLES or turn.channel != Turn.Channel.UTTERANCE:
        return PanelState()
    # Her own looks are stored one after the other; other people's go on meanwhile.
    User.objects.select_for_update(no_key=True).get(pk=by.pk)
    former = find_showing(sentence, by)
    arms = find_arms([turn.pk])
    if not arms and ensure_arms(project=project, interviews=[turn.interview_id], by=by):
        arms = find_arms([turn.pk])
    if arms and arms[turn.pk].arm == Arm.WITHHELD:
        panel = PanelState(is_draft=reads_draft, is_withheld=True)
    else:
        logged = former.suggestions if former else ()
        panel = read_panel(project, sentence, by, logged=logged, is_draft=reads_draft, is_through=is_through)
        if not panel.annotators:
            return panel
        if reads_draft:
            find_open_draft(project=project, interview=turn.interview, by=by)
        else:
            if not current.is_revealed:
                reveal_suggestions(project=project, sentence=sentence, by=by)
            # What is said of the whole turn is said of all of it: what she codes anywhere in it from now on is assisted.
            for other in Sentence.objects.select_related("turn__interview").filter(pk__in=panel.turn_sentences):
                reveal_suggestions(project=project, sentence=other, by=by)
    panel.showing = _store_look(project, sentence, by, panel, former=former, current=current)
    return panel


def _store_look(
    project: Project, sentence: Sentence, by: User, panel: PanelState, *, former: Showing | None, current: ActiveLabels
) -> Showing:
    """Her look at the panel: the ``former``, if she saw exactly that before. Looks at other sentences are closed."""
    arm = Arm.WITHHELD if panel.is_withheld else Arm.SHOWN
    suggestions = [offer["suggestion"].pk for offer in panel.offers]
    if former is not None and former.arm == arm and set(former.suggestions) == set(suggestions):
        return former
    unit = CodeFamily.Unit.TURN if sentence.turn.role == Turn.Role.INTERVIEWER else CodeFamily.Unit.SENTENCE
    closed, now = _list_open(project, by), timezone.now()
    Showing.objects.filter(pk__in=closed).update(closed_at=now)
    look = Showing.objects.create(
        sentence=sentence,
        coder=by,
        arm=arm,
        is_draft=panel.is_draft and not panel.is_withheld,
        suggestions=suggestions,
        own_codes=sorted(coding.identifier for coding in current.codings if coding.unit == unit),
        shown_at=now,
    )
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
