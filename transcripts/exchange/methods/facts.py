"""The figures behind a methods paragraph, read from the record."""

from __future__ import annotations

import datetime
from collections import Counter
from typing import NamedTuple

from django.db.models import Count, Q

from transcripts.agreement.models import Adjudication
from transcripts.audit_trail.models import AuditEvent, AuditHead
from transcripts.audit_trail.trail import project_stream
from transcripts.codebook.models import CodebookVersion, CodeChange
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Decision, Reveal, Unblinding
from transcripts.corpus.models import Interview, Recut, Sentence, Turn
from transcripts.exchange.registry import MachineUse, list_machine_notes, list_machine_uses
from transcripts.projects.models import MethodStance, Project
from transcripts.projects.queries import Stances, read_stances
from transcripts.retrieval.catalog import read_catalog
from transcripts.rounds.models import Assignment, Round
from transcripts.themes.models import PhaseEntry, PositionalityStatement, ThemeVersion

# An import of a project file writes one event of its own, whatever the number and the dates of its codings.
ACTS_OF_CODING = ["coding.added", "coding.changed", "coding.decided"]


class Corpus(NamedTuple):
    """The texts."""

    interviews: int
    turns: int
    sentences: int
    answers: int
    models: dict[str, int]
    segmenters: list[str]
    recuts: int
    inclusion: dict[str, int]


class Published(NamedTuple):
    """A published version of the codebook."""

    number: int
    at: datetime.datetime
    codes: int


class Codebook(NamedTuple):
    """The instrument; ``changes`` by kind and effect."""

    versions: list[Published]
    changes: dict[tuple[str, str], int]
    families: dict[str, str]


class Coded(NamedTuple):
    """The coding, in standing codings unless it says otherwise.

    ``began_here`` is when the first act of coding went on record; what an import brought may be older than the study.
    """

    coders: int
    outside: int
    codings: int
    sentences: int
    interviews: int
    shared_interviews: int
    by_level: dict[str, int]
    by_layer: dict[str, int]
    by_enactment: dict[str, int]
    withdrawn: int
    stale: int
    decisions: int
    none_applies: int
    read_sentences: int
    first: datetime.datetime | None
    last: datetime.datetime | None
    began_here: datetime.datetime | None


class Team(NamedTuple):
    """How the reading was dealt out."""

    rounds: list[Round]
    assignments: int
    assigned_interviews: int
    overlapping_interviews: int
    signed: int


class Seen(NamedTuple):
    """What was opened to whom."""

    openings: int
    openers: int
    opened_interviews: int
    reveals: dict[str, int]


class Method(NamedTuple):
    """What is claimed, and what was done about differing readings."""

    stances: Stances
    log: list[MethodStance]
    computed: dict[str, int]
    adjudications: dict[str, int]
    adjudicated: dict[str, int]


class Record(NamedTuple):
    """The audit trail."""

    events: int
    head: str
    first: datetime.datetime | None
    last: datetime.datetime | None
    by_action: dict[str, int]


class Facts(NamedTuple):
    """Everything."""

    name: str
    written_at: datetime.datetime
    corpus: Corpus
    codebook: Codebook
    coded: Coded
    team: Team
    seen: Seen
    method: Method
    themes: dict[str, int]
    phases: dict[int, int]
    machines: list[MachineUse]
    machine_notes: list[str]
    statements: list[PositionalityStatement]
    record: Record


def read_facts(project: Project, *, now: datetime.datetime) -> Facts:
    """About thirty queries, none of which grows with anything but the database's own work."""
    return Facts(
        name=project.name,
        written_at=now,
        corpus=read_corpus(project),
        codebook=read_codebook(project),
        coded=read_coded(project),
        team=read_team(project),
        seen=read_seen(project),
        method=read_method(project),
        themes=count_themes(project),
        phases=dict(
            PhaseEntry.objects.filter(project=project, withdrawn_at__isnull=True)
            .order_by("phase")
            .values_list("phase")
            .annotate(Count("pk"))
        ),
        machines=list_machine_uses(project),
        machine_notes=list_machine_notes(project),
        statements=list(
            PositionalityStatement.objects.filter(project=project, withdrawn_at__isnull=True)
            .select_related("author")
            .order_by("author__username")
        ),
        record=read_record(project),
    )


def read_corpus(project: Project) -> Corpus:
    interviews = Interview.objects.filter(project=project)
    sentences = Sentence.objects.current().filter(turn__interview__project=project)
    answers = sentences.filter(turn__role=Turn.Role.MODEL, turn__channel=Turn.Channel.UTTERANCE)
    return Corpus(
        interviews=interviews.count(),
        turns=Turn.objects.filter(interview__project=project).count(),
        sentences=sentences.count(),
        answers=answers.count(),
        models=_tally(interviews, "model_label"),
        segmenters=sorted(set(interviews.values_list("segmenter", flat=True))),
        recuts=Recut.objects.filter(turn__interview__project=project).count(),
        inclusion=_tally(interviews, "inclusion"),
    )


