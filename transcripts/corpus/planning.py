"""Plans an import: reads each file, checks it against the study, and reports the result. Nothing is stored here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from django.utils import timezone

from transcripts.corpus import masked, queries
from transcripts.corpus.models import ImportedFile
from transcripts.corpus.pure.previews import Choices, Preview, apply_choices, find_left_out
from transcripts.corpus.pure.redacting import mask_interview
from transcripts.corpus.pure.segmenting import prepare_interview
from transcripts.formats.interviews import (
    FORMATS,
    KEPT_SIZE,
    Content,
    ReadError,
    Reading,
    ReadInterview,
    ReadTurn,
    expand,
    find_call,
    join_files,
    outline_file,
)
from transcripts.formats.interviews.speaker_text import is_guess
from transcripts.formats.interviews.threads import FileOutline, Joined, Outline
from transcripts.formats.text_input import drop_unseen
from transcripts.jobs.runs import JobRun
from transcripts.refusals import Refused
from transcripts.studies.models import Study

IDS_NAMED = 5
READING = "Reading the files"
# Cutting this many characters into sentences takes two seconds or three; a preview does not count those of a larger file.
COUNTED_CHARACTERS = 20_000_000
LONG_UNIT = 1_000
# Units that end with full stops; lines of code and results of tools may be long.
PROSE_KINDS = frozenset({"prose", "list_item"})
# Interviews with up to this many characters are compared with the study together.
COMPARED_CHARACTERS = 4_000_000

Contents = Sequence[tuple[str, ...]]
"""The compared contents of an interview: ``queries.COMPARED_COLUMNS`` of each turn."""


@dataclass(frozen=True)
class ImportReport:
    """The result, or expected result, of importing one file. ``created``: anything was or would be stored.

    ``preview`` describes the contents of the file; see previews.py.
    """

    name: Annotated[str, "Its name; of one in an archive, with the archive's."]
    format: Annotated[str, "The format that it was read as."]
    sha256: Annotated[str, "SHA-256 of its bytes."]
    interviews: Annotated[int, "Number of new interviews; for a skipped file, of its former interviews."] = 0
    turns: Annotated[int, "Number of their turns."] = 0
    sentences: Annotated[int | None, "Number of their sentences; null where a dry run did not count them."] = 0
    already_there: Annotated[int, "Number of interviews that the study has word for word."] = 0
    warnings: Annotated[list[str], "What was not kept as it is."] = field(default_factory=list)
    created: bool = False
    skipped: Annotated[bool, "Whether nothing in it was new."] = False
    interview_ids: Annotated[list[int], "Numbers of the interviews; of a dry run, none."] = field(default_factory=list)
    grown: Annotated[int, "Number of interviews of the study that go on in the file."] = 0
    grown_turns: Annotated[int, "Number of turns by which they grew."] = 0
    preview: dict[str, Any] = field(default_factory=dict)

    @property
    def format_label(self) -> str:
        """The format in words; its key, when the reader that read the file is no more."""
        return FORMATS[self.format].label if self.format in FORMATS else self.format


class Plan(NamedTuple):
    """A file that was read and can be imported, its size, and what is new to the study: new interviews, which may be read again
    each time, and continuations of existing ones, each with the number of turns that the study has. ``is_masked``: the file adds
    to a masked interview, so its name is sealed too."""

    report: ImportReport
    size: int
    new: Iterable[ReadInterview] = ()
    grown: Sequence[tuple[ReadInterview, int]] = ()
    is_masked: bool = False


@dataclass(frozen=True)
class Chosen:
    """Interviews of a file, by id, in the form in which they are to be stored. Only one is in memory at a time."""

    reading: Reading
    choices: Choices
    ids: Container[str]

    def __iter__(self) -> Iterator[ReadInterview]:
        """Read them from the file. Raises ``Refused`` if it has changed since it was planned."""
        try:
            for interview in self.reading:
                if interview.external_id in self.ids:
                    yield apply_choices(interview, self.choices)
        except ReadError as error:
            raise Refused(str(error)) from error


def plan_files(
    study: Study,
    files: Sequence[tuple[str, bytes | Path]],
    choices: Choices,
    *,
    counts_sentences: bool = False,
    run: JobRun | None = None,
) -> list[Plan]:
    """Read and check every file against the study and against the files before it; a file is given by its name and its bytes or
    path. Raises ``Refused``.

    ``counts_sentences`` also counts the new sentences, up to ``COUNTED_CHARACTERS`` of a file. ``run`` gets the progress.
    """
    beside: dict[str, list[bytes]] = {}
    try:
        contents = [each for name, data in files for each in expand(Content.of(drop_unseen(name), data))]
        tell = _make_teller(contents, run)
        memory = _Memory()
        plannings = [
            _Planning(study, content, choices, beside, memory, counts_sentences=counts_sentences)
            for content in contents
        ]
        _join_files(study, plannings)
        plans = [planning.plan(remembers=len(contents) > 1, tell=tell) for planning in plannings]
    except ReadError as error:
        raise Refused(str(error)) from error
    return plans


def _join_files(study: Study, plannings: Sequence[_Planning]) -> None:
    """Attach threads to the threads of other files that they name: files imported at the same time or, for a session, in the
    study. The files are read one after the other, and only an outline of each is kept for this."""
    readings: list[Reading] = []
    outlines: list[FileOutline] = []
    for planning in plannings:
        # A file that cannot be read is refused later, in its turn.
        with suppress(ReadError):
            if not planning.content.is_archive and (reading := planning.open()).joins:
                outlines.append(outline_file(reading.name, reading.load()))
                readings.append(reading)
    joined = join_files(outlines, lambda place: readings[place].load().interviews)
    sessions: dict[str, list[tuple[Joined, Outline]]] = {}
    for each in joined:
        for run in each.loose:
            sessions.setdefault(run.links.within, []).append((each, run))
    for session, runs in sessions.items():
        contents = queries.read_stored_turns(study, [session]).get(session, [])
        stored = [ReadTurn(role, channel, "", text) for role, channel, _, text in contents]
        for each, run in runs if stored else ():
            each.hung[run.external_id] = ("subagent", find_call(run.links.words, session, stored))
            each.told[run.links.told] += 1
    for reading, each in zip(readings, joined, strict=True):
        reading.join(each)


def _make_teller(contents: Sequence[Content], run: JobRun | None) -> Callable[[Content, float], None]:
    """A function that reports to the run how many bytes of all files have been read, given the share of one file."""
    sizes = [content.size for content in contents] if run else []
    before = {id(content): sum(sizes[:number]) for number, content in enumerate(contents)}

    def tell(content: Content, share: float) -> None:
        if run is not None:
            run.tell(READING, before[id(content)] + int(share * content.size), sum(sizes))

    return tell


class _New(NamedTuple):
    """The counts of a new interview: its turns and, if they are counted, its sentences."""

    turns: int
    sentences: int
    long: int
    longest: int


class _Memory:
    """Decides which files are kept in memory after reading: the first, and others as long as all of them are small."""

    def __init__(self) -> None:
        self._size = 0

    def admit(self, reading: Reading) -> None:
        """Keep the file or not."""
        if self._size and self._size + reading.size > KEPT_SIZE:
            reading.forget()
        else:
            self._size += reading.size


class _Planning:
    """Plans one file in one reading: keeps ids and counts of its interviews, and in full those that continue an interview."""

    def __init__(
        self,
        study: Study,
        content: Content,
        choices: Choices,
        beside: dict[str, list[bytes]],
        memory: _Memory,
        *,
        counts_sentences: bool,
    ) -> None:
        self._study, self.content, self._choices, self._beside = study, content, choices, beside
        self._memory = memory
        self._reading: Reading | None = None
        self._counts_sentences = counts_sentences
        # Each thread of the file with the one from which it continues.
        self._hung: dict[str, str | None] = {}
        self._new: dict[str, _New] = {}
        self._grown: dict[str, tuple[ReadInterview, int]] = {}
        # Interviews that the study has word for word, and whether the file says something about their consent.
        self._known: dict[str, bool] = {}
        self._refused: dict[str, str] = {}
        self._marks: dict[str, list[bytes]] = {}
        self._uncounted = False
        self._characters = 0

    def open(self) -> Reading:
        """The reader of the file. Raises `ReadError`."""
        if self._reading is None:
            self._reading = Reading(self.content, self._choices.format, self._choices.naming)
            self._memory.admit(self._reading)
        return self._reading

    def plan(self, *, remembers: bool, tell: Callable[[Content, float], None]) -> Plan:
        """Plan the import of the file; ``remembers`` it for later files, and calls ``tell`` with the share that was read.

        Raises `ReadError` and ``Refused``.
        """
        content, choices = self.content, self._choices
        sha256 = content.hash()
        if (earlier := queries.find_imported_file(self._study, sha256)) is not None:
            return Plan(_report_earlier(content.name, earlier), content.size)
        reading, preview = self.open(), Preview()
        for some in _group(reading):
            tell(content, reading.read_size / max(1, reading.size))
            stored = queries.read_stored_turns(self._study, [interview.external_id for interview in some])
            for interview in some:
                chosen = apply_choices(interview, choices)
                preview.add(chosen, interview.turns)
                self._hung[interview.external_id] = interview.hangs_on[0] if interview.hangs_on else None
                if interview.external_id not in choices.leave_out:
                    self._compare(chosen, stored, remembers=remembers)
        out, told = find_left_out(self._hung, choices)
        if refused := next((why for external_id, why in self._refused.items() if external_id not in out), None):
            raise Refused(refused)
        new = {external_id: counted for external_id, counted in self._new.items() if external_id not in out}
        grown = [each for external_id, each in self._grown.items() if external_id not in out]
        known = [external_id for external_id in self._known if external_id not in out]
        self._beside.update(
            {external_id: self._marks[external_id] for external_id in self._marks if external_id in new}
        )
        is_counted = self._counts_sentences and not self._uncounted
        report = ImportReport(
            name=content.name,
            format=reading.format,
            sha256=sha256,
            interviews=len(new),
            turns=sum(counted.turns for counted in new.values()),
            sentences=sum(counted.sentences for counted in new.values()) if is_counted or not new else None,
            already_there=len(known),
            grown=len(grown),
            grown_turns=sum(len(interview.turns) - there for interview, there in grown),
            warnings=[
                *(each for each in reading.warnings if not (choices.roles and is_guess(each))),
                *told,
                *_warn_of_long(new.values()),
                *self._warn_of_known(known, len(self._hung) - len(out)),
                *_describe_grown(grown),
            ],
            created=bool(new or grown),
            skipped=not (new or grown),
            preview=preview.describe(
                reason=reading.reason, left_out=reading.left_out, read_as_text=reading.read_as_text
            ),
        )
        is_masked = bool(choices.mask and new) or masked.find_sealed(
            self._study, [read.external_id for read, _ in grown]
        )
        return Plan(report, content.size, Chosen(reading, choices, new.keys()), grown, bool(is_masked))

    def _compare(self, interview: ReadInterview, stored: Mapping[str, Contents], *, remembers: bool) -> None:
        """Whether the study or an earlier file has the interview: no, word for word, only its beginning, or with other words."""
        external_id, read = interview.external_id, queries.list_contents(interview.turns)
        known: Sequence[object] | None = stored.get(external_id)
        contents: Sequence[object] = read
        if known is None and external_id in self._beside:
            known, contents = self._beside[external_id], _mark(read)
        if known is None:
            self._new[external_id] = _New(len(interview.turns), *self._count_sentences(interview))
            if remembers:
                self._marks[external_id] = _mark(read)
        elif list(known) == list(contents):
            self._known[external_id] = bool(interview.consent)
        elif external_id in stored and len(known) < len(contents) and list(contents[: len(known)]) == list(known):
            self._grown[external_id] = interview, len(known)
        else:
            self._refused[external_id] = (
                f"{self.content.name}, line {interview.line}: found an interview {external_id} whose text differs from the one "
                f"stored under this id, from turn {_find_difference(known, contents)} on; expected a new id for a changed text. "
                "(If the file has no ids, they are made from its name and the line, so rename the file. If it has ids, give the "
                "text another id in the file.)"
            )

    def _count_sentences(self, interview: ReadInterview) -> tuple[int, int, int]:
        """The number of sentences of an interview, the number of long ones, and the length of the longest."""
        if not self._counts_sentences or self._uncounted:
            return 0, 0, 0
        self._characters += sum(len(turn.text) for turn in interview.turns)
        self._uncounted = self._characters > COUNTED_CHARACTERS
        if self._uncounted:
            return 0, 0, 0
        stored = mask_interview(interview, "") if self._choices.mask else interview
        rows = [row for turn in prepare_interview(stored) for row in turn]
        lengths = [end - start for _, start, end, kind, _ in rows if kind in PROSE_KINDS]
        long = [length for length in lengths if length > LONG_UNIT]
        return len(rows), len(long), max(lengths, default=0)

    def _warn_of_known(self, known: Sequence[str], of: int) -> list[str]:
        if not known:
            return []
        named = ", ".join(known[:IDS_NAMED]) + (f" and {len(known) - IDS_NAMED} more" if len(known) > IDS_NAMED else "")
        warnings = [f"{len(known)} of {of} interviews are already in the study, word for word: {named}."]
        if any(self._known[external_id] for external_id in known):
            warnings.append("Their consent in the file was not imported; record it on the page Consent.")
        return warnings


def _group(interviews: Iterable[ReadInterview]) -> Iterator[list[ReadInterview]]:
    """The interviews in groups that are compared with the study together."""
    some: list[ReadInterview] = []
    length = 0
    for interview in interviews:
        some.append(interview)
        length += sum(len(turn.text) for turn in interview.turns)
        if len(some) >= queries.IDS_AT_A_TIME or length >= COMPARED_CHARACTERS:
            yield some
            some, length = [], 0
    if some:
        yield some


def _mark(contents: Contents) -> list[bytes]:
    """A short hash of each turn."""
    return [hashlib.sha256(repr(turn).encode("utf-8", "surrogatepass")).digest()[:16] for turn in contents]


def _find_difference(known: Sequence[object], read: Sequence[object]) -> int:
    """The position of the first turn that differs; if one is the beginning of the other, the position after it."""
    pairs = zip(known, read, strict=False)
    return next((at for at, (one, other) in enumerate(pairs, 1) if one != other), min(len(known), len(read)) + 1)


def _warn_of_long(counted: Collection[_New]) -> list[str]:
    """A warning about very long units, such as captions without full stops."""
    long = sum(each.long for each in counted)
    if not long:
        return []
    are = f"{long:,} units are" if long > 1 else "One unit is"
    longest = max(each.longest for each in counted)
    because = f"(the longest has {longest:,}), because hardly any sentence there ends with a full stop"
    advice = "People and models code a unit as a whole. Add full stops, or split the units after the import."
    return [f"{are} longer than {LONG_UNIT:,} characters {because}. {advice}"]


def _describe_grown(grown: Sequence[tuple[ReadInterview, int]]) -> list[str]:
    if not grown:
        return []
    turns = sum(len(interview.turns) - there for interview, there in grown)
    named = ", ".join(interview.external_id for interview, _ in grown[:IDS_NAMED])
    more = ", …" if len(grown) > IDS_NAMED else ""
    told = f"{len(grown):,} interviews of the study continue in the file, with {turns:,} more turns: {named}{more}."
    return [f"{told} The existing turns keep their sentences and codings."]


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
