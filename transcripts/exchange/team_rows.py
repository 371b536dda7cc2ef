"""Rows of how a team works: rounds, assignments, the method stance, adjudications, anchor readings, proposals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transcripts.agreement.models import Adjudication
from transcripts.codebook.models import CodeProposal
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import label_sentences, place_columns, quote_sentences, stream
from transcripts.projects.models import MethodStance
from transcripts.revision.models import AnchorReading, AnchorSentence
from transcripts.rounds.models import Assignment, Round

STANCES = {
    "project": "project__slug",
    "family": "family",
    "stance": "stance",
    "reason": "reason",
    "set": "set_at",
    "set_by": "set_by_name",
}

ROUNDS = {
    "project": "project__slug",
    "round": "number",
    "name": "name",
    "instructions": "instructions",
    "overlap_percent": "overlap_percent",
    "overlap_readers": "overlap_readers",
    "seed": "seed",
    "opened": "opened_at",
    "opened_by": "opened_by_name",
    "locked": "locked_at",
    "locked_by": "locked_by__username",
}

ASSIGNMENTS = {
    "project": "round__project__slug",
    "round": "round__number",
    "interview": "interview__external_id",
    "model": "interview__model_label",
    "coder": "coder__username",
    "assigned": "assigned_at",
    "assigned_by": "assigned_by_name",
    "signed": "signed_at",
    "withdrawn": "withdrawn_at",
}

ADJUDICATIONS = {
    **place_columns(),
    "text": "quoted",
    "family": "family_identifier",
    "readings": "readings",
    "outcome": "outcome",
    "chosen_coder": "chosen_coder__username",
    "codes": "codes",
    "reason": "reason",
    "adjudicator": "adjudicator__username",
    "revision": "revision",
    "created": "created_at",
    "withdrawn": "withdrawn_at",
    "superseded_by": "superseded_by_id",
    "adjudication_id": "pk",
}

ANCHORS = {
    **place_columns(),
    "text": "quoted",
    "added": "added_at",
    "added_by": "added_by_name",
    "removed": "removed_at",
}

ANCHOR_READINGS = {
    **place_columns(),
    "codebook_version": "version__number",
    "coder": "coder__username",
    "codes": "codes",
    "read": "read_at",
}

PROPOSALS = {
    "project": "project__slug",
    "name": "name",
    "definition": "definition",
    "family": "family_identifier",
    "interview": "sentence__turn__interview__external_id",
    "sentence_id": "sentence_id",
    "sentence_label": "label",
    "in_vivo": "is_in_vivo",
    "proposed_by": "proposed_by__username",
    "proposed": "proposed_at",
    "state": "state",
    "code_id": "code__identifier",
    "answer": "answer",
    "answered": "answered_at",
    "answered_by": "answered_by__username",
}


def read_stances(scope: Scope) -> Iterator[Sequence[object]]:
    """Every switch of the method."""
    return stream(MethodStance.objects.filter(project=scope.project).order_by("pk"), STANCES)


def read_rounds(scope: Scope) -> Iterator[Sequence[object]]:
    """Every round."""
    return stream(Round.objects.filter(project=scope.project).order_by("number"), ROUNDS)


def read_assignments(scope: Scope) -> Iterator[Sequence[object]]:
    """Who was to code what, withdrawn assignments included."""
    assignments = Assignment.objects.filter(round__project=scope.project)
    if scope.only is not None:
        assignments = assignments.filter(coder=scope.only)
    return stream(assignments.order_by("pk"), ASSIGNMENTS)


def read_adjudications(scope: Scope) -> Iterator[Sequence[object]]:
    """Every decision on differing readings, with those readings; later ones supersede earlier."""
    adjudications = Adjudication.objects.filter(project=scope.project)
    return stream(quote_sentences(label_sentences(adjudications)).order_by("pk"), ADJUDICATIONS)


def read_anchors(scope: Scope) -> Iterator[Sequence[object]]:
    """The sentences that anchor meaning, removed ones included."""
    anchors = AnchorSentence.objects.filter(project=scope.project)
    return stream(quote_sentences(label_sentences(anchors)).order_by("pk"), ANCHORS)


def read_anchor_readings(scope: Scope) -> Iterator[Sequence[object]]:
    """What was read in them under which codebook version."""
    readings = AnchorReading.objects.filter(version__project=scope.project)
    if scope.only is not None:
        readings = readings.filter(coder=scope.only)
    return stream(label_sentences(readings).order_by("pk"), ANCHOR_READINGS)


def read_proposals(scope: Scope) -> Iterator[Sequence[object]]:
    """Codes that were proposed, and what was answered."""
    proposals = CodeProposal.objects.filter(project=scope.project)
    if scope.only is not None:
        proposals = proposals.filter(proposed_by=scope.only)
    return stream(label_sentences(proposals).order_by("pk"), PROPOSALS)
