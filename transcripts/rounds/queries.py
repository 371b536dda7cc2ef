"""Queries about rounds and assignments, and the progress of coding, counted in sentences of the model.

The tables of codings and decisions are used by name, because their room is above this one (it asks here whether an interview is
open). A sentence counts as decided by the same rule as at the desk: with a decision, or with a coding from a family of
sentences.
"""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Q, QuerySet
from django.urls import reverse

from transcripts.accounts.models import User
from transcripts.charts.figures import Part, Row, RowChart
from transcripts.corpus.models import Interview
from transcripts.corpus.queries import Person, Work
from transcripts.rounds.models import Assignment, Completion, Round
from transcripts.statistics.figures import round_percent
from transcripts.studies.access import StudyRequest
from transcripts.studies.models import Membership, Study
from transcripts.studies.roles import ROLES, Permission

# A value for one interview (``i``) and one person, whose number is given as often as CLOSURE_PARAMETERS says. What is assigned
# to nobody is open to all coders, but for what each has completed, unless a round closes what is not assigned in it. What she
# completed stays closed once her own figures with it were opened to her, whatever is assigned later.
CLOSURE = """
CASE
  WHEN NOT (
    SELECT agreed.is_given FROM corpus_consent agreed
    WHERE agreed.interview_id = i.id AND agreed.scope = 'coding' ORDER BY agreed.id DESC LIMIT 1) THEN 'refused'
  WHEN EXISTS (
    SELECT 1 FROM rounds_completion e
    WHERE e.interview_id = i.id AND e.coder_id = %s AND e.withdrawn_at IS NULL
      AND (e.shown_at IS NOT NULL OR NOT EXISTS (
        SELECT 1 FROM rounds_assignment a JOIN rounds_round r ON r.id = a.round_id
        WHERE r.study_id = i.study_id AND a.withdrawn_at IS NULL
          AND (a.interview_id = i.id OR r.closes_others)))) THEN 'interview_completed'
  WHEN NOT EXISTS (
    SELECT 1 FROM rounds_assignment a JOIN rounds_round r ON r.id = a.round_id
    WHERE r.study_id = i.study_id AND a.withdrawn_at IS NULL
      AND (a.interview_id = i.id OR r.closes_others)) THEN 'open'
  WHEN EXISTS (
    SELECT 1 FROM rounds_assignment a JOIN rounds_round r ON r.id = a.round_id
    WHERE a.interview_id = i.id AND a.coder_id = %s AND a.withdrawn_at IS NULL AND a.completed_at IS NULL
      AND r.locked_at IS NULL) THEN 'open'
  WHEN EXISTS (
    SELECT 1 FROM rounds_assignment a JOIN rounds_round r ON r.id = a.round_id
    WHERE a.interview_id = i.id AND a.coder_id = %s AND a.withdrawn_at IS NULL AND r.locked_at IS NULL) THEN 'assignment_completed'
  WHEN EXISTS (
    SELECT 1 FROM rounds_assignment a
    WHERE a.interview_id = i.id AND a.coder_id = %s AND a.withdrawn_at IS NULL) THEN 'locked'
  ELSE 'unassigned'
END
"""
CLOSURE_PARAMETERS = 4
OPEN_INTERVIEWS = f"SELECT i.id FROM corpus_interview i WHERE i.study_id = %s AND {CLOSURE} = 'open'"  # noqa: S608 (all ours)
TOTALS = """
SELECT t.interview_id, COUNT(*) AS number
FROM corpus_turn t JOIN corpus_sentence s ON s.turn_id = t.id
WHERE t.interview_id IN (:interviews) AND t.is_answer AND s.retired_by_id IS NULL
GROUP BY t.interview_id
"""
# How many each person decided, and when she added her last label.
LABELLED = """
SELECT interview_id, coder_id, COUNT(DISTINCT sentence_id) AS number, MAX(made) FROM (
  SELECT t.interview_id, d.coder_id, s.id AS sentence_id, d.created_at AS made
  FROM corpus_turn t
  JOIN corpus_sentence s ON s.turn_id = t.id
  JOIN coding_decision d ON d.sentence_id = s.id AND d.withdrawn_at IS NULL
  WHERE t.interview_id IN (:interviews) AND t.is_answer AND s.retired_by_id IS NULL
    :one
  UNION ALL
  SELECT t.interview_id, d.coder_id, s.id, d.created_at
  FROM corpus_turn t
  JOIN corpus_sentence s ON s.turn_id = t.id
  JOIN coding_coding d ON d.sentence_id = s.id AND d.withdrawn_at IS NULL
  JOIN codebook_code k ON k.id = d.code_id
  JOIN codebook_codefamily f ON f.id = k.family_id
  WHERE t.interview_id IN (:interviews) AND t.is_answer AND s.retired_by_id IS NULL
    AND f.unit = 'sentence' :one
) labelled GROUP BY interview_id, coder_id
"""
# Both in one query; rows without a coder are totals.
BOTH = """
SELECT interview_id, NULL, number FROM (:totals) totals
UNION ALL
SELECT interview_id, coder_id, number FROM (:labelled) counted
"""
INTERVIEWS_AT_A_TIME = 500
CODING_ROLES = [role.key for role in ROLES.values() if Permission.CODE in role.permissions]


