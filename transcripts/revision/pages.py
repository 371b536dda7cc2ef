"""What the pages of this room show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodebookVersion, CodeChange
from transcripts.codebook.pure.comparing import Piece, compare_words
from transcripts.coding.closure import Closure
from transcripts.coding.models import Coding, Enactment
from transcripts.coding.queries import read_active_labels
from transcripts.corpus.models import Interview, Sentence
from transcripts.corpus.queries import read_questions
from transcripts.revision import queries
from transcripts.revision.pure.drift import Point, choose_stems, cut_words, find_near, measure_drift
from transcripts.revision.queries import DueCoding
from transcripts.studies.models import Project

MAX_NEAR = 50
# More are not told apart by what is open.
MAX_LOOKED_AT = 500
TEXTS = {"definition": "Definition", "include": "Include", "exclude": "Exclude"}


def find_context(sentence: Sentence) -> dict[str, str]:
    """A sentence inside its turn, after the question that preceded it. Reads sentence.turn; two queries."""
    turn = sentence.turn
    return {
        "question": read_questions([turn]).get(turn.pk, ""),
        "before": turn.text[: sentence.start],
        "text": turn.text[sentence.start : sentence.end],
        "after": turn.text[sentence.end :],
    }


def build_look(coding: Coding, version: CodebookVersion) -> dict[str, Any]:
    """Everything by which one coding that needs re-review is judged, for the page: seven queries.

    ``can_be_kept``: the code is still there, with another meaning. ``leaves_none``: it is the last code on a decided
    sentence, so without it none applies there. ``asks_enactment``: it states none, and a code that it may have needs one.
    """
    fate, successors = queries.find_fate(coding, version)
    current = queries.find_codes(version, [coding.code.identifier])
    changes = queries.list_meaning_changes(version.project, after=coding.code.version.number, until=version.number)
    own = {coding.code.identifier, *successors}
    split_off = {change.to_identifier for change in changes if change.from_identifier in own}
    others = {*successors, *split_off} - {coding.code.identifier, ""}
    turn = coding.sentence.turn
    active = read_active_labels(coding.sentence_id, coding.coder_id)
    quote = turn.text[coding.quote_start : coding.quote_end] if coding.quote_start is not None else ""
    targets = queries.find_codes(version, others)
    return {
        "coding": coding,
        "context": find_context(coding.sentence),
        "can_be_kept": fate == "kept",
        "targets": targets,
        "asks_enactment": not coding.enactment and any(code.family.carries_enactment for code in [*current, *targets]),
        "enactments": Enactment.choices,
        "differences": _compare(coding.code, current[0]) if current else [],
        "changes": [change for change in changes if {change.from_identifier, change.to_identifier} & own],
        "quote": quote,
        "closure": active.closure,
        "leaves_none": active.is_last_word(coding.pk),
    }


def _compare(then: Code, now: Code) -> list[tuple[str, tuple[Piece, ...]]]:
    """The texts of a code that changed, each with its label and its words then and now."""
    pairs = [(label, getattr(then, name), getattr(now, name)) for name, label in TEXTS.items()]
    return [(label, compare_words(old, new)) for label, old, new in pairs if old != new]


def find_near_sentences(code: Code, coder: User) -> dict[str, Any]:
    """What one person may want to read again because a code means more now, the nearest first; at most ``MAX_NEAR``.

    ``closed``: how many more there are in interviews that she cannot code now.
    """
    before = queries.find_before_widening(code)
    shown_by = [example for example in code.examples.select_related("sentence__turn") if example.kind != "exclude"]
    words = [example.words or (example.sentence.read_text() if example.sentence else "") for example in shown_by]
    stems = choose_stems(
        [code.definition, code.include, *words], [before.definition, before.include] if before is not None else []
    )
    near = find_near(queries.read_near_sentences(code, coder), stems, code.keyword_rules)
    interview_of = dict(
        Sentence.objects.filter(turn__interview__project=code.version.project_id)
        .filter(pk__in=[pk for pk, _ in near[:MAX_LOOKED_AT]])
        .values_list("pk", "turn__interview")
    )
    is_open = queries.find_open_interviews(code.version.project, coder)
    near = [each for each in near if each[0] in interview_of]
    offered = [each for each in near if interview_of[each[0]] in is_open]
    shown = offered[:MAX_NEAR]
    sentences = Sentence.objects.select_related("turn__interview").in_bulk([pk for pk, _ in shown])
    return {
        "items": [
            {"sentence": sentences[pk], "pieces": cut_words(sentences[pk].read_text(), places)} for pk, places in shown
        ],
        "left_out": len(offered) - len(shown),
        "closed": len(near) - len(offered),
        "differences": _compare(before, code) if before is not None else [],
    }


def count_by_code(due: Iterable[DueCoding]) -> list[tuple[DueCoding, int]]:
    """The first due coding of each code, in the order of the queue, and how many are due."""
    due = list(due)
    counts = Counter(each.identifier for each in due)
    first = {each.identifier: each for each in reversed(due)}
    return [(first[identifier], number) for identifier, number in counts.items()]


def list_closed(project: Project, due: Iterable[DueCoding]) -> list[tuple[Closure, Interview, int]]:
    """The interviews in which a person may not code now, with the reason and how many codings are due there. One query."""
    counts = Counter((each.interview_id, each.closure) for each in due if not each.is_open)
    interviews = project.interviews.in_bulk([interview_id for interview_id, _ in counts]) if counts else {}
    return [(closure, interviews[pk], counts[pk, closure]) for closure, pk in sorted((c, pk) for pk, c in counts)]


def build_effects(project: Project, older: int, version: CodebookVersion, *, coder: User | None) -> dict[str, object]:
    """What the changes between two versions affect: counts of active codings, of ``coder`` alone if given. Seven queries."""
    active = queries.count_active(project, coder=coder)
    due = queries.list_due(version, coder=coder)
    due_by_code = Counter(each.identifier for each in due)
    changes = list(queries.list_meaning_changes(project, after=older, until=version.number))
    names = _read_names(project, changes)
    merged = queries.list_merged(version)
    effects = [
        {
            "change": change,
            "name": names.get(change.from_identifier, change.from_identifier),
            "new_name": names.get(change.to_identifier, change.to_identifier),
            "made_before": _sum_before(active, change.from_identifier or change.to_identifier, change.version.number),
            "due": due_by_code[change.from_identifier or change.to_identifier],
        }
        for change in changes
    ]
    return {
        "effects": effects,
        "codings": sum(codings for codings, _, _ in active.values()),
        "older": sum(codings for (_, number), (codings, _, _) in active.items() if number < version.number),
        "due": len(due),
        "closed": sum(not each.is_open for each in due),
        "to_migrate": sum(due_by_code[identifier] for identifier in merged),
    }


def _read_names(project: Project, changes: Sequence[CodeChange]) -> dict[str, str]:
    identifiers = {name for change in changes for name in (change.from_identifier, change.to_identifier)}
    codes = Code.objects.filter(version__project=project, identifier__in=identifiers).order_by("version__number")
    return dict(codes.values_list("identifier", "name"))


def _sum_before(active: queries.ActiveCounts, identifier: str, number: int) -> tuple[int, ...]:
    """The codings, sentences and interviews with a code under versions before ``number``.

    Sentences coded by several people count once a person and version, as the table's head says.
    """
    found = [counts for (each, made), counts in active.items() if each == identifier and made < number]
    return tuple(map(sum, zip(*found, strict=True))) if found else (0, 0, 0)


def build_drift(project: Project, version: CodebookVersion, *, coder: User | None) -> list[tuple[Code, list[Point]]]:
    """The codes of sentences of ``version`` that anybody applied to an anchor, with their figures. Two queries."""
    readings = [
        (reading.version.number, reading.sentence_id, reading.coder_id, frozenset(reading.codes))
        for reading in queries.list_readings(project, coder=coder)
    ]
    used = frozenset[str]().union(*(codes for *_, codes in readings))
    codes = queries.find_codes(version, used)
    drift = measure_drift(readings, [code.identifier for code in codes])
    return [(code, drift[code.identifier]) for code in codes]
