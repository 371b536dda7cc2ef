"""Scores of threads: which ones a person may see, which threads she must unblind to see more, and the codes of a study.

The evidence of scores is located in the current sentences. A person's own scores and determinations are listed for her history.
A study that uses the reflexive method leaves out coefficients, because it keeps differing readings.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Prefetch, Q, Subquery

from transcripts.accounts.models import User
from transcripts.blinding.viewers import Viewer
from transcripts.codebook.models import Code, CodebookVersion, CodeChange
from transcripts.codebook.pure.checking import FEATURE_FAMILY, is_feature
from transcripts.codebook.pure.comparing import follow_merges
from transcripts.coding.models import Coding
from transcripts.coding.queries import find_place_now
from transcripts.corpus.models import Sentence
from transcripts.corpus.pure.boundaries import Extent
from transcripts.desk.history import Act, HistoryPart, Rows, select_acts
from transcripts.negotiation.models import Score, ScoreEvidence, ScoreQuerySet
from transcripts.negotiation.pure import records
from transcripts.negotiation.pure.records import ALPHAS, CRITERIA, FEATURES
from transcripts.rounds.queries import find_locked_interviews
from transcripts.studies.models import MethodChoice, Study
from transcripts.studies.queries import find_method, read_methods


class Evidence(NamedTuple):
    """A sentence that a score rests on. ``quote``: words in it, from and to, in code points of the turn's text."""

    sentence: Sentence
    quote: tuple[int, int] | None = None


def follow(evidence: Evidence) -> Evidence:
    """Its current place if its sentence was split or merged: the piece with the quote, or else the first piece."""
    if evidence.sentence.retired_by_id is None:
        return evidence
    quote = Extent(*evidence.quote) if evidence.quote else None
    sentence, quote = find_place_now(evidence.sentence, quote)
    sentence.turn = evidence.sentence.turn
    return Evidence(sentence, (quote.start, quote.end) if quote else None)


def read_followed(rows: Iterable[ScoreEvidence]) -> list[Evidence]:
    """Rows of a score with their sentences and turns, at their current places; each sentence once."""
    return join([follow(Evidence(row.sentence, row.quote)) for row in rows])


