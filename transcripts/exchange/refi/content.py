"""The content of a study's project file, read and written interview by interview."""

from __future__ import annotations

import io
import zipfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from django.db.models import Q, QuerySet

from transcripts.accounts.models import User
from transcripts.analysis.models import ThemeVersion
from transcripts.codebook.files import read_version
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Memo
from transcripts.coding.values import COLUMNS as VALUE_COLUMNS
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.exchange import pure
from transcripts.exchange.pure import PlacedSentence, PlacedText
from transcripts.exchange.refi.details import StudyGuids, list_link_notes, read_link_notes, write_details, write_parts
from transcripts.exchange.rows import CHUNK, Scope
from transcripts.formats.codebook_json import write_codebook_json
from transcripts.formats.codebook_rules import CodebookContent, CodeContent, FamilyContent
from transcripts.formats.qdpx_content import (
    QdpxCoding,
    QdpxNote,
    QdpxProject,
    QdpxSelection,
    QdpxSource,
    QdpxTurn,
    QdpxUser,
)
from transcripts.formats.qdpx_write import EARLIEST, write_qdpx
from transcripts.formats.refi import QdcSet, lay_out_codes, make_guid

AT_A_TIME = 20
FORMER = FamilyContent(identifier="former", name="Former codes", description="No longer in the codebook.")

CODING_COLUMNS = (
    *("sentence__start", "sentence__end", "sentence__turn__position", "sentence__turn__interview_id"),
    *("code__identifier", "code__family__unit", "code__version__number", "coder__username"),
    *("idempotency_key", "created_at", "blinding", "reason", "range_id", *VALUE_COLUMNS),
)
README_ENTRY = "README.txt"
README = """\
This is a REFI-QDA project, written by auditapp. Any program that reads the standard can open it.

project.qde and sources/ are the standard's: texts, codes, codings, memos, sets, people.
auditapp.jsonl and codebook.json hold what the standard has no place for: who speaks, and of each coding its blinding, level,
enactment, grounding, prompting, reason, answers and range; of the codebook everything. Only auditapp reads them.

A link of a coding, such as what a move acts on, is a note on it whose name begins with "auditapp link: ". It is there to be
read: an import leaves it out. The interpretive line of a coding is the description of its selection, and a note "Interpretation"
with a number. Every note has a name of its own, because some programs take no two of one name.

Not in this file, because neither has a place for it: decisions, rounds, completed assignments, adjudications, withdrawn rows and
earlier versions, machines' suggestions, consents, splits and merges of sentences, the kind of an interview (trajectory), the
thread on which it hangs, its run, and of turns the ids of calls, times, tokens and other details. Download those as tables, or as
"trajectories" and "texts" (JSON lines). Archived and excluded interviews are in it only where that was asked for.

Line ends are plain line feeds; auditapp puts back those that the texts had.
"""


@dataclass
class Layout:
    """The places of an interview's turns in its written text."""

    text: str
    turns: list[QdpxTurn]
    start_of: dict[int, int]


def read_project(scope: Scope, guids: StudyGuids) -> tuple[QdpxProject, CodebookContent]:
    """Everything except interviews and memos; and the codebook again, with everything that the standard cannot represent."""
    slug = scope.study.slug
    codebook = read_codebook(scope)
    memos = read_memos(scope).filter(subject__in=[Memo.Subject.CODE, Memo.Subject.STUDY])
    on_codes: dict[str, list[str]] = defaultdict(list)
    on_study: list[str] = []
    for memo in memos.select_related("author"):
        is_on_code = memo.subject == Memo.Subject.CODE
        (on_codes[pure.name_code(slug, memo.subject_key)] if is_on_code else on_study).append(guids.of_memo(memo))
    codes = [code._replace(notes=tuple(on_codes[code.guid])) for code in lay_out_codes(codebook, scope=slug)]
    study = QdpxProject(
        name=scope.study.name,
        description=scope.study.description,
        created=scope.study.created_at,
        users=tuple(QdpxUser(pure.name_user(name), name, name) for name in list_people(scope)),
        codes=tuple(codes),
        variables=(pure.INTERVIEW_KEY, *pure.FIELDS, *list_variables(scope)),
        sets=tuple(read_sets(scope, guids, {code.guid for code in codes})),
        notes=tuple(on_study),
    )
    return study, codebook