class Progress(NamedTuple):
    """How many sentences of an interview a coder has decided, and of how many."""

    decided: int
    total: int

    @property
    def undecided(self) -> int:
        return self.total - self.decided

    @property
    def percent(self) -> int:
        """Whole per cent; 100 means all."""
        return round_percent(self.decided, self.total, of_nothing=100)


class ProgressTable:
    """The progress of every coder in some interviews."""

    def __init__(self, totals: dict[int, int], decided: dict[tuple[int, int], int]) -> None:
        self._totals, self._decided = totals, decided

    def list_coders(self) -> set[int]:
        """Everybody who decided anything in these interviews."""
        return {coder for _, coder in self._decided}

    def find(self, interview_id: int, coder_id: int) -> Progress:
        return Progress(self._decided.get((interview_id, coder_id), 0), self._totals.get(interview_id, 0))


def read_progress(interview_ids: Collection[int], *, coder_id: int | None = None) -> ProgressTable:
    """The progress in these interviews, of everybody or of one coder. One query for every 500."""
    totals: dict[int, int] = {}
    decided: dict[tuple[int, int], int] = {}
    ids = sorted(interview_ids)
    for start in range(0, len(ids), INTERVIEWS_AT_A_TIME):
        some = ids[start : start + INTERVIEWS_AT_A_TIME]
        places = ", ".join(["%s"] * len(some))
        one = [] if coder_id is None else [coder_id]
        condition = "" if coder_id is None else "AND d.coder_id = %s"
        both = BOTH.replace(":totals", TOTALS).replace(":labelled", LABELLED)
        sql = both.replace(":interviews", places).replace(":one", condition)
        with connection.cursor() as cursor:
            cursor.execute(sql, [*some, *some, *one, *some, *one])
            for interview, coder, number in cursor.fetchall():
                if coder is None:
                    totals[interview] = number
                else:
                    decided[interview, coder] = number
    return ProgressTable(totals, decided)


def closes_the_rest(study: Study) -> bool:
    """Whether a round closes the interviews that are assigned to nobody."""
    active = Assignment.objects.filter(round__study=study, withdrawn_at__isnull=True)
    return active.filter(round__closes_others=True).exists()


def find_dealt_out(study: Study) -> set[int]:
    """The interviews that are assigned to somebody."""
    active = Assignment.objects.filter(round__study=study, withdrawn_at__isnull=True)
    return set(active.values_list("interview", flat=True))


