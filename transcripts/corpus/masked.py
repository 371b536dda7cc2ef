"""Masked threads in the database: their labels, their sealed facts, and restoring these."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from django.db.models import Max, Q

from transcripts.corpus import queries
from transcripts.corpus.consent import name_basis
from transcripts.corpus.models import (
    Consent,
    ImportedFile,
    Interview,
    InterviewQuerySet,
    InterviewVersion,
    MaskedFacts,
    Sentence,
    Turn,
)
from transcripts.corpus.pure.markdown_lines import describe
from transcripts.corpus.pure.redacting import (
    EMPTIED,
    LETTERS,
    MASKED,
    MaskedInterview,
    Sealed,
    is_covered,
    list_own_names,
    mask_interview,
    mask_turns,
)
from transcripts.corpus.pure.segmenting import SentenceRow, cut_turn, hash_quote
from transcripts.formats.interviews import ReadInterview, ReadTurn
from transcripts.studies.models import Study

LABEL_LETTERS = 4
# After this many draws of labels that are taken, labels become longer.
MAX_DRAWS = 20
INTERVIEWS_AT_A_TIME = 200
TURNS_AT_A_TIME = 20_000
# The columns of an interview that its unmasking may change.
RESTORED = ("title", "external_id", *EMPTIED, *queries.COUNTED, "sentence_count", "unmasked_at")


class FileFacts(NamedTuple):
    """The sealed facts of a file with masked threads."""

    name: str
    format: str


class MaskLabels:
    """Draws labels that no thread of a study has or had, such as S-7F3K. Two queries."""

    def __init__(self, study: Study) -> None:
        of_study = Interview.objects.filter(imported_file__study=study)
        self._taken = set(of_study.exclude(mask_label="").values_list("mask_label", flat=True))
        self._taken |= set(of_study.filter(external_id__startswith="S-").values_list("external_id", flat=True))
        self._letters = LABEL_LETTERS

    def draw(self) -> str:
        """Draw a label, which is taken from now on."""
        draws = 0
        while True:
            label = "S-" + "".join(secrets.choice(LETTERS) for _ in range(self._letters))
            if label not in self._taken:
                self._taken.add(label)
                return label
            draws += 1
            if draws >= MAX_DRAWS:
                self._letters, draws = self._letters + 1, 0


class MaskedThreads:
    """The threads of a file in their masked form, each under a new label; the file is read again each time."""

    def __init__(self, threads: Iterable[ReadInterview], labels: MaskLabels) -> None:
        self._threads, self._labels = threads, labels

    def __iter__(self) -> Iterator[ReadInterview]:
        for read in self._threads:
            yield mask_interview(read, self._labels.draw())


def find_label(read: ReadInterview) -> str:
    """The label of a masked thread; nothing for another thread."""
    return read.external_id if isinstance(read, MaskedInterview) else ""


def find_own_id(read: ReadInterview) -> str:
    """The id of a thread in its file."""
    return read.sealed.external_id if isinstance(read, MaskedInterview) else read.external_id


def drop_turns(read: ReadInterview) -> ReadInterview:
    """A thread without its turns and their sealed facts."""
    if isinstance(read, MaskedInterview):
        return replace(read, turns=(), sealed=Sealed(read.sealed.external_id))
    return replace(read, turns=())


def mix(
    group: list[tuple[ReadInterview, list[list[SentenceRow]]]],
) -> list[tuple[ReadInterview, list[list[SentenceRow]]]]:
    """Sort threads that are stored together: masked ones by their random labels, so that the order reveals nothing."""
    return sorted(group, key=lambda each: find_label(each[0]))


def store_facts(
    interviews: Sequence[Interview], read: Sequence[ReadInterview], *, file: ImportedFile, told: FileFacts
) -> None:
    """Store the sealed facts of the masked threads. Part of an import."""
    rows = [
        MaskedFacts(
            interview=interview,
            external_id=each.sealed.external_id,
            facts={**each.sealed.facts, "files": {str(file.pk): told._asdict()}},
            turns=each.sealed.turns,
            names_covered=each.sealed.names_covered,
        )
        for interview, each in zip(interviews, read, strict=True)
        if isinstance(each, MaskedInterview)
    ]
    MaskedFacts.objects.bulk_create(rows, batch_size=500)


def find_sealed(study: Study, external_ids: Sequence[str]) -> set[int]:
    """The masked interviews of the study that have one of these ids in their file."""
    if not external_ids:
        return set()
    masked = study.every_interview.kept().masked()
    rows = MaskedFacts.objects.filter(interview__in=masked, external_id__in=external_ids)
    return set(rows.values_list("interview_id", flat=True))


def list_sealed_ids(study: Study) -> set[str]:
    """The ids in their files of all masked interviews of the study, archived and excluded ones too. One query."""
    masked = study.every_interview.kept().masked()
    return set(MaskedFacts.objects.filter(interview__in=masked).values_list("external_id", flat=True))


def find_taken(study: Study, staged: InterviewQuerySet, *, limit: int) -> list[str]:
    """The ids or labels in the study that interviews of this import also have, in their order."""
    coming = staged.values("external_id")
    sealed = MaskedFacts.objects.filter(interview__in=staged).values("external_id")
    own = Q(external_id__in=coming) | Q(external_id__in=sealed)
    masked = Q(masked_facts__external_id__in=coming) | Q(masked_facts__external_id__in=sealed)
    taken = study.every_interview.kept().filter(own | masked & Q(unmasked_at__isnull=True))
    return list(taken.order_by("pk").values_list("external_id", flat=True)[:limit])


def seal_more(
    interview: Interview, read: ReadInterview, *, there: int, file: ImportedFile, told: FileFacts
) -> tuple[ReadTurn, ...]:
    """The turns of ``read`` after its first ``there``, masked for a masked interview; what is taken out is sealed."""
    facts = MaskedFacts.objects.select_for_update().get(interview=interview)
    old_names = {facts.facts.get("model_label", ""), facts.facts.get("vendor", "")} - {""}
    stored = dict(interview.turns.exclude(call_id="").values_list("position", "call_id"))
    # Only ids that differ from their new ones are sealed.
    calls = {facts.turns.get(str(place), {}).get("call_id", call_id): call_id for place, call_id in stored.items()}
    more = mask_turns(read.turns[there:], names={*list_own_names(read), *old_names}, after=there, calls=calls)
    facts.turns = {**facts.turns, **more.sealed}
    facts.names_covered += more.names_covered
    facts.facts = {**facts.facts, "files": {**facts.facts["files"], str(file.pk): told._asdict()}}
    facts.save(update_fields=["turns", "names_covered", "facts"])
    return more.turns


def unseal(interviews: Sequence[Interview], *, at: datetime.datetime) -> dict[int, FileFacts]:
    """Restore the sealed facts of locked interviews: columns, turns, the hashes of sentences. They are unmasked ``at`` then.

    Values written in the meantime into an emptied column, or as the kind of a prompt, stay. A turn whose text was left out now
    gets its sentences, numbered after the last one. Each group of interviews takes the same few statements. Returns the files
    of these interviews, as they were, by id. Part of an action.
    """
    files: dict[int, FileFacts] = {}
    for group in _make_groups(interviews):
        rows = MaskedFacts.objects.filter(interview__in=group)
        sealed = {facts.interview_id: facts for facts in rows}
        turns = _restore_turns(group, sealed)
        for interview in group:
            facts = sealed[interview.pk].facts
            _restore_columns(interview, facts, turns[interview.pk], at=at)
            files.update({int(number): FileFacts(**told) for number, told in facts["files"].items()})
        queries.update_rows(Interview, RESTORED, group)
        _restore_consents(group, sealed)
    return files


def _make_groups(interviews: Sequence[Interview]) -> Iterator[list[Interview]]:
    """Groups of interviews whose texts fit into memory."""
    group: list[Interview] = []
    turns = 0
    for interview in interviews:
        if group and (len(group) == INTERVIEWS_AT_A_TIME or turns + interview.turn_count > TURNS_AT_A_TIME):
            yield group
            group, turns = [], 0
        group.append(interview)
        turns += interview.turn_count
    if group:
        yield group


def _restore_columns(
    interview: Interview, facts: dict[str, Any], turns: Sequence[Turn], *, at: datetime.datetime
) -> None:
    for name in ("title", "external_id"):
        setattr(interview, name, facts[name])
    for name in EMPTIED:
        if name in facts and not getattr(interview, name):
            setattr(interview, name, facts[name])
    described = describe(turns)
    interview.questions = described.questions
    interview.author_words, interview.model_words = described.author_words, described.model_words
    interview.unmasked_at = at


def _restore_consents(interviews: Sequence[Interview], sealed: Mapping[int, MaskedFacts]) -> None:
    by_interview = {interview.pk: interview for interview in interviews}
    changed = []
    for consent in Consent.objects.filter(interview__in=interviews).order_by("pk"):
        facts, before = sealed[consent.interview_id], consent.basis
        basis = facts.facts.get("consent_basis")
        if basis and is_covered(before, basis):
            consent.basis = basis
        file = facts.facts["files"].get(str(by_interview[consent.interview_id].imported_file_id))
        if file and consent.basis == name_basis(MASKED):
            consent.basis = name_basis(file["name"])
        changed += [consent] if consent.basis != before else []
    queries.update_rows(Consent, ["basis"], changed)


def _restore_turns(interviews: Sequence[Interview], sealed: Mapping[int, MaskedFacts]) -> dict[int, list[Turn]]:
    """The turns of each interview, in their order, as they were in the file."""
    turns: dict[int, list[Turn]] = {interview.pk: [] for interview in interviews}
    changed: list[Turn] = []
    texts: dict[int, str] = {}
    empty: list[Turn] = []
    for turn in Turn.objects.filter(interview__in=interviews).order_by("interview", "position"):
        turns[turn.interview_id].append(turn)
        taken: dict[str, Any] | None = sealed[turn.interview_id].turns.get(str(turn.position))
        if taken is None:
            continue
        changed.append(turn)
        if "text" in taken:
            texts[turn.pk] = taken["text"]
            empty += [turn] if not turn.text else []
        for name, value in taken.items():
            if name != "prompt_kind" or not turn.prompt_kind:
                setattr(turn, name, value)
    queries.update_rows(Turn, ["text", "speaker", "prompt_kind", "details", "call_id"], changed)
    _hash_anew(texts)
    _cut(empty, interviews)
    return turns


def _hash_anew(texts: Mapping[int, str]) -> None:
    """Hash the sentences of turns, given by id, whose text was restored."""
    rows = Sentence.objects.filter(turn__in=list(texts))
    sentences = list(rows.only("pk", "turn", "start", "end", "text_hash"))
    for sentence in sentences:
        sentence.text_hash = hash_quote(texts[sentence.turn_id][sentence.start : sentence.end])
    queries.update_rows(Sentence, ["text_hash"], sentences)


def _cut(turns: Sequence[Turn], interviews: Sequence[Interview]) -> None:
    """Store the sentences of turns that had no text, in the order of ``turns``; the interviews count them."""
    by_interview = {interview.pk: interview for interview in interviews}
    of_these = Sentence.objects.filter(turn__interview__in={turn.interview_id for turn in turns})
    last = dict(of_these.order_by().values_list("turn__interview").annotate(last=Max("position")))
    rows: list[tuple[object, ...]] = []
    for turn in turns:
        interview = by_interview[turn.interview_id]
        read = ReadTurn(turn.role, turn.channel, turn.speaker, turn.text)
        after = last.get(interview.pk, 0)
        cut = [(turn.pk, *row) for row in cut_turn(read, language=interview.language, after=after)]
        last[interview.pk] = after + len(cut)
        interview.sentence_count += len(cut)
        rows += cut
    queries.insert_sentences(rows)


def name_files(study: Study, told: Mapping[int, FileFacts]) -> list[int]:
    """Restore the names of files (by id, as ``unseal`` returns them) that have no masked interview left. Returns their ids. Part
    of an action."""
    left = Interview.objects.filter(owning_study=study).masked()
    files = ImportedFile.objects.filter(pk__in=told, format=MASKED)
    files = files.exclude(pk__in=left.values("imported_file"))
    named = list(files.exclude(pk__in=InterviewVersion.objects.filter(interview__in=left).values("imported_file")))
    for file in named:
        file.name, file.format = told[file.pk]
    queries.update_rows(ImportedFile, ["name", "format"], named)
    return sorted(file.pk for file in named)
