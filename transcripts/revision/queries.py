"""The consequences of a codebook version for active codings: which need re-review, and what each change affects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Substr

from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodebookVersion, CodeChange, CodeFamily
from transcripts.codebook.pure.comparing import Piece, Step, compare_words, follow
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Decision, Enactment
from transcripts.coding.queries import Closure, read_active_labels
from transcripts.corpus.models import Consent, Interview, Sentence, Turn
from transcripts.corpus.queries import list_consenting, read_questions
from transcripts.revision.models import AnchorReading, AnchorSentence
from transcripts.revision.pure import Point, choose_stems, cut_words, find_near, measure_drift
from transcripts.rounds.queries import CLOSURE, find_open_interviews
from transcripts.studies.models import Study

# Active codings whose code had another meaning when they were made, or is no longer in the version. Plain SQL,
# because the queue of a coder is counted on every one of its pages.
DUE = f"""
SELECT c.id, k.identifier, k.name, n.id, c.sentence_id, i.id, {CLOSURE.replace("%s", "c.coder_id")}
FROM coding_coding c
JOIN codebook_code k ON k.id = c.code_id
JOIN codebook_codebookversion v ON v.id = k.version_id
JOIN corpus_sentence s ON s.id = c.sentence_id
JOIN corpus_turn t ON t.id = s.turn_id
JOIN corpus_interview i ON i.id = t.interview_id
LEFT JOIN codebook_code n ON n.version_id = %s AND n.identifier = k.identifier
WHERE v.study_id = %s AND c.withdrawn_at IS NULL AND s.retired_by_id IS NULL AND v.number < %s
  AND (n.id IS NULL OR v.number < n.meaning_version) AND (c.coder_id = %s OR %s)
ORDER BY k.identifier, c.sentence_id, c.id
"""  # noqa: S608  # no value of anybody's is in it
ACTIVE = """
SELECT k.identifier, v.number, COUNT(*), COUNT(DISTINCT c.sentence_id), COUNT(DISTINCT t.interview_id)
FROM coding_coding c
JOIN codebook_code k ON k.id = c.code_id
JOIN codebook_codebookversion v ON v.id = k.version_id
JOIN corpus_sentence s ON s.id = c.sentence_id
JOIN corpus_turn t ON t.id = s.turn_id
WHERE v.study_id = %s AND c.withdrawn_at IS NULL AND s.retired_by_id IS NULL AND (c.coder_id = %s OR %s)
GROUP BY k.identifier, v.number
"""
MEANING_KINDS = [CodeChange.Kind.MERGED, CodeChange.Kind.SPLIT, CodeChange.Kind.RETIRED]


class DueCoding(NamedTuple):
    """A coding that needs re-review. ``current_code_id`` is ``None`` if the code is gone."""

    coding_id: int
    identifier: str
    name: str
    current_code_id: int | None
    sentence_id: int
    interview_id: int
    closure: Closure

    @property
    def is_open(self) -> bool:
        """Whether its coder may code the interview now, and so re-review the coding."""
        return self.closure == Closure.OPEN


ActiveCounts = dict[tuple[str, int], tuple[int, int, int]]
"""Codings, sentences and interviews, each counted by itself, under (identifier of a code, number of its version)."""


def list_due(version: CodebookVersion, *, coder: User | None) -> list[DueCoding]:
    """The active codings that need re-review under ``version``, of one person or of all. One query."""
    person = coder.pk if coder else 0
    with connection.cursor() as cursor:
        cursor.execute(DUE, [version.pk, version.study_id, version.number, person, coder is None])
        return [DueCoding(*row)._replace(closure=Closure(row[-1])) for row in cursor.fetchall()]


def count_re_reviews(study: Study, coder: User) -> int:
    """How many of a person's codings need re-review and can be reviewed now. Two queries."""
    version = current_version(study)
    return sum(each.is_open for each in list_due(version, coder=coder)) if version else 0


