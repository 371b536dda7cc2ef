"""The columns of exported tables, and how their rows are streamed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import CharField, F, QuerySet
from django.db.models.functions import Cast, Concat, Substr

from transcripts.coding.values import MEANINGS as VALUE_MEANINGS

CHUNK = 5_000
# Columns that mean the same wherever they occur.
SHARED = {
    "project": "Address of the study.",
    "interview": "Identifier of the interview, as it was imported.",
    "model": "Label of the interviewed model, as it was imported; empty when not known.",
    "turn": "Place of the turn in the interview, counted from 1 over all who speak.",
    "role": "Who speaks: interviewer, model, system or tool.",
    "sentence_id": "Number of the sentence; it never changes and is never used again.",
    "sentence": "Place of the sentence in the interview as it was segmented at import, counted from 1.",
    "sentence_label": "The number people see: the place, with a letter for a piece of a split sentence (14a).",
    "start": "First character of the sentence in the turn's text, in code points counted from 0.",
    "end": "Character after its last one.",
    "text": "The exact words.",
    "quote": "The marked words.",
    "code_id": "Identifier of the code, the same in every version of the codebook.",
    "code": "Name of the code in the version the row was made with.",
    "family": "Identifier of the family of codes; empty for the whole study.",
    "codebook_version": "Number of the version of the codebook.",
    "prompting_source": "said (by the coder) or derived (from the words and codes of earlier turns).",
    "reason": "Why, in the person's own words.",
    "range": "The same for codings applied to several sentences at once; empty otherwise.",
    "coder": "User name of the coder.",
    "layer": "blind, or assisted: made after others' labels were seen.",
    "created": "When, in UTC.",
    "withdrawn": "When it was withdrawn; empty while it is active.",
    "withdrawal_reason": "Why it was withdrawn, where a reason was asked for.",
    "superseded_by": "Number of the row of the same table that replaced it.",
    "migrated_from": "coding_id this one was made from, by a boundary edit or a merge of codes.",
    "carried_from": "Deprecated: the old name of migrated_from.",
    "coding_id": "Number of the coding.",
    "decision_id": "Number of the decision.",
    "none_applies": "true: read, and no code applies; false: read, and nothing beyond the active codes.",
    "stage": "Where it took place: front (said), back (reasoning) or tool; empty for what others than the model say.",
    "saw_reasoning": "true where the coder had opened reasoning of the interview before she made the coding.",
    "author": "User name of the author.",
    "written": "When it was written, in UTC.",
    "name": "Name, as people read it.",
    "round": "Number of the round.",
    "codes": "List of code identifiers; an empty list says that none applies.",
    **{name: meaning for name, meaning in VALUE_MEANINGS.items() if name != "prompting"},
    "prompting": "Whether the interviewer had raised it before: prompted, unprompted, or unclear where that is not known; "
    "empty where no model speaks.",
}


# Columns of tables that may be long whose cells are not text, by name: Parquet has types.
KINDS: dict[str, type] = {
    **dict.fromkeys(("turn", "sentence_id", "sentence", "start", "end", "quote_start", "quote_end"), int),
    **dict.fromkeys(
        ("codebook_version", "coding_id", "decision_id", "superseded_by", "migrated_from", "carried_from"), int
    ),
    **dict.fromkeys(("is_answer", "none_applies", "saw_reasoning"), bool),
    **dict.fromkeys(("created", "withdrawn"), datetime),
}


class Column(NamedTuple):
    """A column of an export: its heading, where a query finds it, and what the data dictionary says of it.

    ``source`` is empty where the rows are not read by a query. ``kind`` is the type of its cells in Parquet; lists and
    mappings are text there, as JSON.
    """

    name: str
    source: str
    meaning: str
    kind: type = str


def column(name: str, source: str = "", meaning: str = "", kind: type | None = None) -> Column:
    """A column; one without a meaning or a kind of its own has those that its name has everywhere."""
    return Column(name, source, meaning or SHARED[name], kind or KINDS.get(name, str))


def stream(rows: QuerySet[Any, Any], columns: Iterable[Column]) -> Iterator[Sequence[Any]]:
    """The rows of a query in the order of ``columns``, in constant memory."""
    return rows.values_list(*(each.source for each in columns)).iterator(chunk_size=CHUNK)


def find_places(columns: Sequence[Column], *names: str) -> list[int]:
    """At which places in a row these columns are."""
    headings = [each.name for each in columns]
    return [headings.index(name) for name in names]


def label_sentences(rows: QuerySet[Any, Any], prefix: str = "sentence__") -> Any:
    """With ``label``, the number of the sentence as people see it: 14, or 14a for a piece of what was 14."""
    number = Cast(f"{prefix}position", CharField())
    return rows.annotate(label=Concat(number, F(f"{prefix}suffix"), output_field=CharField()))


def quote_sentences(rows: QuerySet[Any, Any], prefix: str = "sentence__") -> Any:
    """With ``quoted``, the text of the sentence. It is cut by the database, in code points."""
    length = F(f"{prefix}end") - F(f"{prefix}start")
    return rows.annotate(quoted=Substr(f"{prefix}turn__text", F(f"{prefix}start") + 1, length))


# Where a sentence lies, for rows with a foreign key to one; they need ``label_sentences``.
PLACE = (
    column("project", "sentence__turn__interview__study__slug"),
    column("interview", "sentence__turn__interview__external_id"),
    column("turn", "sentence__turn__position"),
    column("sentence_id", "sentence_id"),
    column("sentence_label", "label"),
)
