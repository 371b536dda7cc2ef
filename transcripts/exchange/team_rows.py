"""Rows of how a team works: rounds, assignments, the method stance, adjudications, anchor readings, proposals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import Q

from transcripts.agreement.models import Adjudication
from transcripts.codebook.models import CodeProposal
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import PLACE, column, label_sentences, quote_sentences, stream
from transcripts.projects.models import MethodStance
from transcripts.revision.models import AnchorReading, AnchorSentence
from transcripts.rounds.models import Assignment, Round

STANCES = [
    column("project", "project__slug"),
    column("family", "family"),
    column(
        "stance", "stance", "reflexive, codebook or reliability (Braun and Clarke's three kinds of thematic analysis)."
    ),
    column("reason", "reason"),
    column("set", "set_at", "Since when, in UTC."),
    column("set_by", "set_by_name", "Who set it."),
]

ROUNDS = [
    column("project", "project__slug"),
    column("round", "number"),
    column("name", "name"),
    column("instructions", "instructions", "The instructions that coders got."),
    column("overlap_percent", "overlap_percent", "Share of the interviews assigned to more than one coder."),
    column("overlap_readers", "overlap_readers", "How many coders were assigned each of those."),
    column("seed", "seed", "Number with which the allocation of interviews can be repeated."),
    column("opened", "opened_at", "When the round began, in UTC."),
    column("opened_by", "opened_by_name", "Who began it."),
    column("locked", "locked_at", "When coding in it ended; empty while it is open."),
    column("locked_by", "locked_by__username", "Who ended it."),
]

ASSIGNMENTS = [
    column("project", "round__project__slug"),
    column("round", "round__number"),
    column("interview", "interview__external_id"),
    column("model", "interview__model_label"),
    column("coder", "coder__username"),
    column("assigned", "assigned_at", "When, in UTC."),
    column("assigned_by", "assigned_by_name", "Who assigned it."),
    column("signed", "signed_at", "When the coder confirmed that these are her codings."),
    column("withdrawn", "withdrawn_at"),
]

ADJUDICATIONS = [
    *PLACE,
    column("text", "quoted"),
    column("family", "family_identifier"),
    column("readings", "readings", "The blind readings at the time: a list of objects with coder and codes."),
    column("outcome", "outcome", "one (reading is upheld), both, neither, or redefined (the definition is at fault)."),
    column("chosen_coder", "chosen_coder__username", "Whose reading was upheld."),
    column("codes", "codes", "The codes that apply after the decision."),
    column("reason", "reason"),
    column("adjudicator", "adjudicator__username", "Who decided."),
    column("revision", "revision", "Which decision on this sentence and family, from 1."),
    column("created", "created_at"),
    column("withdrawn", "withdrawn_at"),
    column("superseded_by", "superseded_by_id"),
    column("adjudication_id", "pk", "Number of the decision."),
]

ANCHORS = [
    *PLACE,
    column("text", "quoted"),
    column("added", "added_at", "When it became an anchor, in UTC."),
    column("added_by", "added_by_name", "Who chose it."),
    column("removed", "removed_at", "When it stopped being one."),
]

ANCHOR_READINGS = [
    *PLACE,
    column("codebook_version", "version__number"),
    column("coder", "coder__username"),
    column("codes", "codes"),
    column("read", "read_at", "When, in UTC."),
]

PROPOSALS = [
    column("project", "project__slug"),
    column("name", "name"),
    column("definition", "definition", "What it would mean."),
    column("family", "family_identifier"),
    column("interview", "sentence__turn__interview__external_id"),
    column("sentence_id", "sentence_id"),
    column("sentence_label", "label"),
    column("in_vivo", "is_in_vivo", "true where the name is in the words of the sentence."),
    column("proposed_by", "proposed_by__username", "Who found it missing."),
    column("proposed", "proposed_at", "When, in UTC."),
    column("state", "state", "open, accepted or declined."),
    column("code_id", "code__identifier", "The code it became."),
    column("answer", "answer", "What was answered."),
    column("answered", "answered_at", "When."),
    column("answered_by", "answered_by__username", "By whom."),
]


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
