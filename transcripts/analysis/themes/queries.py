"""Queries about themes: their versions, codes and quotes; and the codings of a theme or code, with the decided sentences, from
which the counts of this room are made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, TextField, Value, When
from django.urls import reverse

from transcripts.accounts.models import User
from transcripts.analysis.models import PhaseEntry, PositionalityStatement, Theme, ThemeQuote, ThemeVersion
from transcripts.analysis.search.counts import count_answers
from transcripts.analysis.search.pure.words import EVERYBODY, OWN, UNNAMED
from transcripts.analysis.search.queries import StudyPrompts, Visibility, read_catalog
from transcripts.analysis.search.results import find_visibility
from transcripts.analysis.themes.pure import (
    NOT_STATED,
    STRENGTH,
    UNCLEAR,
    Answer,
    Cell,
    Evidence,
    Heading,
    Link,
    Presence,
    Readings,
    Row,
    Said,
    compare_models,
    count_presence,
    read_answers,
)
from transcripts.blinding.viewers import Viewer
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version, read_families
from transcripts.coding.models import Coding, CodingQuerySet, Decision, DecisionQuerySet, Enactment
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.refusals import Refused
from transcripts.studies.models import MethodChoice, Study
from transcripts.studies.queries import read_methods

STATE_ORDER = [*ThemeVersion.State.values]


class CodeEntry(NamedTuple):
    """A code of themes; ``in_use`` if the current codebook has it."""

    identifier: str
    name: str
    definition: str = ""
    in_use: bool = True


@dataclass(frozen=True)
class Catalogue:
    """The codes of themes: those in use by family, and any other code by its identifier."""

    families: list[tuple[CodeFamily, list[CodeEntry]]]
    by_identifier: dict[str, CodeEntry] = field(default_factory=dict)

    def name_codes(self, identifiers: Iterable[str]) -> list[CodeEntry]:
        """The codes with these identifiers, in their order."""
        unknown = [CodeEntry(each, each, in_use=False) for each in identifiers]
        return [self.by_identifier.get(each.identifier, each) for each in unknown]


def current_themes(study: Study) -> list[ThemeVersion]:
    """The current version of each theme, with the theme: by state, then by number. One query."""
    later = ThemeVersion.objects.filter(theme=OuterRef("theme"), number__gt=OuterRef("number"))
    versions = ThemeVersion.objects.filter(~Exists(later), theme__study=study)
    found = versions.select_related("theme", "written_by")
    return sorted(found, key=lambda each: (STATE_ORDER.index(each.state), each.theme.number))


def find_current(study: Study, number: int) -> ThemeVersion | None:
    """The current version of the theme with that number, with the theme."""
    versions = ThemeVersion.objects.filter(theme__study=study, theme__number=number)
    return versions.select_related("theme__study", "written_by").order_by("-number").first()


def read_catalogue(study: Study, *, also: Iterable[str] = ()) -> Catalogue:
    """The codes that people code with, and the names of other codes in themes: four queries at most."""
    version = current_version(study)
    families = [
        (family, [CodeEntry(code.identifier, code.name, code.definition) for code in family.codes.all()])
        for family in (read_families(version) if version else [])
    ]
    known = {code.identifier: code for _, codes in families for code in codes}
    if missing := set(also) - known.keys():
        rows = Code.objects.filter(version__study=study, identifier__in=missing).order_by("version__number")
        for identifier, name in rows.values_list("identifier", "name"):
            known[identifier] = CodeEntry(identifier, name, in_use=False)
    return Catalogue(families, known)


def find_unknown_codes(study: Study, identifiers: Sequence[str]) -> list[str]:
    """Those identifiers that no version of the study's codebook has."""
    rows = Code.objects.filter(version__study=study, identifier__in=identifiers)
    known = set(rows.values_list("identifier", flat=True))
    return [each for each in identifiers if each not in known]


def read_history(theme: Theme, catalogue: Catalogue) -> list[dict[str, object]]:
    """The versions of a theme, newest first, each with the version before it and what it changed: one query."""
    versions = list(theme.versions.select_related("written_by").order_by("number"))
    before: Sequence[ThemeVersion | None] = [None, *versions]
    return [_compare(one, other, catalogue) for one, other in zip(before, versions, strict=False)][::-1]


