"""Links as notes on their codings: for people who open the file in another program. An import leaves them alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from django.db.models import QuerySet

from transcripts.coding.models import Coding, Link
from transcripts.exchange.pure import refi_names as naming
from transcripts.exchange.refi.guids import StudyGuids
from transcripts.formats.qdpx_content import QdpxNote


def list_link_notes(codings: Collection[Coding], guids: StudyGuids) -> dict[int, list[str]]:
    """The GUIDs of the notes on codings, by the number of the coding."""
    found: dict[int, list[str]] = defaultdict(list)
    links = Link.objects.active().filter(coding__in=[coding.pk for coding in codings]).order_by("pk")
    for link in links.select_related("coder"):
        found[link.coding_id].append(naming.name_link_note(guids.of_link(link)))
    return found


def read_link_notes(codings: QuerySet[Coding], guids: StudyGuids) -> Iterator[QdpxNote]:
    """A note for each link of these codings that stands: its kind, and the code or the place that it leads to."""
    links = Link.objects.active().filter(coding__in=codings.values("pk")).order_by("pk")
    for link in links.select_related("code", "sentence__turn__interview", "coder").iterator(chunk_size=500):
        yield QdpxNote(
            guid=naming.name_link_note(guids.of_link(link)),
            name=f"{naming.LINK_NOTE}{link.get_kind_display().lower()}",
            text=_describe_end(link),
            user=naming.name_user(link.coder.username),
            created=link.created_at,
        )


def is_link_note(note: QdpxNote) -> bool:
    """Whether a note of a file tells of a link."""
    return note.name.startswith(naming.LINK_NOTE)


def _describe_end(link: Link) -> str:
    if link.code is not None:
        return f"{link.code.name} ({link.code.identifier})"
    sentence = link.sentence
    if sentence is None:
        return ""
    turn = sentence.turn
    text = turn.text[sentence.start : sentence.end]
    if link.quote_start is not None:
        text = turn.text[link.quote_start : link.quote_end]
    return f"{turn.interview.external_id}, turn {turn.position}, sentence {sentence.label}: {text}"