def read_codebook(project: Project) -> Codebook:
    published = project.codebook_versions.filter(status=CodebookVersion.Status.PUBLISHED).order_by("number")
    rows = published.annotate(size=Count("codes")).values_list("number", "published_at", "size")
    changes = CodeChange.objects.filter(version__in=published).order_by("kind", "effect")
    current = current_version(project)
    return Codebook(
        versions=[Published(number, at, size) for number, at, size in rows if at is not None],
        changes={
            (kind, effect): count
            for kind, effect, count in changes.values_list("kind", "effect").annotate(count=Count("pk"))
        },
        families=dict(current.families.order_by("position").values_list("identifier", "name")) if current else {},
    )


def read_coded(project: Project) -> Coded:
    every = Coding.objects.filter(sentence__turn__interview__project=project)
    standing = every.filter(withdrawn_at__isnull=True, sentence__retired_by__isnull=True)
    decisions = Decision.objects.active().filter(
        sentence__turn__interview__project=project, sentence__retired_by__isnull=True
    )
    coders = set(standing.values_list("coder", flat=True)) | set(decisions.values_list("coder", flat=True))
    pairs = set(standing.values_list("sentence__turn__interview", "coder").distinct())
    pairs |= set(decisions.values_list("sentence__turn__interview", "coder").distinct())
    readers = Counter(interview for interview, _ in pairs)
    moments = every.order_by("created_at").values_list("created_at", flat=True)
    answers = Sentence.objects.current().filter(
        turn__interview__project=project, turn__role=Turn.Role.MODEL, turn__channel=Turn.Channel.UTTERANCE
    )
    read = Q(pk__in=decisions.values("sentence")) | Q(pk__in=standing.values("sentence"))
    return Coded(
        coders=len(coders),
        outside=standing.filter(coder__is_active=False).count(),
        codings=standing.count(),
        sentences=standing.values("sentence").distinct().count(),
        interviews=len(readers),
        shared_interviews=sum(1 for count in readers.values() if count > 1),
        by_level=_tally(standing, "level"),
        by_layer=_tally(standing, "layer"),
        by_enactment=_tally(standing.exclude(enactment=""), "enactment"),
        withdrawn=every.filter(withdrawn_at__isnull=False).count(),
        stale=standing.filter(code__in=read_catalog(project).stale_ids).count(),
        decisions=decisions.count(),
        none_applies=decisions.filter(none_applies=True).count(),
        read_sentences=answers.filter(read).count(),
        first=moments.first(),
        last=moments.last(),
        began_here=find_first_act(project),
    )


def find_first_act(project: Project) -> datetime.datetime | None:
    """When somebody first coded or decided in this program."""
    acts = AuditEvent.objects.filter(stream=project_stream(project.pk), action__in=ACTS_OF_CODING)
    return acts.order_by("sequence").values_list("at", flat=True).first()


def read_team(project: Project) -> Team:
    standing = Assignment.objects.filter(round__project=project, withdrawn_at__isnull=True)
    readers = Counter(interview for interview, _ in set(standing.values_list("interview", "coder")))
    return Team(
        rounds=list(Round.objects.filter(project=project).order_by("number")),
        assignments=standing.count(),
        assigned_interviews=len(readers),
        overlapping_interviews=sum(1 for count in readers.values() if count > 1),
        signed=standing.filter(signed_at__isnull=False).count(),
    )


def read_seen(project: Project) -> Seen:
    openings = Unblinding.objects.filter(interview__project=project)
    return Seen(
        openings=openings.count(),
        openers=openings.values("user").distinct().count(),
        opened_interviews=openings.values("interview").distinct().count(),
        reveals=_tally(Reveal.objects.filter(sentence__turn__interview__project=project), "source"),
    )


def read_method(project: Project) -> Method:
    events = AuditEvent.objects.filter(stream=project_stream(project.pk), action="agreement.computed")
    computed = Counter(target.removeprefix("family:") for target in events.values_list("target", flat=True))
    standing = Adjudication.objects.filter(project=project, withdrawn_at__isnull=True)
    return Method(
        stances=read_stances(project),
        log=list(project.stances.order_by("pk")),
        computed=dict(computed),
        adjudications=_tally(standing, "outcome"),
        adjudicated=_tally(standing, "family_identifier"),
    )


def count_themes(project: Project) -> dict[str, int]:
    """The themes by the state they are in now."""
    versions = ThemeVersion.objects.filter(theme__project=project).order_by("number")
    return dict(Counter(dict(versions.values_list("theme", "state")).values()))


def read_record(project: Project) -> Record:
    stream = project_stream(project.pk)
    events = AuditEvent.objects.filter(stream=stream)
    head = AuditHead.objects.filter(stream=stream).first()
    moments = events.order_by("sequence").values_list("at", flat=True)
    return Record(
        events=head.sequence if head else 0,
        head=head.hash if head else "",
        first=moments.first(),
        last=moments.last(),
        by_action=_tally(events, "action"),
    )


def _tally(rows: object, column: str) -> dict[str, int]:
    counted = rows.order_by(column).values_list(column).annotate(count=Count("pk"))  # type: ignore[attr-defined]
    return dict(counted)