def _compare(before: ThemeVersion | None, version: ThemeVersion, catalogue: Catalogue) -> dict[str, object]:
    if before is None:
        return {"version": version, "before": None, "added": catalogue.name_codes(version.codes)}
    fields = [
        (label, old, new)
        for label, old, new in (
            ("Name", before.name, version.name),
            ("Central organising concept", before.concept, version.concept),
            ("Description", before.description, version.description),
            ("State", before.get_state_display(), version.get_state_display()),
        )
        if old != new
    ]
    added = [code for code in version.codes if code not in before.codes]
    removed = [code for code in before.codes if code not in version.codes]
    return {
        "version": version,
        "before": before,
        "fields": fields,
        "added": catalogue.name_codes(added),
        "removed": catalogue.name_codes(removed),
    }


def visible_quotes(viewer: Viewer) -> QuerySet[ThemeQuote]:
    """The active quotes that the viewer may see. A quote reveals that somebody coded its sentence, so it counts as a label."""
    quotes = ThemeQuote.objects.filter(sentence__turn__interview__study=viewer.study, withdrawn_at__isnull=True)
    if not viewer.sees_all:
        return quotes.filter(added_by=viewer.user)
    if viewer.visible_interviews is None:
        return quotes
    return quotes.filter(Q(added_by=viewer.user) | Q(sentence__turn__interview__in=viewer.visible_interviews))


def read_quotes(quotes: QuerySet[ThemeQuote]) -> list[ThemeQuote]:
    """Quotes with their displayed data, in the order of the interviews: one query."""
    related = quotes.select_related("sentence__turn__interview", "added_by", "theme", "coding__code")
    return list(related.order_by("theme__number", "-side", "sentence__turn__interview", "sentence__position", "pk"))


def find_sentence(study: Study, sentence_id: int) -> Sentence | None:
    """A sentence of the study with its turn and interview. Retired ones are found too, because their quotes stay."""
    sentences = Sentence.objects.filter(turn__interview__study=study, pk=sentence_id)
    return sentences.select_related("turn__interview").first()


def visible_entries(viewer: Viewer) -> QuerySet[PhaseEntry]:
    """The active entries of the board: one's own, and everybody's for those who see all codings."""
    entries = PhaseEntry.objects.filter(study=viewer.study, withdrawn_at__isnull=True).select_related("author")
    return entries if viewer.sees_all else entries.filter(author=viewer.user)


def visible_statements(viewer: Viewer) -> QuerySet[PositionalityStatement]:
    """The active statements: one's own, and everybody's for those who see all codings."""
    statements = PositionalityStatement.objects.filter(study=viewer.study, withdrawn_at__isnull=True)
    statements = statements.select_related("author").order_by("author__username")
    return statements if viewer.sees_all else statements.filter(author=viewer.user)


def count_themes(viewpoint: Viewpoint, themes: Sequence[ThemeVersion], *, by_interview: bool = False) -> Presence:
    """Count where these themes occur, by model or by interview."""
    rows = [Heading(str(each.theme.number), each.name, frozenset(each.codes)) for each in themes]
    return _count(viewpoint, rows, _list_columns(viewpoint, by_interview=by_interview))


def count_codes(viewpoint: Viewpoint, codes: Sequence[CodeEntry], *, by_interview: bool = False) -> Presence:
    """Count where these codes occur, by model or by interview."""
    rows = [Heading(code.identifier, code.name, frozenset({code.identifier})) for code in codes]
    return _count(viewpoint, rows, _list_columns(viewpoint, by_interview=by_interview))


def list_models(viewpoint: Viewpoint, theme: ThemeVersion) -> list[tuple[str, dict[str, int], Cell, str]]:
    """For each model its name, its denominators, the theme's cell and the address of the sentences in it."""
    presence, link = count_themes(viewpoint, [theme]), link_to_sentences(viewpoint)
    [(row, cells, _)] = presence.rows
    return [
        (column.name, out_of, cell, link(row.key, column.key))
        for column, out_of, cell in zip(presence.columns, presence.denominators[:-1], cells, strict=True)
    ]


