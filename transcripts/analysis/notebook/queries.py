"""The subjects of memos, the search for memos, and the data of their list."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from transcripts.analysis.search.pure.words import Term, holds_all, mark, may_hold_all
from transcripts.analysis.themes import queries as themes
from transcripts.analysis.themes.queries import current_themes
from transcripts.codebook.models import Code
from transcripts.coding.models import Coding, Memo
from transcripts.corpus.models import Interview, Sentence
from transcripts.studies.models import Study
from transcripts.ui.typed_text import find_number

# Characters; the list shortens a longer memo, and the memo's own page shows all of it.
MAX_SHOWN = 1_200

# The name of a memo's subject, and its address.
PlaceName = tuple[str, str]
Subject = Memo.Subject


def narrow_memos(
    memos: QuerySet[Memo],
    *,
    kind: str = "",
    subject: str = "",
    key: str = "",
    author: str = "",
    code: str = "",
    interview: int | None = None,
    since: datetime.date | None = None,
    until: datetime.date | None = None,
) -> QuerySet[Memo]:
    """The memos that match, newest first; an empty filter does not narrow.

    Filtering by a code finds the memos on it and those on sentences that the memo's own author coded with it.
    """
    if kind:
        memos = memos.filter(kind=kind)
    if subject:
        memos = memos.filter(subject=subject)
    if key:
        memos = memos.filter(subject_key=key)
    if author:
        memos = memos.filter(author__username=author)
    if interview is not None:
        memos = memos.filter(interview=interview)
    if code:
        coded = Coding.objects.active().filter(
            sentence=OuterRef("sentence"), coder=OuterRef("author"), code__identifier=code
        )
        memos = memos.filter(Q(subject=Memo.Subject.CODE, subject_key=code) | Exists(coded))
    if since is not None:
        memos = memos.filter(created_at__gte=_begin(since))
    if until is not None:
        memos = memos.filter(created_at__lt=_begin(until + datetime.timedelta(days=1)))
    # A newer text has a higher primary key, and the database has an index for that order.
    return memos.order_by("-pk")


def find_memos(memos: QuerySet[Memo], terms: Sequence[Term]) -> list[int]:
    """The ids of the memos that contain every term, in their order. One query; words are compared as in the search."""
    rows = memos.values_list("pk", "text").iterator(chunk_size=5_000)
    return [pk for pk, text in rows if may_hold_all(text, terms) and holds_all(text, terms)]


def list_authors(memos: QuerySet[Memo]) -> list[str]:
    """The names of the authors of these memos."""
    names = memos.order_by().values_list("author__username", flat=True).distinct()
    return sorted(names)


def show_memos(study: Study, memos: Iterable[Memo], terms: Sequence[Term]) -> list[dict[str, object]]:
    """Memos by day in the given order, each with its place, for the list's template: two queries."""
    memos = list(memos)
    names = name_places(study, memos)
    shown = [
        {
            "memo": memo,
            "place": name,
            "pieces": mark(memo.text[:MAX_SHOWN], terms),
            "is_cut": len(memo.text) > MAX_SHOWN,
            "date": timezone.localtime(memo.created_at).date(),
        }
        for memo, name in zip(memos, names, strict=True)
    ]
    return [{"date": date, "memos": list(group)} for date, group in groupby(shown, key=lambda each: each["date"])]


def name_places(study: Study, memos: Sequence[Memo]) -> list[PlaceName]:
    """The names and addresses of these memos' subjects. Their interviews and sentences must be loaded."""
    subjects = {memo.subject for memo in memos}
    themes: dict[str, str] = {}
    if Memo.Subject.THEME in subjects:
        themes = {str(each.theme.number): each.name for each in current_themes(study)}
    codes = _find_codes(study, {memo.subject_key for memo in memos if memo.subject == Memo.Subject.CODE})
    return [_name_place(study, memo, themes, codes) for memo in memos]


