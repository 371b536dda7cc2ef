"""Case sheets and pairs, and who may see them; the normative stances of a study; and how threads are connected.

Case sheets and pairs say what a thread was made to test, so those who code it must not know them before they have finished. A
case sheet opens to a coder once she has completed the thread, a pair once she has decided both of its threads. The author of a
row always sees it, and a person who has unblinded a thread codes it as assisted from then on. For a masked thread, neither
opens before it is unmasked. What the interviewer meant her turns to be (``intents``) is never shown to coders, who see their
own codings alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Case, Exists, F, JSONField, OuterRef, Q, QuerySet, Value, When

from transcripts.blinding.viewers import Viewer
from transcripts.codebook.pure.checking import FEATURE_FAMILY, FEATURE_PREFIX
from transcripts.codebook.queries import current_version
from transcripts.corpus.models import Interview, Turn
from transcripts.negotiation.models import CaseSheet, NormativeStance, Pair, Score
from transcripts.rounds.models import Assignment, Completion
from transcripts.rounds.queries import read_progress
from transcripts.studies.models import Study


def list_features(study: Study) -> dict[str, str]:
    """The features of the codebook in use: identifiers and names, in its order."""
    version = current_version(study)
    if version is None:
        return {}
    codes = version.codes.filter(is_feature(), is_category=False).order_by("family__position", "position")
    return dict(codes.values_list("identifier", "name"))


def is_feature(code: str = "") -> Q:
    """A condition: the code at this path from a row is a feature, by the rule of ``codebook.pure.checking.is_feature``."""
    path = f"{code}__" if code else ""
    return Q(**{f"{path}family__identifier": FEATURE_FAMILY}) | Q(**{f"{path}identifier__startswith": FEATURE_PREFIX})


def is_not_masked(interview: str = "") -> Q:
    """A condition: the interview at this path from a row is not masked, or was unmasked."""
    path = f"{interview}__" if interview else ""
    return Q(**{f"{path}mask_label": ""}) | Q(**{f"{path}unmasked_at__isnull": False})


def list_completed(study: Study, user_id: int) -> QuerySet[Interview]:
    """The interviews that a person has completed, in every round that assigns them to her.

    Interviews that were returned or assigned to her again are not included.
    """
    own = Assignment.objects.filter(interview=OuterRef("pk"), coder=user_id, withdrawn_at__isnull=True)
    completed = Completion.objects.filter(interview=OuterRef("pk"), coder=user_id, withdrawn_at__isnull=True)
    signed = Q(Exists(own.filter(completed_at__isnull=False)))
    is_waiting = Exists(own.filter(completed_at__isnull=True))
    return study.interviews.filter(Q(Exists(completed)) | signed).exclude(is_waiting)


def latest_sheets(study: Study) -> QuerySet[CaseSheet]:
    """The latest case sheet of each interview that has one."""
    return CaseSheet.objects.filter(is_latest(), interview__study=study).order_by("interview_id")


def is_latest() -> Q:
    """A condition on case sheets: there is no later number for the same interview."""
    return Q(~Exists(CaseSheet.objects.filter(interview=OuterRef("interview"), number__gt=OuterRef("number"))))


def visible_sheets(viewer: Viewer) -> QuerySet[Any]:
    """Every number of the case sheets of the study that she may see. ``told_intents`` has the intents that she may know."""
    sheets = CaseSheet.objects.filter(interview__study=viewer.study).order_by("interview_id", "number")
    told = Q() if viewer.sees_all else Q(written_by=viewer.user_id)
    sheets = sheets.annotate(told_intents=tell_intents(told))
    return sheets.filter(Q(written_by=viewer.user_id) | (is_not_masked("interview") & _is_through(viewer)))


def tell_intents(told: Q) -> Any:
    """The intents of those case sheets that are ``told``, and empty intents for the others, for a query."""
    return Case(When(told, then=F("intents")), default=Value({}, JSONField())) if told else F("intents")


def visible_to_coder(user_id: int, study: Study) -> Q:
    """A condition on case sheets: the person has completed the interview or wrote the sheet."""
    return Q(written_by=user_id) | Q(interview__in=list_completed(study, user_id).values("pk"))


def _is_through(viewer: Viewer) -> Q:
    if not viewer.codes:
        return Q()
    signed = list_completed(viewer.study, viewer.user_id).values("pk")
    return Q(interview__in=viewer.unblinded) | Q(interview__in=signed)


@dataclass(frozen=True)
class PairView:
    """A pair as a person may see it. ``left_a`` and ``left_b``: how many sentences she has yet to decide in its threads.

    ``is_open``: she may see its threads together, with how they differ and what is expected.
    """

    pair: Pair
    left_a: int
    left_b: int
    is_open: bool

    @property
    def is_masked(self) -> bool:
        """Whether one of its threads is masked."""
        return self.pair.a.is_masked or self.pair.b.is_masked

    @property
    def masked_query(self) -> str:
        """Its masked threads as the query of the page that unmasks interviews."""
        both = (self.pair.a, self.pair.b)
        return urlencode({"interview": [each.pk for each in both if each.is_masked]}, doseq=True)

    @property
    def left(self) -> list[tuple[Interview, int]]:
        """The threads with undecided sentences, and how many there are."""
        return [(each, left) for each, left in ((self.pair.a, self.left_a), (self.pair.b, self.left_b)) if left]


def list_pairs(viewer: Viewer, pairs: QuerySet[Pair] | None = None) -> list[PairView]:
    """The pairs of the study that count, or these of them, by name. Two queries for any number of pairs, and one more if it is not
    yet known which interviews she has unblinded."""
    rows = Pair.objects.active().filter(study=viewer.study) if pairs is None else pairs
    signed = list_completed(viewer.study, viewer.user_id)
    rows = rows.annotate(
        signed_a=Exists(signed.filter(pk=OuterRef("a"))), signed_b=Exists(signed.filter(pk=OuterRef("b")))
    )
    found = list(rows.select_related("a", "b", "made_by").order_by("name", "number"))
    if not found:
        return []
    left = _count_left(viewer, found)
    views = []
    for pair in found:
        is_masked = pair.a.is_masked or pair.b.is_masked
        if is_masked and pair.made_by_id != viewer.user_id and pair.a.title > pair.b.title:
            # In the order of their labels: which side a thread is on could tell what it was made to be.
            pair.a, pair.b = pair.b, pair.a
        left_a, left_b = left[pair.a_id], left[pair.b_id]
        is_open = pair.made_by_id == viewer.user_id or not (is_masked or left_a or left_b)
        views.append(PairView(pair, left_a, left_b, is_open))
    return views


def find_pair(viewer: Viewer, name: str) -> PairView | None:
    """The active pair with that name."""
    rows = Pair.objects.active().filter(study=viewer.study, name=name)
    return next(iter(list_pairs(viewer, rows)), None)


def _count_left(viewer: Viewer, pairs: Iterable[Any]) -> dict[int, int]:
    """How many sentences of each thread she has to decide before she may see its pairs. ``pairs`` say which are completed."""
    is_signed: dict[int, bool] = {}
    for pair in pairs:
        is_signed |= {pair.a_id: pair.signed_a, pair.b_id: pair.signed_b}
    left = dict.fromkeys(is_signed, 0)
    if not viewer.codes:
        return left
    asked = {thread for thread, signed in is_signed.items() if not signed} - viewer.unblinded
    progress = read_progress(asked, coder_id=viewer.user_id)
    return left | {each: progress.find(each, viewer.user_id).undecided for each in asked}


def find_with_sheets(study: Study) -> Collection[int]:
    """The threads that have a case sheet; a person must unblind them to see all sheets."""
    return set(CaseSheet.objects.filter(interview__study=study).values_list("interview", flat=True))


def find_paired(study: Study) -> Collection[int]:
    """The threads of pairs, including earlier wordings; a person must unblind them to see all pairs."""
    pairs = Pair.objects.filter(study=study).values_list("a", "b")
    return {each for pair in pairs for each in pair}


def list_stances(study: Study) -> list[NormativeStance]:
    """Every number of every stance, by name, the newest number first."""
    return list(study.normative_stances.select_related("written_by").order_by("name", "-number"))


def list_latest(study: Study) -> list[NormativeStance]:
    """The latest number of each stance, by name; scores are given under these."""
    latest: dict[str, NormativeStance] = {}
    for stance in list_stances(study):
        latest.setdefault(stance.name, stance)
    return list(latest.values())


def choose_stance(stances: list[NormativeStance], asked: str, user_id: int) -> NormativeStance | None:
    """The stance in ``stances`` that was requested by number, or else the one under which the person scored last."""
    by_number = {str(stance.pk): stance for stance in stances}
    if asked in by_number:
        return by_number[asked]
    last = Score.objects.filter(coder=user_id, stance__in=stances).order_by("-pk").select_related("stance").first()
    return by_number.get(str(last.stance_id)) if last else next(iter(stances), None)


def read_beginning(interview: Interview) -> dict[int, int]:
    """The threads from which ``interview`` continues, by id, each with the position of the last turn of its beginning.

    Empty if it continues from none. A query for each thread before it.
    """
    ends: dict[int, int] = {}
    above = interview.hangs_on_id
    while above is not None:
        turn = Turn.objects.select_related("interview").get(pk=above)
        if turn.interview_id in ends:
            break
        ends[turn.interview_id] = turn.position
        above = turn.interview.hangs_on_id
    return ends


class Other(NamedTuple):
    """The other thread of a pair; how they differ and what is expected may be shown if the pair is open."""

    view: PairView
    interview: Interview


def list_other_threads(viewer: Viewer, interview: Interview) -> list[Other]:
    """The other thread of each pair with this interview that is open to the viewer."""
    pairs = Pair.objects.active().filter(Q(a=interview) | Q(b=interview), study=viewer.study)
    return [
        Other(view, view.pair.b if view.pair.a_id == interview.pk else view.pair.a)
        for view in list_pairs(viewer, pairs)
        if view.is_open
    ]