def link_to_sentences(viewpoint: Viewpoint, *, of_codes: bool = False, by_interview: bool = False) -> Link:
    """A function that returns the address of the sentences of a row and a column; an empty column means all columns."""
    base = reverse("themes:evidence", args=[viewpoint.study.slug])
    row_name, column_name = ("code" if of_codes else "theme"), ("interview" if by_interview else "model")

    def link(row: str, column: str) -> str:
        asked = {row_name: row, column_name: column, "coder": viewpoint.coder, "blinding": viewpoint.blinding.value}
        return f"{base}?{urlencode({name: value for name, value in asked.items() if value})}"

    return link


def _list_columns(viewpoint: Viewpoint, *, by_interview: bool) -> list[Heading]:
    return list_interview_columns(viewpoint) if by_interview else list_model_columns(viewpoint)


def _count(viewpoint: Viewpoint, rows: Sequence[Heading], columns: Sequence[Heading]) -> Presence:
    identifiers = {identifier for row in rows for identifier in row.members}
    return count_presence(
        rows=rows,
        columns=columns,
        evidence=read_evidence(viewpoint, identifiers),
        decided=count_decided(viewpoint, identifiers),
        said=count_answers(viewpoint.study, viewpoint.visibility),
    )


THEMES = "@themes"
"""In place of a family: the themes of the study. No family is called so, many are called themes."""
IS_REFLEXIVE = (
    "These codes are read by reflexive thematic analysis: a difference is one person’s reading of the answers, and P says nothing "
    "about how another person would read them."
)


def list_families(viewpoint: Viewpoint) -> list[tuple[str, str]]:
    """The options for comparing models: the families of codes about what models say, and themes if there are any."""
    families = read_catalogue(viewpoint.study).families
    found = [
        (each.identifier, each.name) for each, _ in families if each.applies_to != CodeFamily.AppliesTo.INTERVIEWER
    ]
    return [*found, *([(THEMES, "Themes of the study")] if current_themes(viewpoint.study) else [])]


def compare(viewpoint: Viewpoint, family: str) -> dict[str, Any]:
    """What ``compare_models`` gives of the codes of a family, or of the themes; with ``family``, ``coder`` and ``blinding``;
    ``interviews``, how many name a model, and ``left_out``, how many hang on another or name none; and ``notes``."""
    rows = _list_rows(viewpoint, family)
    answers, known, left_out = _read_answers(viewpoint)
    found = compare_models(answers, rows, _read_readings(viewpoint, rows))
    apart = found.pop("apart")
    is_reflexive = read_methods(viewpoint.study).find(family) == MethodChoice.Method.REFLEXIVE
    return {
        "family": family,
        "coder": viewpoint.coder,
        "blinding": viewpoint.blinding.value,
        "interviews": known,
        "left_out": left_out,
        **found,
        "notes": [*apart, *([IS_REFLEXIVE] if is_reflexive and found["comparisons"] else [])],
    }


def find_family(viewpoint: Viewpoint, family: str) -> str:
    """The requested family, or the first. Raises ``Refused`` if there is none with that name."""
    known = dict(list_families(viewpoint))
    if family and family not in known:
        raise Refused(
            f"There is no family {family!r} to compare models by. Choose one of: {', '.join(known)}.", field="family"
        )
    return family or next(iter(known), "")


def _list_rows(viewpoint: Viewpoint, chosen: str) -> list[Row]:
    families = read_catalogue(viewpoint.study).families
    family_of = {code.identifier: family for family, codes in families for code in codes}
    codes_of = {family.pk: frozenset(code.identifier for code in codes) for family, codes in families}
    if chosen == THEMES:
        themes = [each for each in current_themes(viewpoint.study) if each.state != ThemeVersion.State.DROPPED]
        headings = [Heading(str(each.theme.number), each.name, frozenset(each.codes)) for each in themes]
    else:
        codes = [code for family, own in families if family.identifier == chosen for code in own]
        headings = [Heading(code.identifier, code.name, frozenset({code.identifier})) for code in codes]
    rows = []
    for heading in headings:
        homes = {code: family_of[code] for code in heading.members if code in family_of}
        of_interviews = {code for code, family in homes.items() if family.unit == CodeFamily.Unit.INTERVIEW}
        # A code of interviews is stored on the first answer but is not about that answer.
        members = heading.members - of_interviews or heading.members
        deciding = [
            codes_of[homes[code].pk] for code in members & homes.keys() if homes[code].unit != CodeFamily.Unit.SENTENCE
        ]
        rows.append(Row(heading._replace(members=members), frozenset().union(*deciding), members == of_interviews))
    return rows