def find_locked_interviews(study: Study) -> set[int]:
    """The interviews that are assigned in a locked round, and in no unlocked one."""
    rows = Assignment.objects.counted().filter(round__study=study)
    closed = rows.values("interview").annotate(open=Count("pk", filter=Q(round__locked_at__isnull=True)))
    return set(closed.filter(open=0).values_list("interview", flat=True))


def find_unlocked_rounds(study: Study, interview_ids: Collection[int]) -> list[str]:
    """The names of the unlocked rounds that assign one of these interviews, archived or not."""
    rows = Assignment.objects.filter(
        round__study=study, round__locked_at__isnull=True, withdrawn_at__isnull=True, interview__in=interview_ids
    )
    named = rows.order_by("round__number").values_list("round__number", "round__name").distinct()
    return [name for _, name in named]


def list_coders(study: Study) -> list[User]:
    """The members who may code, by name. People with closed accounts get nothing new."""
    members = Membership.objects.filter(study=study, user__is_active=True)
    memberships = members.filter(role__in=CODING_ROLES).select_related("user")
    return sorted((each.user for each in memberships), key=lambda user: user.username.lower())


def read_labels(study: Study, models: Iterable[str] = (), *, only: Collection[int] = ()) -> dict[int, str]:
    """The interviews of the study to allocate, each with the label of its model: all, or those with these models, or ``only``
    some of them."""
    interviews = study.interviews.order_by("pk")
    if only:
        interviews = interviews.filter(pk__in=only)
    wanted = list(models)
    if wanted:
        interviews = interviews.filter(model_label__in=wanted)
    return dict(interviews.values_list("pk", "model_label"))


def list_rounds(study: Study) -> QuerySet[Round]:
    """Every round, newest first, with counts of its active assignments."""
    active = Q(assignments__withdrawn_at__isnull=True, assignments__interview__study__isnull=False)
    return study.rounds.order_by("-number").annotate(
        interview_count=Count("assignments__interview", filter=active, distinct=True),
        coder_count=Count("assignments__coder", filter=active, distinct=True),
        assignment_count=Count("assignments", filter=active),
        completed_count=Count("assignments", filter=active & Q(assignments__completed_at__isnull=False)),
    )


def list_active(round_: Round) -> list[Assignment]:
    """The active assignments of a round, with interview and coder."""
    rows = round_.assignments.counted().select_related("interview", "coder")
    return list(rows.order_by("interview", "coder"))


def list_own(study: Study, person: User) -> list[tuple[Assignment, Progress]]:
    """The assignments of ``person`` with her own progress, newest round first, and nothing about other people."""
    rows = Assignment.objects.counted().filter(round__study=study, coder=person)
    own = list(rows.select_related("round", "interview").order_by("-round__number", "interview"))
    progress = read_progress({row.interview_id for row in own}, coder_id=person.pk)
    return [(row, progress.find(row.interview_id, person.pk)) for row in own]


def list_still_to_code(study: Study, person: User) -> QuerySet[Assignment]:
    """The uncompleted assignments of ``person`` in unlocked rounds."""
    own = Assignment.objects.counted().filter(round__study=study, coder=person)
    return own.filter(completed_at__isnull=True, round__locked_at__isnull=True)


def list_begun(study: Study, person: User) -> list[tuple[Interview, Progress, Completion | None]]:
    """The unassigned open interviews that ``person`` has begun or completed, in their order."""
    if closes_the_rest(study):
        return []
    dealt_out = find_dealt_out(study)
    rows = Completion.objects.filter(interview__study=study, coder=person, withdrawn_at__isnull=True)
    completed = {row.interview_id: row for row in rows}
    interviews = {pk: each for pk, each in study.interviews.in_bulk().items() if pk not in dealt_out}
    progress = read_progress(interviews, coder_id=person.pk)
    found = ((interviews[pk], progress.find(pk, person.pk), completed.get(pk)) for pk in sorted(interviews))
    return [(interview, own, completion) for interview, own, completion in found if own.decided or completion]


