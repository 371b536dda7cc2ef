"""What a study's project file holds, read interview by interview."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from django.db.models import F, Q, QuerySet

from transcripts.accounts.models import User
from transcripts.codebook.files import read_version
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Memo
from transcripts.coding.values import COLUMNS as VALUE_COLUMNS
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.exchange.pure import refi_names as naming
from transcripts.exchange.pure.refi_places import PlacedSentence, PlacedText
from transcripts.exchange.refi.details import write_details, write_parts
from transcripts.exchange.refi.link_notes import list_link_notes, read_link_notes
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import CHUNK
from transcripts.formats.codebook_content import CodebookContent, CodeContent, FamilyContent
from transcripts.formats.qdc import lay_out_codes
from transcripts.formats.qdpx_content import (
    QdpxCoding,
    QdpxNote,
    QdpxProject,
    QdpxSelection,
    QdpxSource,
    QdpxTurn,
    QdpxUser,
)
from transcripts.formats.refi import make_guid
from transcripts.formats.refi_codes import QdcSet
from transcripts.themes.models import ThemeVersion

AT_A_TIME = 20
FORMER = FamilyContent(identifier="former", name="Former codes", description="No longer in the codebook.")
SPEAKERS = {"interviewer": "Interviewer", "model": "Model", "system": "System", "tool": "Tool"}


CODING_COLUMNS = (
    *("sentence__start", "sentence__end", "sentence__turn__position", "sentence__turn__interview_id"),
    *("code__identifier", "code__family__unit", "code__version__number", "coder__username"),
    *("idempotency_key", "created_at", "layer", "reason", "range_id", *VALUE_COLUMNS),
)


@dataclass
class Layout:
    """Where the turns of an interview lie in the text that is written of it."""

    text: str
    turns: list[QdpxTurn]
    start_of: dict[int, int]


def read_project(scope: Scope) -> tuple[QdpxProject, CodebookContent]:
    """Everything but interviews and memos; the codebook once more, with all that the standard has no place for."""
    slug = scope.project.slug
    codebook = read_codebook(scope)
    memos = read_memos(scope).filter(subject__in=[Memo.Subject.CODE, Memo.Subject.PROJECT])
    on_codes: dict[str, list[str]] = defaultdict(list)
    on_study: list[str] = []
    for subject, key, idempotency_key in memos.values_list("subject", "subject_key", "idempotency_key"):
        (on_codes[naming.name_code(slug, key)] if subject == Memo.Subject.CODE else on_study).append(
            str(idempotency_key)
        )
    codes = [code._replace(notes=tuple(on_codes[code.guid])) for code in lay_out_codes(codebook, scope=slug)]
    project = QdpxProject(
        name=scope.project.name,
        description=scope.project.description,
        created=scope.project.created_at,
        users=tuple(QdpxUser(naming.name_user(name), name, name) for name in list_people(scope)),
        codes=tuple(codes),
        variables=(naming.INTERVIEW_KEY, *naming.FIELDS, *list_variables(scope)),
        sets=tuple(read_sets(scope, {code.guid for code in codes})),
        notes=tuple(on_study),
    )
    return project, codebook


def read_codebook(scope: Scope) -> CodebookContent:
    """The current version, and under their own heading the former codes that codings still have."""
    version = current_version(scope.project)
    content = read_version(version) if version else CodebookContent()
    known = {code.identifier for code in content.codes}
    used = Code.objects.filter(version__project=scope.project, codings__in=read_active(scope)).distinct()
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
    """The codings that are written."""
    codings = Coding.objects.active().filter(
        scope.within("sentence__turn__interview"), sentence__retired_by__isnull=True
    )
    return codings if scope.only is None else codings.filter(coder=scope.only)


def read_memos(scope: Scope) -> QuerySet[Memo]:
    """The memos that are written."""
    memos = Memo.objects.active().filter(project=scope.project).exclude(text="")
    memos = memos.filter(Q(interview__isnull=True) | scope.within("interview"))
    return (memos if scope.only is None else memos.filter(author=scope.only)).order_by("pk")


def list_people(scope: Scope) -> list[str]:
    """Who coded or wrote what is written."""
    codings, memos = read_active(scope).values("coder"), read_memos(scope).order_by().values("author")
    people = User.objects.filter(Q(pk__in=codings) | Q(pk__in=memos))
    return list(people.order_by("username").values_list("username", flat=True))


def read_sets(scope: Scope, codes: set[str]) -> Iterator[QdcSet]:
    """The themes as they are now, each a set of its codes."""
    if scope.only is not None:
        return
    slug = scope.project.slug
    notes: dict[str, list[str]] = defaultdict(list)
    on_themes = read_memos(scope).filter(subject=Memo.Subject.THEME)
    for key, idempotency_key in on_themes.values_list("subject_key", "idempotency_key"):
        notes[key].append(str(idempotency_key))
    latest: dict[int, ThemeVersion] = {}
    for version in ThemeVersion.objects.filter(theme__project=scope.project).select_related("theme").order_by("number"):
        latest[version.theme_id] = version
    for version in sorted(latest.values(), key=lambda each: each.theme.number):
        if version.state != ThemeVersion.State.DROPPED:
            members = [guid for code in version.codes if (guid := naming.name_code(slug, code)) in codes]
            yield QdcSet(
                guid=make_guid("theme", slug, str(version.theme.number)),
                name=version.name,
                description="\n\n".join(filter(None, [version.concept, version.description])),
                codes=tuple(members),
                notes=tuple(notes[str(version.theme.number)]),
            )


def read_sources(scope: Scope, joined: set[UUID]) -> Iterator[QdpxSource]:
    """The interviews as texts with their turns, codings and notes.

    ``joined`` gets the names of codings that are written as a part of another one: see ``find_ranges``.
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
            parts = {coding.idempotency_key for each in ranges.values() for coding in each.others}
            joined |= parts
            kept = [coding for coding in codings[pk] if coding.idempotency_key not in parts]
            links = list_link_notes(codings[pk])
            yield make_source(
                scope.project.slug, interview, layout, codings=kept, ranges=ranges, links=links, memos=memos[pk]
            )


