"""What the overview of a study shows of its reading: to a coder what is left, to leads how far everybody is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from django.urls import reverse

from transcripts.accounts.models import User
from transcripts.charts.figures import Part, Row, RowChart
from transcripts.corpus.models import Consent
from transcripts.corpus.queries import list_consenting
from transcripts.rounds.models import Assignment, Finish, Round
from transcripts.rounds.queries import Progress, closes_the_rest, list_coders, read_progress
from transcripts.studies.access import ProjectRequest
from transcripts.studies.models import Project
from transcripts.studies.roles import Permission

INTERVIEWS_SHOWN = 12
SERIES = ("decided", "not yet decided")


def read_own_work(request: ProjectRequest) -> Mapping[str, object] | None:
    """What is left for the person who asks, and the desk where she goes on; ``None`` for people who do not code.

    What is assigned to her comes first: until it is decided, she is led nowhere else.
    """
    if Permission.CODE not in request.role.permissions:
        return None
    titles, rounds = find_open(request.project, request.user)
    progress = read_progress(titles, coder_id=request.user.pk)
    own = {pk: progress.find(pk, request.user.pk) for pk in titles}
    assigned = {pk for some in rounds.values() for pk in some}
    given = [pk for pk in titles if pk in assigned]
    others = [pk for pk in titles if pk not in assigned]
    given_left = [pk for pk in given if own[pk].undecided]
    others_left = [pk for pk in others if own[pk].undecided]
    # What was begun comes before what is new.
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


def find_open(project: Project, person: User) -> tuple[dict[int, str], dict[Round, list[int]]]:
    """The interviews that ``person`` may code now, in their order, with their titles; and of
    them what is assigned to her, by round, the oldest round first."""
    interviews = dict(project.interviews.order_by("pk").values_list("pk", "title"))
    finished = Finish.objects.filter(interview__project=project, coder=person, withdrawn_at__isnull=True)
    done = dict(finished.values_list("interview", "shown_at"))
    rows = list(
        Assignment.objects.filter(round__project=project, withdrawn_at__isnull=True).values_list(
            "interview", "coder", "signed_at", "round__locked_at", "round__closes_others", "round"
        )
    )
    own = [(row[0], row[5]) for row in rows if row[1] == person.pk and row[2] is None and row[3] is None]
    assigned = {interview for interview, _ in own}
    dealt_out = {row[0] for row in rows}
    closes_rest = any(row[4] for row in rows)
    free = set() if closes_rest else interviews.keys() - dealt_out - done.keys()
    open_ones = {
        pk: title for pk, title in interviews.items() if pk in free or (pk in assigned and done.get(pk) is None)
    }
    allowed = list_consenting(open_ones, Consent.Scope.CODING)
    titles = {pk: title for pk, title in open_ones.items() if pk in allowed}
    named = Round.objects.filter(pk__in={round_ for _, round_ in own}).order_by("number") if own else []
    rounds = {each: sorted({pk for pk, round_ in own if round_ == each.pk and pk in titles}) for each in named}
    return titles, {each: some for each, some in rounds.items() if some}


def place_all_work(request: ProjectRequest) -> Mapping[str, object] | None:
    """A place for how far everybody is, which the browser fills: in a large study it takes longer than the rest of the page."""
    if Permission.SEE_ALL_CODINGS not in request.role.permissions or not request.project.interviews.exists():
        return None
    return {}


def read_all_work(project: Project) -> dict[str, object]:
    """How far each coder is, and each interview."""
    titles = dict(project.interviews.order_by("pk").values_list("pk", "title"))
    progress = read_progress(titles)
    names, pairs = _find_pairs(project, titles, progress.list_coders())
    by_coder: dict[int, list[Progress]] = defaultdict(list)
    by_interview: dict[int, list[Progress]] = defaultdict(list)
    for interview, coder in pairs:
        found = progress.find(interview, coder)
        by_coder[coder].append(found)
        by_interview[interview].append(found)
    coders = [_draw(names[pk], by_coder[pk]) for pk in sorted(by_coder, key=lambda pk: names[pk].lower())]
    behind = sorted(by_interview, key=lambda pk: (_sum(by_interview[pk]).percent == 100, pk))[:INTERVIEWS_SHOWN]
    interviews = [
        _draw(titles[pk], by_interview[pk], href=reverse("desk:desk", args=[project.slug, pk])) for pk in behind
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
    project: Project, titles: Iterable[int], at_work: Collection[int]
) -> tuple[dict[int, str], list[tuple[int, int]]]:
    """The names of coders, and who is to read which interview: as assigned, or every coder each interview.

    People who decided something are named even if they no longer code.
    """
    assigned = Assignment.objects.counted().filter(round__project=project)
    # The order of the model has the round in it, and with the round an interview of two rounds would be there twice.
    rows = list(assigned.order_by("interview", "coder").values_list("interview", "coder", "coder__username").distinct())
    pairs = [(interview, coder) for interview, coder, _ in rows]
    dealt_out = {interview for interview, _ in pairs}
    given = {coder: name for _, coder, name in rows}
    if rows and closes_the_rest(project):
        return given, pairs
    names = dict(User.objects.filter(pk__in=at_work).values_list("pk", "username"))
    names |= {each.pk: each.username for each in list_coders(project)}
    free = [(interview, coder) for interview in titles if interview not in dealt_out for coder in names]
    return names | given, pairs + free


def _sum(found: Iterable[Progress]) -> Progress:
    found = list(found)
    return Progress(sum(each.decided for each in found), sum(each.total for each in found))


def _draw(name: str, found: list[Progress], *, href: str = "") -> Row:
    whole = _sum(found)
    parts = [Part(whole.decided, 0), Part(whole.undecided, 1)]
    return Row(name, parts=parts, text=f"{whole.decided:,} of {whole.total:,} ({whole.percent} %)", href=href)


def read_notes(studies: Iterable[Project], person: User) -> dict[int, str]:
    """How many interviews are assigned to ``person`` in each study and not signed off yet; one of two rounds is one."""
    own = Assignment.objects.counted().filter(
        round__project__in=[each.pk for each in studies],
        coder=person,
        signed_at__isnull=True,
        round__locked_at__isnull=True,
    )
    counts = Counter(study for study, _ in set(own.values_list("round__project", "interview")))
    return {pk: f"{n} interview{'' if n == 1 else 's'} assigned to you" for pk, n in counts.items()}
