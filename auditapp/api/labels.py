"""What the operations on people's labels share: codings, decisions, memos."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from rest_framework import serializers

from auditapp.api.inputs import Choice, Moment, Numeral
from auditapp.api.views import PageParameters
from transcripts.codebook.models import Code
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Layer
from transcripts.corpus.models import Sentence
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_ID

REASON = "Why, in one line; required once suggestions or colleagues' codings were seen here."
SINCE = (
    "Only rows added or withdrawn at or after this time, such as 2026-11-24T10:00:00Z. To follow changes, ask with "
    "withdrawn=any."
)
WITHDRAWN = {
    "false": Q(withdrawn_at__isnull=True),
    "true": Q(withdrawn_at__isnull=False),
    "any": Q(),
}
PLACE = (
    *("turn__role", "turn__channel", "turn__interview__study_id"),
    *("turn", "turn__interview", "position", "suffix", "start", "end"),
)
FILTERS = {"interview": "sentence__turn__interview", "coder": "coder__username", "layer": "layer"}


class LabelParameters(PageParameters):
    """Which codings or decisions to return."""

    interview = Numeral(
        required=False, min_value=1, max_value=MAX_ID, help_text="Number of an interview: only rows in it."
    )
    coder = serializers.CharField(required=False, max_length=150, help_text="A person's name: only hers.")
    layer = Choice(Layer.values, required=False, help_text="blind, or assisted: made after others' labels were seen.")
    withdrawn = Choice(
        list(WITHDRAWN), default="false", help_text="false: active ones; true: withdrawn ones; any: both."
    )
    since = Moment(required=False, help_text=SINCE)


def narrow_labels(
    rows: QuerySet[Any], query: dict[str, Any], *, interview: str = FILTERS["interview"]
) -> QuerySet[Any]:
    """The rows that ``LabelParameters`` ask for; ``interview`` is the path from a row to its interview."""
    rows = rows.filter(WITHDRAWN[query["withdrawn"]])
    if "since" in query:
        rows = rows.filter(changed_since(query["since"]))
    paths = {**FILTERS, "interview": interview}
    return rows.filter(**{path: query[name] for name, path in paths.items() if name in query})


def check_quote(given: Mapping[str, Any]) -> None:
    """Raise ``ValidationError`` unless both ends of a quote were sent, or none."""
    if (given["quote_start"] is None) != (given["quote_end"] is None):
        raise serializers.ValidationError({"quote_end": ["A quote has a start and an end: send both or neither."]})


def changed_since(moment: datetime) -> Q:
    """That a row was added or withdrawn at this time or later."""
    return Q(created_at__gte=moment) | Q(withdrawn_at__gte=moment)


def find_sentences(study: Study, keys: Iterable[int]) -> dict[int, Sentence]:
    """The sentences of the study with these numbers as it is segmented now, with what coding them needs to know."""
    sentences = Sentence.objects.current().filter(turn__interview__study=study, pk__in=set(keys))
    related = sentences.select_related("turn__interview").only(*PLACE)
    return {sentence.pk: sentence for sentence in related}


def find_sentence(study: Study, pk: int) -> Sentence:
    """The sentence of the study with this number. Raises ``ValidationError``."""
    return take_sentence(find_sentences(study, [pk]), pk)


def take_sentence(found: Mapping[int, Sentence], pk: int) -> Sentence:
    """The one with this number of those that were found in the study. Raises ``ValidationError``."""
    if pk not in found:
        raise serializers.ValidationError({"sentence": [f"There is no sentence {pk} in this study."]})
    return found[pk]


def find_codes(study: Study) -> QuerySet[Code]:
    """The codes that people code with now."""
    return Code.objects.filter(version=current_version(study)).select_related("family", "version")


def find_code(study: Study, identifier: str) -> Code:
    """The code that people code with under this id. Raises ``ValidationError``."""
    return take_code({code.identifier: code for code in find_codes(study).filter(identifier=identifier)}, identifier)


def take_code(found: Mapping[str, Code], identifier: str) -> Code:
    """The one with this id of those that were found. Raises ``ValidationError``."""
    if identifier not in found:
        raise serializers.ValidationError(
            {"code": ["There is no such code in the study's current codebook. Codes are named by their id."]}
        )
    return found[identifier]