def join(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Each sentence once: with one quote that covers all its quotes, or without a quote if one row covers the whole sentence."""
    found: dict[int, Evidence] = {}
    for each in evidence:
        other = found.get(each.sentence.pk)
        if other is None:
            found[each.sentence.pk] = each
        elif other.quote is not None and each.quote is not None:
            quote = min(other.quote[0], each.quote[0]), max(other.quote[1], each.quote[1])
            whole = (each.sentence.start, each.sentence.end)
            found[each.sentence.pk] = Evidence(each.sentence, None if quote == whole else quote)
        else:
            found[each.sentence.pk] = Evidence(each.sentence)
    return list(found.values())


RELIABILITY = MethodChoice.Method.RELIABILITY
MAX_WORDS = 400
"""The number of characters of a sentence that are shown as evidence."""


@dataclass(frozen=True)
class ShownEvidence:
    """A sentence that a score rests on, or the words quoted from it. ``text`` is empty if reasoning is closed to the viewer.

    ``now``: the sentence that now has the words, if the original was split or merged.
    """

    interview_id: int
    sentence_id: int
    label: str
    text: str
    now: Sentence | None = None

    @property
    def label_now(self) -> str:
        """Its number at the desk."""
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
        """The value in words."""
        value = self.score.value
        if self.is_graded:
            return "n/a" if value is None else str(value)
        return {1: "yes", 0: "no", None: "unclear"}[value]


def visible_scores(viewer: Viewer) -> ScoreQuerySet:
    """The scores in her study: her own, and others' if she may see them.

    Readers see all. Leads and owners see those of threads that they have unblinded; a coder sees them only if the rounds are
    also locked, and never in a study that claims reliability, as on the page of disagreements.
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
    """A condition: the score is about a whole thread, or about an entry or challenge of its coder that is still active.

    A reading that was withdrawn only after she had seen others' labels counts as active, as in other figures.
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
    """The threads whose scores by others she would see if she unblinded them now."""
    if not viewer.codes:
        return set()
    others = Score.objects.active().filter(interview__study=viewer.study).exclude(coder=viewer.user_id)
    if not viewer.sees_all:
        others = others.filter(interview__in=_find_open_to_coders(viewer.study))
    return viewer.blinded(others.values_list("interview", flat=True).distinct())


def find_scored(study: Study) -> Collection[int]:
    """The threads that somebody has scored, including withdrawn scores; a person must unblind them to see all scores."""
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
    """What a row of a code means for its codings: ``applied`` is the code that the coder applied, ``identifier`` the present code,
    which for a merged code is the one it was merged into."""

    applied: str
    identifier: str
    version: int
    unit: str
    family: str


class MergedCodes:
    """If two codes on a sentence were merged into one, they count once: the coding that was made first."""

    def __init__(self) -> None:
        self._applied: dict[tuple[int, Hashable, str], str] = {}

    def counts(self, sentence: int, coder: Hashable, row: Row) -> bool:
        """Whether a coding counts; codings must be passed in the order in which they were made."""
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
        """The name of a code, or its identifier if the study does not know it."""
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


def _list_scores(study: Study, user: User) -> Iterator[Rows]:
    own = Score.objects.filter(interview__study=study, coder=user)
    yield select_acts(own.filter(supersedes__isnull=True), "scored", "created_at")
    yield select_acts(own.filter(supersedes__isnull=False), "scored_anew", "created_at")
    ended = own.filter(withdrawn_at__isnull=False, superseded_by__isnull=True)
    yield select_acts(ended, "unscored", "withdrawn_at")


def _describe_scores(ids: Collection[int]) -> dict[int, Act]:
    ordered = ScoreEvidence.objects.order_by("sentence__position", "sentence__start")
    evidence = ordered.select_related("sentence__turn").defer("sentence__turn__text")
    scores = Score.objects.filter(pk__in=ids).select_related("interview", "stance", "turn").defer("turn__text")
    return {score.pk: _describe_score(score) for score in scores.prefetch_related(Prefetch("evidence", evidence))}


def _describe_score(score: Score) -> Act:
    feature = f" ({score.feature})" if score.feature else ""
    return Act(
        score.interview,
        about=f"{score.stance.label}: {score.get_criterion_display()}{feature}",
        details=ShownScore(score).value,
        rests_on=[each.sentence for each in score.evidence.all()],
        turn=score.turn.position if score.turn else None,
        address="negotiation:thread_scores",
        page="Scores",
    )


SCORES = HistoryPart(
    {"scored": "score given", "scored_anew": "score changed", "unscored": "score withdrawn"},
    _list_scores,
    _describe_scores,
)


OF_FEATURES = "Case features are coded by reflexive thematic analysis, which reports no coefficients of agreement: "
OF_SCORES = "This study uses reflexive thematic analysis, which reports no alpha of scores: "
LEFT_OUT = "left out here, as on the pages."
KEPT = "this report includes it anyway, for those who run the command; the pages do not show it."


def leave_out_coefficients(report: dict[str, Any], study: Study) -> dict[str, Any]:
    """A report of ``make_report`` as the pages show it: without coefficients for what is read reflexively, with a warning."""
    of_features, of_scores = _find_reflexive(report, study)
    agreement, scores = report["agreement"], report["stances"]
    if of_features:
        agreement = {"status": None}
    if of_scores:
        scores = {label: {key: _drop_alpha(each) for key, each in figures.items()} for label, figures in scores.items()}
    warnings = [*report["warnings"], *_warn(of_features, of_scores, LEFT_OUT)]
    return {**report, "agreement": agreement, "stances": scores, "warnings": warnings}


def warn_of_coefficients(report: dict[str, Any], study: Study) -> dict[str, Any]:
    """The complete report, with a warning if the pages would leave a coefficient out."""
    return {**report, "warnings": [*report["warnings"], *_warn(*_find_reflexive(report, study), KEPT)]}


def _find_reflexive(report: dict[str, Any], study: Study) -> tuple[bool, bool]:
    """Whether the report has agreement on features, and whether it has scores, in a study that is read reflexively."""
    stances, reflexive = read_methods(study), MethodChoice.Method.REFLEXIVE
    has_agreement = report["agreement"]["status"] is not None
    return (
        has_agreement and stances.find(FEATURES) == reflexive,
        bool(report["stances"]) and stances.find("") == reflexive,
    )


def _warn(of_features: bool, of_scores: bool, what: str) -> list[str]:
    return [OF_FEATURES + what] * of_features + [OF_SCORES + what] * of_scores


def _drop_alpha(figures: Any) -> Any:
    if not isinstance(figures, dict):
        return figures
    return {key: value for key, value in figures.items() if key not in ALPHAS}