def find_shown(study_id: int, person_id: int) -> set[int]:
    """The interviews ``person`` completed and whose figures were opened to her: her labels there are settled."""
    rows = Completion.objects.filter(interview__study=study_id, coder=person_id, shown_at__isnull=False)
    return set(rows.values_list("interview", flat=True))


def count_unshown(study: Study, person: User) -> int:
    """How many interviews ``person`` has completed without opening her own figures with them."""
    rows = Completion.objects.filter(interview__study=study, coder=person)
    return rows.filter(withdrawn_at__isnull=True, shown_at__isnull=True).count()


def find_own(round_: Round, interview: Interview, person: User) -> Assignment | None:
    """The active assignment of ``person``."""
    rows = round_.assignments.filter(interview=interview, coder=person, withdrawn_at__isnull=True)
    return rows.select_related("round__study", "interview", "coder").first()


def measure_coverage(label_of: Mapping[int, str], active: list[Assignment]) -> dict[str, list[dict[str, Any]]]:
    """For each model, the numbers of its interviews with several coders, one or none; and the numbers of each coder.

    ``by_model`` of a coder counts her interviews in the order of the models.
    """
    readers = Counter(row.interview_id for row in active)
    labels = sorted(set(label_of.values()))
    models = []
    for label in labels:
        counts = [readers[key] for key in label_of if label_of[key] == label]
        none, single = counts.count(0), counts.count(1)
        several = len(counts) - none - single
        models.append({"label": label, "interviews": len(counts), "none": none, "single": single, "several": several})
    given = Counter((row.coder_id, row.interview.model_label) for row in active)
    completed = Counter(row.coder_id for row in active if row.completed_at)
    coders = {row.coder_id: row.coder for row in active}
    loads = []
    for pk, coder in sorted(coders.items(), key=lambda pair: pair[1].username.lower()):
        by_model = [given[pk, label] for label in labels]
        loads.append({"coder": coder, "by_model": by_model, "total": sum(by_model), "completed": completed[pk]})
    return {"models": models, "loads": loads}


def read_work(interviews: Collection[int], coder: User | None) -> Mapping[int, Work]:
    """The assigned coders of these interviews, each person's progress, and when a label was last added: four queries for each five
    hundred. With ``coder``, only for that person."""
    found: dict[int, Work] = {}
    ids = sorted(interviews)
    for first in range(0, len(ids), INTERVIEWS_AT_A_TIME):
        found |= _read_some(ids[first : first + INTERVIEWS_AT_A_TIME], coder)
    return found


def _read_some(ids: list[int], only: User | None) -> dict[int, Work]:
    places = ", ".join(["%s"] * len(ids))
    one = [only.pk] if only else []
    labelled = LABELLED.replace(":interviews", places).replace(":one", "AND d.coder_id = %s" if only else "")
    with connection.cursor() as cursor:
        cursor.execute(TOTALS.replace(":interviews", places), ids)
        totals = dict(cursor.fetchall())
        cursor.execute(labelled, [*ids, *one, *ids, *one])
        rows = cursor.fetchall()
    assigned = Assignment.objects.counted().filter(interview__in=ids, **({"coder": only} if only else {}))
    completed: dict[tuple[int, int], bool] = {}
    for interview, coder, at in assigned.values_list("interview", "coder", "completed_at"):
        completed[interview, coder] = completed.get((interview, coder), False) or at is not None
    decided = {(interview, coder): count for interview, coder, count, _ in rows}
    names = dict(
        User.objects.filter(pk__in={coder for _, coder in {*decided, *completed}}).values_list("pk", "username")
    )
    people: dict[int, list[Person]] = defaultdict(list)
    for interview, coder in sorted({*decided, *completed}, key=lambda key: (key[0], names[key[1]].lower())):
        key = (interview, coder)
        people[interview].append(
            Person(
                names[coder], decided.get(key, 0), totals.get(interview, 0), key in completed, completed.get(key, False)
            )
        )
    last: dict[int, datetime.datetime] = {}
    for interview, _, _, made in rows:
        at = _read_time(made)
        last[interview] = max(at, last.get(interview, at))
    return {interview: Work(tuple(each), last.get(interview)) for interview, each in people.items()}