def _find_codes(study: Study, identifiers: set[str]) -> dict[str, tuple[str, int, int]]:
    """The newest row of each code: its name, the number of its version, and its primary key."""
    if not identifiers:
        return {}
    rows = Code.objects.filter(version__study=study, identifier__in=identifiers, version__status="published")
    values = rows.order_by("version__number").values_list("identifier", "name", "version__number", "pk")
    return {identifier: (name, version, pk) for identifier, name, version, pk in values}


def _name_place(study: Study, memo: Memo, themes: dict[str, str], codes: dict[str, tuple[str, int, int]]) -> PlaceName:
    slug = study.slug
    if memo.interview is not None:
        desk = reverse("desk:desk", args=[slug, memo.interview_id])
        if memo.sentence is None:
            return memo.interview.title, desk
        at = memo.sentence_id
        return f"{memo.interview.title}, sentence {memo.sentence.label}", f"{desk}?at={at}#s{at}"
    if memo.subject == Memo.Subject.CODE and memo.subject_key in codes:
        name, version, pk = codes[memo.subject_key]
        return name, reverse("codebook:code", args=[slug, version, pk])
    if memo.subject == Memo.Subject.THEME:
        name = themes.get(memo.subject_key, f"theme {memo.subject_key}")
        return name, reverse("themes:theme", args=[slug, int(memo.subject_key)])
    return memo.subject_key or "the study", reverse("studies:home", args=[slug])


def _begin(date: datetime.date) -> datetime.datetime:
    """Midnight of a day, in the site's time zone."""
    return timezone.make_aware(datetime.datetime.combine(date, datetime.time.min))


class PlaceNotFound(Exception):
    """An address or a form names something that is not in the study."""


class Place(NamedTuple):
    """Where a memo belongs. ``key`` is the identifier of a code or the number of a theme."""

    subject: str
    key: str = ""
    interview: Interview | None = None
    sentence: Sentence | None = None

    @classmethod
    def of(cls, memo: Memo) -> Place:
        """The place of a memo. Reads its interview and sentence: costs queries when they are not loaded."""
        return cls(memo.subject, memo.subject_key, memo.interview, memo.sentence)

    @property
    def fields(self) -> dict[str, str]:
        """The place as the fields of an address or a form name it."""
        if self.sentence is not None:
            return {"sentence": str(self.sentence.pk)}
        if self.interview is not None:
            return {"interview": str(self.interview.pk)}
        return {self.subject: self.key} if self.subject in {Subject.CODE, Subject.THEME} else {}


def find_place(study: Study, asked: Mapping[str, str]) -> Place:
    """The place that ``asked`` names: by sentence, interview, code or theme; without one, the study.

    Raises ``PlaceNotFound``.
    """
    if asked.get("sentence"):
        sentence = themes.find_sentence(study, _read_number(asked["sentence"]))
        if sentence is None or sentence.retired_by_id is not None:
            raise PlaceNotFound("This study has no such sentence.")
        return Place(Subject.SENTENCE, "", sentence.turn.interview, sentence)
    if asked.get("interview"):
        interview = study.interviews.filter(pk=_read_number(asked["interview"])).first()
        if interview is None:
            raise PlaceNotFound("This study has no such interview.")
        return Place(Subject.INTERVIEW, "", interview)
    if code := asked.get("code"):
        if themes.find_unknown_codes(study, [code]):
            raise PlaceNotFound("This code is not in the codebook of this study.")
        return Place(Subject.CODE, code)
    if asked.get("theme"):
        number = _read_number(asked["theme"])
        if not study.themes.filter(number=number).exists():
            raise PlaceNotFound("This study has no such theme.")
        return Place(Subject.THEME, str(number))
    return Place(Subject.STUDY)


def _read_number(text: str) -> int:
    number = find_number(text)
    if number is None:
        raise PlaceNotFound("The number in the address is not valid.")
    return number
