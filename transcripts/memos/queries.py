"""Which memos a person finds, and what is shown of them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from transcripts.codebook.models import Code
from transcripts.coding.models import Coding, Memo
from transcripts.projects.models import Project
from transcripts.retrieval.words import Piece, Term, holds_all, mark, may_hold_all
from transcripts.themes.queries import current_themes

# Characters; what is longer is cut in the list and read whole on the memo's page.
LONGEST_SHOWN = 1_200


class MemoFilters(NamedTuple):
    """What narrows the list of memos; what is empty or ``None`` does not."""

    kind: str = ""
    subject: str = ""
    key: str = ""
    author: str = ""
    code: str = ""
    interview: int | None = None
    since: datetime.date | None = None
    until: datetime.date | None = None


class PlaceName(NamedTuple):
    """What a memo is on, in words, and the address where it opens."""

    name: str
    href: str


class ShownMemo(NamedTuple):
    """A memo as the list shows it."""

    memo: Memo
    place: PlaceName
    pieces: list[Piece]
    is_cut: bool


class Day(NamedTuple):
    """The memos of one day, newest first."""

    date: datetime.date
    memos: list[ShownMemo]


def narrow_memos(memos: QuerySet[Memo], filters: MemoFilters) -> QuerySet[Memo]:
    """Those memos that fit, newest first.

    A code finds the memos on it and those on sentences that the memo's own author coded with it.
    """
    for name in ("kind", "subject"):
        if value := getattr(filters, name):
            memos = memos.filter(**{name: value})
    if filters.key:
        memos = memos.filter(subject_key=filters.key)
    if filters.author:
        memos = memos.filter(author__username=filters.author)
    if filters.interview is not None:
        memos = memos.filter(interview=filters.interview)
    if filters.code:
        coded = Coding.objects.active().filter(
            sentence=OuterRef("sentence"), coder=OuterRef("author"), code__identifier=filters.code
        )
        memos = memos.filter(Q(subject=Memo.Subject.CODE, subject_key=filters.code) | Exists(coded))
    if filters.since is not None:
        memos = memos.filter(created_at__gte=_begin(filters.since))
    if filters.until is not None:
        memos = memos.filter(created_at__lt=_begin(filters.until + datetime.timedelta(days=1)))
    # A later text has a later number, and the order of numbers is there already.
    return memos.order_by("-pk")


def find_memos(memos: QuerySet[Memo], terms: Sequence[Term]) -> list[int]:
    """The numbers of those memos that hold every word, in their order: one query, the words compared as in the search."""
    rows = memos.values_list("pk", "text").iterator(chunk_size=5_000)
    return [pk for pk, text in rows if may_hold_all(text, terms) and holds_all(text, terms)]


def list_authors(memos: QuerySet[Memo]) -> list[str]:
    """The names of those who wrote some of these memos."""
    names = memos.order_by().values_list("author__username", flat=True).distinct()
    return sorted(names)


def show_memos(project: Project, memos: Iterable[Memo], terms: Sequence[Term]) -> list[ShownMemo]:
    """Memos with their places; costs two queries however many they are."""
    memos = list(memos)
    names = name_places(project, memos)
    return [
        ShownMemo(memo, name, mark(memo.text[:LONGEST_SHOWN], terms), len(memo.text) > LONGEST_SHOWN)
        for memo, name in zip(memos, names, strict=True)
    ]


def group_by_day(shown: Iterable[ShownMemo]) -> list[Day]:
    """Memos under their days, in the order in which they come."""
    days: list[Day] = []
    for each in shown:
        date = timezone.localtime(each.memo.created_at).date()
        if not days or days[-1].date != date:
            days.append(Day(date, []))
        days[-1].memos.append(each)
    return days


def name_places(project: Project, memos: Sequence[Memo]) -> list[PlaceName]:
    """What these memos are on. Their interviews and sentences are loaded already."""
    subjects = {memo.subject for memo in memos}
    themes: dict[str, str] = {}
    if Memo.Subject.THEME in subjects:
        themes = {str(each.theme.number): each.name for each in current_themes(project)}
    codes = _find_codes(project, {memo.subject_key for memo in memos if memo.subject == Memo.Subject.CODE})
    return [_name_place(project, memo, themes, codes) for memo in memos]


class _CodePlace(NamedTuple):
    name: str
    version: int
    pk: int


def _find_codes(project: Project, identifiers: set[str]) -> dict[str, _CodePlace]:
    """The newest row of each code."""
    if not identifiers:
        return {}
    rows = Code.objects.filter(version__project=project, identifier__in=identifiers, version__status="published")
    values = rows.order_by("version__number").values_list("identifier", "name", "version__number", "pk")
    return {identifier: _CodePlace(name, version, pk) for identifier, name, version, pk in values}


def _name_place(project: Project, memo: Memo, themes: dict[str, str], codes: dict[str, _CodePlace]) -> PlaceName:
    slug = project.slug
    if memo.interview is not None:
        desk = reverse("coding:desk", args=[slug, memo.interview_id])
        if memo.sentence is None:
            return PlaceName(memo.interview.title, desk)
        at = memo.sentence_id
        return PlaceName(f"{memo.interview.title}, sentence {memo.sentence.label}", f"{desk}?at={at}#s{at}")
    if memo.subject == Memo.Subject.CODE and memo.subject_key in codes:
        code = codes[memo.subject_key]
        return PlaceName(code.name, reverse("codebook:code", args=[slug, code.version, code.pk]))
    if memo.subject == Memo.Subject.THEME:
        name = themes.get(memo.subject_key, f"theme {memo.subject_key}")
        return PlaceName(name, reverse("themes:theme", args=[slug, int(memo.subject_key)]))
    return PlaceName(memo.subject_key or "the study", reverse("projects:home", args=[slug]))


def _begin(date: datetime.date) -> datetime.datetime:
    """The moment at which a day begins here."""
    return timezone.make_aware(datetime.datetime.combine(date, datetime.time.min))
