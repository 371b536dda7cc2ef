"""The codings that a theme or a code rests on, and how much was read: what the counts of this room are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from transcripts.accounts.models import User
from transcripts.analysis.search.catalog import read_catalog
from transcripts.analysis.search.prompts import StudyPrompts
from transcripts.analysis.search.pure.words import EVERYBODY, OWN, UNNAMED
from transcripts.analysis.search.queries import Visibility
from transcripts.analysis.search.results import find_visibility
from transcripts.analysis.themes.pure.presence import NOT_STATED, STRENGTH, UNCLEAR, Evidence, Heading
from transcripts.blinding.viewers import Viewer
from transcripts.codebook.models import CodeFamily
from transcripts.coding.models import Coding, CodingQuerySet, Decision, DecisionQuerySet, Enactment
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.refusals import Refused
from transcripts.studies.models import Study

Counted = TypeVar("Counted", CodingQuerySet, DecisionQuerySet)


class LayerChoice(StrEnum):
    """Which codings are counted: all active ones, or those made before coders saw others' labels."""

    ANY = "any"
    BLIND = "blind"

    @property
    def label(self) -> str:
        return {"any": "all active ones", "blind": "blind readings"}[self.value]


@dataclass(frozen=True)
class Viewpoint:
    """Whose codings a person looks at, and which of them count. ``coder`` as in an address: me, all, or a user name."""

    study: Study
    coder: str
    visibility: Visibility
    layer: LayerChoice = LayerChoice.ANY

    @property
    def whose(self) -> str:
        """Who coded what is counted, in words."""
        who = {OWN: "you", EVERYBODY: "any coder"}.get(self.coder, self.coder)
        return f"{who} before seeing others’ labels" if self.layer == LayerChoice.BLIND else who

    @cached_property
    def moves(self) -> frozenset[str]:
        """The codes that count where they are enacted."""
        return frozenset(each.identifier for each in read_catalog(self.study).codes.values() if each.has_enactment)


def choose_viewpoint(viewer: Viewer, *, coder: str = "", layer: str = LayerChoice.ANY) -> Viewpoint:
    """The viewpoint somebody asks for, as far as her role goes: a blind coder sees her own codings and no others.

    What is not asked, or not there to be seen, falls back to what comes first: one's own codings for those who code,
    everybody's for those who only read.
    """
    kind = LayerChoice(layer) if layer in set(LayerChoice) else LayerChoice.ANY
    coder = coder or (OWN if viewer.codes else EVERYBODY)
    coder = coder if coder in dict(list_coders(viewer)) else OWN
    return Viewpoint(viewer.study, coder, find_visibility(viewer, coder), kind)


def see_everything(study: Study, *, coder: str = "", layer: str = LayerChoice.ANY) -> Viewpoint:
    """The viewpoint of the command line, which sees every coding. Raises ``Refused`` for a coder who has coded nothing."""
    if not coder:
        return Viewpoint(study, EVERYBODY, Visibility(None), LayerChoice(layer))
    codings = Coding.objects.filter(coder__username=coder, code__version__study=study)
    found = codings.values_list("coder_id", flat=True).first()
    if found is None:
        raise Refused(f"{coder} has coded nothing in {study.slug}.", field="coder")
    return Viewpoint(study, coder, Visibility(found), LayerChoice(layer))


def list_coders(viewer: Viewer) -> list[tuple[str, str]]:
    """The choices of whose codings to look at, as values and labels; empty if there is no choice."""
    if not viewer.sees_all:
        return []
    coded = Coding.objects.filter(coder=OuterRef("pk"), code__version__study=viewer.study)
    others = User.objects.filter(Exists(coded)).exclude(pk=viewer.user_id).order_by("username")
    names = [(name, name) for name in others.values_list("username", flat=True)]
    own = [(OWN, "you")] if viewer.codes else []
    return [*own, (EVERYBODY, "all coders"), *names]


def seen_interviews(viewpoint: Viewpoint) -> QuerySet[Interview]:
    """The interviews that are counted from this viewpoint."""
    return viewpoint.study.interviews.exclude(pk__in=viewpoint.visibility.hidden).order_by("pk")


def list_models(viewpoint: Viewpoint) -> list[Heading]:
    """A column for each model, in the order in which interviews with it came in."""
    ids: dict[str, set[int]] = {}
    for pk, model in seen_interviews(viewpoint).values_list("pk", "model_label"):
        ids.setdefault(model, set()).add(pk)
    return [Heading(model or UNNAMED, model or "not known", frozenset(found)) for model, found in ids.items()]


def list_interviews(viewpoint: Viewpoint) -> list[Heading]:
    """A column for each interview."""
    rows = seen_interviews(viewpoint).values_list("pk", "title")
    return [Heading(str(pk), title, frozenset({pk})) for pk, title in rows]


def list_other_languages(viewpoint: Viewpoint) -> list[str]:
    """The languages, where known and not English, of the interviews that are counted: English terms find nothing there."""
    others = seen_interviews(viewpoint).exclude(language="").exclude(language__istartswith="en").order_by("language")
    return list(others.values_list("language", flat=True).distinct())


def active_codings(viewpoint: Viewpoint) -> QuerySet[Coding]:
    """The codings that count from this viewpoint: those on what models said."""
    return count_labels(Coding.objects.all(), viewpoint)