def read_codebook(scope: Scope) -> CodebookContent:
    """The current version, and under a separate heading the former codes that codings still have."""
    version = current_version(scope.study)
    content = read_version(version, coder=scope.coder) if version else CodebookContent()
    known = {code.identifier for code in content.codes}
    used = Code.objects.filter(version__study=scope.study, codings__in=read_active(scope)).distinct()
    former: dict[str, CodeContent] = {}
    families: dict[str, FamilyContent] = {}
    for code in used.exclude(identifier__in=known).select_related("family").order_by("version__number"):
        kind = code.family
        family = replace(
            FORMER, identifier=f"former_{kind.unit}s", name=f"{FORMER.name} of {kind.unit}s", unit=kind.unit
        )
        carries = kind.carries_enactment or families.get(family.identifier, family).carries_enactment
        families[family.identifier] = replace(family, carries_enactment=carries)
        former[code.identifier] = CodeContent(
            identifier=code.identifier, name=code.name, family=family.identifier, definition=code.definition
        )
    return replace(content, families=(*content.families, *families.values()), codes=(*content.codes, *former.values()))


def read_active(scope: Scope) -> QuerySet[Coding]:
    """The codings to write."""
    codings = Coding.objects.active().filter(
        scope.within("sentence__turn__interview"), sentence__retired_by__isnull=True
    )
    return codings if scope.only is None else codings.filter(coder=scope.only)


def read_memos(scope: Scope) -> QuerySet[Memo]:
    """The memos to write."""
    memos = Memo.objects.active().filter(study=scope.study).exclude(text="")
    memos = memos.filter(Q(interview__isnull=True) | scope.within("interview"))
    return (memos if scope.only is None else memos.filter(author=scope.only)).order_by("pk")


def list_people(scope: Scope) -> list[str]:
    """The authors of the codings and memos to write."""
    codings, memos = read_active(scope).values("coder"), read_memos(scope).order_by().values("author")
    people = User.objects.filter(Q(pk__in=codings) | Q(pk__in=memos))
    return list(people.order_by("username").values_list("username", flat=True))


def read_sets(scope: Scope, guids: StudyGuids, codes: set[str]) -> Iterator[QdcSet]:
    """The current themes, each as a set of its codes."""
    if scope.only is not None:
        return
    slug = scope.study.slug
    notes: dict[str, list[str]] = defaultdict(list)
    on_themes = read_memos(scope).filter(subject=Memo.Subject.THEME)
    for memo in on_themes.select_related("author"):
        notes[memo.subject_key].append(guids.of_memo(memo))
    latest: dict[int, ThemeVersion] = {}
    for version in ThemeVersion.objects.filter(theme__study=scope.study).select_related("theme").order_by("number"):
        latest[version.theme_id] = version
    for version in sorted(latest.values(), key=lambda each: each.theme.number):
        if version.state != ThemeVersion.State.DROPPED:
            members = [guid for code in version.codes if (guid := pure.name_code(slug, code)) in codes]
            yield QdcSet(
                guid=make_guid("theme", slug, str(version.theme.number)),
                name=version.name,
                description="\n\n".join(filter(None, [version.concept, version.description])),
                codes=tuple(members),
                notes=tuple(notes[str(version.theme.number)]),
            )


def read_sources(scope: Scope, guids: StudyGuids, joined: set[int]) -> Iterator[QdpxSource]:
    """The interviews as texts with their turns, codings and notes.

    ``joined`` receives the ids of codings that are written as part of another one: see ``find_ranges``.
    """
    ids = list(Interview.objects.filter(scope.within()).order_by("pk").values_list("pk", flat=True))
    for first in range(0, len(ids), AT_A_TIME):
        scope.watch(first, len(ids))
        chosen = ids[first : first + AT_A_TIME]
        turns: dict[int, list[Turn]] = defaultdict(list)
        for turn in Turn.objects.filter(interview__in=chosen).order_by("position"):
            turns[turn.interview_id].append(turn)
        codings: dict[int, list[Coding]] = defaultdict(list)
        rows = read_active(scope).filter(sentence__turn__interview__in=chosen).order_by("sentence__position", "pk")
        rows = rows.select_related("sentence__turn", "code__family", "code__version", "coder").only(*CODING_COLUMNS)
        for coding in rows.iterator():
            codings[coding.sentence.turn.interview_id].append(coding)
        ranged = {pk for pk in chosen if any(coding.range_id for coding in codings[pk])}
        sentences: dict[int, list[SpanRow]] = defaultdict(list)
        spans = Sentence.objects.current().filter(turn__interview__in=ranged).order_by()
        for interview_id, *span in spans.values_list("turn__interview", "pk", "turn__position", "start", "end"):
            sentences[interview_id].append(SpanRow(*span))
        memos: dict[int, list[Memo]] = defaultdict(list)
        for memo in read_memos(scope).filter(interview__in=chosen).select_related("sentence__turn", "author"):
            memos[memo.interview_id or 0].append(memo)
        for interview in Interview.objects.filter(pk__in=chosen).order_by("pk"):
            pk = interview.pk
            layout = lay_out(turns[pk])
            ranges = find_ranges(codings[pk], sentences[pk], layout)
            parts = {coding.pk for each in ranges.values() for coding in each.others}
            joined |= parts
            kept = [coding for coding in codings[pk] if coding.pk not in parts]
            making = Making(scope.study.slug, guids, ranges, list_link_notes(codings[pk], guids))
            yield make_source(making, interview, layout, codings=kept, memos=memos[pk])