def _read_answers(viewpoint: Viewpoint) -> tuple[list[Answer], int, int]:
    """The answers of all interviews that are counted, name a model and hang on no other; how many these are, and how many others
    there are. Four queries."""
    interviews = seen_interviews(viewpoint)
    usable = interviews.exclude(model_label="").filter(hangs_on__isnull=True)
    turns = Turn.objects.filter(interview__in=usable.values("pk"), channel=Turn.Channel.UTTERANCE).exclude(
        role=Turn.Role.TOOL
    )
    sentences: dict[int, list[int]] = defaultdict(list)
    of_model = Sentence.objects.current().filter(turn__in=turns.filter(role=Turn.Role.MODEL).values("pk"))
    for turn, sentence in of_model.order_by("turn", "start").values_list("turn", "pk"):
        sentences[turn].append(sentence)
    asked = Case(When(role=Turn.Role.MODEL, then=Value("")), default=F("text"), output_field=TextField())
    rows = turns.order_by("interview", "position").values_list("interview", "pk", "role", asked)
    said = {
        interview: [
            Said(None if role == Turn.Role.MODEL else text, tuple(sentences.get(turn, ())), role == Turn.Role.SYSTEM)
            for _, turn, role, text in found
        ]
        for interview, found in groupby(rows.iterator(), key=lambda row: row[0])
    }
    answers: list[Answer] = []
    known = list(usable.values_list("pk", "model_label", "kind", "opening_prompt", "metadata"))
    for pk, model, kind, opening, metadata in known:
        first = next((each.words for each in said.get(pk, ()) if each.words is not None and not each.is_system), "")
        # Some files have the opening prompt twice: separately, and as the first turn.
        apart = "" if first.split() == opening.split() else opening
        condition = metadata.get("condition", "") if isinstance(metadata, dict) else ""
        answers += read_answers(model, (kind, str(condition), apart), said.get(pk, ()))
    return answers, len(known), interviews.count() - len(known)


def _read_readings(viewpoint: Viewpoint, rows: Iterable[Row]) -> Readings:
    """People's decisions and codings of what models say. Two queries."""
    decided: dict[int, set[int]] = defaultdict(set)
    applied: dict[tuple[int, str], set[int]] = defaultdict(set)
    counted: dict[tuple[int, str], set[int]] = defaultdict(set)
    for coder, sentence in count_labels(Decision.objects.all(), viewpoint).values_list("coder_id", "sentence_id"):
        decided[coder].add(sentence)
    wanted = {code for row in rows for code in (*row.heading.members, *row.deciding)}
    columns = ("coder_id", "sentence_id", "code__identifier", "code__family__unit", "enactment")
    for coder, sentence, code, unit, enactment in active_codings(viewpoint).values_list(*columns):
        if unit == CodeFamily.Unit.SENTENCE:
            decided[coder].add(sentence)
        if code in wanted:
            applied[coder, code].add(sentence)
            if code not in viewpoint.moves or enactment == Enactment.ENACTED:
                counted[coder, code].add(sentence)
    return Readings(decided, applied, counted)


Counted = TypeVar("Counted", CodingQuerySet, DecisionQuerySet)


class BlindingChoice(StrEnum):
    """Which codings are counted: all active ones, or those made before coders saw others' labels."""

    ANY = "any"
    BLIND = "blind"

    @property
    def label(self) -> str:
        return {"any": "all active ones", "blind": "blind ones"}[self.value]


@dataclass(frozen=True)
class Viewpoint:
    """Whose codings are shown, and which of them count. ``coder`` is as in an address: me, all, or a user name."""

    study: Study
    coder: str
    visibility: Visibility
    blinding: BlindingChoice = BlindingChoice.ANY

    @property
    def whose(self) -> str:
        """The coders whose codings are counted, in words."""
        who = {OWN: "you", EVERYBODY: "any coder"}.get(self.coder, self.coder)
        return f"{who} before seeing others’ labels" if self.blinding == BlindingChoice.BLIND else who

    @cached_property
    def moves(self) -> frozenset[str]:
        """The codes that count only if they are enacted."""
        return frozenset(each.identifier for each in read_catalog(self.study).codes.values() if each.has_enactment)


