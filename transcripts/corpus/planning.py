"""What an import of files would do: each read, checked against the study, and told; nothing is stored here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.utils import timezone

from transcripts.corpus import queries
from transcripts.corpus.models import ImportedFile
from transcripts.corpus.pure.choices import Choices, apply_choices
from transcripts.corpus.pure.previews import describe_contents
from transcripts.corpus.pure.readers import FORMATS, ReadError, ReadFile, ReadInterview, expand, read_bytes
from transcripts.corpus.pure.unseen import drop_unseen
from transcripts.projects.models import Project

IDS_NAMED = 5

Contents = Sequence[tuple[str, ...]]
"""What is compared of the turns of an interview: ``queries.COMPARED_COLUMNS`` of each."""


class CorpusError(Exception):
    """A sentence for the person who asked."""


class ImportRefused(CorpusError):
    """A file cannot be taken as it is. Nothing was stored, of it or of the files given with it."""


@dataclass(frozen=True)
class ImportReport:
    """What an import of one file stored, or would store.

    ``created``: something was (would be) stored; ``skipped``: nothing was new. ``interviews``, ``turns`` and
    ``sentences`` count what is new; for a file that was imported before they count what it brought then, and
    ``interview_ids`` names it. ``already_there`` counts interviews that the study has word for word, ``grown`` those that go
    on in the file with ``grown_turns`` more turns. ``preview`` says what the file holds; see previews.py.
    """

    name: str
    format: str
    sha256: str
    interviews: int = 0
    turns: int = 0
    sentences: int = 0
    already_there: int = 0
    warnings: list[str] = field(default_factory=list)
    created: bool = False
    skipped: bool = False
    interview_ids: list[int] = field(default_factory=list)
    grown: int = 0
    grown_turns: int = 0
    preview: dict[str, Any] = field(default_factory=dict)

    @property
    def format_label(self) -> str:
        """The format in words; its key, when the reader that read the file is no more."""
        return FORMATS[self.format].label if self.format in FORMATS else self.format


class Plan(NamedTuple):
    """A file that was read and found fit, its size, and what of it is new to the study: interviews, and the rest of some that
    are there, each with the number of its turns there."""

    report: ImportReport
    size: int
    new: Sequence[ReadInterview]
    grown: Sequence[tuple[ReadInterview, int]] = ()


def plan_files(project: Project, files: Sequence[tuple[str, bytes]], choices: Choices) -> list[Plan]:
    """Read and check every file, each against the study and against the files before it. Raises ``ImportRefused``."""
    plans: list[Plan] = []
    beside: dict[str, Contents] = {}
    for name, data in _expand(files):
        plan = _plan_file(project, name, data, choices, beside)
        beside.update({interview.external_id: queries.list_contents(interview.turns) for interview in plan.new})
        plans.append(plan)
    return plans


def _expand(files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """The files, with those of an archive of several in its place."""
    for name, data in files:
        try:
            yield from expand(drop_unseen(name), data)
        except ReadError as error:
            raise ImportRefused(str(error)) from error


def _plan_file(project: Project, name: str, data: bytes, choices: Choices, beside: Mapping[str, Contents]) -> Plan:
    sha256 = hashlib.sha256(data).hexdigest()
    if (earlier := queries.find_imported_file(project, sha256)) is not None:
        return Plan(_report_earlier(name, earlier), len(data), [])
    try:
        whole = read_bytes(data, name=name, format=choices.format)
    except ReadError as error:
        raise ImportRefused(str(error)) from error
    read = apply_choices(whole, choices)
    stored = queries.read_stored_turns(project, [interview.external_id for interview in read.interviews])
    new, grown = _choose_new(name, read, stored, beside)
    fresh = [*new, *(interview for interview, _ in grown)]
    report = ImportReport(
        name=name,
        format=read.format,
        sha256=sha256,
        interviews=len(new),
        turns=sum(len(interview.turns) for interview in new),
        already_there=len(read.interviews) - len(fresh),
        grown=len(grown),
        grown_turns=sum(len(interview.turns) - there for interview, there in grown),
        warnings=[*read.warnings, *_warn_of_known(read, fresh), *_tell_of_grown(grown)],
        created=bool(fresh),
        skipped=not fresh,
        preview=describe_contents(whole),
    )
    return Plan(report, len(data), new, grown)


def _choose_new(
    name: str, read: ReadFile, stored: Mapping[str, Contents], beside: Mapping[str, Contents]
) -> tuple[list[ReadInterview], list[tuple[ReadInterview, int]]]:
    """The interviews whose id is new, and those that go on where the study's ends, with the number of turns there.

    A known id whose words changed is refused with the place.
    """
    new, grown = [], []
    for interview in read.interviews:
        known = stored.get(interview.external_id) or beside.get(interview.external_id)
        if known is None:
            new.append(interview)
            continue
        contents = queries.list_contents(interview.turns)
        if list(known) == contents:
            continue
        if interview.external_id in stored and len(known) < len(contents) and contents[: len(known)] == list(known):
            grown.append((interview, len(known)))
            continue
        raise ImportRefused(
            f"{name}, line {interview.line}: found an interview {interview.external_id} whose text differs "
            f"from the one stored under this id, from turn {_find_difference(known, contents)} on; expected a new id for a "
            "changed text. (If a file has no ids, they are made from its name and the line: rename the file.)"
        )
    return new, grown


def _find_difference(known: Contents, read: Contents) -> int:
    """The position of the first turn that differs; behind the shorter one if all of it is in the other."""
    pairs = zip(known, read, strict=False)
    return next((at for at, (one, other) in enumerate(pairs, 1) if one != other), min(len(known), len(read)) + 1)


def _tell_of_grown(grown: Sequence[tuple[ReadInterview, int]]) -> list[str]:
    if not grown:
        return []
    turns = sum(len(interview.turns) - there for interview, there in grown)
    named = ", ".join(interview.external_id for interview, _ in grown[:IDS_NAMED])
    more = ", …" if len(grown) > IDS_NAMED else ""
    told = f"{len(grown):,} interviews of the study go on in the file, with {turns:,} more turns: {named}{more}."
    return [f"{told} What is there keeps its sentences and codings."]


def _warn_of_known(read: ReadFile, fresh_ones: Sequence[ReadInterview]) -> list[str]:
    fresh = {interview.external_id for interview in fresh_ones}
    known = [interview.external_id for interview in read.interviews if interview.external_id not in fresh]
    if not known:
        return []
    named = ", ".join(known[:IDS_NAMED]) + (f" and {len(known) - IDS_NAMED} more" if len(known) > IDS_NAMED else "")
    warnings = [f"{len(known)} of {len(read.interviews)} interviews are already in the study, word for word: {named}."]
    if any(interview.consent for interview in read.interviews if interview.external_id not in fresh):
        warnings.append("Their consent in the file was not imported; record it on the page Consent.")
    return warnings


def _report_earlier(name: str, earlier: ImportedFile) -> ImportReport:
    interview_ids, turns, sentences = queries.count_contents(earlier)
    day = timezone.localtime(earlier.imported_at)
    return ImportReport(
        name=name,
        format=earlier.format,
        sha256=earlier.sha256,
        interviews=len(interview_ids),
        turns=turns,
        sentences=sentences,
        already_there=len(interview_ids),
        warnings=[f"Already imported on {day:%d %B %Y} as {earlier.name}; nothing was added."],
        skipped=True,
        interview_ids=interview_ids,
    )
