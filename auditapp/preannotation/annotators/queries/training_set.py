"""The training set of an annotator that learns: the blind codings of a study, resolved to one word per sentence and code.

Of several who decided about a sentence the majority counts, and where they are even it teaches nothing. Withheld turns
are spared, for they are to say how good the annotator is. Interviews that say no to coding, or to reuse and training, teach
nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from auditapp.preannotation.annotators.pure.recipes import hash_content, read_ranges, write_ranges
from auditapp.preannotation.suggestions.queries.arms import list_withheld_answers
from transcripts.codebook.models import CodebookVersion, CodeFamily
from transcripts.codebook.quotes import SENTENCE_TEXT
from transcripts.coding.models import Coding, Decision, Layer
from transcripts.corpus.models import Sentence
from transcripts.corpus.queries import list_not_learnt_from
from transcripts.projects.models import Project

if TYPE_CHECKING:
    from auditapp.preannotation.annotators.pure.learning import Bools, Lesson
    from transcripts.coding.blind import BlindReadings

# SQLite takes so many numbers in one question.
MAX_AT_ONCE = 5_000


def read_training_set(project: Project, version: CodebookVersion, *, minimum: int) -> dict[str, Any]:
    """The examples as they are now, and what there is of each code of the version, in its order: the parts ``set``,
    ``taught`` and ``codes`` of a recipe (see ``pure/recipes.py``)."""
    import numpy as np

    from auditapp.preannotation.annotators.pure.learning import count_examples
    from transcripts.coding.blind import read_blind

    read = read_blind(project)
    withheld = list_withheld_answers(project)
    refused = list_not_learnt_from(read.interview_ids.tolist())
    is_refused = np.isin(read.interview_ids, np.fromiter(refused, dtype=np.int64, count=len(refused)))
    is_spared = np.isin(read.turn_ids, np.fromiter(withheld, dtype=np.int64, count=len(withheld)))
    families, outcomes, spared = {}, {}, np.zeros(len(read.sentence_ids), dtype=bool)
    left_out = np.zeros(len(read.sentence_ids), dtype=bool)
    for family in _list_families(version):
        codes = [code.identifier for code in family.codes.all()]
        is_decided, has_code, is_tied = _resolve(read, family.identifier, codes)
        left_out |= is_decided & is_refused
        is_decided = is_decided & ~is_refused
        spared |= is_decided & is_spared
        taught = is_decided & ~is_spared
        written: dict[str, Any] = {}
        for code, yes, tied in zip(codes, has_code, is_tied, strict=True):
            rows = np.flatnonzero(taught & ~tied)
            outcomes[code] = count_examples(rows, yes[rows], read.interview_ids, minimum=minimum)
            ids = read.sentence_ids
            written[code] = {"yes": _write(ids[taught & yes]), "tied": _write(ids[taught & tied])}
        if taught.any():
            families[family.identifier] = {"decided": _write(read.sentence_ids[taught]), "codes": written}
    placed = place_sentences(families)
    return {
        "set": {"hash": hash_set(families, placed), "families": families},
        "taught": {
            "sentences": len(placed),
            "interviews": len({interview for interview, _ in placed.values()}),
            "spared": int(spared.sum()),
            **({"refused": int(left_out.sum())} if left_out.any() else {}),
        },
        "codes": outcomes,
    }


def _resolve(read: BlindReadings, family: str, codes: list[str]) -> tuple[Bools, Bools, Bools]:
    """Which sentences anybody decided for a family; and codes x sentences, the majority's yes and where they are even.

    Of what the model says, which is all an annotator is asked to read.
    """
    table = read.arrange(family, CodeFamily.Unit.SENTENCE, codes)
    deciders = table.decided.sum(axis=0) * read.is_answer
    yes = table.labels.sum(axis=1) * read.is_answer
    return deciders > 0, 2 * yes > deciders, (2 * yes == deciders) & (deciders > 0)


def _list_families(version: CodebookVersion) -> list[CodeFamily]:
    families = version.families.filter(unit=CodeFamily.Unit.SENTENCE).prefetch_related("codes")
    return list(families.order_by("position"))


def place_sentences(families: Mapping[str, Any]) -> dict[int, tuple[int, str]]:
    """The sentences that a set names: the interview each is from, and the hash of its text."""
    numbers = {number for family in families.values() for number in read_ranges(family["decided"])}
    columns = ("pk", "turn__interview_id", "text_hash")
    return {pk: (interview, text_hash) for pk, interview, text_hash in _fetch(numbers, columns)}


def hash_set(families: Mapping[str, Any], placed: Mapping[int, tuple[int, str]]) -> str:
    """SHA-256 of what was decided of which words."""
    return hash_content([families, [[pk, text_hash] for pk, (_, text_hash) in sorted(placed.items())]])


def read_lesson(families: Mapping[str, Any]) -> Lesson:
    """The examples of a set, with their texts. Retired sentences are there still, and teach what they taught."""
    import numpy as np

    from auditapp.preannotation.annotators.pure.learning import Lesson

    numbers = {number for family in families.values() for number in read_ranges(family["decided"])}
    rows = sorted(_fetch(numbers, ("pk", "turn__interview_id", "text")))
    place_of = {pk: place for place, (pk, *_) in enumerate(rows)}
    codes = {}
    for family in families.values():
        decided = read_ranges(family["decided"])
        for code, written in family["codes"].items():
            yes, tied = set(read_ranges(written["yes"])), set(read_ranges(written["tied"]))
            taught = [number for number in decided if number not in tied]
            places = np.array([place_of[number] for number in taught], dtype=np.int64)
            codes[code] = places, np.array([number in yes for number in taught], dtype=bool)
    texts = [text for *_, text in rows]
    return Lesson(texts, np.array([interview for _, interview, _ in rows], dtype=np.int64), codes)


def _fetch(numbers: Collection[int], columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    ordered, found = sorted(numbers), list[tuple[Any, ...]]()
    for first in range(0, len(ordered), MAX_AT_ONCE):
        rows = Sentence.objects.filter(pk__in=ordered[first : first + MAX_AT_ONCE])
        if "text" in columns:
            rows = rows.annotate(text=SENTENCE_TEXT)
        found += rows.order_by().values_list(*columns)
    return found


def _write(numbers: Iterable[Any]) -> str:
    return write_ranges(int(number) for number in numbers)


def list_coded_interviews(project: Project) -> list[int]:
    """The interviews in which anybody has coded or decided anything blind."""
    place = "sentence__turn__interview"
    found: set[int] = set()
    for rows in (Coding.objects.filter(layer=Layer.BLIND), Decision.objects.filter(layer=Layer.BLIND)):
        mine = rows.filter(**{f"{place}__project": project}).order_by()
        found.update(mine.values_list(place, flat=True).distinct())
    return sorted(found)