def choose_viewpoint(viewer: Viewer, *, coder: str = "", blinding: str = BlindingChoice.ANY) -> Viewpoint:
    """The requested viewpoint, within the limits of the person's role: a blind coder sees only her own codings.

    The default, also for a request that is not allowed, is one's own codings for people who code, and everybody's for readers.
    """
    kind = BlindingChoice(blinding) if blinding in set(BlindingChoice) else BlindingChoice.ANY
    coder = coder or (OWN if viewer.codes else EVERYBODY)
    coder = coder if coder in dict(list_coders(viewer)) else OWN
    return Viewpoint(viewer.study, coder, find_visibility(viewer, coder), kind)


def see_everything(study: Study, *, coder: str = "", blinding: str = BlindingChoice.ANY) -> Viewpoint:
    """The viewpoint of the command line, which sees every coding. Raises ``Refused`` for a coder who has coded nothing."""
    if not coder:
        return Viewpoint(study, EVERYBODY, Visibility(None), BlindingChoice(blinding))
    codings = Coding.objects.filter(coder__username=coder, code__version__study=study)
    found = codings.values_list("coder_id", flat=True).first()
    if found is None:
        raise Refused(f"{coder} has coded nothing in {study.slug}.", field="coder")
    return Viewpoint(study, coder, Visibility(found), BlindingChoice(blinding))


def list_coders(viewer: Viewer) -> list[tuple[str, str]]:
    """The choices of whose codings to show, as values and labels; empty if there is no choice."""
    if not viewer.sees_all:
        return []
    coded = Coding.objects.filter(coder=OuterRef("pk"), code__version__study=viewer.study)
    others = User.objects.filter(Exists(coded)).exclude(pk=viewer.user_id).order_by("username")
    names = [(name, name) for name in others.values_list("username", flat=True)]
    own = [(OWN, "you")] if viewer.codes else []
    return [*own, (EVERYBODY, "all coders"), *names]


def seen_interviews(viewpoint: Viewpoint) -> QuerySet[Interview]:
    """The interviews that are counted from this viewpoint."""
    return viewpoint.study.interviews.exclude(pk__in=viewpoint.visibility.hidden).order_by("pk")


def list_model_columns(viewpoint: Viewpoint) -> list[Heading]:
    """A column for each model, in the order of import."""
    ids: dict[str, set[int]] = {}
    for pk, model in seen_interviews(viewpoint).values_list("pk", "model_label"):
        ids.setdefault(model, set()).add(pk)
    return [Heading(model or UNNAMED, model or "not known", frozenset(found)) for model, found in ids.items()]


def list_interview_columns(viewpoint: Viewpoint) -> list[Heading]:
    """A column for each interview."""
    rows = seen_interviews(viewpoint).values_list("pk", "title")
    return [Heading(str(pk), title, frozenset({pk})) for pk, title in rows]


def list_other_languages(viewpoint: Viewpoint) -> list[str]:
    """The known languages other than English of the counted interviews, in which English terms find nothing."""
    others = seen_interviews(viewpoint).exclude(language="").exclude(language__istartswith="en").order_by("language")
    return list(others.values_list("language", flat=True).distinct())


def active_codings(viewpoint: Viewpoint) -> QuerySet[Coding]:
    """The codings that count from this viewpoint: those on what models said."""
    return count_labels(Coding.objects.all(), viewpoint)


def count_labels(rows: Counted, viewpoint: Viewpoint) -> Counted:
    """The codings or decisions that count from this viewpoint, on what models said."""
    labels = _counted(rows, viewpoint).filter(
        sentence__retired_by__isnull=True,
        sentence__turn__role=Turn.Role.MODEL,
        sentence__turn__channel=Turn.Channel.UTTERANCE,
        sentence__turn__interview__study=viewpoint.study,
    )
    if viewpoint.visibility.hidden:
        labels = labels.filter(sentence__turn__interview__in=seen_interviews(viewpoint).values("pk"))
    return labels


def _counted(rows: Counted, viewpoint: Viewpoint) -> Counted:
    """The codings or decisions by the selected coders that count under the blinding of the viewpoint."""
    counted = rows.active() if viewpoint.blinding == BlindingChoice.ANY else rows.blind()
    coder_id = viewpoint.visibility.coder_id
    return counted if coder_id is None else counted.filter(coder=coder_id)


