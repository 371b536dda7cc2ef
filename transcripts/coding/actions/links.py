"""Links: what a move acts on, what an entry of a feature rests on, and what a Revise revises.

Links are kept with their codings when these are superseded, restored or migrated, or the boundaries of their sentences are
edited. Links are never edited: the old row is withdrawn, and the new coding gets an equal one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID, uuid5

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.trail import RowChange, row_changed, row_made
from transcripts.codebook.models import Code
from transcripts.codebook.pure.checking import FEATURE_PREFIX, is_feature
from transcripts.coding import queries
from transcripts.coding.actions import checks
from transcripts.coding.actions.checks import (
    WrongPlace,
    check_same,
    choose_blinding,
    find_stored,
    find_winner,
    insert_once,
)
from transcripts.coding.models import Blinding, Coding, Link
from transcripts.coding.queries import find_place_now
from transcripts.corpus.models import Interview, Relation, Sentence
from transcripts.corpus.pure.boundaries import Extent
from transcripts.corpus.queries import explain_retired
from transcripts.refusals import WrongInput
from transcripts.studies.models import Study

# Moves are recognised by the beginning of their identifiers, features by the rule of the codebook.
MOVES = "move."
REVISE = "move.revise"

End = tuple[str, str | int | None]


def carry_links(pairs: Iterable[tuple[int, Coding]], *, at: datetime) -> list[RowChange]:
    """Give each new coding the links of the coding that it replaces; returns what the audit event says about them.

    ``pairs`` have the id of a replaced coding and the new one; one coding may be replaced by several, and several by one. A new
    coding that is itself withdrawn (history that a boundary edit keeps) gets the links as they were then. Link ends on retired
    sentences move to the sentences that replaced them. Three statements in the usual case.
    """
    targets: dict[int, list[Coding]] = defaultdict(list)
    for old_id, new in pairs:
        targets[old_id].append(new)
    if not targets:
        return []
    # Links that were active as long as their codings, or still are.
    stood = Q(withdrawn_at__isnull=True) | Q(withdrawn_at__gte=F("coding__withdrawn_at"))
    links = list(read_links(Q(coding__in=list(targets)) & stood))
    if not links:
        return []
    made = [_copy(link, new, at=at) for link in links for new in targets[link.coding_id] if not _is_past(link, new)]
    current = [link for link in links if link.withdrawn_at is None]
    kept = {link.pk for link in current if all(new.withdrawn_at for new in targets[link.coding_id])}
    return _store([link for link in current if link.pk not in kept], made, at=at)


def move_ends(retired: Collection[int], *, at: datetime) -> list[RowChange]:
    """Move link ends on retired sentences to those that replaced them, for every coder; returns what the audit event says."""
    # Links of removed codings are moved when these are restored.
    stands = Q(withdrawn_at__isnull=True, coding__withdrawn_at__isnull=True)
    links = list(read_links(stands & Q(sentence__in=list(retired))))
    return _store(links, [_copy(link, link.coding, at=at) for link in links], at=at)


def recode_ends(pairs: Sequence[tuple[Link, Code]], *, at: datetime) -> list[RowChange]:
    """Make links name other codes; returns what the audit event says about it."""
    made = []
    for link, code in pairs:
        copy = _copy(link, link.coding, at=at)
        copy.code, copy.idempotency_key = code, make_recoded_key(link, code)
        made.append(copy)
    return _store([link for link, _ in pairs], made, at=at)


def make_recoded_key(link: Link, code: Code) -> UUID:
    """The key under which ``recode_ends`` stores the new row of a link, so that it can be found again."""
    return uuid5(link.idempotency_key, f"code {code.pk}")


def read_links(where: Q) -> QuerySet[Link]:
    """Links, locked until the end of the transaction, with their codings, codes and sentences; in the order of storing."""
    links = Link.objects.filter(where).select_related("coding", "code", "sentence").order_by("pk")
    return links.select_for_update(of=("self",), no_key=True)


def _is_past(link: Link, new: Coding) -> bool:
    """Whether a link is withdrawn: only a new coding that is withdrawn as well gets it."""
    return link.withdrawn_at is not None and new.withdrawn_at is None


def _copy(link: Link, coding: Coding, *, at: datetime) -> Link:
    sentence, quote = _find_end(link)
    start, end = quote or (None, None)
    is_assisted = Blinding.ASSISTED in {link.blinding, coding.blinding}
    return Link(
        coding=coding,
        coder_id=link.coder_id,
        kind=link.kind,
        code=link.code,
        sentence=sentence,
        quote_start=start,
        quote_end=end,
        blinding=Blinding.ASSISTED if is_assisted else Blinding.BLIND,
        idempotency_key=uuid5(link.idempotency_key, f"{coding.pk} {sentence.pk if sentence else ''}"),
        created_at=at if coding.withdrawn_at is None else link.created_at,
        withdrawn_at=link.withdrawn_at if coding.withdrawn_at is not None else None,
    )


def _find_end(link: Link) -> tuple[Sentence | None, Extent | None]:
    if link.sentence is None:
        return None, None
    quote = None if link.quote_start is None or link.quote_end is None else Extent(link.quote_start, link.quote_end)
    return find_place_now(link.sentence, quote)


def name_end(link: Link) -> End:
    """The identity of a link within a coding: its kind, and the code or sentence that it names."""
    return link.kind, link.code.identifier if link.code else link.sentence_id


def _store(old: Sequence[Link], made: Sequence[Link], *, at: datetime) -> list[RowChange]:
    """Withdraw the old links and insert the new ones, each end of a coding once: quotes in one sentence are joined."""
    rows: list[RowChange] = []
    for link in old:
        link.withdrawn_at = max(at, link.created_at)
        rows.append(row_changed(Link, link.pk, withdrawn_at=link.withdrawn_at))
    Link.objects.bulk_update(old, ["withdrawn_at"], batch_size=500)
    standing = Link.objects.filter(coding__in={link.coding_id for link in made}, withdrawn_at__isnull=True)
    taken = {(link.coding_id, name_end(link)) for link in standing.select_related("code")}
    first: dict[tuple[int, End, datetime | None], Link] = {}
    for link in made:
        place = (link.coding_id, name_end(link), link.withdrawn_at)
        if place in first:
            _widen(first[place], link)
        elif (link.coding_id, name_end(link)) not in taken or link.withdrawn_at is not None:
            first[place] = link
    Link.objects.bulk_create(first.values(), batch_size=500)
    return [*rows, *(row_made(link) for link in first.values())]


def _widen(link: Link, other: Link) -> None:
    """One quote that covers both; none if either is of the whole sentence."""
    if None in {link.quote_start, other.quote_start} or link.sentence is None:
        link.quote_start = link.quote_end = None
        return
    start = min(link.quote_start or 0, other.quote_start or 0)
    end = max(link.quote_end or 0, other.quote_end or 0)
    is_whole = Extent(start, end) == link.sentence.extent
    link.quote_start, link.quote_end = (None, None) if is_whole else (start, end)


NEEDS = {
    Link.Kind.ACTS_ON: (MOVES, "a move", "the feature that it acts on"),
    Link.Kind.WARRANT: (FEATURE_PREFIX, "an entry of a feature", "the sentence that it rests on"),
    Link.Kind.REVISES: (REVISE, "a Revise", "the sentence that it revises"),
}


@transaction.atomic
def add_link(
    *,
    study: Study,
    coding: Coding,
    kind: str,
    by: User,
    idempotency_key: UUID,
    code: Code | None = None,
    sentence: Sentence | None = None,
    quote: Extent | None = None,
) -> Link:
    """Link one of her codings to a feature (``code``), or to an earlier ``sentence`` or a ``quote`` in it. Returns the row.

    ``quote`` counts code points of the turn's text. If the coding has been superseded in the meantime, the link goes to the
    coding that replaced it. Repeating a link changes nothing; another quote in the same sentence replaces the first. Its
    blinding says what she could see when she made it. Raises ``WrongInput``, ``WrongPlace``, ``NotOpen`` or ``UsedForAnother``.
    """
    checks.check_place(study, coding.sentence)
    if coding.coder_id != by.pk:
        raise WrongInput(
            "This coding belongs to another person. You can make links only from your own codings.", field="coding"
        )
    coding = _follow(coding)
    _check_kind(coding, kind, code, sentence)
    if code is not None:
        _check_feature(study, code)
    if sentence is not None:
        _check_sentence(study, coding, sentence, by)
        checks.check_quote(sentence, quote, field="quote_from")
        for each in sorted({coding.sentence, sentence}, key=lambda each: each.pk):
            checks.hold_place(each)
    elif quote is not None:
        raise WrongInput("Only a link to a sentence has a quote. Leave it out.", field="quote_from")
    if (stored := find_stored(Link, by, idempotency_key, on=coding.sentence)) is not None:
        return check_same(
            stored, code_id=code.pk if code else None, sentence_id=sentence.pk if sentence else stored.sentence_id
        )
    coding = _hold(coding)
    end = Q(code__identifier=code.identifier) if code else Q(sentence=sentence)
    standing = Link.objects.filter(end, coding=coding, kind=kind, withdrawn_at__isnull=True).first()
    if standing is not None and (standing.quote_start, standing.quote_end) == (quote or (None, None)):
        return standing
    active = queries.read_active_labels(coding.sentence_id, by.pk)
    checks.check_open(active)
    link = Link(
        coding=coding,
        coder=by,
        kind=kind,
        code=code,
        sentence=sentence,
        quote_start=quote.start if quote else None,
        quote_end=quote.end if quote else None,
        blinding=choose_blinding(active),
        idempotency_key=idempotency_key,
        created_at=timezone.now(),
    )
    rows = []
    if standing is not None:
        ended = max(link.created_at, standing.created_at)
        Link.objects.filter(pk=standing.pk, withdrawn_at__isnull=True).update(withdrawn_at=ended)
        rows.append(row_changed(Link, standing.pk, withdrawn_at=ended))
    if not insert_once(link):
        return find_winner(link, coding=coding, kind=kind, code=code, sentence=sentence)
    trail.record(
        "coding.link.added",
        target=link,
        by=by,
        stream=trail.study_stream(study.pk),
        details={
            "coding": coding.pk,
            "kind": kind,
            **({"code": code.pk} if code else {}),
            **({"sentence": sentence.pk} if sentence else {}),
            **({"quote": [*quote]} if quote else {}),
            **({"replaces": standing.pk} if standing else {}),
            "blinding": link.blinding,
        },
        rows=[*rows, row_made(link)],
    )
    return link


@transaction.atomic
def withdraw_link(*, study: Study, link: Link, by: User) -> None:
    """Withdraw a link; its row stays. A link that has already been withdrawn is left as it is.

    Raises ``WrongInput`` if it is another person's, ``WrongPlace`` or ``NotOpen``.
    """
    checks.check_place(study, link.coding.sentence)
    if link.coder_id != by.pk:
        raise WrongInput("This link belongs to another person. You can remove only your own links.", field="link")
    if link.withdrawn_at is not None:
        return
    checks.hold_place(link.coding.sentence)
    checks.check_open(queries.read_active_labels(link.coding.sentence_id, by.pk))
    ended = max(timezone.now(), link.created_at)
    if not Link.objects.filter(pk=link.pk, withdrawn_at__isnull=True).update(withdrawn_at=ended):
        return
    link.withdrawn_at = ended
    trail.record(
        "coding.link.withdrawn",
        target=link,
        by=by,
        stream=trail.study_stream(study.pk),
        details={"coding": link.coding_id, "kind": link.kind},
        rows=[row_changed(Link, link.pk, withdrawn_at=ended)],
    )


def find_link(coding: Coding, kind: str, *, code: Code | None = None, sentence_id: int | None = None) -> Link | None:
    """The active link of a coding, or of the coding that replaced it, to a code of any version or to a sentence."""
    coding = _follow(coding)
    links = Link.objects.filter(coding=coding, kind=kind, withdrawn_at__isnull=True)
    end = Q(code__identifier=code.identifier) if code else Q(sentence=sentence_id)
    return links.filter(end).select_related("coding__sentence__turn__interview").first()


def _follow(coding: Coding) -> Coding:
    """The coding that replaced a changed one. Raises ``WrongPlace`` if there is none."""
    related = Coding.objects.select_related("code__family", "sentence__turn__interview")
    while coding.withdrawn_at is not None and coding.superseded_by_id is not None:
        coding = related.get(pk=coding.superseded_by_id)
    if coding.withdrawn_at is not None:
        raise WrongPlace(
            f"{coding.code.name} on sentence {coding.sentence.label} was removed, so it has no links. Apply the code again first."
        )
    return coding


def _hold(coding: Coding) -> Coding:
    """The active coding, locked: a concurrent change waits, and then takes over its links."""
    while True:
        if connection.features.has_select_for_update:
            Coding.objects.select_for_update(no_key=True).get(pk=coding.pk)
        coding.refresh_from_db(fields=["withdrawn_at", "superseded_by"])
        following = _follow(coding)
        if following.pk == coding.pk:
            return coding
        coding = following


def _check_kind(coding: Coding, kind: str, code: Code | None, sentence: Sentence | None) -> None:
    if kind not in Link.Kind.values:
        raise WrongInput(f"There is no kind of link {kind!r}. Choose {', '.join(Link.Kind.values)}.", field="kind")
    prefix, whose, end = NEEDS[Link.Kind(kind)]
    identifier = coding.code.identifier
    fits = identifier == REVISE if prefix == REVISE else identifier.startswith(prefix)
    if prefix == FEATURE_PREFIX:
        fits = is_feature(identifier, coding.code.family.identifier)
    if not fits:
        raise WrongInput(
            f"{coding.code.name} cannot have this link: “{Link.Kind(kind).label.lower()}” belongs to {whose}.",
            field="kind",
        )
    given, other = (code, sentence) if kind == Link.Kind.ACTS_ON else (sentence, code)
    if given is None or other is not None:
        raise WrongInput(f"Name {end}, and nothing else.", field="code" if kind == Link.Kind.ACTS_ON else "target")


def _check_feature(study: Study, code: Code) -> None:
    try:
        checks.check_code(study, code)
    except WrongPlace as error:
        raise WrongInput(str(error), field="code") from error
    if not is_feature(code.identifier, code.family.identifier):
        raise WrongInput(f"{code.name} is not a case feature. A move acts on case features.", field="code")


def _check_sentence(study: Study, coding: Coding, sentence: Sentence, by: User) -> None:
    """Check that the sentence is in or before the turn of the coding, in its thread or in the beginning from which this
    continues."""
    turn = sentence.turn
    if turn.interview.study_id != study.pk:
        raise WrongInput("This sentence is not part of this study.", field="target")
    checks.check_readable([turn], by, field="target")
    if sentence.retired_by_id is not None:
        raise WrongPlace(explain_retired(sentence.pk))
    until = _find_beginnings(coding.sentence.turn.interview, coding.sentence.turn.position)
    if turn.interview_id not in until:
        raise WrongInput(
            "This sentence is from another thread. Choose evidence from the same thread, or from the part of the other thread "
            "before the branch.",
            field="target",
        )
    if turn.position > until[turn.interview_id]:
        raise WrongInput(
            f"Sentence {sentence.label} comes after {coding.code.name} on sentence {coding.sentence.label}. Choose evidence from "
            "the same turn or an earlier one, because something said later cannot be a ground.",
            field="target",
        )


def _find_beginnings(interview: Interview, position: int) -> dict[int, int]:
    """For a thread and those from which it continues, the last turn that counts as said before; a sub-agent received all it
    knows."""
    until = {interview.pk: position}
    interview = Interview.objects.select_related("hangs_on").get(pk=interview.pk)
    while interview.hangs_on is not None and interview.relation != Relation.SUBAGENT:
        parent = interview.hangs_on
        if parent.interview_id in until:
            break
        until[parent.interview_id] = parent.position
        interview = Interview.objects.select_related("hangs_on").get(pk=parent.interview_id)
    return until