def count_active(study: Study, *, coder: User | None) -> ActiveCounts:
    """The counts of the active codings of one person, or of all. One query."""
    with connection.cursor() as cursor:
        cursor.execute(ACTIVE, [study.pk, coder.pk if coder else 0, coder is None])
        return {
            (identifier, number): (codings, sentences, interviews)
            for identifier, number, codings, sentences, interviews in cursor.fetchall()
        }


def list_meaning_changes(study: Study, *, after: int, until: int) -> QuerySet[CodeChange]:
    """The changes of meaning that the published versions after one number and up to another made, in order."""
    effects = [CodeChange.Effect.NARROWING, CodeChange.Effect.WIDENING]
    return (
        CodeChange.objects.filter(version__study=study, version__number__gt=after, version__number__lte=until)
        .filter(version__status=CodebookVersion.Status.PUBLISHED)
        .filter(Q(kind__in=MEANING_KINDS) | Q(effect__in=effects))
        .select_related("version")
        .order_by("version__number", "pk")
    )


def read_steps(study: Study, *, after: int, until: int) -> list[Step]:
    """The same as steps of a lineage."""
    return [
        Step(change.version.number, change.kind, change.from_identifier, change.to_identifier, change.effect)
        for change in list_meaning_changes(study, after=after, until=until)
    ]


def find_fate(coding: Coding, version: CodebookVersion) -> tuple[str, tuple[str, ...]]:
    """What became of the code of a coding in ``version``; see ``follow``. Reads coding.code.version."""
    steps = read_steps(version.study, after=coding.code.version.number, until=version.number)
    return follow(coding.code.identifier, steps, version.codes.values_list("identifier", flat=True))


def list_widened(version: CodebookVersion) -> list[Code]:
    """The codes for sentences in a version whose present meaning is wider than the previous one, in its order."""
    widened = CodeChange.objects.filter(
        version__study=version.study_id, effect=CodeChange.Effect.WIDENING, to_identifier=OuterRef("identifier")
    ).filter(version__number=OuterRef("meaning_version"))
    codes = Code.objects.filter(Exists(widened), version=version, family__unit=CodeFamily.Unit.SENTENCE)
    return list(codes.select_related("family", "version").order_by("family__position", "position"))


def find_before_widening(code: Code) -> Code | None:
    """The code as it was before its present meaning. Reads code.version."""
    earlier = Code.objects.filter(version__study=code.version.study_id, identifier=code.identifier)
    earlier = earlier.filter(version__status=CodebookVersion.Status.PUBLISHED, version__number__lt=code.meaning_version)
    return earlier.order_by("-version__number").first()


def read_near_sentences(code: Code, coder: User) -> dict[int, str]:
    """The sentences that one person read before a code got its present meaning and has not coded with it, with their texts.

    Sentences that she has coded since have been read again, and are left out.
    """
    widened = CodebookVersion.objects.get(study=code.version.study_id, number=code.meaning_version)
    since = {"created_at__gte": widened.published_at}
    of_sentence = {"coder": coder, "sentence": OuterRef("pk")}
    codings, decisions = Coding.objects.active().filter(**of_sentence), Decision.objects.active().filter(**of_sentence)
    sentences = (
        Sentence.objects.current()
        .filter(turn__interview__study=code.version.study_id, turn__role=Turn.Role.MODEL)
        .filter(Exists(codings.exclude(**since)) | Exists(decisions.exclude(**since)))
        .exclude(Exists(codings.filter(code__identifier=code.identifier)))
        .exclude(Exists(codings.filter(**since)))
    )
    text = Substr("turn__text", F("start") + 1, F("end") - F("start"))
    rows = sentences.order_by("turn__interview", "position").values_list("pk", text)
    return dict(rows.iterator(chunk_size=5_000))


def find_codes(version: CodebookVersion, identifiers: Iterable[str]) -> list[Code]:
    """The codes of a version with these identifiers, in its order, with their families."""
    codes = Code.objects.filter(version=version, identifier__in=list(identifiers)).select_related("family", "version")
    return list(codes.order_by("family__position", "position"))


