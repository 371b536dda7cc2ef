"""The codings that a theme or a code rests on, and how much was read: what the counts of this room are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from transcripts.accounts.models import User
from transcripts.coding.models import Coding, Decision, Layer, Reveal, Unblinding
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission, Role
from transcripts.retrieval.asking import EVERYBODY, OWN, UNNAMED
from transcripts.retrieval.people import find_sight
from transcripts.retrieval.prompts import StudyPrompts
from transcripts.retrieval.queries import Sight, find_closed
from transcripts.themes.presence import STRENGTH, UNCLEAR, Column, Decided, Evidence


class LayerChoice(StrEnum):
    """Which codings are counted: all that stand, or what coders said before they saw others' labels."""

    ANY = "any"
    BLIND = "blind"

    @property
    def label(self) -> str:
        return {"any": "all that stand", "blind": "blind readings"}[self.value]


@dataclass(frozen=True)
class Viewpoint:
    """Whose codings a person looks at, and which of them count. ``coder`` as in an address: me, all, or a user name."""

    project: Project
    coder: str
    sight: Sight
    layer: LayerChoice = LayerChoice.ANY

    @property
    def whose(self) -> str:
        """Who coded what is counted, in words."""
        who = {OWN: "you", EVERYBODY: "any coder"}.get(self.coder, self.coder)
        return f"{who} before seeing others’ labels" if self.layer == LayerChoice.BLIND else who


class Coder(NamedTuple):
    """Somebody whose codings can be looked at, as the list of coders offers her."""

    value: str
    name: str


def choose_viewpoint(
    project: Project, user: User, role: Role, *, coder: str = "", layer: str = LayerChoice.ANY
) -> Viewpoint:
    """The viewpoint somebody asks for, as far as her role goes: a blind coder sees her own codings and no others.

    What is not asked, or not there to be seen, falls back to what comes first: one's own codings for those who code,
    everybody's for those who only read.
    """
    kind = LayerChoice(layer) if layer in set(LayerChoice) else LayerChoice.ANY
    only_reads = Permission.CODE not in role.permissions
    coder = coder or (EVERYBODY if only_reads else OWN)
    coder = coder if coder in {each.value for each in list_coders(project, user, role)} else OWN
    return Viewpoint(project, coder, find_sight(user, role, coder), kind)


def list_coders(project: Project, user: User, role: Role) -> list[Coder]:
    """Whose codings the list offers; empty where there is no choice."""
    if Permission.SEE_ALL_CODINGS not in role.permissions:
        return []
    coded = Coding.objects.filter(coder=OuterRef("pk"), code__version__project=project)
    others = User.objects.filter(Exists(coded)).exclude(pk=user.pk).order_by("username")
    names = [Coder(name, name) for name in others.values_list("username", flat=True)]
    own = [Coder(OWN, "you")] if Permission.CODE in role.permissions else []
    return [*own, Coder(EVERYBODY, "all coders"), *names]


def seen_interviews(viewpoint: Viewpoint) -> QuerySet[Interview]:
    """The interviews that are counted from this viewpoint."""
    interviews = viewpoint.project.interviews.order_by("pk")
    if viewpoint.sight.opened_by is None:
        return interviews
    return interviews.exclude(pk__in=find_closed(viewpoint.project, viewpoint.sight.opened_by).values("pk"))


def list_unopened(viewpoint: Viewpoint) -> list[Interview]:
    """The interviews left out because colleagues' work was not opened there."""
    opened_by = viewpoint.sight.opened_by
    return [] if opened_by is None else list(find_closed(viewpoint.project, opened_by))


def list_models(viewpoint: Viewpoint) -> list[Column]:
    """A column for each model, in the order in which interviews with it came in."""
    ids: dict[str, set[int]] = {}
    for pk, model in seen_interviews(viewpoint).values_list("pk", "model_label"):
        ids.setdefault(model, set()).add(pk)
    return [Column(model or UNNAMED, model or "not known", frozenset(found)) for model, found in ids.items()]


def list_interviews(viewpoint: Viewpoint) -> list[Column]:
    """A column for each interview."""
    rows = seen_interviews(viewpoint).values_list("pk", "title")
    return [Column(str(pk), title, frozenset({pk})) for pk, title in rows]


def standing_codings(viewpoint: Viewpoint) -> QuerySet[Coding]:
    """The codings that count from this viewpoint: those on what models said."""
    # A reading that was carried to another code is read there, and nowhere else.
    carried = Coding.objects.filter(pk=OuterRef("superseded_by"), carried_from=OuterRef("pk"))
    codings = Coding.objects.filter(
        _holds(viewpoint.layer),
        ~Exists(carried),
        sentence__retired_by__isnull=True,
        sentence__turn__role=Turn.Role.MODEL,
        sentence__turn__channel=Turn.Channel.UTTERANCE,
        sentence__turn__interview__project=viewpoint.project,
    )
    if viewpoint.sight.coder_id is not None:
        codings = codings.filter(coder=viewpoint.sight.coder_id)
    if viewpoint.sight.opened_by is not None:
        codings = codings.filter(sentence__turn__interview__in=seen_interviews(viewpoint).values("pk"))
    return codings