def read_evidence(viewpoint: Viewpoint, identifiers: Iterable[str]) -> Iterator[Evidence]:
    """Every coding with one of these codes, each with whether it was prompted: four queries."""
    prompts = StudyPrompts(viewpoint.study)
    rows = active_codings(viewpoint).filter(code__identifier__in=list(identifiers))
    rows = rows.order_by("sentence__turn__interview", "sentence__position", "sentence__start", "pk")
    values = rows.values_list(
        "pk",
        "coder_id",
        "code__identifier",
        "level",
        "enactment",
        "sentence_id",
        "sentence__turn_id",
        "sentence__turn__interview_id",
        "prompting",
        "sentence__turn__role",
        "sentence__turn__position",
    )
    for row in values.iterator():
        pk, coder_id, code, level, enactment, sentence_id, turn_id, interview_id, said, role, position = row
        prompting, _ = prompts.find_prompting(
            said=said, role=role, interview_id=interview_id, coder_id=coder_id, code=code, position=position
        )
        counts = enactment == Enactment.ENACTED or code not in viewpoint.moves
        apart = "" if counts else enactment or NOT_STATED
        yield Evidence(pk, coder_id, code, level, prompting or UNCLEAR, sentence_id, turn_id, interview_id, apart)


def count_sentences(viewpoint: Viewpoint) -> dict[str, int]:
    """The number of sentences to which each code is applied, or in which each move is enacted, by identifier: two queries."""
    counts = Q(enactment=Enactment.ENACTED) | ~Q(code__identifier__in=viewpoint.moves)
    rows = active_codings(viewpoint).order_by().values_list("code__identifier")
    return dict(rows.annotate(sentences=Count("sentence", distinct=True, filter=counts)))


def count_decided(viewpoint: Viewpoint, identifiers: Iterable[str] = ()) -> dict[int, tuple[int, int]]:
    """By interview, the number of the model's sentences that were coded or finished, and of their turns: one query.

    A code of a whole turn or interview, stored on its first sentence, decides that sentence only if the code itself is counted,
    as one of ``identifiers``.
    """
    finished = _counted(Decision.objects.filter(sentence=OuterRef("pk")), viewpoint)
    of_sentences = Q(code__family__unit=CodeFamily.Unit.SENTENCE) | Q(code__identifier__in=list(identifiers))
    coded = _counted(Coding.objects.filter(of_sentences, sentence=OuterRef("pk")), viewpoint)
    sentences = Sentence.objects.current().filter(
        Q(Exists(coded)) | Q(Exists(finished)),
        turn__role=Turn.Role.MODEL,
        turn__channel=Turn.Channel.UTTERANCE,
        turn__interview__in=seen_interviews(viewpoint).values("pk"),
    )
    rows = sentences.order_by().values_list("turn__interview")
    counted = rows.annotate(sentences=Count("pk"), turns=Count("turn", distinct=True))
    return {interview: (found, turns) for interview, found, turns in counted}


def find_coded_sentences(
    viewpoint: Viewpoint,
    identifiers: Iterable[str],
    *,
    model: str | None = None,
    interview_id: int | None = None,
    prompting: str = "",
    level: str = "",
    apart: str = "",
) -> list[tuple[int, list[int], str]]:
    """The sentences that a cell of the presence table counts, or counts ``apart`` for moves, in the order of the study.

    Each has the codings that applied one of these codes to it, and its prompting.
    """
    interviews = seen_interviews(viewpoint)
    if model is not None:
        interviews = interviews.filter(model_label=model)
    if interview_id is not None:
        interviews = interviews.filter(pk=interview_id)
    wanted = set(interviews.values_list("pk", flat=True))
    sentences: dict[int, list[Evidence]] = {}
    for each in read_evidence(viewpoint, identifiers):
        if each.interview_id in wanted and each.apart == apart:
            sentences.setdefault(each.sentence_id, []).append(each)
    found = []
    for sentence_id, codings in sentences.items():
        prompted = max((each.prompting for each in codings), key=lambda each: STRENGTH[each])
        fits_level = not level or any(each.level == level for each in codings)
        if fits_level and prompting in {"", prompted}:
            found.append((sentence_id, [each.coding_id for each in codings], prompted))
    return found