def find_own_coding(study: Study, coder: User, coding_id: int) -> Coding | None:
    """An active coding of one person with everything that a re-review needs."""
    return (
        Coding.objects.select_related("code__version", "code__family", "sentence__turn__interview__study")
        .filter(sentence__turn__interview__study=study, coder=coder, withdrawn_at__isnull=True)
        .filter(pk=coding_id)
        .first()
    )


def list_merged(version: CodebookVersion) -> dict[str, str]:
    """The resulting code of each code that ``version`` merged into another, by identifier."""
    merged = version.changes.filter(kind=CodeChange.Kind.MERGED)
    return {
        change.from_identifier: change.to_identifier
        for change in merged
        if change.from_identifier != change.to_identifier
    }


def list_codings_to_migrate(version: CodebookVersion, identifiers: Iterable[str]) -> QuerySet[Coding]:
    """Active codings, made before ``version``, with codes that were merged into others. Those of a running import do not belong to
    the study yet."""
    return (
        Coding.objects.filter(code__version__study=version.study, code__identifier__in=list(identifiers))
        .filter(sentence__turn__interview__owning_study=version.study)
        .filter(code__version__number__lt=version.number, withdrawn_at__isnull=True, sentence__retired_by__isnull=True)
        .select_related("code")
        .order_by("pk")
    )


def list_anchors(study: Study) -> QuerySet[AnchorSentence]:
    """The anchors that can be read, in the order of the texts, with their sentence, turn and interview.

    A sentence whose boundaries were corrected since is no longer an anchor, because other sentences have its words now.
    """
    return (
        AnchorSentence.objects.filter(
            sentence__turn__interview__study=study, removed_at__isnull=True, sentence__retired_by__isnull=True
        )
        .select_related("sentence__turn__interview")
        .order_by("sentence__turn__interview", "sentence__turn__position", "sentence__start")
    )


def list_unread(study: Study, version: CodebookVersion, coder: User) -> list[AnchorSentence]:
    """The anchors ``coder`` has not yet read under ``version``, and may."""
    read = AnchorReading.objects.filter(version=version, coder=coder).values("sentence")
    unread = list(list_anchors(study).exclude(sentence__in=read))
    allowed = list_consenting({anchor.sentence.turn.interview_id for anchor in unread}, Consent.Scope.CODING)
    return [anchor for anchor in unread if anchor.sentence.turn.interview_id in allowed]


def list_readings(study: Study, *, coder: User | None) -> QuerySet[AnchorReading]:
    """Readings of the anchors that can be read, of one person or of all, by version, coder and sentence."""
    active = list_anchors(study).order_by().values("sentence")
    readings = AnchorReading.objects.filter(version__study=study, sentence__in=active).select_related("version")
    return readings if coder is None else readings.filter(coder=coder)


def list_candidates(study: Study) -> list[tuple[int, int]]:
    """(interview, sentence) for every possible anchor: said by a model, open to coding, and not an anchor yet."""
    taken = AnchorSentence.objects.filter(study=study, removed_at__isnull=True).values("sentence")
    sentences = (
        Sentence.objects.current()
        .filter(turn__interview__study=study, turn__role=Turn.Role.MODEL, turn__channel=Turn.Channel.UTTERANCE)
        .exclude(pk__in=taken)
    )
    rows = list(sentences.order_by("turn__interview", "turn__position", "start").values_list("turn__interview", "pk"))
    allowed = list_consenting({interview for interview, _ in rows}, Consent.Scope.CODING)
    return [row for row in rows if row[0] in allowed]


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
    """The data for the re-review of one coding, for its page: seven queries.

    ``can_be_kept``: the code still exists, with another meaning. ``leaves_none``: it is the last code on a decided sentence, so
    without it none applies there. ``asks_enactment``: it has no enactment, and a possible code needs one.
    """
    fate, successors = find_fate(coding, version)
    current = find_codes(version, [coding.code.identifier])
    changes = list_meaning_changes(version.study, after=coding.code.version.number, until=version.number)
    own = {coding.code.identifier, *successors}
    split_off = {change.to_identifier for change in changes if change.from_identifier in own}
    others = {*successors, *split_off} - {coding.code.identifier, ""}
    turn = coding.sentence.turn
    active = read_active_labels(coding.sentence_id, coding.coder_id)
    quote = turn.text[coding.quote_start : coding.quote_end] if coding.quote_start is not None else ""
    targets = find_codes(version, others)
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
    """The changed texts of a code, each with its label and its words before and after."""
    pairs = [(label, getattr(then, name), getattr(now, name)) for name, label in TEXTS.items()]
    return [(label, compare_words(old, new)) for label, old, new in pairs if old != new]