def _read_time(value: object) -> datetime.datetime:
    """A time as the database gives it in SQL of our own: SQLite gives text in UTC."""
    if isinstance(value, datetime.datetime):
        return value
    at = datetime.datetime.fromisoformat(str(value))
    return at if at.tzinfo else at.replace(tzinfo=datetime.UTC)


INTERVIEWS_SHOWN = 12
SERIES = ("decided", "not yet decided")


def read_own_work(request: StudyRequest) -> Mapping[str, object] | None:
    """The remaining work of the person, and the desk where she continues; ``None`` for people who do not code.

    Her assignments come first: until they are decided, she is not led anywhere else.
    """
    if Permission.CODE not in request.role.permissions:
        return None
    titles, rounds = find_open(request.study, request.user)
    progress = read_progress(titles, coder_id=request.user.pk)
    own = {pk: progress.find(pk, request.user.pk) for pk in titles}
    assigned = {pk for some in rounds.values() for pk in some}
    given = [pk for pk in titles if pk in assigned]
    others = [pk for pk in titles if pk not in assigned]
    given_left = [pk for pk in given if own[pk].undecided]
    others_left = [pk for pk in others if own[pk].undecided]
    # Interviews that she has begun come before new ones.
    following = sorted(given_left or others_left, key=lambda pk: own[pk].decided == 0)[:1]
    counted = given or others
    left = given_left if given else others_left
    return {
        "rounds": [_describe_round(round_, some, own) for round_, some in rounds.items()],
        "left": sum(own[pk].undecided for pk in left),
        "interviews_left": len(left),
        "interviews": len(titles),
        "decided": sum(own[pk].decided for pk in counted),
        "total": sum(own[pk].total for pk in counted),
        "next": following[0] if following else None,
        "next_title": titles[following[0]] if following else "",
        "is_begun": any(own[pk].decided for pk in counted),
        "others_left": sum(own[pk].undecided for pk in others_left) if given else 0,
        "other_interviews_left": len(others_left) if given else 0,
    }


def _describe_round(round_: Round, interviews: Collection[int], own: Mapping[int, Progress]) -> dict[str, object]:
    left = [pk for pk in interviews if own[pk].undecided]
    return {
        "name": round_.name,
        "number": round_.number,
        "instructions": round_.instructions,
        "interviews_left": len(left),
        "left": sum(own[pk].undecided for pk in left),
    }


def find_open_interviews(study: Study, person: User) -> set[int]:
    """The interviews of a study that a person may code now. One query."""
    with connection.cursor() as cursor:
        cursor.execute(OPEN_INTERVIEWS, [study.pk, *[person.pk] * CLOSURE_PARAMETERS])
        return {pk for (pk,) in cursor.fetchall()}


def find_open(study: Study, person: User) -> tuple[dict[int, str], dict[Round, list[int]]]:
    """The interviews that ``person`` may code now, in their order, with their titles; and those assigned to her, by round, the
    oldest first."""
    open_ones = find_open_interviews(study, person)
    named = study.interviews.order_by("pk").values_list("pk", "title")
    titles = {pk: title for pk, title in named if pk in open_ones}
    left = Assignment.objects.filter(
        round__study=study, coder=person, withdrawn_at=None, completed_at=None, round__locked_at=None
    )
    rounds: defaultdict[Round, list[int]] = defaultdict(list)
    for assignment in left.select_related("round").order_by("round__number", "interview"):
        if assignment.interview_id in titles:
            rounds[assignment.round].append(assignment.interview_id)
    return titles, dict(rounds)


