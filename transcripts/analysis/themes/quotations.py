"""Quotes of themes, and the presence table of a study, built from its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.analysis.models import Theme, ThemeQuote, ThemeVersion
from transcripts.analysis.search.counts import count_answers
from transcripts.analysis.themes import evidence, queries
from transcripts.analysis.themes.evidence import Viewpoint
from transcripts.analysis.themes.pure.presence import Cell, Heading, Link, Presence, count_presence
from transcripts.analysis.themes.pure.quoting import Unfaithful, check_quotation
from transcripts.analysis.themes.queries import QuoteChanged
from transcripts.audit_trail import trail
from transcripts.coding.models import Coding
from transcripts.corpus.models import Sentence
from transcripts.refusals import WrongInput
from transcripts.ui.typed_text import MAX_NOTE, MAX_TEXT, check_text


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
        stream=trail.project_stream(quote.theme.project_id),
        details={"theme": quote.theme.number, "sentence": quote.sentence_id, "side": quote.side},
    )


def _check(theme: Theme, sentence: Sentence, *, side: str, edited_text: str, note: str) -> tuple[str, str]:
    """The edited text, empty if it is the sentence itself, and the note, as they are stored. Raises ``WrongInput``."""
    if sentence.turn.interview.project_id != theme.project_id:
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
        stream=trail.project_stream(quote.theme.project_id),
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


def count_codes(viewpoint: Viewpoint, codes: Sequence[queries.CodeEntry], *, by_interview: bool = False) -> Presence:
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
    base = reverse("themes:evidence", args=[viewpoint.project.slug])
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
        said=count_answers(viewpoint.project, viewpoint.visibility),
    )
