"""Which scores somebody may see, and of which threads she would have to unblind to see more."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q, Subquery

from transcripts.blinding.viewers import Viewer
from transcripts.codebook.models import Code, CodebookVersion, CodeChange
from transcripts.codebook.pure.checking import FEATURE_FAMILY, is_feature
from transcripts.codebook.pure.comparing import follow_merges
from transcripts.coding.models import Coding
from transcripts.corpus.models import Sentence
from transcripts.negotiation.models import Score, ScoreEvidence, ScoreQuerySet
from transcripts.negotiation.pure import records
from transcripts.negotiation.pure.records import CRITERIA
from transcripts.negotiation.queries.cases import list_pairs
from transcripts.negotiation.queries.evidence import Evidence, follow
from transcripts.rounds.queries import find_locked_interviews
from transcripts.studies.models import MethodChoice, Study
from transcripts.studies.queries import find_method

RELIABILITY = MethodChoice.Method.RELIABILITY
MAX_WORDS = 400
"""So many characters of a sentence are shown as evidence."""


@dataclass(frozen=True)
class ShownEvidence:
    """A sentence that a score rests on, or the words quoted from it. ``text`` is empty where reasoning is closed to the viewer.

    ``now``: what bears the words now, where the sentence was split or merged since.
    """

    interview_id: int
    sentence_id: int
    label: str
    text: str
    now: Sentence | None = None

    @property
    def label_now(self) -> str:
        """The number by which the desk knows it."""
        return self.now.label if self.now else self.label


@dataclass(frozen=True)
class ShownScore:
    """A score as pages show it, with its evidence."""

    score: Score
    evidence: list[ShownEvidence] = field(default_factory=list)

    @property
    def is_graded(self) -> bool:
        return self.score.criterion in CRITERIA

    @property
    def value(self) -> str:
        """In the words of the page."""
        value = self.score.value
        if self.is_graded:
            return "n/a" if value is None else str(value)
        return {1: "yes", 0: "no", None: "unclear"}[value]


def visible_scores(viewer: Viewer) -> ScoreQuerySet:
    """Those of her study: her own, and others' where she may see them.

    Who reads sees all. Who codes and sees others' labels sees those of threads that she has unblinded; a coder those whose
    rounds are also locked, and none where the study claims reliability, as on the page of disagreements.
    """
    scores = Score.objects.filter(interview__study=viewer.study)
    if not viewer.codes:
        return scores
    own = Q(coder=viewer.user_id)
    if viewer.sees_all:
        return scores.filter(own | Q(interview__in=viewer.unblinded))
    open_to_her = _find_open_to_coders(viewer.study) & viewer.unblinded
    return scores.filter(own | Q(interview__in=open_to_her)) if open_to_her else scores.filter(own)


def has_place() -> Q:
    """That a score is of a whole thread, or that its coder's entry or challenge, which it is about, still stands.

    A reading that was withdrawn only after she had seen others' counts as standing, as it does in other figures.
    """
    own = Q(sentence__turn=OuterRef("turn"), coder=OuterRef("coder"))
    entry = Q(code__identifier=OuterRef("feature"))
    challenge = Q(code__family__identifier=records.CHALLENGES)
    place = Q(turn__isnull=True)
    for rows in (Coding.objects.active(), Coding.objects.blind()):
        place |= Q(Exists(rows.filter(own & entry)), criterion=Score.Criterion.WARRANTED)
        place |= Q(Exists(rows.filter(own & challenge)), criterion=Score.Criterion.UPDATED)
    return place


def find_hidden(viewer: Viewer) -> set[int]:
    """The threads with others' scores that she would see after unblinding them now."""
    if not viewer.codes:
        return set()
    others = Score.objects.active().filter(interview__study=viewer.study).exclude(coder=viewer.user_id)
    if not viewer.sees_all:
        others = others.filter(interview__in=_find_open_to_coders(viewer.study))
    return viewer.blinded(others.values_list("interview", flat=True).distinct())


def find_scored(study: Study) -> Collection[int]:
    """The threads that somebody has scored, also where the scores were withdrawn: a person who sees all has to unblind them."""
    rows = Score.objects.filter(interview__study=study)
    return set(rows.values_list("interview", flat=True))


def _find_open_to_coders(study: Study) -> set[int]:
    if find_method(study) == RELIABILITY:
        return set()
    return find_locked_interviews(study)


def read_shown(viewer: Viewer, scores: ScoreQuerySet) -> list[ShownScore]:
    """These scores, which the viewer may see, with their evidence, by thread and coder: three queries."""
    rows = list(
        scores.select_related("stance", "coder", "turn").order_by(
            "interview", "coder__username", "turn__position", "pk"
        )
    )
    evidence = list(
        ScoreEvidence.objects.filter(score__in=[row.pk for row in rows])
        .select_related("sentence__turn")
        .order_by("sentence__turn__interview", "sentence__position", "sentence__start")
    )
    closed = viewer.find_closed({each.sentence.turn_id for each in evidence}) if evidence else frozenset()
    shown = {row.pk: ShownScore(row) for row in rows}
    for each in evidence:
        sentence = each.sentence
        text = "" if sentence.turn_id in closed else _quote(each)
        now = follow(Evidence(sentence, each.quote)).sentence if sentence.retired_by_id else None
        shown[each.score_id].evidence.append(
            ShownEvidence(sentence.turn.interview_id, sentence.pk, sentence.label, text, now)
        )
    return list(shown.values())