def find_near_sentences(code: Code, coder: User) -> dict[str, Any]:
    """The sentences that one person may want to read again because a code became wider: at most ``MAX_NEAR``, nearest first.

    ``closed``: the number of further ones in interviews that she cannot code now.
    """
    before = find_before_widening(code)
    shown_by = [example for example in code.examples.select_related("sentence__turn") if example.kind != "exclude"]
    words = [example.words or (example.sentence.read_text() if example.sentence else "") for example in shown_by]
    stems = choose_stems(
        [code.definition, code.include, *words], [before.definition, before.include] if before is not None else []
    )
    near = find_near(read_near_sentences(code, coder), stems, code.keyword_rules)
    interview_of = dict(
        Sentence.objects.filter(turn__interview__study=code.version.study_id)
        .filter(pk__in=[pk for pk, _ in near[:MAX_LOOKED_AT]])
        .values_list("pk", "turn__interview")
    )
    is_open = find_open_interviews(code.version.study, coder)
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


def list_closed(study: Study, due: Iterable[DueCoding]) -> list[tuple[Closure, Interview, int]]:
    """The interviews that a person may not code now, with the reason and the number of due codings there. One query."""
    counts = Counter((each.interview_id, each.closure) for each in due if not each.is_open)
    interviews = study.interviews.in_bulk([interview_id for interview_id, _ in counts]) if counts else {}
    return [(closure, interviews[pk], counts[pk, closure]) for closure, pk in sorted((c, pk) for pk, c in counts)]


def build_effects(study: Study, older: int, version: CodebookVersion, *, coder: User | None) -> dict[str, object]:
    """The effects of the changes between two versions: counts of active codings, only of ``coder`` if given. Seven queries."""
    active = count_active(study, coder=coder)
    due = list_due(version, coder=coder)
    due_by_code = Counter(each.identifier for each in due)
    changes = list(list_meaning_changes(study, after=older, until=version.number))
    names = _read_names(study, changes)
    merged = list_merged(version)
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


def _read_names(study: Study, changes: Sequence[CodeChange]) -> dict[str, str]:
    identifiers = {name for change in changes for name in (change.from_identifier, change.to_identifier)}
    codes = Code.objects.filter(version__study=study, identifier__in=identifiers).order_by("version__number")
    return dict(codes.values_list("identifier", "name"))


def _sum_before(active: ActiveCounts, identifier: str, number: int) -> tuple[int, ...]:
    """The codings, sentences and interviews with a code under versions before ``number``.

    Sentences coded by several people count once a person and version, as the table's head says.
    """
    found = [counts for (each, made), counts in active.items() if each == identifier and made < number]
    return tuple(map(sum, zip(*found, strict=True))) if found else (0, 0, 0)


def build_drift(study: Study, version: CodebookVersion, *, coder: User | None) -> list[tuple[Code, list[Point]]]:
    """The codes of sentences of ``version`` that anybody applied to an anchor, with their figures. Two queries."""
    readings = [
        (reading.version.number, reading.sentence_id, reading.coder_id, frozenset(reading.codes))
        for reading in list_readings(study, coder=coder)
    ]
    used = frozenset[str]().union(*(codes for *_, codes in readings))
    codes = find_codes(version, used)
    drift = measure_drift(readings, [code.identifier for code in codes])
    return [(code, drift[code.identifier]) for code in codes]
