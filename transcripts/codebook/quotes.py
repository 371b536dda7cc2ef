"""Sentences as the codebook quotes them: pinned to a code, or about to be; and examples invented for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db.models import Case, CharField, F, Q, TextField, When
from django.db.models.functions import Substr

from transcripts.accounts.models import User
from transcripts.codebook.models import CodeExample
from transcripts.corpus.models import Sentence
from transcripts.formats.codebook_content import CodeExample as FileExample
from transcripts.projects.models import Project

# The database cuts the words out, for a turn may be long and a page shows many.
SENTENCE_TEXT = Substr("turn__text", F("start") + 1, F("end") - F("start"), output_field=CharField())
EXAMPLE_TEXT = Case(
    When(sentence__isnull=True, then=F("words")),
    default=Substr(
        "sentence__turn__text",
        F("sentence__start") + 1,
        F("sentence__end") - F("sentence__start"),
        output_field=TextField(),
    ),
)


def read_examples(which: Q, *, coder: User | None) -> dict[int, list[Any]]:
    """Examples with their ``text``, cut out by the database, under the number of their code: one query. Those that belong
    come first, then those that do not. ``coder``: who reads it, if she codes; what she is still to code is left out."""
    rows = (
        CodeExample.objects.shown(coder=coder)
        .filter(which)
        .annotate(text=EXAMPLE_TEXT)
        .order_by("code_id", "-kind", "pk")
    )
    found: dict[int, list[Any]] = {}
    for row in rows.select_related("sentence__turn__interview").defer("sentence__turn__text"):
        found.setdefault(row.code_id, []).append(row)
    return found


def find_sentence(project: Project, sentence_id: int) -> Sentence | None:
    """A sentence of the study with its turn and interview, current or not."""
    return next(iter(_read_sentences(Q(turn__interview__project=project, pk=sentence_id))), None)


def find_labelled_sentence(project: Project, interview_id: int, label: str) -> Sentence | None:
    """The current sentence with this number (14, 14a) in an interview of the study."""
    digits = label[: len(label) - len(label.lstrip("0123456789"))]
    if not digits or len(digits) > 9:
        return None
    which = Q(turn__interview__project=project, turn__interview=interview_id, retired_by__isnull=True)
    return next(iter(_read_sentences(which & Q(position=int(digits), suffix=label[len(digits) :]))), None)


def find_pieces(sentence_ids: Iterable[int]) -> dict[int, list[Sentence]]:
    """The current sentences that now cover each of these retired ones, in order."""
    found: dict[int, list[Sentence]] = {}
    retired = Sentence.objects.filter(pk__in=list(sentence_ids), retired_by__isnull=False)
    for pk, turn_id, start, end in retired.values_list("pk", "turn_id", "start", "end"):
        which = Q(turn=turn_id, retired_by__isnull=True, start__lt=end, end__gt=start)
        found[pk] = _read_sentences(which)
    return found


def _read_sentences(which: Q) -> list[Sentence]:
    rows = Sentence.objects.filter(which).select_related("turn__interview")
    return list(rows.order_by("turn", "start", "pk"))


FoundQuote = tuple[str, int | None, str, str, str]
"""An example of a file that can be stored: code (an identifier), sentence of the study, or else invented words, kind and
note."""


def find_quoted(project: Project, examples: Sequence[FileExample]) -> Iterator[FoundQuote]:
    """Those of the examples whose words are one sentence at the place they name, and those that name no place: they were
    invented. Each once in a code."""
    wanted = [each for each in examples if each.interview and each.sentence]
    places = {(each.interview, each.sentence) for each in wanted}
    which = Q(turn__interview__project=project, retired_by__isnull=True)
    which &= Q(turn__interview__external_id__in={interview for interview, _ in places})
    which &= Q(position__in={number for _, number in places})
    rows = Sentence.objects.filter(which).annotate(text=SENTENCE_TEXT).order_by("-pk")
    columns = ("turn__interview__external_id", "position", "text", "pk")
    found = {(interview, number, text): pk for interview, number, text, pk in rows.values_list(*columns)}
    seen: set[tuple[str, int | None, str]] = set()
    for each in examples:
        pk = found.get((each.interview, each.sentence, each.quote))
        is_invented = not each.interview and each.sentence is None
        key = (each.code, pk, each.quote if is_invented else "")
        if (pk is not None or is_invented) and key not in seen:
            seen.add(key)
            yield *key, each.kind, " ".join(each.note.split())[:500]