class Place(NamedTuple):
    """The place of a coding in a text, with its interpretive line, which other programs show as the selection's."""

    start: int
    end: int
    person: str
    note: str


class SpanRow(NamedTuple):
    """A sentence in the text of its turn."""

    pk: int
    turn: int
    start: int
    end: int


class Range(NamedTuple):
    """A code that somebody applied to a range of sentences: its end in the text, and the codings after the first."""

    end: int
    others: list[Coding]


def find_ranges(codings: Sequence[Coding], sentences: Sequence[SpanRow], layout: Layout) -> dict[int, Range]:
    """Codings that are written as one, by the id of the first.

    Only codings with the same values whose sentences and words can be found again from the two ends are joined.
    """
    groups: defaultdict[tuple[object, ...], list[Coding]] = defaultdict(list)
    for coding in codings:
        if coding.range_id and coding.code.family.unit == CodeFamily.Unit.SENTENCE:
            same = (coding.range_id, coding.coder_id, coding.code_id, coding.note)
            groups[*same, *sorted(write_details(coding).items())].append(coding)
    placed = PlacedText(
        layout.text,
        (
            PlacedSentence(layout.start_of[turn] + start, layout.start_of[turn] + end, pk, turn, layout.start_of[turn])
            for pk, turn, start, end in sentences
        ),
    )
    found = {}
    for group in groups.values():
        if len(group) > 1:
            spans = sorted((find_span(coding, layout), coding.pk, coding) for coding in group)
            (start, _), end = spans[0][0], spans[-1][0][1]
            ordered = [coding for *_, coding in spans]
            touched = [(sentence.id, quote) for sentence, quote in placed.touch(start, end)]
            if touched == [(coding.sentence_id, coding.quote) for coding in ordered]:
                found[ordered[0].pk] = Range(end, ordered[1:])
    return found


def list_variables(scope: Scope) -> list[str]:
    """The variables for the metadata of interviews that are not fields of the program."""
    told = Interview.objects.filter(scope.within()).values_list("metadata", flat=True)
    keys = {key for metadata in told.iterator(chunk_size=CHUNK) for key in metadata}
    return sorted(filter(None, map(pure.name_variable, keys)))


class Making(NamedTuple):
    """The data for making the parts of a source: ``ranges`` by the id of their first coding, ``links`` (GUIDs of notes) by the id
    of their coding."""

    slug: str
    guids: StudyGuids
    ranges: Mapping[int, Range]
    links: Mapping[int, Sequence[str]]


def make_source(
    making: Making, interview: Interview, layout: Layout, *, codings: Sequence[Coding], memos: Sequence[Memo]
) -> QdpxSource:
    """One interview."""
    guid = pure.name_interview(making.slug, interview.external_id)
    groups: dict[Place, list[Coding]] = defaultdict(list)
    for coding in codings:
        if coding.code.family.unit != CodeFamily.Unit.INTERVIEW:
            start, end = find_span(coding, layout)
            end = making.ranges[coding.pk].end if coding.pk in making.ranges else end
            groups[Place(start, end, coding.coder.username, coding.note)].append(coding)
    notes_at: dict[Place, list[str]] = defaultdict(list)
    for memo in memos:
        if memo.sentence is not None:
            shift = layout.start_of[memo.sentence.turn.position]
            place = Place(shift + memo.sentence.start, shift + memo.sentence.end, memo.author.username, "")
            notes_at[place].append(making.guids.of_memo(memo))
    facts = {name: str(getattr(interview, field)) for name, field in pure.FIELDS.items()}
    facts |= {name: str(value) for key, value in interview.metadata.items() if (name := pure.name_variable(key))}
    return QdpxSource(
        guid=guid,
        name=interview.title,
        text=layout.text,
        attributes={pure.INTERVIEW_KEY: interview.external_id, **{k: v for k, v in facts.items() if v}},
        turns=tuple(layout.turns),
        selections=tuple(
            make_selection(making, guid, place, codings=groups[place], notes=notes_at[place])
            for place in sorted({**groups, **notes_at})
        ),
        codings=tuple(
            make_coding(making, coding) for coding in codings if coding.code.family.unit == CodeFamily.Unit.INTERVIEW
        ),
        notes=tuple(making.guids.of_memo(memo) for memo in memos if memo.sentence is None),
    )