def read_score_records(viewer: Viewer) -> tuple[records.Records, int, int]:
    """The blind scores that the viewer may see, as records with their threads and pairs; how many other scores stand; and how
    many determinations were left out, because the entry or the challenge that they are about was removed since.

    Of pairs those that are open to her.
    """
    found = records.Records()
    names: dict[int, str] = {}
    interviews = viewer.study.interviews.order_by("pk")
    for pk, name, label, unmasked, metadata in interviews.values_list(
        "pk", "external_id", "mask_label", "unmasked_at", "metadata"
    ):
        condition = "" if label and unmasked is None else metadata.get("condition", "")
        names[pk] = name
        found.threads.append(records.Thread(name, condition if isinstance(condition, str) else ""))
    columns = ("interview", "stance__name", "stance__number", "criterion", "coder__username", "value")
    blind = visible_scores(viewer).blind().order_by("pk")
    rows = blind.filter(has_place()).values_list(*columns, "turn__position", "feature")
    for interview, name, number, criterion, coder, value, turn, feature in rows:
        found.scores.append(records.Score(names[interview], f"{name}/{number}", criterion, coder, value, turn, feature))
    pairs = [view.pair for view in list_pairs(viewer) if view.is_open and not view.is_masked]
    found.pairs = [
        records.Pair(pair.name, names[pair.a_id], names[pair.b_id], pair.expect)
        for pair in pairs
        if pair.a_id in names and pair.b_id in names
    ]
    assisted = visible_scores(viewer).active().exclude(layer="blind").count()
    return found, assisted, blind.count() - len(found.scores)


def group_by_coder(scores: Iterable[ShownScore]) -> dict[str, list[ShownScore]]:
    """The scores of each person, by user name, criteria in their order before determinations."""
    order = {criterion: place for place, criterion in enumerate(Score.Criterion.values)}
    grouped: dict[str, list[ShownScore]] = {}
    for each in sorted(scores, key=lambda each: order[each.score.criterion]):
        grouped.setdefault(each.score.coder.username, []).append(each)
    return dict(sorted(grouped.items()))


def _quote(evidence: ScoreEvidence) -> str:
    sentence = evidence.sentence
    start, end = evidence.quote or (sentence.start, sentence.end)
    text = sentence.turn.text[start:end]
    return text if len(text) <= MAX_WORDS else f"{text[:MAX_WORDS]} …"


class Row(NamedTuple):
    """What a row of a code says of the codings that carry it: ``applied`` is the code as its coder knew it, ``identifier``
    what that is now, which for a merged code is the code it went into."""

    applied: str
    identifier: str
    version: int
    unit: str
    family: str


class MergedCodes:
    """Two codes that were merged into one count once on a sentence: the coding that was made first."""

    def __init__(self) -> None:
        self._applied: dict[tuple[int, Hashable, str], str] = {}

    def counts(self, sentence: int, coder: Hashable, row: Row) -> bool:
        """Whether a coding counts; they are asked for in the order in which they were made."""
        return self._applied.setdefault((sentence, coder, row.identifier), row.applied) == row.applied


@dataclass
class CodeBook:
    """Every published code by the number of its row; ``names`` in the order of the newest version, then of those before it.

    ``current`` holds the identifiers that the newest version still has, ``family_of`` the family of each code, for
    every feature that of features, ``merged`` what
    each code went into that was merged.
    """

    rows: dict[int, Row] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    current: set[str] = field(default_factory=set)
    family_of: dict[str, str] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)
    version: int = 0

    def list_codes(self, family: str) -> list[str]:
        """The codes of a family that the newest version has, in its order."""
        return [each for each in self.names if self.family_of[each] == family and each in self.current]

    def name(self, identifier: str) -> str:
        """What a code is called; one that the study does not know is called by its identifier."""
        return self.names.get(identifier, identifier)


def read_code_book(study: Study) -> CodeBook:
    """The codes of a study. One query."""
    rows = Code.objects.filter(version__study=study, version__status=CodebookVersion.Status.PUBLISHED)
    merges = CodeChange.objects.filter(
        version__study=study,
        version__status=CodebookVersion.Status.PUBLISHED,
        kind=CodeChange.Kind.MERGED,
        from_identifier=OuterRef("identifier"),
    )
    into = Subquery(merges.order_by("-version__number", "-pk").values("to_identifier")[:1])
    rows = rows.annotate(into=into).order_by("-version__number", "family__position", "position")
    found = CodeBook()
    columns = (
        "pk",
        "identifier",
        "name",
        "version__number",
        "family__identifier",
        "family__unit",
        "is_category",
        "into",
    )
    every = list(rows.values_list(*columns))
    for _, identifier, name, version, family, _, is_category, _ in every:
        found.version = max(found.version, version)
        if is_category:
            continue
        found.family_of.setdefault(identifier, FEATURE_FAMILY if is_feature(identifier, family) else family)
        if version == found.version:
            found.current.add(identifier)
        found.names.setdefault(identifier, name)
    gone = {identifier for _, identifier, *_ in every} - {
        identifier for _, identifier, _, version, *_ in every if version == found.version
    }
    found.merged = {identifier: into for _, identifier, *_, into in every if into and identifier in gone}
    for pk, identifier, _, version, family, unit, *_ in every:
        now = follow_merges(identifier, found.merged)
        found.rows[pk] = Row(identifier, now, version, unit, found.family_of.get(now, family))
    return found