def count_labels(rows: Counted, viewpoint: Viewpoint) -> Counted:
    """Those codings or decisions that count from this viewpoint, on what models said."""
    labels = _counted(rows, viewpoint).filter(
        sentence__retired_by__isnull=True,
        sentence__turn__role=Turn.Role.MODEL,
        sentence__turn__channel=Turn.Channel.UTTERANCE,
        sentence__turn__interview__study=viewpoint.study,
    )
    if viewpoint.visibility.hidden:
        labels = labels.filter(sentence__turn__interview__in=seen_interviews(viewpoint).values("pk"))
    return labels


def _counted(rows: Counted, viewpoint: Viewpoint) -> Counted:
    """Those codings or decisions that count in the layer of the viewpoint, of the coders looked at."""
    counted = rows.active() if viewpoint.layer == LayerChoice.ANY else rows.blind()
    coder_id = viewpoint.visibility.coder_id
    return counted if coder_id is None else counted.filter(coder=coder_id)


def read_evidence(viewpoint: Viewpoint, identifiers: Iterable[str]) -> Iterator[Evidence]:
    """Every coding with one of these codes, each with whether it was prompted: four queries."""
    prompts = StudyPrompts(viewpoint.study)
    rows = active_codings(viewpoint).filter(code__identifier__in=list(identifiers))
    rows = rows.order_by("sentence__turn__interview", "sentence__position", "sentence__start", "pk")
    values = rows.values_list(
        "pk",
        "coder_id",
        "code__identifier",
        "level",
        "enactment",
        "sentence_id",
        "sentence__turn_id",
        "sentence__turn__interview_id",
        "prompting",
        "sentence__turn__role",
        "sentence__turn__position",
    )
    for row in values.iterator():
        pk, coder_id, code, level, enactment, sentence_id, turn_id, interview_id, said, role, position = row
        prompting, _ = prompts.find_prompting(
            said=said, role=role, interview_id=interview_id, coder_id=coder_id, code=code, position=position
        )
        counts = enactment == Enactment.ENACTED or code not in viewpoint.moves
        apart = "" if counts else enactment or NOT_STATED
        yield Evidence(pk, coder_id, code, level, prompting or UNCLEAR, sentence_id, turn_id, interview_id, apart)


def count_sentences(viewpoint: Viewpoint) -> dict[str, int]:
    """How many sentences each code is applied to, or each move is enacted in, by identifier: two queries."""
    counts = Q(enactment=Enactment.ENACTED) | ~Q(code__identifier__in=viewpoint.moves)
    rows = active_codings(viewpoint).order_by().values_list("code__identifier")
    return dict(rows.annotate(sentences=Count("sentence", distinct=True, filter=counts)))


def count_decided(viewpoint: Viewpoint, identifiers: Iterable[str] = ()) -> dict[int, tuple[int, int]]:
    """By interview, how many of the model's sentences were coded or finished, and in how many turns: one query.

    A code of a whole turn or interview, stored on its first sentence, decides that sentence only where it is counted itself:
    where it is one of ``identifiers``.
    """
    finished = _counted(Decision.objects.filter(sentence=OuterRef("pk")), viewpoint)
    of_sentences = Q(code__family__unit=CodeFamily.Unit.SENTENCE) | Q(code__identifier__in=list(identifiers))
    coded = _counted(Coding.objects.filter(of_sentences, sentence=OuterRef("pk")), viewpoint)
    sentences = Sentence.objects.current().filter(
        Q(Exists(coded)) | Q(Exists(finished)),
        turn__role=Turn.Role.MODEL,
        turn__channel=Turn.Channel.UTTERANCE,
        turn__interview__in=seen_interviews(viewpoint).values("pk"),
    )
    rows = sentences.order_by().values_list("turn__interview")
    counted = rows.annotate(sentences=Count("pk"), turns=Count("turn", distinct=True))
    return {interview: (found, turns) for interview, found, turns in counted}


def find_coded_sentences(
    viewpoint: Viewpoint,
    identifiers: Iterable[str],
    *,
    model: str | None = None,
    interview_id: int | None = None,
    prompting: str = "",
    level: str = "",
    apart: str = "",
) -> list[tuple[int, list[int], str]]:
    """The sentences behind a cell of the presence table, in the order of the study: as many as the cell counts, or of moves
    counts ``apart``.

    Each with the codings that applied one of these codes to it, and with how it was prompted.
    """
    interviews = seen_interviews(viewpoint)
    if model is not None:
        interviews = interviews.filter(model_label=model)
    if interview_id is not None:
        interviews = interviews.filter(pk=interview_id)
    wanted = set(interviews.values_list("pk", flat=True))
    sentences: dict[int, list[Evidence]] = {}
    for each in read_evidence(viewpoint, identifiers):
        if each.interview_id in wanted and each.apart == apart:
            sentences.setdefault(each.sentence_id, []).append(each)
    found = []
    for sentence_id, codings in sentences.items():
        prompted = max((each.prompting for each in codings), key=lambda each: STRENGTH[each])
        fits_level = not level or any(each.level == level for each in codings)
        if fits_level and prompting in {"", prompted}:
            found.append((sentence_id, [each.coding_id for each in codings], prompted))
    return found