def place_all_work(request: StudyRequest) -> Mapping[str, object] | None:
    """A place for everybody's progress, which the browser fills later, because in a large study it takes longer than the rest of
    the page."""
    if Permission.SEE_ALL_CODINGS not in request.role.permissions or not request.study.interviews.exists():
        return None
    return {}


def read_all_work(study: Study) -> dict[str, object]:
    """The progress of each coder and of each interview."""
    titles = dict(study.interviews.order_by("pk").values_list("pk", "title"))
    progress = read_progress(titles)
    names, pairs = _find_pairs(study, titles, progress.list_coders())
    by_coder: dict[int, list[Progress]] = defaultdict(list)
    by_interview: dict[int, list[Progress]] = defaultdict(list)
    for interview, coder in pairs:
        found = progress.find(interview, coder)
        by_coder[coder].append(found)
        by_interview[interview].append(found)
    coders = [_draw(names[pk], by_coder[pk]) for pk in sorted(by_coder, key=lambda pk: names[pk].lower())]
    behind = sorted(by_interview, key=lambda pk: (_sum(by_interview[pk]).percent == 100, pk))[:INTERVIEWS_SHOWN]
    interviews = [
        _draw(titles[pk], by_interview[pk], href=reverse("desk:desk", args=[study.slug, pk])) for pk in behind
    ]
    total = _sum([each for some in by_coder.values() for each in some])
    return {
        "total": total,
        "coders": RowChart("progress-coders", "Sentences decided, by coder", coders, SERIES, high=None),
        "interviews": RowChart("progress-interviews", "Sentences decided, by interview", interviews, SERIES, high=None),
        "left_out": len(by_interview) - len(behind),
        "unassigned": len(titles) - len(by_interview),
    }


def _find_pairs(
    study: Study, titles: Iterable[int], at_work: Collection[int]
) -> tuple[dict[int, str], list[tuple[int, int]]]:
    """The names of coders, and which interviews each should code: as assigned, or every interview for every coder.

    People who decided something are named even if they no longer code.
    """
    assigned = Assignment.objects.counted().filter(round__study=study)
    # The default order includes the round, and with it an interview in two rounds would be listed twice.
    rows = list(assigned.order_by("interview", "coder").values_list("interview", "coder", "coder__username").distinct())
    pairs = [(interview, coder) for interview, coder, _ in rows]
    dealt_out = {interview for interview, _ in pairs}
    given = {coder: name for _, coder, name in rows}
    if rows and closes_the_rest(study):
        return given, pairs
    names = dict(User.objects.filter(pk__in=at_work).values_list("pk", "username"))
    names |= {each.pk: each.username for each in list_coders(study)}
    free = [(interview, coder) for interview in titles if interview not in dealt_out for coder in names]
    return names | given, pairs + free


def _sum(found: Iterable[Progress]) -> Progress:
    found = list(found)
    return Progress(sum(each.decided for each in found), sum(each.total for each in found))


def _draw(name: str, found: list[Progress], *, href: str = "") -> Row:
    whole = _sum(found)
    parts = [Part(whole.decided, 0), Part(whole.undecided, 1)]
    return Row(name, parts=parts, text=f"{whole.decided:,} of {whole.total:,} ({whole.percent} %)", href=href)


def read_notes(studies: Iterable[Study], person: User) -> dict[int, str]:
    """The number of uncompleted interviews assigned to ``person`` in each study; an interview in two rounds counts once."""
    own = Assignment.objects.counted().filter(
        round__study__in=[each.pk for each in studies],
        coder=person,
        completed_at__isnull=True,
        round__locked_at__isnull=True,
    )
    counts = Counter(study for study, _ in set(own.values_list("round__study", "interview")))
    return {pk: f"{n} interview{'' if n == 1 else 's'} assigned to you" for pk, n in counts.items()}
