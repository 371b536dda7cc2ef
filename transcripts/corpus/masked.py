"""Masked threads in the database: their labels, what is sealed of them, and putting it back."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from django.db.models import Max, Q

from transcripts.corpus import queries
from transcripts.corpus.consent import name_basis
from transcripts.corpus.models import ImportedFile, Interview, InterviewQuerySet, MaskedFacts, Sentence, Turn
from transcripts.corpus.pure.descriptives import describe
from transcripts.corpus.pure.masking import (
    EMPTIED,
    LETTERS,
    MASKED,
    MaskedInterview,
    Sealed,
    cover_names,
    list_own_names,
    mask_interview,
    mask_turns,
)
from transcripts.corpus.pure.preparing import SentenceRow, cut_turn, hash_quote
from transcripts.corpus.pure.readers import ReadInterview, ReadTurn
from transcripts.projects.models import Project

LABEL_LETTERS = 4
# So many times is a label drawn that another thread has, before labels become longer.
MAX_DRAWS = 20
HASHES_AT_A_TIME = 500


class FileFacts(NamedTuple):
    """What is sealed of a file that brings masked threads."""

    name: str
    format: str


class MaskLabels:
    """Draws labels that no thread of a study has or had, such as S-7F3K. Two queries."""

    def __init__(self, project: Project) -> None:
        of_study = Interview.objects.filter(imported_file__project=project)
        self._taken = set(of_study.exclude(mask_label="").values_list("mask_label", flat=True))
        self._taken |= set(of_study.filter(external_id__startswith="S-").values_list("external_id", flat=True))
        self._letters = LABEL_LETTERS

    def draw(self) -> str:
        """A label, which is taken from now on."""
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
    """Threads of a file as they come in masked, each under a new label; read anew each time."""

    def __init__(self, threads: Iterable[ReadInterview], labels: MaskLabels) -> None:
        self._threads, self._labels = threads, labels

    def __iter__(self) -> Iterator[ReadInterview]:
        for read in self._threads:
            yield mask_interview(read, self._labels.draw())


def find_label(read: ReadInterview) -> str:
    """The label of a thread that comes in masked; nothing for another."""
    return read.external_id if isinstance(read, MaskedInterview) else ""


def find_own_id(read: ReadInterview) -> str:
    """The id of a thread in its file."""
    return read.sealed.external_id if isinstance(read, MaskedInterview) else read.external_id


def drop_turns(read: ReadInterview) -> ReadInterview:
    """A thread without its turns and what was sealed of them."""
    if isinstance(read, MaskedInterview):
        return replace(read, turns=(), sealed=Sealed(read.sealed.external_id))
    return replace(read, turns=())


def mix(
    group: list[tuple[ReadInterview, list[list[SentenceRow]]]],
) -> list[tuple[ReadInterview, list[list[SentenceRow]]]]:
    """Threads that are stored together: masked ones by their random labels, so that the order in the file tells nothing."""
    return sorted(group, key=lambda each: find_label(each[0]))


def store_facts(
    interviews: Sequence[Interview], read: Sequence[ReadInterview], *, file: ImportedFile, told: FileFacts
) -> None:
    """Store what was sealed of those that come in masked. Part of an import."""
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


def find_sealed(project: Project, external_ids: Sequence[str]) -> set[int]:
    """The masked interviews of the study that have one of these ids in their file."""
    if not external_ids:
        return set()
    masked = project.every_interview.kept().masked()
    rows = MaskedFacts.objects.filter(interview__in=masked, external_id__in=external_ids)
    return set(rows.values_list("interview_id", flat=True))


def find_taken(project: Project, staged: InterviewQuerySet, *, limit: int) -> list[str]:
    """The ids of interviews of the study that those which are coming in have too, in a file or as a label; in their order."""
    coming = staged.values("external_id")
    sealed = MaskedFacts.objects.filter(interview__in=staged).values("external_id")
    own = Q(external_id__in=coming) | Q(external_id__in=sealed)
    masked = Q(masked_facts__external_id__in=coming) | Q(masked_facts__external_id__in=sealed)
    taken = project.every_interview.kept().filter(own | masked & Q(unmasked_at__isnull=True))
    return list(taken.order_by("pk").values_list("external_id", flat=True)[:limit])


def seal_more(
    interview: Interview, read: ReadInterview, *, there: int, file: ImportedFile, told: FileFacts
) -> tuple[ReadTurn, ...]:
    """The turns of ``read`` behind its first ``there`` as a masked interview gets them; what is taken out is sealed."""
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


def unseal(interview: Interview, facts: MaskedFacts, *, at: datetime.datetime) -> None:
    """Put back what was sealed of a locked interview: columns, turns, the hashes of sentences. It is unmasked ``at`` this time.

    What was written meanwhile in a column that was emptied stays. A turn whose text was left out gets its sentences now,
    counted on behind the last. Part of an action.
    """
    _restore_turns(interview, facts)
    for name in ("title", "external_id"):
        setattr(interview, name, facts.facts[name])
    for name in EMPTIED:
        if name in facts.facts and not getattr(interview, name):
            setattr(interview, name, facts.facts[name])
    described = describe(list(interview.turns.order_by("position")))
    interview.questions = described.questions
    interview.author_words, interview.model_words = described.author_words, described.model_words
    interview.unmasked_at = at
    interview.save()
    if basis := facts.facts.get("consent_basis"):
        covered, _ = cover_names(basis, _list_names(facts))
        interview.consents.filter(basis=covered).update(basis=basis)
    if file := facts.facts["files"].get(str(interview.imported_file_id)):
        interview.consents.filter(basis=name_basis(MASKED)).update(basis=name_basis(file["name"]))


def _list_names(facts: MaskedFacts) -> list[str]:
    """The names that were looked for in what the file says of the whole thread."""
    told = {name: facts.facts.get(name, "") for name in ("model_label", "vendor")}
    turns = tuple(ReadTurn("", "", "", "", details=turn.get("details", {})) for turn in facts.turns.values())
    return list_own_names(ReadInterview("", "", turns, **told))


def _restore_turns(interview: Interview, facts: MaskedFacts) -> None:
    turns = list(interview.turns.filter(position__in=[int(position) for position in facts.turns]))
    texts: dict[int, str] = {}
    empty: list[Turn] = []
    for turn in turns:
        sealed: dict[str, Any] = facts.turns[str(turn.position)]
        if "text" in sealed:
            texts[turn.pk] = sealed["text"]
            empty += [turn] if not turn.text else []
        for name, value in sealed.items():
            setattr(turn, name, value)
    Turn.objects.bulk_update(turns, ["text", "speaker", "details", "call_id"], batch_size=HASHES_AT_A_TIME)
    sentences = list(Sentence.objects.filter(turn__in=list(texts)).only("pk", "turn", "start", "end", "text_hash"))
    for sentence in sentences:
        sentence.text_hash = hash_quote(texts[sentence.turn_id][sentence.start : sentence.end])
    Sentence.objects.bulk_update(sentences, ["text_hash"], batch_size=HASHES_AT_A_TIME)
    last = Sentence.objects.filter(turn__interview=interview).aggregate(last=Max("position"))["last"] or 0
    rows: list[tuple[object, ...]] = []
    for turn in sorted(empty, key=lambda each: each.position):
        read = ReadTurn(turn.role, turn.channel, turn.speaker, turn.text)
        cut = [(turn.pk, *row) for row in cut_turn(read, language=interview.language, after=last + len(rows))]
        rows += cut
    queries.insert_sentences(rows)
    interview.sentence_count += len(rows)


def name_files(interviews: Sequence[Interview], facts: Iterable[MaskedFacts]) -> list[int]:
    """Give files that brought these interviews their names back, where no masked interview is left that they brought something
    to. Returns their numbers. Part of an action."""
    told: dict[int, dict[str, str]] = {}
    for each in facts:
        told.update({int(number): named for number, named in each.facts["files"].items()})
    left = Interview.objects.filter(study=interviews[0].study_id).masked()
    named = []
    for file in ImportedFile.objects.filter(pk__in=told, format=MASKED).order_by("pk"):
        if left.filter(imported_file=file).exists() or left.filter(versions__imported_file=file).exists():
            continue
        file.name, file.format = told[file.pk]["name"], told[file.pk]["format"]
        file.save(update_fields=["name", "format"])
        named.append(file.pk)
    return named