def lay_out(turns: Sequence[Turn]) -> Layout:
    """The turns one below the other, each after the name of the speaker, as in a transcript."""
    pieces: list[str] = []
    placed, start_of, length = [], {}, 0
    for turn in turns:
        heading = pure.name_heading(turn.role, turn.channel)
        pieces += [heading, turn.text, "\n\n"]
        start = length + len(heading)
        length = start + len(turn.text) + 2
        start_of[turn.position] = start
        placed.append(QdpxTurn(start, start + len(turn.text), turn.role, turn.channel, turn.speaker, turn.prompt_kind))
    return Layout("".join(pieces), placed, start_of)


def find_span(coding: Coding, layout: Layout) -> tuple[int, int]:
    """The characters to which a coding applies: the marked words, the sentence, or the turn."""
    shift = layout.start_of[coding.sentence.turn.position]
    if coding.code.family.unit == CodeFamily.Unit.TURN:
        turn = next(each for each in layout.turns if each.start == shift)
        return turn.start, turn.end
    start, end = coding.quote or (coding.sentence.start, coding.sentence.end)
    return shift + start, shift + end


def make_selection(
    making: Making, source: str, place: Place, *, codings: Sequence[Coding], notes: Sequence[str]
) -> QdpxSelection:
    """One person's codings of the same words with the same interpretive line, as one selection."""
    return QdpxSelection(
        guid=pure.name_selection(source, place.person, place.start, place.end, place.note),
        start=place.start,
        end=place.end,
        user=pure.name_user(place.person),
        description=place.note,
        codings=tuple(make_coding(making, coding) for coding in codings),
        notes=tuple(notes),
    )


def make_coding(making: Making, coding: Coding) -> QdpxCoding:
    """One coding, and the others of its range, with notes of their links; other values go into our own part."""
    guid = making.guids.of_coding(coding)
    others = making.ranges[coding.pk].others if coding.pk in making.ranges else []
    return QdpxCoding(
        guid=guid,
        code=pure.name_code(making.slug, coding.code.identifier),
        user=pure.name_user(coding.coder.username),
        created=coding.created_at,
        notes=(
            *([pure.name_note(guid)] if coding.note else []),
            *(note for each in (coding, *others) for note in making.links.get(each.pk, ())),
        ),
        details={**write_details(coding), **write_parts(coding, others, making.guids)},
    )


def read_notes(scope: Scope, guids: StudyGuids, joined: Collection[int]) -> Iterator[QdpxNote]:
    """The memos, the links, and the interpretive lines of codings except those ``joined`` to another one.

    Each has a unique name, because QualCoder, for example, fails at a second note with the same name.
    """
    numbers: Counter[str] = Counter()
    for note in _list_notes(scope, guids, joined):
        numbers[note.name] += 1
        yield note._replace(name=f"{note.name} {numbers[note.name]}")


def _list_notes(scope: Scope, guids: StudyGuids, joined: Collection[int]) -> Iterator[QdpxNote]:
    yield from read_link_notes(read_active(scope), guids)
    subjects = Memo.Subject.values if scope.only is None else [s for s in Memo.Subject.values if s != "theme"]
    for memo in read_memos(scope).filter(subject__in=subjects).select_related("author").iterator():
        yield QdpxNote(
            guid=guids.of_memo(memo),
            name=f"{memo.get_kind_display()} ({memo.get_subject_display().lower()})",
            text=memo.text,
            user=pure.name_user(memo.author.username),
            created=memo.created_at,
        )
    noted = read_active(scope).exclude(note="").select_related("coder").order_by("pk")
    for coding in noted.only("idempotency_key", "note", "created_at", "coder__username").iterator():
        if coding.pk in joined:
            continue
        yield QdpxNote(
            guid=pure.name_note(guids.of_coding(coding)),
            name=pure.INTERPRETATION,
            text=coding.note,
            user=pure.name_user(coding.coder.username),
            created=coding.created_at,
        )


def write_study(scope: Scope, path: Path) -> int:
    """Write the study, or one person's part of it; returns the number of codings.

    Twenty interviews are in memory at a time. Data that the standard cannot represent go into separate entries, which other
    programs ignore.
    """
    guids = StudyGuids(scope.study)
    study, codebook = read_project(scope, guids)
    with path.open("w+b") as stream:
        # Filled while the sources are written, and read when the notes are written.
        joined: set[int] = set()
        sources, notes = read_sources(scope, guids, joined), read_notes(scope, guids, joined)
        written = write_qdpx(study, sources=sources, notes=notes, stream=stream)
    text = io.StringIO()
    write_codebook_json(codebook, text)
    _add_entries(path, {pure.CODEBOOK_ENTRY: text.getvalue(), README_ENTRY: README})
    return written["codings"] + len(joined)


def _add_entries(path: Path, texts: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        for name, text in texts.items():
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            archive.writestr(entry, text)
