"""Links go along with their codings: when these are superseded, restored, migrated, or the boundaries of their sentences moved.

Links are never edited. The old row is withdrawn, and the coding that takes the place gets one like it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID, uuid5

from django.db.models import F, Q, QuerySet

from transcripts.audit_trail.rows import RowChange, row_changed, row_made
from transcripts.codebook.models import Code
from transcripts.coding.models import Coding, Layer, Link
from transcripts.corpus.models import Sentence
from transcripts.corpus.pure.boundaries import Extent, share_quote

# Moves are told by the beginning of their identifiers, features by the rule of the codebook.
MOVES = "move."
REVISE = "move.revise"

End = tuple[str, str | int | None]


def carry_links(pairs: Iterable[tuple[int, Coding]], *, at: datetime) -> list[RowChange]:
    """Give each new coding the links of the coding that it replaces; what the audit event says of them.

    ``pairs`` hold the id of a replaced coding and the new one; one coding may be replaced by several, and several by one. A
    new coding that is itself withdrawn (the history that a boundary edit keeps) gets the links as they were then. Ends on
    retired sentences move to the sentences that took their place. Three statements for the usual case.
    """
    targets: dict[int, list[Coding]] = defaultdict(list)
    for old_id, new in pairs:
        targets[old_id].append(new)
    if not targets:
        return []
    links = list(_read_standing(Q(coding__in=list(targets))))
    if not links:
        return []
    made = [_copy(link, new, at=at) for link in links for new in targets[link.coding_id] if not _is_past(link, new)]
    current = [link for link in links if link.withdrawn_at is None]
    kept = {link.pk for link in current if all(new.withdrawn_at for new in targets[link.coding_id])}
    return _store([link for link in current if link.pk not in kept], made, at=at)


def move_ends(retired: Collection[int], *, at: datetime) -> list[RowChange]:
    """Move what rests on retired sentences to those that took their place, for every coder; what the audit event says."""
    # Those of codings that were removed are moved when these are restored.
    stands = Q(withdrawn_at__isnull=True, coding__withdrawn_at__isnull=True)
    links = list(read_links(stands & Q(sentence__in=list(retired))))
    return _store(links, [_copy(link, link.coding, at=at) for link in links], at=at)


def recode_ends(pairs: Sequence[tuple[Link, Code]], *, at: datetime) -> list[RowChange]:
    """Have links name other codes; what the audit event says of it."""
    made = []
    for link, code in pairs:
        copy = _copy(link, link.coding, at=at)
        copy.code, copy.idempotency_key = code, make_recoded_key(link, code)
        made.append(copy)
    return _store([link for link, _ in pairs], made, at=at)


def make_recoded_key(link: Link, code: Code) -> UUID:
    """Under which key ``recode_ends`` stores what it makes of a link, so that it can be found again."""
    return uuid5(link.idempotency_key, f"code {code.pk}")


def read_links(where: Q) -> QuerySet[Link]:
    """Links, held until the end of the transaction, with their codings, codes and sentences; in the order of storing."""
    links = Link.objects.filter(where).select_related("coding", "code", "sentence").order_by("pk")
    return links.select_for_update(of=("self",), no_key=True)


def _read_standing(where: Q) -> QuerySet[Link]:
    """Links that stood as long as their codings did, or stand."""
    return read_links(where & (Q(withdrawn_at__isnull=True) | Q(withdrawn_at__gte=F("coding__withdrawn_at"))))


def _is_past(link: Link, new: Coding) -> bool:
    """A link that was withdrawn belongs to history: only a coding that is history as well gets it."""
    return link.withdrawn_at is not None and new.withdrawn_at is None


def _copy(link: Link, coding: Coding, *, at: datetime) -> Link:
    sentence, quote = _find_end(link)
    start, end = quote or (None, None)
    is_assisted = Layer.ASSISTED in {link.layer, coding.layer}
    return Link(
        coding=coding,
        coder_id=link.coder_id,
        kind=link.kind,
        code=link.code,
        sentence=sentence,
        quote_start=start,
        quote_end=end,
        layer=Layer.ASSISTED if is_assisted else Layer.BLIND,
        idempotency_key=uuid5(link.idempotency_key, f"{coding.pk} {sentence.pk if sentence else ''}"),
        created_at=at if coding.withdrawn_at is None else link.created_at,
        withdrawn_at=link.withdrawn_at if coding.withdrawn_at is not None else None,
    )


def _find_end(link: Link) -> tuple[Sentence | None, Extent | None]:
    if link.sentence is None:
        return None, None
    quote = None if link.quote_start is None or link.quote_end is None else Extent(link.quote_start, link.quote_end)
    return find_place_now(link.sentence, quote)


def find_place_now(sentence: Sentence, quote: Extent | None) -> tuple[Sentence, Extent | None]:
    """The sentence that holds now what was pointed at: itself, the piece with the quote, else the first piece."""
    while sentence.retired_by_id is not None:
        pieces = list(Sentence.objects.filter(made_by=sentence.retired_by_id).order_by("start"))
        was = Extent(sentence.start, sentence.end)
        shares = [(piece, share_quote(quote, _extent(piece))) for piece in pieces] if quote else []
        sentence, quote = next(((piece, share) for piece, share in shares if share), (pieces[0], None))
        if quote is None and len(pieces) == 1:
            # Merged with a neighbour: what it pointed at becomes a quote.
            quote = was
        if quote == _extent(sentence):
            quote = None
    return sentence, quote


def _extent(sentence: Sentence) -> Extent:
    return Extent(sentence.start, sentence.end)


def name_end(link: Link) -> End:
    """What makes two links of one coding the same: their kind, and the code or sentence that they name."""
    return link.kind, link.code.identifier if link.code else link.sentence_id


def _store(old: Sequence[Link], made: Sequence[Link], *, at: datetime) -> list[RowChange]:
    """Withdraw the old links and insert the new, each end of a coding once: quotes in one sentence become one."""
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
    """One quote that holds both; none where either is of the whole sentence."""
    if None in {link.quote_start, other.quote_start} or link.sentence is None:
        link.quote_start = link.quote_end = None
        return
    start = min(link.quote_start or 0, other.quote_start or 0)
    end = max(link.quote_end or 0, other.quote_end or 0)
    is_whole = Extent(start, end) == _extent(link.sentence)
    link.quote_start, link.quote_end = (None, None) if is_whole else (start, end)
