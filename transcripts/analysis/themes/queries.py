"""What is read of themes, and why something was not done to one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, TextField, Value, When
from django.urls import reverse
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.analysis.models import PhaseEntry, PositionalityStatement, Theme, ThemeQuote, ThemeVersion
from transcripts.analysis.search.counts import count_answers
from transcripts.analysis.themes import evidence
from transcripts.analysis.themes.evidence import Viewpoint, active_codings, count_labels, seen_interviews
from transcripts.analysis.themes.pure.presence import (
    Answer,
    Cell,
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
from transcripts.analysis.themes.pure.quoting import Unfaithful, check_quotation
from transcripts.audit_trail import trail
from transcripts.blinding.viewers import Viewer
from transcripts.codebook.models import Code, CodeFamily
from transcripts.codebook.queries import current_version, read_families
from transcripts.coding.models import Coding, Decision, Enactment
from transcripts.corpus.models import Sentence, Turn
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.models import MethodChoice, Study
from transcripts.studies.queries import read_methods
from transcripts.ui.typed_text import MAX_NOTE, MAX_TEXT, check_text

STATE_ORDER = [*ThemeVersion.State.values]


class CodeEntry(NamedTuple):
    """A code as themes name it; ``in_use`` when the current codebook has it."""

    identifier: str
    name: str
    definition: str = ""
    in_use: bool = True


@dataclass(frozen=True)
class Catalogue:
    """The codes themes are made of: those in use by family, and whatever identifier else is asked for by name."""

    families: list[tuple[CodeFamily, list[CodeEntry]]]
    by_identifier: dict[str, CodeEntry] = field(default_factory=dict)

    def name_codes(self, identifiers: Iterable[str]) -> list[CodeEntry]:
        """The codes behind identifiers, in their order."""
        unknown = [CodeEntry(each, each, in_use=False) for each in identifiers]
        return [self.by_identifier.get(each.identifier, each) for each in unknown]


def current_themes(study: Study) -> list[ThemeVersion]:
    """The version of each theme that holds, with the theme: by state, then by number. One query."""
    later = ThemeVersion.objects.filter(theme=OuterRef("theme"), number__gt=OuterRef("number"))
    versions = ThemeVersion.objects.filter(~Exists(later), theme__study=study)
    found = versions.select_related("theme", "written_by")
    return sorted(found, key=lambda each: (STATE_ORDER.index(each.state), each.theme.number))


def find_current(study: Study, number: int) -> ThemeVersion | None:
    """The version that holds of the theme with that number, with the theme."""
    versions = ThemeVersion.objects.filter(theme__study=study, theme__number=number)
    return versions.select_related("theme__study", "written_by").order_by("-number").first()


def read_catalogue(study: Study, *, also: Iterable[str] = ()) -> Catalogue:
    """The codes people code with, and the names of others that themes hold: four queries at most."""
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
    """The active quotes that the viewer may see. A quote reveals that somebody coded its sentence, so it is a label."""
    quotes = ThemeQuote.objects.filter(sentence__turn__interview__study=viewer.study, withdrawn_at__isnull=True)
    if not viewer.sees_all:
        return quotes.filter(added_by=viewer.user)
    if viewer.visible_interviews is None:
        return quotes
    return quotes.filter(Q(added_by=viewer.user) | Q(sentence__turn__interview__in=viewer.visible_interviews))


def read_quotes(quotes: QuerySet[ThemeQuote]) -> list[ThemeQuote]:
    """Quotes with all that is shown of them, in the order of the interviews: one query."""
    related = quotes.select_related("sentence__turn__interview", "added_by", "theme", "coding__code")
    return list(related.order_by("theme__number", "-side", "sentence__turn__interview", "sentence__position", "pk"))


def find_sentence(study: Study, sentence_id: int) -> Sentence | None:
    """A sentence of the study with its turn and interview. One that was retired is found too, for quotes of it stay."""
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


class NotYours(Refused):
    """People change what they wrote themselves."""


class ThemeChanged(Refused):
    """Somebody else was quicker; ``latest`` is what holds now."""

    def __init__(self, latest: ThemeVersion) -> None:
        super().__init__(
            f"{latest.written_by.username} changed theme {latest.theme.number} after you opened it. Your changes were not "
            "stored, but nothing is lost: both versions are on this page."
        )
        self.latest = latest


class QuoteChanged(Refused):
    """Somebody else quoted the same sentence or withdrew the quote; ``active`` is what holds now, if anything."""

    def __init__(self, active: ThemeQuote | None) -> None:
        done = f"{active.added_by.username} quoted this sentence" if active else "This quote was withdrawn"
        super().__init__(f"{done} after you opened it. Your changes were not stored; both versions are on this page.")
        self.active = active


class EntryChanged(Refused):
    """The same text was changed in another window; ``active`` is what holds now, if anything."""

    def __init__(self, active: PhaseEntry | PositionalityStatement | None) -> None:
        done = "You changed this text in another window" if active else "You withdrew this text in another window"
        super().__init__(f"{done}. Your changes in this window were not stored; both versions are on this page.")
        self.active = active


@transaction.atomic
def add_quote(
    *,
    theme: Theme,
    sentence: Sentence,
    side: str,
    by: User,
    edited_text: str = "",
    note: str = "",
    coding: Coding | None = None,
    replaces: int | None = None,
) -> ThemeQuote:
    """Quote a sentence for or against a theme, whole or with marked edits; ``replaces`` is the quote that gives way.

    Raises ``WrongInput`` for an edit the sentence does not bear out, ``QuoteChanged`` when another quote of the
    sentence stands by now.
    """
    edited_text, note = _check(theme, sentence, side=side, edited_text=edited_text, note=note)
    Theme.objects.select_for_update().get(pk=theme.pk)
    before = _find_active(theme, sentence)
    if (before.pk if before else None) != replaces:
        raise QuoteChanged(before)
    quote = ThemeQuote(
        theme=theme,
        sentence=sentence,
        coding=coding if coding and coding.sentence_id == sentence.pk else None,
        side=side,
        edited_text=edited_text,
        note=note,
        added_at=timezone.now(),
        added_by=by,
    )
    return _store(quote, before=before)


@transaction.atomic
def withdraw_quote(*, quote: ThemeQuote, by: User) -> None:
    """Take a quote back; its row stays. One that was withdrawn before is left as it is."""
    active = ThemeQuote.objects.filter(pk=quote.pk, withdrawn_at__isnull=True)
    if not active.update(withdrawn_at=timezone.now()):
        return
    trail.record(
        "theme.quote.withdrawn",
        target=quote,
        by=by,
        stream=trail.study_stream(quote.theme.study_id),
        details={"theme": quote.theme.number, "sentence": quote.sentence_id, "side": quote.side},
    )


def _check(theme: Theme, sentence: Sentence, *, side: str, edited_text: str, note: str) -> tuple[str, str]:
    """The edited text, empty if it is the sentence itself, and the note, as they are stored. Raises ``WrongInput``."""
    if sentence.turn.interview.study_id != theme.study_id:
        raise WrongInput("This sentence is not part of this study.", field="sentence")
    if sentence.retired_by_id is not None:
        raise WrongInput(
            "The boundaries of this sentence were edited. Quote the sentence that replaced it.", field="sentence"
        )
    if side not in ThemeQuote.Side.values:
        raise WrongInput("Choose whether the quote supports the theme or contradicts it.", field="side")
    edited_text = check_text(edited_text, field="edited_text", max_length=MAX_TEXT)
    note = check_text(note, field="note", max_length=MAX_NOTE)
    source = sentence.read_text()
    try:
        check_quotation(edited_text or source, source)
    except Unfaithful as error:
        raise WrongInput(str(error), field="edited_text") from error
    return ("" if edited_text == source else edited_text), note


def _find_active(theme: Theme, sentence: Sentence) -> ThemeQuote | None:
    quotes = theme.quotes.filter(sentence=sentence, withdrawn_at__isnull=True)
    return quotes.select_related("added_by").first()


def _store(quote: ThemeQuote, *, before: ThemeQuote | None) -> ThemeQuote:
    if before is not None:
        ThemeQuote.objects.filter(pk=before.pk).update(withdrawn_at=quote.added_at)
    try:
        with transaction.atomic():
            quote.save(force_insert=True)
    except IntegrityError:
        raise QuoteChanged(_find_active(quote.theme, quote.sentence)) from None
    trail.record(
        "theme.quote.changed" if before else "theme.quote.added",
        target=quote,
        by=quote.added_by,
        stream=trail.study_stream(quote.theme.study_id),
        details={
            "theme": quote.theme.number,
            "sentence": quote.sentence_id,
            "side": quote.side,
            "edited": bool(quote.edited_text),
            **({"replaces": before.pk} if before else {}),
        },
    )
    return quote


def count_themes(viewpoint: Viewpoint, themes: Sequence[ThemeVersion], *, by_interview: bool = False) -> Presence:
    """Where these themes show, by model or by interview."""
    rows = [Heading(str(each.theme.number), each.name, frozenset(each.codes)) for each in themes]
    return _count(viewpoint, rows, _list_columns(viewpoint, by_interview=by_interview))


def count_codes(viewpoint: Viewpoint, codes: Sequence[CodeEntry], *, by_interview: bool = False) -> Presence:
    """Where these codes show, by model or by interview."""
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
    """How to get from a row and a column to their sentences; an empty column stands for all of them."""
    base = reverse("themes:evidence", args=[viewpoint.study.slug])
    row_name, column_name = ("code" if of_codes else "theme"), ("interview" if by_interview else "model")

    def link(row: str, column: str) -> str:
        asked = {row_name: row, column_name: column, "coder": viewpoint.coder, "layer": viewpoint.layer.value}
        return f"{base}?{urlencode({name: value for name, value in asked.items() if value})}"

    return link


def _list_columns(viewpoint: Viewpoint, *, by_interview: bool) -> list[Heading]:
    return evidence.list_interviews(viewpoint) if by_interview else evidence.list_models(viewpoint)


def _count(viewpoint: Viewpoint, rows: Sequence[Heading], columns: Sequence[Heading]) -> Presence:
    identifiers = {identifier for row in rows for identifier in row.members}
    return count_presence(
        rows=rows,
        columns=columns,
        evidence=evidence.read_evidence(viewpoint, identifiers),
        decided=evidence.count_decided(viewpoint, identifiers),
        said=count_answers(viewpoint.study, viewpoint.visibility),
    )


THEMES = "@themes"
"""In place of a family: the themes of the study. No family is called so, many are called themes."""
IS_REFLEXIVE = (
    "These codes are read by reflexive thematic analysis: a difference is one person’s reading of the answers, and P says nothing "
    "about how another person would read them."
)


def list_families(viewpoint: Viewpoint) -> list[tuple[str, str]]:
    """What models can be compared by: the families of codes about what models say, and themes where there are some."""
    families = read_catalogue(viewpoint.study).families
    found = [
        (each.identifier, each.name) for each, _ in families if each.applies_to != CodeFamily.AppliesTo.INTERVIEWER
    ]
    return [*found, *([(THEMES, "Themes of the study")] if current_themes(viewpoint.study) else [])]


def compare(viewpoint: Viewpoint, family: str) -> dict[str, Any]:
    """What ``compare_models`` gives of the codes of a family, or of the themes; with ``family``, ``coder`` and ``layer``;
    ``interviews``, how many name a model, and ``left_out``, how many hang on another or name none; and ``notes``."""
    rows = _list_rows(viewpoint, family)
    answers, known, left_out = _read_answers(viewpoint)
    found = compare_models(answers, rows, _read_readings(viewpoint, rows))
    apart = found.pop("apart")
    is_reflexive = read_methods(viewpoint.study).find(family) == MethodChoice.Method.REFLEXIVE
    return {
        "family": family,
        "coder": viewpoint.coder,
        "layer": viewpoint.layer.value,
        "interviews": known,
        "left_out": left_out,
        **found,
        "notes": [*apart, *([IS_REFLEXIVE] if is_reflexive and found["comparisons"] else [])],
    }


def find_family(viewpoint: Viewpoint, family: str) -> str:
    """The family that is asked for, or the first. Raises ``Refused`` where there is none of that name."""
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
        # A code of interviews is stored on the first answer, which it is not about.
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
        # Some files have the opening prompt twice: apart, and as the first turn.
        apart = "" if first.split() == opening.split() else opening
        condition = metadata.get("condition", "") if isinstance(metadata, dict) else ""
        answers += read_answers(model, (kind, str(condition), apart), said.get(pk, ()))
    return answers, len(known), interviews.count() - len(known)


def _read_readings(viewpoint: Viewpoint, rows: Iterable[Row]) -> Readings:
    """What people decided and coded, of what models say. Two queries."""
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