class Place(NamedTuple):
    """Where somebody coded in a text, and her interpretive line: other programs show a coding's line as its selection's."""

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
    """A code that somebody applied to a range of sentences: where it ends in the text, and the codings after the first."""

    end: int
    others: list[Coding]


def find_ranges(codings: Sequence[Coding], sentences: Sequence[SpanRow], layout: Layout) -> dict[int, Range]:
    """Codings that are written as one, by the number of the first.

    Only those that say the same, and whose sentences and words are found again from the two ends: nothing is lost by it.
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
    """The variables for what interviews tell of themselves beside the fields that the program knows."""
    told = Interview.objects.filter(scope.within()).values_list("metadata", flat=True)
    keys = {key for metadata in told.iterator(chunk_size=CHUNK) for key in metadata}
    return sorted(filter(None, map(naming.name_variable, keys)))


def make_source(
    slug: str,
    interview: Interview,
    layout: Layout,
    *,
    codings: Sequence[Coding],
    ranges: Mapping[int, Range],
    links: Mapping[int, Sequence[str]],
    memos: Sequence[Memo],
) -> QdpxSource:
    """One interview. ``ranges`` are by the number of the coding that stands for one, ``links`` (GUIDs of notes) by that of
    theirs."""
    guid = naming.name_interview(slug, interview.external_id)
    groups: dict[Place, list[Coding]] = defaultdict(list)
    for coding in codings:
        if coding.code.family.unit != CodeFamily.Unit.INTERVIEW:
            start, end = find_span(coding, layout)
            end = ranges[coding.pk].end if coding.pk in ranges else end
            groups[Place(start, end, coding.coder.username, coding.note)].append(coding)
    notes_at: dict[Place, list[str]] = defaultdict(list)
    for memo in memos:
        if memo.sentence is not None:
            shift = layout.start_of[memo.sentence.turn.position]
            place = Place(shift + memo.sentence.start, shift + memo.sentence.end, memo.author.username, "")
            notes_at[place].append(str(memo.idempotency_key))
    facts = {name: str(getattr(interview, field)) for name, field in naming.FIELDS.items()}
    facts |= {name: str(value) for key, value in interview.metadata.items() if (name := naming.name_variable(key))}
    return QdpxSource(
        guid=guid,
        name=interview.title,
        text=layout.text,
        attributes={naming.INTERVIEW_KEY: interview.external_id, **{k: v for k, v in facts.items() if v}},
        turns=tuple(layout.turns),
        selections=tuple(
            make_selection(slug, guid, place, codings=groups[place], ranges=ranges, links=links, notes=notes_at[place])
            for place in sorted({**groups, **notes_at})
        ),
        codings=tuple(
            make_coding(slug, coding, links=links)
            for coding in codings
            if coding.code.family.unit == CodeFamily.Unit.INTERVIEW
        ),
        notes=tuple(str(memo.idempotency_key) for memo in memos if memo.sentence is None),
    )


def lay_out(turns: Sequence[Turn]) -> Layout:
    """The turns one below the other, each after the name of who speaks, as people read a transcript."""
    pieces: list[str] = []
    placed, start_of, length = [], {}, 0
    for turn in turns:
        heading = f"{SPEAKERS[turn.role]}{'' if turn.channel == 'utterance' else f' ({turn.channel})'}: "
        pieces += [heading, turn.text, "\n\n"]
        start = length + len(heading)
        length = start + len(turn.text) + 2
        start_of[turn.position] = start
        placed.append(QdpxTurn(start, start + len(turn.text), turn.role, turn.channel, turn.speaker, turn.prompt_kind))
    return Layout("".join(pieces), placed, start_of)


def find_span(coding: Coding, layout: Layout) -> tuple[int, int]:
    """The characters a coding is applied to: the words marked, the sentence, or the turn."""
    shift = layout.start_of[coding.sentence.turn.position]
    if coding.code.family.unit == CodeFamily.Unit.TURN:
        turn = next(each for each in layout.turns if each.start == shift)
        return turn.start, turn.end
    start, end = coding.quote or (coding.sentence.start, coding.sentence.end)
    return shift + start, shift + end


def make_selection(
    slug: str,
    source: str,
    place: Place,
    *,
    codings: Sequence[Coding],
    ranges: Mapping[int, Range],
    links: Mapping[int, Sequence[str]],
    notes: Sequence[str],
) -> QdpxSelection:
    """What one person applied to the same words for the same reason."""
    return QdpxSelection(
        guid=naming.name_selection(source, place.person, place.start, place.end, place.note),
        start=place.start,
        end=place.end,
        user=naming.name_user(place.person),
        description=place.note,
        codings=tuple(
            make_coding(slug, coding, ranges[coding.pk].others if coding.pk in ranges else (), links=links)
            for coding in codings
        ),
        notes=tuple(notes),
    )


def make_coding(
    slug: str, coding: Coding, others: Sequence[Coding] = (), *, links: Mapping[int, Sequence[str]]
) -> QdpxCoding:
    """One coding, and the ``others`` of its range, with notes of their links; what the standard has no place for goes into our
    own part."""
    guid = str(coding.idempotency_key)
    return QdpxCoding(
        guid=guid,
        code=naming.name_code(slug, coding.code.identifier),
        user=naming.name_user(coding.coder.username),
        created=coding.created_at,
        notes=(
            *([naming.name_note(guid)] if coding.note else []),
            *(note for each in (coding, *others) for note in links.get(each.pk, ())),
        ),
        details={**write_details(coding), **write_parts(coding, others)},
    )


def read_notes(scope: Scope, joined: Collection[UUID]) -> Iterator[QdpxNote]:
    """The memos, the links, and the interpretive lines of codings but for those ``joined`` to another one."""
    yield from read_link_notes(read_active(scope))
    subjects = Memo.Subject.values if scope.only is None else [s for s in Memo.Subject.values if s != "theme"]
    for memo in read_memos(scope).filter(subject__in=subjects).select_related("author").iterator():
        yield QdpxNote(
            guid=str(memo.idempotency_key),
            name=f"{memo.get_kind_display()} ({memo.get_subject_display().lower()})",
            text=memo.text,
            user=naming.name_user(memo.author.username),
            created=memo.created_at,
        )
    noted = read_active(scope).exclude(note="").annotate(name=F("coder__username")).order_by("pk")
    for idempotency_key, note, name, created in noted.values_list(
        "idempotency_key", "note", "name", "created_at"
    ).iterator():
        if idempotency_key in joined:
            continue
        yield QdpxNote(
            guid=naming.name_note(str(idempotency_key)),
            name="Interpretation",
            text=note,
            user=naming.name_user(name),
            created=created,
        )
