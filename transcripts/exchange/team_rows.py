"""Rows of how a team works: rounds, assignments, the method stance, adjudications, anchor readings, proposals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import Q

from transcripts.agreement.models import Adjudication
from transcripts.codebook.models import CodeProposal
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import PLACE, columns, find_place, label_sentences, quote_sentences, stream
from transcripts.projects.models import MethodStance
from transcripts.revision.models import AnchorReading, AnchorSentence
from transcripts.rounds.models import Assignment, Round

STANCES = columns(
    MethodStance,
    "project family stance reason set set_by",
    project="project__slug",
    set="set_at",
    set_by="set_by_name",
)

ROUNDS = columns(
    Round,
    "project round name instructions overlap_percent overlap_readers seed opened opened_by locked locked_by",
    project="project__slug",
    round="number",
    opened="opened_at",
    opened_by="opened_by_name",
    locked="locked_at",
    locked_by="locked_by__username",
)

ASSIGNMENTS = columns(
    Assignment,
    "project round interview model coder assigned assigned_by signed withdrawn",
    project="round__project__slug",
    round="round__number",
    interview="interview__external_id",
    model="interview__model_label",
    coder="coder__username",
    assigned="assigned_at",
    assigned_by="assigned_by_name",
    signed="signed_at",
    withdrawn="withdrawn_at",
)

ADJUDICATIONS = columns(
    Adjudication,
    f"{PLACE} text family readings outcome chosen_coder codes reason adjudicator revision created withdrawn superseded_by "
    "adjudication_id",
    **find_place(),
    text="quoted",
    family="family_identifier",
    chosen_coder="chosen_coder__username",
    adjudicator="adjudicator__username",
    created="created_at",
    withdrawn="withdrawn_at",
    adjudication_id="pk",
)

ANCHORS = columns(
    AnchorSentence,
    f"{PLACE} text added added_by removed",
    **find_place(),
    text="quoted",
    added="added_at",
    added_by="added_by_name",
    removed="removed_at",
)

ANCHOR_READINGS = columns(
    AnchorReading,
    f"{PLACE} codebook_version coder codes read",
    **find_place(),
    codebook_version="version__number",
    coder="coder__username",
    read="read_at",
)

PROPOSALS = columns(
    CodeProposal,
    "project name definition family interview sentence_id sentence_label in_vivo proposed_by proposed state code_id answer "
    "answered answered_by",
    project="project__slug",
    family="family_identifier",
    interview="sentence__turn__interview__external_id",
    sentence_label="label",
    in_vivo="is_in_vivo",
    proposed_by="proposed_by__username",
    proposed="proposed_at",
    code_id=("code__identifier", "The code it became."),
    answered="answered_at",
    answered_by="answered_by__username",
)


def read_stances(scope: Scope) -> Iterator[Sequence[object]]:
    """Every switch of the method."""
    return stream(MethodStance.objects.filter(project=scope.project).order_by("pk"), STANCES)


def read_rounds(scope: Scope) -> Iterator[Sequence[object]]:
    """Every round."""
    return stream(Round.objects.filter(project=scope.project).order_by("number"), ROUNDS)


def read_assignments(scope: Scope) -> Iterator[Sequence[object]]:
    """Who was to code what, withdrawn assignments included."""
    assignments = scope.keep(Assignment.objects.filter(scope.within("interview")), "coder")
    return stream(assignments.order_by("pk"), ASSIGNMENTS)


def read_adjudications(scope: Scope) -> Iterator[Sequence[object]]:
    """Every decision on differing readings, with those readings; later ones supersede earlier."""
    adjudications = Adjudication.objects.filter(scope.within("sentence__turn__interview"))
    return stream(quote_sentences(label_sentences(adjudications)).order_by("pk"), ADJUDICATIONS)


def read_anchors(scope: Scope) -> Iterator[Sequence[object]]:
    """The sentences that anchor meaning, removed ones included."""
    anchors = AnchorSentence.objects.filter(scope.within("sentence__turn__interview"))
    return stream(quote_sentences(label_sentences(anchors)).order_by("pk"), ANCHORS)


def read_anchor_readings(scope: Scope) -> Iterator[Sequence[object]]:
    """What was read in them under which codebook version."""
    readings = scope.keep(AnchorReading.objects.filter(scope.within("sentence__turn__interview")), "coder")
    return stream(label_sentences(readings).order_by("pk"), ANCHOR_READINGS)


def read_proposals(scope: Scope) -> Iterator[Sequence[object]]:
    """Codes that were proposed, and what was answered."""
    proposals = scope.keep(CodeProposal.objects.filter(project=scope.project), "proposed_by")
    proposals = proposals.filter(Q(sentence__isnull=True) | scope.within("sentence__turn__interview"))
    return stream(label_sentences(proposals).order_by("pk"), PROPOSALS)