def _holds(layer: LayerChoice) -> Q:
    """Which codings, or decisions, count in a layer.

    A blind one counts while it stands, and when it stood as its coder first saw others' labels: what she took back
    afterwards was still her own reading (as in coding/blind.py).
    """
    stands = Q(withdrawn_at__isnull=True)
    if layer == LayerChoice.ANY:
        return stands
    revealed = Reveal.objects.filter(
        sentence=OuterRef("sentence"), coder=OuterRef("coder"), revealed_at__lt=OuterRef("withdrawn_at")
    )
    opened = Unblinding.objects.filter(
        interview=OuterRef("sentence__turn__interview"),
        user=OuterRef("coder"),
        unblinded_at__lt=OuterRef("withdrawn_at"),
    )
    return Q(layer=Layer.BLIND) & (stands | Q(Exists(revealed)) | Q(Exists(opened)))


def read_evidence(viewpoint: Viewpoint, identifiers: Iterable[str]) -> Iterator[Evidence]:
    """Every coding with one of these codes, each with whether it was prompted: three queries."""
    prompts = StudyPrompts(viewpoint.project)
    rows = standing_codings(viewpoint).filter(code__identifier__in=list(identifiers))
    rows = rows.order_by("sentence__turn__interview", "sentence__position", "sentence__start", "pk")
    values = rows.values_list(
        "pk",
        "coder_id",
        "code__identifier",
        "level",
        "sentence_id",
        "sentence__turn_id",
        "sentence__turn__interview_id",
        "prompting",
        "sentence__turn__role",
        "sentence__turn__position",
    )
    for pk, coder_id, code, level, sentence_id, turn_id, interview_id, said, role, position in values.iterator():
        told = prompts.tell(
            said=said, role=role, interview_id=interview_id, coder_id=coder_id, code=code, position=position
        )
        yield Evidence(pk, coder_id, code, level, told.value or UNCLEAR, sentence_id, turn_id, interview_id)


def count_sentences(viewpoint: Viewpoint) -> dict[str, int]:
    """How many sentences each code stands on, by identifier: one query."""
    rows = standing_codings(viewpoint).order_by().values_list("code__identifier")
    return dict(rows.annotate(sentences=Count("sentence", distinct=True)))


def count_decided(viewpoint: Viewpoint) -> dict[int, Decided]:
    """How many of the models' sentences, and turns with such, were coded or finished, by interview: one query."""
    finished = Decision.objects.filter(_holds(viewpoint.layer), sentence=OuterRef("pk"))
    coded = Coding.objects.filter(_holds(viewpoint.layer), sentence=OuterRef("pk"))
    if viewpoint.sight.coder_id is not None:
        finished, coded = finished.filter(coder=viewpoint.sight.coder_id), coded.filter(coder=viewpoint.sight.coder_id)
    sentences = Sentence.objects.filter(
        Q(Exists(coded)) | Q(Exists(finished)),
        retired_by__isnull=True,
        turn__role=Turn.Role.MODEL,
        turn__channel=Turn.Channel.UTTERANCE,
        turn__interview__in=seen_interviews(viewpoint).values("pk"),
    )
    rows = sentences.order_by().values_list("turn__interview")
    counted = rows.annotate(sentences=Count("pk"), turns=Count("turn", distinct=True))
    return {interview: Decided(found, turns) for interview, found, turns in counted}


class Filters(NamedTuple):
    """What narrows the list of a theme's sentences; ``None`` and empty do not."""

    model: str | None = None
    interview_id: int | None = None
    prompting: str = ""
    level: str = ""


class CodedSentence(NamedTuple):
    """A sentence that bears one of the codes asked for, and the codings that put them there."""

    sentence_id: int
    coding_ids: list[int]
    prompting: str


def find_coded_sentences(viewpoint: Viewpoint, identifiers: Iterable[str], filters: Filters) -> list[CodedSentence]:
    """The sentences behind a cell of the presence table, in the order of the study: as many as the cell says."""
    interviews = seen_interviews(viewpoint)
    if filters.model is not None:
        interviews = interviews.filter(model_label=filters.model)
    if filters.interview_id is not None:
        interviews = interviews.filter(pk=filters.interview_id)
    wanted = set(interviews.values_list("pk", flat=True))
    sentences: dict[int, list[Evidence]] = {}
    for each in read_evidence(viewpoint, identifiers):
        if each.interview_id in wanted:
            sentences.setdefault(each.sentence_id, []).append(each)
    found = []
    for sentence_id, codings in sentences.items():
        prompting = max((each.prompting for each in codings), key=lambda each: STRENGTH[each])
        fits_level = not filters.level or any(each.level == filters.level for each in codings)
        if fits_level and filters.prompting in {"", prompting}:
            found.append(CodedSentence(sentence_id, [each.coding_id for each in codings], prompting))
    return found
